#include "hemera/arith/primes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace hemera::arith {
namespace {

std::uint64_t multiply_modulo(std::uint64_t a, std::uint64_t b, std::uint64_t n) {
  return static_cast<std::uint64_t>(static_cast<uint128>(a) * b % n);
}

std::uint64_t power_modulo(std::uint64_t base, std::uint64_t exponent, std::uint64_t n) {
  std::uint64_t result = 1 % n;
  for (base %= n; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply_modulo(result, base, n);
    base = multiply_modulo(base, base, n);
  }
  return result;
}

bool contains(std::span<const std::uint64_t> values, std::uint64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

bool is_prime(std::uint64_t n) {
  constexpr std::array<std::uint64_t, 12> bases = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (n < 2) return false;
  for (const std::uint64_t p : bases) {
    if (n % p == 0) return n == p;
  }
  const int twos = std::countr_zero(n - 1);
  const std::uint64_t odd = (n - 1) >> twos;
  return std::all_of(bases.begin(), bases.end(), [&](std::uint64_t base) {
    std::uint64_t x = power_modulo(base, odd, n);
    if (x == 1 || x == n - 1) return true;
    for (int i = 1; i < twos; ++i) {
      x = multiply_modulo(x, x, n);
      if (x == n - 1) return true;
    }
    return false;
  });
}

std::vector<std::uint64_t> primes_nearest(double target, std::uint64_t step, std::size_t count,
                                          std::uint64_t lower_bound, std::uint64_t upper_bound,
                                          std::span<const std::uint64_t> taken) {
  std::vector<std::uint64_t> found;
  const auto center = static_cast<std::uint64_t>(std::nearbyint(target));
  std::uint64_t below = center - (center - 1) % step;  // largest candidate <= center
  std::uint64_t above = below + step;
  while (found.size() < count) {
    const bool below_left = below >= lower_bound && below > 1;
    const bool above_left = above < upper_bound;
    if (!below_left && !above_left) break;
    const bool take_below = below_left && (!above_left || center - below <= above - center);
    const std::uint64_t candidate = take_below ? below : above;
    if (take_below) {
      below -= step;
    } else {
      above += step;
    }
    const bool inside = candidate >= lower_bound && candidate < upper_bound;
    if (inside && is_prime(candidate) && !contains(taken, candidate)) found.push_back(candidate);
  }
  return found;
}

std::vector<std::uint64_t> primes_below(std::uint64_t upper_bound, std::uint64_t step, std::size_t count,
                                        std::span<const std::uint64_t> taken) {
  std::vector<std::uint64_t> found;
  if (upper_bound < 3) return found;
  std::uint64_t candidate = (upper_bound - 2) / step * step + 1;
  for (; candidate > step && found.size() < count; candidate -= step) {
    if (is_prime(candidate) && !contains(taken, candidate)) found.push_back(candidate);
  }
  return found;
}

double log2_product(std::span<const std::uint64_t> primes) {
  double sum = 0;
  for (const std::uint64_t prime : primes) sum += std::log2(static_cast<double>(prime));
  return sum;
}

bool is_primitive_root(std::uint64_t root, std::uint64_t order, const Modulus& q) {
  if (root == 0 || root >= q.value()) return false;
  if (order == 1) return root == 1;
  return q.power(root, order / 2) == q.value() - 1;
}

std::uint64_t minimal_primitive_root(std::uint64_t order, const Modulus& q) {
  if (order == 0 || (q.value() - 1) % order != 0) return 0;
  // x^((q-1)/order) has order dividing `order`; it is primitive for half of all x.
  const std::uint64_t cofactor = (q.value() - 1) / order;
  std::uint64_t root = 0;
  for (std::uint64_t x = 2; x < q.value() && x < 4096; ++x) {
    const std::uint64_t candidate = q.power(x, cofactor);
    if (is_primitive_root(candidate, order, q)) {
      root = candidate;
      break;
    }
  }
  if (root == 0) return 0;
  // The primitive roots are the odd powers of any one of them.
  const std::uint64_t square = q.multiply(root, root);
  std::uint64_t smallest = root;
  std::uint64_t current = root;
  for (std::uint64_t i = 0; i < order / 2; ++i) {
    smallest = std::min(smallest, current);
    current = q.multiply(current, square);
  }
  return smallest;
}

}  // namespace hemera::arith
