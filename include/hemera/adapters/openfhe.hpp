// OpenFHE's operations by Hemera, on the CPU or a GPU: compiled in the client's program, with the OpenFHE
// that it has (docs/clients.md).
//
//   auto gpu = hemera::adapters::accelerate(cc, keys.secretKey->GetKeyTag(), "cuda");
//   auto y = gpu->EvalRotate(gpu->EvalMult(x, x), 1);  // OpenFHE's names and arguments
//   cc->Decrypt(keys.secretKey, y, &result);           // y comes to the host here
#pragma once

#include <openfhe.h>
// What writes a crypto context, for each scheme.
#include <cryptocontext-ser.h>
#include <scheme/bfvrns/bfvrns-ser.h>
#include <scheme/bgvrns/bgvrns-ser.h>
#include <scheme/ckksrns/ckksrns-ser.h>
// And the coefficients of functions.
#include <math/chebyshev.h>
#include <scheme/ckksrns/ckksrns-utils.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/scale_policy.hpp"
#include "hemera/runtime/device.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"

namespace hemera::adapters {

/// What an evaluator and its results share: OpenFHE's context, the tag of its key pair, and Hemera's context.
class OpenFheParty {
 public:
  using Context = lbcrypto::CryptoContext<lbcrypto::DCRTPoly>;
  using Ciphertext = lbcrypto::CiphertextImpl<lbcrypto::DCRTPoly>;

  OpenFheParty(Context context, std::string key_tag, const std::string& device)
      : context_(existing(std::move(context))),
        key_tag_(std::move(key_tag)),
        session_(serialized(context_), key_tag_, special_primes(context_), runtime::Device::parse(device)) {
    // The base of each number of limbs.
    for (auto base = std::make_shared<Base>(*context_->GetElementParams());;) {
      bases_.insert(bases_.begin(), base);
      if (base->GetParams().size() == 1) break;
      base = std::make_shared<Base>(*base);
      base->PopLastParam();
    }
    load_keys();
  }

  [[nodiscard]] const interop::openfhe::Session& session() const { return session_; }
  [[nodiscard]] const Context& context() const { return context_; }

  [[nodiscard]] rlwe::Ciphertext upload(const Ciphertext* ciphertext) const {
    if (ciphertext == nullptr) throw MismatchError("the ciphertext is a null pointer");
    if (ciphertext->GetCryptoContext() != context_) {
      throw MismatchError("the ciphertext belongs to another crypto context than the evaluator");
    }
    return session_.import_ciphertext({.key_tag = ciphertext->GetKeyTag(),
                                       .noise_scale_degree = ciphertext->GetNoiseScaleDeg(),
                                       .scaling_factor = ciphertext->GetScalingFactor(),
                                       .scaling_factor_int = ciphertext->GetScalingFactorInt().ConvertToInt(),
                                       .slots = ciphertext->GetSlots(),
                                       .encoding = static_cast<std::int32_t>(ciphertext->GetEncodingType()),
                                       .components = views(ciphertext->GetElements())});
  }

