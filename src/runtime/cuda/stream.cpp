#include "runtime/cuda/stream.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "runtime/cuda/check.hpp"
#include "runtime/cuda/devices.hpp"

namespace hemera::runtime::cuda {
namespace {

// Threads are numbered in the order in which they first use a GPU, so that few share a stream.
unsigned thread_number() {
  static std::atomic<unsigned> next{0};
  thread_local const unsigned number = next++;
  return number;
}

std::uint32_t bit(unsigned index) { return std::uint32_t{1} << index; }

// Fields of the innermost Streams::Aside of the calling thread.
thread_local const Streams* aside_of = nullptr;
thread_local unsigned aside_index = 0;

}  // namespace

Streams::Aside::Aside(const Streams& streams, int target) : outer_(aside_of), outer_index_(aside_index) {
  const unsigned before = streams.index();
  const unsigned index = first_copying + static_cast<unsigned>(target) % copying;
  if (before != index && (streams.replayed_.load() & bit(before)) != 0) {
    streams.at(index).wait_for(streams.at(before));
  }
  aside_of = &streams;
  aside_index = index;
}

Streams::Aside::~Aside() {
  aside_of = outer_;
  aside_index = outer_index_;
}

std::optional<unsigned> Streams::aside() const {
  return aside_of == this ? std::optional(aside_index) : std::nullopt;
}

void Streams::begin_replay() const {
  replayed_.fetch_or(bit(index()));
  for (unsigned index = first_copying; index < first_copying + copying; ++index) {
    const Stream* stream = streams_[index].load();
    if (stream != nullptr && stream != &current()) current().wait_for(*stream);
  }
}

Stream::Stream(int device, std::optional<cudaStream_t> existing)
    : device_(device), owned_(!existing.has_value()), stream_(existing.value_or(nullptr)) {
  const DeviceScope scope(device);
  if (owned_) check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
  const cudaError_t made = cudaEventCreateWithFlags(&reached_, cudaEventDisableTiming);
  if (made != cudaSuccess && owned_) cudaStreamDestroy(stream_);
  check(made, "make an event");
}

Stream::~Stream() {
  cudaEventDestroy(reached_);
  if (owned_) cudaStreamDestroy(stream_);
}

void Stream::wait_for(const Stream& other) const {
  const std::lock_guard lock(other.reaching_);
  {
    const DeviceScope scope(other.device());
    check(cudaEventRecord(other.reached_, other.get()), "order streams");
  }
  const DeviceScope scope(device_);
  check(cudaStreamWaitEvent(stream_, other.reached_, 0), "order streams");
}

void Stream::synchronize() const { check(cudaStreamSynchronize(stream_), "synchronize"); }

Streams::~Streams() {
  if (of_this_process()) return;
  for (std::unique_ptr<const Stream>& stream : made_) static_cast<void>(stream.release());
}

void Streams::require_this_process() const {
  if (of_this_process()) return;
  throw DeviceError(
      "device '" + Device{Device::Kind::cuda, device_}.name() +
      "' was opened before this process was forked, which CUDA does not survive; make the context in the "
      "child, or " +
      Message(WayOut::no_fork, "start it without a fork"));
}

bool Streams::expect_copies_from(int device) const {
  if (device == device_) return true;
  const std::uint64_t peer = std::uint64_t{1} << (static_cast<unsigned>(device) % 64);
  if ((peers_.load() & peer) == 0) {
    if (enable_direct_copies(device_, device)) readable_ |= peer;
    peers_ |= peer;
  }
  return (readable_.load() & peer) != 0;
}

unsigned Streams::own_index() const {
  if (only_) return 0;
  const unsigned number = thread_number();
  if (number >= of_threads) shared_.fetch_or(bit(number % of_threads));
  return number % of_threads;
}

unsigned Streams::index() const {
  if (records_here()) return recording;
  if (aside_of == this) return aside_index;
  if (has_queues_) {
    const std::lock_guard lock(entering_);
    const auto entered = entered_.find(thread_number());
    if (entered != entered_.end()) return entered->second;
  }
  return own_index();
}

void Streams::enter(unsigned index) const {
  require_this_process();
  if (records_here()) return;
  const unsigned before = this->index();
  if (before == index) return;
  at(index).wait_for(at(before));
  followers_[before].fetch_or(bit(index));
  if ((replayed_.load() & bit(before)) != 0) replayed_.fetch_or(bit(index));
  // Not its id, which another thread may have later.
  const unsigned thread = thread_number() + 1;
  unsigned first = 0;
  if (!first_[index].compare_exchange_strong(first, thread) && first != thread) shared_.fetch_or(bit(index));
  {
    const std::lock_guard lock(entering_);
    entered_[thread_number()] = index;
  }
  has_queues_ = true;
}

std::uint32_t Streams::with_followers(std::uint32_t streams) const {
  if (!has_queues_) return streams;
  for (std::uint32_t added = streams; added != 0;) {
    std::uint32_t followers = 0;
    for (; added != 0; added &= added - 1) followers |= followers_[std::countr_zero(added)];
    added = followers & ~streams;
    streams |= followers;
  }
  return streams;
}

std::uint32_t Streams::waits(unsigned own, std::uint32_t others) const {
  if (has_queues_) {
    // Another thread in this stream may have announced a use here, and gone on.
    if ((shared_.load() & bit(own)) != 0) others |= bit(own);
    others = with_followers(others);
  }
  return others & ~bit(own) & ~bit(recording);
}

unsigned Streams::lend() const {
  if (only_) return 0;
  const std::lock_guard lock(making_);
  const auto first = lent_.begin() + first_copying + copying;
  const auto fewest = std::min_element(first, lent_.end());
  ++*fewest;
  return static_cast<unsigned>(fewest - lent_.begin());
}

void Streams::give_back(unsigned index) const {
  if (only_) return;
  const std::lock_guard lock(making_);
  --lent_[index];
}

const Stream& Streams::at(unsigned index) const {
  if (const Stream* stream = streams_[index].load()) return *stream;
  const std::lock_guard lock(making_);
  if (const Stream* stream = streams_[index].load()) return *stream;
  made_.push_back(std::make_unique<const Stream>(device_, index == recording ? std::nullopt : only_));
  streams_[index] = made_.back().get();
  return *made_.back();
}

void Streams::refuse_recording(const char* operation, const char* reason) const {
  if (!records_here()) return;
  throw DeviceError(std::string(operation) + " can not be part of a captured graph: " + reason);
}

void Streams::drain() const noexcept {
  if (!of_this_process()) return;
  for (unsigned index = 0; index < most; ++index) {
    if (index == recording) continue;
    if (const Stream* stream = streams_[index].load()) cudaStreamSynchronize(stream->get());
  }
}

StreamQueue::StreamQueue(std::shared_ptr<const Streams> streams, Kind kind) : streams_(std::move(streams)) {
  if (kind == Kind::own_stream) lent_ = streams_->lend();
}

StreamQueue::~StreamQueue() {
  if (lent_ && streams_->of_this_process()) streams_->give_back(*lent_);
}

void StreamQueue::synchronize() {
  streams_->refuse_recording("waiting for the device", "nothing runs while a graph is captured");
  own().synchronize();
}

std::uintptr_t StreamQueue::stream() const {
  const Stream& stream = streams_->records_here() ? streams_->current() : own();
  return reinterpret_cast<std::uintptr_t>(stream.get());
}

namespace {

// Somebody else's.
Stream foreign(int device, std::uintptr_t stream) {
  return Stream(device, reinterpret_cast<cudaStream_t>(stream));
}

constexpr const char* no_foreign = "a graph does not wait for others; do it before or after";

}  // namespace

void StreamQueue::wait_for_stream(std::uintptr_t stream) {
  streams_->refuse_recording("waiting for a stream", no_foreign);
  own().wait_for(foreign(streams_->device(), stream));
}

void StreamQueue::make_stream_wait(std::uintptr_t stream) {
  streams_->refuse_recording("making a stream wait", no_foreign);
  foreign(streams_->device(), stream).wait_for(own());
}

void StreamQueue::synchronize_device() {
  streams_->refuse_recording("waiting for the device", "nothing runs while a graph is captured");
  streams_->require_this_process();
  const DeviceScope scope(streams_->device());
  check(cudaDeviceSynchronize(), "synchronize");
}

namespace {

class CopyingAside final : public Queue::Aside {
 public:
  CopyingAside(std::shared_ptr<const Streams> streams, int target)
      : streams_(std::move(streams)), scope_(*streams_, target) {}

 private:
  std::shared_ptr<const Streams> streams_;
  Streams::Aside scope_;
};

}  // namespace

std::unique_ptr<Queue::Aside> StreamQueue::copying_to(Device device) const {
  // To the host a copy is waited for anyhow.
  if (device.kind != Device::Kind::cuda || streams_->records_here()) return nullptr;
  return std::make_unique<CopyingAside>(streams_, device.index);
}

}  // namespace hemera::runtime::cuda
