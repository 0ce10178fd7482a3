// OpenFHE's operations by Hemera, on the CPU or a GPU: compiled in the client's program, with its own OpenFHE
// (docs/clients-openfhe.md).
//
//   auto gpu = hemera::adapters::accelerate(cc, keys.secretKey->GetKeyTag(), "cuda");
//   auto y = gpu->EvalRotate(gpu->EvalMult(x, x), 1);  // OpenFHE's names and arguments
//   cc->Decrypt(keys.secretKey, y, &result);           // copies y to the host
#pragma once

#include <openfhe.h>
// For the coefficients of functions.
#include <math/chebyshev.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/adapters/openfhe/crossing.hpp"
#include "hemera/adapters/openfhe/operands.hpp"
#include "hemera/adapters/openfhe/series.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::adapters {

/// The result of EvalFastRotationPrecompute, on the device.
class OpenFheDigits {
 public:
  explicit OpenFheDigits(rlwe::Digits digits)
      : digits_(std::make_shared<const rlwe::Digits>(std::move(digits))) {}
  [[nodiscard]] const rlwe::Digits& value() const { return *digits_; }

 private:
  std::shared_ptr<const rlwe::Digits> digits_;
};

/// Operations of lbcrypto::CryptoContext. Operands are OpenFHE's ciphertexts, which travel at each call, or
/// OpenFheCiphertext, which do not. Results have OpenFHE's level, noise-scale degree, scaling factor and
/// integer factor. Plaintexts travel as values, and are encoded on the device. Any number of threads may use
/// it. Errors are Hemera's exceptions.
class OpenFheEvaluator : private OpenFheOperands {
 public:
  using Ciphertext = OpenFheCiphertext;
  using Operand = OpenFheOperand;
  using Plaintext = lbcrypto::ReadOnlyPlaintext;
  using KeyMap = std::map<std::uint32_t, lbcrypto::EvalKey<lbcrypto::DCRTPoly>>;

  /// The keys are those that OpenFHE has for the tag at this time. Throws the errors of Session: FormatError
  /// for contexts that Hemera does not have.
  OpenFheEvaluator(OpenFheParty::Context context, std::string key_tag, const std::string& device)
      : OpenFheOperands(std::move(context), std::move(key_tag), device),
        lazy_(any_scheme::make_evaluator(evaluator().context(), evaluator().keys(),
                                         rlwe::Relinearization::lazy)) {}

  /// Copies an operand to the device, once for several operations.
  [[nodiscard]] Ciphertext Upload(const Operand& ciphertext) const { return result(get(ciphertext)); }

  // --- Sums. ---
  [[nodiscard]] Ciphertext EvalNegate(const Operand& ciphertext) const {
    return result(evaluator().negate(*get(ciphertext)));
  }
  [[nodiscard]] Ciphertext EvalAdd(const Operand& ciphertext1, const Operand& ciphertext2) const {
    const auto [a, b] = get(ciphertext1, ciphertext2);
    return result(evaluator().add(*a, *b));
  }
  [[nodiscard]] Ciphertext EvalSub(const Operand& ciphertext1, const Operand& ciphertext2) const {
    const auto [a, b] = get(ciphertext1, ciphertext2);
    return result(evaluator().subtract(*a, *b));
  }
  [[nodiscard]] Ciphertext EvalAdd(const Operand& ciphertext, const Plaintext& plaintext) const {
    rlwe::Ciphertext sum = get(ciphertext)->clone();
    const rlwe::Plaintext term = addend(sum, plaintext.get());
    evaluator().add_plain_inplace(sum, term);
    return result(std::move(sum));
  }
  [[nodiscard]] Ciphertext EvalAdd(const Plaintext& plaintext, const Operand& ciphertext) const {
    return EvalAdd(ciphertext, plaintext);
  }
  [[nodiscard]] Ciphertext EvalSub(const Operand& ciphertext, const Plaintext& plaintext) const {
    rlwe::Ciphertext difference = get(ciphertext)->clone();
    const rlwe::Plaintext term = addend(difference, plaintext.get());
    evaluator().subtract_plain_inplace(difference, term);
    return result(std::move(difference));
  }
  [[nodiscard]] Ciphertext EvalSub(const Plaintext& plaintext, const Operand& ciphertext) const {
    return EvalAdd(EvalNegate(ciphertext), plaintext);
  }
  /// Numbers are operands of CKKS alone, as in OpenFHE: throws ParameterError for BFV and BGV.
  [[nodiscard]] Ciphertext EvalAdd(const Operand& ciphertext, std::complex<double> scalar) const {
    require_ckks("EvalAdd");
    rlwe::Ciphertext sum = get(ciphertext)->clone();
    evaluator().add_scalar_inplace(sum, scalar);
    return result(std::move(sum));
  }
  [[nodiscard]] Ciphertext EvalAdd(const Operand& ciphertext, double scalar) const {
    return EvalAdd(ciphertext, std::complex<double>(scalar));
  }
  [[nodiscard]] Ciphertext EvalAdd(std::complex<double> scalar, const Operand& ciphertext) const {
    return EvalAdd(ciphertext, scalar);
  }
  [[nodiscard]] Ciphertext EvalAdd(double scalar, const Operand& ciphertext) const {
    return EvalAdd(ciphertext, scalar);
  }
  [[nodiscard]] Ciphertext EvalSub(const Operand& ciphertext, std::complex<double> scalar) const {
    return EvalAdd(ciphertext, -scalar);
  }
  [[nodiscard]] Ciphertext EvalSub(const Operand& ciphertext, double scalar) const {
    return EvalAdd(ciphertext, -scalar);
  }
  [[nodiscard]] Ciphertext EvalSub(std::complex<double> scalar, const Operand& ciphertext) const {
    return EvalAdd(EvalNegate(ciphertext), scalar);
  }
  [[nodiscard]] Ciphertext EvalSub(double scalar, const Operand& ciphertext) const {
    return EvalAdd(EvalNegate(ciphertext), scalar);
  }

