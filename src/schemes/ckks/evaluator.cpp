#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::ckks {
namespace {

using arith::BigInteger;
using rlwe::Ciphertext;
using rlwe::Plaintext;
using rlwe::Rescaling;
using rlwe::Scalar;

// Integers up to here multiply without using up scale: exact as doubles.
constexpr double max_plain_integer = 0x1p53;

bool is_automatic(const rlwe::Context& context) {
  return context.parameters().literal().rescaling == Rescaling::automatic;
}

// Scales that went different ways differ by the rounding of integer factors of about the scale's size.
bool close(const rlwe::Context& context, double a, double b) {
  const double tolerance = 0x1p-45 + 8 / context.parameters().scale();
  return std::abs(a / b - 1) <= tolerance;
}

std::string scale_text(double scale) { return "2^" + std::to_string(std::log2(scale)); }

// value * scale to the nearest integer, ties to even, exactly.
BigInteger scaled_integer(double value, double scale) {
  int value_exponent = 0;
  int scale_exponent = 0;
  const auto mantissa = [](double x, int& exponent) {
    return static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  };
  BigInteger product = mantissa(value, value_exponent);
  product *= mantissa(scale, scale_exponent);
  const int shift = value_exponent + scale_exponent - 106;
  if (shift >= 0) return product << static_cast<unsigned>(shift);
  const bool negative = product < 0;
  if (negative) product = -product;
  const auto right = static_cast<unsigned>(-shift);
  BigInteger quotient = product >> right;
  const BigInteger remainder = product - (quotient << right);
  const BigInteger half = BigInteger(1) << (right - 1);
  if (remainder > half || (remainder == half && (quotient & 1) != 0)) ++quotient;
  return negative ? BigInteger(-quotient) : quotient;
}

std::vector<std::uint64_t> residues(const BigInteger& value, const poly::RnsBase& base) {
  std::vector<std::uint64_t> result;
  for (const std::uint64_t modulus : base.values()) result.push_back(arith::modulo(value, modulus));
  return result;
}

void multiply_integer(Ciphertext& a, const BigInteger& factor) {
  const rlwe::Context& context = *a.context;
  const poly::RnsBase& base = context.base(a.meta.level);
  const poly::PolyView view = a.poly.view();
  context.backend().multiply_scalar(context.queue(), view, view, residues(factor, base), base);
  a.seed.reset();
}

bool is_part(const poly::RnsBase& part, const poly::RnsBase& whole) { return part.without(whole).empty(); }

// Throws unless a value of this scale, of magnitude up to 1, fits the level.
void require_room(const rlwe::Context& context, double scale, std::size_t level, const char* operation) {
  if (std::log2(scale) + 1 > context.base(level).log2()) {
    throw LevelError(std::string(operation) + ": no level is left: the result's scale " + scale_text(scale) +
                     " does not fit the " + std::to_string(context.base(level).log2()) + " bits of level " +
                     std::to_string(level) + "; use parameters of more depth, or bootstrap");
  }
}

// Automatic mode: a product waits for its rescale until the next multiplication.
void rescale_product(const Evaluator& evaluator, Ciphertext& a) {
  if (a.meta.noise_scale_degree > 1 && a.meta.level > 0) evaluator.rescale_inplace(a);
}

// A plaintext with this value in every slot.
Plaintext constant(const std::shared_ptr<const rlwe::Context>& context, std::complex<double> value,
                   std::size_t level, double scale) {
  return Encoder(context).encode(std::span(&value, 1), {}, level, scale);
}

bool is_real(const Scalar& scalar) { return scalar.value.imag() == 0; }

void require_finite(const Scalar& scalar, const char* operation) {
  if (!std::isfinite(scalar.value.real()) || !std::isfinite(scalar.value.imag())) {
    throw ParameterError(std::string(operation) + ": the scalar must be finite");
  }
}

}  // namespace

Ciphertext Evaluator::rescale(const Ciphertext& a) const {
  require(a, "rescale");
  const std::size_t level = a.meta.level;
  if (level == 0) {
    throw LevelError(
        "rescale: the ciphertext is at level 0, the last one; use parameters of more depth, or bootstrap");
  }
  const rlwe::Context& ctx = *context();
  const poly::Division& plan = ctx.rescale(level);
  rlwe::Metadata meta = a.meta;
  meta.level = level - 1;
  meta.scale /= ctx.chain().ratio(level);
  meta.noise_scale_degree = std::max(1, meta.noise_scale_degree - 1);
  Ciphertext result = rlwe::make_ciphertext(context(), std::move(meta), a.size());
  auto workspace = ctx.make_workspace();
  ctx.backend().divide_and_round(ctx.queue(), result.poly.view(), a.poly.view(), plan, poly::Form::evaluation,
                                 workspace);
  return result;
}

