// Memory that counts: addresses without anything behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

#include "hemera/runtime/memory.hpp"
#include "runtime/size_class.hpp"

namespace hemera::poly::ledger {

/// Addresses are never handed out twice, so that equal views are the same value.
class LedgerMemory final : public runtime::Memory {
 public:
  [[nodiscard]] runtime::Device device() const override { return {runtime::Device::Kind::ledger, 0}; }

  std::byte* allocate(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    const std::uintptr_t address = next_;
    next_ += block_bytes(bytes);
    used_ += block_bytes(bytes);
    raise_peak(used_);
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): never read
  }

  void release(std::byte* /*pointer*/, std::size_t bytes, runtime::Secrecy /*secrecy*/,
               const runtime::BufferUses& /*uses*/) noexcept override {
    const std::lock_guard lock(mutex_);
    used_ -= block_bytes(bytes);
  }

  [[nodiscard]] std::size_t used() const override {
    const std::lock_guard lock(mutex_);
    return used_;
  }

  [[nodiscard]] std::size_t available() const override { return std::numeric_limits<std::size_t>::max(); }

 private:
  // As host memory rounds them.
  static std::size_t block_bytes(std::size_t bytes) { return runtime::size_class(bytes, 64); }

  mutable std::mutex mutex_;
  std::uintptr_t next_ = 64;
  std::size_t used_ = 0;
};

}  // namespace hemera::poly::ledger
