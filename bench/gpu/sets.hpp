// The parameter sets of the benchmark: those that other libraries were measured with, and their secure
// neighbours.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::gpu_bench {

struct Set {
  std::string name;
  std::string what;
  std::function<rlwe::Parameters()> make;
  /// Levels below the top at which products, rotations and the steps of a key switch are timed as well.
  std::vector<std::size_t> levels = {};
  /// Not empty: transforms of this many polynomials of one limb are timed, and nothing else.
  std::vector<std::size_t> transforms = {};
};

const std::vector<Set>& sets();

/// Whether a set is run where no sets are named: neither those that try the program out nor those of papers.
bool is_default(const Set& set);

/// The arithmetic that the CUDA backend chooses for a base of all primes of these parameters: "f64" below
/// 2^50, "m64" for primes that are 1 modulo 2^32, else "u64".
std::string arithmetic(const rlwe::Parameters& parameters);

}  // namespace hemera::gpu_bench
