// The values of programs: immutable, shared by their copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::heir {

using Ciphertext = std::shared_ptr<const rlwe::Ciphertext>;
using SecretKey = std::shared_ptr<const rlwe::SecretKey>;
using PublicKey = std::shared_ptr<const rlwe::PublicKey>;

/// Numbers in slots. CKKS encodes them for each level and scale at which an operation meets them, and keeps
/// the encodings; BFV and BGV encode them once. Thread-safe.
class EncodedNumbers {
 public:
  explicit EncodedNumbers(std::vector<double> reals) : reals_(std::move(reals)) {}
  EncodedNumbers(std::vector<std::int64_t> integers, rlwe::Plaintext encoded)
      : integers_(std::move(integers)),
        integer_encoding_(std::make_shared<const rlwe::Plaintext>(std::move(encoded))) {}
  /// Numbers of a decryption: nothing is encoded.
  explicit EncodedNumbers(std::vector<std::int64_t> integers) : integers_(std::move(integers)) {}

  /// CKKS: one for each slot; else empty.
  [[nodiscard]] const std::vector<double>& reals() const { return reals_; }
  /// BFV and BGV: one for each slot, from -(t - 1) / 2 to t / 2 after a decryption; else empty.
  [[nodiscard]] const std::vector<std::int64_t>& integers() const { return integers_; }

  /// BFV and BGV: the encoding, for any level; null after a decryption.
  [[nodiscard]] const std::shared_ptr<const rlwe::Plaintext>& encoding() const { return integer_encoding_; }
  /// CKKS: the encoding at a level and a scale.
  [[nodiscard]] std::shared_ptr<const rlwe::Plaintext> encoding(const ckks::Encoder& encoder,
                                                                std::size_t level, double scale) const {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<const rlwe::Plaintext>& kept = encodings_[{level, scale}];
    if (!kept) {
      kept = std::make_shared<const rlwe::Plaintext>(
          encoder.encode(ckks::HostRows<const double>{.doubles = reals_, .count = reals_.size()},
                         reals_.size(), {}, level, scale));
    }
    return kept;
  }

 private:
  std::vector<double> reals_;
  std::vector<std::int64_t> integers_;
  std::shared_ptr<const rlwe::Plaintext> integer_encoding_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::size_t, double>, std::shared_ptr<const rlwe::Plaintext>> encodings_;
};

using Plaintext = std::shared_ptr<const EncodedNumbers>;

}  // namespace hemera::heir
