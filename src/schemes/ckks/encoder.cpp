#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "rlwe/device_values.hpp"

namespace hemera::ckks {
namespace {

using Complex = std::complex<double>;

// The largest size of a real or imaginary part; not finite if one is not. By bit patterns, which order like
// sizes.
double largest_part(std::span<const Complex> values) {
  constexpr std::uint64_t magnitude = ~(std::uint64_t{1} << 63);
  std::uint64_t real = 0, imaginary = 0;
  for (const Complex& value : values) {
    real = std::max(real, std::bit_cast<std::uint64_t>(value.real()) & magnitude);
    imaginary = std::max(imaginary, std::bit_cast<std::uint64_t>(value.imag()) & magnitude);
  }
  return std::bit_cast<double>(std::max(real, imaginary));
}

// The embedding numbers slots by powers of 5; with another generator they go by way of all N/2 slots.
bool is_reordered(const rlwe::Context& context) {
  return context.parameters().literal().galois_generator != 5;
}

// All slots in the order of the embedding, in the context's memory.
class EmbeddedSlots {
 public:
  EmbeddedSlots(const rlwe::Context& context, std::size_t batch, runtime::Secrecy secrecy)
      : buffer_(context.memory(), batch * context.degree() / 2 * sizeof(Complex), secrecy),
        view_{reinterpret_cast<Complex*>(buffer_.data()), batch, context.degree() / 2} {}
  [[nodiscard]] const poly::SlotView& view() const { return view_; }

