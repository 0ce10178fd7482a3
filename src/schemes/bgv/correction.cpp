#include "schemes/bgv/correction.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "hemera/rlwe/noise.hpp"

namespace hemera::bgv {
namespace {

// The first row (remainder a, coefficient b) of least |a| + |b| with a = b ratio modulo t: SEAL takes it, so
// that factors are the same.
Multipliers least_sum(const arith::Modulus& t, std::uint64_t first, std::uint64_t second) {
  const std::uint64_t ratio = t.multiply(second, arith::inverse(first, t.value()));  // a = b * ratio
  Multipliers best{t.centered(ratio), 1};
  auto old_a = static_cast<std::int64_t>(t.value()), a = static_cast<std::int64_t>(ratio);
  std::int64_t old_b = 0, b = 1;
  while (a != 0) {
    const std::int64_t quotient = old_a / a;
    old_a = std::exchange(a, old_a - quotient * a);
    old_b = std::exchange(b, old_b - quotient * b);
    if (a == 0 || std::gcd(static_cast<std::uint64_t>(a), t.value()) != 1) continue;
    const Multipliers candidate{t.centered(t.reduce_signed(a)), t.centered(t.reduce_signed(b))};
    if (std::abs(candidate.a) + std::abs(candidate.b) < std::abs(best.a) + std::abs(best.b)) best = candidate;
  }
  return best;
}

}  // namespace

Multipliers balance(const arith::Modulus& t, std::uint64_t first, std::uint64_t second, double noise_a,
                    double noise_b) {
  if (noise_a == rlwe::unknown_noise || noise_b == rlwe::unknown_noise) return least_sum(t, first, second);
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
