#include "hemera/circuits/linear/diagonals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <type_traits>

#include "circuits/coefficient.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;

// visit(row, column, value) for each entry other than 0, when all are known to be in the matrix.
template <typename Number, typename Visit>
void for_each_entry(const DenseMatrix<Number>& matrix, std::size_t slots, const Visit& visit) {
  const std::size_t rows = matrix.rows, columns = matrix.columns;
  require_extents(rows, columns, slots);
  if (matrix.value.size() != rows * columns) {
    throw ParameterError("a matrix of " + std::to_string(rows) + " rows and " + std::to_string(columns) +
                         " columns with " + std::to_string(matrix.value.size()) + " entries");
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const Number entry = matrix.value[row * columns + column];
      if (entry == Number(0)) continue;
      visit(row, column, entry);
    }
  }
}

template <typename Number, typename Visit>
void for_each_entry(const Entries<Number>& entries, std::size_t slots, const Visit& visit) {
  require_extents(entries.rows, entries.columns, slots);
  const std::size_t count = entries.value.size();
  if (entries.row.size() != count || entries.column.size() != count) {
    throw ParameterError("a matrix by " + std::to_string(count) + " entries with " +
                         std::to_string(entries.row.size()) + " rows and " +
                         std::to_string(entries.column.size()) + " columns; each entry has one of both");
  }
  const auto is_beyond = [](std::int64_t index, std::size_t extent) {
    return index < 0 || static_cast<std::size_t>(index) >= extent;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_beyond(entries.row[i], entries.rows) && !is_beyond(entries.column[i], entries.columns)) continue;
    throw ParameterError("entry " + std::to_string(i) + " in row " + std::to_string(entries.row[i]) +
                         " and column " + std::to_string(entries.column[i]) + " of a matrix of " +
                         std::to_string(entries.rows) + " rows and " + std::to_string(entries.columns) +
                         " columns; both are counted from 0");
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (entries.value[i] == Number(0)) continue;
    visit(static_cast<std::size_t>(entries.row[i]), static_cast<std::size_t>(entries.column[i]),
          entries.value[i]);
  }
}

// `least`: rows or columns of the matrix, which a period has room for.
void require_period(std::size_t period, std::size_t least, std::size_t slots) {
  if (period == 0 || (std::has_single_bit(period) && period >= least && period <= slots)) return;
  throw ParameterError("diagonals that are wrapped around " + std::to_string(period) + " of " +
                       std::to_string(slots) + " slots, for " + std::to_string(least) +
                       " rows or columns; a period is a power of two from these to the slots");
}

// Each diagonal that entries touch, by number.
template <typename Map, typename Matrix>
Map collected(const Matrix& matrix, std::size_t slots, const Wrapping& wrapping) {
  using Number = std::remove_const_t<typename decltype(matrix.value)::element_type>;
  require_period(wrapping.result_period, matrix.rows, slots);
  require_period(wrapping.vector_period, matrix.columns, slots);
  if (wrapping.result_period != 0 && wrapping.vector_period != 0) {
    throw ParameterError("diagonals are wrapped around rows or around columns, not around both");
  }
  const std::size_t rows_apart = wrapping.result_period == 0 ? slots : wrapping.result_period;
  const std::size_t columns_apart = wrapping.vector_period == 0 ? slots : wrapping.vector_period;
  std::vector<std::vector<Number>> diagonals;
  for_each_entry(matrix, slots, [&](std::size_t row, std::size_t column, Number value) {
    const std::size_t distance = (column + slots - row) % columns_apart;
    diagonals.resize(std::min(rows_apart, columns_apart));
    std::vector<Number>& diagonal = diagonals[distance % rows_apart];
    if (diagonal.empty()) diagonal.resize(slots);
    diagonal[row + distance / rows_apart * rows_apart] += value;
  });
  Map map;
  for (std::size_t number = 0; number < diagonals.size(); ++number) {
    if (!diagonals[number].empty()) map.emplace_hint(map.end(), number, std::move(diagonals[number]));
  }
  return map;
}

template <typename Matrix>
MatrixDiagonals stored(const Matrix& matrix, std::size_t slots, const Wrapping& wrapping) {
  return MatrixDiagonals(collected<MatrixDiagonals::Map>(matrix, slots, wrapping));
}

template <typename Number>
std::vector<Complex> turned_row(std::span<const Number> row, std::size_t turn) {
  const auto first = row.begin() + static_cast<std::ptrdiff_t>(turn % row.size());
  std::vector<Complex> result;
  result.reserve(row.size());
  result.insert(result.end(), first, row.end());
  result.insert(result.end(), row.begin(), first);
  return result;
}