  [[nodiscard]] std::shared_ptr<Ciphertext> download(const rlwe::Ciphertext& ciphertext) const {
    const interop::openfhe::Metadata meta = session_.metadata(ciphertext);
    const Format format = meta.is_evaluation ? Format::EVALUATION : Format::COEFFICIENT;
    const auto& base = bases_.at(meta.limbs - 1);
    std::vector<lbcrypto::NativeVector> vectors;
    std::vector<std::span<std::uint64_t>> limbs;
    vectors.reserve(meta.components * meta.limbs);
    for (std::size_t c = 0; c < meta.components; ++c) {
      for (const auto& prime : base->GetParams()) {
        lbcrypto::NativeVector& vector = vectors.emplace_back(prime->GetRingDimension(), prime->GetModulus());
        limbs.emplace_back(reinterpret_cast<std::uint64_t*>(&vector[0]), vector.GetLength());
      }
    }
    session_.export_ciphertext(ciphertext, limbs);
    std::vector<lbcrypto::DCRTPoly> elements;
    auto vector = vectors.begin();
    for (std::size_t c = 0; c < meta.components; ++c) {
      lbcrypto::DCRTPoly& element = elements.emplace_back(base, format, false);
      for (auto& limb : element.GetAllElements()) limb.SetValues(std::move(*vector++), format);
    }
    auto result = std::make_shared<Ciphertext>(context_, key_tag_, encoding(ciphertext.meta));
    result->SetElements(std::move(elements));
    result->SetLevel(meta.level);
    result->SetNoiseScaleDeg(static_cast<std::size_t>(meta.noise_scale_degree));
    result->SetScalingFactor(meta.scaling_factor);
    result->SetScalingFactorInt(lbcrypto::NativeInteger(meta.scaling_factor_int));
    result->SetSlots(static_cast<std::uint32_t>(meta.slots));
    return result;
  }

 private:
  using Base = lbcrypto::DCRTPoly::Params;
  static_assert(sizeof(lbcrypto::NativeInteger) == sizeof(std::uint64_t) &&
                    std::is_standard_layout_v<lbcrypto::NativeInteger>,
                "Hemera takes OpenFHE of 64-bit native integers (NATIVE_SIZE=64)");

  static Context existing(Context context) {
    if (context == nullptr) throw MismatchError("the crypto context is a null pointer");
    return context;
  }
  static std::vector<std::byte> serialized(const Context& context) {
    std::stringstream stream;
    lbcrypto::Serial::Serialize(context, stream, lbcrypto::SerType::BINARY);
    const std::string text = stream.str();
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }
  static std::vector<interop::openfhe::RootedPrime> special_primes(const Context& context) {
    const auto parameters =
        std::dynamic_pointer_cast<lbcrypto::CryptoParametersRNS>(context->GetCryptoParameters());
    std::vector<interop::openfhe::RootedPrime> primes;
    if (parameters == nullptr || parameters->GetParamsP() == nullptr) return primes;
    for (const auto& prime : parameters->GetParamsP()->GetParams()) {
      primes.push_back({prime->GetModulus().ConvertToInt(), prime->GetRootOfUnity().ConvertToInt()});
    }
    return primes;
  }
  static std::vector<interop::openfhe::PolynomialView> views(
      const std::vector<lbcrypto::DCRTPoly>& polynomials) {
    std::vector<interop::openfhe::PolynomialView> result;
    for (const lbcrypto::DCRTPoly& polynomial : polynomials) {
      auto& view = result.emplace_back();
      view.is_evaluation = polynomial.GetFormat() == Format::EVALUATION;
      for (const auto& limb : polynomial.GetAllElements()) {
        auto& words = view.limbs.emplace_back();
        words.modulus = limb.GetModulus().ConvertToInt();
        words.root = limb.GetRootOfUnity().ConvertToInt();
        if (limb.IsEmpty()) continue;
        const lbcrypto::NativeVector& values = limb.GetValues();
        words.words = {reinterpret_cast<const std::uint64_t*>(&values[0]), values.GetLength()};
      }
    }
    return result;
  }
  static interop::openfhe::SwitchingKeyView view(const lbcrypto::EvalKey<lbcrypto::DCRTPoly>& key) {
    return {.a = views(key->GetAVector()), .b = views(key->GetBVector())};
  }
  [[nodiscard]] lbcrypto::PlaintextEncodings encoding(const rlwe::Metadata& meta) const {
    if (session_.params().scheme() == rlwe::Scheme::ckks) return lbcrypto::CKKS_PACKED_ENCODING;
    return meta.encoding == rlwe::Encoding::slots ? lbcrypto::PACKED_ENCODING
                                                  : lbcrypto::COEF_PACKED_ENCODING;
  }
  // Those of the tag in OpenFHE's maps, if there are any.
  void load_keys() {
    using Maps = lbcrypto::CryptoContextImpl<lbcrypto::DCRTPoly>;
    if (const auto found = Maps::GetAllEvalMultKeys().find(key_tag_);
        found != Maps::GetAllEvalMultKeys().end()) {
      std::vector<interop::openfhe::SwitchingKeyView> powers;
      for (const auto& key : found->second) powers.push_back(view(key));
      session_.import_relinearization(powers);
    }
    if (const auto found = Maps::GetAllEvalAutomorphismKeys().find(key_tag_);
        found != Maps::GetAllEvalAutomorphismKeys().end()) {
      std::map<std::uint32_t, interop::openfhe::SwitchingKeyView> keys;
      for (const auto& [index, key] : *found->second) keys.emplace(index, view(key));
      session_.import_galois(keys);
    }
  }

