#include "gpu/timer.hpp"

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <string>

namespace hemera::gpu_bench {
namespace {

constexpr std::size_t warm_up = 5;

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace

Timer::Timer(cudaStream_t stream, std::size_t repetitions) : stream_(stream), repetitions_(repetitions) {
  check(cudaEventCreate(&start_), "make an event");
  check(cudaEventCreate(&stop_), "make an event");
}

Timer::~Timer() {
  cudaEventDestroy(start_);
  cudaEventDestroy(stop_);
}

Timing Timer::measure(const std::function<void()>& prepare, const std::function<void()>& launch) const {
  std::vector<double> times;
  for (std::size_t i = 0; i < warm_up + repetitions_; ++i) {
    prepare();
    check(cudaStreamSynchronize(stream_), "wait for the device");
    check(cudaEventRecord(start_, stream_), "record an event");
    launch();
    check(cudaEventRecord(stop_, stream_), "record an event");
    check(cudaEventSynchronize(stop_), "wait for the device");
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
  // Plans are made and the pool is filled.
  call.restore();
  call.run();
  call.release();
  call.restore();
  check(cudaStreamSynchronize(stream_), "wait for the device");
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin a capture");
  std::string problem;
  try {
    call.run();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
  if (problem.empty() && ended != cudaSuccess) problem = cudaGetErrorString(ended);
  cudaGraphExec_t replay = nullptr;
  if (problem.empty()) {
    const cudaError_t made = cudaGraphInstantiate(&replay, graph, 0);
    if (made != cudaSuccess) problem = cudaGetErrorString(made);
  }
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (!problem.empty()) {
    cudaGetLastError();  // it stays otherwise
    std::cerr << "    no graph: " << problem << "\n";
    return std::nullopt;
  }
  // The output of the captured call is where every replay writes.
  Timing timing = measure(call.restore, [&] { check(cudaGraphLaunch(replay, stream_), "launch a graph"); });
  check(cudaStreamSynchronize(stream_), "wait for the device");
  timing.checked = call.check();
  cudaGraphExecDestroy(replay);
  return timing;
}

}  // namespace hemera::gpu_bench
