// The part of CUDA that Hemera's kernels use, run on the CPU: the threads of a cluster of blocks are fibers
// of one thread, a launch returns when its blocks have run. For tests of the kernels' logic where there is no
// GPU; not for speed.
//
// A fiber runs until it reaches a barrier, so races show up as wrong results only by luck: they are for
// compute-sanitizer on a GPU. Shared memory that nobody wrote holds garbage.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#define HEMERA_CUDA_EMULATION 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static thread_local

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) ulonglong2 {
  unsigned long long x, y;
};
struct alignas(16) double2 {
  double x, y;
};
using std::max;
using std::min;
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }
inline double2 make_double2(double x, double y) { return {x, y}; }

namespace hemera::emulation {

/// What a lane of a warp gives the others.
using LaneBytes = std::array<unsigned char, 64>;
struct Thread {
  dim3 thread_index;
  unsigned linear = 0;
  LaneBytes* exchanged[2] = {};  // of the warp's lanes: one exchange here, the next there
  unsigned exchanges = 0;
};

struct Block {
  dim3 index;
  unsigned rank = 0;  // in its cluster
  unsigned char* dynamic_shared = nullptr;
  int vote = 0;
};

// The thread and block of the fiber that runs now.
inline constinit thread_local Thread* own_thread = nullptr;
inline constinit thread_local Block* own_block = nullptr;
inline Thread& current_thread() { return *own_thread; }
inline Block& current_block() { return *own_block; }
/// Dynamic shared memory of a block of the calling thread's cluster; __shared__ variables are all blocks' own
/// only where clusters have one block.
unsigned char* dynamic_shared_of(unsigned rank);
void block_barrier();
void warp_barrier();
void cluster_barrier();
/// Until others have run; and when what a fiber waited for is there.
void wait_for_others();
void end_wait();
/// "mbarrier" of the PTX ISA, in shared memory.
class PhaseBarrier {
 public:
  void begin(unsigned count) { *this = PhaseBarrier(count); }
  void arrive() {
    if (pending_ == 0) std::abort();
    --pending_;
    end_phase();
  }
  void expect(unsigned bytes) {
    bytes_ += static_cast<std::int32_t>(bytes);
    arrive();
  }
  void complete(unsigned bytes) {
    bytes_ -= static_cast<std::int32_t>(bytes);
    end_phase();
  }
  /// Until the phase of this parity has ended.
  void wait(unsigned parity) const {
    while (phase_ == parity) wait_for_others();
    end_wait();
  }

 private:
  explicit PhaseBarrier(unsigned count)
      : count_(static_cast<std::uint16_t>(count)), pending_(static_cast<std::uint8_t>(count)) {}
  void end_phase() {
    if (pending_ != 0 || bytes_ != 0) return;
    pending_ = static_cast<std::uint8_t>(count_);
    phase_ ^= 1;
  }

  std::uint16_t count_;
  std::uint8_t pending_;
  std::uint8_t phase_ = 0;
  std::int32_t bytes_ = 0;
};
static_assert(sizeof(PhaseBarrier) == 8);
/// What the lanes of the warp give, valid until the next exchange. A lane writes a place again only two
/// exchanges later, when all have read it: they came to the barrier between.
template <typename T>
const LaneBytes* exchange(const T& value) {
  static_assert(sizeof(T) <= sizeof(LaneBytes));
  Thread& thread = current_thread();
  LaneBytes* const lanes = thread.exchanged[thread.exchanges++ % 2];
  std::memcpy(lanes[thread.linear % 32].data(), &value, sizeof value);
  warp_barrier();
  return lanes;
}
/// `cluster`: blocks of a cluster, neighbours in x.
void run(dim3 grid, dim3 block, unsigned cluster, std::size_t shared_bytes,
         const std::function<void()>& kernel);

/// What was asked of the device so far, by all threads.
struct Counts {
  std::size_t kernels = 0;
  std::size_t copies_to_device = 0;
  std::size_t fills = 0;
  std::size_t copies_to_host = 0;
  std::size_t synchronizations = 0;
  std::size_t allocations = 0;
  std::size_t stream_waits = 0;
  std::size_t pinned_allocations = 0;
};
Counts counts();
/// The process that uses the device: CUDA does not survive a fork.
void require_own_process();
void count(std::size_t Counts::*what);

/// How many kernels of each stream come before a place in a stream, which streams and events guarantee.
using Clock = std::map<const void*, std::size_t>;
/// A kernel's place: the streams it is in and those before it, itself included.
struct Launch {
  const void* stream = nullptr;
  Clock clock;