  Context context_;
  std::string key_tag_;
  interop::openfhe::Session session_;
  std::vector<std::shared_ptr<Base>> bases_;
};

/// A result, which stays where it was computed. It becomes OpenFHE's ciphertext wherever one is needed.
class OpenFheCiphertext {
 public:
  OpenFheCiphertext(std::shared_ptr<const OpenFheParty> party, std::shared_ptr<const rlwe::Ciphertext> value)
      : party_(std::move(party)), value_(std::move(value)) {}

  /// A copy in the host's memory, at each conversion.
  operator lbcrypto::Ciphertext<lbcrypto::DCRTPoly>() const {  // NOLINT(google-explicit-constructor)
    return party_->download(*value_);
  }
  operator std::shared_ptr<const OpenFheParty::Ciphertext>() const {  // NOLINT(google-explicit-constructor)
    return party_->download(*value_);
  }

  [[nodiscard]] const std::shared_ptr<const rlwe::Ciphertext>& value() const { return value_; }

  /// As of OpenFHE's ciphertexts, which are pointers; these need no copy.
  const OpenFheCiphertext* operator->() const { return this; }
  [[nodiscard]] std::size_t GetLevel() const { return metadata().level; }
  [[nodiscard]] std::size_t GetNoiseScaleDeg() const {
    return static_cast<std::size_t>(metadata().noise_scale_degree);
  }
  [[nodiscard]] double GetScalingFactor() const { return metadata().scaling_factor; }
  [[nodiscard]] lbcrypto::NativeInteger GetScalingFactorInt() const {
    return lbcrypto::NativeInteger(metadata().scaling_factor_int);
  }
  [[nodiscard]] std::uint32_t GetSlots() const { return static_cast<std::uint32_t>(metadata().slots); }
  [[nodiscard]] std::size_t NumberCiphertextElements() const { return value_->size(); }

 private:
  [[nodiscard]] interop::openfhe::Metadata metadata() const { return party_->session().metadata(*value_); }

  std::shared_ptr<const OpenFheParty> party_;
  std::shared_ptr<const rlwe::Ciphertext> value_;
};

/// What EvalFastRotationPrecompute makes of a ciphertext, on the device.
class OpenFheDigits {
 public:
  explicit OpenFheDigits(rlwe::Digits digits)
      : digits_(std::make_shared<const rlwe::Digits>(std::move(digits))) {}
  [[nodiscard]] const rlwe::Digits& value() const { return *digits_; }

 private:
  std::shared_ptr<const rlwe::Digits> digits_;
};

/// Operations of lbcrypto::CryptoContext. Operands are OpenFHE's ciphertexts, which travel at each call, or
/// OpenFheCiphertext, which do not. Results have the level, noise-scale degree, scaling factor and integer
/// factor that OpenFHE's have. Plaintexts travel as values, and are encoded on the device. Any number of
/// threads may use it. Errors are Hemera's exceptions.
class OpenFheEvaluator {
 public:
  using Ciphertext = OpenFheCiphertext;
  using Plaintext = lbcrypto::ReadOnlyPlaintext;

