// The order in which operations run on a device, and their scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hemera/runtime/device.hpp"
#include "hemera/runtime/memory.hpp"
#include "hemera/runtime/thread_pool.hpp"

namespace hemera::runtime {

/// Operations of one thread, on one queue or on several, run one after the other. Operations of several
/// threads run in any order that buffers allow. On the CPU an operation has run when its call returns. On
/// CUDA a queue is a stream: its own, or that of the calling thread.
class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  virtual ~Queue() = default;

  [[nodiscard]] virtual Device device() const = 0;
  /// Waits until all earlier operations of the calling thread on the queue have run.
  virtual void synchronize() = 0;

  // --- Other users of the device, for data that they made on the device or will read. Their streams are
  // numbers (a cudaStream_t). Throw DeviceError if the device has no streams. ---
  /// The queue's stream for the calling thread.
  [[nodiscard]] virtual std::uintptr_t stream() const;
  /// Orders later operations of the calling thread behind earlier work of the stream.
  virtual void wait_for_stream(std::uintptr_t stream);
  /// Orders later work of the stream behind earlier operations of the calling thread.
  virtual void make_stream_wait(std::uintptr_t stream);
  /// Waits until all work of the device, of any user, has run.
  virtual void synchronize_device();

  /// While it lives, operations of the calling thread on the queue run concurrently with its earlier and
  /// later ones: a read comes after what wrote its buffer.
  class Aside {
   public:
    Aside() = default;
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
    virtual ~Aside() = default;
  };
  /// For copies to another device, and its reads. Later operations do not wait for them; only changes of the
  /// copied buffer, and its release, do. A buffer that was read so before, by any thread, is waited for no
  /// further: a first read offers it to that device, as it then is. Null if operations can not run
  /// concurrently.
  [[nodiscard]] virtual std::unique_ptr<Aside> copying_to(Device device) const;
};

/// A queue of the CPU: the threads that its operations may use.
class CpuQueue final : public Queue {
 public:
  explicit CpuQueue(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}
  [[nodiscard]] Device device() const override { return {Device::Kind::cpu, 0}; }
  void synchronize() override {}
  [[nodiscard]] ThreadPool& pool() { return *pool_; }

 private:
  std::shared_ptr<ThreadPool> pool_;
};

/// Scratch memory for operations, handed out in stack order without allocation. There are three kinds:
///  - of a given size;
///  - of no size yet: each operation measures its scratch and makes room for it once, before it begins;
///  - measuring: an operation checks its arguments and takes its scratch, but runs nothing.
/// NVIDIA's CUB does so: its device-wide operations are called twice, first without scratch. Size and run are
/// one body, and can not differ.
class Workspace {
 public:
  /// A workspace of no bytes.
  Workspace() = default;
  /// A workspace of this many bytes. Throws OutOfMemoryError.
  Workspace(std::shared_ptr<Memory> memory, std::size_t bytes, Secrecy secrecy = Secrecy::open)
      : secrecy_(secrecy), buffer_(std::move(memory), bytes, secrecy) {}
  /// A workspace of as many bytes as each operation needs, from `memory`.
  explicit Workspace(std::shared_ptr<Memory> memory, Secrecy secrecy = Secrecy::open)
      : memory_(std::move(memory)), secrecy_(secrecy) {}
  [[nodiscard]] static Workspace measuring() {
    Workspace workspace;
    workspace.measures_ = true;
    return workspace;
  }

  [[nodiscard]] bool measures() const { return measures_; }
  /// Whether operations are to make room first.
  [[nodiscard]] bool grows() const { return memory_ != nullptr; }
  [[nodiscard]] std::size_t size() const { return buffer_.size(); }
  /// The most bytes that were taken at once so far.
  [[nodiscard]] std::size_t peak() const { return peak_; }
  /// Makes room in a workspace that grows; nothing of it may be taken. Throws OutOfMemoryError.
  void reserve(std::size_t bytes);

  /// Gives back, on leaving the scope, everything taken since its construction.
  class Frame {
   public:
    explicit Frame(Workspace& workspace) : workspace_(workspace), mark_(workspace.used_) {}
    ~Frame() { workspace_.used_ = mark_; }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Workspace& workspace_;
    std::size_t mark_;
  };

  /// 64-byte aligned scratch, valid until the enclosing Frame ends. A measuring workspace returns an address
  /// that must not be used. Throws OutOfMemoryError if the workspace is smaller than the operation's measured
  /// size: a mistake of the caller.
  std::byte* take(std::size_t bytes);

  /// The bytes that `take(bytes)` uses.
  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  std::shared_ptr<Memory> memory_;  // of a workspace that grows
  Secrecy secrecy_ = Secrecy::open;
  bool measures_ = false;
  Buffer buffer_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace hemera::runtime
