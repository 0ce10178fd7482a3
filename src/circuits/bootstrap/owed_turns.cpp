#include "circuits/bootstrap/owed_turns.hpp"

#include <utility>

#include "circuits/linear/widest_gap.hpp"

namespace hemera::circuits {

OwingMatrix owing(const MatrixDiagonals& matrix, std::size_t slots, std::size_t period, std::size_t owed) {
  std::map<std::size_t, bool> numbers;
  for (const auto& [number, diagonal] : matrix.map()) numbers[number % period] = true;
  const std::size_t low = after_widest_gap(numbers, period);
  const std::size_t turn = slots - (low + owed) % slots;
  MatrixDiagonals::Map result;
  for (const auto& [number, diagonal] : matrix.map()) {
    result.emplace((number + period - low) % period,
                   diagonal.size() == 1 ? diagonal : Diagonal(diagonal.turned(turn)));
  }
  return {.diagonals = MatrixDiagonals(std::move(result)), .owed = low + owed};
}

MatrixDiagonals paying(const MatrixDiagonals& matrix, std::size_t slots, std::size_t owed) {
  MatrixDiagonals::Map result;
  for (const auto& [number, diagonal] : matrix.map()) result.emplace((number + owed) % slots, diagonal);
  return MatrixDiagonals(std::move(result));
}

}  // namespace hemera::circuits