  [[nodiscard]] bool comes_before(const Launch& other) const {
    const auto known = other.clock.find(stream);
    return known != other.clock.end() && known->second >= clock.at(stream);
  }
};
/// The launch of the last kernel, or copy on the device, that the calling thread gave, outside captures.
inline thread_local Launch last_launch;

/// The next so many allocations find no memory, on the device or to be pinned.
inline std::size_t refused_allocations = 0;
inline std::size_t refused_pinned_allocations = 0;

/// From now on nothing can be given to the device, nor waited for.
inline bool device_fails = false;

/// Pinned memory of the host.
std::byte* pin(std::size_t bytes);
void unpin(void* pointer);
bool is_pinned(const void* pointer);
/// The blocks that are pinned now.
std::vector<std::span<const std::byte>> pinned_blocks();

/// The devices of the machine, which can use each other's memory as their own.
inline int devices = 1;
inline thread_local int current_device = 0;

/// The bytes of each device's memory.
inline std::size_t device_memory = std::size_t{1} << 33;
/// Memory of the calling thread's device; null where it has no more.
void* take_device_memory(std::size_t bytes);
void give_back_device_memory(void* pointer);
std::size_t free_device_memory();
/// Whether they can read each other's memory, and who was allowed to, whose.
inline bool can_access_peers = true;
inline std::set<std::pair<int, int>> peers;

}  // namespace hemera::emulation

// The indices and sizes of the fiber that runs now.
inline constinit thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

inline void __syncthreads() { hemera::emulation::block_barrier(); }
inline int __syncthreads_or(int predicate) {
  __syncthreads();  // nobody reads the vote before
  int& vote = hemera::emulation::current_block().vote;
  vote = 0;
  __syncthreads();
  vote |= predicate != 0 ? 1 : 0;
  __syncthreads();
  return vote;
}
inline void __syncwarp(unsigned = 0xffffffffU) { hemera::emulation::warp_barrier(); }
inline void __threadfence() {}

// A wait is the whole barrier: nobody leaves it before all have come to theirs.
inline unsigned __clusterRelativeBlockRank() { return hemera::emulation::current_block().rank; }
inline void __cluster_barrier_arrive() {}
inline void __cluster_barrier_wait() { hemera::emulation::cluster_barrier(); }
inline void* __cluster_map_shared_rank(const void* own, unsigned rank) {
  using namespace hemera::emulation;
  return dynamic_shared_of(rank) + (static_cast<const unsigned char*>(own) - current_block().dynamic_shared);
}

template <typename T>
T __shfl_sync(unsigned, T value, int source, int width = 32) {
  const unsigned lane = hemera::emulation::current_thread().linear % 32;
  const unsigned from = lane / static_cast<unsigned>(width) * static_cast<unsigned>(width) +
                        static_cast<unsigned>(source) % static_cast<unsigned>(width);
  T result;
  std::memcpy(&result, hemera::emulation::exchange(value)[from].data(), sizeof result);
  return result;
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return __shfl_sync(mask, value, static_cast<int>(hemera::emulation::current_thread().linear % 32) ^ lanes);
}

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
// Byte i of the result is the one of low and high, in a row, that four bits of the selector name.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(high) << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<unsigned>(bytes >> (8 * (selector >> (4 * i) & 7U)) & 0xffU) << (8 * i);
  }
  return result;
}
inline unsigned __brev(unsigned value) {
  unsigned result = 0;
  for (int bit = 0; bit < 32; ++bit) result |= ((value >> bit) & 1U) << (31 - bit);
  return result;
}
inline int __clz(int value) { return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value)); }
inline int __clzll(long long value) {
  return value == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(value));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  shift &= 31U;
  return shift == 0 ? high : (high << shift) | (low >> (32 - shift));
}
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
template <typename To, typename From>
To emulation_bits(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  std::memcpy(&to, &from, sizeof to);
  return to;
}
inline double __longlong_as_double(long long a) { return emulation_bits<double>(a); }
inline long long __double_as_longlong(double a) { return emulation_bits<long long>(a); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double((static_cast<long long>(high) << 32) | static_cast<unsigned>(low));
}
inline double __ull2double_rn(unsigned long long a) { return static_cast<double>(a); }
inline double __ll2double_rn(long long a) { return static_cast<double>(a); }
template <typename T>
T __ldg(const T* pointer) {
  return *pointer;
}
template <typename T>
T __ldcg(const T* pointer) {
  return *pointer;
}
template <typename T>
T __ldcs(const T* pointer) {
  return *pointer;
}
template <typename T>
void __stcs(T* pointer, T value) {
  *pointer = value;
}
template <typename T>
T atomicAdd(T* pointer, T value) {
  return __atomic_fetch_add(pointer, value, __ATOMIC_RELAXED);
}
template <typename T>
T atomicMax(T* pointer, T value) {
  T old = *pointer;
  if (value > old) *pointer = value;
  return old;
}

