#include "hemera/schemes/integer/encoder.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/device_values.hpp"
#include "rlwe/requirements.hpp"
#include "schemes/integer/plaintext.hpp"

namespace hemera::integer {
namespace {

using poly::Form;
using rlwe::BatchShape;
using rlwe::Context;
using rlwe::Encoding;
using rlwe::Plaintext;
using runtime::Secrecy;

void require_integers(const Context& context, const char* operation) {
  if (context.scheme() == rlwe::Scheme::ckks) {
    throw ParameterError(std::string(operation) +
                         ": integers modulo t need a BFV or BGV context; use the CKKS encoder for CKKS");
  }
}

// How many values each element of the batch has; ParameterError unless they fill the batch.
std::size_t values_of_each(const Context& context, std::size_t values, const BatchShape& batch,
                           Encoding encoding) {
  const std::size_t places =
      encoding == Encoding::slots ? context.parameters().max_slots() : context.degree();
  const std::size_t objects = rlwe::batch_count(batch);
  if (encoding == Encoding::slots && !context.parameters().has_slots()) {
    throw ParameterError("encode: the plaintext modulus " +
                         std::to_string(context.parameters().plain_modulus()) +
                         " is not a prime that is 1 modulo 4, so there are no slots; use coefficient "
                         "encoding, or another plaintext modulus");
  }
  if (objects == 0 || values == 0 || values % objects != 0) {
    throw ParameterError("encode: " + std::to_string(values) + " values do not fill a batch of shape " +
                         rlwe::to_text(batch) + "; give equally many (at least one) for each element");
  }
  const std::size_t count = values / objects;
  if (count > places) {
    throw ParameterError("encode: " + std::to_string(count) + " values do not fit the " +
                         std::to_string(places) + " of one plaintext; use a batch of several");
  }
  return count;
}

void require_in_range(const Context& context, std::span<const std::int64_t> values) {
  const std::uint64_t t = context.parameters().plain_modulus();
  if (!context.backend().all_within(values, t)) {
    throw ParameterError("encode: a value is outside (-t, t) for the plaintext modulus t = " +
                         std::to_string(t) + "; reduce the values, or choose a larger plaintext modulus");
  }
}

}  // namespace

Encoder::Encoder(rlwe::ContextPointer context) : context_(std::move(context)) {
  rlwe::require_filled(context_, "IntegerEncoder");
  require_integers(*context_, "IntegerEncoder");
}

Plaintext Encoder::encode(std::span<const std::int64_t> values, const BatchShape& batch, Encoding encoding,
                          std::optional<std::size_t> level, Use use) const {
  const Context& context = *context_;
  const std::size_t count = values_of_each(context, values.size(), batch, encoding);
  require_in_range(context, values);
  const rlwe::DeviceValues given(context, rlwe::readable(values), Secrecy::secret);
  given.upload();
  return encode({.data = given.data(), .batch = rlwe::batch_count(batch), .count = count}, batch, encoding,
                level, use);
}

Plaintext Encoder::encode(const poly::IntegerView& values, const BatchShape& batch, Encoding encoding,
                          std::optional<std::size_t> level, Use use) const {
  const Context& context = *context_;
  const std::size_t objects = rlwe::batch_count(batch);
  const std::size_t count = values_of_each(context, values.batch * values.count, batch, encoding);
  if (level) rlwe::require_level(context, *level, "encode");
  const poly::Backend& backend = context.backend();
  const poly::RnsBase& base = context.plain_base();
  Plaintext result{context_, {}, context.make_poly(objects, 1, base, Form::coefficient, Secrecy::secret)};
  result.meta.batch = batch;
  result.meta.level = context.parameters().highest_user_level();
  result.meta.slots = count;
  result.meta.encoding = encoding;
  result.meta.filled = rlwe::filled_slots(result.meta, context.parameters().max_slots());
  const poly::PolyView view = result.poly.view();
  const bool slots = encoding == Encoding::slots;
  backend.place_integers(context.queue(), view, {.data = values.data, .batch = objects, .count = count},
                         slots ? Form::evaluation : Form::coefficient,
                         context.parameters().literal().galois_generator, base);
  if (slots) backend.inverse_transform(context.queue(), view, view, base);
  if (level) make_ready(result, *level, use, Secrecy::secret);
  return result;
}

std::vector<std::int64_t> Encoder::decode(const Plaintext& plaintext, bool is_signed) const {
  Decoded decoded = decode_certain(plaintext, is_signed);
  rlwe::require_certain(decoded.doubtful, plaintext.meta.batch);
  return std::move(decoded.values);
}

Encoder::Decoded Encoder::decode_certain(const Plaintext& plaintext, bool is_signed) const {
  rlwe::require_plaintext(*context_, plaintext, "decode");
  const std::size_t objects = plaintext.poly.shape().batch;
  const std::size_t count = plaintext.meta.slots;
  // The flags of spent budgets come with the values, in the same copy.
  const std::span<const std::int64_t> doubts = rlwe::doubts(plaintext);
  std::vector<std::int64_t> values(objects * count + (doubts.empty() ? 0 : objects));
  const rlwe::DeviceValues decoded(*context_, std::span(values), Secrecy::secret);
  collect({.data = decoded.data(), .batch = objects, .count = count},
          {.numbers = doubts, .any = doubts.empty() ? nullptr : decoded.data() + objects * count}, plaintext,
          is_signed);
  decoded.download();
  Decoded result{.values = {},
                 .doubtful = rlwe::doubtful_elements(std::span(values).subspan(objects * count), objects)};
  values.resize(objects * count);
  for (const std::size_t element : result.doubtful) {
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(element * count), count, 0);
  }
  result.values = std::move(values);
  return result;
}

void Encoder::decode_to(const poly::IntegerView& values, const Plaintext& plaintext, bool is_signed) const {
  collect(values, {}, plaintext, is_signed);
}

void Encoder::collect(const poly::IntegerView& values, const poly::TakenAlong& along,
                      const Plaintext& plaintext, bool is_signed) const {
  const Context& context = *context_;
  rlwe::require_plaintext(context, plaintext, "decode");
  const bool slots = plaintext.meta.encoding == Encoding::slots;
  if (slots && !context.parameters().has_slots()) {
    throw ParameterError("decode: these parameters have no slots, but the plaintext says it is in slots");
  }
  const std::size_t objects = plaintext.poly.shape().batch;
  if (values.batch != objects || values.count != plaintext.meta.slots) {
    throw MismatchError("decode: room for " + std::to_string(values.batch) + " rows of " +
                        std::to_string(values.count) + " values was given, but the plaintext has " +
                        std::to_string(objects) + " of " + std::to_string(plaintext.meta.slots));
  }
  const poly::Backend& backend = context.backend();
  const poly::RnsBase& base = context.plain_base();
  const std::uint64_t generator = context.parameters().literal().galois_generator;
  if (!slots) {
    backend.collect_integers(context.queue(), values, plaintext.poly.view(), Form::coefficient, generator,
                             is_signed, base, along);
    return;
  }
  poly::Poly evaluated = context.make_poly(objects, 1, base, Form::evaluation, Secrecy::secret);
  backend.forward_transform(context.queue(), evaluated.view(), plaintext.poly.view(), base);
  backend.collect_integers(context.queue(), values, std::as_const(evaluated).view(), Form::evaluation,
                           generator, is_signed, base, along);
}

}  // namespace hemera::integer
