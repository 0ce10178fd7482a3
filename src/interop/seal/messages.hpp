// Ciphertexts and plaintexts of a client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "interop/seal/client.hpp"

namespace hemera::interop::seal {

class Messages {
 public:
  Messages(const Client& client, rlwe::ContextPointer context)
      : client_(client), context_(std::move(context)) {}

  /// There are as many files as the shape has, one at least; each goes straight to its place.
  [[nodiscard]] rlwe::Ciphertext load(std::span<const Source> files, rlwe::BatchShape shape) const;
  [[nodiscard]] rlwe::Plaintext load_plaintext(std::span<const std::byte> file) const;
  /// The element of this index of a batch.
  [[nodiscard]] std::vector<std::byte> dump(const rlwe::Ciphertext& ciphertext, std::size_t index,
                                            Compression compression) const;
  [[nodiscard]] std::vector<std::byte> dump(const rlwe::Plaintext& plaintext, std::size_t index,
                                            Compression compression) const;
  [[nodiscard]] rlwe::Ciphertext take(const CiphertextView& view) const;
  [[nodiscard]] rlwe::Plaintext take(const PlaintextView& view, std::optional<std::size_t> level) const;
  void give(const rlwe::Ciphertext& ciphertext, std::span<std::uint64_t> words, poly::Form form) const;
  /// The fields that a dump writes before the words. MismatchError for what SEAL can not hold.
  [[nodiscard]] CiphertextFields fields(const rlwe::Ciphertext& ciphertext) const;

 private:
  [[nodiscard]] std::size_t level_of(const ParmsId& id, const char* what) const;
  void read_words(Reader& in, const CiphertextFields& fields, const Reader::Nested& words,
                  const poly::PolyView& out, const poly::RnsBase& base) const;
  /// Hemera's metadata for the fields; FormatError and MismatchError where they do not fit the parameters.
  [[nodiscard]] rlwe::Metadata check(const CiphertextFields& fields) const;
  [[nodiscard]] rlwe::Metadata check(const PlaintextFields& fields) const;
  [[nodiscard]] bool is_ckks() const { return client_.parameters.scheme == SchemeNumber::ckks; }
  /// The secrecy of plaintexts, as the encoders make them.
  [[nodiscard]] runtime::Secrecy secrecy() const {
    return is_ckks() ? runtime::Secrecy::open : runtime::Secrecy::secret;
  }
  /// Files have each scheme's ciphertexts in SEAL's own form.
  void require_usual_form(const CiphertextFields& fields) const;
  /// The message of a plaintext of BFV or BGV in NTT form.
  [[nodiscard]] poly::Poly message(const PlaintextView& view) const;
  /// Gives the residues of an element in a form to `use`.
  void with_residues(const rlwe::Ciphertext& ciphertext, std::size_t index, poly::Form form,
                     const std::function<void(const poly::ConstPolyView&)>& use) const;

  const Client& client_;
  rlwe::ContextPointer context_;
};

}  // namespace hemera::interop::seal
