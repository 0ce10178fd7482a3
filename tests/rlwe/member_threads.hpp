// Work of members at the same time, a thread each, as a pool has it.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace hemera::tests {

/// A `rlwe::ForMembers`.
inline void in_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::thread> threads;
  for (std::size_t member = 0; member < count; ++member) threads.emplace_back(work, member);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace hemera::tests
