// A session's data of its client: SEAL's parameters next to Hemera's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hemera/interop/seal.hpp"
#include "interop/seal/objects.hpp"

namespace hemera::interop::seal {

/// SEAL's encryption parameters read from a file, and its version.
struct StoredParameters {
  EncryptionParameters parameters;
  std::uint8_t minor_version = 0;
};
StoredParameters read_parameters(const Source& parms);

/// The levels that Hemera has of SEAL's: level l has the first `fewest + l` primes.
class Levels {
 public:
  explicit Levels(const EncryptionParameters& parameters);

  /// Data primes of the top level.
  [[nodiscard]] std::size_t most() const { return most_; }
  [[nodiscard]] std::size_t fewest() const { return fewest_; }
  [[nodiscard]] std::size_t count() const { return most_ - fewest_ + 1; }
  [[nodiscard]] const ParmsId& id(std::size_t level) const { return ids_[level]; }
  /// The id of keys.
  [[nodiscard]] const ParmsId& key_id() const { return key_id_; }
  /// Empty where no level has it.
  [[nodiscard]] std::optional<std::size_t> find(const ParmsId& id) const;

 private:
  std::size_t most_;
  std::size_t fewest_ = 1;
  std::vector<ParmsId> ids_;  // [level]
  ParmsId key_id_;
};

/// Hemera's parameters that reproduce SEAL's.
rlwe::Parameters to_hemera(const EncryptionParameters& parameters, const Options& options);

struct Client {
  EncryptionParameters parameters;
  std::uint8_t minor_version;
  Levels levels;
  rlwe::Encoding encoding;
  std::size_t values;  // in a ciphertext

  Client(StoredParameters stored, const Options& options);

  /// Whether ciphertexts are written in evaluation form.
  [[nodiscard]] bool is_evaluation() const;
};

}  // namespace hemera::interop::seal
