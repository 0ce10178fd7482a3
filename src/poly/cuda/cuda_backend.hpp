// The CUDA backend: chooses the arithmetic and launches kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "poly/cuda/embedding/embedding.hpp"
#include "poly/cuda/fused/tables.hpp"
#include "poly/cuda/kernels.hpp"
#include "poly/cuda/plan_tables.hpp"
#include "poly/cuda/schedule.hpp"
#include "poly/cuda/small_ring.hpp"
#include "runtime/cuda/staging.hpp"
#include "runtime/cuda/stream_memory.hpp"

namespace hemera::poly::cuda {

/// Evaluation order: within each 256 values, entry 16 t + k of the standard order stands at 16 k + t.
///
/// An operation runs in the stream of the queue that it is given to.
class CudaBackend final : public Backend {
 public:
  /// `forced`: choices by name, see choices_for; what it leaves open follows from the device.
  CudaBackend(std::shared_ptr<const Ring> ring, const CudaSettings& settings,
              const std::string& forced = forced_by_environment());
  ~CudaBackend() override;

  [[nodiscard]] std::unique_ptr<Recording> record(Queue& queue,
                                                  const std::function<void()>& operations) const override;

  [[nodiscard]] bool read_from(Queue& queue, const Backend& source, Queue& source_queue,
                               const std::function<void()>& operations) const override;

 private:
  /// Made before the base class, which knows the memory.
  struct Opened {
    std::shared_ptr<const runtime::cuda::Streams> streams;
    std::shared_ptr<runtime::cuda::StreamMemory> memory;
    std::shared_ptr<runtime::cuda::StreamMemory> key_memory;  // null: the same
    std::unique_ptr<runtime::cuda::Staging> staging;
  };
  static Opened open(const CudaSettings& settings);
  CudaBackend(std::shared_ptr<const Ring> ring, Opened device, const std::string& forced);

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
  void do_transform_components(Queue& queue, const PolyView& values, const ConstPolyView& roots,
                               const ConstPolyView& factors, ComponentOrder order, const RnsBase& base,
                               Workspace& workspace) const override;
  void do_split_parts(Queue& queue, const PolyView& out, const ConstPolyView& in,
                      const RnsBase& base) const override;
  void do_inner_products(Queue& queue, std::span<const PolyView> out, std::span<const ConstPolyView> a,
                         std::span<const ConstPolyView> b, std::span<const std::uint64_t> added,
                         const RnsBase& base) const override;
  void do_automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in,
                       std::uint64_t galois_element, Form form, const RnsBase& base) const override;

  void do_convert(Queue& queue, const PolyView& out, const ConstPolyView& in, const BaseConversion& plan,
                  const IntegerView* doubtful) const override;
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

