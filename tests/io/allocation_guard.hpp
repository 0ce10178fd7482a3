// Counts what `operator new` of this test program hands out on the calling thread.
#pragma once

#include <cstddef>

namespace hemera::io::test {

/// Counts from construction to destruction; not nested.
class AllocationGuard {
 public:
  AllocationGuard();
  ~AllocationGuard();
  AllocationGuard(const AllocationGuard&) = delete;
  AllocationGuard& operator=(const AllocationGuard&) = delete;

  /// Bytes asked for since construction, all together and at most at once.
  [[nodiscard]] std::size_t total() const;
  [[nodiscard]] std::size_t largest() const;
};

}  // namespace hemera::io::test