void Evaluator::drop_to_level_inplace(Ciphertext& a, std::size_t level) const {
  require(a, "drop_to_level");
  if (level > a.meta.level) {
    throw LevelError("drop_to_level: the ciphertext is at level " + std::to_string(a.meta.level) +
                     ", below level " + std::to_string(level) +
                     "; levels only go down (bootstrapping raises them)");
  }
  if (level == a.meta.level) return;
  const rlwe::Context& ctx = *context();
  if (is_part(ctx.base(level), ctx.base(a.meta.level))) {
    a.poly = rlwe::restrict_to(ctx, a.poly, ctx.base(level));
    a.meta.level = level;
    a.seed.reset();
    return;
  }
  // The lower base has primes of its own: go down by rescaling a multiple, one level at a time.
  while (a.meta.level > level) {
    const double ratio = ctx.chain().ratio(a.meta.level);
    const BigInteger factor = scaled_integer(1, ratio);
    multiply_integer(a, factor);
    a.meta.scale *= static_cast<double>(factor);
    const int degree = a.meta.noise_scale_degree;
    rescale_inplace(a);
    a.meta.noise_scale_degree = degree;
  }
}

void Evaluator::adjust_to_level_inplace(Ciphertext& a, std::size_t level) const {
  require(a, "adjust_to_level");
  const rlwe::Context& ctx = *context();
  const double target = level_scale(ctx, level);
  if (level == a.meta.level && close(ctx, a.meta.scale, target)) return;
  if (level >= a.meta.level) {
    throw LevelError("adjust_to_level: a ciphertext at level " + std::to_string(a.meta.level) +
                     " with scale " + scale_text(a.meta.scale) + " cannot get the scale of level " +
                     std::to_string(level) + ", because that takes a level");
  }
  drop_to_level_inplace(a, level + 1);
  const BigInteger factor = scaled_integer(1, target * (ctx.chain().ratio(level + 1) / a.meta.scale));
  if (factor < 1) {
    throw ScaleError("adjust_to_level: the scale " + scale_text(a.meta.scale) +
                     " is too large for that of level " + std::to_string(level) + ", " + scale_text(target) +
                     "; rescale first");
  }
  multiply_integer(a, factor);
  a.meta.scale *= static_cast<double>(factor);
  rescale_inplace(a);
}

bool Evaluator::aligned_for_addition(const rlwe::Metadata& a, const rlwe::Metadata& b) const {
  return a.level == b.level && close(*context(), a.scale, b.scale);
}

void Evaluator::align_for_addition(Ciphertext& a, Ciphertext& b) const {
  const rlwe::Context& ctx = *context();
  if (!is_automatic(ctx)) {
    if (a.meta.level != b.meta.level) {
      throw MismatchError("add: the operands are at levels " + std::to_string(a.meta.level) + " and " +
                          std::to_string(b.meta.level) +
                          "; drop the higher one to the lower level, or use automatic rescaling");
    }
    throw ScaleError("add: the operands have scales " + scale_text(a.meta.scale) + " and " +
                     scale_text(b.meta.scale) + "; rescale or scale one of them, or use automatic rescaling");
  }
  // First to one level and noise-scale degree: those of the lower operand, at equal levels the higher degree.
  Ciphertext& high = a.meta.level > b.meta.level || (a.meta.level == b.meta.level &&
                                                     a.meta.noise_scale_degree < b.meta.noise_scale_degree)
                         ? a
                         : b;
  Ciphertext& low = &high == &a ? b : a;
  if (high.meta.level > low.meta.level) rescale_product(*this, high);
  if (low.meta.noise_scale_degree > high.meta.noise_scale_degree) {
    drop_to_level_inplace(high, low.meta.level);
    const BigInteger factor = scaled_integer(1, low.meta.scale / high.meta.scale);
    if (factor >= 1) {
      multiply_integer(high, factor);
      high.meta.scale *= static_cast<double>(factor);
      high.meta.noise_scale_degree = low.meta.noise_scale_degree;
    }
  } else if (high.meta.level > low.meta.level) {
    adjust_to_level_inplace(high, low.meta.level);
  }
  if (aligned_for_addition(a.meta, b.meta)) return;
  // Scales that the caller chose: one level lower both can have the scale of automatic mode.
  rescale_product(*this, a);
  rescale_product(*this, b);
  const std::size_t level = std::min(a.meta.level, b.meta.level);
  if (level == 0) {
    throw ScaleError("add: the operands have scales " + scale_text(a.meta.scale) + " and " +
                     scale_text(b.meta.scale) + ", and no level is left to adjust them");
  }
  adjust_to_level_inplace(a, level - 1);
  adjust_to_level_inplace(b, level - 1);
}

