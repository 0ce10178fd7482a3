// The numbers of a federation: how wide the flooding is, and what room a sum has above it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "hemera/arith/modulus.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::multiparty {

/// How contributors' values are hidden.
enum class Method : std::uint8_t {
  lattice,  ///< under secrets of ring-LWE that the committee deals
  /// Under one-time masks of the dealt seeds: pseudorandom sharings of zero (R. Cramer, I. Damgard, Y. Ishai,
  /// TCC 2005), as federated sums with pairwise masks have them (2017/281, 2020/704). Fewer bytes, no noise
  /// and no bound on what is opened; a member expands a mask for each contributor and piece.
  masks,
};

/// What a federation sums, unchecked.
struct PlanRequest {
  Method method = Method::lattice;
  std::size_t values = 0;          ///< that one contributor sends in a round
  int value_bits = 16;             ///< of a signed value: magnitudes below 2^(value_bits - 1)
  std::size_t contributors = 100;  ///< the most in a round
  std::uint64_t weight = 1;        ///< the largest of a contributor
  std::size_t rounds = 1000;       ///< that are opened in all
  int opening_bits = 40;           ///< of statistical security, for all openings together; at most 64
  int failure_bits = 40;           ///< what may fail does with 2^-failure_bits a round; 40 to 128
  std::size_t pieces = 1;          ///< of the committee (Access::pieces)
  std::size_t degree = 4096;       ///< N
  std::optional<int> security = 128;
};

/// What ties the flooding to the room that it has. Plain data: `require_margin` says whether it holds.
///
/// The opened phase of a polynomial is Delta M + noise modulo Q, M the sum of weighted values. It hides the
/// contributors' errors v = sum_i w_i e_i if the deviation 2^flooding_log2 of each piece's own flooding is at
/// least sqrt(12 openings) 2^(opening_bits / 2) |v|: then all openings together are within 2^-opening_bits /
/// 24 of floodings alone (Kullback-Leibler). |v| is bounded for all of them but for 2^-failure_bits: the
/// vector is subgaussian with parameter sigma |w| (D. Hsu, S. Kakade, T. Zhang, theorem 1). M is exact if the
/// noise stays below Delta / 2. Masks are sums modulo a prime Q above 2 |M| with Delta 1, and have no noise.
struct Margin {
  Method method = Method::lattice;
  std::size_t values = 0;
  std::size_t degree = 0;
  double sigma = 3.19;  ///< of errors
  std::size_t pieces = 1;
  std::uint64_t weight_sum = 0;  ///< the largest sum of weights
  double weight_norm = 0;        ///< their largest Euclidean norm
  std::size_t openings = 0;      ///< polynomials: each round opens ceil(values / N)
  int opening_bits = 40;
  int failure_bits = 40;
  int flooding_log2 = 0;  ///< an integer: two deviations for one name differ by a factor of 2 at least
  int value_bits = 0;
  double delta_log2 = 0;   ///< of Delta = floor(Q / 2^sum_bits)
  int sum_bits = 0;        ///< |M| < 2^(sum_bits - 1)
  int upload_dropped = 0;  ///< low bits that an upload leaves out
  int share_dropped = 0;   ///< low bits that a share leaves out
};

/// log2 of the bound on |v|, the errors of a sum in one polynomial.
double error_norm_log2(const Margin& margin);
/// log2 of what the noise of a sum of `margin.values` values stays below but for 2^-failure_bits: floodings
/// of all pieces, bits that shares and uploads leave out, errors.
double noise_log2(const Margin& margin);
/// Throws NoiseError if the flooding is too narrow for what it hides, or too wide for the room that it has,
/// or if sums are too large: called where a plan is made and where shares are combined.
void require_margin(const Margin& margin);

/// The least numbers for a request, and the parameters of the ring. Immutable.
class Plan {
 public:
  /// Throws ParameterError for numbers out of their range, or sums for which no secure modulus of this degree
  /// has room; SecurityError if the degree is too small for the security asked for.
  explicit Plan(const PlanRequest& request);

  [[nodiscard]] const PlanRequest& request() const { return request_; }
  [[nodiscard]] const Margin& margin() const { return margin_; }
  /// BFV with t = 2^sum_bits, one level of two primes, no special prime: b and the round's polynomial are a
  /// ciphertext of it. With masks: a ring of one prime, without security of its own.
  [[nodiscard]] const rlwe::Parameters& parameters() const { return parameters_; }
  /// Polynomials of a round.
  [[nodiscard]] std::size_t polynomials() const;
  /// Bits of a value of an upload, and of a piece's share.
  [[nodiscard]] int upload_bits() const;
  [[nodiscard]] int share_bits() const;
  /// Delta.
  [[nodiscard]] arith::uint128 delta() const;
  /// Q.
  [[nodiscard]] arith::uint128 modulus() const;

 private:
  PlanRequest request_;
  Margin margin_;
  rlwe::Parameters parameters_;
};

}  // namespace hemera::multiparty