  /// Keys are those that OpenFHE has for the tag at this time. Throws what Session throws: FormatError for
  /// contexts that Hemera does not have.
  OpenFheEvaluator(OpenFheParty::Context context, std::string key_tag, const std::string& device)
      : party_(std::make_shared<const OpenFheParty>(std::move(context), std::move(key_tag), device)),
        evaluator_(party_->session().evaluator()),
        lazy_(any_scheme::make_evaluator(evaluator_->context(), evaluator_->keys(),
                                         rlwe::Relinearization::lazy)) {}

  /// An operand: a ciphertext of either kind.
  class Operand {
   public:
    // NOLINTBEGIN(google-explicit-constructor)
    Operand(std::shared_ptr<const OpenFheParty::Ciphertext> host) : host_(std::move(host)) {}
    Operand(const lbcrypto::Ciphertext<lbcrypto::DCRTPoly>& host) : host_(host) {}
    Operand(const OpenFheCiphertext& device) : device_(device.value()) {}
    // NOLINTEND(google-explicit-constructor)

   private:
    friend class OpenFheEvaluator;
    std::shared_ptr<const OpenFheParty::Ciphertext> host_;
    std::shared_ptr<const rlwe::Ciphertext> device_;
  };

  /// To the device, once for several operations.
  [[nodiscard]] Ciphertext Upload(const Operand& ciphertext) const { return {party_, get(ciphertext)}; }

