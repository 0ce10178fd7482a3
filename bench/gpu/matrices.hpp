// Products of matrices of integers and batches of polynomials on a GPU.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/rows.hpp"

namespace hemera::gpu_bench {

/// A matrix, times as many polynomials of two components as it has columns.
struct MatrixCase {
  std::size_t rows = 0, columns = 0, degree = 0;
  std::size_t limbs = 2;
  std::size_t bits = 49;  ///< of a prime
};

/// "4096x4096x4096": rows, columns, N; "...:limbs=1:bits=60" with fields of its own. std::invalid_argument
/// for another form.
MatrixCase read_matrix(const std::string& text);

/// Times for integers of one byte and of two, eager and as a graph; sums at some places are checked by exact
/// integers.
std::vector<TimedRow> time_matrix(const MatrixCase& chosen, int device, std::size_t repetitions);

}  // namespace hemera::gpu_bench
