// Encoding and decoding on the host, beyond doubles.
#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "hemera/schemes/ckks.hpp"
#include "rlwe/requirements.hpp"
#include "schemes/ckks/encoding_checks.hpp"
#include "schemes/ckks/precise_embedding.hpp"

namespace hemera::ckks {
namespace {

using Complex = std::complex<double>;
using arith::TwoDoubles;

// Coefficients, which are at most the largest value times the scale, fit 128 bits. Larger ones as pairs of
// doubles have no more bits than these.
constexpr int most_coefficient_bits = 125;

// Zeros behind the bits that coefficients of this size have.
int zeros_behind(double largest) {
  return largest == 0 ? 0 : std::max(0, std::ilogb(largest) + 1 - most_coefficient_bits);
}

void require_generator(const rlwe::Context& context, const char* operation) {
  if (context.parameters().literal().galois_generator == 5) return;
  throw ParameterError(std::string(operation) +
                       ": these parameters, of another library, have the slots in another order than that of "
                       "the powers of 5, for which pairs of doubles are; give and ask for doubles");
}

// Residues of the values' coefficients, to `words`, [limb][degree]. `largest`: their magnitude at the scale.
void write_residues(std::span<std::uint64_t> words, std::span<const PreciseComplex> slots,
                    const TwoDoubles& scale, double largest, const poly::RnsBase& base) {
  const int zeros = zeros_behind(largest);
  const std::vector<arith::int128> coefficients =
      precise_coefficients(slots, scale * TwoDoubles{std::ldexp(1.0, -zeros)});
  const std::size_t degree = words.size() / base.size(), stride = degree / coefficients.size();
  for (std::size_t limb = 0; limb < base.size(); ++limb) {
    const arith::Modulus& q = base.modulus(limb);
    const std::uint64_t unit = arith::modulo(arith::BigInteger(1) << static_cast<unsigned>(zeros), q.value());
    for (std::size_t k = 0; k < coefficients.size(); ++k) {
      const arith::int128 value = coefficients[k];
      const std::uint64_t magnitude =
          q.multiply(q.reduce(static_cast<arith::uint128>(value < 0 ? -value : value)), unit);
      words[limb * degree + k * stride] = value < 0 && magnitude != 0 ? q.value() - magnitude : magnitude;
    }
  }
}

// Slots of a row of real or complex numbers, each with its double's rest, filled up with zeros.
std::vector<PreciseComplex> slots_of(const HostRows<const double>& values, std::span<const double> rests,
                                     std::size_t row, std::size_t slots) {
  const std::size_t parts = values.is_complex ? 2 : 1;
  std::vector<PreciseComplex> result(slots);
  for (std::size_t i = 0; i < values.count; ++i) {
    const std::size_t at = (row * values.count + i) * parts;
    const auto number = [&](std::size_t k) { return arith::exact_sum(values.doubles[k], rests[k]); };
    result[i] = {number(at), values.is_complex ? number(at + 1) : TwoDoubles{0}};
  }
  return result;
}

// The coefficients over the scale of a batch of polynomials in coefficient form.
class HostCoefficients {
 public:
  HostCoefficients(const rlwe::Context& context, const poly::Poly& polynomials, const rlwe::Metadata& meta)
      : centered_(polynomials.base()),
        scale_(meta.scale.exact()),
        degree_(context.degree()),
        row_(polynomials.base().size() * degree_),
        words_(rlwe::batch_count(meta.batch) * row_) {
    context.backend().download(context.queue(), words_, polynomials.view(), poly::Form::coefficient);
  }
  TwoDoubles operator()(std::size_t row, std::size_t k) {
    return centered_(&words_[row * row_ + k], degree_) / scale_;
  }

