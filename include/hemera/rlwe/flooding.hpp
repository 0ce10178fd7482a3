// Openings by many parties: how wide the flooding is that hides noise, and what room it takes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hemera::rlwe {

/// How results are opened, in all.
struct Openings {
  std::size_t pieces = 1;   ///< of the secret, each of which floods for itself, in full
  std::uint64_t count = 1;  ///< polynomials that are ever opened
  int bits = 40;            ///< statistical security of all of them together; at most 64
  int failure_bits = 40;    ///< a polynomial is opened wrongly with probability 2^-failure_bits; 40 to 128
};

/// A bound on the errors e in noise m + factor e with |m| <= factor / 2 (BGV; factor 1: the noise itself), in
/// which the functions below count.
double error_noise_log2(double noise_log2, std::uint64_t factor);
/// log2 of the deviation of each piece's flooding. It is an integer: two deviations for one ciphertext differ
/// by a factor of 2 at least, so all of them together reveal at most 4/3 times as much as the smallest.
///
/// The deviation is at least sqrt(12 count) 2^(bits / 2) |v|, where the noise v has coefficients of at most
/// 2^noise_log2: then all openings together are within 2^-bits / 24 of floodings alone (Kullback-Leibler).
int flooding_log2(const Openings& openings, std::size_t degree, double noise_log2);
/// log2 of the largest coefficient of the noise and the floodings of all pieces, but for 2^-failure_bits a
/// polynomial: N subgaussian coefficients (D. Micciancio, C. Peikert, 2011/501, section 2.4), so sqrt(2 ln(2
/// N 2^failure_bits)) deviations. The bound on the noise is for 2^-40; where fewer failures are asked for,
/// the noise may be as large as the flooding's deviation, sqrt(12 count N) 2^(bits / 2) times its bound at
/// least.
double opened_noise_log2(const Openings& openings, std::size_t degree, double noise_log2, int flooding_log2);
/// The most bits by which the noise of what is opened exceeds that of the ciphertext: the noise budget that a
/// result needs.
double opening_budget(const Openings& openings, std::size_t degree);
/// Throws NoiseError if the flooding is too narrow for what it hides, or if noise and floodings exceed
/// 2^room_log2; ParameterError for openings out of their range. Called where parameters are made, where a
/// share is made and where shares are combined: none of them moves without the others.
void require_flooding(const Openings& openings, std::size_t degree, double noise_log2, int flooding_log2,
                      double room_log2);

}  // namespace hemera::rlwe
