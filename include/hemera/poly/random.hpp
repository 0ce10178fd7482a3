// Where random polynomials come from: seeds, and the rule that maps a seed to coefficients.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hemera/runtime/memory.hpp"

namespace hemera::poly {

/// Version of the rule below; files with seeds carry it.
inline constexpr std::uint32_t sampling_version = 1;

/// A 256-bit ChaCha20 key. Zeroed on destruction.
struct Seed {
  std::array<std::uint8_t, 32> bytes{};

  Seed() = default;
  Seed(const Seed&) = default;
  Seed& operator=(const Seed&) = default;
  ~Seed() { runtime::secure_zero(bytes.data(), bytes.size()); }

  /// 32 fresh bytes from the operating system; throws DeviceError when it has none to give.
  static Seed fresh();
};

/// The purpose of a stream; streams of one seed with different purposes are independent.
enum class Purpose : std::uint32_t { uniform = 1, ternary = 2, fixed_weight = 3, error = 4 };

/// The random bits of coefficient i of limb j of polynomial k of one (seed, purpose) are r, a 128-bit
/// integer.
///
/// Take the ChaCha20 block (RFC 8439, section 2.3) whose key is the seed's 32 bytes, whose block counter
/// (state word 12) is floor(i / 4) and whose nonce (state words 13, 14, 15) is (k, j, purpose). From its
/// 64 bytes, r is the 16 from 16 (i mod 4) on, little-endian: bit 0 is the lowest bit of the first byte,
/// bit 127 the highest of the last.
///
/// k counts the polynomials of a view, [batch, component] row by row, from `first_polynomial`, and stays
/// below 2^32. j is the position of the limb in the base for purpose uniform, and 0 for the others: their
/// coefficient is one integer, stored as its residue in every limb.
///   uniform:  the residue r mod q_j. No rejection: its distance from uniform is below q_j / 2^128.
///             Coefficient i here means entry i of the evaluation form in standard order.
///   ternary:  floor(3 (r mod 2^64) / 2^64) - 1.
///   error:    a discrete Gaussian by inversion: with u = r mod 2^63 and the table of ErrorDistribution,
///             |e| is the number of entries <= u; e = -|e| if bit 127 of r is set.
///   fixed_weight: coefficient i has the key r mod 2^62. The h lowest of the N keys are chosen (of equal keys
///             those with lower i first), 1 <= h <= N: their coefficients are -1 if bit 127 of their r is set
///             and +1 if not. All other coefficients are 0.
struct RandomStream {
  Seed seed;
  std::uint32_t first_polynomial = 0;
};

/// The discrete Gaussian over all integers, P(e) proportional to exp(-e^2 / (2 sigma^2)), as a table for
/// inversion: entry m is 2^63 P(|e| <= m) rounded to the nearest integer, for m = 0, 1, ... while that is
/// below 2^63.
class ErrorDistribution {
 public:
  /// 0.5 <= sigma <= 20; throws ParameterError otherwise. Exact to the last bit (by multiple precision).
  explicit ErrorDistribution(double sigma);

  [[nodiscard]] double sigma() const { return sigma_; }
  [[nodiscard]] const std::uint64_t* table() const { return table_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The largest |e| that can come out.
  [[nodiscard]] int bound() const { return static_cast<int>(size_); }

  static constexpr std::size_t max_size = 256;

 private:
  double sigma_;
  std::size_t size_ = 0;
  std::array<std::uint64_t, max_size> table_{};
};

/// The distribution of a sampled polynomial's coefficients: a purpose of the rule above, with its parameter.
class Distribution {
 public:
  /// In evaluation form: the stream's coefficient i is entry i in standard order, wherever a backend stores
  /// it. The others are in coefficient form.
  static Distribution uniform() { return Distribution(Purpose::uniform); }
  static Distribution ternary() { return Distribution(Purpose::ternary); }
  /// `weight` non-zero coefficients, 1 <= weight <= N.
  static Distribution fixed_weight(std::size_t weight) {
    Distribution distribution(Purpose::fixed_weight);
    distribution.weight_ = weight;
    return distribution;
  }
  /// `errors` must outlive the distribution.
  static Distribution error(const ErrorDistribution& errors) {
    Distribution distribution(Purpose::error);
    distribution.errors_ = &errors;
    return distribution;
  }
  [[nodiscard]] Purpose purpose() const { return purpose_; }
  /// For a fixed weight, and for an error, alone.
  [[nodiscard]] std::size_t weight() const { return weight_; }
  [[nodiscard]] const ErrorDistribution& errors() const { return *errors_; }

 private:
  explicit Distribution(Purpose purpose) : purpose_(purpose) {}

  Purpose purpose_;
  std::size_t weight_ = 0;
  const ErrorDistribution* errors_ = nullptr;
};

/// The streams and distributions of the pairs of Backend::sample_rlwe.
struct RlweSampling {
  const RandomStream& errors;   ///< secret
  const RandomStream& uniform;  ///< public
  const ErrorDistribution& distribution;
  std::uint64_t factor = 1;  ///< of the errors
};

}  // namespace hemera::poly
