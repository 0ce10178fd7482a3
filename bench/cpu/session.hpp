// Keys, plaintexts and ciphertexts of one context, and a call of each operation on them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hemera/rlwe/parameters.hpp"

namespace hemera::cpu_bench {

struct Call {
  std::string operation;
  std::function<void()> run;
  /// Whether the operation's result decrypts to the right values.
  std::function<bool()> check;
};

/// Names of all operations, in the order of `calls`; rescale is CKKS's and BGV's alone.
const std::vector<std::string>& operations();

/// The calls of a scheme's operations, which hold all they need. One of them at a time may run.
std::vector<Call> calls(const rlwe::Parameters& parameters, int threads);

}  // namespace hemera::cpu_bench
