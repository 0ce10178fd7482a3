// Constants of plans in device memory, made when a plan is first used.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/plans.hpp"
#include "poly/cuda/tables.hpp"

namespace hemera::poly::cuda {

/// One source limb of a base conversion.
struct ConversionSource {
  arith::ShoupFactor scale;  // A_i^-1
  std::uint64_t modulus;
  std::uint64_t shift;            // (a - 1) / 2 where scaled residues are centred, else 0
  std::uint64_t quotient_factor;  // r_i
  std::uint32_t quotient_shift;   // bits - 1
  std::uint32_t limb;             // of the input
};

/// One target limb.
struct ConversionTarget {
  arith::Modulus modulus;
  std::uint64_t minus_product;
  std::uint64_t minus_shift;
  std::uint32_t weights;  // index of the weight of its first source
  std::uint32_t limb;     // of the output
};

/// Targets of one conversion that a thread works out together.
inline constexpr unsigned targets_per_job = 8;
struct ConversionJob {
  std::uint32_t first_source;
  std::uint32_t sources;
  std::uint32_t first_target;
  std::uint32_t targets;
  std::uint32_t component;  // of the output, added to the input's
  std::uint32_t has_quotient;
};

/// Conversions that run in one launch.
struct ConversionTables {
  DeviceArray<ConversionSource> sources;
  DeviceArray<ConversionTarget> targets;
  DeviceArray<std::uint64_t> weights;
  DeviceArray<ConversionJob> jobs;
  unsigned job_count = 0;
};

/// One divided limb of a scale-and-round.
struct RoundingSource {
  arith::ShoupFactor scale;
  std::uint64_t modulus;
  std::uint64_t fraction_high;
  std::uint64_t fraction_low;
  std::uint64_t limb;
};
/// One target limb.
struct RoundingTarget {
  arith::Modulus modulus;
  arith::ShoupFactor kept_scale;  // A_j^-1 of the kept limb
  std::uint64_t kept_factor;      // 0 without one
  std::uint64_t power_48;         // 2^48
  std::uint32_t kept_limb;
  std::uint32_t limb;
};
struct RoundingTables {
  DeviceArray<RoundingSource> sources;
  DeviceArray<RoundingTarget> targets;
  DeviceArray<std::uint64_t> weights;  // [target, source]
  unsigned source_count = 0;
  unsigned target_count = 0;
};

struct ModUpTables {
  ConversionTables conversions;           // coefficients of all RNS digits; output components are digits
  DeviceArray<std::uint32_t> key_digits;  // [digit]
  DeviceArray<std::uint32_t> key_limbs;   // [limb of the extended base]
  DeviceArray<std::uint32_t> own_digits;  // [limb of the extended base]: the digit that has it, or no_digit
  bool windowed = false;                  // some digit is a window
};
inline constexpr std::uint32_t no_digit = ~std::uint32_t{0};

/// Keeps what `make` makes of a plan until the plan and its copies are gone.
template <typename Tables>
class PlanCache {
 public:
  const Tables& of(const PlanIdentity& identity, const std::function<Tables()>& make) const {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[identity.token().get()];
    if (entry.token.lock() != identity.token()) {
      entry.tables = std::make_unique<Tables>(make());
      entry.token = identity.token();
      if (entries_.size() >= 2 * swept_) sweep(identity.token().get());
    }
    return *entry.tables;
  }

 private:
  struct Entry {
    std::weak_ptr<const char> token;
    std::unique_ptr<Tables> tables;
  };
  void sweep(const char* in_use) const {
    std::erase_if(entries_,
                  [&](const auto& item) { return item.first != in_use && item.second.token.expired(); });
    swept_ = entries_.size();
  }

  mutable std::mutex mutex_;
  mutable std::unordered_map<const char*, Entry> entries_;
  mutable std::size_t swept_ = 16;
};

/// The tables of all plans that a backend has met.
class PlanTables {
 public:
  PlanTables(std::shared_ptr<runtime::Memory> memory, std::shared_ptr<const runtime::cuda::Streams> streams)
      : memory_(std::move(memory)), streams_(std::move(streams)) {}

  [[nodiscard]] const ConversionTables& of(const BaseConversion& plan) const;
  [[nodiscard]] const RoundingTables& of(const ScaleAndRound& plan) const;
  [[nodiscard]] const ModUpTables& of(const ModUp& plan) const;

 private:
  template <typename T>
  DeviceArray<T> upload(const std::vector<T>& values) const {
    return {memory_, *streams_, values};
  }
  struct HostConversion;
  ConversionTables upload(const HostConversion& host) const;

  std::shared_ptr<runtime::Memory> memory_;
  std::shared_ptr<const runtime::cuda::Streams> streams_;
  PlanCache<ConversionTables> conversions_;
  PlanCache<RoundingTables> roundings_;
  PlanCache<ModUpTables> mod_ups_;
};

}  // namespace hemera::poly::cuda
