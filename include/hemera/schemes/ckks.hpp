// CKKS: approximate arithmetic on complex and real slots.
// J. Cheon, A. Kim, M. Kim, Y. Song, "Homomorphic encryption for arithmetic of approximate numbers",
// 2016/421; RNS form: J. Cheon, K. Han, A. Kim, M. Kim, Y. Song, "A full RNS variant", 2018/931.
#pragma once

#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::ckks {

/// Bits that for_circuit and shrink leave above the bits of values: values up to 2^(r - 1) in a modulus of
/// scale times 2^(r + spare_bits) have coefficients of at most an eighth of it, and wrap at a half.
inline constexpr int spare_bits = 2;
/// The range that circuits have unless they say otherwise.
inline constexpr int default_range_bits = 20;
/// Smaller given ranges are small on purpose: they get no spare bits.
inline constexpr int least_spared_range_bits = 12;

/// The user's requirements of a circuit.
struct CircuitRequest {
  /// Multiplications one after the other.
  std::size_t depth = 1;
  /// Bits of the scale, from 20 to 120. Above 60 bits a level drops several primes.
  int scale_bits = 40;
  /// Slots needed, at most N/2 of the result.
  std::size_t slots = 1;
  /// Bits of integer range: results may be as large as 2^(range_bits - 1). The last base holds these bits
  /// above the scale, and spare_bits more unless range_bits is given and below least_spared_range_bits.
  /// Empty: those of `largest`, or default_range_bits.
  std::optional<int> range_bits = std::nullopt;
  /// In place of range_bits: the largest magnitude that values may have, which becomes
  /// ParametersLiteral::largest; range_bits is then max(1, ceil(log2(largest)) + 1). 0: none is declared.
  double largest = 0;
  /// For results that others will see, the statistical_bits and shares of decrypt_for_sharing: the scale
  /// grows by ceil(sharing_bits / 2 + log2(12 shares N) / 2) bits, so that the noise it adds to a slot is
  /// about the error of slots at scale_bits. 0: no result is shown.
  int sharing_bits = 0;
  std::size_t shares = 1;
  /// Where a group opens results (multiparty/opening.hpp): the pieces of its secret, each of which floods for
  /// itself. The secret has as many terms, and the scale grows by 1 + ceil(log2(pieces) / 2) bits more.
  std::size_t pieces = 1;
  /// Digits of key-switching; 0: chosen.
  std::size_t digits = 0;
  /// Least degree; 0: the smallest that is secure and has the slots.
  std::size_t degree = 0;
  std::optional<int> security = 128;
};

/// Parameters for a circuit: primes below 2^50 where scale and range allow it. Throws ParameterError, which
/// names the requirement that does not fit.
rlwe::Parameters parameters_for(const CircuitRequest& request);

/// Parameters from sizes: `prime_bits` of each ciphertext prime, last level's first (one prime a level, after
/// as many as the last base needs for scale and range), `special_bits` of each special prime.
struct ChainRequest {
  std::size_t degree = 0;
  std::vector<int> prime_bits;
  std::vector<int> special_bits;
  double scale = 0;
  /// Primes of the last base.
  std::size_t last_base = 1;
  /// Digits of key-switching, exactly; 0: as many primes a digit as fit under the special primes.
  std::size_t digits = 0;
  std::optional<int> security = 128;
  int range_bits = 10;
  /// Whether every level has `scale`, whatever its prime: for circuits whose factors, such as weights that
  /// are not rescaled (circuits::PlainMatrixOptions), fill the primes. A product of two operands at a level's
  /// own scale leaves it.
  bool equal_scales = false;
};
/// Where scales that follow from the top would leave it by more than two bits (primes of other sizes than the
/// scale's), the scale is that of the last level, and S_l = sqrt(S_(l-1) q_l) above. Throws ParameterError
/// for primes that are not there, and for more digits than primes.
rlwe::Parameters parameters_from_bits(const ChainRequest& request);

