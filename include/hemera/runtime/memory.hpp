// Device memory: a pool that keeps freed blocks for reuse, and the buffers it hands out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hemera/runtime/device.hpp"

namespace hemera::runtime {

/// Whether a buffer holds secret values. Such a buffer is zeroed before its memory is used again.
enum class Secrecy : std::uint8_t { open, secret };

/// The use of a buffer's contents.
enum class Access : std::uint8_t { read, write };

/// The streams of a device that have used a buffer since it was last written: a bit for each, and the one
/// that wrote.
struct BufferUses {
  std::atomic<std::uint32_t> streams{0};
  std::atomic<std::uint32_t> writer{0};

  BufferUses() = default;
  BufferUses(BufferUses&& other) noexcept : streams(other.streams.load()), writer(other.writer.load()) {}
  BufferUses& operator=(BufferUses&& other) noexcept {
    streams = other.streams.load();
    writer = other.writer.load();
    return *this;
  }
};

/// Where buffers come from. Thread-safe.
class Memory {
 public:
  /// `runs_later`: operations on its buffers may run after their calls have returned, those of different host
  /// threads in any order. So buffers must announce their uses.
  explicit Memory(bool runs_later = false) : runs_later_(runs_later) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  [[nodiscard]] virtual Device device() const = 0;
  /// At least 64-byte aligned, contents unspecified; ready for the calling thread. Throws OutOfMemoryError
  /// with the sizes.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  /// `uses`: of the buffer.
  virtual void release(std::byte* pointer, std::size_t bytes, Secrecy secrecy,
                       const BufferUses& uses) noexcept = 0;
  /// Bytes in buffers that are alive now.
  [[nodiscard]] virtual std::size_t used() const = 0;
  /// Bytes that can still be allocated; SIZE_MAX if only an allocation can find out.
  [[nodiscard]] virtual std::size_t available() const = 0;
  /// The most bytes in buffers that were alive at once since the last reset_peak().
  [[nodiscard]] std::size_t peak() const { return peak_; }
  void reset_peak() { peak_ = used(); }

  [[nodiscard]] bool runs_later() const { return runs_later_; }
  /// Orders the calling thread's next operation behind those of other threads that it must not overtake: a
  /// read after writes, a write after all uses. `pointer`: of the block. Throws DeviceError.
  virtual void before_use(std::byte* /*pointer*/, BufferUses& /*uses*/, Access /*access*/) {}

 protected:
  /// Called by allocations, one at a time, with the bytes in use.
  void raise_peak(std::size_t used) {
    if (used > peak_) peak_ = used;
  }

 private:
  const bool runs_later_;
  std::atomic<std::size_t> peak_{0};
};

/// Default limit of the bytes that a pool of host memory keeps for reuse.
inline constexpr std::size_t kept_bytes = std::size_t{1} << 30;

/// Host memory. Blocks of at least a page are kept for reuse, up to `kept_bytes_limit` in all: fresh pages
/// cost more than many homomorphic operations. `limit`: of the bytes in use and those kept, together; 0:
/// none.
std::shared_ptr<Memory> make_host_memory(std::size_t kept_bytes_limit = kept_bytes, std::size_t limit = 0);

/// Owns a block of memory; movable only, so that no device copy is hidden in an assignment.
///
/// `data()` announces a use by the calling thread. The thread must start the operation before it hands the
/// buffer to another thread. Call `data()` again for each operation.
class Buffer {
 public:
  Buffer() = default;
  /// Throws OutOfMemoryError.
  Buffer(std::shared_ptr<Memory> memory, std::size_t bytes, Secrecy secrecy = Secrecy::open);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  [[nodiscard]] std::byte* data() { return announced(Access::write); }
  [[nodiscard]] const std::byte* data() const { return announced(Access::read); }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] Secrecy secrecy() const { return secrecy_; }
  [[nodiscard]] explicit operator bool() const { return data_ != nullptr; }

 private:
  std::byte* announced(Access access) const {
    if (memory_ != nullptr && memory_->runs_later()) memory_->before_use(data_, uses_, access);
    return data_;
  }
  void release() noexcept;

  std::shared_ptr<Memory> memory_;
  mutable BufferUses uses_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Secrecy secrecy_ = Secrecy::open;
};

/// Overwrites memory with zeros; the compiler can not leave it out.
void secure_zero(void* data, std::size_t bytes) noexcept;

/// Zeroes values at the end of its scope, also when an exception ends it.
class ZeroedAtEnd {
 public:
  template <typename T>
  explicit ZeroedAtEnd(std::span<T> values) : bytes_(std::as_writable_bytes(values)) {}
  ZeroedAtEnd(const ZeroedAtEnd&) = delete;
  ZeroedAtEnd& operator=(const ZeroedAtEnd&) = delete;
  ~ZeroedAtEnd() { secure_zero(bytes_.data(), bytes_.size()); }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace hemera::runtime