  void do_switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                      const ModUp& up, const Division* down, const ConstPolyView& addend,
                      Workspace& workspace) const override;
  void do_multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                               const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                               const Division* down, std::span<const std::uint64_t> added,
                               Workspace& workspace) const override;

  void do_scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                         const ScaledProduct& plan, Workspace& workspace) const override;
  void do_lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                        std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                        const ScaledProduct& plan, Workspace& workspace) const override;

  void do_sample(Queue& queue, const PolyView& out, std::span<const RandomStream> streams,
                 const Distribution& distribution, const RnsBase& base, Workspace& workspace) const override;
  void do_encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                       const RandomStream& stream, const ErrorDistribution& distribution,
                       std::uint64_t factor, const RnsBase& base, const Division* division,
                       const ConstPolyView& addend, Workspace& workspace) const override;
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
  void do_lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                        std::uint64_t factor, std::span<const std::uint64_t> scalars,
                        const BaseConversion& lift, Workspace& workspace,
                        const ConstPolyView& addend) const override;

  /// The calling thread's work from now on goes to this queue. Throws MismatchError unless it belongs to
  /// these streams.
  static void enter(const runtime::cuda::Streams& streams, const Queue& queue);
  [[nodiscard]] Launcher launcher(Queue& queue) const;
  /// The launcher of operations that a recording may not have.
  [[nodiscard]] Launcher host_launcher(Queue& queue, const char* operation) const;
  [[nodiscard]] Launcher random_launcher(Queue& queue) const;
  [[nodiscard]] Arithmetic arithmetic(const RnsBase& base) const { return arithmetic(base.indices()); }
  /// Arithmetic of moduli of the ring.
  [[nodiscard]] Arithmetic arithmetic(std::span<const std::uint32_t> moduli) const;
  [[nodiscard]] const Embedding& embedding() const;
  /// The ring of the polynomials in X^(N/degree), made at its first use.
  [[nodiscard]] const SmallRing& small_ring(std::size_t degree) const;
  /// Slots in the order of the embedding.
  [[nodiscard]] SlotView embedding_slots(const Launcher& where, const SlotView& slots,
                                         std::uint64_t generator, Workspace& workspace) const;
  /// Scaled residues of the limbs of `in`, or of products with `factor`, at these positions, and room for
  /// the extra rows, in scratch of `limbs` limbs; `shape` has the batch and the components.
  PolyView scaled_residues(const Launcher& where, const PolyShape& shape, const ConstPolyView& in,
                           const ConstPolyView& factor, std::span<const std::uint32_t> positions,
                           const RnsBase& base, const ScaledTables& tables, std::size_t limbs,
                           Workspace& workspace) const;
  /// Converts limbs that a division drops, between the passes of their inverse transform, to its remainders
  /// between those of theirs; `scratch` and `columns` are of the division.
  /// Scaled residues of the quotients of `in` over the ModUp's base, which go to their own digits, too.
  PolyView divided_residues(const Launcher& where, const PolyView& digits, const ConstPolyView& in,
                            const Division& down, const ModUp& up, Workspace& workspace) const;
  void convert_remainders(const Launcher& where, const PolyView& delta, const PolyView& scratch,
                          const ConstPolyView& between, const Division& plan,
                          const ColumnTables& columns) const;
  // Schedules of operations (schedule.hpp), from what their plans' tables can do.
  [[nodiscard]] SumShape sum_shape(const ModUp& up, std::size_t batch, Word key) const;
  struct SwitchCount {
    std::size_t batch;
    std::size_t keys;
    Word word;   // of the keys
    bool pairs;  // keys have two components
  };
  [[nodiscard]] SwitchSchedule schedule(const ModUp& up, const Division* down,
                                        const SwitchCount& count) const;
  [[nodiscard]] RemainderSchedule remainder_schedule(const Division& down, const ColumnTables& columns) const;
  [[nodiscard]] Way way(const Division& down, const PolyShape& in) const;
  [[nodiscard]] ProductSchedule schedule(const ScaledProduct& plan, std::size_t batch) const;
  /// Whether encrypt_zero runs fused, the division included.
  [[nodiscard]] bool fuses_encryption(const RnsBase& base, const Division* division) const;
  void fused_switch(const SwitchSchedule& schedule, const Launcher& where, const SwitchInput& input,
                    std::span<const KeySwitch> switches, const ModUp& up, const Division& down,
                    Workspace& workspace) const;
  void cluster_switch(const Launcher& where, const SwitchInput& input, std::span<const KeySwitch> switches,
                      const ModUp& up, const Division& down, Workspace& workspace) const;
  /// Either of the two.
  void run_switch(const SwitchSchedule& schedule, const Launcher& where, const SwitchInput& input,
                  std::span<const KeySwitch> switches, const ModUp& up, const Division& down,
                  Workspace& workspace) const;

  std::shared_ptr<const runtime::cuda::Streams> streams_;
  Choices choices_;
  LaunchSizes sizes_;
  std::shared_ptr<runtime::cuda::StreamMemory> stream_memory_;  // memory()
  std::unique_ptr<runtime::cuda::Staging> staging_;
  RingTables tables_;
  PlanTables plans_;
  FusedTables fused_;
  std::vector<std::uint8_t> arithmetics_;  // [ring modulus]: bit a is set if arithmetic a takes it
  mutable std::once_flag embedding_once_;  // only CKKS needs its tables
  mutable std::unique_ptr<const Embedding> embedding_;
  mutable std::mutex small_rings_mutex_;
  mutable std::map<std::size_t, std::unique_ptr<const SmallRing>> small_rings_;  // by degree
};

}  // namespace hemera::poly::cuda