  // --- Products. ---
  [[nodiscard]] Ciphertext EvalMult(const Operand& ciphertext1, const Operand& ciphertext2) const {
    const auto [a, b] = get(ciphertext1, ciphertext2);
    return result(evaluator().multiply(*a, *b));
  }
  [[nodiscard]] Ciphertext EvalSquare(const Operand& ciphertext) const {
    return result(evaluator().square(*get(ciphertext)));
  }
  /// Three components.
  [[nodiscard]] Ciphertext EvalMultNoRelin(const Operand& ciphertext1, const Operand& ciphertext2) const {
    const auto [a, b] = get(ciphertext1, ciphertext2);
    return result(lazy_->multiply(*a, *b));
  }
  [[nodiscard]] Ciphertext Relinearize(const Operand& ciphertext) const {
    rlwe::Ciphertext relinearized = get(ciphertext)->clone();
    evaluator().relinearize_inplace(relinearized);
    return result(std::move(relinearized));
  }
  [[nodiscard]] Ciphertext EvalMult(const Operand& ciphertext, const Plaintext& plaintext) const {
    return result(product(get(ciphertext), plaintext.get()));
  }
  [[nodiscard]] Ciphertext EvalMult(const Plaintext& plaintext, const Operand& ciphertext) const {
    return EvalMult(ciphertext, plaintext);
  }
  /// Numbers: CKKS alone.
  [[nodiscard]] Ciphertext EvalMult(const Operand& ciphertext, std::complex<double> scalar) const {
    require_ckks("EvalMult");
    rlwe::Ciphertext scaled = get(ciphertext)->clone();
    evaluator().multiply_scalar_inplace(scaled, scalar);
    return result(std::move(scaled));
  }
  [[nodiscard]] Ciphertext EvalMult(const Operand& ciphertext, double scalar) const {
    return EvalMult(ciphertext, std::complex<double>(scalar));
  }
  [[nodiscard]] Ciphertext EvalMult(std::complex<double> scalar, const Operand& ciphertext) const {
    return EvalMult(ciphertext, scalar);
  }
  [[nodiscard]] Ciphertext EvalMult(double scalar, const Operand& ciphertext) const {
    return EvalMult(ciphertext, scalar);
  }

  /// The same as EvalMult: every product is relinearized.
  [[nodiscard]] Ciphertext EvalMultAndRelinearize(const Operand& ciphertext1,
                                                  const Operand& ciphertext2) const {
    return EvalMult(ciphertext1, ciphertext2);
  }