  // --- Sums. ---
  [[nodiscard]] Ciphertext EvalNegate(const Operand& ciphertext) const {
    return result(evaluator_->negate(*get(ciphertext)));
  }
  [[nodiscard]] Ciphertext EvalAdd(const Operand& ciphertext1, const Operand& ciphertext2) const {
    const auto [a, b] = get(ciphertext1, ciphertext2);
    return result(evaluator_->add(*a, *b));
  }
  [[nodiscard]] Ciphertext EvalSub(const Operand& ciphertext1, const Operand& ciphertext2) const {
    const auto [a, b] = get(ciphertext1, ciphertext2);
    return result(evaluator_->subtract(*a, *b));
  }
  [[nodiscard]] Ciphertext EvalAdd(const Operand& ciphertext, const Plaintext& plaintext) const {
    rlwe::Ciphertext sum = get(ciphertext)->clone();
    const rlwe::Plaintext term = addend(sum, plaintext.get());
    evaluator_->add_plain_inplace(sum, term);
    return result(std::move(sum));
  }
  [[nodiscard]] Ciphertext EvalAdd(const Plaintext& plaintext, const Operand& ciphertext) const {
    return EvalAdd(ciphertext, plaintext);
  }
  [[nodiscard]] Ciphertext EvalSub(const Operand& ciphertext, const Plaintext& plaintext) const {
    rlwe::Ciphertext difference = get(ciphertext)->clone();
    const rlwe::Plaintext term = addend(difference, plaintext.get());
    evaluator_->subtract_plain_inplace(difference, term);
    return result(std::move(difference));
  }
  [[nodiscard]] Ciphertext EvalSub(const Plaintext& plaintext, const Operand& ciphertext) const {
    return EvalAdd(EvalNegate(ciphertext), plaintext);
  }
  /// Numbers are operands of CKKS alone, as in OpenFHE: ParameterError for BFV and BGV.
  [[nodiscard]] Ciphertext EvalAdd(const Operand& ciphertext, std::complex<double> scalar) const {
    require_ckks("EvalAdd");
    rlwe::Ciphertext sum = get(ciphertext)->clone();
    evaluator_->add_scalar_inplace(sum, {.value = scalar, .integer = 0});
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
    return result(evaluator_->multiply(*a, *b));
  }
  [[nodiscard]] Ciphertext EvalSquare(const Operand& ciphertext) const {
    return result(evaluator_->square(*get(ciphertext)));
  }
  /// Three components.
  [[nodiscard]] Ciphertext EvalMultNoRelin(const Operand& ciphertext1, const Operand& ciphertext2) const {
    const auto [a, b] = get(ciphertext1, ciphertext2);
    return result(lazy_->multiply(*a, *b));
  }
  [[nodiscard]] Ciphertext Relinearize(const Operand& ciphertext) const {
    rlwe::Ciphertext relinearized = get(ciphertext)->clone();
    evaluator_->relinearize_inplace(relinearized);
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
    evaluator_->multiply_scalar_inplace(scaled, {.value = scalar, .integer = 0});
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

  /// The same: every product is relinearized.
  [[nodiscard]] Ciphertext EvalMultAndRelinearize(const Operand& ciphertext1,
                                                  const Operand& ciphertext2) const {
    return EvalMult(ciphertext1, ciphertext2);
  }

  // --- Of many: vectors of either kind of ciphertexts, in OpenFHE's order. MismatchError for none. ---
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

  // --- Those that may change their operands in OpenFHE, and do not here. ---
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

  // --- Functions of CKKS's values. Results are rescaled, and at the level that OpenFHE's are when they are:
  // under FIXEDMANUAL as they come. LevelError where that is below the last level. ---
  /// By powers, the lowest first.
  template <typename Number>
  [[nodiscard]] Ciphertext EvalPoly(const Operand& ciphertext,
                                    const std::vector<Number>& coefficients) const {
    return polynomial("EvalPoly", ciphertext, {coefficients.begin(), coefficients.end()},
                      circuits::Basis::power, {});
  }
  /// By Chebyshev polynomials of [a, b]; half the first coefficient counts.
  template <typename Number>
  [[nodiscard]] Ciphertext EvalChebyshevSeries(const Operand& ciphertext,
                                               const std::vector<Number>& coefficients, double a,
                                               double b) const {
    std::vector<std::complex<double>> all(coefficients.begin(), coefficients.end());
    if (!all.empty()) all[0] /= 2;
    return polynomial("EvalChebyshevSeries", ciphertext, std::move(all), circuits::Basis::chebyshev,
                      {.low = a, .high = b});
  }
  /// By OpenFHE's coefficients, as those that follow.
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
    const rlwe::Context& context = *evaluator_->context();
    return OpenFheDigits(rlwe::decompose(
        *get(ciphertext), context.gadget(context.parameters().default_gadget(context.top_level()))));
  }
  /// The digits are the ciphertext's; MissingKeyError without the rotation's key.
  [[nodiscard]] Ciphertext EvalFastRotation(const Operand& ciphertext, std::uint32_t index,
                                            const OpenFheDigits& digits) const {
    if (index == 0) return Upload(ciphertext);
    const rlwe::Digits& given = digits.value();
    const auto step = static_cast<std::int32_t>(index);
    const std::uint64_t element = evaluator_->context()->galois_element(step);
    const auto key = evaluator_->keys().find(rlwe::KeyRole::galois(element), given.meta.level);
    if (key == nullptr) {
      throw MissingKeyError("EvalFastRotation: no key for the rotation by " + std::to_string(step));
    }
    return result(rlwe::mod_down(rlwe::switch_extended(given, *key, element)));
  }
  [[nodiscard]] Ciphertext EvalFastRotation(const Operand& ciphertext, std::uint32_t index,
                                            std::uint32_t /*order*/, const OpenFheDigits& digits) const {
    return EvalFastRotation(ciphertext, index, digits);
  }
  /// Each slot becomes the sum of `batch_size` slots from it on (BFV and BGV with all slots: over both rows).
  [[nodiscard]] Ciphertext EvalSum(const Operand& ciphertext, std::uint32_t batch_size) const {
    rlwe::Ciphertext sum = get(ciphertext)->clone();
    const std::size_t row = evaluator_->context()->degree() / 2;
    for (std::size_t step = 1; step < batch_size; step *= 2) {
      const bool rows = scheme() != rlwe::Scheme::ckks && step == row;
      evaluator_->add_inplace(
          sum, rows ? evaluator_->conjugate(sum) : evaluator_->rotate(sum, static_cast<std::int64_t>(step)));
    }
    return result(std::move(sum));
  }
  /// Of a ciphertext and a ciphertext or a plaintext.
  template <typename Second>
  [[nodiscard]] Ciphertext EvalInnerProduct(const Operand& first, const Second& second,
                                            std::uint32_t batch_size) const {
    return EvalSum(EvalMult(first, second), batch_size);
  }
  /// The first slots of all, one after the other.
  template <typename Any>
  [[nodiscard]] Ciphertext EvalMerge(const std::vector<Any>& ciphertexts) const {
    if (ciphertexts.empty()) throw MismatchError("EvalMerge: no ciphertexts");
    const Ciphertext first = Upload(ciphertexts.front());
    const Plaintext mask = scheme() == rlwe::Scheme::ckks
                               ? party_->context()->MakeCKKSPackedPlaintext(
                                     std::vector<std::complex<double>>{1, 0}, 1, 0, nullptr, first.GetSlots())
                               : party_->context()->MakePackedPlaintext({1, 0});
    Ciphertext merged = EvalMult(first, mask);
    for (std::size_t i = 1; i < ciphertexts.size(); ++i) {
      merged = EvalAdd(merged, EvalRotate(EvalMult(ciphertexts[i], mask), -static_cast<std::int32_t>(i)));
    }
    return merged;
  }
  [[nodiscard]] Ciphertext EvalRotate(const Operand& ciphertext, std::int32_t index) const {
    return result(evaluator_->rotate(*get(ciphertext), index));
  }
  [[nodiscard]] Ciphertext EvalAtIndex(const Operand& ciphertext, std::int32_t index) const {
    return EvalRotate(ciphertext, index);
  }

