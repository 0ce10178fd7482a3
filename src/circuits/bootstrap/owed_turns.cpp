#include "circuits/bootstrap/owed_turns.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "circuits/linear/widest_gap.hpp"

namespace hemera::circuits {

OwingMatrix owing(const MatrixDiagonals& matrix, std::size_t slots, std::size_t period, std::size_t low,
                  std::size_t owed) {
  const std::size_t turn = slots - (low + owed) % slots;
  MatrixDiagonals::Map result;
  for (const auto& [number, diagonal] : matrix.map()) {
    result.emplace((number + period - low) % period,
                   diagonal.size() == 1 ? diagonal : Diagonal(diagonal.turned(turn)));
  }
  return {.diagonals = MatrixDiagonals(std::move(result)), .owed = low + owed};
}

namespace {

struct Run {
  std::size_t low = 0;
  std::size_t stride = 0, count = 0;  // of which all numbers are multiples from `low` on
};

Run run_of(const MatrixDiagonals& matrix, std::size_t period) {
  std::map<std::size_t, bool> numbers;
  for (const auto& [number, diagonal] : matrix.map()) numbers[number % period] = true;
  Run run{.low = after_widest_gap(numbers, period), .stride = period, .count = 0};
  std::size_t last = 0;
  for (const auto& [number, is_there] : numbers) {
    const std::size_t own = (number + period - run.low) % period;
    run.stride = std::gcd(run.stride, own);
    last = std::max(last, own);
  }
  run.count = last / run.stride + 1;
  return run;
}

}  // namespace

std::vector<std::size_t> lowest_numbers(std::span<const MatrixDiagonals* const> matrices,
                                        std::size_t period) {
  std::vector<std::size_t> numbers;
  for (const MatrixDiagonals* matrix : matrices) numbers.push_back(run_of(*matrix, period).low);
  return numbers;
}

std::vector<std::size_t> balanced_numbers(std::span<const MatrixDiagonals* const> matrices,
                                          std::size_t period) {
  std::vector<Run> runs;
  for (const MatrixDiagonals* matrix : matrices) runs.push_back(run_of(*matrix, period));
  const auto goes_around = [&](const Run& each) {
    return each.count * each.stride == period && each.count > 1;
  };
  const auto around = std::find_if(runs.begin(), runs.end(), goes_around);
  if (around == runs.end()) return {};
  std::size_t sum = 0;
  for (const Run& each : runs) sum += each.low;
  // The longest strides first.
  std::vector<Run*> others;
  for (Run& each : runs) {
    if (&each != &*around) others.push_back(&each);
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const Run* a, const Run* b) { return a->stride > b->stride; });
  std::size_t left = sum % around->stride;
  for (Run* each : others) {
    const std::size_t room = std::bit_ceil(each->count) - each->count;
    const std::size_t shift = std::min(room, left / each->stride) * each->stride;
    each->low = (each->low + period - shift) % period;
    left -= shift;
    sum -= shift;
  }
  if (left != 0) return {};
  around->low = (around->low + period - sum % period) % period;
  std::vector<std::size_t> numbers;
  for (const Run& each : runs) numbers.push_back(each.low);
  return numbers;
}

MatrixDiagonals paying(const MatrixDiagonals& matrix, std::size_t slots, std::size_t owed) {
  MatrixDiagonals::Map result;
  for (const auto& [number, diagonal] : matrix.map()) result.emplace((number + owed) % slots, diagonal);
  return MatrixDiagonals(std::move(result));
}

}  // namespace hemera::circuits
