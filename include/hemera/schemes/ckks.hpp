// CKKS: approximate arithmetic on complex and real slots.
// J. Cheon, A. Kim, M. Kim, Y. Song, "Homomorphic encryption for arithmetic of approximate numbers",
// 2016/421; RNS form: J. Cheon, K. Han, A. Kim, M. Kim, Y. Song, "A full RNS variant", 2018/931.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::ckks {

/// What the user wants of a circuit.
struct CircuitRequest {
  /// Multiplications one after the other.
  std::size_t depth = 1;
  int scale_bits = 40;
  /// Slots needed, at most N/2 of the result.
  std::size_t slots = 1;
  /// Bits of integer range above the scale in the last base.
  int range_bits = 10;
  /// Digits of key-switching; 0: chosen.
  std::size_t digits = 0;
  /// Least degree; 0: the smallest that is secure and has the slots.
  std::size_t degree = 0;
  std::optional<int> security = 128;
};

/// Parameters for a circuit: primes below 2^50 where scale and range allow it. Throws ParameterError that
/// says what does not fit.
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
  std::size_t digits = 0;
  std::optional<int> security = 128;
};
rlwe::Parameters parameters_from_bits(const ChainRequest& request);

/// Slots to plaintexts and back.
class Encoder {
 public:
  explicit Encoder(std::shared_ptr<const rlwe::Context> context);

  /// values: [batch, slots], row-major; slots a power of two <= N/2. At `level` (default: the user's highest)
  /// with `scale` (default: that of a fresh encryption there). ParameterError for non-finite values or ones
  /// too large for the base.
  [[nodiscard]] rlwe::Plaintext encode(std::span<const std::complex<double>> values,
                                       const rlwe::BatchShape& batch, std::optional<std::size_t> level = {},
                                       std::optional<double> scale = {}) const;
  /// The same over another base of the context's ring than the level's, such as Q u P: a factor of extended
  /// ciphertexts (rlwe/hoisting.hpp). MismatchError for a base of another context.
  [[nodiscard]] rlwe::Plaintext encode_over(const poly::RnsBase& base,
                                            std::span<const std::complex<double>> values,
                                            const rlwe::BatchShape& batch, std::size_t level,
                                            double scale) const;
  /// The same for values in the context's memory, in the order of its queue: no copy, and no wait. A check of
  /// the values would have to wait for the device: where one is not finite, or too large for the base, its
  /// element of the batch is unspecified.
  [[nodiscard]] rlwe::Plaintext encode(const poly::SlotView& values, const rlwe::BatchShape& batch,
                                       std::optional<std::size_t> level = {},
                                       std::optional<double> scale = {}) const;
  /// [batch, slots].
  [[nodiscard]] std::vector<std::complex<double>> decode(const rlwe::Plaintext& plaintext) const;
  /// The same to the context's memory, in the order of its queue: no copy, and no wait. MismatchError unless
  /// there is room for [batch, slots] values.
  void decode_to(const poly::SlotView& values, const rlwe::Plaintext& plaintext) const;

 private:
  [[nodiscard]] rlwe::Metadata metadata(std::size_t values, const rlwe::BatchShape& batch,
                                        std::optional<std::size_t> level, std::optional<double> scale) const;
  [[nodiscard]] rlwe::Plaintext encode(std::span<const std::complex<double>> values, rlwe::Metadata meta,
                                       const poly::RnsBase& base) const;
  [[nodiscard]] rlwe::Plaintext embed(const poly::SlotView& values, rlwe::Metadata meta,
                                      const poly::RnsBase& base) const;

  std::shared_ptr<const rlwe::Context> context_;
};

/// Encryption of an encoded plaintext at its level.
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::PublicKey& key);
rlwe::Ciphertext encrypt(const rlwe::Plaintext& plaintext, const rlwe::SecretKey& key);
rlwe::Plaintext decrypt(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key);
/// Decryption that may be shown to others: adds uniform noise of at least 2^statistical_bits times N times
/// noise_bound, a worst-case bound of the circuit on the error of a slot value (Li and Micciancio,
/// 2020/1533). NoiseError when fewer than one bit of precision (for values of magnitude 1) would be left.
/// statistical_bits >= 1.
rlwe::Plaintext decrypt_for_sharing(const rlwe::Ciphertext& ciphertext, const rlwe::SecretKey& key,
                                    double noise_bound, int statistical_bits);

class Evaluator final : public rlwe::Evaluator {
 public:
  using rlwe::Evaluator::Evaluator;

  void add_plain_inplace(rlwe::Ciphertext& a, const rlwe::Plaintext& b) const override;
  void subtract_plain_inplace(rlwe::Ciphertext& a, const rlwe::Plaintext& b) const override;
  void add_scalar_inplace(rlwe::Ciphertext& a, const rlwe::Scalar& b) const override;
  void multiply_scalar_inplace(rlwe::Ciphertext& a, const rlwe::Scalar& b) const override;
  [[nodiscard]] rlwe::Ciphertext rescale(const rlwe::Ciphertext& a) const override;
  /// The product by a number whose scale is chosen so that one rescale leaves `target_scale`: the operand is
  /// multiplied as it is. LevelError at level 0; ScaleError if the number's scale would be below 1.
  void multiply_scalar_inplace(rlwe::Ciphertext& a, const rlwe::Scalar& b, double target_scale) const;
  /// Brings a ciphertext of noise-scale degree 1 to a lower level with exactly this scale (empty: the
  /// level's): drops limbs, multiplies by an integer constant and rescales once.
  void adjust_to_level_inplace(rlwe::Ciphertext& a, std::size_t level,
                               std::optional<double> scale = {}) const;

 protected:
  void multiply_by_factor(rlwe::Ciphertext& a, const rlwe::ScaleStep& step) const override;
  [[nodiscard]] rlwe::Factors factors(const rlwe::Ciphertext& a, const rlwe::Ciphertext& b) const override;
  [[nodiscard]] rlwe::Factors factors(const rlwe::Ciphertext& a, const rlwe::Plaintext& b) const override;
  [[nodiscard]] std::size_t smallest_safe_level(const rlwe::Ciphertext& a) const override;

 private:
  void multiply_by_number(rlwe::Ciphertext& a, const rlwe::Scalar& b, double scale) const;
};

}  // namespace hemera::ckks
