// A fixed set of worker threads that share the iterations of a loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>

namespace hemera::runtime {

/// Consecutive iterations of a loop, which begin when the first `after` parts of the loop have ended; `after`
/// is at most the number of parts before this one.
struct LoopPart {
  std::size_t count = 0;
  std::size_t after = 0;
};

/// Runs loops on `threads` threads, the caller being one of them. Any number of threads may call
/// `parallel_for` on one pool at once; a call from inside a loop body runs that loop in place. In a child of
/// fork() the pool starts threads anew for its first loop. Threads that have worked look for the next loop
/// for a tenth of a millisecond before they sleep, unless the pool has more of them than there are
/// processors.
class ThreadPool {
 public:
  /// threads: 1 to 4096, or 0: one for each processor that the process may run on, fewer if the system starts
  /// no more. Throws ParameterError for another number, DeviceError if the given number can not be started.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const { return threads_; }

  /// Calls body(i) once for each i in [0, count), in any order; returns when all are done. An exception of
  /// the body is thrown here (the first one; the remaining iterations may be left out). Throws Interrupted
  /// between iterations (interruption.hpp), outside of other loops.
  void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

  /// As parallel_for: body(i, slot), with slots below `threads()` and below `count` that no two iterations
  /// have at the same time, for scratch. At most `most_threads` take part (0: all of them).
  void parallel_for_slots(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body,
                          int most_threads = 0);

  /// One loop over all parts: body(part, i) for each i below the part's count. Iterations begin in their
  /// order. Iterations of later parts begin while earlier ones still run, as far as LoopPart::after allows.
  void parallel_for_parts(std::span<const LoopPart> parts,
                          const std::function<void(std::size_t, std::size_t)>& body, int most_threads = 0);

 private:
  struct Workers;
  struct Loop;

  void run(Loop& loop, int most_threads);

  /// The workers of this process.
  Workers& workers();

  int threads_;
  std::atomic<Workers*> workers_{nullptr};
};

/// Number of processors this process may run on.
int available_processors();

}  // namespace hemera::runtime
