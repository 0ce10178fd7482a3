// Counts what `operator new` of this test program hands out on the calling thread, and looks into what is
// handed back.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

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

  /// From now on blocks that are released are searched for these bytes.
  void watch(std::span<const std::byte> bytes);
  /// In how many they were found.
  [[nodiscard]] std::size_t found() const;

 private:
  std::vector<std::byte> watched_;
};

}  // namespace hemera::io::test
