// From residues to doubles: the centred representative of a coefficient, divided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "poly/cuda/embedding/slot_transforms.hpp"
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/tables.hpp"
#include "runtime/cuda/stream.hpp"

namespace hemera::poly::cuda {

/// The constants of every base that was asked for. Any number of threads may call it at once.
class Centering {
 public:
  Centering(std::shared_ptr<runtime::Memory> memory, std::shared_ptr<const runtime::cuda::Streams> streams);
  ~Centering();

  /// The coefficients at multiples of 2^log_gap of `in`, [batch, 1, limb, N] in coefficient form, centred and
  /// divided by divisor * 2^divisor_exponent, to values [batch, 2^log_n]. Takes the same time for all
  /// residues. The first call for a base makes its constants and uploads them. `largest`, if it is not null,
  /// [batch], is set to 0.
  void center(const Launcher& launcher, Complex* values, const ConstPolyView& in, std::size_t batch,
              unsigned log_n, unsigned log_gap, const RnsBase& base, int divisor_exponent, double divisor,
              unsigned long long* largest) const;

 private:
  struct Base;
  const Base& of(const RnsBase& base) const;

  std::shared_ptr<runtime::Memory> memory_;
  std::shared_ptr<const runtime::cuda::Streams> streams_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<std::uint32_t>, std::unique_ptr<const Base>> bases_;  // by ring indices
};

}  // namespace hemera::poly::cuda
