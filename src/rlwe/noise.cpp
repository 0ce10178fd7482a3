#include "hemera/rlwe/noise.hpp"

#include <algorithm>
#include <cmath>

namespace hemera::rlwe {

double add_log2(double a, double b) {
  const double larger = std::max(a, b);
  return larger + std::log2(std::exp2(a - larger) + std::exp2(b - larger));
}

double tail_factor(std::size_t degree) {
  return std::sqrt(2 * (std::log(2.0 * static_cast<double>(degree)) + 40 * std::log(2.0)));
}

double fresh_noise_log2(const Context& context, bool with_public_key) {
  // A sum of independent errors with weights w is subgaussian with parameter sigma |w|; for u and s fixed,
  // each coefficient of e u + e_0 + e_1 s has |w|^2 <= 2 N + 1.
  const auto degree = static_cast<double>(context.degree());
  const double deviation = context.parameters().literal().sigma;
  return std::log2(deviation * tail_factor(context.degree()) *
                   (with_public_key ? std::sqrt(2 * degree + 1) : 1.0));
}

double switching_noise_log2(const Context& context, std::size_t level) {
  const auto degree = static_cast<double>(context.degree());
  const double tail = tail_factor(context.degree());
  // Inner product: for given digits, a coefficient of sum_d x_d e_d is subgaussian with
  // sigma sqrt(N sum_d max|x_d|^2); an uncorrected digit of k primes has |x_d| <= k D / 2, a window |x_d| <
  // 2^w.
  double largest = -1;
  double sum = 0;  // of max|x_d|^2 in units of 2^(2 largest)
  for (const poly::GadgetDigit& digit : context.mod_up(level, level).digits()) {
    const double size = digit.width != 0
                            ? digit.width
                            : digit.moduli.log2() - 1 + std::log2(static_cast<double>(digit.moduli.size()));
    if (size > largest) {
      sum = sum * std::exp2(2 * (largest - size)) + 1;
      largest = size;
    } else {
      sum += std::exp2(2 * (size - largest));
    }
  }
  const double deviation = context.parameters().literal().sigma;
  double result = std::log2(deviation * tail) + 0.5 * std::log2(degree * sum) + largest -
                  context.parameters().log_special();
  if (!context.special().empty()) {
    // ModDown rounds both components: 1/2 (1, s), subgaussian with parameter sqrt(1 + |s|^2) / 2.
    result = add_log2(result, std::log2(0.5 * std::sqrt(degree + 1) * tail));
  }
  return context.scheme() == Scheme::bgv
             ? result + std::log2(static_cast<double>(context.parameters().plain_modulus()))
             : result;
}

}  // namespace hemera::rlwe