// --- The runtime's interface ---

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotSupported = 801
};
inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : error == cudaErrorMemoryAllocation ? "out of memory" : "error";
}
inline const char* cudaGetErrorName(cudaError_t error) { return cudaGetErrorString(error); }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }

// Copies from and to pinned memory run as late as they may: when something else is given to the stream that
// may need them, or somebody waits for them. So memory that is used too early shows.
struct hemera_emulation_stream {
  std::mutex mutex;
  hemera::emulation::Clock clock;
  std::deque<std::function<void()>> copies;
  std::size_t copied = 0;

  /// The first `count` copies that the stream was ever given have run.
  void run_copies(std::size_t count) {
    const std::lock_guard lock(mutex);
    for (; copied < count && !copies.empty(); ++copied) {
      copies.front()();
      copies.pop_front();
    }
  }
  void run_copies() { run_copies(static_cast<std::size_t>(-1)); }
};
using cudaStream_t = hemera_emulation_stream*;
// The one that is no pointer.
inline hemera_emulation_stream& hemera_emulation_of(cudaStream_t stream) {
  static hemera_emulation_stream default_stream;
  return stream == nullptr ? default_stream : *stream;
}
// Something is given to the stream that has a place in it.
inline void hemera_emulation_launched(cudaStream_t given) {
  hemera_emulation_stream& stream = hemera_emulation_of(given);
  const std::lock_guard lock(stream.mutex);
  ++stream.clock[&stream];
  hemera::emulation::last_launch = {&stream, stream.clock};
}

// A graph is a list of steps. What a capturing thread gives to any stream becomes one.
struct hemera_emulation_graph {
  std::vector<std::function<void()>> steps;
};
using cudaGraph_t = hemera_emulation_graph*;
using cudaGraphExec_t = hemera_emulation_graph*;
inline thread_local cudaGraph_t hemera_emulation_capture = nullptr;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1, cudaStreamCaptureModeRelaxed = 2 };
inline cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return hemera_emulation_capture = new hemera_emulation_graph, cudaSuccess;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  return *graph = std::exchange(hemera_emulation_capture, nullptr), cudaSuccess;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return *executable = new hemera_emulation_graph(*graph), cudaSuccess;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  if (hemera::emulation::device_fails) return cudaErrorLaunchFailure;
  for (const auto& step : graph->steps) step();
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete graph, cudaSuccess; }
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  hemera::emulation::require_own_process();
  return delete graph, cudaSuccess;
}
using cudaEvent_t = struct hemera_emulation_event*;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };

inline cudaError_t cudaGetDeviceCount(int* count) { return *count = hemera::emulation::devices, cudaSuccess; }
inline cudaError_t cudaSetDevice(int device) {
  hemera::emulation::require_own_process();
  if (device < 0 || device >= hemera::emulation::devices) return cudaErrorInvalidDevice;
  return hemera::emulation::current_device = device, cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  hemera::emulation::require_own_process();
  return *device = hemera::emulation::current_device, cudaSuccess;
}
inline cudaError_t cudaDeviceCanAccessPeer(int* possible, int, int) {
  return *possible = hemera::emulation::can_access_peers ? 1 : 0, cudaSuccess;
}
inline cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  const bool added = hemera::emulation::peers.insert({hemera::emulation::current_device, peer}).second;
  return added ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}