  // --- Of many: vectors of either kind of ciphertexts, in OpenFHE's order. Throw MismatchError for none. ---
  template <typename Any>
  [[nodiscard]] Ciphertext EvalAddMany(const std::vector<Any>& ciphertexts) const {
    return folded("EvalAddMany", ciphertexts,
                  [this](const Operand& a, const Operand& b) { return EvalAdd(a, b); });
  }
  /// The result is the first one's, too.
  template <typename Any>
  Ciphertext EvalAddManyInPlace(std::vector<Any>& ciphertexts) const {
    if (ciphertexts.empty()) throw MismatchError("EvalAddManyInPlace: no ciphertexts");
    for (std::size_t j = 1; j < ciphertexts.size(); j *= 2) {
      for (std::size_t i = 0; i + j < ciphertexts.size(); i += 2 * j) {
        ciphertexts[i] = EvalAdd(ciphertexts[i], ciphertexts[i + j]);
      }
    }
    return Upload(ciphertexts.front());
  }
  template <typename Any>
  [[nodiscard]] Ciphertext EvalMultMany(const std::vector<Any>& ciphertexts) const {
    return folded("EvalMultMany", ciphertexts,
                  [this](const Operand& a, const Operand& b) { return ModReduce(EvalMult(a, b)); });
  }
  /// The sum of ciphertexts times numbers. CKKS alone.
  template <typename Any, typename Number>
  [[nodiscard]] Ciphertext EvalLinearWSum(const std::vector<Any>& ciphertexts,
                                          const std::vector<Number>& constants) const {
    require_ckks("EvalLinearWSum");
    if (ciphertexts.empty() || ciphertexts.size() != constants.size()) {
      throw MismatchError("EvalLinearWSum: " + std::to_string(ciphertexts.size()) + " ciphertexts and " +
                          std::to_string(constants.size()) + " numbers");
    }
    const auto product = [&](std::size_t i) {
      return EvalMult(ciphertexts[i], std::complex<double>(constants[i]));
    };
    Ciphertext sum = product(0);
    for (std::size_t i = 1; i < ciphertexts.size(); ++i) sum = EvalAdd(sum, product(i));
    return ModReduce(sum);
  }

  // --- Operations that may change their operands in OpenFHE; here they do not. ---
  template <typename First, typename Second>
  [[nodiscard]] Ciphertext EvalAddMutable(const First& first, const Second& second) const {
    return EvalAdd(first, second);
  }
  template <typename First, typename Second>
  [[nodiscard]] Ciphertext EvalSubMutable(const First& first, const Second& second) const {
    return EvalSub(first, second);
  }
  template <typename First, typename Second>
  [[nodiscard]] Ciphertext EvalMultMutable(const First& first, const Second& second) const {
    return EvalMult(first, second);
  }
  [[nodiscard]] Ciphertext EvalSquareMutable(const Operand& ciphertext) const {
    return EvalSquare(ciphertext);
  }
  template <typename Any, typename Number>
  [[nodiscard]] Ciphertext EvalLinearWSumMutable(const std::vector<Any>& ciphertexts,
                                                 const std::vector<Number>& constants) const {
    return EvalLinearWSum(ciphertexts, constants);
  }

