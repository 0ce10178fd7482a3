// The common part of the engines: shapes are checked and broadcast; each limb of each batch entry is a task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "hemera/poly/ring_multiplier.hpp"
#include "hemera/runtime/fork.hpp"
#include "hemera/runtime/memory.hpp"
#include "hemera/runtime/thread_pool.hpp"

namespace hemera::multiply {

class LimbEngine : public poly::RingMultiplier {
 public:
  void tensor_product(runtime::Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& a,
                      const poly::ConstPolyView& b, const poly::RnsBase& base) const final;

 protected:
  /// The components of one limb of one batch entry, N words each.
  struct Limb {
    std::span<std::uint64_t* const> out;
    std::span<const std::uint64_t* const> a;
    std::span<const std::uint64_t* const> b;
    std::size_t degree;
    const poly::RingModulus& modulus;
  };
  /// One task; `pool` may be used within it (in place, if other tasks run on it).
  virtual void multiply_limb(const Limb& limb, runtime::ThreadPool& pool) const = 0;
  /// Throws ParameterError for a modulus that the engine can not work with; called before any task.
  virtual void prepare(std::size_t degree, const poly::RingModulus& modulus) const = 0;

  [[nodiscard]] runtime::Buffer scratch(std::size_t words) const {
    return {memory_, words * sizeof(std::uint64_t)};
  }

 private:
  std::shared_ptr<runtime::Memory> memory_ = runtime::make_host_memory();
};

/// An engine's tables for a degree and a modulus, kept for later calls from any thread.
template <typename Value>
class PerModulus {
 public:
  template <typename Make>
  const Value& get(std::size_t degree, std::uint64_t modulus, const Make& make) const {
    const std::lock_guard lock(mutex_);
    auto& entry = entries_[{degree, modulus}];
    if (!entry) entry = make();
    return *entry;
  }

 private:
  mutable runtime::ForkSafeMutex mutex_;
  mutable std::map<std::pair<std::size_t, std::uint64_t>, std::unique_ptr<const Value>> entries_;
};

}  // namespace hemera::multiply