inline cudaError_t cudaDriverGetVersion(int* version) { return *version = 0, cudaSuccess; }
inline cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 0, cudaSuccess; }
struct cudaDeviceProp {
  char name[256] = "emulated";
  std::size_t totalGlobalMem = std::size_t{1} << 33;
  int major = 9, minor = 0, multiProcessorCount = 132;
};
enum cudaDeviceAttr {
  cudaDevAttrClockRate = 13,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrSingleToDoublePrecisionPerfRatio = 87,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrClusterLaunch = 120
};
namespace hemera::emulation {
/// Attributes of the device, which launches keep to; at first those of an H200.
inline std::map<cudaDeviceAttr, int> h200() {
  return {{cudaDevAttrClockRate, 1980000},
          {cudaDevAttrMultiProcessorCount, 132},
          {cudaDevAttrMemoryClockRate, 3125000},
          {cudaDevAttrGlobalMemoryBusWidth, 6144},
          {cudaDevAttrL2CacheSize, 50 << 20},
          {cudaDevAttrComputeCapabilityMajor, 9},
          {cudaDevAttrComputeCapabilityMinor, 0},
          {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 228 * 1024},
          {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
          {cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 * 1024},
          {cudaDevAttrClusterLaunch, 1}};
}
inline std::map<cudaDeviceAttr, int> attributes = h200();
}  // namespace hemera::emulation
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  return *value = hemera::emulation::attributes.at(attribute), cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  return *properties = {}, cudaSuccess;
}
enum cudaMemoryType {
  cudaMemoryTypeUnregistered,
  cudaMemoryTypeHost,
  cudaMemoryTypeDevice,
  cudaMemoryTypeManaged
};
struct cudaPointerAttributes {
  cudaMemoryType type = cudaMemoryTypeDevice;
  int device = 0;
};
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void*) {
  return *attributes = {}, cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  *free_bytes = hemera::emulation::free_device_memory();
  return *total = hemera::emulation::device_memory, cudaSuccess;
}
inline cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  const bool refused = hemera::emulation::refused_allocations != 0;
  if (refused) --hemera::emulation::refused_allocations;
  *pointer = refused ? nullptr : hemera::emulation::take_device_memory(bytes);
  if (*pointer == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*pointer, 0xa5, bytes);
  hemera::emulation::count(&hemera::emulation::Counts::allocations);
  return cudaSuccess;
}
enum { cudaHostAllocPortable = 1 };
inline cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  hemera::emulation::require_own_process();
  std::size_t& refused = hemera::emulation::refused_pinned_allocations;
  if (refused != 0) return --refused, cudaErrorMemoryAllocation;
  *pointer = hemera::emulation::pin(bytes);
  std::memset(*pointer, 0xa5, bytes);
  hemera::emulation::count(&hemera::emulation::Counts::pinned_allocations);
  return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* pointer) {
  hemera::emulation::require_own_process();
  return hemera::emulation::unpin(pointer), cudaSuccess;
}
inline cudaError_t cudaFree(void* pointer) {
  hemera::emulation::require_own_process();
  if (hemera_emulation_capture != nullptr) std::abort();  // it would wait for the device
  return hemera::emulation::give_back_device_memory(pointer), cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream = nullptr) {
  using hemera::emulation::Counts;
  hemera::emulation::require_own_process();
  if (hemera::emulation::device_fails) return cudaErrorLaunchFailure;
  if (kind == cudaMemcpyHostToDevice) hemera::emulation::count(&Counts::copies_to_device);
  if (kind == cudaMemcpyDeviceToHost) hemera::emulation::count(&Counts::copies_to_host);
  const auto step = [=] { std::memcpy(to, from, bytes); };
  if (hemera_emulation_capture != nullptr) {
    hemera_emulation_capture->steps.emplace_back(step);
    return cudaSuccess;
  }
  hemera_emulation_stream& given = hemera_emulation_of(stream);
  if (hemera::emulation::is_pinned(to) || hemera::emulation::is_pinned(from)) {
    const std::lock_guard lock(given.mutex);
    given.copies.emplace_back(step);
    return cudaSuccess;
  }
  given.run_copies();
  if (kind == cudaMemcpyDeviceToDevice) hemera_emulation_launched(stream);
  step();
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                       cudaStream_t stream = nullptr) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind);
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream = nullptr) {
  hemera::emulation::count(&hemera::emulation::Counts::fills);
  hemera::emulation::require_own_process();
  if (hemera::emulation::device_fails) return cudaErrorLaunchFailure;
  const auto step = [=] { std::memset(to, value, bytes); };
  if (hemera_emulation_capture != nullptr) {
    hemera_emulation_capture->steps.emplace_back(step);
  } else {
    hemera_emulation_of(stream).run_copies();
    step();
  }
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return *stream = new hemera_emulation_stream, cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  hemera::emulation::require_own_process();
  stream->run_copies();
  return delete stream, cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  hemera::emulation::require_own_process();
  if (hemera::emulation::device_fails) return cudaErrorLaunchFailure;
  hemera_emulation_of(stream).run_copies();
  hemera::emulation::count(&hemera::emulation::Counts::synchronizations);
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return cudaStreamSynchronize(nullptr); }

