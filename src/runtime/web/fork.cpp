// WebAssembly: a process that does not fork.
#include "hemera/runtime/fork.hpp"

namespace hemera::runtime {

unsigned fork_generation() noexcept { return 0; }

ForkSafeMutex::ForkSafeMutex() = default;
ForkSafeMutex::~ForkSafeMutex() = default;

}  // namespace hemera::runtime
