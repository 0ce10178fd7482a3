#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "rlwe/device_values.hpp"
#include "rlwe/requirements.hpp"
#include "runtime/decimal.hpp"
#include "schemes/ckks/encoding_checks.hpp"
#include "schemes/ckks/scaled_numbers.hpp"

namespace hemera::ckks {
namespace {

using Complex = std::complex<double>;

HostRows<const double> rows_of(std::span<const Complex> values, std::size_t slots) {
  return {{reinterpret_cast<const double*>(values.data()), 2 * values.size()}, true, slots};
}

// The scale of a product of two values of the largest level scale, 2^120; lower levels' drift a little.
constexpr double largest_scale = 0x1p244;

}  // namespace

std::size_t period_entries(std::size_t slots) { return std::max(poly::min_entries, 2 * slots); }

Encoder::Encoder(rlwe::ContextPointer context) : context_(std::move(context)) {
  rlwe::require_filled(context_, "Encoder");
  if (context_->scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("a CKKS encoder needs a CKKS context, not " + rlwe::name(context_->scheme()));
  }
}

rlwe::Metadata Encoder::metadata(std::size_t values, const rlwe::BatchShape& batch,
                                 std::optional<std::size_t> level, std::optional<rlwe::Scale> scale) const {
  const rlwe::Context& context = *context_;
  const std::size_t count = rlwe::batch_count(batch);
  rlwe::Metadata meta;
  meta.batch = batch;
  meta.slots = count == 0 ? 0 : values / count;
  if (count == 0 || meta.slots * count != values || !std::has_single_bit(meta.slots) ||
      meta.slots > context.degree() / 2) {
    throw ParameterError("encode: " + std::to_string(values) + " values do not fill a batch of shape " +
                         rlwe::to_text(batch) + " with a power of two of slots up to " +
                         std::to_string(context.degree() / 2) + " each; pad the rows");
  }
  meta.level = level.value_or(context.parameters().highest_user_level());
  rlwe::require_level(context, meta.level, "encode");
  meta = context.scales().fresh(std::move(meta));
  if (scale) {
    meta.scale = *scale;
    meta.noise_scale_degree = 1;
  }
  if (!(meta.scale > 0 && meta.scale <= largest_scale)) {
    throw ParameterError("encode: the scale must be positive and at most 2^244, not " + decimal(meta.scale));
  }
  const double declared = context.parameters().literal().largest;
  if (declared != 0) meta.largest = declared;
  return meta;
}

rlwe::Plaintext Encoder::encode(std::span<const double> values, const rlwe::BatchShape& batch,
                                std::optional<std::size_t> level, std::optional<double> scale,
                                std::optional<double> largest) const {
  const std::size_t rows = rlwe::batch_count(batch);
  const std::size_t count = rows == 0 ? 0 : values.size() / rows;
  if (count == 0 || count * rows != values.size()) {
    throw ParameterError("encode: " + std::to_string(values.size()) +
                         " values do not fill a batch of shape " + rlwe::to_text(batch) +
                         "; give equally many, at least one, for each element");
  }
  return encode(HostRows<const double>{.doubles = values, .count = count}, std::bit_ceil(count), batch, level,
                scale, largest);
}

rlwe::Plaintext Encoder::encode(std::span<const Complex> values, const rlwe::BatchShape& batch,
                                std::optional<std::size_t> level, std::optional<double> scale,
                                std::optional<double> largest) const {
  rlwe::Metadata meta = metadata(values.size(), batch, level, scale);
  if (largest) declare(meta, *largest);
  const poly::RnsBase& base = context_->base(meta.level);
  const HostRows<const double> rows = rows_of(values, meta.slots);
  return encode(rows, std::move(meta), base, !level && !scale);
}

rlwe::Plaintext Encoder::encode(const HostRows<const double>& values, std::size_t slots,
                                const rlwe::BatchShape& batch, std::optional<std::size_t> level,
                                std::optional<double> scale, std::optional<double> largest) const {
  const std::size_t rows = rlwe::batch_count(batch);
  rlwe::Metadata meta = metadata(rows * slots, batch, level, scale);
  require_rows(values, rows, slots);
  if (largest) declare(meta, *largest);
  const poly::RnsBase& base = context_->base(meta.level);
  return encode(values, std::move(meta), base, !level && !scale);
}

rlwe::Plaintext Encoder::encode_coefficients(std::span<const std::int64_t> values, std::size_t count,
                                             const rlwe::BatchShape& batch, std::size_t level,
                                             double scale) const {
  const rlwe::Context& context = *context_;
  const std::size_t rows = rlwe::batch_count(batch);
  if (count == 0 || count > context.degree() || values.size() != rows * count) {
    throw ParameterError("encode: " + std::to_string(values.size()) +
                         " coefficients do not fill a batch of " + rlwe::to_text(batch) + " with 1 to " +
                         std::to_string(context.degree()) + " each");
  }
  rlwe::Metadata meta = metadata(rows * (context.degree() / 2), batch, level, scale);
  meta.largest = std::numeric_limits<double>::infinity();  // bounds are those of slots
  const poly::RnsBase& base = context.base(level);
  const auto bound = static_cast<std::uint64_t>(std::exp2(std::min(base.log2() - 1, 61.5)));
  const poly::Backend& backend = context.backend();
  if (!backend.all_within(values, bound)) {
    throw ParameterError("encode: a coefficient is not finite or, times the scale " +
                         power_of_two(std::log2(scale)) + ", does not fit the " + decimal(base.log2()) +
                         " bits of level " + std::to_string(level) +
                         "; use smaller values or a smaller scale");
  }
  const rlwe::DeviceValues given(context, rlwe::readable(values), runtime::Secrecy::open);
  given.upload();
  rlwe::Plaintext plaintext{context_, std::move(meta),
                            context.make_poly(rows, 1, base, poly::Form::evaluation)};
  const poly::PolyView out = plaintext.poly.view();
  for (std::size_t limb = 0; limb < base.size(); ++limb) {
    backend.place_integers(context.queue(), out.limbs(limb, 1), {given.data(), rows, count},
                           poly::Form::coefficient, context.parameters().literal().galois_generator,
                           poly::RnsBase(base.ring(), {base.index(limb)}));
  }
  backend.forward_transform(context.queue(), out, std::as_const(plaintext.poly).view(), base);
  return plaintext;
}

rlwe::Plaintext Encoder::encode_over(const poly::RnsBase& base, std::span<const Complex> values,
                                     const rlwe::BatchShape& batch, std::size_t level, double scale,
                                     Stored stored, std::optional<double> largest) const {
  if (base.ring() != context_->key_base().ring()) {
    throw MismatchError("encode: the base belongs to another context");
  }
  rlwe::Metadata meta = metadata(values.size(), batch, level, scale);
  if (largest) declare(meta, *largest);
  const HostRows<const double> rows = rows_of(values, meta.slots);
  return encode(rows, std::move(meta), base, false, stored);
}

void Encoder::store_one_period(rlwe::Plaintext& plaintext) const {
  const rlwe::Context& context = *context_;
  const std::size_t entries = period_entries(plaintext.meta.slots);
  if (entries >= context.degree()) return;
  poly::Poly period = context.make_poly(plaintext.poly.shape().batch, 1, plaintext.poly.base(),
                                        poly::Form::evaluation, runtime::Secrecy::open, entries);
  context.backend().copy(context.queue(), period.view(), std::as_const(plaintext.poly).view());
  plaintext.poly = std::move(period);
}

std::vector<rlwe::Plaintext> Encoder::encode_each_over(const poly::RnsBase& base,
                                                       std::span<const Complex> values, std::size_t count,
                                                       std::size_t level, double scale, Stored stored,
                                                       std::optional<double> largest) const {
  std::vector<rlwe::Plaintext> result;
  if (count == 1) {
    result.push_back(encode_over(base, values, {}, level, scale, stored, largest));
    return result;
  }
  const rlwe::Plaintext all = encode_over(base, values, {count}, level, scale, stored, largest);
  rlwe::Metadata meta = all.meta;
  meta.batch.clear();
  const std::size_t kept = all.poly.shape().degree;
  for (std::size_t i = 0; i < count; ++i) {
    poly::Poly own = context_->make_poly(1, 1, base, poly::Form::evaluation, runtime::Secrecy::open, kept);
    context_->backend().copy(context_->queue(), own.view(), all.poly.view().batches(i, 1));
    result.push_back({context_, meta, std::move(own)});
  }
  return result;
}

rlwe::Plaintext Encoder::encode_number(Complex value, std::size_t level, double scale) const {
  const double largest = std::abs(value);
  if (value.imag() != 0 || !std::isfinite(largest)) {
    return encode_over(context_->base(level), std::span(&value, 1), {}, level, scale, Stored::one_period,
                       largest);
  }
  rlwe::Metadata meta = metadata(1, {}, level, scale);
  meta.largest = largest;
  const poly::RnsBase& base = context_->base(level);
  require_fits(std::abs(value.real()), meta, base);
  rlwe::Plaintext number{context_, std::move(meta), context_->make_poly(1, 1, base, poly::Form::evaluation)};
  const poly::PolyView out = number.poly.view();
  context_->backend().fill_zero(context_->queue(), out);
  context_->backend().add_scalar(context_->queue(), out, out, scaled_residues(value.real(), {scale}, base),
                                 poly::Form::evaluation, base);
  store_one_period(number);
  return number;
}

rlwe::Plaintext Encoder::encode(const HostRows<const double>& values, rlwe::Metadata meta,
                                const poly::RnsBase& base, bool is_message, Stored stored) const {
  const rlwe::Context& context = *context_;
  const double largest = largest_magnitude(values.doubles);
  if (!std::isfinite(largest)) throw ParameterError("encode: values must be finite");
  require_at_most(values, largest, meta.largest);
  require_fits(largest, meta, base);
  if (is_message && context.parameters().literal().range_bits != 0) require_fits_lowest(largest, context);
  const rlwe::DeviceValues given(context, rlwe::readable(values.doubles), runtime::Secrecy::open);
  given.upload();
  const std::size_t rows = rlwe::batch_count(meta.batch), slots = meta.slots;
  if (values.is_complex && values.count == slots) {
    return embed({reinterpret_cast<Complex*>(given.data()), rows, slots}, std::move(meta), base, stored);
  }
  runtime::Buffer placed(context.memory(), rows * slots * sizeof(Complex));
  const poly::SlotView view{reinterpret_cast<Complex*>(placed.data()), rows, slots};
  context.backend().place_slots(context.queue(), view, {given.data(), values.is_complex, rows, values.count});
  return embed(view, std::move(meta), base, stored);
}

rlwe::Plaintext Encoder::encode(const poly::SlotView& values, const rlwe::BatchShape& batch,
                                std::optional<std::size_t> level, std::optional<double> scale) const {
  rlwe::Metadata meta = metadata(values.batch * values.slots, batch, level, scale);
  const poly::SlotView view{values.data, rlwe::batch_count(batch), meta.slots};
  const poly::RnsBase& base = context_->base(meta.level);
  return embed(view, std::move(meta), base);
}

rlwe::Plaintext Encoder::embed(const poly::SlotView& values, rlwe::Metadata meta, const poly::RnsBase& base,
                               Stored stored) const {
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  const std::size_t entries = stored == Stored::one_period ? period_entries(meta.slots) : context.degree();
  poly::Poly poly = context.make_poly(values.batch, 1, base, poly::Form::evaluation, runtime::Secrecy::open,
                                      std::min(entries, context.degree()));
  rlwe::Plaintext plaintext{context_, std::move(meta), std::move(poly)};
  auto workspace = context.make_workspace();
  const poly::PolyView out = plaintext.poly.view();
  backend.embed(context.queue(), out, values, plaintext.meta.scale,
                context.parameters().literal().galois_generator, base, workspace, poly::Form::evaluation);
  return plaintext;
}

}  // namespace hemera::ckks
