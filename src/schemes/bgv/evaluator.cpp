#include <cmath>
#include <utility>

#include "hemera/rlwe/noise.hpp"
#include "hemera/schemes/bgv.hpp"
#include "schemes/bgv/correction.hpp"
#include "schemes/bgv/noise.hpp"
#include "schemes/bgv/rules.hpp"
#include "schemes/integer/plaintext.hpp"

namespace hemera::bgv {

using rlwe::Ciphertext;
using rlwe::Context;

namespace {

// Multiplies the ciphertext and its correction factor by a small integer; the value stays the same.
void scale_with_correction(Ciphertext& a, std::int64_t factor) {
  if (factor == 1) return;
  const Context& context = *a.context;
  const arith::Modulus& t = context.plain_base().modulus(0);
  const poly::RnsBase& base = context.base(a.meta.level);
  context.backend().multiply_scalar(context.queue(), a.poly.view(), std::as_const(a.poly).view(),
                                    integer::residues(factor, base), base);
  a.meta.correction = t.multiply(a.meta.correction, t.reduce_signed(factor));
  a.meta.noise_log2 += std::log2(std::abs(static_cast<double>(factor)));
  a.seed.reset();
}

}  // namespace

Evaluator::Evaluator(std::shared_ptr<const Context> context, rlwe::EvaluationKeys keys,
                     rlwe::Relinearization relinearization)
    : integer::Evaluator(rules(), std::move(context), std::move(keys), relinearization) {
  const Context& own = *this->context();
  for (std::size_t level = 0; level <= own.top_level(); ++level) {
    log_moduli_.push_back(own.base(level).log2());
  }
}

void Evaluator::align_for_addition(Ciphertext& a, Ciphertext& b) const {
  integer::Evaluator::align_for_addition(a, b);
  if (a.meta.correction == b.meta.correction) return;
  const Multipliers multipliers = balance(context()->plain_base().modulus(0), a.meta.correction,
                                          b.meta.correction, a.meta.noise_log2, b.meta.noise_log2);
  scale_with_correction(a, multipliers.a);
  scale_with_correction(b, multipliers.b);
}

std::size_t Evaluator::product_level(const rlwe::Metadata& a, const rlwe::Metadata& b) const {
  const Context& own = *context();
  if (own.parameters().literal().rescaling == rlwe::Rescaling::manual) {
    return integer::Evaluator::product_level(a, b);
  }
  const LevelSetting setting{
      .degree = own.degree(),
      .log_moduli = log_moduli_,
      .rounding_log2 = rlwe::rounding_noise_log2(own.degree(), own.parameters().literal().secret, 2,
                                                 switching_half_range(own.parameters().plain_modulus())),
      .switching_log2 = [&](std::size_t level) { return rlwe::switching_noise_log2(own, level); }};
  return multiplication_level(setting, {a.level, a.noise_log2}, {b.level, b.noise_log2});
}

double Evaluator::product_noise_log2(const rlwe::Metadata& a, const rlwe::Metadata& b) const {
  return bgv::product_noise_log2(context()->degree(), a.noise_log2, b.noise_log2);
}

}  // namespace hemera::bgv
