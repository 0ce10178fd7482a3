#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <string>
#include <utility>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/interruption.hpp"
#include "hemera/schemes/ckks.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"
#include "runtime/decimal.hpp"
#include "schemes/ckks/scaled_numbers.hpp"

namespace hemera::ckks {
namespace {

using arith::BigInteger;
using rlwe::Ciphertext;
using rlwe::Plaintext;
using rlwe::Scalar;
using rlwe::ScaleStep;

// Integers, and integer parts of complex numbers, up to here multiply without using up scale: exact as
// doubles.
constexpr double max_plain_integer = 0x1p53;

void multiply_integer(Ciphertext& a, const BigInteger& factor) {
  const rlwe::Context& context = *a.context;
  const poly::RnsBase& base = context.base(a.meta.level);
  const poly::PolyView view = a.poly.view();
  context.backend().multiply_scalar(context.queue(), view, view, residues(factor, base), base);
  a.seed.reset();
}

// Throws unless a value of this scale, of magnitude up to 1, fits the level.
void require_room(const rlwe::Context& context, double scale, std::size_t level, const char* operation) {
  if (std::log2(scale) + 1 > context.base(level).log2()) {
    throw LevelError(std::string(operation) + ": no level is left: the result's scale " +
                     power_of_two(std::log2(scale)) + " does not fit the " +
                     decimal(context.base(level).log2()) + " bits of level " + std::to_string(level) +
                     "; use parameters of more depth, or bootstrap before");
  }
}

// A plaintext with this value in every slot.
Plaintext constant(const rlwe::ContextPointer& context, std::complex<double> value, std::size_t level,
                   double scale) {
  Plaintext plain = Encoder(context).encode(std::span(&value, 1), {}, level, scale, std::abs(value));
  plain.meta.is_complex = value.imag() != 0;
  return plain;
}

bool is_real(const Scalar& scalar) { return scalar.value().imag() == 0; }

bool is_plain_integer(double value) {
  return std::abs(value) <= max_plain_integer && value == std::trunc(value);
}

// Whether a product takes no scale: by an integer a, and by a + bi where X^(N/2) is i in every slot, so that
// a + b X^(N/2) is the number (of powers of 3 as Galois elements, half are 3 modulo 4: -i in those slots).
bool multiplies_exactly(const rlwe::Context& context, const Scalar& b) {
  return !context.scales().policy().integers_cost_a_degree && is_plain_integer(b.value().real()) &&
         is_plain_integer(b.value().imag()) &&
         (is_real(b) || context.parameters().literal().galois_generator == 5);
}

void multiply_complex(Ciphertext& a, const Plaintext& factor) {
  const rlwe::Context& context = *a.context;
  const poly::PolyView view = a.poly.view();
  context.backend().multiply(context.queue(), view, std::as_const(a.poly).view(), factor.poly.view(),
                             context.base(a.meta.level));
  a.meta.is_complex = true;
  a.seed.reset();
}

void require_finite(const Scalar& scalar, const char* operation) {
  if (!std::isfinite(scalar.value().real()) || !std::isfinite(scalar.value().imag())) {
    throw ParameterError(std::string(operation) + ": the scalar must be finite");
  }
}

// Throws where the scalar times `scale` does not fit the level.
void require_fits(const rlwe::Context& context, const Scalar& scalar, double scale, std::size_t level,
                  const char* operation) {
  const double most = std::exp2(context.base(level).log2() - 1 - std::log2(scale));
  const double size = std::abs(scalar.value());
  if (size <= most) return;
  char text[160];
  std::snprintf(text, sizeof(text),
                ": a scalar of magnitude %.3g does not fit level %zu, whose largest is %.3g", size, level,
                most);
  throw ParameterError(std::string(operation) + text +
                       "; use a smaller scalar, a higher level, or parameters of more range_bits");
}

// The scale of values of magnitude 1, or of the declared bound if that is smaller, in units of which a factor
// of theirs is large or not.
double unit_scale(const rlwe::Metadata& meta) {
  return meta.scale * (meta.largest == 0 ? 1.0 : std::min(1.0, meta.largest));
}

}  // namespace

Evaluator::Evaluator(rlwe::ContextPointer context, rlwe::EvaluationKeys keys,
                     rlwe::Relinearization relinearization)
    : Evaluator(std::move(context), std::move(keys), relinearization, Refresh{}) {}

Evaluator::Evaluator(rlwe::ContextPointer context, rlwe::EvaluationKeys keys,
                     rlwe::Relinearization relinearization, Refresh refresh)
    : rlwe::Evaluator(std::move(context), std::move(keys), relinearization), refresh_(std::move(refresh)) {
  rlwe::require_scheme(*this->context(), rlwe::Scheme::ckks, "Evaluator");
}

Ciphertext Evaluator::rescale(const Ciphertext& a) const {
  require(a, "rescale");
  const rlwe::Context& ctx = *context();
  Ciphertext result = rlwe::make_ciphertext(context(), ctx.scales().rescaled(a.meta), a.size());
  const poly::Division& plan = ctx.rescale(a.meta.level);
  auto workspace = ctx.make_workspace();
  ctx.backend().divide_and_round(ctx.queue(), result.poly.view(), a.poly.view(), plan, poly::Form::evaluation,
                                 workspace);
  return result;
}

Ciphertext Evaluator::relinearize_rescale(const Ciphertext& a) const {
  require(a, "relinearize_rescale");
  if (a.size() == 2) return rescale(a);
  return rlwe::relinearize_rescaled(a, relinearization_key(a.meta.level));
}

void Evaluator::multiply_by_factor(Ciphertext& a, const ScaleStep& step) const {
  multiply_integer(a, scaled_integer({1}, step.scale_factor));
}

void Evaluator::adjust_to_level_inplace(Ciphertext& a, std::size_t level,
                                        std::optional<rlwe::Scale> scale) const {
  require(a, "adjust_to_level");
  take_steps(a, context()->scales().adjusted(a.meta, level, scale).steps);
}

rlwe::Factors Evaluator::factors(const Ciphertext& given_a, const Ciphertext& given_b,
                                 rlwe::OperandCopies& copies) const {
  const rlwe::Context& ctx = *context();
  const double largest = rlwe::largest_product(given_a.meta.largest, given_b.meta.largest);
  for (const Ciphertext* operand : {&given_a, &given_b}) {
    if (auto fresh = refreshed(copies.of(*operand), 1, 1, largest)) copies.keep(*operand, std::move(*fresh));
  }
  const Ciphertext &a = copies.of(given_a), &b = copies.of(given_b);
  rlwe::ScaleProduct product = ctx.scales().product(a.meta, b.meta);
  Ciphertext storage_a;
  Ciphertext storage_b;
  const Ciphertext& x = stepped(a, product.a.steps, storage_a);
  const Ciphertext& y = &a == &b ? x : stepped(b, product.b.steps, storage_b);
  rlwe::Factors result{.a = x.poly.view(), .b = y.poly.view(), .meta = std::move(product.meta), .held = {}};
  result.meta.batch = rlwe::broadcast(x.meta.batch, y.meta.batch, "multiply");
  result.meta.slots = std::max(x.meta.slots, y.meta.slots);
  rlwe::join_filling(result.meta, x.meta, y.meta, true);
  require_room(ctx, result.meta.scale, result.meta.level, "multiply");
  result.hold(std::move(storage_a.poly));
  result.hold(std::move(storage_b.poly));
  return result;
}

void Evaluator::combine_plain(Ciphertext& a, const Plaintext& b, bool subtract, const char* operation) const {
  // Whatever may be wrong is found before the first step changes `a`.
  require(a, operation);
  rlwe::require_plaintext(*context(), b, operation);
  const rlwe::Context& ctx = *context();
  const auto [way, factor] = ctx.scales().plain_sum(a.meta, b.meta);
  rlwe::BatchShape batch = rlwe::broadcast(a.meta.batch, b.meta.batch, operation);
  const std::size_t level = way.meta.level;
  const poly::RnsBase& base = ctx.base(level);
  const bool whole = b.poly.base() == base && factor == 1;
  poly::Poly part = whole ? poly::Poly() : rlwe::restrict_to(ctx, b.poly, base);
  if (factor != 1) {
    ctx.backend().multiply_scalar(ctx.queue(), part.view(), std::as_const(part).view(),
                                  residues(scaled_integer(factor, 1), base), base);
  }
  const poly::ConstPolyView term = whole ? b.poly.view() : std::as_const(part).view();
  Ciphertext storage;
  Ciphertext grown;
  const Ciphertext* source = &stepped(a, way.steps, storage);
  if (rlwe::batch_count(batch) != rlwe::batch_count(a.meta.batch)) {
    rlwe::Metadata meta = source->meta;
    meta.batch = batch;
    grown = rlwe::make_ciphertext(context(), std::move(meta), a.size());
    for (std::size_t i = 0; i < rlwe::batch_count(batch); ++i) {
      ctx.backend().copy(ctx.queue(), grown.poly.view().batches(i, 1), source->poly.view());
    }
    source = &grown;
  }
  const runtime::Uninterrupted in_place;
  if (source == &storage) a = std::move(storage);
  if (source == &grown) a = std::move(grown);
  const poly::PolyView c0 = a.poly.view().components(0, 1);
  if (subtract) {
    ctx.backend().subtract(ctx.queue(), c0, c0, term, base);
  } else {
    ctx.backend().add(ctx.queue(), c0, c0, term, base);
  }
  rlwe::join_filling(a.meta, a.meta, b.meta, false);
  a.meta.slots = std::max(a.meta.slots, b.meta.slots);
  a.meta.largest += b.meta.largest;
  a.meta.batch = std::move(batch);
  a.seed.reset();
}

void Evaluator::add_plain_inplace(Ciphertext& a, const Plaintext& b) const {
  combine_plain(a, b, false, "add_plain");
}

void Evaluator::subtract_plain_inplace(Ciphertext& a, const Plaintext& b) const {
  combine_plain(a, b, true, "subtract_plain");
}

rlwe::Factors Evaluator::factors(const Ciphertext& given, const Plaintext& b,
                                 rlwe::OperandCopies& copies) const {
  const Ciphertext& a = copies.of(given);
  rlwe::require_plaintext(*context(), b, "multiply_plain");
  const rlwe::Context& ctx = *context();
  rlwe::ScaleProduct product = ctx.scales().plain_product(a.meta, b.meta);
  Ciphertext storage;
  const Ciphertext& x = stepped(a, product.a.steps, storage);
  rlwe::Factors result{.a = x.poly.view(), .b = b.poly.view(), .meta = std::move(product.meta), .held = {}};
  result.meta.batch = rlwe::broadcast(x.meta.batch, b.meta.batch, "multiply_plain");
  result.meta.slots = std::max(x.meta.slots, b.meta.slots);
  rlwe::join_filling(result.meta, x.meta, b.meta, true);
  require_room(ctx, result.meta.scale, result.meta.level, "multiply_plain");
  const poly::RnsBase& base = ctx.base(result.meta.level);
  if (b.poly.base() != base) {
    poly::Poly part = rlwe::restrict_to(ctx, b.poly, base);
    result.b = std::as_const(part).view();
    result.hold(std::move(part));
  }
  result.hold(std::move(storage.poly));
  return result;
}

void Evaluator::add_scalar_inplace(Ciphertext& a, const Scalar& b) const {
  require(a, "add_scalar");
  require_finite(b, "add_scalar");
  const rlwe::Context& ctx = *context();
  require_fits(ctx, b, a.meta.scale, a.meta.level, "add_scalar");
  if (!is_real(b)) {
    add_plain_inplace(a, constant(context(), b.value(), a.meta.level, a.meta.scale));
    return;
  }
  if (b.value().real() == 0) return;
  const poly::RnsBase& base = ctx.base(a.meta.level);
  const runtime::Uninterrupted whole;
  const poly::PolyView c0 = a.poly.view().components(0, 1);
  ctx.backend().add_scalar(ctx.queue(), c0, c0, scaled_residues(b.value().real(), a.meta.scale.exact(), base),
                           poly::Form::evaluation, base);
  a.meta.largest += std::abs(b.value().real());
  a.meta.padding = rlwe::no_longer_zeros(a.meta);
  a.seed.reset();
}

void Evaluator::multiply_scalar_inplace(Ciphertext& a, const Scalar& b) const {
  require(a, "multiply_scalar");
  require_finite(b, "multiply_scalar");
  if (multiplies_exactly(*context(), b)) {
    require_fits(*context(), b, unit_scale(a.meta), a.meta.level, "multiply_scalar");
    const runtime::Uninterrupted whole;
    multiply_exactly(a, b);
    a.meta.largest = rlwe::largest_product(a.meta.largest, std::abs(b.value()));
    return;
  }
  const rlwe::ScalePolicy& scales = context()->scales();
  const rlwe::ScaleWay way = scales.before_product(a.meta);
  const double scale = scales.level_scale(way.meta.level);
  require_product(way.meta, b, scale);
  Ciphertext storage;
  if (&stepped(a, way.steps, storage) == &a) {
    multiply_by_number(a, b, scale);
  } else {
    multiply_by_number(storage, b, scale);
    a = std::move(storage);
  }
}

void Evaluator::multiply_scalar_inplace(Ciphertext& a, const Scalar& b, double target_scale) const {
  require(a, "multiply_scalar");
  require_finite(b, "multiply_scalar");
  if (a.meta.level == 0) {
    throw LevelError("multiply_scalar: a product at level 0 has no rescale that gives it another scale");
  }
  const double divisor = context()->scales().policy().scales[a.meta.level].divisor;
  const double scale = target_scale * (divisor / a.meta.scale);
  if (!(scale >= 1) || !std::isfinite(scale)) {
    throw ScaleError("multiply_scalar: a ciphertext of scale " + power_of_two(std::log2(a.meta.scale)) +
                     " at level " + std::to_string(a.meta.level) + " can not have the scale " +
                     power_of_two(std::log2(target_scale)) +
                     " after its rescale; rescale it first, or ask for a larger scale");
  }
  require_product(a.meta, b, scale);
  multiply_by_number(a, b, scale);
}

const Plaintext& Evaluator::imaginary_unit(std::size_t level) const {
  const std::scoped_lock lock(making_imaginary_unit_);
  const auto found = imaginary_units_.find(level);
  if (found != imaginary_units_.end()) return found->second;
  return imaginary_units_
      .emplace(level, Encoder(context()).encode_number(std::complex<double>(0, 1), level, 1))
      .first->second;
}

// Multiplies by integer parts: a times the real part, plus a turned by i times the imaginary one.
void Evaluator::multiply_exactly(Ciphertext& a, const Scalar& b) const {
  const BigInteger real(static_cast<std::int64_t>(b.value().real()));
  if (is_real(b)) return multiply_integer(a, real);
  const BigInteger imaginary(static_cast<std::int64_t>(b.value().imag()));
  const rlwe::Context& ctx = *context();
  const poly::RnsBase& base = ctx.base(a.meta.level);
  Ciphertext rest;
  if (b.value().real() != 0) {
    rest = a.clone();
    multiply_integer(rest, real);
  }
  multiply_complex(a, imaginary_unit(a.meta.level));
  if (b.value().imag() != 1) multiply_integer(a, imaginary);
  if (b.value().real() != 0) {
    ctx.backend().add(ctx.queue(), a.poly.view(), std::as_const(a.poly).view(),
                      std::as_const(rest.poly).view(), base);
  }
}

// Throws where the product by `b`, with this scale, does not fit.
void Evaluator::require_product(const rlwe::Metadata& meta, const Scalar& b, double scale) const {
  require_room(*context(), meta.scale * scale, meta.level, "multiply_scalar");
  require_fits(*context(), b, unit_scale(meta) * scale, meta.level, "multiply_scalar");
}

// `b` with this scale; the product waits for its rescale.
void Evaluator::multiply_by_number(Ciphertext& a, const Scalar& b, double scale) const {
  const rlwe::Context& ctx = *context();
  const runtime::Uninterrupted whole;
  if (is_real(b)) {
    multiply_integer(a, scaled_integer(b.value().real(), scale));
  } else {
    multiply_complex(a, constant(context(), b.value(), a.meta.level, scale));
  }
  a.meta = ctx.scales().number_product(std::move(a.meta), scale);
  a.meta.largest = rlwe::largest_product(a.meta.largest, std::abs(b.value()));
}

std::size_t Evaluator::smallest_safe_level(const Ciphertext& a) const {
  const rlwe::Context& ctx = *context();
  const double range = std::isfinite(a.meta.largest)
                           ? std::log2(std::max(1.0, a.meta.largest)) + 1 + spare_bits
                           : ctx.parameters().literal().range_bits;
  const double needed = std::log2(a.meta.scale) + range - 0.5;
  for (std::size_t level = ctx.parameters().lowest_user_level(); level < a.meta.level; ++level) {
    const bool is_part = ctx.base(level).without(ctx.base(a.meta.level)).empty();
    if (ctx.base(level).log2() >= needed && is_part) return level;
  }
  return a.meta.level;
}

}  // namespace hemera::ckks
