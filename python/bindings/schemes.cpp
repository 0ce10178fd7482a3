// Encoding, encryption and decryption, by the scheme of the context.
#include <nanobind/ndarray.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "owned_array.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using rlwe::Ciphertext;
using rlwe::EvaluationKeys;
using rlwe::Plaintext;
using rlwe::SecretKey;

template <typename T>
using Values = nb::ndarray<const T, nb::numpy, nb::c_contig, nb::device::cpu>;
template <typename T>
using Room = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu>;

/// An array that owns the values.
template <typename T>
OwnedArray<T> to_array(std::vector<T> values, const rlwe::Metadata& meta) {
  std::vector<std::size_t> shape = meta.batch;
  shape.push_back(meta.slots);
  return to_owned_array(std::move(values), shape);
}

/// The shape without its last axis, which holds the values of one object.
template <typename T>
rlwe::BatchShape batch_of(const Values<T>& values) {
  if (values.ndim() == 0)
    throw MismatchError("encode: a number has no axis of values; give an array of at least one");
  rlwe::BatchShape batch;
  for (std::size_t axis = 0; axis + 1 < values.ndim(); ++axis) batch.push_back(values.shape(axis));
  return batch;
}

template <typename T>
std::span<const T> span_of(const Values<T>& values) {
  return {values.data(), values.size()};
}

/// The array as rows of doubles; T is a real or complex double.
template <typename T, typename... Traits>
auto rows_of(const nb::ndarray<T, Traits...>& values) {
  using Number = std::remove_const_t<T>;
  using Double = std::conditional_t<std::is_const_v<T>, const double, double>;
  constexpr std::size_t doubles = sizeof(Number) / sizeof(double);
  return ckks::HostRows<Double>{{reinterpret_cast<Double*>(values.data()), values.size() * doubles},
                                doubles == 2,
                                values.shape(values.ndim() - 1)};
}

template <typename T>
Plaintext encode_numbers(const ckks::Encoder& encoder, const Values<T>& values, std::size_t slots,
                         std::optional<std::size_t> level, std::optional<double> scale,
                         std::optional<double> largest) {
  const rlwe::BatchShape batch = batch_of(values);
  return encoder.encode(rows_of(values), slots, batch, level, scale, largest);
}

template <typename T>
void decode_numbers(const ckks::Encoder& encoder, const Plaintext& plaintext, const Room<T>& out) {
  encoder.decode(rows_of(out), plaintext);
}

/// The elements of the batch that are in doubt.
template <typename T>
std::vector<std::size_t> decode_certain_numbers(const ckks::Encoder& encoder, const Plaintext& plaintext,
                                                const Room<T>& out) {
  return encoder.decode_certain(rows_of(out), plaintext);
}

/// Numbers that are the sums of doubles and their rests.
template <typename T>
Plaintext encode_pairs(const ckks::Encoder& encoder, const Values<T>& values, const Values<T>& rests,
                       std::size_t slots, std::optional<std::size_t> level, std::optional<double> scale,
                       double scale_rest, std::optional<double> largest) {
  std::optional<rlwe::Scale> exact;
  if (scale) exact = rlwe::Scale(arith::TwoDoubles{*scale, scale_rest});
  return encoder.encode(rows_of(values), rows_of(rests).doubles, slots, batch_of(values), level, exact,
                        largest);
}

template <typename T>
void decode_pairs(const ckks::Encoder& encoder, const Plaintext& plaintext, const Room<T>& values,
                  const Room<T>& rests) {
  encoder.decode(rows_of(values), rows_of(rests).doubles, plaintext);
}

/// The elements of the batch that are in doubt.
template <typename T>
std::vector<std::size_t> decode_certain_pairs(const ckks::Encoder& encoder, const Plaintext& plaintext,
                                              const Room<T>& values, const Room<T>& rests) {
  return encoder.decode_certain(rows_of(values), rows_of(rests).doubles, plaintext);
}

/// Real and complex numbers: an array of another type is refused, not converted.
template <typename T>
void bind_numbers(nb::class_<ckks::Encoder>& encoder) {
  encoder
      .def("encode", &encode_numbers<T>, "values"_a.noconvert(), "slots"_a, "level"_a.none(),
           "scale"_a.none(), "largest"_a.none(), ReleaseGil())
      .def("decode", &decode_numbers<T>, "plaintext"_a, "out"_a.noconvert(), ReleaseGil())
      .def("decode_certain", &decode_certain_numbers<T>, "plaintext"_a, "out"_a.noconvert(), ReleaseGil())
      .def("encode_pairs", &encode_pairs<T>, "values"_a.noconvert(), "rests"_a.noconvert(), "slots"_a,
           "level"_a.none(), "scale"_a.none(), "scale_rest"_a, "largest"_a.none(), ReleaseGil())
      .def("decode_pairs", &decode_pairs<T>, "plaintext"_a, "values"_a.noconvert(), "rests"_a.noconvert(),
           ReleaseGil())
      .def("decode_certain_pairs", &decode_certain_pairs<T>, "plaintext"_a, "values"_a.noconvert(),
           "rests"_a.noconvert(), ReleaseGil());
}

