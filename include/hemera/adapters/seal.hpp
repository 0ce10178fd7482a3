// Microsoft SEAL's evaluator by Hemera, on the CPU or a GPU: compiled in the client's program, with its own
// SEAL (docs/clients-seal.md).
//
//   auto gpu = hemera::adapters::accelerate(context, relin_keys, galois_keys, "cuda");
//   hemera::adapters::SealCiphertext y;
//   gpu->multiply(x, x, y);                        // seal::Evaluator's names and arguments
//   gpu->relinearize_inplace(y, relin_keys);
//   gpu->rotate_vector_inplace(y, 1, galois_keys);
//   decryptor.decrypt(y, plain);                   // copies y to the host
#pragma once

#include <seal/seal.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hemera/interop/seal.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/device.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"

namespace hemera::adapters {

/// Shared by an evaluator and its results: SEAL's context and Hemera's.
class SealParty {
 public:
  SealParty(const ::seal::SEALContext& context, const std::string& device)
      : context_(context), session_(parms(context), runtime::Device::parse(device), options(context)) {}

  [[nodiscard]] const ::seal::SEALContext& context() const { return context_; }
  [[nodiscard]] const interop::seal::Session& session() const { return session_; }
  [[nodiscard]] interop::seal::Session& session() { return session_; }

  [[nodiscard]] rlwe::Ciphertext upload(const ::seal::Ciphertext& ciphertext) const {
    return session_.import_ciphertext(view(ciphertext));
  }
  /// `level`, BFV and BGV: the plaintext is prepared for products there.
  [[nodiscard]] rlwe::Plaintext upload(const ::seal::Plaintext& plaintext,
                                       std::optional<std::size_t> level = std::nullopt) const {
    return session_.import_plaintext({.parms_id = bytes(plaintext.parms_id()),
                                      .scale = plaintext.scale(),
                                      .words = {plaintext.data(), plaintext.coeff_count()}},
                                     level);
  }
  [[nodiscard]] ::seal::Ciphertext download(const rlwe::Ciphertext& ciphertext, bool is_ntt_form) const {
    const interop::seal::Metadata meta = session_.metadata(ciphertext);
    ::seal::Ciphertext result;
    result.resize(context_, level_data(meta.coeff_modulus_count)->parms_id(), meta.size);
    result.is_ntt_form() = is_ntt_form;
    result.scale() = meta.scale;
    result.correction_factor() = meta.correction_factor;
    session_.export_ciphertext(
        ciphertext, {result.data(), meta.size * meta.coeff_modulus_count * session_.context()->degree()},
        is_ntt_form);
    return result;
  }
  void load(const ::seal::RelinKeys& keys) { session_.import_relinearization(places(keys)); }
  void load(const ::seal::GaloisKeys& keys) { session_.import_galois(places(keys)); }

  /// Hemera's level of SEAL's parameters of data.
  [[nodiscard]] std::size_t level(const ::seal::parms_id_type& id) const {
    const auto data = context_.get_context_data(id);
    if (data == nullptr) throw MismatchError("the parms_id is not one of this context");
    const rlwe::Context& own = *session_.context();
    for (std::size_t level = 0; level <= own.top_level(); ++level) {
      if (own.base(level).size() == data->parms().coeff_modulus().size()) return level;
    }
    throw MismatchError("the parms_id is that of keys, or of a level that holds no plain modulus");
  }

