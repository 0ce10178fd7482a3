// Work in several threads where there is no context that has a pool of them.
#pragma once

#include <algorithm>
#include <cstddef>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/thread_pool.hpp"

namespace hemera::runtime {

/// The process's threads for such work, as many as processors are available, at most 16. They are started
/// once: that takes longer than a step of most loops, and the same threads keep their streams of a device.
inline ThreadPool& host_pool() {
  static constexpr int most_threads = 16;
  static ThreadPool* const pool = [] {  // until the process ends, when nobody can join its threads any more
    try {
      return new ThreadPool(std::min(most_threads, available_processors()));
    } catch (const DeviceError&) {
      return new ThreadPool(1);  // they can not be started: the caller's does all
    }
  }();
  return *pool;
}

/// Calls body(i) for each i below `count` on these threads, each of which takes `least` calls at a time: an
/// exception of a call is the caller's, when all threads have ended, and calls may then be left out.
template <typename Body>
void in_threads(std::size_t count, std::size_t least, const Body& body) {
  host_pool().parallel_for((count + least - 1) / least, [&](std::size_t part) {
    for (std::size_t i = part * least; i < std::min(count, (part + 1) * least); ++i) body(i);
  });
}

}  // namespace hemera::runtime
