// OpenFHE's EvalBootstrap with the client's own keys and settings: its order (CoeffToSlot or
// SlotToCoeff first), rotations, levels, and what the result is; computed by Hemera's circuits. (J. H. Cheon,
// K. Han, A. Kim, M. Kim, Y. Song, 2018/153; scaled sine by double angles: K. Han, D. Ki, 2019/688; sparse
// secrets: J.-P. Bossuat, J. Troncoso-Pastoriza, J.-P. Hubaux, 2022/024.)
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/circuits/plan.hpp"
#include "hemera/schemes/ckks.hpp"
#include "interop/openfhe/objects.hpp"

namespace hemera::interop::openfhe {

/// How giant steps of matrices are taken: with a key each, or one after the other by one key (Horner's rule),
/// where diagonals are counted from 0 and the rotations that this leaves out are made up for at the end.
/// OpenFHE makes the keys of the first way up to 1.5, of the second one since 1.6 (openfhe-development 1209).
enum class GiantSteps : std::uint8_t { own_keys, one_key };

/// For ciphertexts of one number of slots. Immutable.
class Bootstrapper {
 public:
  /// ParameterError where the context has not the levels that its settings need, or settings are out of
  /// range.
  Bootstrapper(std::shared_ptr<const rlwe::Context> context, const CryptoContext& client,
               const BootstrapSettings& settings, std::uint32_t correction_factor, GiantSteps giant_steps);

  /// The keys that it takes, as EvalBootstrapKeyGen makes them: all over the whole modulus, but for that to
  /// the sparse secret.
  [[nodiscard]] const std::vector<circuits::KeyNeed>& needed_keys() const { return needed_keys_; }
  /// Of one evaluation, the real and imaginary parts together.
  [[nodiscard]] const circuits::Cost& cost() const { return cost_; }

  /// The result's level is OpenFHE's, and its noise-scale degree: 2, but for SlotToCoeff first with
  /// FIXEDMANUAL,
  /// 1. `in` itself, relinearized, if that is no level more. LevelError for one without a level to spare, or,
  /// with SlotToCoeff first, those of its budget; MissingKeyError.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator,
                                            const rlwe::Ciphertext& in) const;
  /// The same, and then of the error times 2^precision, which is subtracted: one level lower.
  [[nodiscard]] rlwe::Ciphertext twice(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& in,
                                       int precision) const;

 private:
  void tell_needs(std::size_t sine_level);
  [[nodiscard]] rlwe::Ciphertext raised(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& low) const;
  void turn_last(const ckks::Evaluator& evaluator, rlwe::Ciphertext& x) const;
  [[nodiscard]] rlwe::Ciphertext reduced(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& x) const;

  std::shared_ptr<const rlwe::Context> context_;
  std::vector<circuits::KeyNeed> needed_keys_;
  circuits::Cost cost_;
  std::size_t slots_;
  bool encapsulated_;
  bool decodes_first_;            // SlotToCoeff
  bool takes_both_ = false;       // real and imaginary parts, in a batch
  bool is_side_by_side_ = false;  // the parts in between
  std::size_t raised_level_ = 0;  // the top, less the further modulus of FLEXIBLEAUTOEXT
  double input_scale_ = 1;        // that inputs are brought to at level 0: the level's less the correction
  double raised_scale_ = 1;       // at which raised ones hold (m / q_0 + I) / 2K
  double raised_factor_ = 1;      // that brings them to the next level's scale
  std::vector<circuits::PreparedLinearTransform> encode_, decode_;
  std::unique_ptr<const circuits::PreparedFunction> sine_;
  std::size_t sine_result_level_ = 0;
  double last_constant_ = 0;      // of the last double angle, where SlotToCoeff does not follow
  std::size_t decode_level_ = 0;  // that SlotToCoeff begins at
  std::size_t result_level_ = 0;
  int result_degree_ = 2;
  double result_scale_ = 1;
  std::vector<std::size_t> last_turns_;  // rotations of the slots that the matrices of each side left out
  rlwe::Plaintext parts_unit_, joining_unit_;  // i, to take parts apart and together
};

}  // namespace hemera::interop::openfhe