  // --- Levels: as in OpenFHE, what is left to the caller under FIXEDMANUAL, and nothing otherwise. ---
  [[nodiscard]] Ciphertext Rescale(const Operand& ciphertext) const {
    const auto source = get(ciphertext);
    return result(is_manual() ? evaluator_->rescale(*source) : source->clone());
  }
  [[nodiscard]] Ciphertext ModReduce(const Operand& ciphertext) const { return Rescale(ciphertext); }
  /// The key is not used, as in OpenFHE. ParameterError for BFV, LevelError where too few limbs are left.
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
    return result(evaluator_->lower_to_level(*source, source->meta.level - levels));
  }
  /// OpenFHE's EvalBootstrap; it must have been set up, and its keys made, before the evaluator was.
  [[nodiscard]] Ciphertext EvalBootstrap(const Operand& ciphertext, std::uint32_t iterations = 1,
                                         std::uint32_t precision = 0) const {
    return result(party_->session().bootstrap(*get(ciphertext), static_cast<int>(iterations),
                                              static_cast<int>(precision)));
  }

  // --- The same in place, of either kind of ciphertext: what OpenFHE's pointers point to changes. ---
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
  using Held = std::shared_ptr<const rlwe::Ciphertext>;

  // An operand on the device, which it stays on; or a copy there.
  [[nodiscard]] Held get(const Operand& operand) const {
    if (operand.device_ != nullptr) return operand.device_;
    return std::make_shared<const rlwe::Ciphertext>(party_->upload(operand.host_.get()));
  }
  // One twice travels once, and is squared as one.
  [[nodiscard]] std::pair<Held, Held> get(const Operand& first, const Operand& second) const {
    Held a = get(first);
    const bool same = first.host_ == second.host_ && first.device_ == second.device_;
    Held b = same ? a : get(second);
    return {std::move(a), std::move(b)};
  }
  static void put(Ciphertext value, Ciphertext& target) { target = std::move(value); }
  static void put(const Ciphertext& value, const lbcrypto::Ciphertext<lbcrypto::DCRTPoly>& target) {
    const lbcrypto::Ciphertext<lbcrypto::DCRTPoly> host = value;
    *target = std::move(*host);
  }
  [[nodiscard]] Ciphertext result(rlwe::Ciphertext value) const {
    return {party_, std::make_shared<const rlwe::Ciphertext>(std::move(value))};
  }