 private:
  static std::vector<std::byte> parms(const ::seal::SEALContext& context) {
    std::stringstream stream;
    context.key_context_data()->parms().save(stream, ::seal::compr_mode_type::none);
    const std::string text = stream.str();
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }
  static interop::seal::Options options(const ::seal::SEALContext& context) {
    // Plaintexts are encoded already, so no scale is needed. A large one makes sums as strict about scales as
    // SEAL's are.
    constexpr double largest_scale = 0x1p120;
    return {.scale = context.key_context_data()->parms().scheme() == ::seal::scheme_type::ckks ? largest_scale
                                                                                               : 0};
  }
  static std::array<std::byte, 32> bytes(const ::seal::parms_id_type& id) {
    std::array<std::byte, 32> result;
    static_assert(sizeof(id) == sizeof(result));
    std::memcpy(result.data(), id.data(), result.size());
    return result;
  }
  static interop::seal::CiphertextView view(const ::seal::Ciphertext& ciphertext) {
    const std::size_t words =
        ciphertext.size() * ciphertext.coeff_modulus_size() * ciphertext.poly_modulus_degree();
    return {.parms_id = bytes(ciphertext.parms_id()),
            .is_ntt_form = ciphertext.is_ntt_form(),
            .size = ciphertext.size(),
            .coeff_modulus_count = ciphertext.coeff_modulus_size(),
            .scale = ciphertext.scale(),
            .correction_factor = ciphertext.correction_factor(),
            .words = {ciphertext.data(), words}};
  }
  static interop::seal::KeyPlaces places(const ::seal::KSwitchKeys& keys) {
    interop::seal::KeyPlaces result;
    for (const auto& digits : keys.data()) {
      auto& place = result.emplace_back();
      for (const ::seal::PublicKey& digit : digits) place.push_back(view(digit.data()));
    }
    return result;
  }
  [[nodiscard]] std::shared_ptr<const ::seal::SEALContext::ContextData> level_data(std::size_t primes) const {
    auto data = context_.first_context_data();
    while (data != nullptr && data->parms().coeff_modulus().size() != primes)
      data = data->next_context_data();
    if (data == nullptr) throw MismatchError("SEAL has no level of " + std::to_string(primes) + " primes");
    return data;
  }

  ::seal::SEALContext context_;
  interop::seal::Session session_;
};

/// A result, which stays where it was computed. It becomes a seal::Ciphertext wherever one is needed.
class SealCiphertext {
 public:
  /// An empty destination of an operation.
  SealCiphertext() = default;
  SealCiphertext(std::shared_ptr<const SealParty> party, rlwe::Ciphertext value, bool is_ntt_form)
      : party_(std::move(party)),
        value_(std::make_shared<const rlwe::Ciphertext>(std::move(value))),
        is_ntt_form_(is_ntt_form) {}

  /// A copy in the host's memory. Throws MismatchError for an empty one.
  operator ::seal::Ciphertext() const {  // NOLINT(google-explicit-constructor)
    return party_->download(value(), is_ntt_form_);
  }

  [[nodiscard]] const rlwe::Ciphertext& value() const {
    if (value_ == nullptr) throw MismatchError("the ciphertext is empty: no operation has written it");
    return *value_;
  }
  [[nodiscard]] std::size_t size() const { return value_ == nullptr ? 0 : value_->size(); }
  /// The form of the seal::Ciphertext that it becomes.
  [[nodiscard]] bool is_ntt_form() const { return is_ntt_form_; }
  [[nodiscard]] double scale() const { return value().meta.scale; }
  [[nodiscard]] std::uint64_t correction_factor() const { return value().meta.correction; }
  [[nodiscard]] std::size_t coeff_modulus_size() const {
    return value().context->base(value().meta.level).size();
  }

 private:
  friend class SealEvaluator;
  std::shared_ptr<const SealParty> party_;
  std::shared_ptr<const rlwe::Ciphertext> value_;
  bool is_ntt_form_ = false;
};

/// A plaintext that is on the device, for several operations.
class SealPlaintext {
 public:
  /// An empty destination of SealEvaluator::transform_to_ntt.
  SealPlaintext() = default;
  explicit SealPlaintext(rlwe::Plaintext value)
      : value_(std::make_shared<const rlwe::Plaintext>(std::move(value))) {}

  /// Throws MismatchError for an empty one.
  [[nodiscard]] const std::shared_ptr<const rlwe::Plaintext>& value() const {
    if (value_ == nullptr) throw MismatchError("the plaintext is empty: no operation has written it");
    return value_;
  }

