// Times calls by CUDA events: the device is idle before, the events stand around one call.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hemera/rlwe/context.hpp"

namespace hemera::gpu_bench {

/// A timed call, in parts.
struct Call {
  std::function<void()> run;
  /// Before each eager call, outside of the time: lets go of the last output, so that its memory is there.
  std::function<void()> release;
  /// Before each call, outside of the time: what `run` changes in place is as it was.
  std::function<void()> restore = [] {};
  /// Whether the result of the last call is right.
  std::function<bool()> check;
  /// Draws randomness, or needs the host: can not be captured.
  bool eager_only = false;
  /// Bytes of a copy; 0 of other calls.
  std::size_t bytes = 0;
};

/// A call that makes a new object.
template <typename T>
Call making(std::function<T()> make, std::function<bool(const T&)> check, bool eager_only = false) {
  auto output = std::make_shared<std::optional<T>>();
  return {.run = [output, make = std::move(make)] { output->emplace(make()); },
          .release = [output] { output->reset(); },
          .check = [output, check = std::move(check)] { return output->has_value() && check(**output); },
          .eager_only = eager_only};
}

/// The calls' times, in microseconds.
struct Timing {
  double median = 0;
  /// Between the first and the third quartile.
  double spread = 0;
  bool checked = false;
};

class Timer {
 public:
  /// The context must outlive it.
  Timer(const rlwe::Context& context, std::size_t repetitions);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  Timing eager(const Call& call) const;
  /// The same call, captured as a graph and replayed; nothing where it can not be captured.
  std::optional<Timing> graph(const Call& call) const;

 private:
  /// Times `launch`, which comes after `prepare` and a wait. The last call is a profiler's range.
  Timing measure(const std::function<void()>& prepare, const std::function<void()>& launch) const;

  const poly::Backend& backend_;
  runtime::Queue& queue_;
  cudaStream_t stream_;
  std::size_t repetitions_;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

}  // namespace hemera::gpu_bench
