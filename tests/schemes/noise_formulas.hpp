// The bounds of docs/noise.md, written out: bounds themselves, not their logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "hemera/rlwe/context.hpp"

namespace hemera::testing {

/// Noise of parameters with a uniform ternary secret.
struct NoiseFormulas {
  explicit NoiseFormulas(const rlwe::Context& own)
      : context(own),
        n(static_cast<double>(own.degree())),
        t(static_cast<double>(own.parameters().plain_modulus())),
        sigma(own.parameters().literal().sigma) {}

  const rlwe::Context& context;
  double n, t, sigma;

  [[nodiscard]] bool is_bgv() const { return context.scheme() == rlwe::Scheme::bgv; }
  /// Errors of BGV are multiples of t.
  [[nodiscard]] double unit() const { return is_bgv() ? t : 1; }
  [[nodiscard]] double modulus(std::size_t level) const {
    double product = 1;
    for (const std::uint64_t prime : context.parameters().literal().levels[level]) {
      product *= static_cast<double>(prime);
    }
    return product;
  }
  /// "Tails."
  [[nodiscard]] double tail() const { return std::sqrt(2 * std::log(2 * n * 0x1p40)); }
  /// "The secret.": |s|^2 and S.
  [[nodiscard]] double secret_norm_squared() const {
    return std::min(n, 2 * n / 3 + std::sqrt(n * std::log(0x1p40) / 2));
  }
  [[nodiscard]] double secret_embedding() const {
    return 1 / std::cos(std::numbers::pi / 8) * std::sqrt(2 * std::log(4 * n * 0x1p40) * n / 3);
  }
  /// "Rounding.": R_k(h).
  [[nodiscard]] double rounding(int size, double h) const {
    double weights = 1;
    for (int i = 1; i < size; ++i)
      weights += secret_norm_squared() * std::pow(secret_embedding(), 2 * (i - 1));
    return tail() * h / std::sqrt(3.0) * std::sqrt(weights);
  }
  [[nodiscard]] double switching_half_range() const {
    if (!is_bgv()) return 0.5;
    return context.parameters().plain_modulus() % 2 == 1 ? t / 2 : t / 2 + 1;
  }
  /// Encryption, e_f, and with the message.
  [[nodiscard]] double fresh_error(bool with_public_key) const {
    if (!with_public_key) return tail() * sigma;
    const auto& special = context.parameters().literal().special_primes;
    const double errors = tail() * sigma * std::sqrt(2 * n + 1);
    if (special.empty()) return errors;
    const double half = is_bgv() && context.parameters().plain_modulus() % 2 == 0 ? 0.5 + 1 / t : 0.5;
    return errors / static_cast<double>(special.front()) + rounding(2, half);
  }
  [[nodiscard]] double fresh(bool with_public_key) const {
    return unit() * (fresh_error(with_public_key) + 0.5);
  }
  /// What a message of this largest centred magnitude adds.
  [[nodiscard]] double message(double largest) const { return is_bgv() ? largest : 0.5; }
  /// "Key switch.": B_ks at a level, of the default gadget.
  [[nodiscard]] double switching(std::size_t level) const {
    const rlwe::ParametersLiteral& literal = context.parameters().literal();
    const auto& there = literal.levels[level];
    double squares = 0, special = 1;
    for (const auto& digit : literal.digits) {
      double product = 1, count = 0;
      for (const std::uint64_t prime : digit) {
        if (std::find(there.begin(), there.end(), prime) == there.end()) continue;
        product *= static_cast<double>(prime);
        ++count;
      }
      if (count != 0) squares += std::pow(count * product / 2, 2);
    }
    for (const std::uint64_t prime : literal.special_primes) special *= static_cast<double>(prime);
    return unit() * (tail() * sigma / special * std::sqrt(n * squares) + tail() / 2 * std::sqrt(n + 1));
  }
  /// A modulus switch, one level down.
  [[nodiscard]] double switched(double noise, std::size_t level, int size = 2) const {
    return modulus(level - 1) / modulus(level) * noise + rounding(size, switching_half_range());
  }
  [[nodiscard]] double lowered(double noise, std::size_t from, std::size_t to, int size = 2) const {
    for (std::size_t level = from; level > to; --level) noise = switched(noise, level, size);
    return noise;
  }
  /// "BFV product.", with rho and the rounding of the second operand; "BGV product."
  [[nodiscard]] double product(double a, double b, std::size_t level, double rho, double rounded) const {
    if (is_bgv()) {
      const double chosen = std::sqrt(n) * t / 4;
      return 2 * std::sqrt(n) * std::max(a, chosen) * std::max(b, chosen);
    }
    return t * std::sqrt(n / 12) * (1 + secret_embedding()) * (a + b + rounded) +
           t * n / modulus(level) * a * (b + rounded) + rounding(3, rho);
  }
  /// log2 of the largest noise that decrypts, less log2 of the bound.
  [[nodiscard]] double budget(double noise, std::size_t level) const {
    return std::max(0.0, std::log2(modulus(level)) - (is_bgv() ? 1 : std::log2(2 * t)) - std::log2(noise));
  }
};

}  // namespace hemera::testing