 private:
  runtime::Buffer buffer_;
  poly::SlotView view_;
};

}  // namespace

Encoder::Encoder(std::shared_ptr<const rlwe::Context> context) : context_(std::move(context)) {
  if (context_->scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("a CKKS encoder needs a CKKS context, not " + rlwe::name(context_->scheme()));
  }
}

rlwe::Metadata Encoder::metadata(std::size_t values, const rlwe::BatchShape& batch,
                                 std::optional<std::size_t> level, std::optional<double> scale) const {
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
  if (meta.level > context.top_level()) {
    throw LevelError("encode: level " + std::to_string(meta.level) + " is above the top level " +
                     std::to_string(context.top_level()));
  }
  meta = context.scales().fresh(std::move(meta));
  if (scale) {
    meta.scale = *scale;
    meta.noise_scale_degree = 1;
  }
  if (!(meta.scale > 0 && meta.scale <= 0x1p240)) {
    throw ParameterError("encode: the scale must be positive and at most 2^240, not " +
                         std::to_string(meta.scale));
  }
  return meta;
}

rlwe::Plaintext Encoder::encode(std::span<const Complex> values, const rlwe::BatchShape& batch,
                                std::optional<std::size_t> level, std::optional<double> scale) const {
  rlwe::Metadata meta = metadata(values.size(), batch, level, scale);
  const poly::RnsBase& base = context_->base(meta.level);
  return encode(values, std::move(meta), base);
}

rlwe::Plaintext Encoder::encode_over(const poly::RnsBase& base, std::span<const Complex> values,
                                     const rlwe::BatchShape& batch, std::size_t level, double scale) const {
  if (base.ring() != context_->key_base().ring()) {
    throw MismatchError("encode: the base belongs to another context");
  }
  return encode(values, metadata(values.size(), batch, level, scale), base);
}

rlwe::Plaintext Encoder::encode(std::span<const Complex> values, rlwe::Metadata meta,
                                const poly::RnsBase& base) const {
  const rlwe::Context& context = *context_;
  const double largest = largest_part(values);
  if (!std::isfinite(largest)) throw ParameterError("encode: values must be finite");
  const double bits = base.log2();
  if (largest > 0 && std::log2(largest) + std::log2(meta.scale) + 1 > bits) {
    throw ParameterError("encode: a value of magnitude " + std::to_string(largest) + " at scale 2^" +
                         std::to_string(std::log2(meta.scale)) + " does not fit the " + std::to_string(bits) +
                         " bits of level " + std::to_string(meta.level) +
                         "; use smaller values, a smaller scale or more range_bits");
  }
  const rlwe::DeviceValues given(context, rlwe::readable(values), runtime::Secrecy::open);
  given.upload();
  const poly::SlotView view{given.data(), rlwe::batch_count(meta.batch), meta.slots};
  return embed(view, std::move(meta), base);
}

rlwe::Plaintext Encoder::encode(const poly::SlotView& values, const rlwe::BatchShape& batch,
                                std::optional<std::size_t> level, std::optional<double> scale) const {
  rlwe::Metadata meta = metadata(values.batch * values.slots, batch, level, scale);
  const poly::SlotView view{values.data, rlwe::batch_count(batch), meta.slots};
  const poly::RnsBase& base = context_->base(meta.level);
  return embed(view, std::move(meta), base);
}

rlwe::Plaintext Encoder::embed(const poly::SlotView& values, rlwe::Metadata meta,
                               const poly::RnsBase& base) const {
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  rlwe::Plaintext plaintext{context_, std::move(meta),
                            context.make_poly(values.batch, 1, base, poly::Form::evaluation)};
  poly::SlotView slots = values;
  std::optional<EmbeddedSlots> reordered;
  if (is_reordered(context)) {
    reordered.emplace(context, values.batch, runtime::Secrecy::open);
    slots = reordered->view();
    backend.slots_to_embedding(context.queue(), slots, values,
                               context.parameters().literal().galois_generator);
  }
  auto workspace = context.make_workspace(backend.embed_workspace(slots.batch, slots.slots, base));
  const poly::PolyView out = plaintext.poly.view();
  backend.embed(context.queue(), out, slots, plaintext.meta.scale, base, workspace);
  backend.forward_transform(context.queue(), out, out, base);
  return plaintext;
}

std::vector<Complex> Encoder::decode(const rlwe::Plaintext& plaintext) const {
  const std::size_t count = rlwe::batch_count(plaintext.meta.batch);
  std::vector<Complex> values(count * plaintext.meta.slots);
  const rlwe::DeviceValues decoded(*context_, std::span(values), plaintext.poly.secrecy());
  decode_to({decoded.data(), count, plaintext.meta.slots}, plaintext);
  decoded.download();
  return values;
}

void Encoder::decode_to(const poly::SlotView& values, const rlwe::Plaintext& plaintext) const {
  const rlwe::Context& context = *context_;
  rlwe::require_same_context(context, *plaintext.context, "decode");
  const std::size_t count = rlwe::batch_count(plaintext.meta.batch);
  if (values.batch != count || values.slots != plaintext.meta.slots) {
    throw MismatchError("decode: room for " + std::to_string(values.batch) + " rows of " +
                        std::to_string(values.slots) + " values was given, but the plaintext has " +
                        std::to_string(count) + " of " + std::to_string(plaintext.meta.slots));
  }
  const poly::Backend& backend = context.backend();
  const poly::RnsBase& base = plaintext.poly.base();
  const runtime::Secrecy secrecy = plaintext.poly.secrecy();

  poly::Poly coefficients;
  poly::ConstPolyView in = plaintext.poly.view();
  if (plaintext.poly.form() == poly::Form::evaluation) {
    coefficients = context.make_poly(count, 1, base, poly::Form::coefficient, secrecy);
    backend.inverse_transform(context.queue(), coefficients.view(), in, base);
    in = std::as_const(coefficients).view();
  }
  poly::SlotView slots = values;
  std::optional<EmbeddedSlots> reordered;
  if (is_reordered(context)) {
    reordered.emplace(context, count, secrecy);
    slots = reordered->view();
  }
  auto workspace = context.make_workspace(backend.embed_workspace(count, slots.slots, base), secrecy);
  backend.unembed(context.queue(), slots, in, plaintext.meta.scale, base, workspace);
  if (reordered) {
    backend.slots_from_embedding(context.queue(), values, slots,
                                 context.parameters().literal().galois_generator);
  }
}

}  // namespace hemera::ckks