  // --- Functions of CKKS's values. Results are rescaled, and have the level of OpenFHE's after its rescale
  // (under FIXEDMANUAL OpenFHE's are rescaled, too). Throw LevelError if that is below the last level. ---
  /// A polynomial by coefficients of powers, the lowest first.
  template <typename Number>
  [[nodiscard]] Ciphertext EvalPoly(const Operand& ciphertext,
                                    const std::vector<Number>& coefficients) const {
    return polynomial("EvalPoly", series("EvalPoly", ciphertext, coefficients, Way::by_degree), coefficients);
  }
  /// The result has the level of OpenFHE's method; it is computed as by EvalPoly.
  template <typename Number>
  [[nodiscard]] Ciphertext EvalPolyLinear(const Operand& ciphertext,
                                          const std::vector<Number>& coefficients) const {
    return polynomial("EvalPolyLinear", series("EvalPolyLinear", ciphertext, coefficients, Way::linear),
                      coefficients);
  }
  template <typename Number>
  [[nodiscard]] Ciphertext EvalPolyPS(const Operand& ciphertext,
                                      const std::vector<Number>& coefficients) const {
    return polynomial("EvalPolyPS", series("EvalPolyPS", ciphertext, coefficients, Way::paterson_stockmeyer),
                      coefficients);
  }
  /// A series for several polynomials up to the degree of these coefficients: the ciphertext travels once.
  /// Each polynomial makes its own powers.
  template <typename Number>
  [[nodiscard]] OpenFheSeries EvalPowers(const Operand& ciphertext,
                                         const std::vector<Number>& coefficients) const {
    return series("EvalPowers", ciphertext, coefficients, Way::by_degree);
  }
  /// Throws ParameterError for a degree above that of the powers.
  template <typename Number>
  [[nodiscard]] Ciphertext EvalPolyWithPrecomp(const OpenFheSeries& powers,
                                               const std::vector<Number>& coefficients) const {
    return polynomial("EvalPolyWithPrecomp", powers, coefficients);
  }
  /// A series of Chebyshev polynomials of [a, b]; half the first coefficient counts.
  template <typename Number>
  [[nodiscard]] Ciphertext EvalChebyshevSeries(const Operand& ciphertext,
                                               const std::vector<Number>& coefficients, double a,
                                               double b) const {
    return polynomial("EvalChebyshevSeries",
                      series("EvalChebyshevSeries", ciphertext, coefficients, a, b, Way::by_degree),
                      coefficients);
  }
  template <typename Number>
  [[nodiscard]] Ciphertext EvalChebyshevSeriesLinear(const Operand& ciphertext,
                                                     const std::vector<Number>& coefficients, double a,
                                                     double b) const {
    return polynomial("EvalChebyshevSeriesLinear",
                      series("EvalChebyshevSeriesLinear", ciphertext, coefficients, a, b, Way::linear),
                      coefficients);
  }
  template <typename Number>
  [[nodiscard]] Ciphertext EvalChebyshevSeriesPS(const Operand& ciphertext,
                                                 const std::vector<Number>& coefficients, double a,
                                                 double b) const {
    return polynomial(
        "EvalChebyshevSeriesPS",
        series("EvalChebyshevSeriesPS", ciphertext, coefficients, a, b, Way::paterson_stockmeyer),
        coefficients);
  }
  template <typename Number>
  [[nodiscard]] OpenFheSeries EvalChebyPolys(const Operand& ciphertext,
                                             const std::vector<Number>& coefficients, double a,
                                             double b) const {
    return series("EvalChebyPolys", ciphertext, coefficients, a, b, Way::by_degree);
  }
  template <typename Number>
  [[nodiscard]] Ciphertext EvalChebyshevSeriesWithPrecomp(const OpenFheSeries& polys,
                                                          const std::vector<Number>& coefficients) const {
    return polynomial("EvalChebyshevSeriesWithPrecomp", polys, coefficients);
  }
  /// Uses OpenFHE's coefficients, here and in the functions below.
  [[nodiscard]] Ciphertext EvalChebyshevFunction(const std::function<double(double)>& func,
                                                 const Operand& ciphertext, double a, double b,
                                                 std::uint32_t degree) const {
    return EvalChebyshevSeries(ciphertext, lbcrypto::EvalChebyshevCoefficients(func, a, b, degree), a, b);
  }
  [[nodiscard]] Ciphertext EvalSin(const Operand& ciphertext, double a, double b,
                                   std::uint32_t degree) const {
    return EvalChebyshevFunction([](double x) { return std::sin(x); }, ciphertext, a, b, degree);
  }
  [[nodiscard]] Ciphertext EvalCos(const Operand& ciphertext, double a, double b,
                                   std::uint32_t degree) const {
    return EvalChebyshevFunction([](double x) { return std::cos(x); }, ciphertext, a, b, degree);
  }
  [[nodiscard]] Ciphertext EvalLogistic(const Operand& ciphertext, double a, double b,
                                        std::uint32_t degree) const {
    return EvalChebyshevFunction([](double x) { return 1 / (1 + std::exp(-x)); }, ciphertext, a, b, degree);
  }
  [[nodiscard]] Ciphertext EvalDivide(const Operand& ciphertext, double a, double b,
                                      std::uint32_t degree) const {
    return EvalChebyshevFunction([](double x) { return 1 / x; }, ciphertext, a, b, degree);
  }

