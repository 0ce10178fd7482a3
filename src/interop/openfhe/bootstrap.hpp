// OpenFHE's EvalBootstrap with the client's own keys and settings: its order (CoeffToSlot first), rotations,
// levels, and what the result is; computed by Hemera's circuits. (J. H. Cheon, K. Han, A. Kim, M. Kim, Y.
// Song, 2018/153; scaled sine by double angles: K. Han, D. Ki, 2019/688; sparse secrets: J.-P. Bossuat, J.
// Troncoso-Pastoriza, J.-P. Hubaux, 2022/024.)
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/circuits/linear/linear_transform.hpp"
#include "hemera/schemes/ckks.hpp"
#include "interop/openfhe/objects.hpp"

namespace hemera::interop::openfhe {

/// For ciphertexts of one number of slots. Immutable.
class Bootstrapper {
 public:
  /// ParameterError where the context has not the levels that its settings need, or settings that Hemera does
  /// not have (SlotToCoeff first).
  Bootstrapper(std::shared_ptr<const rlwe::Context> context, const CryptoContext& client,
               const BootstrapSettings& settings, std::uint32_t correction_factor);

  /// The levels that the result lies below the top, and its noise-scale degree is 2. `in` itself if that is
  /// no level more. LevelError for one without a level to spare; MissingKeyError.
  [[nodiscard]] rlwe::Ciphertext operator()(const ckks::Evaluator& evaluator,
                                            const rlwe::Ciphertext& in) const;
  /// The same, and then of the error times 2^precision, which is subtracted: one level lower.
  [[nodiscard]] rlwe::Ciphertext twice(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& in,
                                       int precision) const;

 private:
  /// A matrix by its diagonals, as a sum over outer rotations of sums over inner ones.
  struct Layer {
    struct Group {
      std::int64_t rotation = 0;
      std::vector<std::size_t> inner;  // indices into Layer::rotations
      std::vector<rlwe::Plaintext> factors;
    };
    std::vector<std::int64_t> rotations;
    std::vector<Group> groups;
  };
  /// How a layer's rotations are split: (first + j) stride for j < count, and multiples of count stride.
  struct Split {
    std::int64_t first = 0;
    std::int64_t count = 1;
    std::int64_t outer = 1;
    std::int64_t stride = 1;
    /// Whether inner rotations are taken modulo the number of slots.
    bool is_reduced = false;
  };
  /// How the values that a layer reads lie: `slots` of them, or real and imaginary parts one after the other,
  /// which it takes together or makes.
  enum class Parts : std::uint8_t { whole, makes_parts, takes_parts };

  [[nodiscard]] Layer make_layer(const circuits::Diagonals& matrix, const Split& split, Parts parts,
                                 std::complex<double> factor, const rlwe::PlainOperand& at) const;
  [[nodiscard]] rlwe::Ciphertext apply(const ckks::Evaluator& evaluator, const Layer& layer,
                                       const rlwe::Ciphertext& x) const;
  [[nodiscard]] rlwe::Ciphertext raised(const ckks::Evaluator& evaluator, const rlwe::Ciphertext& in) const;

  std::shared_ptr<const rlwe::Context> context_;
  std::size_t slots_;
  std::size_t width_;  // slots of what is between the transforms: twice as many where there is room
  bool encapsulated_;
  std::size_t raised_level_ = 0;  // the top, less the further modulus of FLEXIBLEAUTOEXT
  double input_scale_ = 1;        // that inputs are brought to at level 0: the level's less the correction
  double raised_scale_ = 1;       // at which raised ones hold (m / q_0 + I) / 2K
  std::vector<Layer> encode_;
  // Full packing: layers again for imaginary parts, the last of CoeffToSlot and the first of SlotToCoeff.
  std::vector<Layer> encode_imaginary_, decode_imaginary_;
  std::unique_ptr<const circuits::PreparedFunction> sine_;
  std::size_t decode_level_ = 0;
  std::vector<Layer> decode_;
};

}  // namespace hemera::interop::openfhe
