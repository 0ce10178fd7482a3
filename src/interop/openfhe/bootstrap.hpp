// OpenFHE's EvalBootstrap with the client's own keys and settings: its order (CoeffToSlot or
// SlotToCoeff first), rotations, levels, and what the result is; computed by Hemera's circuits. (J. H. Cheon,
// K. Han, A. Kim, M. Kim, Y. Song, 2018/153; scaled sine by double angles: K. Han, D. Ki, 2019/688; sparse
// secrets: J.-P. Bossuat, J. Troncoso-Pastoriza, J.-P. Hubaux, 2022/024.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "hemera/circuits/plan.hpp"
#include "hemera/schemes/ckks.hpp"
#include "interop/openfhe/bootstrap_layout.hpp"
#include "interop/openfhe/objects.hpp"

namespace hemera::interop::openfhe {

/// Bootstraps ciphertexts of one number of slots. Immutable.
class Bootstrapper {
 public:
  /// ParameterError if the context has not the levels that its settings need, or settings are out of range.
  Bootstrapper(rlwe::ContextPointer context, const CryptoContext& client, const BootstrapSettings& settings,
               std::uint32_t correction_factor, GiantSteps giant_steps);

  /// The keys that it takes, as EvalBootstrapKeyGen makes them: all over the whole modulus, but for that to
  /// the sparse secret.
  [[nodiscard]] const std::vector<circuits::KeyNeed>& needed_keys() const { return needed_keys_; }
  /// The cost of one evaluation of an input with one level to spare, counted at the first call.
  [[nodiscard]] const circuits::Cost& cost() const;
  [[nodiscard]] std::size_t result_level() const { return layout_.result_level; }

  /// The result's level is OpenFHE's, and its noise-scale degree: 2, but for SlotToCoeff first with
  /// FIXEDMANUAL,
  /// 1. `in` itself, relinearized, if that is no level more. LevelError for one without a level to spare, or,
  /// with SlotToCoeff first, those of its budget; MissingKeyError. The evaluator counts it
  /// (ckks::Evaluator::bootstraps).
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator,
                                            const rlwe::Ciphertext& in) const;
  /// The same, and then of the error times 2^precision, which is subtracted: one level lower.
  [[nodiscard]] rlwe::Ciphertext twice(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& in,
                                       int precision) const;

 private:
  struct Counted {
    std::once_flag once;
    circuits::Cost cost;
  };

  void choose_keys(const circuits::BootstrapStages& stages);
  void turn_last(const ckks::Evaluator& evaluator, rlwe::Ciphertext& x) const;

  rlwe::ContextPointer context_;
  CryptoContext client_;
  BootstrapSettings settings_;
  std::uint32_t correction_factor_;
  GiantSteps giant_steps_;
  BootstrapLayout layout_;  // its stages are the engine's
  std::unique_ptr<const circuits::BootstrapEngine> engine_;
  std::vector<circuits::KeyNeed> needed_keys_;
  std::shared_ptr<Counted> counted_ = std::make_shared<Counted>();
};

}  // namespace hemera::interop::openfhe
