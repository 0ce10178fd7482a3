// Work in several threads where there is no context, and so no pool of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <vector>

#include "hemera/runtime/thread_pool.hpp"

namespace hemera::runtime {

/// Calls body(i) for each i below `count`, in as many threads as processors are available, at most 16, of
/// which each has `least` calls: an exception of a call is the caller's, when all threads have ended.
template <typename Body>
void in_threads(std::size_t count, std::size_t least, const Body& body) {
  constexpr std::size_t most_threads = 16;
  const std::size_t threads =
      std::min({(count + least - 1) / least, most_threads, static_cast<std::size_t>(available_processors())});
  const auto take = [&](std::size_t thread) {
    for (std::size_t i = thread; i < count; i += threads) body(i);
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < threads; ++thread) {
    others.push_back(std::async(std::launch::async, take, thread));
  }
  if (threads > 0) take(0);
  for (std::future<void>& other : others) other.get();
}

}  // namespace hemera::runtime
