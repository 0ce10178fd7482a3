#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::ckks {
namespace {

using Complex = std::complex<double>;

// The embedding numbers slots by powers of 5. With generator 3 slot j is the value at zeta^(3^j): a slot of
// the powers of 5, or the conjugate of one (3^j = 5^k or -5^k modulo 2N).
struct SlotOrder {
  std::vector<std::uint32_t> slot;
  std::vector<bool> conjugated;
};

SlotOrder order_of_generator_3(std::size_t degree) {
  const std::size_t order = 2 * degree;
  std::vector<std::uint32_t> logarithm(order, 0);
  for (std::size_t k = 0, power = 1; k < degree / 2; ++k, power = power * 5 % order) {
    logarithm[power] = static_cast<std::uint32_t>(k);
  }
  SlotOrder result;
  for (std::size_t j = 0, power = 1; j < degree / 2; ++j, power = power * 3 % order) {
    const bool conjugated = power % 4 == 3;
    result.slot.push_back(logarithm[conjugated ? order - power : power]);
    result.conjugated.push_back(conjugated);
  }
  return result;
}

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

// Slot values where the backend finds them: on the CPU the host array itself, elsewhere a buffer.
class DeviceSlots {
 public:
  DeviceSlots(const rlwe::Context& context, std::span<const Complex> host, std::size_t batch,
              runtime::Secrecy secrecy)
      : context_(context), view_{nullptr, batch, host.size() / batch} {
    if (context.backend().device().kind == runtime::Device::Kind::cpu) {
      // Written to by decoding only, whose array is not constant.
      view_.data = const_cast<Complex*>(host.data());
      return;
    }
    buffer_ = {context.memory(), host.size_bytes(), secrecy};
    view_.data = reinterpret_cast<Complex*>(buffer_.data());
  }

  [[nodiscard]] const poly::SlotView& view() const { return view_; }
  void upload(std::span<const Complex> host) const {
    if (buffer_) context_.backend().upload_slots(context_.queue(), view_, host);
  }
  /// The values are there when it returns.
  void download(std::span<Complex> host) const {
    if (buffer_) context_.backend().download_slots(context_.queue(), host, view_);
    context_.queue().synchronize();
  }

 private:
  const rlwe::Context& context_;
  runtime::Buffer buffer_;
  poly::SlotView view_;
};

}  // namespace

double level_scale(const rlwe::Context& context, std::size_t level) {
  double scale = context.parameters().scale();
  for (std::size_t l = context.top_level(); l > level; --l) scale = scale * scale / context.chain().ratio(l);
  return scale;
}

Encoder::Encoder(std::shared_ptr<const rlwe::Context> context) : context_(std::move(context)) {
  if (context_->scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("a CKKS encoder needs a CKKS context, not " + rlwe::name(context_->scheme()));
  }
}

