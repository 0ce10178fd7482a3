// Search in a clear database by encrypted queries: parameters, keys, queries and answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hemera/poly/random.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/rlwe/parameters.hpp"
#include "hemera/runtime/checksum.hpp"

namespace hemera::circuits::search {

/// CKKS parameters of a search with 128 bits of security; queries are at their top level, answers at level 0.
/// - approximate: N = 2^12, one prime of 48 bits, a special one of 50. Scores carry noise.
/// - exact: N = 2^13, two primes of 48 bits, a special one of 50. Scores round to integers.
rlwe::Parameters parameters(bool exact);

/// The places of a query of `dims` numbers in a polynomial of degree N: number j is the coefficient of
/// X^(j stride), stride the largest power of two with dims * stride <= N. Where it is above 1, the first
/// automorphisms of an expansion clear the coefficients between.
struct QueryLayout {
  /// Throws ParameterError unless 1 <= dims <= N.
  QueryLayout(std::size_t ring_degree, std::size_t numbers);

  std::size_t degree;
  std::size_t dims;
  std::size_t stride;
};

/// N / 2^l + 1 for l from 0 to log2 N - 1: their automorphisms fix the constants alone.
std::vector<std::uint64_t> galois_elements(std::size_t degree);

/// The keys that a server needs to answer this secret's queries: one for each of galois_elements. For
/// databases that are encrypted under the secret also that of products.
rlwe::EvaluationKeys generate_keys(const rlwe::SecretKey& secret, bool encrypted_rows = false);

/// Encrypted queries, as they travel: (b, a) with b + a s = message + error.
struct Query {
  std::size_t count = 0;
  std::size_t dims = 0;
  /// The stream of a, evaluation form.
  poly::RandomStream seed;
  /// The coefficients of b that a number is at, [query, limb, dims]; the others do not matter.
  std::vector<std::uint64_t> numbers;
};

/// Encrypts queries [query, dims] of integers times 2^shift, with a fresh seed.
/// - dims: 1 to N; ParameterError otherwise, or unless `values` are whole queries, at least one.
/// - Integers times 2^shift are taken modulo the top level's modulus.
Query encrypt(const rlwe::SecretKey& secret, std::span<const std::int64_t> values, std::size_t dims,
              int shift);

/// Adds integers [query, dims] times 2^shift to the messages of queries. A client that encrypts zeros, sends
/// the seed alone and keeps the rest secret adds its message later, once: two messages for one seed reveal
/// their difference. Throws MismatchError unless there are as many integers as the queries have.
void add_message(const rlwe::Context& context, Query& query, std::span<const std::int64_t> values, int shift);

/// Lowest bits that answers may lack.
inline constexpr int most_dropped_bits = 40;

/// How numbers of answers travel: coefficients at level 0.
struct Packing {
  /// Lowest bits of each number that are rounded away.
  int dropped_bits = 0;
  /// Bytes of each number over 2^dropped_bits, little-endian: 1 to 8, of which higher ones are cut off.
  int width = 8;
};

/// Where one component of an answer goes: `width` bytes a number, [block, query, N], and their checksums.
struct AnswerHalf {
  std::span<std::byte> bytes;
  /// Checksums of each runtime::checksum_piece_bytes, with seed 0; none: not wanted.
  std::span<std::uint64_t> checksums = {};
};
/// Where an answer (b, a) goes. The halves are apart since a is known before the query where it is prepared.
struct AnswerHalves {
  AnswerHalf b, a;
};

/// Encrypted scores of rows in blocks of N.
struct Answer {
  std::size_t count = 0;   ///< of queries
  std::size_t blocks = 0;  ///< of N rows
  /// Lowest bits of each number that are rounded away.
  int dropped_bits = 0;
  /// Whole numbers over 2^dropped_bits, [b or a, block, query, N].
  std::vector<std::uint64_t> numbers;

  /// Places of whole numbers (Packing).
  [[nodiscard]] AnswerHalves halves() {
    const auto bytes = std::as_writable_bytes(std::span(numbers));
    return {.b = {bytes.first(bytes.size() / 2)}, .a = {bytes.subspan(bytes.size() / 2)}};
  }
};

/// An answer to `count` queries over `blocks` blocks, to be written.
inline Answer empty_answer(const rlwe::Context& context, std::size_t count, std::size_t blocks,
                           int dropped_bits) {
  Answer answer{.count = count, .blocks = blocks, .dropped_bits = dropped_bits, .numbers = {}};
  answer.numbers.resize(2 * blocks * count * context.degree());
  return answer;
}

/// The noisy integers of an answer modulo the prime of level 0, centred: [query, block * N]. Throws
/// MismatchError for an answer without the numbers that its extents have, FormatError for a number that no
/// residue rounds to.
std::vector<std::int64_t> decrypt(const rlwe::SecretKey& secret, const Answer& answer);

/// More sources of the noise of a score, in an encrypted database.
struct EncryptedSources {
  double row_scale = 1;  ///< F: entries of rows are encrypted times it
  double query_square =
      0;                 ///< |q|^2 of the encrypted query's integers, or of the clear one's times its factor
  std::size_t dims = 0;  ///< 0: of a query in the clear
  double messages = 1;   ///< m: encryptions that were added up in the block
};
/// The sources of the noise of a score.
struct NoiseSources {
  double row_square = 0;    ///< |D_r|^2 of the score's row
  double block_square = 0;  ///< the sum of |D_r|^2 over the rows of its block
  int dropped_bits = 0;     ///< of the answer
  std::optional<EncryptedSources> encrypted = std::nullopt;
};
/// Standard deviation of the noise in the integers of `decrypt`, of
///   (sigma^2 + V (N^2 - 1) / 3) |D_r|^2 + V (2 (N + 1) / 3 - 1) (sum over the block's other rows of |D|^2)
/// at the top level, divided to level 0, and of the roundings after. V is the variance of a key switch:
///   V = (1 + |s|^2) / 12 + N sigma^2 (sum over digits of q_d^2) / (12 P^2).
/// An automorphism added to the ciphertext doubles the errors of earlier switches in coefficients that it
/// fixes and clears those that it negates; others it adds in pairs. So of log2 N levels the constant has
/// V (1 + 4 + ... + N^2 / 4), and X^k, k of which 2^v is the highest power of two, V (N / 2^v - 1), on
/// average 2 (N + 1) / 3 - 1. Rows of one norm have (N - 1) V (sum over the block of |D|^2).
///
/// An encrypted database has F^2 times this, and its own errors times the query, m sigma^2 |q|^2; with an
/// encrypted query also those times the query's, m sigma^2 dims (sigma^2 + V N (N - 1)), and V of the
/// relinearization. A query in the clear has m sigma^2 |q|^2 alone.
double noise_deviation(const rlwe::Parameters& parameters, const NoiseSources& sources);

}  // namespace hemera::circuits::search