  // --- Slots. ---
  /// One ModUp for all rotations of a ciphertext.
  [[nodiscard]] OpenFheDigits EvalFastRotationPrecompute(const Operand& ciphertext) const {
    const rlwe::Context& context = *evaluator().context();
    return OpenFheDigits(rlwe::decompose(
        *get(ciphertext), context.gadget(context.parameters().default_gadget(context.top_level()))));
  }
  /// The digits are the ciphertext's. Throws MissingKeyError without the rotation's key.
  [[nodiscard]] Ciphertext EvalFastRotation(const Operand& ciphertext, std::uint32_t index,
                                            const OpenFheDigits& digits) const {
    if (index == 0) return Upload(ciphertext);
    const rlwe::Digits& given = digits.value();
    const std::uint64_t element = evaluator().context()->galois_element(static_cast<std::int32_t>(index));
    const auto key = galois_key("EvalFastRotation", element, given.meta.level);
    return result(rlwe::mod_down(rlwe::switch_extended(given, *key, element)));
  }
  [[nodiscard]] Ciphertext EvalFastRotation(const Operand& ciphertext, std::uint32_t index,
                                            std::uint32_t /*order*/, const OpenFheDigits& digits) const {
    return EvalFastRotation(ciphertext, index, digits);
  }
  /// Each slot becomes the sum of `batch_size` slots from it on (BFV and BGV with all slots: over both rows).
  [[nodiscard]] Ciphertext EvalSum(const Operand& ciphertext, std::uint32_t batch_size) const {
    rlwe::Ciphertext sum = get(ciphertext)->clone();
    const std::size_t row = evaluator().context()->degree() / 2;
    for (std::size_t step = 1; step < batch_size; step *= 2) {
      const bool rows = scheme() != rlwe::Scheme::ckks && step == row;
      evaluator().add_inplace(
          sum, rows ? evaluator().conjugate(sum) : evaluator().rotate(sum, static_cast<std::int64_t>(step)));
    }
    return result(std::move(sum));
  }
  /// The sum of the rows of a matrix, whose rows have `row_size` slots, in each row. `subring_dimension` as
  /// in OpenFHE: 4 times the slots of ciphertexts with fewer than N/2. The map of keys is not read, here and
  /// below: keys are those that OpenFHE had for the tag when the evaluator was made (throws MissingKeyError
  /// without them). Throws ParameterError for no rows.
  [[nodiscard]] Ciphertext EvalSumRows(const Operand& ciphertext, std::uint32_t row_size,
                                       const KeyMap& /*keys*/, std::uint32_t subring_dimension = 0) const {
    require_ckks("EvalSumRows");
    const std::uint64_t order = subring_dimension == 0 ? full_order() : subring_dimension;
    if (row_size == 0 || order / (4 * row_size) == 0 || (order & (order - 1)) != 0) {
      throw ParameterError("EvalSumRows: rows of " + std::to_string(row_size) +
                           " slots do not fit a subring of dimension " + std::to_string(order));
    }
    return result(summed("EvalSumRows", get(ciphertext), order / (4 * row_size),
                         power_of_five(row_size, order), order));
  }
  /// The sum of each row of a matrix, whose rows have `row_size` slots, in all its slots.
  [[nodiscard]] Ciphertext EvalSumCols(const Operand& ciphertext, std::uint32_t row_size,
                                       const KeyMap& /*keys*/) const {
    require_ckks("EvalSumCols");
    const Held source = get(ciphertext);
    const std::size_t slots = source->meta.slots;
    if (row_size == 0 || row_size > slots) {
      throw ParameterError("EvalSumCols: rows of " + std::to_string(row_size) + " slots in a ciphertext of " +
                           std::to_string(slots));
    }
    const std::uint64_t order = full_order();
    std::vector<std::complex<double>> first_column(slots);
    for (std::size_t i = 0; i < slots; i += row_size) first_column[i] = 1;
    const Plaintext mask = party().context()->MakeCKKSPackedPlaintext(first_column, 1, 0, nullptr,
                                                                      static_cast<std::uint32_t>(slots));
    Held sum = summed("EvalSumCols", source, row_size, power_of_five(1, order), order);
    sum = std::make_shared<const rlwe::Ciphertext>(product(std::move(sum), mask.get()));
    return result(summed("EvalSumCols", sum, row_size, power_of_five(order / 4 - 1, order), order));
  }
  /// X -> X^index.
  [[nodiscard]] Ciphertext EvalAutomorphism(const Operand& ciphertext, std::uint32_t index,
                                            const KeyMap& /*keys*/) const {
    return result(turned("EvalAutomorphism", *get(ciphertext), index));
  }
  /// The inner product of a ciphertext with a ciphertext or a plaintext.
  template <typename Second>
  [[nodiscard]] Ciphertext EvalInnerProduct(const Operand& first, const Second& second,
                                            std::uint32_t batch_size) const {
    return EvalSum(EvalMult(first, second), batch_size);
  }
  /// The first slots of all ciphertexts, one after the other.
  template <typename Any>
  [[nodiscard]] Ciphertext EvalMerge(const std::vector<Any>& ciphertexts) const {
    if (ciphertexts.empty()) throw MismatchError("EvalMerge: no ciphertexts");
    const Ciphertext first = Upload(ciphertexts.front());
    const Plaintext mask = scheme() == rlwe::Scheme::ckks
                               ? party().context()->MakeCKKSPackedPlaintext(
                                     std::vector<std::complex<double>>{1, 0}, 1, 0, nullptr, first.GetSlots())
                               : party().context()->MakePackedPlaintext({1, 0});
    Ciphertext merged = EvalMult(first, mask);
    for (std::size_t i = 1; i < ciphertexts.size(); ++i) {
      merged = EvalAdd(merged, EvalRotate(EvalMult(ciphertexts[i], mask), -static_cast<std::int32_t>(i)));
    }
    return merged;
  }
  [[nodiscard]] Ciphertext EvalRotate(const Operand& ciphertext, std::int32_t index) const {
    return result(evaluator().rotate(*get(ciphertext), index));
  }
  [[nodiscard]] Ciphertext EvalAtIndex(const Operand& ciphertext, std::int32_t index) const {
    return EvalRotate(ciphertext, index);
  }