/// Parameters from the bits that each level drops, for scales and circuits that no prime's size fits
/// (rlwe/chain_builder.hpp).
struct DropRequest {
  std::size_t degree = 0;
  /// Bits of the last base, and those that each level above it has more, lowest first.
  double last_bits = 0;
  std::vector<double> drops;
  /// The purpose of each level, last one first; empty: all are the user's.
  std::vector<rlwe::LevelPurpose> purposes = {};
  /// The scale of the user's lowest level; above, S_l = sqrt(S_(l-1) r_l), r_l the quotient of the moduli: a
  /// level that drops about the scale's bits keeps it.
  double scale = 0;
  int range_bits = default_range_bits;
  /// Digits of the default gadget over the user's primes; 0: chosen.
  std::size_t digits = 0;
  std::optional<int> security = 128;
};
rlwe::Parameters parameters_from_drops(const DropRequest& request);

/// Whether decoding a decryption checks that values did not wrap (Encoder::decode): for the Galois generator
/// 5, where range_bits is not 0 (unknown) and the last base has spare_bits above scale and range_bits. So it
/// is for parameters_for, unless range_bits is small, and not for parameters of other libraries.
bool checks_range(const rlwe::Parameters& parameters);

/// How much of a plaintext is stored: values of n < N/2 slots repeat, so each limb is one period of
/// period_entries(n) values, repeated.
enum class Stored : std::uint8_t { whole, one_period };
/// Entries of a limb that is stored by one period: 2 slots, and at least poly::min_entries.
std::size_t period_entries(std::size_t slots);

/// Real or complex numbers in the host's memory, [batch, count], row-major; a complex number is two doubles.
template <typename Double>
struct HostRows {
  std::span<Double> doubles;
  bool is_complex = false;
  std::size_t count = 0;  ///< numbers of a row
};

/// Slots to plaintexts and back.
class Encoder {
 public:
  explicit Encoder(rlwe::ContextPointer context);

