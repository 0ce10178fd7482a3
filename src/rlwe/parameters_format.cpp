#include "rlwe/parameters_format.hpp"

#include <string>
#include <utility>
#include <vector>

namespace hemera::rlwe {
namespace {

using Primes = std::vector<std::uint64_t>;

constexpr std::size_t most_key_primes = 512;  // each is tested when a file loads
constexpr std::uint8_t automatic_in_format_1 = 0, manual_in_format_1 = 1;

constexpr std::uint16_t version_of_terms = 7;

// Whether the fingerprint covers fields that format 1 does not have.
bool is_extended(const ParametersLiteral& literal) {
  return literal.secret.deviation != 0 || !literal.key_primes.empty() || literal.secret.terms > 1;
}

std::vector<Primes> read_lists(runtime::ByteReader& in) {
  std::vector<Primes> lists(in.count(sizeof(std::uint32_t)));
  for (Primes& list : lists) list = in.u64s();
  return lists;
}

}  // namespace

void write_compatible(const ParametersLiteral& literal, runtime::ByteWriter& out) {
  out.u8(static_cast<std::uint8_t>(literal.scheme));
  out.u64(literal.degree);
  out.u32(static_cast<std::uint32_t>(literal.levels.size()));
  for (const Primes& level : literal.levels) out.u64s(level);
  out.u64s(literal.special_primes);
  out.u32(static_cast<std::uint32_t>(literal.digits.size()));
  for (const Primes& digit : literal.digits) out.u64s(digit);
  out.u32(static_cast<std::uint32_t>(literal.window_bits));
  out.u32(static_cast<std::uint32_t>(literal.roots.size()));
  for (const auto& [modulus, root] : literal.roots) {
    out.u64(modulus);
    out.u64(root);
  }
  out.u64(literal.plain_modulus);
  out.f64(literal.scale);
  out.u64(literal.galois_generator);
  out.u64(literal.secret.weight);
  out.f64(literal.sigma);
  if (!is_extended(literal)) return;
  out.boolean(true);
  out.f64(literal.secret.deviation);
  out.u64s(literal.key_primes);
  if (literal.secret.terms > 1) out.u32(static_cast<std::uint32_t>(literal.secret.terms));
}

std::uint16_t Parameters::format_version() const {
  if (literal_.secret.terms > 1) return version_of_terms;
  // Readers of version 2 know scales of CKKS alone.
  if (has_circuit()) return 5;
  const bool known = !literal_.rescaling || *literal_.rescaling == RescalingPolicy::manual(scheme());
  return known && literal_.purposes.empty() && literal_.largest == 0 && !is_extended(literal_) ? 1 : 2;
}

void Parameters::write(runtime::ByteWriter& out) const {
  const bool first = format_version() == 1;
  write_compatible(literal_, out);
  if (!first && !is_extended(literal_)) out.boolean(false);
  out.u32(static_cast<std::uint32_t>(literal_.range_bits));
  out.u8(static_cast<std::uint8_t>(literal_.bfv_multiplication));
  if (first) {
    out.u8(literal_.rescaling ? manual_in_format_1 : automatic_in_format_1);
    return;
  }
  literal_.rescaling.value_or(RescalingPolicy::automatic(scheme())).write(out);
  out.u32(static_cast<std::uint32_t>(literal_.purposes.size()));
  for (const LevelPurpose purpose : literal_.purposes) out.u8(static_cast<std::uint8_t>(purpose));
  out.f64(literal_.largest);
}

Parameters Parameters::read(runtime::ByteReader& in, std::uint16_t version) {
  ParametersLiteral literal;
  const std::uint8_t scheme = in.u8();
  if (scheme < 1 || scheme > 3) in.fail("unknown scheme " + std::to_string(scheme));
  literal.scheme = static_cast<Scheme>(scheme);
  literal.degree = in.size();
  literal.levels = read_lists(in);
  literal.special_primes = in.u64s();
  literal.digits = read_lists(in);
  literal.window_bits = static_cast<int>(in.u32());
  const std::size_t roots = in.count(2 * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < roots; ++i) {
    const std::uint64_t modulus = in.u64();
    literal.roots[modulus] = in.u64();
  }
  literal.plain_modulus = in.u64();
  literal.scale = in.f64();
  literal.galois_generator = in.u64();
  literal.secret.weight = in.size();
  literal.sigma = in.f64();
  if (version > 1 && in.boolean()) {
    literal.secret.deviation = in.f64();
    literal.key_primes = in.u64s();
    if (literal.key_primes.size() > most_key_primes) {
      in.fail("more than " + std::to_string(most_key_primes) + " key primes");
    }
    if (version >= version_of_terms) literal.secret.terms = in.u32();
    if (!is_extended(literal)) in.fail("an extension that says nothing");
  }
  literal.range_bits = static_cast<int>(in.u32());
  const std::uint8_t multiplication = in.u8();
  if (multiplication > 3) in.fail("unknown BFV multiplication " + std::to_string(multiplication));
  literal.bfv_multiplication = static_cast<BfvMultiplication>(multiplication);
  if (version == 1) {
    const std::uint8_t rescaling = in.u8();
    if (rescaling > manual_in_format_1) in.fail("unknown rescaling policy " + std::to_string(rescaling));
    if (rescaling == manual_in_format_1) literal.rescaling = RescalingPolicy::manual(literal.scheme);
  } else {
    literal.rescaling = RescalingPolicy::read(in);
    literal.purposes.resize(in.count(1));
    for (LevelPurpose& purpose : literal.purposes) {
      const std::uint8_t number = in.u8();
      if (number > static_cast<std::uint8_t>(LevelPurpose::other_circuit)) {
        in.fail("unknown purpose " + std::to_string(number) + " of a level");
      }
      purpose = static_cast<LevelPurpose>(number);
    }
    literal.largest = in.f64();
  }
  literal.security.reset();
  return Parameters(std::move(literal));
}

}  // namespace hemera::rlwe