  // --- Levels. As in OpenFHE, they act under FIXEDMANUAL and do nothing otherwise. ---
  [[nodiscard]] Ciphertext Rescale(const Operand& ciphertext) const {
    const auto source = get(ciphertext);
    return result(is_manual() ? evaluator().rescale(*source) : source->clone());
  }
  [[nodiscard]] Ciphertext ModReduce(const Operand& ciphertext) const { return Rescale(ciphertext); }
  /// The key is not used, as in OpenFHE. Throws ParameterError for BFV, LevelError for too few limbs.
  [[nodiscard]] Ciphertext LevelReduce(const Operand& ciphertext,
                                       const lbcrypto::EvalKey<lbcrypto::DCRTPoly>& /*key*/,
                                       std::size_t levels = 1) const {
    if (scheme() == rlwe::Scheme::bfv) {
      throw ParameterError("LevelReduce: BFV has no levels to drop, as in OpenFHE");
    }
    const auto source = get(ciphertext);
    if (!is_manual()) return result(source->clone());
    if (levels > source->meta.level) {
      throw LevelError("LevelReduce: the ciphertext has " + std::to_string(source->meta.level) +
                       " levels left, not " + std::to_string(levels));
    }
    return result(evaluator().lower_to_level(*source, source->meta.level - levels));
  }
  /// Fewer limbs to send: rescaled down to the noise-scale degree, then without limbs above `limbs`. Throws
  /// ParameterError for fewer limbs than the degree takes, and for BFV.
  [[nodiscard]] Ciphertext Compress(const Operand& ciphertext, std::uint32_t limbs = 1,
                                    std::size_t noise_scale_degree = 1) const {
    if (scheme() == rlwe::Scheme::bfv) {
      throw ParameterError("Compress: of CKKS and BGV; OpenFHE compresses what comes back of BFV");
    }
    if (limbs < noise_scale_degree || noise_scale_degree == 0) {
      throw ParameterError("Compress: " + std::to_string(limbs) +
                           " limbs, fewer than the noise-scale degree " + std::to_string(noise_scale_degree) +
                           " needs");
    }
    rlwe::Ciphertext small = get(ciphertext)->clone();
    while (static_cast<std::size_t>(small.meta.noise_scale_degree) > noise_scale_degree) {
      evaluator().rescale_inplace(small);
    }
    const std::size_t level = limbs - 1;
    if (level < small.meta.level) evaluator().drop_to_level_inplace(small, level);
    return result(std::move(small));
  }
  /// The number of ciphertexts that EvalBootstrap has bootstrapped, whatever the iterations of each; what has
  /// as many levels already does not count.
  [[nodiscard]] std::uint64_t bootstraps() const {
    const auto* of_ckks = dynamic_cast<const ckks::Evaluator*>(&evaluator());
    return of_ckks == nullptr ? 0 : of_ckks->bootstraps();
  }
  /// OpenFHE's EvalBootstrap. Call EvalBootstrapSetup, and make its keys, before the evaluator.
  [[nodiscard]] Ciphertext EvalBootstrap(const Operand& ciphertext, std::uint32_t iterations = 1,
                                         std::uint32_t precision = 0) const {
    return result(party().session().bootstrap(*get(ciphertext), static_cast<int>(iterations),
                                              static_cast<int>(precision), &evaluator()));
  }