  /// values: [batch, slots], row-major; slots a power of two <= N/2. At `level` (default: the user's highest)
  /// with `scale` (default: that of a fresh encryption there). `largest` is the declared bound of the values
  /// (default: the parameters', if they have one). Throws ParameterError for values that are not finite, too
  /// large for the base or above the bound; with the default level and scale, as for messages, also for
  /// values too large for the lowest level.
  [[nodiscard]] rlwe::Plaintext encode(std::span<const std::complex<double>> values,
                                       const rlwe::BatchShape& batch = {},
                                       std::optional<std::size_t> level = {},
                                       std::optional<double> scale = {},
                                       std::optional<double> largest = {}) const;
  /// The same of real numbers: [batch, count], row-major, count = values.size() / batch_count(batch); zeros
  /// fill each row up to a power of two of slots.
  [[nodiscard]] rlwe::Plaintext encode(std::span<const double> values, const rlwe::BatchShape& batch = {},
                                       std::optional<std::size_t> level = {},
                                       std::optional<double> scale = {},
                                       std::optional<double> largest = {}) const;
  /// The same of rows of real or complex numbers, without a complex copy on the host: zeros are appended to
  /// each of them up to `slots`. A GPU gets the numbers as they are.
  [[nodiscard]] rlwe::Plaintext encode(const HostRows<const double>& values, std::size_t slots,
                                       const rlwe::BatchShape& batch, std::optional<std::size_t> level = {},
                                       std::optional<double> scale = {},
                                       std::optional<double> largest = {}) const;
  /// The same of numbers that are the sums of a double and its rest, `rests`, laid out as the values:
  /// embedded on the host in pairs of doubles, for scales beyond 2^53. Takes some ten milliseconds for each
  /// 10,000 slots. Throws ParameterError too for rests that are larger than rounding, and for parameters of
  /// other libraries whose slots are in another order.
  [[nodiscard]] rlwe::Plaintext encode(const HostRows<const double>& values, std::span<const double> rests,
                                       std::size_t slots, const rlwe::BatchShape& batch,
                                       std::optional<std::size_t> level = {},
                                       std::optional<rlwe::Scale> scale = {},
                                       std::optional<double> largest = {}) const;
  /// The polynomial with these coefficients, integers: [batch, count], row-major, count from 1 to N; the
  /// others are 0. It is a plaintext of N/2 slots, those of the polynomial over `scale`. Throws
  /// ParameterError for another count, and for integers from q/2 on, q the level's modulus.
  [[nodiscard]] rlwe::Plaintext encode_coefficients(std::span<const std::int64_t> values, std::size_t count,
                                                    const rlwe::BatchShape& batch, std::size_t level,
                                                    double scale) const;
  /// Slots over another base of the context's ring than the level's, such as Q u P: a factor of extended
  /// ciphertexts (rlwe/hoisting.hpp). Stored as one period it takes less memory, and products read less; the
  /// values are the same. Throws MismatchError for a base of another context.
  [[nodiscard]] rlwe::Plaintext encode_over(const poly::RnsBase& base,
                                            std::span<const std::complex<double>> values,
                                            const rlwe::BatchShape& batch, std::size_t level, double scale,
                                            Stored stored = Stored::whole,
                                            std::optional<double> largest = {}) const;
  /// The same of one row of values, embedded on the host in pairs of doubles: for scales beyond 2^53, at
  /// which doubles round more than the integers do. Takes milliseconds for each. For the Galois generator 5;
  /// others' plaintexts are those of encode_over.
  [[nodiscard]] rlwe::Plaintext encode_precisely_over(const poly::RnsBase& base,
                                                      std::span<const std::complex<double>> values,
                                                      std::size_t level, double scale,
                                                      Stored stored = Stored::whole) const;
  /// The same of `count` rows of values, each as a plaintext of its own. They are encoded as one batch, by
  /// all threads or in one pass of a device.
  [[nodiscard]] std::vector<rlwe::Plaintext> encode_each_over(const poly::RnsBase& base,
                                                              std::span<const std::complex<double>> values,
                                                              std::size_t count, std::size_t level,
                                                              double scale, Stored stored = Stored::whole,
                                                              std::optional<double> largest = {}) const;
  /// One number in every slot, over the level's base and stored by one period: a factor. It may exceed the
  /// parameters' declared bound. Throws ParameterError as for `encode`.
  [[nodiscard]] rlwe::Plaintext encode_number(std::complex<double> value, std::size_t level,
                                              double scale) const;
  /// The same for values in the context's memory, in the order of its queue: no copy, and no wait. Values are
  /// not checked, which would have to wait for the device: if one is not finite, or too large for the base,
  /// its element of the batch is unspecified. The parameters' bound is declared, and not enforced.
  [[nodiscard]] rlwe::Plaintext encode(const poly::SlotView& values, const rlwe::BatchShape& batch,
                                       std::optional<std::size_t> level = {},
                                       std::optional<double> scale = {}) const;
  /// [batch, slots]. For a decryption, if checks_range(): throws NoiseError, which names the elements of the
  /// batch, if a coefficient exceeds a quarter of the modulus of its level. That happens to values that
  /// wrapped, or nearly, and to decryptions by another secret key. It is a net, not a guarantee: a value that
  /// wraps to a small coefficient is not noticed. If range_bits is too small for checks_range(), the limit is
  /// 15/32 of the modulus, and only decryptions by another key are noticed.
  [[nodiscard]] std::vector<std::complex<double>> decode(const rlwe::Plaintext& plaintext) const;
  /// The same of the real parts.
  [[nodiscard]] std::vector<double> decode_real(const rlwe::Plaintext& plaintext) const;
  struct Decoded {
    std::vector<std::complex<double>> values;  ///< [batch, slots]; NaN in doubtful elements
    std::vector<std::size_t> doubtful;         ///< elements of the batch that `decode` refuses; ascending
  };
  /// The same without the error: a wrong element does not affect the others.
  [[nodiscard]] Decoded decode_certain(const rlwe::Plaintext& plaintext) const;
  /// The same to an array of the host: the first values.count slots of each element, of real numbers the real
  /// parts. If it throws NoiseError, doubtful elements are NaN. Throws MismatchError unless the array has a
  /// row for each element, of 1 to meta.slots numbers.
  void decode(const HostRows<double>& values, const rlwe::Plaintext& plaintext) const;
  /// The same without the error: returns the elements of the batch that are in doubt, ascending.
  [[nodiscard]] std::vector<std::size_t> decode_certain(const HostRows<double>& values,
                                                        const rlwe::Plaintext& plaintext) const;
  /// The same of numbers that are the sums of a double and its rest, to `rests`, laid out as the values: read
  /// on the host in pairs of doubles. Throws ParameterError for parameters of other libraries whose slots are
  /// in another order.
  void decode(const HostRows<double>& values, std::span<double> rests,
              const rlwe::Plaintext& plaintext) const;
  [[nodiscard]] std::vector<std::size_t> decode_certain(const HostRows<double>& values,
                                                        std::span<double> rests,
                                                        const rlwe::Plaintext& plaintext) const;
  /// The inverse of encode_coefficients, on the host: all N coefficients over the scale, [batch, N], to the
  /// nearest doubles. Checks as `decode` does. Throws MismatchError unless there is room for as many.
  void decode_coefficients(std::span<double> values, const rlwe::Plaintext& plaintext) const;
  /// The same without the error: returns the elements of the batch that are in doubt, ascending.
  [[nodiscard]] std::vector<std::size_t> decode_certain_coefficients(std::span<double> values,
                                                                     const rlwe::Plaintext& plaintext) const;
  /// Slots to the context's memory, in the order of its queue: no copy, no wait, and no check, whose
  /// result the host would have to read. Throws MismatchError unless there is room for [batch, slots] values.
  void decode_to(const poly::SlotView& values, const rlwe::Plaintext& plaintext) const;

