// The metadata of a plaintext or ciphertext: plain data that rules work on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hemera/rlwe/scale.hpp"

namespace hemera::rlwe {

/// How numbers lie in a plaintext polynomial: one in each slot, or one in each coefficient (BFV and BGV).
enum class Encoding : std::uint8_t { slots = 0, coefficients = 1 };

/// The contents of the slots behind an object's values, which fill it up (Metadata::filled).
enum class Padding : std::uint8_t {
  /// 0 in each, as encoding fills them.
  zeros = 0,
  /// Results of operations on zeros: no values.
  unknown = 1,
  /// BFV and BGV: values that a rotation moved there.
  values = 2,
  /// The same value as all other slots: a sum of slots.
  uniform = 3
};

/// Shape of a batch, as in NumPy: {} is a single object, {B} a row of B.
using BatchShape = std::vector<std::size_t>;
/// Array libraries, NumPy among them, have few more.
inline constexpr std::size_t most_batch_axes = 32;
/// Number of objects. Every operation that makes a shape calls it. Throws ParameterError for more axes than
/// most_batch_axes.
std::size_t batch_count(const BatchShape& shape);

/// The noise bound of objects whose noise is unknown, as of other libraries: their budget is 0.
inline constexpr double unknown_noise = std::numeric_limits<double>::infinity();

/// The data of a plaintext or ciphertext other than its residues: one value each for the whole batch.
struct Metadata {
  BatchShape batch;
  std::size_t level = 0;
  /// CKKS: the factor between values and polynomial; 1 otherwise.
  Scale scale = 1;
  /// The number of factors of the scale (BGV: of a level's correction factor) in the message: 1 when fresh, 2
  /// for a product not yet rescaled, 0 after a rescale without a product. BFV and BGV count it only under
  /// policies that say so (rescaling_policy.hpp), and have 1 otherwise.
  int noise_scale_degree = 1;
  /// BGV: the decrypted residue is this factor times the value, modulo t; 1 otherwise.
  std::uint64_t correction = 1;
  /// Number of values in each object (a power of two for slots).
  std::size_t slots = 0;
  Encoding encoding = Encoding::slots;
  /// BFV, BGV: log2 of a bound on the noise's largest coefficient that holds except with probability 2^-40 a
  /// ciphertext (docs/noise.md); follows every operation, needs no secret; `unknown_noise` where nothing is
  /// known. Unused (0) for CKKS.
  double noise_log2 = 0;
  /// CKKS: declared bound on the magnitude of the values, which follows every operation; infinite where none
  /// was declared (ParametersLiteral::largest, Encoder::encode). It comes from declarations alone, never from
  /// data: metadata is public.
  double largest = std::numeric_limits<double>::infinity();
  /// The number of slots that hold values, from the first on, if others only fill the object up; 0: all. With
  /// BFV and BGV it is `slots` or, where these are all, 0.
  std::size_t filled = 0;
  /// The padding of the slots from `filled` on. Without such slots: zeros, or uniform.
  Padding padding = Padding::zeros;
  /// CKKS: whether values were declared complex (by their type, never by the data).
  bool is_complex = false;
  /// BFV, BGV: whether the guaranteed noise budget was spent, here or in an operand, and was noticed
  /// (any_scheme::notice_spent_budget): the values may be wrong. It follows from the circuit alone.
  bool spent = false;
};

/// Metadata::largest of a product.
double largest_product(double a, double b);

/// Gives `result` the filled slots, the padding, the type and the spent budget of a sum, or of a product, of
/// two operands slot by slot. Where both are filled in part, to different counts, the larger one counts.
void join_filling(Metadata& result, const Metadata& a, const Metadata& b, bool is_product);
/// Counts all slots as values from now on, padding included. In a uniform object all are values already.
void count_all(Metadata& meta);
/// Copies these fields from `from` to `to`: for operations that keep the values of all slots in their places.
void copy_filling(Metadata& to, const Metadata& from);
/// Copies all that is declared of the values from `from` to `to`: their bound, their type and which slots
/// they fill. For operations that keep the values.
void copy_declarations(Metadata& to, const Metadata& from);
/// BFV and BGV: the `filled` that follows from the other fields, where a plaintext has this many slots.
std::size_t filled_slots(const Metadata& meta, std::size_t slots);
/// The padding after an operation that does not keep 0: a function, or the sum with a number.
Padding no_longer_zeros(const Metadata& a);

/// The batch shape of an operation on two objects: equal shapes, or one of them single. Throws MismatchError
/// otherwise.
BatchShape broadcast(const BatchShape& a, const BatchShape& b, const char* operation);

/// A shape as text: "{2, 3}".
std::string to_text(const BatchShape& shape);

}  // namespace hemera::rlwe
