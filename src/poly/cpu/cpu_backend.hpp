// The CPU backend: kernels of one instruction set, run over batch, components and limbs by threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "poly/cpu/embedding.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu {

/// Evaluation order: the standard one, so uploads and downloads are plain copies.
class CpuBackend final : public Backend {
 public:
  /// threads: as for make_cpu_backend. `kernels` must outlive the backend.
  CpuBackend(std::shared_ptr<const Ring> ring, const Kernels& kernels, int threads);

  [[nodiscard]] const std::shared_ptr<const Ring>& ring() const override { return ring_; }
  [[nodiscard]] runtime::Device device() const override { return {runtime::Device::Kind::cpu, 0}; }
  [[nodiscard]] const std::shared_ptr<runtime::Memory>& memory() const override { return memory_; }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::unique_ptr<Queue> make_queue() const override;

  void upload(Queue& queue, const PolyView& out, std::span<const std::uint64_t> host,
              Form form) const override;
  void download(Queue& queue, std::span<std::uint64_t> host, const ConstPolyView& in,
                Form form) const override;
  void upload_values(Queue& queue, std::span<std::byte> out, std::span<const std::byte> host) const override;
  void download_values(Queue& queue, std::span<std::byte> host, std::span<const std::byte> in) const override;
  void copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const override;
  void fill_zero(Queue& queue, const PolyView& out) const override;

  void forward_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                         const RnsBase& base) const override;
  void inverse_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                         const RnsBase& base) const override;

  void add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
           const RnsBase& base) const override;
  void subtract(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                const RnsBase& base) const override;
  void negate(Queue& queue, const PolyView& out, const ConstPolyView& a, const RnsBase& base) const override;
  void multiply(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                const RnsBase& base) const override;
  void multiply_add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                    const RnsBase& base) const override;
  void multiply_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                       std::span<const std::uint64_t> scalars, const RnsBase& base) const override;
  void add_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                  std::span<const std::uint64_t> scalars, Form form, const RnsBase& base) const override;

  void tensor_product(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                      const RnsBase& base) const override;
  void inner_product(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                     std::span<const ConstPolyView> b, const RnsBase& base) const override;
  void automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in, std::uint64_t galois_element,
                    Form form, const RnsBase& base) const override;

  void convert(Queue& queue, const PolyView& out, const ConstPolyView& in,
               const BaseConversion& plan) const override;
  void scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                       const ScaleAndRound& plan) const override;
  void divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in, const Division& plan,
                        Form form, Workspace& workspace) const override;
  [[nodiscard]] std::size_t divide_and_round_workspace(const PolyShape& in,
                                                       const Division& plan) const override;
  void finish_division(Queue& queue, const PolyView& out, const ConstPolyView& in, const ConstPolyView& delta,
                       const Division& plan) const override;

  void mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan, Form form,
              Workspace& workspace) const override;
  [[nodiscard]] std::size_t mod_up_workspace(const PolyShape& in, const ModUp& plan) const override;
  void extract_window(Queue& queue, const PolyView& out, const ConstPolyView& in, int shift, int width,
                      const RnsBase& base) const override;
  void key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                         const ConstPolyView& key, const ModUp& plan) const override;
  void mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                            const ConstPolyView& key, const ModUp& plan, Form form,
                            Workspace& workspace) const override;
  [[nodiscard]] std::size_t mod_up_inner_product_workspace(const PolyShape& in,
                                                           const ModUp& plan) const override;

  void sample_uniform(Queue& queue, const PolyView& out, const RandomStream& stream,
                      const RnsBase& base) const override;
  void sample_ternary(Queue& queue, const PolyView& out, const RandomStream& stream,
                      const RnsBase& base) const override;
  void sample_fixed_weight(Queue& queue, const PolyView& out, const RandomStream& stream, std::size_t weight,
                           const RnsBase& base, Workspace& workspace) const override;
  [[nodiscard]] std::size_t sample_fixed_weight_workspace() const override;
  void sample_error(Queue& queue, const PolyView& out, const RandomStream& stream,
                    const ErrorDistribution& distribution, const RnsBase& base) const override;
  void sample_flooding(Queue& queue, const PolyView& out, const RandomStream& stream, int bits,
                       const RnsBase& base) const override;

  void embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale, const RnsBase& base,
             Workspace& workspace) const override;
  void unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
               const RnsBase& base, Workspace& workspace, double* largest) const override;
  [[nodiscard]] std::size_t embed_workspace(std::size_t batch, std::size_t slots,
                                            const RnsBase& base) const override;
  void place_slots(Queue& queue, const SlotView& out, const NumberView& values) const override;
  void collect_slots(Queue& queue, const NumberView& values, const SlotView& in) const override;
  void slots_to_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                          std::uint64_t generator) const override;
  void slots_from_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                            std::uint64_t generator) const override;

  void place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                      std::uint64_t generator, const RnsBase& base) const override;
  void collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in, Form form,
                        std::uint64_t generator, bool is_signed, const RnsBase& base) const override;

 private:
  class DigitExtension;

  [[nodiscard]] const LimbTables& tables(const RnsBase& base, std::size_t limb) const {
    return tables_[base.index(limb)];
  }
  /// Throws ParameterError unless every modulus of the base has a root of unity.
  void check_transform(const char* operation, const RnsBase& base) const;
  /// Throws MismatchError unless the base belongs to this backend's ring.
  void check_ring(const char* operation, const RnsBase& base) const;
  [[nodiscard]] const Embedding& embedding() const;
  /// inner_product, checked.
  void add_products(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                    std::span<const ConstPolyView> b, const RnsBase& base) const;
  /// Where value i of place_integers stands, for the values from `first` on.
  void find_positions(std::span<std::uint32_t> positions, std::size_t first, Form form,
                      std::uint64_t generator) const;
  /// The two forms of automorphism.
  void permute_values(Queue& queue, const PolyView& out, const ConstPolyView& in,
                      std::uint64_t galois_element) const;
  void permute_coefficients(Queue& queue, const PolyView& out, const ConstPolyView& in,
                            std::uint64_t galois_element, const RnsBase& base) const;
  /// The input of mod_up and mod_up_inner_product; throws MismatchError or ParameterError.
  void check_mod_up(const ConstPolyView& in, const PolyShape& out, const ModUp& plan) const;
  /// Limb j of key_inner_product for polynomial b; digits: one limb each.
  void key_inner_product_limb(const PolyView& out, const std::vector<const std::uint64_t*>& digits,
                              const ConstPolyView& key, const ModUp& plan, std::size_t b,
                              std::size_t j) const;
  /// Target limb j of finish_division for one polynomial; out may be delta.
  void finish_division_limb(std::uint64_t* out, const ConstPolyView& in, const std::uint64_t* delta,
                            std::size_t batch, std::size_t component, std::size_t j,
                            const Division& plan) const;

  std::shared_ptr<const Ring> ring_;
  const Kernels& kernels_;
  std::shared_ptr<runtime::ThreadPool> pool_;
  std::shared_ptr<runtime::Memory> memory_;
  std::vector<LimbTables> tables_;         // [ring modulus]
  std::vector<std::uint32_t> reversal_;    // reverse_bits(i) for i < N
  mutable std::once_flag embedding_once_;  // only CKKS needs its tables
  mutable std::unique_ptr<const Embedding> embedding_;
};

}  // namespace hemera::poly::cpu
