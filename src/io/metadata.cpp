#include "io/metadata.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "hemera/arith/modulus.hpp"
#include "hemera/runtime/error.hpp"
#include "runtime/decimal.hpp"

namespace hemera::io {
namespace {

// Scales up to this have no more bits than doubles; their rests are not written.
constexpr double precise_scale = 0x1p60;
// A scale is named by its level's, from which rounding takes it no further.
constexpr double most_rest = 0x1p-40;

// Bytes of a section, which must not take much memory: of parameters, and of others than the residues, a list
// of 50,000 keys among them.
constexpr std::size_t largest_parameters = std::size_t{1} << 18;
constexpr std::size_t largest_fields = std::size_t{1} << 20;

// Bytes of a key's role in a KEYS section of version 2.
constexpr std::size_t role_bytes = 20;

void write_seed(runtime::ByteWriter& out, const std::optional<poly::RandomStream>& seed) {
  out.boolean(seed.has_value());
  if (seed) {
    out.u32(poly::sampling_version);
    out.u32(seed->first_polynomial);
    out.bytes(std::span(seed->seed.bytes));
  }
}

std::optional<poly::RandomStream> read_seed(runtime::ByteReader& in) {
  if (!in.boolean()) return {};
  const std::uint32_t version = in.u32();
  if (version != poly::sampling_version) {
    in.fail("a seed for version " + std::to_string(version) + " of the sampling rule, where only version " +
            std::to_string(poly::sampling_version) + " is known; load the file with a newer Hemera");
  }
  poly::RandomStream stream;
  stream.first_polynomial = in.u32();
  const auto bytes = in.bytes(stream.seed.bytes.size());
  std::transform(bytes.begin(), bytes.end(), stream.seed.bytes.begin(),
                 [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  return stream;
}

rlwe::Scheme read_scheme(runtime::ByteReader& in) {
  const std::uint8_t scheme = in.u8();
  if (scheme < static_cast<std::uint8_t>(rlwe::Scheme::bfv) ||
      scheme > static_cast<std::uint8_t>(rlwe::Scheme::ckks)) {
    in.fail("unknown scheme " + std::to_string(scheme));
  }
  return static_cast<rlwe::Scheme>(scheme);
}

void check_scheme(rlwe::Scheme scheme, const rlwe::Parameters& parameters) {
  if (scheme != parameters.scheme()) {
    throw FormatError("the object is marked " + rlwe::name(scheme) + ", but its parameters are " +
                      rlwe::name(parameters.scheme()));
  }
}

void check_level(std::size_t level, const rlwe::Parameters& parameters) {
  if (level >= parameters.levels()) {
    throw FormatError("level " + std::to_string(level) + " is above the top level " +
                      std::to_string(parameters.levels() - 1) + " of the parameters");
  }
}

// Whether there are slots for the padding that an object says it has.
bool has_padding_that_fits(const rlwe::Metadata& meta) {
  return meta.filled != 0 || meta.padding == rlwe::Padding::zeros || meta.padding == rlwe::Padding::uniform;
}

void read_filling(runtime::ByteReader& in, MessageFields& fields) {
  rlwe::Metadata& meta = fields.meta;
  meta.filled = in.size();
  const std::uint8_t padding = in.u8();
  meta.is_complex = in.boolean();
  const bool ckks = fields.scheme == rlwe::Scheme::ckks;
  const bool in_slots = meta.encoding == rlwe::Encoding::slots;
  if (padding > static_cast<std::uint8_t>(rlwe::Padding::uniform) ||
      (ckks && padding == static_cast<std::uint8_t>(rlwe::Padding::values))) {
    in.fail("slots filled up in way " + std::to_string(padding));
  }
  meta.padding = static_cast<rlwe::Padding>(padding);
  const bool fits = meta.filled == 0 || (ckks && meta.filled < meta.slots);
  if (!fits || (meta.is_complex && !ckks) || (!in_slots && meta.padding != rlwe::Padding::zeros) ||
      (ckks && !has_padding_that_fits(meta))) {
    in.fail(std::to_string(meta.filled) + " filled slots of " + std::to_string(meta.slots) +
            ", which their padding or encoding does not allow");
  }
}

}  // namespace

std::uint16_t MessageFields::version() const {
  const int most = scheme == rlwe::Scheme::ckks ? 2 : 1;
  const bool known =
      meta.noise_scale_degree >= 1 && meta.noise_scale_degree <= most && std::isinf(meta.largest);
  // BFV and BGV take the filled slots from the number of values.
  const bool has_filling = (scheme == rlwe::Scheme::ckks && meta.filled != 0) ||
                           meta.padding != rlwe::Padding::zeros || meta.is_complex;
  if (scheme == rlwe::Scheme::ckks && meta.scale > precise_scale && meta.scale.rest() != 0) {
    return sixth_format;
  }
  if (meta.spent) return fourth_format;
  return has_filling ? third_format : known ? first_format : second_format;
}

void MessageFields::write(runtime::ByteWriter& out, std::uint16_t version) const {
  out.u8(static_cast<std::uint8_t>(scheme));
  out.u8(static_cast<std::uint8_t>(meta.encoding));
  out.u8(static_cast<std::uint8_t>(meta.noise_scale_degree));
  write_seed(out, seed);
  out.u32(static_cast<std::uint32_t>(meta.level));
  out.f64(meta.scale);
  out.u64(meta.correction);
  out.u64(meta.slots);
  out.f64(meta.noise_log2);
  const std::vector<std::uint64_t> batch(meta.batch.begin(), meta.batch.end());
  out.u64s(batch);
  if (version > first_format) out.f64(meta.largest);
  if (version > second_format) {
    out.u64(scheme == rlwe::Scheme::ckks ? meta.filled : 0);
    out.u8(static_cast<std::uint8_t>(meta.padding));
    out.boolean(meta.is_complex);
  }
  if (version > third_format) out.boolean(meta.spent);
  if (version > fifth_format) out.f64(meta.scale.rest());
}

MessageFields MessageFields::read(std::span<const std::byte> section, std::uint16_t version) {
  runtime::ByteReader in(section, "the META section");
  MessageFields fields;
  fields.scheme = read_scheme(in);
  const bool ckks = fields.scheme == rlwe::Scheme::ckks;
  fields.meta.encoding = in.boolean() ? rlwe::Encoding::coefficients : rlwe::Encoding::slots;
  if (ckks && fields.meta.encoding != rlwe::Encoding::slots) in.fail("CKKS has slot encoding only");
  fields.meta.noise_scale_degree = in.u8();
  fields.seed = read_seed(in);
  fields.meta.level = in.u32();
  fields.meta.scale = in.f64();
  if (!(std::isfinite(fields.meta.scale) && fields.meta.scale > 0) || (!ckks && fields.meta.scale != 1)) {
    in.fail("a scale of " + decimal(fields.meta.scale));
  }
  fields.meta.correction = in.u64();
  if (fields.meta.correction == 0 || (fields.scheme != rlwe::Scheme::bgv && fields.meta.correction != 1)) {
    in.fail("a correction factor of " + std::to_string(fields.meta.correction));
  }
  fields.meta.slots = in.size();
  fields.meta.noise_log2 = in.f64();
  if (std::isnan(fields.meta.noise_log2)) in.fail("a noise bound of 2^" + decimal(fields.meta.noise_log2));
  std::size_t elements = 1;
  const std::vector<std::uint64_t> extents = in.u64s();
  if (extents.size() > rlwe::most_batch_axes) {
    in.fail("a batch of " + std::to_string(extents.size()) + " axes, more than the format's " +
            std::to_string(rlwe::most_batch_axes));
  }
  for (const std::uint64_t extent : extents) {
    if (extent == 0 || extent > std::numeric_limits<std::size_t>::max() / elements) {
      in.fail("a batch with an extent of " + std::to_string(extent));
    }
    fields.meta.batch.push_back(static_cast<std::size_t>(extent));
    elements *= fields.meta.batch.back();
  }
  if (version > first_format) {
    fields.meta.largest = in.f64();
    if (!(fields.meta.largest >= 0) || (!ckks && !std::isinf(fields.meta.largest))) {
      in.fail("values of at most " + decimal(fields.meta.largest));
    }
  }
  if (version > second_format) read_filling(in, fields);
  if (version > third_format) {
    fields.meta.spent = in.boolean();
    if (fields.meta.spent != (version <= fifth_format) || (fields.meta.spent && ckks)) {
      in.fail("a noise budget that is not spent, or of CKKS");
    }
  }
  if (version > fifth_format) {
    const double rest = in.f64();
    if (!ckks || rest == 0 || !(fields.meta.scale > precise_scale) ||
        !(std::abs(rest) <= most_rest * fields.meta.scale)) {
      in.fail("a rest of " + decimal(rest) + " of the scale " + decimal(fields.meta.scale));
    }
    fields.meta.scale = rlwe::Scale(arith::TwoDoubles{fields.meta.scale, rest});
  }
  if (fields.version() > version) {
    in.fail("a noise-scale degree of " + std::to_string(fields.meta.noise_scale_degree) +
            ", which is written in another version of the format than " + std::to_string(version));
  }
  in.expect_end();
  return fields;
}

void MessageFields::check(const rlwe::Parameters& parameters) const {
  check_scheme(scheme, parameters);
  check_level(meta.level, parameters);
  const bool in_slots = meta.encoding == rlwe::Encoding::slots;
  if (scheme != rlwe::Scheme::ckks && in_slots && !parameters.has_slots()) {
    throw FormatError("the object is encoded in slots, which its plaintext modulus " +
                      std::to_string(parameters.plain_modulus()) + " does not have");
  }
  const std::size_t largest = in_slots ? parameters.max_slots() : parameters.degree();
  if (meta.slots == 0 || meta.slots > largest ||
      (scheme == rlwe::Scheme::ckks && !std::has_single_bit(meta.slots))) {
    throw FormatError("the object has " + std::to_string(meta.slots) + " values where its parameters allow " +
                      (scheme == rlwe::Scheme::ckks ? "a power of two up to " : "1 to ") +
                      std::to_string(largest));
  }
  if (scheme == rlwe::Scheme::bgv && (meta.correction >= parameters.plain_modulus() ||
                                      std::gcd(meta.correction, parameters.plain_modulus()) != 1)) {
    throw FormatError("the correction factor " + std::to_string(meta.correction) + " is no unit modulo " +
                      std::to_string(parameters.plain_modulus()));
  }
  rlwe::Metadata whole = meta;
  if (scheme != rlwe::Scheme::ckks) whole.filled = rlwe::filled_slots(meta, parameters.max_slots());
  if (!has_padding_that_fits(whole)) {
    throw FormatError("the object says what fills it up, but all of its " + std::to_string(meta.slots) +
                      " slots hold values");
  }
}

void KeyFields::write(runtime::ByteWriter& out, std::uint16_t version) const {
  out.u8(static_cast<std::uint8_t>(scheme));
  if (version == first_format) {
    out.u32(static_cast<std::uint32_t>(level));
  } else {
    out.u64s(gadget.base);
    out.u64s(gadget.special);
    out.u32(static_cast<std::uint32_t>(gadget.digits.size()));
    for (const auto& digit : gadget.digits) out.u64s(digit);
    out.u32(static_cast<std::uint32_t>(gadget.window_bits));
  }
  write_seed(out, seed);
}

KeyFields KeyFields::read(std::span<const std::byte> section, std::uint16_t version) {
  runtime::ByteReader in(section, "the KEYM section");
  KeyFields fields;
  fields.scheme = read_scheme(in);
  if (version == first_format) {
    fields.level = in.u32();
  } else {
    fields.gadget.base = in.u64s();
    fields.gadget.special = in.u64s();
    fields.gadget.digits.resize(in.count(sizeof(std::uint32_t)));
    for (auto& digit : fields.gadget.digits) digit = in.u64s();
    const std::uint32_t bits = in.u32();
    if (bits > arith::max_modulus_bits) in.fail("windows of " + std::to_string(bits) + " bits");
    fields.gadget.window_bits = static_cast<int>(bits);
    if (std::max({fields.gadget.base.size(), fields.gadget.special.size(), fields.gadget.digits.size()}) >
        most_primes) {
      in.fail("a gadget of more than the format's " + std::to_string(most_primes) + " primes");
    }
  }
  fields.seed = read_seed(in);
  in.expect_end();
  return fields;
}

void KeyFields::check(const rlwe::Parameters& parameters) const {
  check_scheme(scheme, parameters);
  check_level(level, parameters);
}

std::uint16_t KeyList::version() const {
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const rlwe::KeyRole& role = roles[i];
    const bool known = role == rlwe::KeyRole::relinearization() ||
                       (role == rlwe::KeyRole::galois(role.galois_element) && role.galois_element != 1);
    if (!known || (i > 0 && role == roles[i - 1])) return second_format;
  }
  return first_format;
}

void KeyList::write(runtime::ByteWriter& out, std::uint16_t version) const {
  out.boolean(public_key);
  if (version == first_format) {
    const bool relinearization = !roles.empty() && roles.front() == rlwe::KeyRole::relinearization();
    out.boolean(relinearization);
    out.u32(static_cast<std::uint32_t>(roles.size() - (relinearization ? 1U : 0U)));
    for (const rlwe::KeyRole& role : std::span(roles).subspan(relinearization ? 1U : 0U)) {
      out.u64(role.galois_element);
    }
    return;
  }
  out.u32(static_cast<std::uint32_t>(roles.size()));
  for (const rlwe::KeyRole& role : roles) {
    out.u32(role.power);
    out.u64(role.galois_element);
    out.u32(role.from);
    out.u32(role.to);
  }
}

KeyList KeyList::read(std::span<const std::byte> section, std::uint16_t version) {
  runtime::ByteReader in(section, "the KEYS section");
  KeyList list;
  list.public_key = in.boolean();
  if (version == first_format) {
    if (in.boolean()) list.roles.push_back(rlwe::KeyRole::relinearization());
    const std::vector<std::uint64_t> galois = in.u64s();
    for (std::size_t i = 0; i < galois.size(); ++i) {
      if (galois[i] % 2 == 0 || galois[i] == 1 || (i > 0 && galois[i] <= galois[i - 1])) {
        in.fail("Galois elements must be odd, above 1 and ascending; " + std::to_string(galois[i]) +
                " is not");
      }
      list.roles.push_back(rlwe::KeyRole::galois(galois[i]));
    }
  } else {
    list.roles.resize(in.count(role_bytes));
    for (std::size_t i = 0; i < list.roles.size(); ++i) {
      rlwe::KeyRole& role = list.roles[i];
      role.power = in.u32();
      role.galois_element = in.u64();
      role.from = in.u32();
      role.to = in.u32();
      if (role.power == 0 || role.galois_element % 2 == 0) {
        in.fail("a key from the power " + std::to_string(role.power) + " of a secret with Galois element " +
                std::to_string(role.galois_element) + "; powers are from 1 on, elements odd");
      }
      if (i > 0 && role < list.roles[i - 1]) in.fail("roles of keys that do not ascend");
    }
  }
  in.expect_end();
  return list;
}

void KeyList::check(const rlwe::Parameters& parameters) const {
  for (const rlwe::KeyRole& role : roles) {
    if (role.galois_element >= 2 * parameters.degree()) {
      throw FormatError("Galois element " + std::to_string(role.galois_element) +
                        " is not below 2N = " + std::to_string(2 * parameters.degree()));
    }
  }
}

void check_fields_size(Tag tag, std::uint64_t bytes) {
  const std::size_t largest = tag == parameters_tag ? largest_parameters : largest_fields;
  if (bytes > largest) {
    throw FormatError("a section " + tag.text() + " of " + std::to_string(bytes) +
                      " bytes, more than the format's " + std::to_string(largest));
  }
}

Payload read_fields(const Section& section) {
  check_fields_size(section.tag, section.raw_bytes);
  return section.payload();
}

}  // namespace hemera::io
