// The order in which operations run on a device, and their scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hemera/runtime/device.hpp"
#include "hemera/runtime/memory.hpp"
#include "hemera/runtime/thread_pool.hpp"

namespace hemera::runtime {

/// Operations that a thread gives, to one queue or to several, run one after the other; those of several
/// threads in any order that buffers do not forbid. On the CPU they have run when the call returns; on CUDA a
/// queue is a stream, its own or that of the thread that gives to it.
class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  virtual ~Queue() = default;

  [[nodiscard]] virtual Device device() const = 0;
  /// Waits until everything that the calling thread gave to the queue so far has run.
  virtual void synchronize() = 0;

  // --- Other users of the device, whose streams are told as numbers (a cudaStream_t): for data that they
  // made on the device, or will read. DeviceError where a device has no streams. ---
  /// The queue's, as the calling thread gives to it.
  [[nodiscard]] virtual std::uintptr_t stream() const;
  /// What the calling thread gives from now on runs after what the stream was given.
  virtual void wait_for_stream(std::uintptr_t stream);
  /// What the stream is given from now on runs after what the calling thread gave.
  virtual void make_stream_wait(std::uintptr_t stream);
  /// Waits until everything that anybody gave to the device has run.
  virtual void synchronize_device();

  /// While it lives, what the calling thread gives to the queue runs beside what it gave and will give.
  class Aside {
   public:
    Aside() = default;
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
    virtual ~Aside() = default;
  };
  /// For copies to another device, for which the operations that follow need not wait: only changes of what
  /// is copied, and its release, do. Null where nothing runs beside other operations.
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
///  - of no size yet: each operation measures what it needs and makes room for it once, before it begins;
///  - measuring: an operation checks its arguments and takes what it would take, but runs nothing.
/// As in NVIDIA's CUB, whose device-wide operations are called twice, first without scratch: then the size
/// and the run are one body, and can not differ.
class Workspace {
 public:
  /// Of no bytes.
  Workspace() = default;
  /// Of this many bytes. Throws OutOfMemoryError.
  Workspace(std::shared_ptr<Memory> memory, std::size_t bytes, Secrecy secrecy = Secrecy::open)
      : secrecy_(secrecy), buffer_(std::move(memory), bytes, secrecy) {}
  /// Of as many as each operation needs, from `memory`.
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
  /// Makes room, in a workspace that grows and of which nothing is taken. Throws OutOfMemoryError.
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

  /// 64-byte aligned scratch, valid until the enclosing Frame ends; of a workspace that measures an address
  /// that is not to be used. Throws OutOfMemoryError when the workspace is smaller than the operation
  /// measures: a mistake of the caller.
  std::byte* take(std::size_t bytes);

  /// What `take(bytes)` uses up.
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
