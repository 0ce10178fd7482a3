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

/// What a stream is for; streams of one seed with different purposes are independent.
enum class Purpose : std::uint32_t { uniform = 1, ternary = 2, fixed_weight = 3, error = 4, flooding = 5 };

/// The random bits of coefficient i of limb j of polynomial k of one (seed, purpose):
/// bytes 16 (i mod 4) ... 16 (i mod 4) + 15 of the ChaCha20 block (RFC 8439, section 2.3) with key `seed`,
/// block counter i / 4 and nonce words (k, j, purpose), read as a little-endian 128-bit integer r. k counts
/// [batch, component] row by row from `first_polynomial`; j is the limb's position in the base (0 for
/// purposes other than uniform, whose integer is the same in all limbs).
///   uniform:  r mod q_j.
///   ternary:  floor(3 (r mod 2^64) / 2^64) - 1.
///   error:    the discrete Gaussian by inversion: with T the table of ErrorDistribution and u = r mod 2^63,
///             |e| = the number of T entries <= u, negative if bit 127 of r is set.
///   flooding: floor(r / 2^(128 - b)) - 2^(b-1), uniform in [-2^(b-1), 2^(b-1)), 1 <= b <= 120.
///   fixed_weight: coefficient i gets the key (r mod 2^62); the keys are sorted (ties: lower i first), and
///   the h
///             coefficients with the lowest keys are +1 or -1 by bit 127 of their r, the others 0.
struct RandomStream {
  Seed seed;
  std::uint32_t first_polynomial = 0;
};

/// The table of a discrete Gaussian of deviation sigma centred at 0: entry m is
/// round(2^63 * P(|e| <= m)) for m = 0, 1, ... while that is below 2^63.
class ErrorDistribution {
 public:
  /// 0.5 <= sigma <= 20; ParameterError otherwise. Exact to the last bit (computed in multiple precision).
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

}  // namespace hemera::poly
