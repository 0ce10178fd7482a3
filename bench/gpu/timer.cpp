#include "gpu/timer.hpp"

#include <cuda_profiler_api.h>

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "runtime/cuda/stream.hpp"

namespace hemera::gpu_bench {
namespace {

constexpr std::size_t warm_up = 5;

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace

Timer::Timer(const rlwe::Context& context, std::size_t repetitions)
    : backend_(context.backend()),
      queue_(context.queue()),
      stream_(dynamic_cast<const runtime::cuda::StreamQueue&>(queue_).streams().current().get()),
      repetitions_(repetitions) {
  check(cudaEventCreate(&start_), "make an event");
  check(cudaEventCreate(&stop_), "make an event");
}

Timer::~Timer() {
  cudaEventDestroy(start_);
  cudaEventDestroy(stop_);
}

Timing Timer::measure(const std::function<void()>& prepare, const std::function<void()>& launch) const {
  std::vector<double> times;
  const std::size_t calls = warm_up + repetitions_;
  for (std::size_t i = 0; i < calls; ++i) {
    prepare();
    check(cudaStreamSynchronize(stream_), "wait for the device");
    if (i + 1 == calls) cudaProfilerStart();
    check(cudaEventRecord(start_, stream_), "record an event");
    launch();
    check(cudaEventRecord(stop_, stream_), "record an event");
    check(cudaEventSynchronize(stop_), "wait for the device");
    if (i + 1 == calls) cudaProfilerStop();
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_), "read the time");
    if (i >= warm_up) times.push_back(1000.0 * static_cast<double>(milliseconds));
  }
  std::sort(times.begin(), times.end());
  const auto quantile = [&](std::size_t quarters) { return times[quarters * (times.size() - 1) / 4]; };
  return {.median = quantile(2), .spread = quantile(3) - quantile(1)};
}

Timing Timer::eager(const Call& call) const {
  const auto prepare = [&] {
    call.release();
    call.restore();
  };
  Timing timing = measure(prepare, call.run);
  timing.checked = call.check();
  return timing;
}

std::optional<Timing> Timer::graph(const Call& call) const {
  if (call.eager_only) return std::nullopt;
  // Plans are made before.
  call.restore();
  call.run();
  call.release();
  call.restore();
  std::unique_ptr<poly::Backend::Recording> recording;
  try {
    recording = backend_.record(queue_, call.run);
  } catch (const Error& error) {
    std::cerr << "    no graph: " << error.what() << "\n";
    return std::nullopt;
  }
  // The output of the recorded call is where every replay writes.
  Timing timing = measure(call.restore, [&] { recording->replay(queue_); });
  timing.checked = call.check();
  call.release();
  return timing;
}

}  // namespace hemera::gpu_bench