  // --- The same in place, of either kind of ciphertext: the object of OpenFHE's pointers changes. ---
  template <typename Target>
  void EvalNegateInPlace(Target& ciphertext) const {
    put(EvalNegate(ciphertext), ciphertext);
  }
  template <typename Target, typename Second>
  void EvalAddInPlace(Target& ciphertext, const Second& second) const {
    put(EvalAdd(ciphertext, second), ciphertext);
  }
  template <typename Target, typename Second>
  void EvalSubInPlace(Target& ciphertext, const Second& second) const {
    put(EvalSub(ciphertext, second), ciphertext);
  }
  template <typename Target, typename Second>
  void EvalMultInPlace(Target& ciphertext, const Second& second) const {
    put(EvalMult(ciphertext, second), ciphertext);
  }
  template <typename Target, typename Second>
  void EvalAddMutableInPlace(Target& ciphertext, const Second& second) const {
    EvalAddInPlace(ciphertext, second);
  }
  template <typename Target, typename Second>
  void EvalSubMutableInPlace(Target& ciphertext, const Second& second) const {
    EvalSubInPlace(ciphertext, second);
  }
  template <typename Target, typename Second>
  void EvalMultMutableInPlace(Target& ciphertext, const Second& second) const {
    EvalMultInPlace(ciphertext, second);
  }
  template <typename Target>
  void EvalSquareInPlace(Target& ciphertext) const {
    put(EvalSquare(ciphertext), ciphertext);
  }
  template <typename Target>
  void RelinearizeInPlace(Target& ciphertext) const {
    put(Relinearize(ciphertext), ciphertext);
  }
  template <typename Target>
  void RescaleInPlace(Target& ciphertext) const {
    put(Rescale(ciphertext), ciphertext);
  }
  template <typename Target>
  void ModReduceInPlace(Target& ciphertext) const {
    put(ModReduce(ciphertext), ciphertext);
  }
  template <typename Target>
  void LevelReduceInPlace(Target& ciphertext, const lbcrypto::EvalKey<lbcrypto::DCRTPoly>& key,
                          std::size_t levels = 1) const {
    put(LevelReduce(ciphertext, key, levels), ciphertext);
  }

 private:
  using Way = OpenFheSeries::Way;

  // A tree of pairs: results follow as operands.
  template <typename Any, typename Fold>
  [[nodiscard]] Ciphertext folded(const char* operation, const std::vector<Any>& ciphertexts,
                                  const Fold& fold) const {
    if (ciphertexts.empty()) throw MismatchError(std::string(operation) + ": no ciphertexts");
    std::vector<Ciphertext> all;
    for (const Any& ciphertext : ciphertexts) all.push_back(Upload(ciphertext));
    for (std::size_t i = 0; i + 1 < all.size(); i += 2) all.push_back(fold(all[i], all[i + 1]));
    return all.back();
  }