  // Pairs in a row, whose results follow as operands.
  template <typename Any, typename Fold>
  [[nodiscard]] Ciphertext folded(const char* operation, const std::vector<Any>& ciphertexts,
                                  const Fold& fold) const {
    if (ciphertexts.empty()) throw MismatchError(std::string(operation) + ": no ciphertexts");
    std::vector<Ciphertext> all;
    for (const Any& ciphertext : ciphertexts) all.push_back(Upload(ciphertext));
    for (std::size_t i = 0; i + 1 < all.size(); i += 2) all.push_back(fold(all[i], all[i + 1]));
    return all.back();
  }

  // The levels that OpenFHE takes for a polynomial of a degree, whatever its coefficients: its table is for
  // intervals other than [-1, 1], and for degrees above 4, where it goes by Paterson and Stockmeyer.
  [[nodiscard]] Ciphertext polynomial(const char* operation, const Operand& ciphertext,
                                      std::vector<std::complex<double>> coefficients, circuits::Basis basis,
                                      circuits::Interval interval) const {
    require_ckks(operation);
    if (coefficients.size() < 2) throw ParameterError(std::string(operation) + ": two coefficients at least");
    const std::size_t degree = coefficients.size() - 1;
    const std::size_t levels = lbcrypto::GetDepthByDegree(degree) - (degree > 4 ? 1 : 0) +
                               (interval == circuits::Interval{} ? 0 : 1);
    const Held source = get(ciphertext);
    const auto& context = evaluator_->context();
    const std::size_t used = levels + static_cast<std::size_t>(source->meta.noise_scale_degree - 1);
    if (used > source->meta.level) {
      throw LevelError(std::string(operation) + ": it takes " + std::to_string(used) +
                       " levels, and the ciphertext has " + std::to_string(source->meta.level));
    }
    const circuits::FunctionPlan plan(
        context->parameters(),
        circuits::Function(circuits::Polynomial(std::move(coefficients), basis, interval)),
        {.level = source->meta.level - (used - levels), .slots = source->meta.slots});
    const rlwe::Ciphertext* const input = source.get();
    rlwe::Ciphertext value = std::move(circuits::PreparedFunction(context, plan)(
                                           ckks::Evaluator(context, evaluator_->keys()), std::span(&input, 1))
                                           .front());
    evaluator_->lower_to_level_inplace(value, source->meta.level - used);
    return result(std::move(value));
  }

  [[nodiscard]] rlwe::Scheme scheme() const { return evaluator_->context()->scheme(); }
  [[nodiscard]] bool is_manual() const {
    return scheme() != rlwe::Scheme::bfv &&
           evaluator_->context()->scales().policy().rescale_by == rlwe::RescaleBy::caller;
  }
  void require_ckks(const char* operation) const {
    if (scheme() == rlwe::Scheme::ckks) return;
    throw ParameterError(std::string(operation) +
                         ": numbers are operands of CKKS alone, as in OpenFHE; make a plaintext of it");
  }

