// WebAssembly: one thread, the caller's. Loops run in order.
#include "hemera/runtime/thread_pool.hpp"

#include <string>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/interruption.hpp"

namespace hemera::runtime {

struct ThreadPool::Workers {};

int available_processors() { return 1; }

ThreadPool::ThreadPool(int threads) : threads_(1) {
  if (threads < 0 || threads > 1) {
    throw ParameterError(std::to_string(threads) + " threads; WebAssembly has one: pass 1, or 0");
  }
}
ThreadPool::~ThreadPool() = default;

void ThreadPool::parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) {
    throw_if_interrupted();
    body(i);
  }
}

void ThreadPool::parallel_for_slots(std::size_t count,
                                    const std::function<void(std::size_t, std::size_t)>& body,
                                    int /*most_threads*/) {
  parallel_for(count, [&](std::size_t i) { body(i, 0); });
}

void ThreadPool::parallel_for_parts(std::span<const LoopPart> parts,
                                    const std::function<void(std::size_t, std::size_t)>& body,
                                    int /*most_threads*/) {
  for (std::size_t part = 0; part < parts.size(); ++part) {
    parallel_for(parts[part].count, [&](std::size_t i) { body(part, i); });
  }
}

}  // namespace hemera::runtime
