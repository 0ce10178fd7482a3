// Functions that need more levels than there are: in stages, with bootstraps between them.
#pragma once

#include <cstddef>
#include <vector>

#include "hemera/circuits/functions/function.hpp"

namespace hemera::circuits {

/// A part of a function between two bootstraps. Its inputs and outputs are values of the whole function, by
/// their numbers there. Its intervals hold their ranges for all inputs of the whole function.
struct FunctionStage {
  Function function;
  std::vector<Function::Value> inputs;
  std::vector<Function::Value> outputs;
};

/// The function as a row of stages: the first of at most `first_levels`, the others of at most `levels`, each
/// as deep as it can be. A stage begins with its inputs at a level that has its depth below; outputs of the
/// whole function are among those of the stages. Throws LevelError for a polynomial or sum that alone is
/// deeper than `levels`, ParameterError for a function without outputs.
std::vector<FunctionStage> stages_of(const Function& function, std::size_t first_levels, std::size_t levels);
/// The shortest stages: each of at most as many levels as the deepest polynomial of the function takes.
std::vector<FunctionStage> stages_of(const Function& function);

}  // namespace hemera::circuits