 private:
  std::shared_ptr<const rlwe::Plaintext> value_;
};

/// seal::Evaluator's operations. Operands and destinations are seal::Ciphertext, which travel, or
/// SealCiphertext, which do not; plaintexts seal::Plaintext or SealPlaintext. On the device all is in NTT
/// form: operations take operands of either form, and a result has that of its first operand. The keys are
/// those of `accelerate`. Any number of threads may use it. Results have SEAL's size, level, scale and
/// correction factor, except that operands of more than two components are relinearized before they are
/// multiplied or rotated. Throws Hemera's exceptions, and std::invalid_argument for other keys.
class SealEvaluator {
 public:
  /// The keys must outlive the evaluator only if they are given to operations. Throws the errors of Session.
  SealEvaluator(const ::seal::SEALContext& context, const ::seal::RelinKeys* relin_keys,
                const ::seal::GaloisKeys* galois_keys, const std::string& device)
      : relin_keys_(relin_keys), galois_keys_(galois_keys) {
    auto party = std::make_shared<SealParty>(context, device);
    if (relin_keys != nullptr) party->load(*relin_keys);
    if (galois_keys != nullptr) party->load(*galois_keys);
    evaluator_ = any_scheme::make_evaluator(party->session().context(), party->session().keys(),
                                            rlwe::Relinearization::lazy);
    party_ = std::move(party);
  }

  /// An operand: a ciphertext of either kind.
  class Operand {
   public:
    Operand(const ::seal::Ciphertext& host) : host_(&host) {}    // NOLINT(google-explicit-constructor)
    Operand(const SealCiphertext& device) : device_(&device) {}  // NOLINT(google-explicit-constructor)

   private:
    friend class SealEvaluator;
    const ::seal::Ciphertext* host_ = nullptr;
    const SealCiphertext* device_ = nullptr;
  };

  /// An operand: a plaintext of either kind.
  class PlainOperand {
   public:
    PlainOperand(const ::seal::Plaintext& host) : host_(&host) {}    // NOLINT(google-explicit-constructor)
    PlainOperand(const SealPlaintext& device) : device_(&device) {}  // NOLINT(google-explicit-constructor)

   private:
    friend class SealEvaluator;
    const ::seal::Plaintext* host_ = nullptr;
    const SealPlaintext* device_ = nullptr;
  };

  /// Copies an operand to the device, once for several operations.
  [[nodiscard]] SealCiphertext upload(const ::seal::Ciphertext& ciphertext) const {
    return {party_, party_->upload(ciphertext), ciphertext.is_ntt_form()};
  }
  [[nodiscard]] SealPlaintext upload(const ::seal::Plaintext& plaintext) const {
    return SealPlaintext(party_->upload(plaintext));
  }

  /// BFV and BGV: to the device, prepared for products at the level of `parms_id`. A seal::Plaintext that
  /// SEAL's own evaluator transformed is an operand too.
  void transform_to_ntt(const ::seal::Plaintext& plain, ::seal::parms_id_type parms_id,
                        SealPlaintext& destination_ntt) const {
    destination_ntt = SealPlaintext(party_->upload(plain, party_->level(parms_id)));
  }
  template <typename Destination>
  void transform_to_ntt(const Operand& encrypted, Destination& destination_ntt) const {
    transform(encrypted, true, destination_ntt);
  }
  template <typename Destination>
  void transform_from_ntt(const Operand& encrypted_ntt, Destination& destination) const {
    transform(encrypted_ntt, false, destination);
  }

