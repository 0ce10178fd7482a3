// The CPU backend: kernels of one instruction set, run over batch, components and limbs by threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/fork.hpp"
#include "poly/cpu/embedding.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu {

/// Evaluation order: the standard one, so uploads and downloads are plain copies.
class CpuBackend final : public Backend {
 public:
  /// threads, memory_limit: as for make_cpu_backend. `kernels` must outlive the backend.
  CpuBackend(std::shared_ptr<const Ring> ring, const Kernels& kernels, int threads,
             std::size_t memory_limit = 0, bool computes = true);

  [[nodiscard]] bool read_from(Queue& queue, const Backend& source, Queue& source_queue,
                               const std::function<void()>& operations) const override;
  [[nodiscard]] bool all_within(std::span<const std::int64_t> values, std::uint64_t bound) const override;

 private:
  CpuBackend(std::shared_ptr<const Ring> ring, const Kernels& kernels,
             std::shared_ptr<runtime::ThreadPool> pool, std::size_t memory_limit, bool computes);

  [[nodiscard]] std::unique_ptr<Queue> do_make_queue(QueueOrder order) const override;
  void do_upload(Queue& queue, const PolyView& out, Form form, const FillRows& fill) const override;
  void do_download(Queue& queue, const ConstPolyView& in, Form form, const TakeRows& take) const override;
  void do_copy_values(Queue& queue, std::span<std::byte> out, std::span<const std::byte> in,
                      Transfer transfer) const override;
  void do_download_pieces(Queue& queue, std::span<const std::byte> in, const Pieces& pieces) const override;
  void do_pack_rounded(Queue& queue, std::span<std::byte> out, const ConstPolyView& in, int dropped_bits,
                       int width) const override;
  void do_copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const override;
  void do_copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                    const ConstPolyView& in, Form form) const override;

  void do_transform(Queue& queue, const PolyView& out, const ConstPolyView& in, Form to,
                    const RnsBase& base) const override;

  void do_binary(Queue& queue, Binary operation, const PolyView& out, const ConstPolyView& a,
                 const ConstPolyView& b, const RnsBase& base) const override;
  void do_unary(Queue& queue, Unary operation, const PolyView& out, const ConstPolyView& a,
                std::span<const std::uint64_t> scalars, const RnsBase& base) const override;

  void do_combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                  std::span<const std::vector<std::uint64_t>> scalars, std::span<const std::uint64_t> added,
                  const RnsBase& base, Workspace& workspace) const override;

  void do_multiply_matrix(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const IntegerMatrixView& w, const RnsBase& base,
                          Workspace& workspace) const override;
  void do_multiply_elements(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                            const RnsBase& base, Workspace& workspace) const override;
  void do_multiply_add_vector(Queue& queue, const PolyView& out, const IntegerMatrixView& w,
                              const ConstPolyView& in, const RnsBase& base) const override;
  void do_split_parts(Queue& queue, const PolyView& out, const ConstPolyView& in,
                      const RnsBase& base) const override;
  void do_inner_products(Queue& queue, std::span<const PolyView> out, std::span<const ConstPolyView> a,
                         std::span<const ConstPolyView> b, std::span<const std::uint64_t> added,
                         const RnsBase& base) const override;
  void do_automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in,
                       std::uint64_t galois_element, Form form, const RnsBase& base) const override;

  void do_convert(Queue& queue, const PolyView& out, const ConstPolyView& in, const BaseConversion& plan,
                  const IntegerView* doubtful) const override;
  void do_lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                        std::uint64_t factor, std::span<const std::uint64_t> scalars,
                        const BaseConversion& lift, Workspace& workspace,
                        const ConstPolyView& addend) const override;
  void do_scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const ScaleAndRound& plan, const IntegerView* doubtful) const override;
  void do_divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in, const Division& plan,
                           Form form, Workspace& workspace) const override;
  void do_finish_division(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const ConstPolyView& delta, const Division& plan) const override;

  void do_mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan, Form form,
                 const Division* down, Workspace& workspace) const override;
  void do_extract_window(Queue& queue, const PolyView& out, const ConstPolyView& in, int shift, int width,
                         const RnsBase& base) const override;
  void do_key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                            const ConstPolyView& key, const ModUp& plan) const override;
  void do_hoisted_products(Queue& queue, std::span<const PolyView> out, std::span<const HoistedTerm> terms,
                           const ModUp& plan, std::span<const std::uint64_t> special,
                           Workspace& workspace) const override;
  void do_mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                               const ConstPolyView& key, const ModUp& plan,
                               Workspace& workspace) const override;

  void do_sample(Queue& queue, const PolyView& out, std::span<const RandomStream> streams,
                 const Distribution& distribution, const RnsBase& base, Workspace& workspace) const override;

  void do_encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                       const RandomStream& stream, const ErrorDistribution& distribution,
                       std::uint64_t factor, const RnsBase& base, const Division* division,
                       const ConstPolyView& addend, Workspace& workspace) const override;
  void do_phase(Queue& queue, const PolyView& out, const ConstPolyView& in, const ConstPolyView& secret,
                Form form, const RnsBase& base) const override;
  void do_sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret,
                      const RlweSampling& from, const RnsBase& base, const ConstPolyView& addend,
                      std::span<const GadgetTerm> terms, Workspace& workspace) const override;

  void do_embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                std::uint64_t generator, const RnsBase& base, Workspace& workspace, Form form) const override;
  void do_unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
                  std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                  double* largest) const override;
  void do_exponentials(Queue& queue, const SlotView& out, const ConstPolyView& in,
                       const ExponentialLayout& layout, const RnsBase& base) const override;
  void do_place_slots(Queue& queue, const SlotView& slots, const NumberView& values,
                      Placement placement) const override;

  void do_place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                         std::uint64_t generator, const RnsBase& base) const override;
  void do_collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in, Form form,
                           std::uint64_t generator, bool is_signed, const RnsBase& base,
                           const TakenAlong& along) const override;

  class DigitExtension;
  class Encryption;
  class HoistedProducts;

  [[nodiscard]] const LimbTables& tables(const RnsBase& base, std::size_t limb) const {
    return tables_[base.index(limb)];
  }
  [[nodiscard]] const Embedding& embedding() const;
  /// Where the slots of a generator stand (cpu_values.cpp).
  [[nodiscard]] const std::vector<std::uint32_t>& groups_of_slots(std::uint64_t generator) const;
  template <typename Work>  // (value, entry)
  void for_entries_of_rows(std::size_t length, std::uint64_t generator, const Work& work) const;
  /// One sum of do_inner_products, of whole factors: of one product of two components each, and of any.
  void tensor_product(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                      const RnsBase& base) const;
  void add_products(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                    std::span<const ConstPolyView> b, const RnsBase& base) const;
  /// Slots numbered by the powers of the generator (slot j is the value at root^(g^j)) to the powers of 5, as
  /// the embedding takes them: g^j is a power of 5, or minus one, whose slot gets the conjugate. in.slots
  /// divides N/2, and the slots repeat; `out` has all N/2. And the inverse: the first out.slots slots.
  void slots_to_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                          std::uint64_t generator) const;
  void slots_from_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                            std::uint64_t generator) const;
  /// Where groups [first, first + count) of eight entries come from in an automorphism of evaluation form,
  /// and the orders of eight entries, for Kernels::permute_groups.
  void find_groups(std::uint32_t* groups, std::uint64_t galois_element, std::size_t first,
                   std::size_t count) const;
  static std::array<std::uint64_t, 64> orders_of_groups(std::uint64_t galois_element);
  /// The two forms of automorphism.
  void permute_values(Queue& queue, const PolyView& out, const ConstPolyView& in,
                      std::uint64_t galois_element) const;
  void permute_coefficients(Queue& queue, const PolyView& out, const ConstPolyView& in,
                            std::uint64_t galois_element, const RnsBase& base) const;
  /// Entries [first, first + entries) of limb j of key_inner_product for one polynomial; digits: one limb
  /// each. out: for each component where those entries go.
  void key_inner_product_part(std::span<std::uint64_t* const> out,
                              const std::vector<const std::uint64_t*>& digits, const ConstPolyView& key,
                              const ModUp& plan, std::size_t j, std::size_t first, std::size_t entries) const;
  /// Entries [first, first + count) of target limb j of finish_division for one polynomial; out may be delta.
  void finish_division_part(std::uint64_t* out, const ConstPolyView& in, const std::uint64_t* delta,
                            std::size_t batch, std::size_t component, std::size_t j, std::size_t first,
                            std::size_t count, const Division& plan) const;

  const Kernels& kernels_;
  std::shared_ptr<runtime::ThreadPool> pool_;
  std::vector<LimbTables> tables_;       // [ring modulus]
  std::vector<std::uint32_t> reversal_;  // reverse_bits(i) for i < N
  mutable runtime::ForkSafeMutex groups_of_slots_mutex_;
  mutable std::map<std::uint64_t, std::vector<std::uint32_t>> groups_of_slots_;  // [generator]
  mutable std::once_flag embedding_once_;                                        // only CKKS needs its tables
  mutable std::unique_ptr<const Embedding> embedding_;
};

}  // namespace hemera::poly::cpu
