// Ciphertexts and plaintexts of a client.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "interop/seal/client.hpp"

namespace hemera::interop::seal {

class Messages {
 public:
  Messages(const Client& client, std::shared_ptr<const rlwe::Context> context)
      : client_(client), context_(std::move(context)) {}

  [[nodiscard]] rlwe::Ciphertext load_ciphertext(std::span<const std::byte> file) const;
  [[nodiscard]] rlwe::Plaintext load_plaintext(std::span<const std::byte> file) const;
  /// The element of this index of a batch.
  [[nodiscard]] std::vector<std::byte> dump(const rlwe::Ciphertext& ciphertext, std::size_t index,
                                            Compression compression) const;
  [[nodiscard]] std::vector<std::byte> dump(const rlwe::Plaintext& plaintext, std::size_t index,
                                            Compression compression) const;
  /// What a dump writes before the words. MismatchError for what SEAL can not hold.
  [[nodiscard]] CiphertextFields fields(const rlwe::Ciphertext& ciphertext) const;

 private:
  [[nodiscard]] std::size_t level_of(const ParmsId& id, const char* what) const;
  [[nodiscard]] rlwe::Metadata check(Reader& in, const CiphertextFields& fields) const;

  const Client& client_;
  std::shared_ptr<const rlwe::Context> context_;
};

}  // namespace hemera::interop::seal