  template <typename Destination>
  void negate(const Operand& encrypted, Destination& destination) const {
    put(evaluator_->negate(*get(encrypted)), encrypted, destination);
  }
  template <typename Destination>
  void add(const Operand& encrypted1, const Operand& encrypted2, Destination& destination) const {
    put(evaluator_->add(*get(encrypted1), *get(encrypted2)), encrypted1, destination);
  }
  template <typename Ciphertext, typename Destination>
  void add_many(const std::vector<Ciphertext>& encrypteds, Destination& destination) const {
    const Held held = get_all(encrypteds);
    rlwe::Ciphertext result = evaluator_->add_many(held.pointers);
    put(std::move(result), encrypteds.front(), destination);
  }
  template <typename Destination>
  void sub(const Operand& encrypted1, const Operand& encrypted2, Destination& destination) const {
    put(evaluator_->subtract(*get(encrypted1), *get(encrypted2)), encrypted1, destination);
  }
  /// Three components, as SEAL's.
  template <typename Destination>
  void multiply(const Operand& encrypted1, const Operand& encrypted2, Destination& destination) const {
    put(evaluator_->multiply(*get(encrypted1), *get(encrypted2)), encrypted1, destination);
  }
  template <typename Destination>
  void square(const Operand& encrypted, Destination& destination) const {
    put(evaluator_->square(*get(encrypted)), encrypted, destination);
  }
  template <typename Destination>
  void relinearize(const Operand& encrypted, const ::seal::RelinKeys& relin_keys,
                   Destination& destination) const {
    require(relin_keys);
    rlwe::Ciphertext result = get(encrypted)->clone();
    evaluator_->relinearize_inplace(result);
    put(std::move(result), encrypted, destination);
  }
  template <typename Destination>
  void mod_switch_to_next(const Operand& encrypted, Destination& destination) const {
    const auto source = get(encrypted);
    if (source->meta.level == 0) throw LevelError("mod_switch_to_next: the ciphertext is at the last level");
    put(dropped(*source, source->meta.level - 1), encrypted, destination);
  }
  template <typename Destination>
  void mod_switch_to(const Operand& encrypted, ::seal::parms_id_type parms_id,
                     Destination& destination) const {
    put(dropped(*get(encrypted), party_->level(parms_id)), encrypted, destination);
  }
  /// BGV and CKKS: drops a prime without dividing by it. Throws MismatchError for BFV, where SEAL's result
  /// holds another message.
  template <typename Destination>
  void mod_reduce_to_next(const Operand& encrypted, Destination& destination) const {
    const auto source = get(encrypted);
    if (source->meta.level == 0) throw LevelError("mod_reduce_to_next: the ciphertext is at the last level");
    put(party_->session().reduced(*source, source->meta.level - 1), encrypted, destination);
  }
  template <typename Destination>
  void mod_reduce_to(const Operand& encrypted, ::seal::parms_id_type parms_id,
                     Destination& destination) const {
    put(party_->session().reduced(*get(encrypted), party_->level(parms_id)), encrypted, destination);
  }
  template <typename Destination>
  void rescale_to_next(const Operand& encrypted, Destination& destination) const {
    require_ckks("rescale_to_next");
    put(evaluator_->rescale(*get(encrypted)), encrypted, destination);
  }
  template <typename Destination>
  void rescale_to(const Operand& encrypted, ::seal::parms_id_type parms_id, Destination& destination) const {
    require_ckks("rescale_to");
    const std::size_t level = party_->level(parms_id);
    rlwe::Ciphertext result = get(encrypted)->clone();
    if (level > result.meta.level) throw LevelError("rescale_to: levels only go down");
    while (result.meta.level > level) evaluator_->rescale_inplace(result);
    put(std::move(result), encrypted, destination);
  }
  template <typename Ciphertext, typename Destination>
  void multiply_many(const std::vector<Ciphertext>& encrypteds, const ::seal::RelinKeys& relin_keys,
                     Destination& destination) const {
    require(relin_keys);
    const Held held = get_all(encrypteds);
    rlwe::Ciphertext result = evaluator_->multiply_many(held.pointers);
    evaluator_->relinearize_inplace(result);
    put(std::move(result), encrypteds.front(), destination);
  }
  template <typename Destination>
  void exponentiate(const Operand& encrypted, std::uint64_t exponent, const ::seal::RelinKeys& relin_keys,
                    Destination& destination) const {
    require(relin_keys);
    rlwe::Ciphertext result = evaluator_->power(*get(encrypted), exponent);
    evaluator_->relinearize_inplace(result);
    put(std::move(result), encrypted, destination);
  }
  template <typename Destination>
  void add_plain(const Operand& encrypted, const PlainOperand& plain, Destination& destination) const {
    rlwe::Ciphertext result = get(encrypted)->clone();
    evaluator_->add_plain_inplace(result, *get(plain));
    put(std::move(result), encrypted, destination);
  }
  template <typename Destination>
  void sub_plain(const Operand& encrypted, const PlainOperand& plain, Destination& destination) const {
    rlwe::Ciphertext result = get(encrypted)->clone();
    evaluator_->subtract_plain_inplace(result, *get(plain));
    put(std::move(result), encrypted, destination);
  }
  template <typename Destination>
  void multiply_plain(const Operand& encrypted, const PlainOperand& plain, Destination& destination) const {
    put(evaluator_->multiply_plain(*get(encrypted), *get(plain)), encrypted, destination);
  }
  template <typename Destination>
  void apply_galois(const Operand& encrypted, std::uint32_t galois_elt, const ::seal::GaloisKeys& galois_keys,
                    Destination& destination) const {
    require(galois_keys);
    rlwe::Ciphertext source = get(encrypted)->clone();
    evaluator_->relinearize_inplace(source);
    const auto key = evaluator_->keys().find(rlwe::KeyRole::galois(galois_elt), source.meta.level);
    if (key == nullptr) {
      throw MissingKeyError("apply_galois: the Galois keys have none of the element " +
                            std::to_string(galois_elt));
    }
    put(rlwe::apply_galois(source, galois_elt, *key), encrypted, destination);
  }
  template <typename Destination>
  void rotate_rows(const Operand& encrypted, int steps, const ::seal::GaloisKeys& galois_keys,
                   Destination& destination) const {
    require(galois_keys);
    put(evaluator_->rotate(*get(encrypted), steps), encrypted, destination);
  }
  template <typename Destination>
  void rotate_vector(const Operand& encrypted, int steps, const ::seal::GaloisKeys& galois_keys,
                     Destination& destination) const {
    rotate_rows(encrypted, steps, galois_keys, destination);
  }
  template <typename Destination>
  void rotate_columns(const Operand& encrypted, const ::seal::GaloisKeys& galois_keys,
                      Destination& destination) const {
    require(galois_keys);
    put(evaluator_->conjugate(*get(encrypted)), encrypted, destination);
  }
  template <typename Destination>
  void complex_conjugate(const Operand& encrypted, const ::seal::GaloisKeys& galois_keys,
                         Destination& destination) const {
    rotate_columns(encrypted, galois_keys, destination);
  }