rlwe::Factors Evaluator::factors(const Ciphertext& a, const Ciphertext& b) const {
  const rlwe::Context& ctx = *context();
  const bool same = &a == &b;
  Ciphertext storage_a;
  Ciphertext storage_b;
  const Ciphertext* x = &a;
  const Ciphertext* y = &b;
  if (is_automatic(ctx)) {
    const auto needs_rescale = [](const Ciphertext& c) {
      return c.meta.noise_scale_degree > 1 && c.meta.level > 0;
    };
    const auto rescaled = [&](const Ciphertext& c, Ciphertext& storage) {
      if (!needs_rescale(c)) return &c;
      storage = rescale(c);
      return static_cast<const Ciphertext*>(&storage);
    };
    x = rescaled(a, storage_a);
    y = same ? x : rescaled(b, storage_b);
    const auto lowered = [&](const Ciphertext* c, Ciphertext& storage, std::size_t level) {
      if (c->meta.level == level) return c;
      if (c != &storage) storage = c->clone();
      adjust_to_level_inplace(storage, level);
      return static_cast<const Ciphertext*>(&storage);
    };
    const std::size_t level = std::min(x->meta.level, y->meta.level);
    x = lowered(x, storage_a, level);
    if (!same) y = lowered(y, storage_b, level);
    if (same) y = x;
  } else if (a.meta.level != b.meta.level) {
    throw MismatchError("multiply: the operands are at levels " + std::to_string(a.meta.level) + " and " +
                        std::to_string(b.meta.level) +
                        "; drop the higher one to the lower level, or use automatic rescaling");
  }
  rlwe::Factors result{.a = x->poly.view(), .b = y->poly.view(), .meta = x->meta, .held = {}};
  result.meta.batch = rlwe::broadcast(x->meta.batch, y->meta.batch, "multiply");
  result.meta.slots = std::max(x->meta.slots, y->meta.slots);
  result.meta.scale = x->meta.scale * y->meta.scale;
  result.meta.noise_scale_degree = x->meta.noise_scale_degree + y->meta.noise_scale_degree;
  require_room(ctx, result.meta.scale, result.meta.level, "multiply");
  result.hold(std::move(storage_a.poly));
  result.hold(std::move(storage_b.poly));
  return result;
}

void Evaluator::add_plain_inplace(Ciphertext& a, const Plaintext& b) const {
  require(a, "add_plain");
  rlwe::require_same_context(*context(), *b.context, "add_plain");
  const rlwe::Context& ctx = *context();
  if (b.meta.level < a.meta.level) {
    if (!is_automatic(ctx)) {
      throw MismatchError("add_plain: the plaintext is at level " + std::to_string(b.meta.level) +
                          ", below the ciphertext's level " + std::to_string(a.meta.level) +
                          "; encode it at the ciphertext's level");
    }
    rescale_product(*this, a);
    if (b.meta.level < a.meta.level) adjust_to_level_inplace(a, b.meta.level);
  }
  if (!close(ctx, a.meta.scale, b.meta.scale)) {
    throw ScaleError("add_plain: the ciphertext has scale " + scale_text(a.meta.scale) + ", the plaintext " +
                     scale_text(b.meta.scale) + "; encode it with the ciphertext's level and scale");
  }
  const poly::RnsBase& base = ctx.base(a.meta.level);
  const bool whole = b.meta.level == a.meta.level;
  const poly::Poly part = whole ? poly::Poly() : rlwe::restrict_to(ctx, b.poly, base);
  const poly::ConstPolyView term = whole ? b.poly.view() : part.view();
  const rlwe::BatchShape batch = rlwe::broadcast(a.meta.batch, b.meta.batch, "add_plain");
  if (rlwe::batch_count(batch) != rlwe::batch_count(a.meta.batch)) {
    rlwe::Metadata meta = a.meta;
    meta.batch = batch;
    Ciphertext grown = rlwe::make_ciphertext(context(), std::move(meta), a.size());
    for (std::size_t i = 0; i < rlwe::batch_count(batch); ++i) {
      ctx.backend().copy(ctx.queue(), grown.poly.view().batches(i, 1), std::as_const(a.poly).view());
    }
    a = std::move(grown);
  }
  const poly::PolyView c0 = a.poly.view().components(0, 1);
  ctx.backend().add(ctx.queue(), c0, c0, term, base);
  a.meta.slots = std::max(a.meta.slots, b.meta.slots);
  a.meta.batch = batch;
  a.seed.reset();
}

