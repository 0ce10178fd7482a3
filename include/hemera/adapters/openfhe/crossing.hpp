// Crossings between a client's program with OpenFHE and Hemera: of the context and the keys, once, and of
// ciphertexts, through OpenFHE's accessors (docs/clients-openfhe.md).
#pragma once

#include <openfhe.h>
// OpenFHE's headers that write a crypto context, for each scheme.
#include <cryptocontext-ser.h>
#include <scheme/bfvrns/bfvrns-ser.h>
#include <scheme/bgvrns/bgvrns-ser.h>
#include <scheme/ckksrns/ckksrns-ser.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/runtime/device.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::adapters {

/// Shared by an evaluator and its results: OpenFHE's context, the tag of its key pair, and Hemera's context.
class OpenFheParty {
 public:
  using Context = lbcrypto::CryptoContext<lbcrypto::DCRTPoly>;
  using Ciphertext = lbcrypto::CiphertextImpl<lbcrypto::DCRTPoly>;

  OpenFheParty(Context context, std::string key_tag, const std::string& device)
      : context_(existing(std::move(context))),
        key_tag_(std::move(key_tag)),
        session_(serialized(context_), key_tag_, further_primes(context_, key_tag_),
                 runtime::Device::parse(device)) {
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
  // P, and the further primes of the key to an encapsulated secret.
  static interop::openfhe::FurtherPrimes further_primes(const Context& context, const std::string& key_tag) {
    const auto parameters =
        std::dynamic_pointer_cast<lbcrypto::CryptoParametersRNS>(context->GetCryptoParameters());
    interop::openfhe::FurtherPrimes primes;
    if (parameters == nullptr || parameters->GetParamsP() == nullptr) return primes;
    std::set<std::uint64_t> known;
    const auto add = [&](const Base& base, std::vector<interop::openfhe::RootedPrime>& list) {
      for (const auto& prime : base.GetParams()) {
        const std::uint64_t modulus = prime->GetModulus().ConvertToInt();
        if (known.insert(modulus).second) list.push_back({modulus, prime->GetRootOfUnity().ConvertToInt()});
      }
    };
    for (const auto& prime : context->GetElementParams()->GetParams()) {
      known.insert(prime->GetModulus().ConvertToInt());
    }
    add(*parameters->GetParamsP(), primes.special);
    using Maps = lbcrypto::CryptoContextImpl<lbcrypto::DCRTPoly>;
    const auto keys = Maps::GetAllEvalAutomorphismKeys().find(key_tag);
    if (keys == Maps::GetAllEvalAutomorphismKeys().end()) return primes;
    const auto to_sparse = keys->second->find(2 * context->GetRingDimension() - 4);
    if (to_sparse == keys->second->end() || to_sparse->second->GetAVector().empty()) return primes;
    add(*to_sparse->second->GetAVector().front().GetParams(), primes.auxiliary);
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
  // Loads the keys of the tag in OpenFHE's maps, if there are any.
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

  /// As for OpenFHE's ciphertexts, which are pointers; these functions need no copy.
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

}  // namespace hemera::adapters
