#include "hemera/rlwe/integer_encoder.hpp"

#include <string>
#include <utility>

#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

using poly::Form;
using runtime::Secrecy;

void require_integers(const Context& context, const char* operation) {
  if (context.scheme() == Scheme::ckks) {
    throw ParameterError(std::string(operation) +
                         ": integers modulo t need a BFV or BGV context; use the CKKS encoder for CKKS");
  }
}

// A host array of residues that is zeroed when it goes.
class HostResidues {
 public:
  explicit HostResidues(std::size_t count) : words_(count) {}
  ~HostResidues() { runtime::secure_zero(words_.data(), words_.size() * sizeof(std::uint64_t)); }
  HostResidues(const HostResidues&) = delete;
  HostResidues& operator=(const HostResidues&) = delete;
  std::uint64_t& operator[](std::size_t index) { return words_[index]; }
  [[nodiscard]] std::span<std::uint64_t> all() { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace

IntegerEncoder::IntegerEncoder(std::shared_ptr<const Context> context) : context_(std::move(context)) {
  require_integers(*context_, "IntegerEncoder");
  if (!context_->parameters().has_slots()) return;
  const std::size_t degree = context_->degree();
  const std::uint64_t order = 2 * degree;
  const std::uint64_t generator = context_->parameters().literal().galois_generator;
  const int bits = context_->plain_base().ring()->log_degree();
  positions_.resize(degree);
  std::uint64_t exponent = 1;
  for (std::size_t slot = 0; slot < degree / 2; ++slot) {
    // Standard order: entry i is the value at root^(2 reverse_bits(i) + 1).
    positions_[slot] = static_cast<std::uint32_t>(arith::reverse_bits((exponent - 1) / 2, bits));
    positions_[degree / 2 + slot] =
        static_cast<std::uint32_t>(arith::reverse_bits((order - exponent - 1) / 2, bits));
    exponent = exponent * generator % order;
  }
}

Plaintext IntegerEncoder::encode(std::span<const std::int64_t> values, const BatchShape& batch,
                                 Encoding encoding) const {
  const Context& context = *context_;
  const std::size_t degree = context.degree();
  const std::uint64_t t = context.parameters().plain_modulus();
  const std::size_t objects = batch_count(batch);
  if (encoding == Encoding::slots && positions_.empty()) {
    throw ParameterError("encode: the plaintext modulus " + std::to_string(t) +
                         " is not a prime that is 1 modulo 2N = " + std::to_string(2 * degree) +
                         ", so there are no slots; use coefficient encoding, or another plaintext modulus");
  }
  if (objects == 0 || values.empty() || values.size() % objects != 0) {
    throw ParameterError("encode: " + std::to_string(values.size()) +
                         " values do not fill a batch of shape " + to_text(batch) +
                         "; give equally many (at least one) for each element");
  }
  const std::size_t count = values.size() / objects;
  if (count > degree) {
    throw ParameterError("encode: " + std::to_string(count) + " values do not fit the " +
                         std::to_string(degree) + " of one plaintext; use a batch of several");
  }

  HostResidues host(objects * degree);  // [batch, N]
  const auto limit = static_cast<std::int64_t>(t);
  bool in_range = true;
  for (std::size_t b = 0; b < objects; ++b) {
    const std::int64_t* row = values.data() + b * count;
    const std::size_t first = b * degree;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t value = row[i];
      in_range &= value < limit && value > -limit;
      const std::size_t position = encoding == Encoding::slots ? positions_[i] : i;
      host[first + position] = static_cast<std::uint64_t>(value + ((value >> 63) & limit));
    }
  }
  if (!in_range) {
    throw ParameterError("encode: a value is outside (-t, t) for the plaintext modulus t = " +
                         std::to_string(t) + "; reduce the values, or choose a larger plaintext modulus");
  }

  const poly::Backend& backend = context.backend();
  const poly::RnsBase& base = context.plain_base();
  Plaintext result{context_, {}, context.make_poly(objects, 1, base, Form::coefficient, Secrecy::secret)};
  result.meta.batch = batch;
  result.meta.level = context.top_level();
  result.meta.slots = count;
  result.meta.encoding = encoding;
  const poly::PolyView view = result.poly.view();
  backend.upload(context.queue(), view, host.all(),
                 encoding == Encoding::slots ? Form::evaluation : Form::coefficient);
  if (encoding == Encoding::slots) backend.inverse_transform(context.queue(), view, view, base);
  return result;
}

std::vector<std::int64_t> IntegerEncoder::decode(const Plaintext& plaintext, bool is_signed) const {
  if (!plaintext.context || !plaintext.poly) {
    throw MismatchError("decode: the plaintext is empty; it was moved from or never made");
  }
  require_same_context(*context_, *plaintext.context, "decode");
  const Context& context = *context_;
  const poly::Backend& backend = context.backend();
  const poly::RnsBase& base = context.plain_base();
  const std::size_t degree = context.degree();
  const std::size_t objects = plaintext.poly.shape().batch;
  const bool slots = plaintext.meta.encoding == Encoding::slots;
  if (slots && positions_.empty()) {
    throw ParameterError("decode: these parameters have no slots, but the plaintext says it is in slots");
  }

  HostResidues host(objects * degree);
  if (slots) {
    poly::Poly values = context.make_poly(objects, 1, base, Form::evaluation, Secrecy::secret);
    backend.forward_transform(context.queue(), values.view(), plaintext.poly.view(), base);
    backend.download(context.queue(), host.all(), std::as_const(values).view(), Form::evaluation);
  } else {
    backend.download(context.queue(), host.all(), plaintext.poly.view(), Form::coefficient);
  }
  context.queue().synchronize();

  const arith::Modulus& t = base.modulus(0);
  const std::size_t count = plaintext.meta.slots;
  std::vector<std::int64_t> values(objects * count);
  for (std::size_t b = 0; b < objects; ++b) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t residue = host[b * degree + (slots ? positions_[i] : i)];
      values[b * count + i] = is_signed ? t.centered(residue) : static_cast<std::int64_t>(residue);
    }
  }
  return values;
}

}  // namespace hemera::rlwe
