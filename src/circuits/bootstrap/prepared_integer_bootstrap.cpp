// A bootstrap of BFV's and BGV's ciphertexts: passes around a CKKS bootstrap.
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include "hemera/arith/big_integer.hpp"
#include "hemera/arith/modulus.hpp"
#include "hemera/circuits/bootstrap/integer_bootstrap.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"
#include "schemes/ckks/scaled_numbers.hpp"

namespace hemera::circuits {
namespace {

using arith::BigInteger;
using poly::Form;
using rlwe::Ciphertext;
using rlwe::Scheme;

// Rounding of budgets, which are sums of logarithms.
constexpr double rounding_bits = 0x1p-20;
// A scale as a whole number over this power of two: doubles are exact there.
constexpr int scale_fraction_bits = 52;

BigInteger fixed_point(double scale) { return ckks::scaled_integer(scale, std::exp2(scale_fraction_bits)); }

}  // namespace

PreparedIntegerBootstrap::PreparedIntegerBootstrap(rlwe::ContextPointer context, const IntegerBootstrap& plan)
    : context_(std::move(context)),
      plan_(plan),
      circuit_((plan.require_parameters(*context_, "bootstrap"), context_->circuit()), plan.circuit()),
      divisions_(1) {
  for (std::size_t level = 1; level <= plan_.result_level(); ++level) {
    divisions_.push_back(std::make_shared<const poly::Division>(context_->base(level), context_->base(0)));
  }
}

void PreparedIntegerBootstrap::check(const integer::Evaluator& evaluator, const Ciphertext& in) const {
  rlwe::require_filled(in, "bootstrap");
  rlwe::require_same_context(*context_, *in.context, "bootstrap");
  rlwe::require_same_context(*context_, *evaluator.context(), "bootstrap");
  if (in.meta.level > plan_.result_level()) {
    throw LevelError("bootstrap: the ciphertext is at level " + std::to_string(in.meta.level) +
                     ", which is the circuit's; the user's highest is " +
                     std::to_string(plan_.result_level()));
  }
  if (plan_.slots_only() && in.meta.encoding != rlwe::Encoding::slots) {
    throw MismatchError(
        "bootstrap: a plan for slots only, and the ciphertext's values are in coefficients; make a plan for "
        "coefficients, which serves both");
  }
  const double budget = plan_.budget_of(in.meta.noise_log2, in.meta.level);
  if (!(budget >= plan_.needed_budget() - rounding_bits)) {
    char text[256];
    std::snprintf(text, sizeof(text),
                  "bootstrap: the ciphertext has %.1f bits of guaranteed noise budget, and a bootstrap needs "
                  "%.1f; bootstrap before the product that takes them, or ",
                  std::max(budget, 0.0), plan_.needed_budget());
    throw NoiseError(text + Message(WayOut::automatic_evaluator, "make the evaluator automatic"));
  }
}

rlwe::EvaluationKeys PreparedIntegerBootstrap::circuit_keys(const rlwe::EvaluationKeys& keys) const {
  rlwe::EvaluationKeys own;
  own.context = context_;
  for (const KeyNeed& need : plan_.needed_keys()) own.add(need.role, require_key(keys, need));
  return rlwe::circuit_keys(own);
}

Ciphertext PreparedIntegerBootstrap::noise_of(const Ciphertext& x, int shift) const {
  const rlwe::Context& own = *context_;
  const std::size_t level = x.meta.level;
  const poly::RnsBase& base = own.base(level);
  const std::size_t batch = x.poly.shape().batch;
  // BGV's message and noise are t times those of the BFV ciphertext over t.
  const std::uint64_t t = own.scheme() == Scheme::bfv ? own.parameters().plain_modulus() : 1;
  const Residues multiple = ckks::residues(BigInteger(t) << static_cast<unsigned>(shift), base);
  poly::Poly scaled = own.make_poly(batch, 2, base, Form::evaluation);
  own.backend().multiply_scalar(own.queue(), scaled.view(), x.poly.view(), multiple, base);
  Ciphertext result{own.circuit(),
                    {.batch = x.meta.batch,
                     .level = 0,
                     .scale = own.circuit()->scales().level_scale(0),
                     .slots = plan_.circuit().slots(),
                     .largest = 1},
                    {},
                    {}};
  if (level == 0) {
    result.poly = std::move(scaled);
    return result;
  }
  result.poly = own.make_poly(batch, 2, own.base(0), Form::evaluation);
  auto workspace = own.make_workspace();
  own.backend().divide_and_round(own.queue(), result.poly.view(), std::as_const(scaled).view(),
                                 *divisions_[level], Form::evaluation, workspace);
  return result;
}

// -round(Q S_0 / (t 2^shift q_0 S)), and t times that for BGV: from the result at its scale S to the noise.
PreparedIntegerBootstrap::Residues PreparedIntegerBootstrap::negative_factor(int shift) const {
  const rlwe::Context& own = *context_;
  const rlwe::Parameters& parameters = own.parameters();
  const poly::RnsBase& base = own.base(plan_.result_level());
  const BigInteger t = parameters.plain_modulus();
  const BigInteger numerator =
      arith::product(base.values()) * fixed_point(own.circuit()->scales().level_scale(0));
  const BigInteger denominator = (t << static_cast<unsigned>(shift)) * arith::product(own.base(0).values()) *
                                 fixed_point(plan_.circuit().ends().result_scale);
  BigInteger factor = (2 * numerator + denominator) / (2 * denominator);
  if (own.scheme() == Scheme::bgv) factor *= t;
  return ckks::residues(-factor, base);
}

Ciphertext PreparedIntegerBootstrap::corrected(const Ciphertext& x, const Ciphertext& noise,
                                               int shift) const {
  const rlwe::Context& own = *context_;
  const poly::Backend& backend = own.backend();
  const std::size_t level = plan_.result_level();
  const poly::RnsBase &base = own.base(level), &given = own.base(x.meta.level);
  rlwe::Metadata meta = x.meta;
  meta.level = level;
  Ciphertext result = rlwe::make_ciphertext(context_, std::move(meta), 2);
  const poly::PolyView out = result.poly.view();
  backend.multiply_scalar(own.queue(), out, noise.poly.view(), negative_factor(shift), base);
  const poly::PolyView part = out.limbs(0, given.size());  // others have residues 0 of x's multiple
  if (x.meta.level == level) {
    backend.add(own.queue(), part, part, x.poly.view(), base);
    return result;
  }
  const BigInteger quotient = arith::product(base.values()) / arith::product(given.values());
  poly::Poly raised = own.make_poly(x.poly.shape().batch, 2, given, Form::evaluation);
  backend.multiply_scalar(own.queue(), raised.view(), x.poly.view(), ckks::residues(quotient, given), given);
  backend.add(own.queue(), part, part, std::as_const(raised).view(), given);
  if (own.scheme() == Scheme::bgv) {
    const arith::Modulus& t = own.plain_base().modulus(0);
    result.meta.correction = t.multiply(result.meta.correction, arith::modulo(quotient, t.value()));
  }
  return result;
}

// The sum over the automorphisms that keep X^(N/n), over their number N/n. Modulo Q that divides exactly, and
// it comes first, as otherwise it would divide the noise of the rotations as well.
Ciphertext PreparedIntegerBootstrap::projected(const ckks::Evaluator& circuit, Ciphertext x) const {
  const rlwe::Context& own = *context_;
  const poly::Backend& backend = own.backend();
  const poly::RnsBase& base = own.base(x.meta.level);
  // The circuit's keys have errors that are no multiples of t: they turn the BFV ciphertext over t.
  const std::uint64_t t = own.scheme() == Scheme::bgv ? own.parameters().plain_modulus() : 1;
  Residues factor = ckks::residues(BigInteger(t) * plan_.repetitions(), base);
  for (std::size_t i = 0; i < factor.size(); ++i)
    factor[i] = arith::inverse(factor[i], base.modulus(i).value());
  backend.multiply_scalar(own.queue(), x.poly.view(), std::as_const(x.poly).view(), factor, base);
  const std::size_t all = own.circuit()->parameters().max_slots();
  Ciphertext turned{own.circuit(),
                    {.batch = x.meta.batch,
                     .level = x.meta.level,
                     .scale = own.circuit()->scales().level_scale(x.meta.level),
                     .slots = all},
                    std::move(x.poly),
                    {}};
  for (std::size_t step = plan_.circuit().slots(); step < all; step *= 2) {
    circuit.add_inplace(turned, circuit.rotate(turned, static_cast<std::int64_t>(step)));
  }
  x.poly = std::move(turned.poly);
  if (t != 1) {
    backend.multiply_scalar(own.queue(), x.poly.view(), std::as_const(x.poly).view(),
                            ckks::residues(BigInteger(t), base), base);
  }
  return x;
}

Ciphertext PreparedIntegerBootstrap::operator()(const integer::Evaluator& evaluator,
                                                const Ciphertext& in) const {
  check(evaluator, in);
  const ckks::Evaluator circuit(context_->circuit(), circuit_keys(evaluator.keys()));
  Ciphertext x = in.clone();
  if (x.size() > 2) evaluator.relinearize_inplace(x);
  for (const int shift : plan_.shifts()) {
    x = corrected(x, circuit_(circuit, noise_of(x, shift)), shift);
    if (plan_.repetitions() != 1) x = projected(circuit, std::move(x));
  }
  x.meta.noise_log2 = plan_.result_noise_log2();
  evaluator.count_bootstrap(in);
  return x;
}

integer::Evaluator::Refresh PreparedIntegerBootstrap::refresh(
    std::shared_ptr<const PreparedIntegerBootstrap> bootstrap) {
  const IntegerBootstrap& plan = bootstrap->plan();
  return {.run = [bootstrap](const integer::Evaluator& evaluator,
                             const Ciphertext& a) { return (*bootstrap)(evaluator, a); },
          .needed = plan.kept_budget(),
          .left = plan.budget_left(),
          .least = plan.needed_budget()};
}

}  // namespace hemera::circuits