  // --- The same in place, of either kind of ciphertext. ---
  template <typename Ciphertext>
  void negate_inplace(Ciphertext& encrypted) const {
    negate(encrypted, encrypted);
  }
  template <typename Ciphertext>
  void add_inplace(Ciphertext& encrypted1, const Operand& encrypted2) const {
    add(encrypted1, encrypted2, encrypted1);
  }
  template <typename Ciphertext>
  void sub_inplace(Ciphertext& encrypted1, const Operand& encrypted2) const {
    sub(encrypted1, encrypted2, encrypted1);
  }
  template <typename Ciphertext>
  void multiply_inplace(Ciphertext& encrypted1, const Operand& encrypted2) const {
    multiply(encrypted1, encrypted2, encrypted1);
  }
  template <typename Ciphertext>
  void square_inplace(Ciphertext& encrypted) const {
    square(encrypted, encrypted);
  }
  template <typename Ciphertext>
  void relinearize_inplace(Ciphertext& encrypted, const ::seal::RelinKeys& relin_keys) const {
    relinearize(encrypted, relin_keys, encrypted);
  }
  template <typename Ciphertext>
  void mod_switch_to_next_inplace(Ciphertext& encrypted) const {
    mod_switch_to_next(encrypted, encrypted);
  }
  template <typename Ciphertext>
  void mod_switch_to_inplace(Ciphertext& encrypted, ::seal::parms_id_type parms_id) const {
    mod_switch_to(encrypted, parms_id, encrypted);
  }
  template <typename Ciphertext>
  void mod_reduce_to_next_inplace(Ciphertext& encrypted) const {
    mod_reduce_to_next(encrypted, encrypted);
  }
  template <typename Ciphertext>
  void mod_reduce_to_inplace(Ciphertext& encrypted, ::seal::parms_id_type parms_id) const {
    mod_reduce_to(encrypted, parms_id, encrypted);
  }
  template <typename Ciphertext>
  void rescale_to_next_inplace(Ciphertext& encrypted) const {
    rescale_to_next(encrypted, encrypted);
  }
  template <typename Ciphertext>
  void rescale_to_inplace(Ciphertext& encrypted, ::seal::parms_id_type parms_id) const {
    rescale_to(encrypted, parms_id, encrypted);
  }
  template <typename Ciphertext>
  void exponentiate_inplace(Ciphertext& encrypted, std::uint64_t exponent,
                            const ::seal::RelinKeys& relin_keys) const {
    exponentiate(encrypted, exponent, relin_keys, encrypted);
  }
  template <typename Ciphertext>
  void add_plain_inplace(Ciphertext& encrypted, const PlainOperand& plain) const {
    add_plain(encrypted, plain, encrypted);
  }
  template <typename Ciphertext>
  void sub_plain_inplace(Ciphertext& encrypted, const PlainOperand& plain) const {
    sub_plain(encrypted, plain, encrypted);
  }
  template <typename Ciphertext>
  void multiply_plain_inplace(Ciphertext& encrypted, const PlainOperand& plain) const {
    multiply_plain(encrypted, plain, encrypted);
  }
  template <typename Ciphertext>
  void transform_to_ntt_inplace(Ciphertext& encrypted) const {
    transform_to_ntt(encrypted, encrypted);
  }
  template <typename Ciphertext>
  void transform_from_ntt_inplace(Ciphertext& encrypted_ntt) const {
    transform_from_ntt(encrypted_ntt, encrypted_ntt);
  }
  template <typename Ciphertext>
  void apply_galois_inplace(Ciphertext& encrypted, std::uint32_t galois_elt,
                            const ::seal::GaloisKeys& galois_keys) const {
    apply_galois(encrypted, galois_elt, galois_keys, encrypted);
  }
  template <typename Ciphertext>
  void rotate_rows_inplace(Ciphertext& encrypted, int steps, const ::seal::GaloisKeys& galois_keys) const {
    rotate_rows(encrypted, steps, galois_keys, encrypted);
  }
  template <typename Ciphertext>
  void rotate_vector_inplace(Ciphertext& encrypted, int steps, const ::seal::GaloisKeys& galois_keys) const {
    rotate_vector(encrypted, steps, galois_keys, encrypted);
  }
  template <typename Ciphertext>
  void rotate_columns_inplace(Ciphertext& encrypted, const ::seal::GaloisKeys& galois_keys) const {
    rotate_columns(encrypted, galois_keys, encrypted);
  }
  template <typename Ciphertext>
  void complex_conjugate_inplace(Ciphertext& encrypted, const ::seal::GaloisKeys& galois_keys) const {
    complex_conjugate(encrypted, galois_keys, encrypted);
  }

