// Search in a database that is encrypted under the key of its owner, who alone can read scores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hemera/circuits/search/blocks.hpp"
#include "hemera/circuits/search/expansion.hpp"
#include "hemera/circuits/search/query.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/integer_matrix.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::circuits::search {

/// Encrypted rows, as they travel: for each of their numbers a ciphertext (b, a) with b + a s = message +
/// error, whose coefficient r is the number of row r.
struct EncryptedRows {
  std::size_t count = 0;
  std::size_t dims = 0;
  /// The stream of all a, evaluation form.
  poly::RandomStream seed;
  /// All b in evaluation form, [j, limb, N].
  std::vector<std::uint64_t> numbers;
};

/// Encrypts rows [row, dims] of integers times 2^shift, with a fresh seed. Integers times 2^shift are taken
/// modulo the top level's modulus. Throws ParameterError unless there are 1 to N whole rows of 1 to N
/// numbers.
EncryptedRows encrypt_rows(const rlwe::SecretKey& secret, std::span<const std::int64_t> values,
                           std::size_t dims, int shift);

/// Encrypted rows in blocks of N: for each block and each j the ciphertext of entry j of its rows. Changes
/// need the caller's lock.
class EncryptedDatabase {
 public:
  /// Empty. Throws ParameterError unless 1 <= dims <= N.
  EncryptedDatabase(rlwe::ContextPointer context, std::size_t dims);
  EncryptedDatabase(const EncryptedDatabase&) = delete;
  EncryptedDatabase& operator=(const EncryptedDatabase&) = delete;

  [[nodiscard]] const rlwe::ContextPointer& context() const { return context_; }
  [[nodiscard]] std::size_t dims() const { return expansion_.layout().dims; }
  [[nodiscard]] std::size_t blocks() const { return blocks_.count(); }
  /// Bytes in the context's memory.
  [[nodiscard]] std::size_t memory_bytes() const { return blocks_.memory_bytes(); }

  /// Makes room for this many blocks, or gives back memory. The contents of new blocks are unspecified.
  void resize(std::size_t blocks) { blocks_.resize(blocks); }
  /// Rows become those of a block from place `first` on: 0 replaces the whole block; otherwise they are
  /// multiplied by X^first and added to it, and so are their errors in all places. Throws ParameterError for
  /// a block that is not there, other dims, or rows behind place N - 1; MismatchError for rows without the
  /// numbers that their extents have, FormatError for a number that is no residue.
  void place(std::size_t block, std::size_t first, const EncryptedRows& rows);
  /// A block takes another's contents.
  void move_block(std::size_t to, std::size_t from);
  /// The residues of a block's b and a, [2, j, limb, N], as files have them.
  [[nodiscard]] std::vector<std::uint64_t> residues(std::size_t block) const;
  /// The reverse. Throws as `place`.
  void set_residues(std::size_t block, std::span<const std::uint64_t> residues);

  /// Bytes of each half of an answer to this many queries with `width` bytes a number.
  [[nodiscard]] std::size_t half_bytes(std::size_t count, int width) const {
    return blocks() * count * context_->degree() * static_cast<std::size_t>(width);
  }
  /// Scores of all rows: for each block the sum over j of the products of its ciphertexts and the expanded
  /// query's, relinearized once. Throws as Database::answer, and MissingKeyError without a relinearization
  /// key.
  void answer(const Query& query, const rlwe::EvaluationKeys& keys, const Packing& packing,
              const AnswerHalves& out) const {
    answer(std::array{KeyedQuery{query, keys}}, packing, {&out, 1});
  }
  /// The same for several messages of queries in one pass, as Database::answer.
  void answer(std::span<const KeyedQuery> queries, const Packing& packing,
              std::span<const AnswerHalves> out) const;
  /// The same as whole numbers.
  [[nodiscard]] Answer answer(const Query& query, const rlwe::EvaluationKeys& keys, int dropped_bits) const {
    Answer whole = empty_answer(*context_, query.count, blocks(), dropped_bits);
    answer(query, keys, {.dropped_bits = dropped_bits}, whole.halves());
    return whole;
  }
  /// The same for queries in the clear, [query, dims], times `factor`, without keys. Throws MismatchError for
  /// queries of another context or of other dims, or where there is no block.
  void answer(const rlwe::IntegerMatrix& queries, std::uint64_t factor, const Packing& packing,
              const AnswerHalves& out) const;
  /// The same as whole numbers.
  [[nodiscard]] Answer answer(const rlwe::IntegerMatrix& queries, std::uint64_t factor,
                              int dropped_bits) const {
    Answer whole = empty_answer(*context_, queries.rows(), blocks(), dropped_bits);
    answer(queries, factor, {.dropped_bits = dropped_bits}, whole.halves());
    return whole;
  }

 private:
  /// Throws MismatchError or FormatError unless these are the residues of polynomials [limb, N].
  void require_residues(std::span<const std::uint64_t> residues, std::size_t polynomials) const;

  rlwe::ContextPointer context_;
  Expansion expansion_;
  Blocks blocks_;  // of two rows, b and a: [2, j, limb, N]
};

}  // namespace hemera::circuits::search
