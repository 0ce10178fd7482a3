// The backend that notes operations, and computes nothing or has another one compute them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/poly/ledger.hpp"

namespace hemera::poly::ledger {

class LedgerBackend final : public Backend {
 public:
  enum class Mode : std::uint8_t { counts, runs, times };

  /// `other` measures scratch and, unless this one `counts` alone, computes, in its memory. Otherwise
  /// `memory` is one without contents.
  LedgerBackend(std::shared_ptr<const Backend> other, Mode mode, std::shared_ptr<runtime::Memory> memory,
                std::shared_ptr<Ledger> ledger)
      : Backend({.description = mode == Mode::counts ? "ledger" : other->description() + ", counted",
                 .stores_u50 = other->stores(Word::u50),
                 .records = mode != Mode::counts && other->records()},
                other->ring(), std::move(memory), mode == Mode::counts ? nullptr : other->key_memory()),
        other_(std::move(other)),
        runs_(mode != Mode::counts),
        times_(mode == Mode::times),
        ledger_(std::move(ledger)) {}

  [[nodiscard]] std::unique_ptr<Recording> record(Queue& queue,
                                                  const std::function<void()>& operations) const override;
  [[nodiscard]] bool read_from(Queue& queue, const Backend& source, Queue& source_queue,
                               const std::function<void()>& operations) const override {
    return other_->read_from(queue, source, source_queue, operations);
  }
  [[nodiscard]] bool all_within(std::span<const std::int64_t> values, std::uint64_t bound) const override {
    return other_->all_within(values, bound);
  }

 private:
  [[nodiscard]] std::unique_ptr<Queue> do_make_queue(QueueOrder order) const override {
    return order == QueueOrder::own ? other_->make_queue() : other_->make_thread_queue();
  }
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
  void do_lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                        std::uint64_t factor, std::span<const std::uint64_t> scalars,
                        const BaseConversion& lift, Workspace& workspace,
                        const ConstPolyView& addend) const override;

  /// Notes the entry, and gives the operation to the other backend if that one runs.
  template <typename Run>
  void pass(Queue& queue, const LedgerEntry& entry, const Run& run) const;
  /// The same of an operation with scratch: takes what the other backend takes.
  template <typename Run>
  void pass(Queue& queue, const LedgerEntry& entry, Workspace& workspace, const Run& run) const;
  template <typename Run>
  void run_timed(Queue& queue, const LedgerEntry& entry, const Run& run) const;
  /// Throws DeviceError where nothing is computed.
  void require_values(const char* operation) const;

  std::shared_ptr<const Backend> other_;
  bool runs_, times_;
  std::shared_ptr<Ledger> ledger_;
};

}  // namespace hemera::poly::ledger