 private:
  // An operand that is on the device, or a copy there.
  [[nodiscard]] std::shared_ptr<const rlwe::Ciphertext> get(const Operand& operand) const {
    if (operand.device_ != nullptr) {
      const rlwe::Ciphertext& value = operand.device_->value();
      return {std::shared_ptr<const void>(), &value};
    }
    return std::make_shared<const rlwe::Ciphertext>(party_->upload(*operand.host_));
  }
  [[nodiscard]] std::shared_ptr<const rlwe::Plaintext> get(const PlainOperand& operand) const {
    if (operand.device_ != nullptr) return operand.device_->value();
    return std::make_shared<const rlwe::Plaintext>(party_->upload(*operand.host_));
  }
  [[nodiscard]] static bool is_ntt_form(const Operand& operand) {
    return operand.device_ != nullptr ? operand.device_->is_ntt_form() : operand.host_->is_ntt_form();
  }
  struct Held {
    std::vector<std::shared_ptr<const rlwe::Ciphertext>> values;
    std::vector<const rlwe::Ciphertext*> pointers;
  };
  template <typename Ciphertext>
  [[nodiscard]] Held get_all(const std::vector<Ciphertext>& encrypteds) const {
    Held held;
    for (const Ciphertext& encrypted : encrypteds) {
      held.pointers.push_back(held.values.emplace_back(get(encrypted)).get());
    }
    return held;
  }
  // A result in the form of the first operand, which may be the destination.
  template <typename Destination>
  void put(rlwe::Ciphertext value, const Operand& first, Destination& destination) const {
    put(std::move(value), is_ntt_form(first), destination);
  }
  void put(rlwe::Ciphertext value, bool is_ntt_form, SealCiphertext& destination) const {
    destination = SealCiphertext(party_, std::move(value), is_ntt_form);
  }
  void put(const rlwe::Ciphertext& value, bool is_ntt_form, ::seal::Ciphertext& destination) const {
    destination = party_->download(value, is_ntt_form);
  }
  template <typename Destination>
  void transform(const Operand& operand, bool to_ntt, Destination& destination) const {
    if (operand.device_ != nullptr) static_cast<void>(operand.device_->value());
    if (is_ntt_form(operand) == to_ntt) {
      throw MismatchError(to_ntt ? "transform_to_ntt: the ciphertext is in NTT form already"
                                 : "transform_from_ntt: the ciphertext is not in NTT form");
    }
    SealCiphertext result = operand.device_ != nullptr ? *operand.device_ : upload(*operand.host_);
    result.is_ntt_form_ = to_ntt;
    destination = static_cast<Destination>(std::move(result));
  }
  [[nodiscard]] rlwe::Ciphertext dropped(const rlwe::Ciphertext& source, std::size_t level) const {
    rlwe::Ciphertext result = source.clone();
    evaluator_->drop_to_level_inplace(result, level);
    return result;
  }
  void require(const ::seal::RelinKeys& keys) const {
    if (&keys != relin_keys_) refuse_keys();
  }
  void require(const ::seal::GaloisKeys& keys) const {
    if (&keys != galois_keys_) refuse_keys();
  }
  [[noreturn]] static void refuse_keys() {
    throw std::invalid_argument(
        "these are not the keys that the evaluator was made with; give them to accelerate()");
  }
  void require_ckks(const char* operation) const {
    if (party_->session().params().scheme() != rlwe::Scheme::ckks) {
      throw MismatchError(std::string(operation) + " is of CKKS; BFV and BGV switch moduli");
    }
  }

