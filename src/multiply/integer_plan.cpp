#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>

#include "hemera/multiply/integer.hpp"
#include "hemera/runtime/error.hpp"
#include "multiply/inert_tables.hpp"

namespace hemera::multiply {
namespace {

constexpr int max_primes = 4;
constexpr int max_digit_bits = 62;
constexpr std::size_t min_length = 2 * inert_lanes * inert_min_pairs;
constexpr std::size_t max_length = std::size_t{1} << inert_max_log_length;
constexpr std::size_t max_product_bits = std::size_t{1} << 38;
// The carry from the top of a product modulo 2^M + 1 has less than 192 bits.
constexpr std::size_t least_modulus_exponent = 256;

std::size_t quotient_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// Whether `terms` products of digits of b bits, which may be 2^b, are below the product of the primes; those
// of a product that wraps have a sign.
bool is_below_primes(std::size_t terms, int b, int primes, bool wraps) {
  return std::log2(static_cast<double>(terms)) + 2 * b + (wraps ? 1 : 0) <= inert_bits * primes;
}

// The most bits of a digit that primes allow for factors of at least `bits` bits; 0 if there are none.
int widest_digit(std::size_t bits, int primes) {
  for (int b = max_digit_bits; b > 0; --b) {
    if (is_below_primes(quotient_up(bits, static_cast<std::size_t>(b)), b, primes, false)) return b;
  }
  return 0;
}

class CheapestPlan {
 public:
  void offer(int primes, std::size_t digit_bits, std::size_t length) {
    if (length > max_length) return;
    // Levels of the transforms, and what is linear in the length: measured to weigh like a dozen of them.
    const double cost = primes * static_cast<double>(length) * (std::log2(length) + 12);
    if (cost >= least_) return;
    least_ = cost;
    plan_ = {primes, static_cast<int>(digit_bits), length, 0};
  }

  [[nodiscard]] bool found() const { return plan_.primes != 0; }

  /// The plan with the memory of this many factors; OutOfMemoryError for `what` when there is less.
  IntegerProductPlan get(std::size_t left, std::size_t right, const std::string& what) {
    // Values of all factors modulo each prime, and their digits; of several, also the values of the products.
    const bool single = left == 1 && right == 1;
    const std::size_t rows = left + right + (single ? 0 : left + right - 1);
    plan_.bytes =
        (rows * static_cast<std::size_t>(plan_.primes) + left + right) * plan_.length * sizeof(std::uint64_t);
    const double memory =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    if (static_cast<double>(plan_.bytes) > memory) {
      throw OutOfMemoryError("a product " + what + " takes " + gibibytes(static_cast<double>(plan_.bytes)) +
                             " of scratch memory, and this machine has " + gibibytes(memory) +
                             "; multiply in parts");
    }
    return plan_;
  }

 private:
  static std::string gibibytes(double bytes) { return std::to_string(bytes / 0x1p30) + " GiB"; }

  IntegerProductPlan plan_;
  double least_ = INFINITY;
};

// digit_bits(length): the bits of digits for a length, 0 for none.
template <typename DigitBits>
void offer_modulo(CheapestPlan& best, std::size_t terms, const DigitBits& digit_bits) {
  for (int primes = 1; primes <= max_primes; ++primes) {
    for (std::size_t length = min_length; length <= max_length; length *= 2) {
      const std::size_t b = digit_bits(length);
      if (b == 0 || b > static_cast<std::size_t>(max_digit_bits) || b * length > max_product_bits) continue;
      if (!is_below_primes(terms * length, static_cast<int>(b), primes, true)) continue;
      best.offer(primes, b, length);
      break;  // greater lengths cost more
    }
  }
}

}  // namespace

IntegerProductPlan plan_integer_product(std::size_t bits_a, std::size_t bits_b) {
  if (bits_a == 0 || bits_b == 0) throw ParameterError("a plan is for factors of at least one bit each");
  const std::string what =
      "of integers of " + std::to_string(bits_a) + " and " + std::to_string(bits_b) + " bits";
  if (bits_a > max_product_bits || bits_b > max_product_bits || bits_a + bits_b > max_product_bits) {
    throw OutOfMemoryError("a product " + what + " is beyond the limit of 2^38 bits; multiply in parts");
  }
  CheapestPlan best;
  for (int primes = 1; primes <= max_primes; ++primes) {
    const auto b = static_cast<std::size_t>(widest_digit(std::min(bits_a, bits_b), primes));
    if (b == 0) continue;
    best.offer(primes, b,
               std::max(min_length, std::bit_ceil(quotient_up(bits_a, b) + quotient_up(bits_b, b))));
  }
  return best.get(1, 1, what);
}

IntegerProductPlan plan_product_modulo(std::size_t least_exponent, std::size_t step, std::size_t left,
                                       std::size_t right) {
  if (step == 0 || left == 0 || right == 0) {
    throw ParameterError("a product modulo 2^M + 1 needs factors, and M in steps of at least 1");
  }
  const std::size_t least = std::max(least_exponent, least_modulus_exponent);
  CheapestPlan best;
  if (least <= max_product_bits) {
    offer_modulo(best, std::min(left, right), [&](std::size_t length) {
      const std::size_t unit = step / std::gcd(step, length);
      return quotient_up(quotient_up(least, length), unit) * unit;
    });
  }
  const std::string what = "modulo 2^M + 1 with M >= " + std::to_string(least_exponent);
  if (!best.found()) {
    throw OutOfMemoryError("a product " + what + " in steps of " + std::to_string(step) +
                           " is beyond the limit of 2^38 bits; multiply in parts, or in steps with more "
                           "factors of two");
  }
  return best.get(left, right, what);
}

IntegerProductPlan plan_product_modulo_exactly(std::size_t exponent, std::size_t left, std::size_t right) {
  CheapestPlan best;
  if (exponent >= least_modulus_exponent) {
    offer_modulo(best, std::min(left, right),
                 [&](std::size_t length) { return exponent % length == 0 ? exponent / length : 0; });
  }
  const std::string what = "modulo 2^" + std::to_string(exponent) + " + 1";
  if (!best.found()) {
    throw ParameterError("there is no plan for a product " + what + " of " + std::to_string(left) + " by " +
                         std::to_string(right) + " integers; use an exponent from plan_product_modulo");
  }
  return best.get(left, right, what);
}

}  // namespace hemera::multiply
