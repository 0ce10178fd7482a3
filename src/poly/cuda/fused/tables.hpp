// Tables of the fused operations, from plans.
#pragma once

#include <functional>
#include <memory>

#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/fused/passes.hpp"

namespace hemera::poly::cuda {

/// Makes and keeps them. Each is made for the arithmetics that the backend runs its bases in.
class FusedTables {
 public:
  using ArithmeticOf = std::function<Arithmetic(const RnsBase&)>;

  FusedTables(std::shared_ptr<const Ring> ring, std::shared_ptr<runtime::Memory> memory,
              std::shared_ptr<const runtime::cuda::Streams> streams, ArithmeticOf arithmetic,
              const LaunchSizes& sizes)
      : ring_(std::move(ring)),
        memory_(std::move(memory)),
        streams_(std::move(streams)),
        arithmetic_(std::move(arithmetic)),
        sizes_(sizes) {}

  /// `usable`: whether the fused kernels take the plan: other plans run unfused.
  [[nodiscard]] const FusedModUp& of(const ModUp& plan) const;
  /// The same for digits that are kept: in M64, too, the digits themselves.
  [[nodiscard]] const FusedModUp& of_digits(const ModUp& plan) const;
  [[nodiscard]] const FusedDivision& of(const Division& plan) const;
  [[nodiscard]] const FusedProduct& of(const ScaledProduct& plan) const;
  /// The conversions of a usable plan to base and special limbs in one, the targets of a job from one digit:
  /// no jobs where the special limbs have another arithmetic.
  [[nodiscard]] const ColumnTables& joined(const ModUp& plan) const;
  /// The tables of clusters (cluster/tables.cu).
  [[nodiscard]] const ClusterModUp& in_clusters(const ModUp& plan) const;
  [[nodiscard]] const ClusterDivision& in_clusters(const Division& plan) const;

 private:
  template <typename T>
  DeviceArray<T> upload(const std::vector<T>& values) const {
    return {memory_, *streams_, values};
  }
  /// The ring has the size and the target the moduli that the fused kernels need.
  [[nodiscard]] bool takes(const RnsBase& target, std::size_t most_sources) const;
  /// `factors` and `shifts`: one for each modulus of the base, or several times as many.
  [[nodiscard]] ScaledTables scaled(Arithmetic arithmetic, const RnsBase& base,
                                    const std::vector<std::uint64_t>& factors,
                                    const std::vector<std::uint64_t>& shifts) const;
  [[nodiscard]] static Correction correction_of(const Division& plan);
  /// All moduli have a root.
  [[nodiscard]] bool transforms(const RnsBase& base) const;
  /// Where a conversion from this many sources gets its quotient.
  [[nodiscard]] Quotient quotient_of(std::size_t sources) const;
  [[nodiscard]] FusedModUp fused(const ModUp& plan, bool for_products) const;
  struct HostColumns;
  class ProductTables;
  [[nodiscard]] ColumnTables upload(HostColumns host, Arithmetic arithmetic) const;

  std::shared_ptr<const Ring> ring_;
  std::shared_ptr<runtime::Memory> memory_;
  std::shared_ptr<const runtime::cuda::Streams> streams_;
  ArithmeticOf arithmetic_;
  LaunchSizes sizes_;
  PlanCache<FusedModUp> mod_ups_;
  PlanCache<FusedModUp> digits_;
  PlanCache<ColumnTables> joined_mod_ups_;
  PlanCache<FusedDivision> divisions_;
  PlanCache<FusedProduct> products_;
  PlanCache<ClusterModUp> cluster_mod_ups_;
  PlanCache<ClusterDivision> cluster_divisions_;
};

}  // namespace hemera::poly::cuda