  // Coefficients up to the highest that is not zero, two at least.
  template <typename Number>
  static std::vector<std::complex<double>> complex(const std::vector<Number>& coefficients) {
    std::vector<std::complex<double>> all(coefficients.begin(), coefficients.end());
    while (all.size() > 2 && all.back() == 0.0) all.pop_back();
    return all;
  }
  template <typename Number>
  [[nodiscard]] OpenFheSeries series(const char* operation, const Operand& ciphertext,
                                     const std::vector<Number>& coefficients, Way way) const {
    require_ckks(operation);
    return {operation,
            Upload(ciphertext),
            coefficients.size(),
            complex(coefficients).size() - 1,
            circuits::Basis::power,
            {},
            way};
  }
  template <typename Number>
  [[nodiscard]] OpenFheSeries series(const char* operation, const Operand& ciphertext,
                                     const std::vector<Number>& coefficients, double a, double b,
                                     Way way) const {
    require_ckks(operation);
    return {operation,
            Upload(ciphertext),
            coefficients.size(),
            complex(coefficients).size() - 1,
            circuits::Basis::chebyshev,
            {.low = a, .high = b},
            way};
  }
  // Runs Hemera's circuit, which needs no more levels, and goes down to OpenFHE's.
  template <typename Number>
  [[nodiscard]] Ciphertext polynomial(const char* operation, const OpenFheSeries& series,
                                      const std::vector<Number>& coefficients) const {
    std::vector<std::complex<double>> all = complex(coefficients);
    if (all.size() < 2) throw ParameterError(std::string(operation) + ": two coefficients at least");
    if (series.basis() == circuits::Basis::chebyshev) all[0] /= 2;
    const std::size_t levels = series.levels(operation, all.size() - 1);
    const Held source = series.ciphertext().value();
    const auto& context = evaluator().context();
    const std::size_t used = levels + static_cast<std::size_t>(source->meta.noise_scale_degree - 1);
    if (used > source->meta.level) {
      throw LevelError(std::string(operation) + ": it takes " + std::to_string(used) +
                       " levels, and the ciphertext has " + std::to_string(source->meta.level));
    }
    const circuits::FunctionPlan plan(
        context->parameters(),
        circuits::Function(circuits::Polynomial(std::move(all), series.basis(), series.interval())),
        {.level = source->meta.level - (used - levels), .slots = source->meta.slots});
    const rlwe::Ciphertext* const input = source.get();
    rlwe::Ciphertext value = std::move(circuits::PreparedFunction(context, plan)(
                                           ckks::Evaluator(context, evaluator().keys()), std::span(&input, 1))
                                           .front());
    evaluator().lower_to_level_inplace(value, source->meta.level - used);
    return result(std::move(value));
  }

  // 2N, which indices of automorphisms count modulo.
  [[nodiscard]] std::uint64_t full_order() const {
    return 2 * static_cast<std::uint64_t>(evaluator().context()->degree());
  }
  // Modulo a power of two up to 2^32.
  static std::uint64_t power_of_five(std::uint64_t exponent, std::uint64_t order) {
    std::uint64_t power = 1;
    for (std::uint64_t square = 5; exponent != 0; exponent /= 2, square = square * square % order) {
      if (exponent % 2 != 0) power = power * square % order;
    }
    return power;
  }
  [[nodiscard]] std::shared_ptr<const rlwe::SwitchingKey> galois_key(const char* operation,
                                                                     std::uint64_t element,
                                                                     std::size_t level) const {
    auto key = evaluator().keys().find(rlwe::KeyRole::galois(element), level);
    if (key == nullptr) {
      throw MissingKeyError(std::string(operation) + ": no key for the automorphism " +
                            std::to_string(element));
    }
    return key;
  }
  [[nodiscard]] rlwe::Ciphertext turned(const char* operation, const rlwe::Ciphertext& source,
                                        std::uint64_t element) const {
    return rlwe::apply_galois(source, element, *galois_key(operation, element, source.meta.level));
  }
  // The sum with itself turned by the element, its square and so on, until `count` terms are one.
  [[nodiscard]] Held summed(const char* operation, const Held& source, std::uint64_t count,
                            std::uint64_t element, std::uint64_t order) const {
    rlwe::Ciphertext sum = source->clone();
    for (std::uint64_t terms = 1; terms < count; terms *= 2, element = element * element % order) {
      evaluator().add_inplace(sum, turned(operation, sum, element));
    }
    return std::make_shared<const rlwe::Ciphertext>(std::move(sum));
  }

  std::shared_ptr<const rlwe::Evaluator> lazy_;
};

/// An evaluator on a device ("cpu", "cuda", "cuda:1") for the key pair of this tag. It copies the pair's
/// relinearization and automorphism keys there, once.
inline std::shared_ptr<const OpenFheEvaluator> accelerate(
    const lbcrypto::CryptoContext<lbcrypto::DCRTPoly>& context, const std::string& key_tag,
    const std::string& device = "cpu") {
  return std::make_shared<const OpenFheEvaluator>(context, key_tag, device);
}

}  // namespace hemera::adapters
