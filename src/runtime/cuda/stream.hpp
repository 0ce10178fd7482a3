// CUDA's streams: one for each host thread that uses a backend, and for each queue; or the one that the user
// gave.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "hemera/runtime/fork.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::runtime::cuda {

/// A stream of one device.
class Stream {
 public:
  /// Makes a stream, which does not wait for the default one, or takes `existing`, which stays its owner's.
  explicit Stream(int device, std::optional<cudaStream_t> existing = {});
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

  /// Work for this stream from now on runs after earlier work for `other`, of any device. Throws DeviceError.
  void wait_for(const Stream& other) const;
  /// Waits until all that was given has run. Throws DeviceError.
  void synchronize() const;

 private:
  int device_;
  bool owned_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t reached_ = nullptr;
  mutable std::mutex reaching_;
};

/// The streams that the operations of one backend run in. Each host thread has one of its own, made when it
/// is first used; from `of_threads` threads on they share. A thread that records a graph does it in a further
/// stream, so that the others go on, and copies to other devices have some. The rest are those of queues,
/// which share when there are more.
///
/// A thread's work for several queues runs in its order: entering a queue's stream waits for the one that the
/// thread was in. That one may have announced uses of buffers for what the new one then does, so whoever
/// waits for a stream also waits for those that went on from it.
class Streams {
 public:
  static constexpr unsigned of_threads = 16;
  /// Index of the stream that graphs are recorded in, where nothing runs.
  static constexpr unsigned recording = of_threads;
  /// Indices of the streams of copies to other devices begin here.
  static constexpr unsigned first_copying = recording + 1;
  static constexpr unsigned copying = 4;
  /// One bit each in BufferUses.
  static constexpr unsigned most = 32;

  /// `only`: the stream of all threads, which stays its owner's.
  explicit Streams(int device, std::optional<cudaStream_t> only = {}) : device_(device), only_(only) {}
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  [[nodiscard]] int device() const { return device_; }
  /// Whether this is the process that made them. CUDA does not survive fork(): in a child nothing of them may
  /// be used, not even to free it.
  [[nodiscard]] bool of_this_process() const { return generation_ == fork_generation(); }
  /// Throws DeviceError in a forked child.
  void require_this_process() const;
  /// Before a copy from another device: it goes directly, where the machine can do that. Whether it can, and
  /// kernels of this device may read that one's memory.
  bool expect_copies_from(int device) const;
  /// The stream that the calling thread is in: that of the queue that it gave to last.
  [[nodiscard]] unsigned index() const;
  /// The stream that is the calling thread's own.
  [[nodiscard]] unsigned own_index() const;
  [[nodiscard]] const Stream& at(unsigned index) const;
  /// The one that the calling thread is in.
  [[nodiscard]] const Stream& current() const { return at(index()); }
  /// While it lives, the calling thread is in the stream of copies to a device. What it gave before, and
  /// gives later, is ordered by its buffers alone; replays, which announce none, come before or after.
  class Aside {
   public:
    Aside(const Streams& streams, int target);
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
    ~Aside();

   private:
    const Streams* outer_;
    unsigned outer_index_;
  };
  /// The stream that the calling thread is in by an Aside of these streams.
  [[nodiscard]] std::optional<unsigned> aside() const;
  /// The calling thread replays a graph, which announces no buffers: it comes after all copies to other
  /// devices so far, and before those that the thread gives later.
  void begin_replay() const;
  /// The calling thread's work from now on, recordings aside, runs in this stream, after its work before.
  void enter(unsigned index) const;
  /// A set of streams, a bit each, with all that went on from them.
  [[nodiscard]] std::uint32_t with_followers(std::uint32_t streams) const;
  /// The streams, a bit each, that a thread in stream `own` waits for that has to wait for `others`.
  [[nodiscard]] std::uint32_t waits(unsigned own, std::uint32_t others) const;
  /// The index of a stream for a queue, to be given back.
  [[nodiscard]] unsigned lend() const;
  void give_back(unsigned index) const;
  /// Whether the calling thread records.
  [[nodiscard]] bool records_here() const { return recorder_.load() == std::this_thread::get_id(); }
  /// Throws DeviceError that names the operation if the calling thread records.
  void refuse_recording(const char* operation, const char* reason) const;
  /// Waits until all that any thread gave has run. Throws nothing: errors surface later.
  void drain() const noexcept;

 private:
  friend class Recorder;

  int device_;
  std::optional<cudaStream_t> only_;
  const unsigned generation_ = fork_generation();
  mutable std::array<std::atomic<const Stream*>, most> streams_{};
  mutable std::array<std::atomic<std::uint32_t>, most> followers_{};  // a bit each
  mutable std::atomic<bool> has_queues_{false};                       // some thread has entered a queue's
  mutable std::array<std::atomic<unsigned>, most> first_{};           // number of the thread, plus one
  mutable std::atomic<std::uint32_t> shared_{0};                      // a bit each: by several threads
  mutable std::mutex entering_;
  mutable std::unordered_map<unsigned, unsigned> entered_;  // by thread: the stream it is in
  mutable std::array<unsigned, most> lent_{};               // queues that have it
  mutable std::mutex making_;
  mutable std::vector<std::unique_ptr<const Stream>> made_;
  mutable std::atomic<std::uint32_t> replayed_{0};  // a bit each: a graph, there or where it went on from
  mutable std::atomic<std::uint64_t> peers_{0};     // devices of expect_copies_from, a bit each
  mutable std::atomic<std::uint64_t> readable_{0};  // those that kernels can read
  mutable std::mutex recording_mutex_;              // one recording at a time
  mutable std::atomic<std::thread::id> recorder_{};
};

/// A queue with a stream of its own, or that of whichever thread gives to it.
class StreamQueue final : public Queue {
 public:
  enum class Kind : std::uint8_t { own_stream, of_thread };
  StreamQueue(std::shared_ptr<const Streams> streams, Kind kind);
  ~StreamQueue() override;

  [[nodiscard]] Device device() const override { return {Device::Kind::cuda, streams_->device()}; }
  /// Throws DeviceError when an operation has failed on the device.
  void synchronize() override;
  [[nodiscard]] const Streams& streams() const { return *streams_; }
  /// The calling thread's work from now on goes to this queue.
  void enter() const { streams_->enter(index()); }

  [[nodiscard]] std::uintptr_t stream() const override;
  void wait_for_stream(std::uintptr_t stream) override;
  void make_stream_wait(std::uintptr_t stream) override;
  void synchronize_device() override;
  [[nodiscard]] std::unique_ptr<Aside> copying_to(Device device) const override;

 private:
  [[nodiscard]] unsigned index() const {
    if (const auto aside = streams_->aside()) return *aside;
    return lent_ ? *lent_ : streams_->own_index();
  }
  [[nodiscard]] const Stream& own() const {
    streams_->require_this_process();
    return streams_->at(index());
  }

  std::shared_ptr<const Streams> streams_;
  std::optional<unsigned> lent_;
};

}  // namespace hemera::runtime::cuda
