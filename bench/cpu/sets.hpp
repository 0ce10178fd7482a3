// The parameter sets of the CPU benchmark.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hemera/rlwe/parameters.hpp"

namespace hemera::cpu_bench {

struct Set {
  std::string name;
  std::string what;
  std::vector<std::size_t> degrees;
  rlwe::Parameters (*make)(std::size_t degree);
};

const std::vector<Set>& sets();

}  // namespace hemera::cpu_bench
