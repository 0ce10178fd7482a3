#include "hemera/rlwe/noise.hpp"

#include <algorithm>
#include <cmath>

#include "hemera/rlwe/scheme_traits.hpp"

namespace hemera::rlwe {
namespace {

// ln 2^40: every bound below may fail with probability 2^-40.
constexpr double failure_nats = 27.725887222397812;

}  // namespace

double add_log2(double a, double b) {
  const double larger = std::max(a, b);
  if (larger == unknown_noise) return unknown_noise;
  return larger + std::log2(std::exp2(a - larger) + std::exp2(b - larger));
}

double sum_noise_log2(const Context& context, double a, double b) {
  return traits(context.scheme()).bounds_noise ? add_log2(a, b) : 0;
}

double tail_factor(std::size_t degree) {
  return std::sqrt(2 * (std::log(2.0 * static_cast<double>(degree)) + failure_nats));
}

double tail_factor(std::size_t degree, double failure_log2) {
  return std::sqrt(2 * std::log(2) * (std::log2(2.0 * static_cast<double>(degree)) - failure_log2));
}

double fresh_noise_log2(std::size_t degree, double sigma, bool with_public_key, std::size_t terms) {
  // A sum of independent errors with weights w is subgaussian with parameter sigma |w|; for u and s fixed,
  // each coefficient of e u + e_0 + e_1 s has |w|^2 <= 2 N + 1. With many terms e is a sum of as many errors,
  // and |s|^2 <= N for each (secret_norm_log2).
  return std::log2(sigma * tail_factor(degree) *
                   (with_public_key ? std::sqrt(2 * static_cast<double>(degree * terms) + 1) : 1.0));
}

double fresh_noise_log2(const Context& context, bool with_public_key) {
  if (with_public_key) return fresh_noise_log2(context, 0, context.public_key_base());
  return fresh_noise_log2(context.degree(), context.parameters().literal().sigma, false);
}

double fresh_noise_log2(const Context& context, std::size_t level, const poly::RnsBase& key_base) {
  const ParametersLiteral& literal = context.parameters().literal();
  const double errors = fresh_noise_log2(context.degree(), literal.sigma, true, literal.secret.terms);
  const poly::Division* division = context.encryption_division(level, key_base);
  if (division == nullptr) return errors;
  // The division by the key's special primes, in units of the error's factor: it rounds to multiples of the
  // factor, half a step off (one more unit where the factor is even).
  const std::uint64_t factor = error_factor(context.parameters());
  const double half_range = factor % 2 == 0 ? 0.5 + 1 / static_cast<double>(factor) : 0.5;
  return add_log2(errors - division->dropped().log2(),
                  rounding_noise_log2(context.degree(), literal.secret, 2, half_range));
}

double secret_norm_log2(std::size_t degree, const SecretDistribution& secret) {
  if (secret.weight != 0) return 0.5 * std::log2(static_cast<double>(secret.weight));
  if (secret.deviation != 0 || secret.terms > 1) {
    // |s|^2 of a subgaussian vector: N sigma^2 + 2 sigma^2 sqrt(N x) + 2 sigma^2 x but for e^-x (D. Hsu, S.
    // Kakade, T. Zhang, "A tail inequality for quadratic forms of subgaussian random vectors", theorem 1). A
    // uniform ternary coefficient has the parameter of its deviation: (1 + 2 cosh t) / 3 <= e^(t^2 / 3).
    const auto size = static_cast<double>(degree);
    const double deviation =
        secret.deviation != 0 ? secret.deviation : std::sqrt(2 * static_cast<double>(secret.terms) / 3);
    return std::log2(deviation) +
           0.5 * std::log2(size + 2 * std::sqrt(size * failure_nats) + 2 * failure_nats);
  }
  // The weight of a uniform ternary secret is binomial: Hoeffding's bound.
  const auto n = static_cast<double>(degree);
  return 0.5 * std::log2(std::min(n, 2 * n / 3 + std::sqrt(n * failure_nats / 2)));
}

double secret_embedding_log2(std::size_t degree, const SecretDistribution& secret) {
  // Re(e^-ia s(z)) is subgaussian; 8 directions a lose a factor of cos(pi/8); union bound over N/2 pairs of
  // roots. Uniform ternary: deviation sqrt(N/3); fixed weight h: sqrt(h), and never above h.
  const auto n = static_cast<double>(degree);
  const double deviations = std::sqrt(2 * (std::log(4 * n) + failure_nats)) / 0.9238;
  if (secret.is_uniform())
    return std::log2(deviations * std::sqrt(n / 3 * static_cast<double>(secret.terms)));
  if (secret.deviation != 0) return std::log2(deviations * std::sqrt(n) * secret.deviation);
  const auto weight = static_cast<double>(secret.weight);
  return std::log2(std::min(weight, deviations * std::sqrt(weight)));
}

double rounding_noise_log2(std::size_t degree, const SecretDistribution& secret, std::size_t size,
                           double half_range) {
  // A uniform value of [-h, h] is subgaussian with parameter h / sqrt(3); component i gets the weight |s^i|.
  double weights = 1;
  const double norm = secret_norm_log2(degree, secret);
  const double embedding = secret_embedding_log2(degree, secret);
  for (std::size_t i = 1; i < size; ++i) {
    weights += std::exp2(2 * (norm + static_cast<double>(i - 1) * embedding));
  }
  return std::log2(half_range / std::sqrt(3.0) * tail_factor(degree)) + 0.5 * std::log2(weights);
}

double plaintext_factor_log2(std::size_t degree, std::uint64_t plain_modulus) {
  return std::log2(static_cast<double>(degree)) + std::log2(static_cast<double>(plain_modulus)) - 1;
}

double least_noise_log2(const Context& context) {
  if (!traits(context.scheme()).bounds_noise) return 0;
  // The message's 1/2 comes with both (schemes/integer/encryption.cpp).
  const double fresh = add_log2(fresh_noise_log2(context, false), -1);
  const double switched =
      rounding_noise_log2(context.degree(), context.parameters().literal().secret, 2, 0.5);
  return std::min(fresh, switched) + std::log2(static_cast<double>(error_factor(context.parameters())));
}

double switching_noise_log2(const Context& context, std::size_t level) {
  return switching_noise_log2(context, *context.gadget(level), level);
}

double product_key_factor_log2(std::size_t degree, const SecretDistribution& secret) {
  // In x (s E_0 + u E_1 + E_2) no polynomial's norm grows by more than max|s(z)| by s, and so by u.
  if (secret.terms == 1) return 0;
  return 0.5 * std::log2(2 * std::exp2(2 * secret_embedding_log2(degree, secret)) + 1);
}

namespace {

// `factor_log2`: of the key's error over that of a fresh key of one party.
double switching_noise_log2(const Context& context, const Gadget& gadget, std::size_t level,
                            double factor_log2) {
  const auto degree = static_cast<double>(context.degree());
  const double tail = tail_factor(context.degree());
  // Inner product: for given digits, a coefficient of sum_d x_d e_d is subgaussian with
  // sigma sqrt(N sum_d max|x_d|^2); an uncorrected digit of k primes has |x_d| <= k D / 2, a window |x_d| <
  // 2^w.
  double largest = -1;
  double sum = 0;  // of max|x_d|^2 in units of 2^(2 largest)
  const poly::ModUp& up = gadget.mod_up(level);
  for (std::size_t d = 0; d < up.digits().size(); ++d) {
    const poly::GadgetDigit& digit = up.digits()[d];
    const double size = digit.width != 0 ? digit.width
                                         : digit.moduli.log2() + up.lent().of_digits[d].log2() - 1 +
                                               std::log2(static_cast<double>(digit.moduli.size()));
    if (size > largest) {
      sum = sum * std::exp2(2 * (largest - size)) + 1;
      largest = size;
    } else {
      sum += std::exp2(2 * (size - largest));
    }
  }
  const ParametersLiteral& literal = context.parameters().literal();
  double result = std::log2(literal.sigma * tail) + 0.5 * std::log2(degree * sum) + largest -
                  gadget.special().log2() - up.lent().all.log2() + factor_log2;
  if (!gadget.special().empty() || !up.lent().all.empty()) {
    // ModDown rounds both components: 1/2 (1, s), subgaussian with parameter sqrt(1 + |s|^2) / 2.
    const double norms = degree * static_cast<double>(literal.secret.terms) + 1;
    result = add_log2(result, std::log2(0.5 * std::sqrt(norms) * tail));
  }
  return result + std::log2(static_cast<double>(error_factor(context.parameters())));
}

// A key that is a sum has a sum of errors.
double terms_log2(const Context& context) {
  return 0.5 * std::log2(static_cast<double>(context.parameters().literal().secret.terms));
}

}  // namespace

double switching_noise_log2(const Context& context, const Gadget& gadget, std::size_t level) {
  return switching_noise_log2(context, gadget, level, terms_log2(context));
}

double product_switching_noise_log2(const Context& context, const Gadget& gadget, std::size_t level) {
  const double factor = product_key_factor_log2(context.degree(), context.parameters().literal().secret);
  return switching_noise_log2(context, gadget, level, terms_log2(context) + factor);
}

}  // namespace hemera::rlwe
