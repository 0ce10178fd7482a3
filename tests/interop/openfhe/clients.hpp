// Contexts and key pairs of clients that tests make of the stored ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hemera/rlwe/keys.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/objects.hpp"
#include "interop/openfhe/parameters.hpp"

namespace hemera::interop::openfhe {

using CiphertextPointer = std::shared_ptr<CiphertextObject>;
using ContextPointer = std::shared_ptr<CryptoContext>;
using PrivatePointer = std::shared_ptr<PrivateKeyObject>;
using PublicPointer = std::shared_ptr<PublicKeyObject>;

}  // namespace hemera::interop::openfhe

namespace hemera::interop::openfhe::test {

/// The bytes of a file of an object.
template <typename T>
std::vector<std::byte> written(T object, Format format = Format::binary) {
  return write_file(object, format);
}
/// The values of a file in JSON.
nlohmann::json parsed(const std::vector<std::byte>& file);

/// The crypto context of a folder.
std::shared_ptr<CryptoContext> context_of(const std::string& folder);
/// Deep enough a copy to change any field but those of bootstrapping.
std::shared_ptr<CryptoContext> copy_of(const CryptoContext& original);
/// Primes of keys with a root each.
RootedPrimes rooted(const std::vector<std::uint64_t>& primes, std::size_t degree);

/// A prime below 2^bits for each entry, all of them different, that are 1 modulo `step`.
std::vector<std::uint64_t> primes_of_bits(const std::vector<int>& bits, std::uint64_t step);
/// Puts these primes in the place of those of the ciphertexts.
void set_primes(CryptoContext& context, const std::vector<std::uint64_t>& primes);

/// Adds the keys of bootstraps to the ephemeral secret, over q_0 and one special prime, and from it.
void add_encapsulation_keys(rlwe::EvaluationKeys& keys, const rlwe::SecretKey& secret);

/// Files of a client whose special primes are these, of a secret that Hemera made.
struct OtherClient {
  std::shared_ptr<CryptoContext> context;
  std::string tag;
  std::vector<std::byte> public_key, relinearization, galois, secret, ciphertext;
  std::vector<std::uint64_t> special, auxiliary;
};

/// As OpenFHE 1.6.1: a special prime more, and two primes of 33 bits for the key to an encapsulated secret.
OtherClient newer_client();

}  // namespace hemera::interop::openfhe::test