// Events tell the time of the host.
struct hemera_emulation_event {
  double milliseconds = 0;
  hemera::emulation::Clock clock;
  // After so many copies of the stream.
  hemera_emulation_stream* stream = nullptr;
  std::size_t copies = 0;
};
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return *event = new hemera_emulation_event, cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  hemera::emulation::count(&hemera::emulation::Counts::stream_waits);
  hemera_emulation_stream& waiting = hemera_emulation_of(stream);
  if (event->stream != nullptr) event->stream->run_copies(event->copies);
  const std::lock_guard lock(waiting.mutex);
  for (const auto& [other, kernels] : event->clock) {
    std::size_t& known = waiting.clock[other];
    known = std::max(known, kernels);
  }
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  hemera::emulation::require_own_process();
  return delete event, cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr) {
  {
    hemera_emulation_stream& recorded = hemera_emulation_of(stream);
    const std::lock_guard lock(recorded.mutex);
    event->clock = recorded.clock;
    event->stream = &recorded;
    event->copies = recorded.copied + recorded.copies.size();
  }
  using Milliseconds = std::chrono::duration<double, std::milli>;
  event->milliseconds = Milliseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  hemera::emulation::require_own_process();
  if (event->stream != nullptr) event->stream->run_copies(event->copies);
  return cudaSuccess;
}
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  return *milliseconds = static_cast<float>(stop->milliseconds - start->milliseconds), cudaSuccess;
}
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
template <typename Function>
cudaError_t cudaFuncSetAttribute(Function, cudaFuncAttribute, int bytes) {
  const int most = hemera::emulation::attributes.at(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return bytes > most ? cudaErrorInvalidValue : cudaSuccess;
}
enum cudaLaunchAttributeID {
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6
};
struct cudaLaunchAttributeValue {
  struct {
    unsigned x = 1, y = 1, z = 1;
  } clusterDim;
  int programmaticStreamSerializationAllowed = 0;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};
template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Kernel, const cudaLaunchConfig_t* config) {
  unsigned blocks = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
      blocks = config->attrs[i].val.clusterDim.x;
  }
  const int all = hemera::emulation::attributes.at(cudaDevAttrMultiProcessorCount);
  return *clusters = all / static_cast<int>(blocks), cudaSuccess;
}
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  unsigned cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
      cluster = config->attrs[i].val.clusterDim.x;
  }
  if (hemera::emulation::device_fails) return cudaErrorLaunchFailure;
  if (cluster > 1 && hemera::emulation::attributes.at(cudaDevAttrClusterLaunch) == 0)
    return cudaErrorNotSupported;
  const auto step = [launched = *config, cluster, kernel,
                     values = std::tuple<Parameters...>{std::forward<Arguments>(arguments)...}] {
    hemera::emulation::count(&hemera::emulation::Counts::kernels);
    hemera::emulation::run(launched.gridDim, launched.blockDim, cluster, launched.dynamicSmemBytes,
                           [&] { std::apply(kernel, values); });
  };
  if (hemera_emulation_capture != nullptr) {
    hemera_emulation_capture->steps.emplace_back(step);
  } else {
    hemera_emulation_of(config->stream).run_copies();
    hemera_emulation_launched(config->stream);
    step();
  }
  return cudaSuccess;
}
