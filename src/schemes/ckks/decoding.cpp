// The values of plaintexts, and the check that they are values.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"
#include "runtime/decimal.hpp"
#include "schemes/ckks/encoding_checks.hpp"

namespace hemera::ckks {
namespace {

using Complex = std::complex<double>;

// Whether large coefficients reveal another secret key, although no spare bits reveal wrapped values.
bool guards_key(const rlwe::Parameters& parameters) {
  const rlwe::ParametersLiteral& literal = parameters.literal();
  return literal.galois_generator == 5 && literal.range_bits != 0 && !checks_range(parameters);
}

// Coefficients that another key opens are anything: of 1024 one exceeds this part of the modulus, which
// values of range_bits do but at the very end of their range.
constexpr double part_of_any = 15.0 / 32;

// This many slots have coefficients enough that those of another key show: of 512 all are below that part, or
// below a quarter, with a probability of 2^-95.
constexpr std::size_t slots_that_tell = 512;

// Both arrays from memory that holds one after the other; by one copy if they lie so on the host.
void download(const rlwe::Context& context, std::span<double> numbers, std::span<double> largest,
              const runtime::Buffer& from) {
  const std::span<const std::byte> bytes(from.data(), numbers.size_bytes() + largest.size_bytes());
  const auto copy = [&](std::span<double> to, std::size_t begin) {
    context.backend().download_values(context.queue(), std::as_writable_bytes(to),
                                      bytes.subspan(begin, to.size_bytes()));
  };
  if (numbers.data() + numbers.size() == largest.data()) {
    return copy({numbers.data(), numbers.size() + largest.size()}, 0);
  }
  copy(numbers, 0);
  if (!largest.empty()) copy(largest, numbers.size_bytes());
}

}  // namespace

double range_limit(const rlwe::Context& context, const rlwe::Metadata& meta) {
  const double part = checks_range(context.parameters()) ? 0.25 : part_of_any;
  return part * std::exp2(context.base(meta.level).log2() - std::log2(meta.scale));
}

std::vector<Complex> Encoder::decode(const rlwe::Plaintext& plaintext) const {
  Decoded decoded = decode_certain(plaintext);
  refuse(decoded.doubtful, plaintext.meta);
  return std::move(decoded.values);
}

std::vector<double> Encoder::decode_real(const rlwe::Plaintext& plaintext) const {
  rlwe::require_filled(plaintext, "decode");
  std::vector<double> values(rlwe::batch_count(plaintext.meta.batch) * plaintext.meta.slots);
  decode(HostRows<double>{.doubles = values, .count = plaintext.meta.slots}, plaintext);
  return values;
}

void Encoder::decode(const HostRows<double>& values, const rlwe::Plaintext& plaintext) const {
  refuse(decode_certain(values, plaintext), plaintext.meta);
}

void Encoder::refuse(std::span<const std::size_t> doubtful, const rlwe::Metadata& meta) const {
  if (doubtful.empty()) return;
  const bool is_range = checks_range(context_->parameters());
  throw NoiseError(
      "decrypt: " + rlwe::elements_text(doubtful, meta.batch) + "a coefficient exceeds " +
      (is_range ? "a quarter" : "15/32") + " of the modulus of level " + std::to_string(meta.level) +
      ", so the values are wrong, or nearly: those of more than " + decimal(range_limit(*context_, meta)) +
      " wrap there. Either this is not the secret key of the encryption, or a function or a "
      "bootstrap was given values outside of its interval, or values are too large: choose "
      "parameters with more range_bits or with " +
      Message(WayOut::bound_of_values, "the bound of your values (largest)") + ", or with a smaller scale" +
      rlwe::other_rows_way_out(doubtful, meta.batch) + ". Whoever evaluates must not learn of this error");
}

// Decrypted plaintexts are checked.
bool Encoder::is_checked(const rlwe::Plaintext& plaintext) const {
  return plaintext.poly.secrecy() == runtime::Secrecy::secret &&
         (checks_range(context_->parameters()) || guards_key(context_->parameters()));
}

Encoder::Decoded Encoder::decode_certain(const rlwe::Plaintext& plaintext) const {
  rlwe::require_plaintext(*context_, plaintext, "decode");
  const std::size_t count = rlwe::batch_count(plaintext.meta.batch), slots = plaintext.meta.slots;
  const std::size_t checked = is_checked(plaintext) ? count : 0;
  Decoded result;
  result.values.resize(count * slots + (checked + 1) / 2);
  const std::span all(reinterpret_cast<double*>(result.values.data()), 2 * result.values.size());
  const std::span<double> largest = all.subspan(2 * count * slots, checked);
  {
    const runtime::ZeroedAtEnd zeroed{largest};
    result.doubtful = decode_numbers({all.first(2 * count * slots), true, slots}, largest, plaintext);
  }
  result.values.resize(count * slots);
  return result;
}

std::vector<std::size_t> Encoder::decode_certain(const HostRows<double>& values,
                                                 const rlwe::Plaintext& plaintext) const {
  rlwe::require_plaintext(*context_, plaintext, "decode");
  const std::size_t count = rlwe::batch_count(plaintext.meta.batch);
  if (values.count == 0 || values.count > plaintext.meta.slots ||
      values.doubles.size() != count * values.count * (values.is_complex ? 2 : 1)) {
    throw MismatchError("decode: room for " + std::to_string(values.doubles.size()) + " doubles in rows of " +
                        std::to_string(values.count) + " numbers was given, but the plaintext has " +
                        std::to_string(count) + " rows of " + std::to_string(plaintext.meta.slots));
  }
  std::vector<double> largest(is_checked(plaintext) ? count : 0);
  const runtime::ZeroedAtEnd zeroed{std::span(largest)};
  return decode_numbers(values, largest, plaintext);
}

std::vector<std::size_t> Encoder::decode_numbers(const HostRows<double>& values, std::span<double> largest,
                                                 const rlwe::Plaintext& plaintext) const {
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  const runtime::Secrecy secrecy = plaintext.poly.secrecy();
  const std::size_t count = rlwe::batch_count(plaintext.meta.batch), slots = plaintext.meta.slots;
  // Few slots have few coefficients: more of them are looked at, as those of more slots.
  const std::size_t most = largest.empty() ? 0 : std::min(slots_that_tell, context.degree() / 2);
  const std::size_t looked_at = most > slots ? most : 0;
  const bool is_direct = values.is_complex && values.count == slots;

  // A GPU has the numbers in its memory, and those of the check behind them.
  runtime::Buffer there, scratch;
  double* numbers = values.doubles.data();
  double* found = largest.data();
  if (backend.device().kind == runtime::Device::Kind::cuda) {
    there = {context.memory(), values.doubles.size_bytes() + largest.size_bytes(), secrecy};
    numbers = reinterpret_cast<double*>(there.data());
    found = numbers + values.doubles.size();
  }
  const std::size_t scratch_slots = count * ((is_direct ? 0 : slots) + looked_at);
  if (scratch_slots != 0) scratch = {context.memory(), scratch_slots * sizeof(Complex), secrecy};
  auto* const looked = reinterpret_cast<Complex*>(scratch.data());
  Complex* const all = is_direct ? reinterpret_cast<Complex*>(numbers) : looked + count * looked_at;

  const poly::Poly coefficients = coefficients_of(plaintext);
  const poly::ConstPolyView in = coefficients ? coefficients.view() : plaintext.poly.view();
  if (looked_at != 0) unembed({looked, count, looked_at}, found, in, plaintext);
  unembed({all, count, slots}, looked_at != 0 || largest.empty() ? nullptr : found, in, plaintext);
  if (!is_direct) {
    backend.collect_slots(context.queue(), {numbers, values.is_complex, count, values.count},
                          {all, count, slots});
  }
  if (there) download(context, values.doubles, largest, there);
  context.queue().synchronize();

  std::vector<std::size_t> doubtful;
  const double limit = largest.empty() ? 0 : range_limit(context, plaintext.meta);
  const std::size_t row = values.doubles.size() / count;
  for (std::size_t element = 0; element < largest.size(); ++element) {
    if (largest[element] <= limit) continue;
    doubtful.push_back(element);
    std::ranges::fill(values.doubles.subspan(element * row, row), std::nan(""));
  }
  return doubtful;
}

void Encoder::decode_to(const poly::SlotView& values, const rlwe::Plaintext& plaintext) const {
  rlwe::require_plaintext(*context_, plaintext, "decode");
  const std::size_t count = rlwe::batch_count(plaintext.meta.batch);
  if (values.batch != count || values.slots != plaintext.meta.slots) {
    throw MismatchError("decode: room for " + std::to_string(values.batch) + " rows of " +
                        std::to_string(values.slots) + " values was given, but the plaintext has " +
                        std::to_string(count) + " of " + std::to_string(plaintext.meta.slots));
  }
  const poly::Poly coefficients = coefficients_of(plaintext);
  unembed(values, nullptr, coefficients ? coefficients.view() : plaintext.poly.view(), plaintext);
}

poly::Poly Encoder::coefficients_of(const rlwe::Plaintext& plaintext) const {
  if (plaintext.poly.form() != poly::Form::evaluation) return {};
  const rlwe::Context& context = *context_;
  const poly::RnsBase& base = plaintext.poly.base();
  poly::Poly coefficients = context.make_poly(rlwe::batch_count(plaintext.meta.batch), 1, base,
                                              poly::Form::coefficient, plaintext.poly.secrecy());
  rlwe::with_all_entries(context, plaintext.poly, [&](const poly::ConstPolyView& entries) {
    context.backend().inverse_transform(context.queue(), coefficients.view(), entries, base);
  });
  return coefficients;
}

void Encoder::unembed(const poly::SlotView& values, double* largest, const poly::ConstPolyView& coefficients,
                      const rlwe::Plaintext& plaintext) const {
  const rlwe::Context& context = *context_;
  auto workspace = context.make_workspace(plaintext.poly.secrecy());
  context.backend().unembed(context.queue(), values, coefficients, plaintext.meta.scale,
                            context.parameters().literal().galois_generator, plaintext.poly.base(), workspace,
                            largest);
}

}  // namespace hemera::ckks
