// A bootstrap on clear values: the model behind the expected precision.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "circuits/bootstrap/bootstrap_layout.hpp"
#include "circuits/bootstrap/eval_mod.hpp"

namespace hemera::circuits {

/// Values go through the steps in doubles; every rounding, key switch and rounded plaintext adds white noise
/// of the deviation that theory gives, and I is drawn as ciphertexts have it. A rounding's error is r_0 + r_1
/// s: where the secret has a large slot, all roundings of EvalMod are as much larger. So slots of the secret
/// are drawn, too, and errors have the tail of a product of Gaussians. Random for the sake of the model
/// alone, and the same for the same seed. Exponentials of complex slots are those of real parts, then those
/// of imaginary ones.
class PrecisionModel {
 public:
  /// The input's slots: `together` ciphertexts at once, as one of `raised` slots. `merged`: both parts are
  /// one ciphertext of twice the slots in EvalMod.
  struct Slots {
    std::size_t count, raised, together;
    bool real, merged;
  };
  /// `eval_mod`: null for roots of unity.
  PrecisionModel(const rlwe::Parameters& parameters, const BootstrapLayout& layout, const EvalMod* eval_mod,
                 const Slots& slots);

  /// `divisor`: of the values before and after, in SlotToCoeff's matrices if these come first. Throws
  /// ParameterError unless there are as many values as slots.
  [[nodiscard]] std::vector<std::complex<double>> operator()(std::span<const std::complex<double>> values,
                                                             double divisor, std::uint64_t seed) const;
  /// Results' errors after an iteration more (refinement.hpp), with a result at `level`. Errors, and not
  /// values, as doubles of values would hide them.
  [[nodiscard]] std::vector<std::complex<double>> refined(std::span<const std::complex<double>> errors,
                                                          int factor_log2, std::size_t level, double divisor,
                                                          std::uint64_t seed) const;

 private:
  class Noise;
  /// log2 of the errors that a matrix adds: by its rounded plaintexts, over the size of the values, and by
  /// its division.
  struct MatrixNoise {
    double plaintext, rounding;
  };
  /// log2 of the error that a row of matrices, each over 2^divided, makes of values of a size (log2 of their
  /// root mean square): their entries are rounded as before.
  static double error_of(const std::vector<MatrixNoise>& matrices, double size, double divided);

  // All but the rounding that ends it. `secret`: what the secret's slots add to the log2 of roundings.
  [[nodiscard]] std::vector<std::complex<double>> eval_mod(const std::vector<long double>& t,
                                                           const std::vector<double>& secret,
                                                           Noise& noise) const;
  // The same of roots of unity, and what ends them.
  [[nodiscard]] std::vector<std::complex<double>> roots(const std::vector<long double>& t,
                                                        const std::vector<double>& secret,
                                                        Noise& noise) const;
  [[nodiscard]] std::vector<double> secret_slots(Noise& noise) const;

  std::size_t slots_, together_, blocks_, ephemeral_weight_;
  bool real_, exponential_;
  BootstrapOrder order_;
  double ratio_, range_;
  double gain_;                       // from the sine, its arcsine or the exponential to the slots
  std::vector<FunctionStep> steps_;   // of EvalMod
  double shift_;                      // before these
  std::vector<std::size_t> rounded_;  // those that a division rounds, but for the last, as noise is drawn
  double repetitions_;                // of the slots' values
  double secret_norm_;                // squared, of the secret
  double rounding_;                   // log2 of a division's error in slots, times the scale
  double end_rounding_;               // the same of the divisions that end it
  double parts_rounding_;             // the same in EvalMod
  std::vector<MatrixNoise> to_coefficients_;  // over the values' size
  double roots_ = 0;                          // log2 of the error of roots of unity, over their magnitude
  double to_slots_ = 0;                       // log2 of the error of CoeffToSlot, over that of t
  double switch_;               // log2 of the error of t ratio that the switch to the ephemeral secret leaves
  double v_ = 0;                // log2 scale
  double result_;               // of EvalMod's result, in slots
  std::vector<double> levels_;  // of each level
};

}  // namespace hemera::circuits
