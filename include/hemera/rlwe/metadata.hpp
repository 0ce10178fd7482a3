// What is known of a plaintext or ciphertext beside its residues: plain data that rules work on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace hemera::rlwe {

/// How numbers lie in a plaintext polynomial: one in each slot, or one in each coefficient (BFV and BGV).
enum class Encoding : std::uint8_t { slots = 0, coefficients = 1 };

/// What the slots behind the values of an object hold, which fill it up (Metadata::filled).
enum class Padding : std::uint8_t {
  /// 0 in each, as encoding fills them.
  zeros = 0,
  /// What operations made of zeros: no values.
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
/// Number of objects. Every operation that makes a shape asks here: ParameterError for more than
/// most_batch_axes.
std::size_t batch_count(const BatchShape& shape);

/// The noise bound of objects of which none is known (those of other libraries): no budget, no promise.
inline constexpr double unknown_noise = std::numeric_limits<double>::infinity();

/// What a plaintext or ciphertext carries beside its residues: one value each for the whole batch.
struct Metadata {
  BatchShape batch;
  std::size_t level = 0;
  /// CKKS: the factor between values and polynomial; 1 otherwise.
  double scale = 1;
  /// How many factors of the scale (BGV: of the correction factor of a level) the message carries: 1 when
  /// fresh, 2 for a product not yet rescaled, 0 after a rescale without a product. BFV and BGV count it only
  /// under policies that say so (rescaling_policy.hpp), and have 1 otherwise.
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
  /// How many slots hold values, from the first on, where others only fill the object up; 0: all of them.
  /// With BFV and BGV it is `slots` or, where these are all, 0.
  std::size_t filled = 0;
  /// Of the slots from `filled` on. Where there are none: zeros, or uniform.
  Padding padding = Padding::zeros;
  /// CKKS: whether values were declared complex (by their type, never by the data).
  bool is_complex = false;
};

/// Metadata::largest of a product.
double largest_product(double a, double b);

/// Gives `result` the filled slots, the padding and the type of a sum, or of a product, of two operands slot
/// by slot. Where both are filled in part, to different counts, the larger one counts.
void join_filling(Metadata& result, const Metadata& a, const Metadata& b, bool is_product);
/// All slots hold values from now on, padding among them; of a uniform object all do already.
void count_all(Metadata& meta);
/// Gives `to` what `from` has of these: for operations that keep the values of all slots in their places.
void copy_filling(Metadata& to, const Metadata& from);
/// BFV and BGV: `filled` as it follows from the other fields, in a ring of this degree.
std::size_t filled_slots(const Metadata& meta, std::size_t degree);
/// What the padding is after an operation that does not keep 0: a function, or the sum with a number.
Padding no_longer_zeros(const Metadata& a);

/// The batch shape of an operation on two objects: equal shapes, or one of them single. MismatchError
/// otherwise.
BatchShape broadcast(const BatchShape& a, const BatchShape& b, const char* operation);

/// A shape as text: "(2, 3)".
std::string to_text(const BatchShape& shape);

}  // namespace hemera::rlwe
