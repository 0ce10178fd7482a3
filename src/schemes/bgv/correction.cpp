#include "schemes/bgv/correction.hpp"

#include <cmath>
#include <numeric>

#include "hemera/rlwe/noise.hpp"

namespace hemera::bgv {
Multipliers balance(const arith::Modulus& t, std::uint64_t first, std::uint64_t second, double noise_a,
                    double noise_b) {
  const std::uint64_t ratio = t.multiply(first, arith::inverse(second, t.value()));  // b = a * ratio
  const auto cost = [&](const Multipliers& m) {
    return rlwe::add_log2(std::log2(std::abs(static_cast<double>(m.a))) + noise_a,
                          std::log2(std::abs(static_cast<double>(m.b))) + noise_b);
  };
  Multipliers best{1, t.centered(ratio)};
  double least = cost(best);
  const auto consider = [&](std::int64_t a, std::int64_t b) {
    const auto half = static_cast<std::int64_t>(t.value() / 2);
    if (a == 0 || b == 0 || std::abs(a) > half || std::abs(b) > half) return;
    if (std::gcd(static_cast<std::uint64_t>(std::abs(a)), t.value()) != 1) return;
    const Multipliers candidate{a, b};
    if (const double value = cost(candidate); value < least) {
      best = candidate;
      least = value;
    }
  };
  // Rows (coefficient a, remainder b) with b = a ratio modulo t; sums and differences of neighbours too,
  // where t is not prime and a row may not be invertible.
  std::int64_t old_a = 0, a = 1;
  auto old_b = static_cast<std::int64_t>(t.value()), b = static_cast<std::int64_t>(ratio);
  while (b != 0) {
    consider(a, b);
    consider(old_a + a, old_b + b);
    consider(old_a - a, old_b - b);
    const std::int64_t quotient = old_b / b;
    const std::int64_t next_a = old_a - quotient * a;
    const std::int64_t next_b = old_b - quotient * b;
    old_a = a;
    old_b = b;
    a = next_a;
    b = next_b;
  }
  return best;
}

}  // namespace hemera::bgv