template <typename Matrix>
std::vector<std::size_t> numbers_of(const Matrix& matrix, std::size_t slots) {
  std::vector<bool> has_entries;
  for_each_entry(matrix, slots, [&](std::size_t row, std::size_t column, const auto& /*value*/) {
    has_entries.resize(slots);
    has_entries[(column + slots - row) % slots] = true;
  });
  std::vector<std::size_t> numbers;
  for (std::size_t number = 0; number < has_entries.size(); ++number) {
    if (has_entries[number]) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

std::size_t Diagonal::size() const {
  return std::visit([](const auto& entries) { return entries.size(); }, entries_);
}

bool Diagonal::is_zero() const {
  return std::visit(
      [](const auto& entries) {
        return std::all_of(entries.begin(), entries.end(), [](const auto& entry) { return entry == 0.0; });
      },
      entries_);
}

bool Diagonal::is_finite() const {
  const auto all_of = [](const auto& entries) {
    return std::all_of(entries.begin(), entries.end(), [](const Complex& entry) {
      return std::isfinite(entry.real()) && std::isfinite(entry.imag());
    });
  };
  return std::visit(all_of, entries_);
}

bool Diagonal::is_complex() const {
  const auto* entries = std::get_if<std::vector<Complex>>(&entries_);
  return entries != nullptr && std::any_of(entries->begin(), entries->end(),
                                           [](const Complex& entry) { return entry.imag() != 0; });
}

Complex Diagonal::operator[](std::size_t slot) const {
  return std::visit(
      [slot](const auto& entries) -> Complex { return entries.size() == 1 ? entries[0] : entries[slot]; },
      entries_);
}

void Diagonal::add_magnitudes(std::span<double> sums) const {
  std::visit(
      [sums](const auto& entries) {
        const std::size_t step = entries.size() == 1 ? 0 : 1;
        for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += std::abs(entries[step * k]);
      },
      entries_);
}

void Diagonal::add_squares(std::span<double> sums, double factor) const {
  std::visit(
      [sums, factor](const auto& entries) {
        const std::size_t step = entries.size() == 1 ? 0 : 1;
        for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += std::norm(entries[step * k]) * factor;
      },
      entries_);
}

std::vector<Complex> Diagonal::turned(std::size_t turn) const {
  return std::visit([turn](const auto& entries) { return turned_row(std::span(entries), turn); }, entries_);
}

std::vector<Complex> Diagonal::turned_period(std::size_t turn) const {
  return std::visit([turn](const auto& entries) { return turned_row(period_of(std::span(entries)), turn); },
                    entries_);
}

Diagonal Diagonal::times(double factor) const {
  Diagonal result = *this;
  std::visit(
      [factor](auto& entries) {
        for (auto& entry : entries) entry *= factor;
      },
      result.entries_);
  return result;
}

MatrixDiagonals::MatrixDiagonals(Diagonals diagonals) {
  for (auto& [number, entries] : diagonals) map_.emplace_hint(map_.end(), number, std::move(entries));
}

bool MatrixDiagonals::add(std::size_t number, Diagonal diagonal) {
  return map_.emplace(number, std::move(diagonal)).second;
}

MatrixDiagonals MatrixDiagonals::times(double factor) const {
  Map scaled;
  for (const auto& [number, diagonal] : map_) {
    scaled.emplace_hint(scaled.end(), number, diagonal.times(factor));
  }
  return MatrixDiagonals(std::move(scaled));
}

void MatrixDiagonals::drop_zeros() {
  std::erase_if(map_, [](const auto& entry) { return entry.second.is_zero(); });
}

void require_extents(std::size_t rows, std::size_t columns, std::size_t slots) {
  if (rows != 0 && columns != 0 && rows <= slots && columns <= slots) return;
  throw ParameterError("a matrix of " + std::to_string(rows) + " rows and " + std::to_string(columns) +
                       " columns does not act on " + std::to_string(slots) +
                       " slots; both extents are from 1 to the number of slots");
}

Diagonals diagonals_of(std::span<const Complex> matrix, std::size_t rows, std::size_t columns,
                       std::size_t slots) {
  return collected<Diagonals>(DenseMatrix<Complex>{rows, columns, matrix}, slots, {});
}

MatrixDiagonals diagonals_of(const DenseMatrix<double>& matrix, std::size_t slots, const Wrapping& wrapping) {
  return stored(matrix, slots, wrapping);
}
MatrixDiagonals diagonals_of(const DenseMatrix<Complex>& matrix, std::size_t slots,
                             const Wrapping& wrapping) {
  return stored(matrix, slots, wrapping);
}
MatrixDiagonals diagonals_of(const Entries<double>& entries, std::size_t slots, const Wrapping& wrapping) {
  return stored(entries, slots, wrapping);
}
MatrixDiagonals diagonals_of(const Entries<Complex>& entries, std::size_t slots, const Wrapping& wrapping) {
  return stored(entries, slots, wrapping);
}

std::vector<std::size_t> diagonal_numbers(const DenseMatrix<double>& matrix, std::size_t slots) {
  return numbers_of(matrix, slots);
}
std::vector<std::size_t> diagonal_numbers(const DenseMatrix<Complex>& matrix, std::size_t slots) {
  return numbers_of(matrix, slots);
}
std::vector<std::size_t> diagonal_numbers(const Entries<double>& entries, std::size_t slots) {
  return numbers_of(entries, slots);
}
std::vector<std::size_t> diagonal_numbers(const Entries<Complex>& entries, std::size_t slots) {
  return numbers_of(entries, slots);
}

}  // namespace hemera::circuits
