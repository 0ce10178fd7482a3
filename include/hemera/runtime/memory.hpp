// Device memory: a pool that keeps freed blocks for reuse, and the buffers it hands out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hemera/runtime/device.hpp"

namespace hemera::runtime {

/// Whether a buffer holds secret values: those are zeroed before their memory can be used again.
enum class Secrecy : std::uint8_t { open, secret };

/// Where buffers come from. Thread-safe.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  [[nodiscard]] virtual Device device() const = 0;
  /// At least 64-byte aligned, contents unspecified. Throws OutOfMemoryError with the sizes.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* pointer, std::size_t bytes, Secrecy secrecy) noexcept = 0;
  /// Bytes in buffers that are alive now.
  [[nodiscard]] virtual std::size_t used() const = 0;
};

/// Host memory. Blocks of at least a page are kept for reuse, up to `kept_bytes_limit` in all: fresh pages
/// cost more than many homomorphic operations.
std::shared_ptr<Memory> make_host_memory(std::size_t kept_bytes_limit = std::size_t{1} << 30);

/// Owns a block of memory; movable only, so that no device copy is hidden in an assignment.
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

  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] Secrecy secrecy() const { return secrecy_; }
  [[nodiscard]] explicit operator bool() const { return data_ != nullptr; }

 private:
  void release() noexcept;

  std::shared_ptr<Memory> memory_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Secrecy secrecy_ = Secrecy::open;
};

/// Overwrites memory with zeros in a way that the compiler may not leave out.
void secure_zero(void* data, std::size_t bytes) noexcept;

}  // namespace hemera::runtime