  // The level of a plaintext of this noise-scale degree that is rescaled until its degree is 1.
  [[nodiscard]] std::size_t level_of(const lbcrypto::PlaintextImpl& plaintext, std::size_t rescales) const {
    const std::size_t top = evaluator_->context()->top_level();
    const std::size_t dropped = plaintext.GetLevel() + rescales;
    if (dropped > top) throw LevelError("the plaintext is below the last level");
    return top - dropped;
  }
  [[nodiscard]] rlwe::Plaintext encoded(const lbcrypto::PlaintextImpl& plaintext, std::size_t level,
                                        double scale) const {
    const auto& context = evaluator_->context();
    switch (plaintext.GetEncodingType()) {
      case lbcrypto::CKKS_PACKED_ENCODING: {
        std::vector<std::complex<double>> values = plaintext.GetCKKSPackedValue();
        values.resize(plaintext.GetSlots());
        return ckks::Encoder(context).encode(values, {}, level, scale);
      }
      case lbcrypto::PACKED_ENCODING:
        return integer::Encoder(context).encode(plaintext.GetPackedValue(), {});
      case lbcrypto::COEF_PACKED_ENCODING:
        return integer::Encoder(context).encode(plaintext.GetCoefPackedValue(), {},
                                                rlwe::Encoding::coefficients);
      default:
        throw ParameterError("Hemera does not have the encoding of the plaintext");
    }
  }
  static const lbcrypto::PlaintextImpl& existing(const lbcrypto::PlaintextImpl* plaintext) {
    if (plaintext == nullptr) throw MismatchError("the plaintext is a null pointer");
    return *plaintext;
  }
  // What is added to `ciphertext`, which goes down to the plaintext's level.
  [[nodiscard]] rlwe::Plaintext addend(rlwe::Ciphertext& ciphertext,
                                       const lbcrypto::PlaintextImpl* plaintext) const {
    const lbcrypto::PlaintextImpl& given = existing(plaintext);
    if (scheme() == rlwe::Scheme::bfv) return encoded(given, 0, 1);
    const std::size_t level = level_of(given, 0);
    if (level < ciphertext.meta.level) evaluator_->lower_to_level_inplace(ciphertext, level);
    const auto degree = static_cast<std::size_t>(ciphertext.meta.noise_scale_degree);
    if (level == ciphertext.meta.level && given.GetNoiseScaleDeg() > degree) {
      throw ScaleError("the plaintext has the noise-scale degree " +
                       std::to_string(given.GetNoiseScaleDeg()) + ", above " + std::to_string(degree) +
                       " of the ciphertext; encode it with the ciphertext's");
    }
    const auto operand = evaluator_->context()->scales().operand_of_sum(ciphertext.meta);
    return encoded(given, operand.level, operand.scale);
  }
  [[nodiscard]] rlwe::Ciphertext product(Held ciphertext, const lbcrypto::PlaintextImpl* plaintext) const {
    const lbcrypto::PlaintextImpl& given = existing(plaintext);
    if (scheme() == rlwe::Scheme::bfv) return evaluator_->multiply_plain(*ciphertext, encoded(given, 0, 1));
    const rlwe::ScalePolicy& scales = evaluator_->context()->scales();
    const bool manual = is_manual();
    const auto degree = static_cast<int>(given.GetNoiseScaleDeg());
    const std::size_t level = level_of(given, manual || degree < 2 ? 0 : given.GetNoiseScaleDeg() - 1);
    if (level < scales.operand_of_product(ciphertext->meta).level) {
      ciphertext = std::make_shared<const rlwe::Ciphertext>(evaluator_->lower_to_level(*ciphertext, level));
    }
    const auto operand = scales.operand_of_product(ciphertext->meta);
    const double scale = manual ? given.GetScalingFactor() : operand.scale;
    rlwe::Ciphertext result = evaluator_->multiply_plain(*ciphertext, encoded(given, operand.level, scale));
    if (manual) result.meta.noise_scale_degree += degree - 1;
    return result;
  }

  std::shared_ptr<const OpenFheParty> party_;
  std::shared_ptr<const rlwe::Evaluator> evaluator_;
  std::shared_ptr<const rlwe::Evaluator> lazy_;
};

/// An evaluator on a device ("cpu", "cuda", "cuda:1") for the key pair of this tag, whose relinearization and
/// automorphism keys are brought there once.
inline std::shared_ptr<const OpenFheEvaluator> accelerate(
    const lbcrypto::CryptoContext<lbcrypto::DCRTPoly>& context, const std::string& key_tag,
    const std::string& device = "cpu") {
  return std::make_shared<const OpenFheEvaluator>(context, key_tag, device);
}

}  // namespace hemera::adapters