 private:
  CenteredReader centered_;
  TwoDoubles scale_;
  std::size_t degree_, row_;
  std::vector<std::uint64_t> words_;
  const runtime::ZeroedAtEnd zeroed_{std::span(words_)};
};

}  // namespace

// Each element's coefficients over the base, in evaluation form.
rlwe::Plaintext Encoder::from_coefficients(std::span<const std::uint64_t> words, rlwe::Metadata meta,
                                           const poly::RnsBase& base) const {
  const rlwe::Context& context = *context_;
  const std::size_t count = rlwe::batch_count(meta.batch);
  rlwe::Plaintext plaintext{context_, std::move(meta),
                            context.make_poly(count, 1, base, poly::Form::evaluation)};
  const poly::PolyView out = plaintext.poly.view();
  context.backend().upload(context.queue(), out, words, poly::Form::coefficient);
  context.backend().forward_transform(context.queue(), out, out, base);
  return plaintext;
}

rlwe::Plaintext Encoder::encode(const HostRows<const double>& values, std::span<const double> rests,
                                std::size_t slots, const rlwe::BatchShape& batch,
                                std::optional<std::size_t> level, std::optional<rlwe::Scale> scale,
                                std::optional<double> largest) const {
  const rlwe::Context& context = *context_;
  require_generator(context, "encode");
  const std::size_t rows = rlwe::batch_count(batch);
  const bool is_message = !level && !scale;
  rlwe::Metadata meta = metadata(rows * slots, batch, level, scale);
  require_rows(values, rows, slots);
  if (rests.size() != values.doubles.size()) {
    throw MismatchError("encode: " + std::to_string(rests.size()) + " rests were given for " +
                        std::to_string(values.doubles.size()) + " doubles; give one for each");
  }
  if (largest) declare(meta, *largest);
  const double most = largest_magnitude(values.doubles);
  if (!std::isfinite(most) || !(largest_magnitude(rests) <= 0x1p-45 * most)) {
    throw ParameterError(
        "encode: values must be finite, and their rests what doubles leave of them, at most 2^-45 of the "
        "largest; split numbers into the nearest double and the rest");
  }
  const poly::RnsBase& base = context.base(meta.level);
  require_at_most(values, most, meta.largest);
  require_fits(most, meta, base);
  if (is_message && context.parameters().literal().range_bits != 0) require_fits_lowest(most, context);
  std::vector<std::uint64_t> words(rows * base.size() * context.degree(), 0);
  const std::size_t size = base.size() * context.degree();
  for (std::size_t row = 0; row < rows; ++row) {
    write_residues(std::span(words).subspan(row * size, size), slots_of(values, rests, row, slots),
                   meta.scale.exact(), most * meta.scale, base);
  }
  return from_coefficients(words, std::move(meta), base);
}

rlwe::Plaintext Encoder::encode_precisely_over(const poly::RnsBase& base, std::span<const Complex> values,
                                               std::size_t level, double scale, Stored stored) const {
  const rlwe::Context& context = *context_;
  const std::span doubles(reinterpret_cast<const double*>(values.data()), 2 * values.size());
  const double largest = largest_magnitude(doubles);
  if (context.parameters().literal().galois_generator != 5) {
    return encode_over(base, values, {}, level, scale, stored, HUGE_VAL);
  }
  rlwe::Metadata meta = metadata(values.size(), {}, level, scale);
  meta.largest = HUGE_VAL;
  require_fits(largest, meta, base);
  std::vector<PreciseComplex> slots;
  for (const Complex& value : values) slots.push_back({{value.real()}, {value.imag()}});
  std::vector<std::uint64_t> words(base.size() * context.degree(), 0);
  write_residues(words, slots, {scale}, largest * scale, base);
  rlwe::Plaintext plaintext = from_coefficients(words, std::move(meta), base);
  if (stored == Stored::one_period) store_one_period(plaintext);
  return plaintext;
}

void Encoder::decode(const HostRows<double>& values, std::span<double> rests,
                     const rlwe::Plaintext& plaintext) const {
  refuse(decode_certain(values, rests, plaintext), plaintext.meta);
}

std::vector<std::size_t> Encoder::decode_certain(const HostRows<double>& values, std::span<double> rests,
                                                 const rlwe::Plaintext& plaintext) const {
  const rlwe::Context& context = *context_;
  require_generator(context, "decode");
  if (rests.size() != values.doubles.size()) {
    throw MismatchError("decode: room for " + std::to_string(rests.size()) + " rests was given beside " +
                        std::to_string(values.doubles.size()) + " doubles; give as much for both");
  }
  std::vector<std::size_t> doubtful = decode_certain(values, plaintext);
  const poly::Poly own = coefficients_of(plaintext);
  const poly::Poly& polynomials = own ? own : plaintext.poly;
  const std::size_t slots = plaintext.meta.slots, stride = context.degree() / (2 * slots);
  const std::size_t rows = rlwe::batch_count(plaintext.meta.batch), parts = values.is_complex ? 2 : 1;
  HostCoefficients read(context, polynomials, plaintext.meta);
  std::vector<TwoDoubles> coefficients(2 * slots);
  const runtime::ZeroedAtEnd zeroed_coefficients{std::span(coefficients)};
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<double> found = values.doubles.subspan(row * values.count * parts, values.count * parts);
    const std::span<double> left = rests.subspan(row * values.count * parts, values.count * parts);
    if (std::ranges::binary_search(doubtful, row)) {
      std::ranges::fill(left, std::nan(""));
      continue;
    }
    for (std::size_t k = 0; k < 2 * slots; ++k) coefficients[k] = read(row, k * stride);
    const std::vector<PreciseComplex> numbers = precise_slots(coefficients);
    for (std::size_t i = 0; i < values.count; ++i) {
      const auto write = [&](std::size_t at, const TwoDoubles& number) {
        const TwoDoubles normal = arith::exact_sum(number.value, number.rest);
        found[at] = normal.value;
        left[at] = normal.rest;
      };
      write(i * parts, numbers[i].real);
      if (values.is_complex) write(i * parts + 1, numbers[i].imag);
    }
  }
  return doubtful;
}

void Encoder::decode_coefficients(std::span<double> values, const rlwe::Plaintext& plaintext) const {
  refuse(decode_certain_coefficients(values, plaintext), plaintext.meta);
}

std::vector<std::size_t> Encoder::decode_certain_coefficients(std::span<double> values,
                                                              const rlwe::Plaintext& plaintext) const {
  const rlwe::Context& context = *context_;
  rlwe::require_plaintext(context, plaintext, "decode");
  const std::size_t rows = rlwe::batch_count(plaintext.meta.batch), degree = context.degree();
  if (values.size() != rows * degree) {
    throw MismatchError("decode: room for " + std::to_string(values.size()) +
                        " coefficients was given, but the plaintext has " + std::to_string(rows) +
                        " rows of " + std::to_string(degree));
  }
  const poly::Poly own = coefficients_of(plaintext);
  HostCoefficients read(context, own ? own : plaintext.poly, plaintext.meta);
  const double limit = is_checked(plaintext) ? range_limit(context, plaintext.meta) : HUGE_VAL;
  std::vector<std::size_t> doubtful;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<double> found = values.subspan(row * degree, degree);
    for (std::size_t k = 0; k < degree; ++k) {
      const TwoDoubles number = read(row, k);
      found[k] = arith::exact_sum(number.value, number.rest).value;
    }
    if (largest_magnitude(found) <= limit) continue;
    doubtful.push_back(row);
    std::ranges::fill(found, std::nan(""));
  }
  return doubtful;
}

}  // namespace hemera::ckks