Plaintext encode_coefficients(const ckks::Encoder& encoder, const Values<std::int64_t>& values,
                              std::size_t level, double scale) {
  const std::span<const std::int64_t> all = span_of(values);
  const rlwe::BatchShape batch = batch_of(values);
  const std::size_t rows = rlwe::batch_count(batch);
  return encoder.encode_coefficients(all, rows == 0 ? 0 : all.size() / rows, batch, level, scale);
}

void decode_coefficients(const ckks::Encoder& encoder, const Plaintext& plaintext, const Room<double>& out) {
  encoder.decode_coefficients(rows_of(out).doubles, plaintext);
}

/// The elements of the batch that are in doubt.
std::vector<std::size_t> decode_certain_coefficients(const ckks::Encoder& encoder, const Plaintext& plaintext,
                                                     const Room<double>& out) {
  return encoder.decode_certain_coefficients(rows_of(out).doubles, plaintext);
}

Plaintext encode_integers(const integer::Encoder& encoder, const Values<std::int64_t>& values, bool slots,
                          std::optional<std::size_t> level, integer::Use use) {
  return encoder.encode(span_of(values), batch_of(values),
                        slots ? rlwe::Encoding::slots : rlwe::Encoding::coefficients, level, use);
}

OwnedArray<std::int64_t> decode_integers(const integer::Encoder& encoder, const Plaintext& plaintext,
                                         bool is_signed) {
  std::vector<std::int64_t> values;
  {
    const ReleasedGil release;
    values = encoder.decode(plaintext, is_signed);
  }
  return to_array(std::move(values), plaintext.meta);
}

std::pair<OwnedArray<std::int64_t>, std::vector<std::size_t>> decode_certain_integers(
    const integer::Encoder& encoder, const Plaintext& plaintext, bool is_signed) {
  integer::Encoder::Decoded decoded;
  {
    const ReleasedGil release;
    decoded = encoder.decode_certain(plaintext, is_signed);
  }
  return {to_array(std::move(decoded.values), plaintext.meta), std::move(decoded.doubtful)};
}

}  // namespace

void bind_schemes(nb::module_& m) {
  nb::class_<ckks::Encoder> complex_encoder(m, "ComplexEncoder");
  complex_encoder.def(
      "__init__",
      [](ckks::Encoder* self, const ContextHandle& context) { new (self) ckks::Encoder(context.context); },
      "context"_a, ReleaseGil());
  bind_numbers<double>(complex_encoder);
  bind_numbers<std::complex<double>>(complex_encoder);
  complex_encoder
      .def("encode_coefficients", &encode_coefficients, "values"_a.noconvert(), "level"_a, "scale"_a,
           ReleaseGil())
      .def("decode_coefficients", &decode_coefficients, "plaintext"_a, "out"_a.noconvert(), ReleaseGil())
      .def("decode_certain_coefficients", &decode_certain_coefficients, "plaintext"_a, "out"_a.noconvert(),
           ReleaseGil());
  nb::enum_<integer::Use>(m, "Use")
      .value("products", integer::Use::products)
      .value("sums", integer::Use::sums)
      .value("both", integer::Use::both);
  nb::class_<integer::Encoder>(m, "IntegerEncoder")
      .def(
          "__init__",
          [](integer::Encoder* self, const ContextHandle& context) {
            new (self) integer::Encoder(context.context);
          },
          "context"_a, ReleaseGil())
      .def("encode", &encode_integers, "values"_a, "slots"_a, "level"_a.none(), "use"_a = integer::Use::both,
           ReleaseGil())
      .def("decode", &decode_integers, "plaintext"_a, "signed"_a)
      .def("decode_certain", &decode_certain_integers, "plaintext"_a, "signed"_a);

  m.def("encrypt_with_keys", nb::overload_cast<const Plaintext&, const EvaluationKeys&>(&any_scheme::encrypt),
        "plaintext"_a, "keys"_a, ReleaseGil());
  m.def("encrypt_with_secret", nb::overload_cast<const Plaintext&, const SecretKey&>(&any_scheme::encrypt),
        "plaintext"_a, "secret"_a, ReleaseGil());
  m.def("decrypt", &any_scheme::decrypt, "ciphertext"_a, "secret"_a, ReleaseGil());
  m.def("decrypt_for_sharing", &any_scheme::decrypt_for_sharing, "ciphertext"_a, "secret"_a,
        "noise_bound"_a.none(), "statistical_bits"_a, "shares"_a, ReleaseGil());
  m.def(
      "noise_bound",
      [](const ContextHandle& context, std::size_t depth, double largest, std::size_t terms) {
        return ckks::noise_bound(*context.context, depth, largest, terms);
      },
      "context"_a, "depth"_a, "largest"_a, "terms"_a, ReleaseGil());
  m.def(
      "coefficient_noise_log2",
      [](const ContextHandle& context, double noise_bound, double scale) {
        return ckks::coefficient_noise_log2(*context.context, noise_bound, scale);
      },
      "context"_a, "noise_bound"_a, "scale"_a);
  m.def("guaranteed_noise_budget", &any_scheme::guaranteed_noise_budget, "ciphertext"_a);
  m.def("notice_spent_budget", &any_scheme::notice_spent_budget, "ciphertext"_a);
  m.def("noise_budget", &any_scheme::noise_budget, "ciphertext"_a, "secret"_a, ReleaseGil());
}

}  // namespace hemera::python
