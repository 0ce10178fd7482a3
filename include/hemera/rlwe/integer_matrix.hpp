// Matrices of integers in the clear, times batches of ciphertexts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hemera/poly/views.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::rlwe {

/// The most that sums of one row of a matrix may have: a row's 1-norm, which also bounds the noise's growth,
/// stays exact in 64 bits.
inline constexpr std::size_t most_matrix_columns = std::size_t{1} << 20;

/// A matrix of integers in a context's memory, of one byte an entry where all lie in [-128, 127], else of
/// two. Immutable.
class IntegerMatrix {
 public:
  /// `values`: [row, column]. Throws ParameterError for no row or column, other than rows * columns values,
  /// or more columns than most_matrix_columns.
  IntegerMatrix(const ContextPointer& context, std::size_t rows, std::size_t columns,
                std::span<const std::int16_t> values);

  [[nodiscard]] const ContextPointer& context() const { return context_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  /// Bytes of an entry, 1 or 2.
  [[nodiscard]] int entry_bytes() const { return entry_bytes_; }
  /// The largest sum of the magnitudes of a row.
  [[nodiscard]] double largest_norm() const { return largest_norm_; }
  [[nodiscard]] poly::IntegerMatrixView view() const;

 private:
  ContextPointer context_;
  std::size_t rows_, columns_;
  int entry_bytes_ = 1;
  double largest_norm_ = 0;
  std::vector<std::byte> host_;
  runtime::Buffer buffer_;  // on a GPU; elsewhere the host's array serves
};

/// The product of a matrix and a batch along its first axis: element r of the result is the sum over j of
/// w[r][j] x[j], for each element of the batch's other axes. Sums of integer multiples need no key and no
/// level, whatever the values' encoding (as in N. Dowlin et al., "CryptoNets", 2016). Any scheme; the scale
/// stays, and BFV and BGV sum modulo t. The bounds of values and noise grow by the matrix's largest_norm.
/// Throws MismatchError for another context or a first axis of another extent.
Ciphertext multiply_matrix(const IntegerMatrix& w, const Ciphertext& x);

}  // namespace hemera::rlwe
