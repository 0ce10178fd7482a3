#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "hemera/multiply/integer.hpp"
#include "hemera/runtime/error.hpp"
#include "multiply/inert_tables.hpp"

namespace hemera::multiply {
namespace {

constexpr int max_primes = 4;
constexpr int max_digit_bits = 62;
constexpr std::size_t min_length = 2 * inert_lanes * inert_min_pairs;
constexpr std::size_t max_product_bits = std::size_t{1} << 38;

std::size_t digits(std::size_t bits, int b) {
  const auto width = static_cast<std::size_t>(b);
  return (bits + width - 1) / width;
}

// The most bits of a digit with terms * digits * (2^b - 1)^2 below the product of the primes; 0 if there is
// none.
int widest_digit(std::size_t bits, std::size_t terms, int primes) {
  for (int b = max_digit_bits; b > 0; --b) {
    if (std::log2(static_cast<double>(terms * digits(bits, b))) + 2 * b <= inert_bits * primes) return b;
  }
  return 0;
}

std::string gibibytes(double bytes) { return std::to_string(bytes / 0x1p30) + " GiB"; }

}  // namespace

IntegerProductPlan plan_integer_product(std::size_t bits_a, std::size_t bits_b, std::size_t left,
                                        std::size_t right) {
  if (bits_a == 0 || bits_b == 0) throw ParameterError("a plan is for factors of at least one bit each");
  if (bits_a > max_product_bits || bits_b > max_product_bits || bits_a + bits_b > max_product_bits) {
    throw OutOfMemoryError("a product of integers of " + std::to_string(bits_a) + " and " +
                           std::to_string(bits_b) +
                           " bits is beyond the limit of 2^38 bits; multiply in parts");
  }
  IntegerProductPlan best;
  double least = INFINITY;
  for (int primes = 1; primes <= max_primes; ++primes) {
    const int b = widest_digit(std::min(bits_a, bits_b), std::min(left, right), primes);
    if (b == 0) continue;
    const std::size_t length = std::max(min_length, std::bit_ceil(digits(bits_a, b) + digits(bits_b, b)));
    if (length > (std::size_t{1} << inert_max_log_length)) continue;
    // Levels of the transforms, and what is linear in the length: measured to weigh like a dozen of them.
    const double cost = primes * static_cast<double>(length) * (std::log2(length) + 12);
    if (cost < least) {
      least = cost;
      best = {primes, b, length, 0};
    }
  }
  // Values of all factors modulo each prime, and their digits; of several, also the values of the products.
  const bool single = left == 1 && right == 1;
  const std::size_t rows = left + right + (single ? 0 : left + right - 1);
  best.bytes =
      (rows * static_cast<std::size_t>(best.primes) + left + right) * best.length * sizeof(std::uint64_t);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (static_cast<double>(best.bytes) > memory) {
    throw OutOfMemoryError(
        "a product of integers of " + std::to_string(bits_a) + " and " + std::to_string(bits_b) +
        " bits takes " + gibibytes(static_cast<double>(best.bytes)) +
        " of scratch memory, and this machine has " + gibibytes(memory) + "; multiply in parts");
  }
  return best;
}

}  // namespace hemera::multiply