  const ::seal::RelinKeys* relin_keys_;
  const ::seal::GaloisKeys* galois_keys_;
  std::shared_ptr<const SealParty> party_;
  std::unique_ptr<const rlwe::Evaluator> evaluator_;
};

/// An evaluator on a device ("cpu", "cuda", "cuda:1"). It copies the keys there, once; each set is optional.
inline std::shared_ptr<const SealEvaluator> accelerate(const ::seal::SEALContext& context,
                                                       const ::seal::RelinKeys& relin_keys,
                                                       const ::seal::GaloisKeys& galois_keys,
                                                       const std::string& device = "cpu") {
  return std::make_shared<const SealEvaluator>(context, &relin_keys, &galois_keys, device);
}
inline std::shared_ptr<const SealEvaluator> accelerate(const ::seal::SEALContext& context,
                                                       const ::seal::RelinKeys& relin_keys,
                                                       const std::string& device = "cpu") {
  return std::make_shared<const SealEvaluator>(context, &relin_keys, nullptr, device);
}
inline std::shared_ptr<const SealEvaluator> accelerate(const ::seal::SEALContext& context,
                                                       const std::string& device = "cpu") {
  return std::make_shared<const SealEvaluator>(context, nullptr, nullptr, device);
}

}  // namespace hemera::adapters
