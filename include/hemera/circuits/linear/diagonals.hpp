// Matrices over the slots by their diagonals, from dense matrices and from entries.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace hemera::circuits {

/// The non-zero diagonals of a matrix over the slots: (M x)[k] = sum over j of diagonals[j][k] x[k + j],
/// slots counted modulo their number, j below it, each diagonal with one entry a slot.
using Diagonals = std::map<std::size_t, std::vector<std::complex<double>>>;

/// One diagonal: an entry for each slot, or one for all slots. Real entries take half the memory.
class Diagonal {
 public:
  Diagonal() = default;
  Diagonal(std::vector<std::complex<double>> entries) : entries_(std::move(entries)) {}
  Diagonal(std::vector<double> entries) : entries_(std::move(entries)) {}

  /// Entries that are stored.
  [[nodiscard]] std::size_t size() const;
  /// Whether entries are stored as real numbers.
  [[nodiscard]] bool is_real() const { return std::holds_alternative<std::vector<double>>(entries_); }
  [[nodiscard]] bool is_zero() const;
  [[nodiscard]] bool is_finite() const;
  /// Whether an entry has an imaginary part other than 0.
  [[nodiscard]] bool is_complex() const;
  /// The entry of a slot.
  [[nodiscard]] std::complex<double> operator[](std::size_t slot) const;
  /// sums[k] += the magnitude of the entry of slot k.
  void add_magnitudes(std::span<double> sums) const;
  /// sums[k] += its square times a factor.
  void add_squares(std::span<double> sums, double factor) const;
  /// The entries, turned to the left by this many slots; an entry for all slots stays as it is.
  [[nodiscard]] std::vector<std::complex<double>> turned(std::size_t turn) const;
  /// The shortest row, of a power of two, that these repeat.
  [[nodiscard]] std::vector<std::complex<double>> turned_period(std::size_t turn) const;
  [[nodiscard]] Diagonal times(double factor) const;

  friend bool operator==(const Diagonal&, const Diagonal&) = default;

 private:
  std::variant<std::vector<double>, std::vector<std::complex<double>>> entries_;
};

/// The non-zero diagonals of a matrix over the slots by number, as of `Diagonals`, each with its own storage.
class MatrixDiagonals {
 public:
  using Map = std::map<std::size_t, Diagonal>;

  MatrixDiagonals() = default;
  MatrixDiagonals(Diagonals diagonals);
  MatrixDiagonals(std::initializer_list<Map::value_type> diagonals) : map_(diagonals) {}
  explicit MatrixDiagonals(Map diagonals) : map_(std::move(diagonals)) {}

  [[nodiscard]] const Map& map() const { return map_; }
  [[nodiscard]] std::size_t size() const { return map_.size(); }
  [[nodiscard]] const Diagonal& at(std::size_t number) const { return map_.at(number); }
  /// False, and nothing is added, if there is a diagonal of this number.
  bool add(std::size_t number, Diagonal diagonal);
  /// Each entry times a factor.
  [[nodiscard]] MatrixDiagonals times(double factor) const;
  /// Leaves out diagonals that are zero everywhere.
  void drop_zeros();

  friend bool operator==(const MatrixDiagonals&, const MatrixDiagonals&) = default;

 private:
  Map map_;
};

/// Throws ParameterError unless a matrix has from 1 to `slots` rows and columns.
void require_extents(std::size_t rows, std::size_t columns, std::size_t slots);

/// How a matrix that is wide or tall takes fewer diagonals than slots, for R rows and C columns, filled up to
/// powers of two (S. Halevi, V. Shoup, "Algorithms in HElib", 2014/106; C. Juvekar, V. Vaikuntanathan, A.
/// Chandrakasan, "GAZELLE", 2018/073).
struct Wrapping {
  /// Not 0: a power of two from R to the slots. Entry (r, c) stands in row r + p t of diagonal j, where
  /// p t + j = c - r modulo the slots and j < p: p diagonals. The product is the sum of its slots p apart.
  std::size_t result_period = 0;
  /// Not 0: a power of two from C to the slots, with which the vector repeats: as many diagonals.
  std::size_t vector_period = 0;

  friend bool operator==(const Wrapping&, const Wrapping&) = default;
};

/// Diagonals of a dense matrix [row, column], row-major, in the upper left corner of a square one of `slots`;
/// those that are zero everywhere are left out. Throws ParameterError unless both extents are from 1 to
/// `slots` and the entries are as many.
Diagonals diagonals_of(std::span<const std::complex<double>> matrix, std::size_t rows, std::size_t columns,
                       std::size_t slots);

/// A dense matrix, row by row.
template <typename Number>
struct DenseMatrix {
  std::size_t rows = 0, columns = 0;
  std::span<const Number> value;
};
/// Entries of a sparse matrix by row and column, in any order. Entries of one place are added up.
template <typename Number>
struct Entries {
  std::size_t rows = 0, columns = 0;  // of the matrix
  std::span<const std::int64_t> row, column;
  std::span<const Number> value;
};

/// Diagonals of a matrix, in memory of these diagonals alone. Real entries stay real. Throws ParameterError
/// for
/// - extents beyond `slots`, or beyond the wrapping's periods;
/// - another number of entries of a dense matrix;
/// - rows, columns and values of different numbers, and a row or column that the matrix does not have;
/// - periods that are no powers of two up to `slots`, or both of them.
MatrixDiagonals diagonals_of(const DenseMatrix<double>& matrix, std::size_t slots,
                             const Wrapping& wrapping = {});
MatrixDiagonals diagonals_of(const DenseMatrix<std::complex<double>>& matrix, std::size_t slots,
                             const Wrapping& wrapping = {});
MatrixDiagonals diagonals_of(const Entries<double>& entries, std::size_t slots,
                             const Wrapping& wrapping = {});
MatrixDiagonals diagonals_of(const Entries<std::complex<double>>& entries, std::size_t slots,
                             const Wrapping& wrapping = {});

/// The numbers of the diagonals that entries other than 0 stand in, ascending. Throws as diagonals_of.
std::vector<std::size_t> diagonal_numbers(const DenseMatrix<double>& matrix, std::size_t slots);
std::vector<std::size_t> diagonal_numbers(const DenseMatrix<std::complex<double>>& matrix, std::size_t slots);
std::vector<std::size_t> diagonal_numbers(const Entries<double>& entries, std::size_t slots);
std::vector<std::size_t> diagonal_numbers(const Entries<std::complex<double>>& entries, std::size_t slots);

}  // namespace hemera::circuits
