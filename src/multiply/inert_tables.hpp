// The primes of integer products and their twiddle factors, made when first needed.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "hemera/runtime/fork.hpp"
#include "hemera/runtime/memory.hpp"
#include "multiply/inert_kernels.hpp"

namespace hemera::multiply {

inline constexpr int inert_log_order = 34;  // p = -1 modulo 2^34
inline constexpr int inert_max_log_length = inert_log_order - 1;
/// No prime is below 2^inert_bits.
inline constexpr double inert_bits = 47.99;

/// The kernels for HEMERA_ISA, or the best ones of this processor.
const InertKernels& select_inert_kernels();

/// p = 3 modulo 4, -1 modulo 2^log_order: its roots of unity up to that order.
InertPrime make_inert_prime(const arith::Modulus& p, int log_order);
/// The `count` largest primes p < 2^48 that are -1 modulo 2^34.
std::vector<InertPrime> make_inert_primes(std::size_t count);

/// Twiddles of one prime for transforms of any length. Thread-safe; tables are shared with their users.
class InertTwiddles {
 public:
  InertTwiddles(const InertPrime& prime, const InertKernels& kernels, std::shared_ptr<runtime::Memory> memory)
      : prime_(prime), kernels_(kernels), memory_(std::move(memory)) {}

  using Table = runtime::Buffer;
  struct Tables {
    std::shared_ptr<const Table> twiddles;
    std::shared_ptr<const Table> first;
    InertTables view;
  };
  /// The tables for `pairs` pairs, a power of two of at least inert_min_pairs.
  [[nodiscard]] Tables get(std::size_t pairs) const;

 private:
  [[nodiscard]] std::shared_ptr<Table> make_table(std::size_t words) const;
  [[nodiscard]] std::shared_ptr<const Table> make_levels(int log_pairs) const;
  [[nodiscard]] std::shared_ptr<const Table> make_first() const;

  const InertPrime& prime_;
  const InertKernels& kernels_;
  std::shared_ptr<runtime::Memory> memory_;
  mutable runtime::ForkSafeMutex mutex_;
  mutable std::shared_ptr<const Table> levels_[2];  // of even and of odd lane levels
  mutable int log_pairs_[2] = {0, 0};               // that they suffice for
  mutable std::shared_ptr<const Table> first_;
};

}  // namespace hemera::multiply