rlwe::Plaintext Encoder::encode(std::span<const Complex> values, const rlwe::BatchShape& batch,
                                std::optional<std::size_t> level, std::optional<double> scale) const {
  const rlwe::Context& context = *context_;
  const std::size_t count = rlwe::batch_count(batch);
  const std::size_t slots = count == 0 ? 0 : values.size() / count;
  if (count == 0 || slots * count != values.size() || !std::has_single_bit(slots) ||
      slots > context.degree() / 2) {
    throw ParameterError("encode: " + std::to_string(values.size()) +
                         " values do not fill a batch of shape " + rlwe::to_text(batch) +
                         " with a power of two of slots up to " + std::to_string(context.degree() / 2) +
                         " each; pad the rows");
  }
  rlwe::Metadata meta;
  meta.batch = batch;
  meta.level = level.value_or(context.top_level());
  if (meta.level > context.top_level()) {
    throw LevelError("encode: level " + std::to_string(meta.level) + " is above the top level " +
                     std::to_string(context.top_level()));
  }
  meta.scale = scale.value_or(level_scale(context, meta.level));
  if (!(meta.scale > 0 && meta.scale <= 0x1p240)) {
    throw ParameterError("encode: the scale must be positive and at most 2^240, not " +
                         std::to_string(meta.scale));
  }
  const double largest = largest_part(values);
  if (!std::isfinite(largest)) throw ParameterError("encode: values must be finite");
  const poly::RnsBase& base = context.base(meta.level);
  if (largest > 0 && std::log2(largest) + std::log2(meta.scale) + 1 > base.log2()) {
    throw ParameterError("encode: a value of magnitude " + std::to_string(largest) + " at scale 2^" +
                         std::to_string(std::log2(meta.scale)) + " does not fit the " +
                         std::to_string(base.log2()) + " bits of level " + std::to_string(meta.level) +
                         "; use smaller values, a smaller scale or more range_bits");
  }

  std::span<const Complex> embedded = values;
  std::vector<Complex> ordered;
  meta.slots = slots;
  if (context.parameters().literal().galois_generator == 3) {
    // Slots repeat with their period in the order of the generator; the embedding gets all of them.
    const SlotOrder order = order_of_generator_3(context.degree());
    const std::size_t all = context.degree() / 2;
    ordered.assign(count * all, 0);
    for (std::size_t b = 0; b < count; ++b) {
      for (std::size_t j = 0; j < all; ++j) {
        const Complex value = values[b * slots + j % slots];
        ordered[b * all + order.slot[j]] = order.conjugated[j] ? std::conj(value) : value;
      }
    }
    embedded = ordered;
  }
  rlwe::Plaintext plaintext{context_, std::move(meta),
                            context.make_poly(count, 1, base, poly::Form::evaluation)};
  const poly::Backend& backend = context.backend();
  auto workspace = context.make_workspace(backend.embed_workspace(count, embedded.size() / count, base));
  const poly::PolyView out = plaintext.poly.view();
  const DeviceSlots device_slots(context, embedded, count, runtime::Secrecy::open);
  device_slots.upload(embedded);
  backend.embed(context.queue(), out, device_slots.view(), plaintext.meta.scale, base, workspace);
  backend.forward_transform(context.queue(), out, out, base);
  return plaintext;
}

std::vector<Complex> Encoder::decode(const rlwe::Plaintext& plaintext) const {
  const rlwe::Context& context = *context_;
  rlwe::require_same_context(context, *plaintext.context, "decode");
  const poly::Backend& backend = context.backend();
  const poly::RnsBase& base = plaintext.poly.base();
  const std::size_t count = rlwe::batch_count(plaintext.meta.batch);
  const std::size_t slots = plaintext.meta.slots;
  const bool reordered = context.parameters().literal().galois_generator == 3;
  const std::size_t embedded = reordered ? context.degree() / 2 : slots;

  poly::Poly coefficients;
  poly::ConstPolyView in = plaintext.poly.view();
  if (plaintext.poly.form() == poly::Form::evaluation) {
    coefficients = context.make_poly(count, 1, base, poly::Form::coefficient, plaintext.poly.secrecy());
    backend.inverse_transform(context.queue(), coefficients.view(), in, base);
    in = std::as_const(coefficients).view();
  }
  std::vector<Complex> values(count * embedded);
  auto workspace =
      context.make_workspace(backend.embed_workspace(count, embedded, base), plaintext.poly.secrecy());
  const DeviceSlots device_slots(context, values, count, plaintext.poly.secrecy());
  backend.unembed(context.queue(), device_slots.view(), in, plaintext.meta.scale, base, workspace);
  device_slots.download(values);
  if (!reordered) return values;

  const SlotOrder order = order_of_generator_3(context.degree());
  std::vector<Complex> result(count * slots);
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t j = 0; j < slots; ++j) {
      const Complex value = values[b * embedded + order.slot[j]];
      result[b * slots + j] = order.conjugated[j] ? std::conj(value) : value;
    }
  }
  return result;
}

}  // namespace hemera::ckks
