#include "hemera/rlwe/flooding.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "runtime/decimal.hpp"

namespace hemera::rlwe {
namespace {

constexpr int most_bits = 64;  // beyond it the samplers' accuracy counts (docs/randomness.md)
constexpr std::uint64_t most_count = std::uint64_t{1} << 40;
constexpr std::size_t most_pieces = 127;
constexpr int usual_failure_bits = 40;  // of bounds on noise
constexpr int most_failure_bits = 128;

double least_flooding_log2(const Openings& openings, std::size_t degree, double noise_log2) {
  return 0.5 * (std::log2(12 * static_cast<double>(openings.count)) + openings.bits +
                std::log2(static_cast<double>(degree))) +
         noise_log2;
}

}  // namespace

double error_noise_log2(double noise_log2, std::uint64_t factor) {
  return factor == 1 ? noise_log2 : add_log2(noise_log2 - std::log2(static_cast<double>(factor)), -1);
}

int flooding_log2(const Openings& openings, std::size_t degree, double noise_log2) {
  const double least = least_flooding_log2(openings, degree, noise_log2);
  // An unknown noise has no flooding; require_flooding refuses this one.
  if (!std::isfinite(least)) return 0;
  return std::max(0, static_cast<int>(std::ceil(least)));
}

double opened_noise_log2(const Openings& openings, std::size_t degree, double noise_log2, int flooding_log2) {
  const double deviation = flooding_log2 + 0.5 * std::log2(static_cast<double>(openings.pieces));
  const double tail = std::log2(tail_factor(degree, -openings.failure_bits));
  const bool is_usual = openings.failure_bits <= usual_failure_bits;
  return add_log2(is_usual ? noise_log2 : std::max<double>(noise_log2, flooding_log2), deviation + tail);
}

double opening_budget(const Openings& openings, std::size_t degree) {
  // For noise of 2^64, and with the next power of two: what is added is in proportion.
  constexpr double noise_log2 = 64;
  const int flooding = flooding_log2(openings, degree, noise_log2) + 1;
  return opened_noise_log2(openings, degree, noise_log2, flooding) - noise_log2;
}

void require_flooding(const Openings& openings, std::size_t degree, double noise_log2, int flooding_log2,
                      double room_log2) {
  if (openings.pieces < 1 || openings.pieces > most_pieces || openings.count < 1 ||
      openings.count > most_count || openings.bits < 1 || openings.bits > most_bits ||
      openings.failure_bits < usual_failure_bits || openings.failure_bits > most_failure_bits) {
    throw ParameterError("openings of " + std::to_string(openings.count) + " polynomials with " +
                         std::to_string(openings.bits) + " bits by " + std::to_string(openings.pieces) +
                         " pieces, wrong with 2^-" + std::to_string(openings.failure_bits) +
                         ": there are 1 to 2^40, 1 to 64, 1 to 127 and 2^-40 to 2^-128");
  }
  const double least = least_flooding_log2(openings, degree, noise_log2);
  if (!(flooding_log2 >= least)) {
    throw NoiseError("a flooding of deviation 2^" + std::to_string(flooding_log2) +
                     " does not hide noise of up to 2^" + decimal(noise_log2) + ", which needs 2^" +
                     decimal(least) + ": shares would tell about the secret");
  }
  const double noise = opened_noise_log2(openings, degree, noise_log2, flooding_log2);
  if (!(noise <= room_log2)) {
    throw NoiseError("opening needs room for noise of up to 2^" + decimal(noise) + ", and there is 2^" +
                     decimal(room_log2) +
                     ": ask for parameters with room for openings, or for fewer openings or bits");
  }
}

}  // namespace hemera::rlwe
