#include "schemes/bfv/noise.hpp"

#include <cmath>

#include "hemera/rlwe/noise.hpp"

namespace hemera::bfv {

using rlwe::add_log2;

double product_noise_log2(const ProductSetting& setting, double a, double b) {
  const double n = std::log2(static_cast<double>(setting.degree));
  const double t = std::log2(static_cast<double>(setting.plain_modulus));
  if (std::isfinite(setting.operand_rounding_log2)) {
    b = add_log2(
        b, setting.operand_rounding_log2 + rlwe::rounding_noise_log2(setting.degree, setting.secret, 2, 0.5));
  }
  // (t/Q) a(s) v_b: a(s)/Q = a_0/Q + a_1/Q s with uniform a_i/Q in [-1/2, 1/2]; for v_b and s fixed, a
  // coefficient is subgaussian with parameter t |v_b| (1 + max|s(z)|) / sqrt(12), |v_b| = sqrt(N) deviations.
  const double embedding = rlwe::secret_embedding_log2(setting.degree, setting.secret);
  const double growth = t + 0.5 * (n - std::log2(12.0)) + add_log2(0, embedding);
  // (t/Q) v_a v_b, in the worst case.
  const double both = n + t + a + b - setting.log_modulus;
  const double rounding =
      rlwe::rounding_noise_log2(setting.degree, setting.secret, 3, setting.rounding_error);
  return add_log2(add_log2(growth + add_log2(a, b), both), rounding);
}

}  // namespace hemera::bfv
