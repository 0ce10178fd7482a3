// Operands of OpenFHE's operations as Hemera's: ciphertexts, which travel or stay, and plaintexts, which
// travel as values and are encoded at the level of OpenFHE's rules (docs/clients-openfhe.md).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hemera/adapters/openfhe/crossing.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/scale_policy.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"

namespace hemera::adapters {

/// An operand: a ciphertext of either kind.
class OpenFheOperand {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  OpenFheOperand(std::shared_ptr<const OpenFheParty::Ciphertext> host) : host_(std::move(host)) {}
  OpenFheOperand(const lbcrypto::Ciphertext<lbcrypto::DCRTPoly>& host) : host_(host) {}
  OpenFheOperand(const OpenFheCiphertext& device) : device_(device.value()) {}
  // NOLINTEND(google-explicit-constructor)

 private:
  friend class OpenFheOperands;
  std::shared_ptr<const OpenFheParty::Ciphertext> host_;
  std::shared_ptr<const rlwe::Ciphertext> device_;
};

/// Shared by the operations of an evaluator: Hemera's evaluator with the client's keys, and the conversions
/// of operands and results.
class OpenFheOperands {
 protected:
  using Ciphertext = OpenFheCiphertext;
  using Held = std::shared_ptr<const rlwe::Ciphertext>;

  OpenFheOperands(OpenFheParty::Context context, std::string key_tag, const std::string& device)
      : party_(std::make_shared<const OpenFheParty>(std::move(context), std::move(key_tag), device)),
        evaluator_(party_->session().evaluator()) {}

  [[nodiscard]] const OpenFheParty& party() const { return *party_; }
  [[nodiscard]] const rlwe::Evaluator& evaluator() const { return *evaluator_; }
  [[nodiscard]] rlwe::Scheme scheme() const { return evaluator_->context()->scheme(); }
  [[nodiscard]] bool is_manual() const {
    return scheme() != rlwe::Scheme::bfv &&
           evaluator_->context()->scales().policy().rescale_by == rlwe::RescaleBy::caller;
  }
  void require_ckks(const char* operation) const {
    if (scheme() == rlwe::Scheme::ckks) return;
    throw ParameterError(std::string(operation) +
                         " is of CKKS alone, as in OpenFHE; of a number make a plaintext");
  }

  // An operand that is on the device, or a copy there.
  [[nodiscard]] Held get(const OpenFheOperand& operand) const {
    if (operand.device_ != nullptr) return operand.device_;
    return std::make_shared<const rlwe::Ciphertext>(party_->upload(operand.host_.get()));
  }
  // An operand given twice travels once, and is squared.
  [[nodiscard]] std::pair<Held, Held> get(const OpenFheOperand& first, const OpenFheOperand& second) const {
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
  [[nodiscard]] Ciphertext result(Held value) const { return {party_, std::move(value)}; }
  [[nodiscard]] Ciphertext result(rlwe::Ciphertext value) const {
    return result(std::make_shared<const rlwe::Ciphertext>(std::move(value)));
  }

  // The addend of `ciphertext`, which goes down to the plaintext's level.
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

 private:
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

  std::shared_ptr<const OpenFheParty> party_;
  std::shared_ptr<const rlwe::Evaluator> evaluator_;
};

}  // namespace hemera::adapters