 private:
  [[nodiscard]] rlwe::Metadata metadata(std::size_t values, const rlwe::BatchShape& batch,
                                        std::optional<std::size_t> level,
                                        std::optional<rlwe::Scale> scale) const;
  [[nodiscard]] rlwe::Plaintext encode(const HostRows<const double>& values, rlwe::Metadata meta,
                                       const poly::RnsBase& base, bool is_message = false,
                                       Stored stored = Stored::whole) const;
  [[nodiscard]] rlwe::Plaintext embed(const poly::SlotView& values, rlwe::Metadata meta,
                                      const poly::RnsBase& base, Stored stored = Stored::whole) const;
  /// The plaintext of residues of coefficients, [batch][limb][degree].
  [[nodiscard]] rlwe::Plaintext from_coefficients(std::span<const std::uint64_t> words, rlwe::Metadata meta,
                                                  const poly::RnsBase& base) const;
  /// Keeps one period of a whole plaintext, where that is less.
  void store_one_period(rlwe::Plaintext& plaintext) const;
  /// The coefficients of a plaintext in evaluation form; empty for one that has them.
  [[nodiscard]] poly::Poly coefficients_of(const rlwe::Plaintext& plaintext) const;
  /// decode_certain; `largest` has room for a number of each element, directly behind the values or
  /// elsewhere. Empty if the plaintext is not checked.
  [[nodiscard]] std::vector<std::size_t> decode_numbers(const HostRows<double>& values,
                                                        std::span<double> largest,
                                                        const rlwe::Plaintext& plaintext) const;
  /// Whether decoding checks the plaintext's coefficients.
  [[nodiscard]] bool is_checked(const rlwe::Plaintext& plaintext) const;
  /// Throws NoiseError if there are doubtful elements.
  void refuse(std::span<const std::size_t> doubtful, const rlwe::Metadata& meta) const;
  /// As many slots of the coefficients as there is room for, with the largest of those that they depend on,
  /// over the scale, of each element of the batch, if not null.
  void unembed(const poly::SlotView& values, double* largest, const poly::ConstPolyView& coefficients,
               const rlwe::Plaintext& plaintext) const;

  rlwe::ContextPointer context_;
};