void Evaluator::subtract_plain_inplace(Ciphertext& a, const Plaintext& b) const {
  negate_inplace(a);
  try {
    add_plain_inplace(a, b);
  } catch (...) {
    negate_inplace(a);
    throw;
  }
  negate_inplace(a);
}

rlwe::Factors Evaluator::factors(const Ciphertext& a, const Plaintext& b) const {
  rlwe::require_same_context(*context(), *b.context, "multiply_plain");
  const rlwe::Context& ctx = *context();
  Ciphertext storage;
  const Ciphertext* x = &a;
  if (is_automatic(ctx) && a.meta.noise_scale_degree > 1 && a.meta.level > 0) {
    storage = rescale(a);
    x = &storage;
  }
  if (b.meta.level < x->meta.level) {
    if (!is_automatic(ctx)) {
      throw MismatchError("multiply_plain: the plaintext is at level " + std::to_string(b.meta.level) +
                          ", below the ciphertext's level " + std::to_string(a.meta.level) +
                          "; encode it at the ciphertext's level");
    }
    if (x == &a) storage = a.clone();
    adjust_to_level_inplace(storage, b.meta.level);
    x = &storage;
  }
  rlwe::Factors result{.a = x->poly.view(), .b = b.poly.view(), .meta = x->meta, .held = {}};
  result.meta.batch = rlwe::broadcast(x->meta.batch, b.meta.batch, "multiply_plain");
  result.meta.slots = std::max(x->meta.slots, b.meta.slots);
  result.meta.scale = x->meta.scale * b.meta.scale;
  result.meta.noise_scale_degree = x->meta.noise_scale_degree + 1;
  require_room(ctx, result.meta.scale, result.meta.level, "multiply_plain");
  if (b.meta.level != result.meta.level) {
    poly::Poly part = rlwe::restrict_to(ctx, b.poly, ctx.base(result.meta.level));
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
  if (!is_real(b)) {
    add_plain_inplace(a, constant(context(), b.value, a.meta.level, a.meta.scale));
    return;
  }
  if (b.value.real() == 0) return;
  const poly::RnsBase& base = ctx.base(a.meta.level);
  const poly::PolyView c0 = a.poly.view().components(0, 1);
  ctx.backend().add_scalar(ctx.queue(), c0, c0, residues(scaled_integer(b.value.real(), a.meta.scale), base),
                           poly::Form::evaluation, base);
  a.seed.reset();
}

void Evaluator::multiply_scalar_inplace(Ciphertext& a, const Scalar& b) const {
  require(a, "multiply_scalar");
  require_finite(b, "multiply_scalar");
  const rlwe::Context& ctx = *context();
  const double real = b.value.real();
  if (is_real(b) && std::abs(real) <= max_plain_integer && real == std::trunc(real)) {
    multiply_integer(a, BigInteger(static_cast<std::int64_t>(real)));
    return;
  }
  if (is_automatic(ctx)) rescale_product(*this, a);
  const double scale = level_scale(ctx, a.meta.level);
  if (!is_real(b)) {
    multiply_plain_inplace(a, constant(context(), b.value, a.meta.level, scale));
    return;
  }
  require_room(ctx, a.meta.scale * scale, a.meta.level, "multiply_scalar");
  multiply_integer(a, scaled_integer(real, scale));
  a.meta.scale *= scale;
  a.meta.noise_scale_degree += 1;
}

std::size_t Evaluator::smallest_safe_level(const Ciphertext& a) const {
  const rlwe::Context& ctx = *context();
  const double needed = std::log2(a.meta.scale) + ctx.parameters().literal().range_bits - 0.5;
  for (std::size_t level = 0; level < a.meta.level; ++level) {
    if (ctx.base(level).log2() >= needed && is_part(ctx.base(level), ctx.base(a.meta.level))) return level;
  }
  return a.meta.level;
}

}  // namespace hemera::ckks