/// Encryption of an encoded plaintext at its level.
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key);
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::SecretKey& key);
/// With the public key among the keys; throws MissingKeyError if there is none, as among those of a plan.
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::EvaluationKeys& keys);
/// The message with its noise. It reads nothing back; Encoder::decode checks the range.
rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);
/// Decryption that may be shown to others (docs/ckks.md, "Showing decrypted values to others"): adds a
/// discrete Gaussian to every coefficient, of deviation sqrt(12 shares) 2^(statistical_bits / 2) times the
/// norm of the error (B. Li, D. Micciancio, M. Schultz, J. Sorrell, 2022/816, corollary 2). `noise_bound`
/// bounds the root mean square of the slots' errors (so a bound on each slot will do), for the circuit and
/// not for the data: noise_bound() below. `shares` counts the results that will ever be shown, this one
/// included. The same ciphertext, key, bound, bits and shares give the same values; each element of a batch
/// for itself. Throws NoiseError when less than one bit of precision (for values of magnitude 1) would be
/// left, MismatchError for a key of another context, ParameterError for arguments out of range
/// (statistical_bits from 1 to 64).
rlwe::Plaintext decrypt_for_sharing(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key,
                                    double noise_bound, int statistical_bits, std::size_t shares = 1);
/// The standard deviation of the noise that decrypt_for_sharing adds to a slot. Needs no key.
double sharing_deviation(const rlwe::Ciphertext& ciphertext, double noise_bound, int statistical_bits,
                         std::size_t shares = 1);
/// A worst-case bound on the root mean square of the slots' errors by noise, for a circuit in automatic mode.
/// It holds for all data, except with probability 2^-40 an operation. docs/ckks.md has the formula.
/// - `depth`: steps, each a sum of products of earlier results, relinearized at once, any of them rotated
///   once. At depth 0: a sum of encryptions.
/// - `terms`: products in a sum, at most.
/// - `largest`: bound on the magnitude of all values, also intermediate ones; 0: the parameters' own.
/// - Not included: the rounding of doubles, about 2^-47 of the values.
///
/// Throws ParameterError without a bound on values, LevelError for a depth that the parameters do not have,
/// MismatchError for another scheme.
double noise_bound(const rlwe::Context& context, std::size_t depth, double largest = 0,
                   std::size_t terms = 1);
/// log2 of a bound on the root mean square of the error's coefficients, from one on that of the slots' errors
/// (`noise_bound`) of a ciphertext at a scale: with the rounding of the exact result to integers.
double coefficient_noise_log2(const rlwe::Context& context, double noise_bound, double scale);

class Evaluator final : public rlwe::Evaluator {
 public:
  /// Throws MismatchError for a context of another scheme.
  Evaluator(rlwe::ContextPointer context, rlwe::EvaluationKeys keys,
            rlwe::Relinearization relinearization = rlwe::Relinearization::eager);

  /// Brings a ciphertext back to a higher level: a bootstrap.
  struct Refresh {
    /// Takes values up to `at_lowest` at the user's lowest level, and up to their bound (Metadata::largest,
    /// or `undeclared`) above it.
    std::function<rlwe::Ciphertext(const Evaluator&, const rlwe::Ciphertext&)> run;
    /// The level of its results.
    std::size_t level = 0;
    /// The magnitude that values of no declared bound are taken to have.
    double undeclared = 1;
    /// The largest magnitude that needs no level above the user's lowest.
    double at_lowest = 1;
  };
  /// The same, but each operand of a product that would be at the user's lowest level, where products end, is
  /// refreshed first.
  Evaluator(rlwe::ContextPointer context, rlwe::EvaluationKeys keys, rlwe::Relinearization relinearization,
            Refresh refresh);
  /// What a circuit that takes `levels` of the user's levels should begin with (1: a product by a plaintext
  /// or a number, so that both are at one level): refreshed if fewer are left; empty if not, without a
  /// refresh, and for a ciphertext that waits at the lowest level or is below it. Values of a declared bound
  /// are refreshed where one more would be left, by which larger values are divided, unless `result` (a bound
  /// on the circuit's results) is at most Refresh::at_lowest. Values of no declared bound are taken to be at
  /// most `magnitude`, or Refresh::undeclared if that is larger.
  [[nodiscard]] std::optional<rlwe::Ciphertext> refreshed(
      const rlwe::Ciphertext& a, std::size_t levels = 1, double magnitude = 1,
      double result = std::numeric_limits<double>::infinity()) const;

  /// The number of ciphertexts that were bootstrapped by this evaluator; each element of a batch counts.
  [[nodiscard]] std::uint64_t bootstraps() const { return bootstraps_.load(std::memory_order_relaxed); }
  /// Bootstrapped ciphertexts that were taken to have values from -1 to 1, as nothing said how large.
  [[nodiscard]] std::uint64_t undeclared_bootstraps() const {
    return undeclared_bootstraps_.load(std::memory_order_relaxed);
  }
  /// Counts a bootstrap of `a`: for circuits that bootstrap.
  void count_bootstrap(const rlwe::Ciphertext& a, bool is_undeclared) const;

  void add_plain_inplace(rlwe::Ciphertext& a, const rlwe::Plaintext& b) const override;
  void subtract_plain_inplace(rlwe::Ciphertext& a, const rlwe::Plaintext& b) const override;
  void add_scalar_inplace(rlwe::Ciphertext& a, const rlwe::Scalar& b) const override;
  /// For products and sums with a number: throws ParameterError if it is not finite, or so large that its sum
  /// or product with values of magnitude 1 (or of the operand's declared bound, if that is smaller) does not
  /// fit the modulus. A product by integer parts a + bi takes no scale where X^(N/2) is i in every slot; the
  /// first one at a level encodes i, which no captured graph can have.
  void multiply_scalar_inplace(rlwe::Ciphertext& a, const rlwe::Scalar& b) const override;
  [[nodiscard]] rlwe::Ciphertext rescale(const rlwe::Ciphertext& a) const override;
  /// The same of a product of size 3, which is relinearized by the same division.
  [[nodiscard]] rlwe::Ciphertext relinearize_rescale(const rlwe::Ciphertext& a) const;
  /// The product by a number whose scale is chosen so that one rescale leaves `target_scale`: the operand is
  /// multiplied as it is. Throws LevelError at level 0; ScaleError if the number's scale would be below 1.
  void multiply_scalar_inplace(rlwe::Ciphertext& a, const rlwe::Scalar& b, double target_scale) const;
  /// Brings a ciphertext of noise-scale degree 1 to a lower level with exactly this scale (empty: the
  /// level's): drops limbs, multiplies by an integer constant and rescales once.
  void adjust_to_level_inplace(rlwe::Ciphertext& a, std::size_t level,
                               std::optional<rlwe::Scale> scale = {}) const;

 protected:
  void multiply_by_factor(rlwe::Ciphertext& a, const rlwe::ScaleStep& step) const override;
  [[nodiscard]] rlwe::Factors factors(const rlwe::Ciphertext& a, const rlwe::Ciphertext& b,
                                      rlwe::OperandCopies& copies) const override;
  [[nodiscard]] rlwe::Factors factors(const rlwe::Ciphertext& a, const rlwe::Plaintext& b,
                                      rlwe::OperandCopies& copies) const override;
  [[nodiscard]] std::size_t smallest_safe_level(const rlwe::Ciphertext& a) const override;

 private:
  void combine_plain(rlwe::Ciphertext& a, const rlwe::Plaintext& b, bool subtract,
                     const char* operation) const;
  void require_product(const rlwe::Metadata& meta, const rlwe::Scalar& b, double scale) const;
  void multiply_by_number(rlwe::Ciphertext& a, const rlwe::Scalar& b, double scale) const;
  void multiply_exactly(rlwe::Ciphertext& a, const rlwe::Scalar& b) const;
  const rlwe::Plaintext& imaginary_unit(std::size_t level) const;

  Refresh refresh_;
  mutable std::mutex making_imaginary_unit_;
  mutable std::map<std::size_t, rlwe::Plaintext> imaginary_units_;  // [level]: i in every slot, of scale 1
  mutable std::atomic<std::uint64_t> bootstraps_{0}, undeclared_bootstraps_{0};
};

}  // namespace hemera::ckks
