#include "poly/ledger/ledger_backend.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "hemera/runtime/error.hpp"
#include "poly/ledger/ledger_memory.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {
namespace ledger {
namespace {

std::vector<std::uint32_t> indices_of(const RnsBase& base) {
  return {base.indices().begin(), base.indices().end()};
}

int bits_of(const RnsBase& base) {
  int bits = 0;
  for (std::size_t i = 0; i < base.size(); ++i) {
    bits = std::max(bits, static_cast<int>(std::bit_width(base.modulus(i).value())));
  }
  return bits;
}

LedgerEntry entry_of(Operation operation, const PolyShape& out, const RnsBase& base) {
  return {.operation = operation,
          .degree = out.degree,
          .bits = bits_of(base),
          .base = indices_of(base),
          .target = out.limbs,
          .batch = out.batch,
          .components = out.components};
}

// Bytes that move as they are, over no base.
LedgerEntry move_of(Operation operation, const PolyShape& moved) {
  return {.operation = operation,
          .degree = moved.degree,
          .target = moved.limbs,
          .batch = moved.batch,
          .components = moved.components};
}

LedgerEntry switch_of(Operation operation, const PolyShape& out, const ModUp& plan) {
  LedgerEntry entry = entry_of(operation, out, plan.base());
  entry.extended = plan.extended().size();
  entry.digits = plan.digits().size();
  return entry;
}

Operation operation_of(Binary operation) {
  switch (operation) {
    case Binary::add:
      return Operation::add;
    case Binary::subtract:
      return Operation::subtract;
    case Binary::multiply:
      return Operation::multiply;
    case Binary::multiply_add:
      break;
  }
  return Operation::multiply_add;
}

Operation operation_of(Unary operation) {
  if (operation == Unary::negate) return Operation::negate;
  return operation == Unary::multiply ? Operation::multiply_scalar : Operation::add_scalar;
}

// Takes what a run of the other backend would take.
template <typename Run>
void measure(runtime::Workspace& workspace, const Run& run) {
  runtime::Workspace measuring = runtime::Workspace::measuring();
  run(measuring);
  const runtime::Workspace::Frame frame(workspace);
  if (measuring.peak() != 0) static_cast<void>(workspace.take(measuring.peak()));
}

}  // namespace

template <typename Run>
void LedgerBackend::run_timed(Queue& queue, const LedgerEntry& entry, const Run& run) const {
  using Clock = std::chrono::steady_clock;
  queue.synchronize();
  const auto begin = Clock::now();
  run();
  queue.synchronize();
  ledger_->note_time(entry, std::chrono::duration<double>(Clock::now() - begin).count());
}

template <typename Run>
void LedgerBackend::pass(Queue& queue, const LedgerEntry& entry, const Run& run) const {
  ledger_->note(entry);
  if (times_) return run_timed(queue, entry, run);
  if (runs_) run();
}

template <typename Run>
void LedgerBackend::pass(Queue& queue, const LedgerEntry& entry, Workspace& workspace, const Run& run) const {
  if (workspace.measures()) return runs_ ? run(workspace) : measure(workspace, run);
  ledger_->note(entry);
  if (times_) return run_timed(queue, entry, [&] { run(workspace); });
  return runs_ ? run(workspace) : measure(workspace, run);
}

void LedgerBackend::require_values(const char* operation) const {
  if (runs_) return;
  throw DeviceError(std::string(operation) +
                    ": on the device 'ledger' operations are counted, and there are no values; compute on "
                    "'cpu' or 'cuda'");
}

std::unique_ptr<Backend::Recording> LedgerBackend::record(Queue& queue,
                                                          const std::function<void()>& operations) const {
  if (runs_) return other_->record(queue, operations);
  return Backend::record(queue, operations);
}

void LedgerBackend::do_upload(Queue& queue, const PolyView& out, Form form, const FillRows& fill) const {
  pass(queue, move_of(Operation::upload, out.shape), [&] { other_->upload_rows(queue, out, form, fill); });
  if (runs_) return;
  // Who reads a file relies on it: rows are filled, one at a time, and forgotten.
  std::vector<std::uint64_t> row(out.shape.degree);
  const runtime::ZeroedAtEnd zeroed{std::span(row)};
  for (std::size_t i = 0; i < out.shape.batch * out.shape.components * out.shape.limbs; ++i) fill(i, row);
}

void LedgerBackend::do_download(Queue& queue, const ConstPolyView& in, Form form,
                                const TakeRows& take) const {
  require_values("download");
  pass(queue, move_of(Operation::download, in.shape), [&] { other_->download_rows(queue, in, form, take); });
}

void LedgerBackend::do_copy_values(Queue& queue, std::span<std::byte> out, std::span<const std::byte> in,
                                   Transfer transfer) const {
  const bool up = transfer == Transfer::upload;
  if (!up) require_values("download");
  const std::size_t words = (in.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  pass(queue, {.operation = up ? Operation::upload : Operation::download, .terms = words},
       [&] { up ? other_->upload_values(queue, out, in) : other_->download_values(queue, out, in); });
}

// The operation that makes the bytes is noted by itself, and first, so that its time is not that of the copy.
void LedgerBackend::do_download_pieces(Queue& queue, std::span<const std::byte> in,
                                       const Pieces& pieces) const {
  require_values("download");
  pieces.make(in.size());
  const std::size_t words = (in.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  pass(queue, {.operation = Operation::download, .terms = words}, [&] {
    other_->download_pieces(queue, in,
                            {.bytes = pieces.bytes, .make = [](std::size_t) {}, .take = pieces.take});
  });
}

void LedgerBackend::do_pack_rounded(Queue& queue, std::span<std::byte> out, const ConstPolyView& in,
                                    int dropped_bits, int width) const {
  pass(queue, move_of(Operation::pack_rounded, in.shape),
       [&] { other_->pack_rounded(queue, out, in, dropped_bits, width); });
}

void LedgerBackend::do_copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const {
  const bool zeros = in.data == nullptr;
  pass(queue, move_of(zeros ? Operation::fill_zero : Operation::copy, out.shape),
       [&] { zeros ? other_->fill_zero(queue, out) : other_->copy(queue, out, in); });
}

void LedgerBackend::do_copy_from(Queue& queue, const PolyView& out, const Backend& source,
                                 Queue& source_queue, const ConstPolyView& in, Form form) const {
  pass(queue, move_of(Operation::upload, out.shape),
       [&] { other_->copy_from(queue, out, source, source_queue, in, form); });
}

void LedgerBackend::do_transform(Queue& queue, const PolyView& out, const ConstPolyView& in, Form to,
                                 const RnsBase& base) const {
  pass(queue, entry_of(Operation::transform, out.shape, base), [&] {
    to == Form::evaluation ? other_->forward_transform(queue, out, in, base)
                           : other_->inverse_transform(queue, out, in, base);
  });
}

void LedgerBackend::do_binary(Queue& queue, Binary operation, const PolyView& out, const ConstPolyView& a,
                              const ConstPolyView& b, const RnsBase& base) const {
  pass(queue, entry_of(operation_of(operation), out.shape, base), [&] {
    switch (operation) {
      case Binary::add:
        return other_->add(queue, out, a, b, base);
      case Binary::subtract:
        return other_->subtract(queue, out, a, b, base);
      case Binary::multiply:
        return other_->multiply(queue, out, a, b, base);
      case Binary::multiply_add:
        return other_->multiply_add(queue, out, a, b, base);
    }
  });
}

void LedgerBackend::do_unary(Queue& queue, Unary operation, const PolyView& out, const ConstPolyView& a,
                             std::span<const std::uint64_t> scalars, const RnsBase& base) const {
  pass(queue, entry_of(operation_of(operation), out.shape, base), [&] {
    switch (operation) {
      case Unary::negate:
        return other_->negate(queue, out, a, base);
      case Unary::multiply:
        return other_->multiply_scalar(queue, out, a, scalars, base);
      case Unary::add_to_all:
        return other_->add_scalar(queue, out, a, scalars, Form::evaluation, base);
      case Unary::add_to_first:
        return other_->add_scalar(queue, out, a, scalars, Form::coefficient, base);
    }
  });
}

void LedgerBackend::do_combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                               std::span<const std::vector<std::uint64_t>> scalars,
                               std::span<const std::uint64_t> added, const RnsBase& base,
                               Workspace& workspace) const {
  LedgerEntry entry = entry_of(Operation::combine, out.shape, base);
  entry.terms = a.size();
  entry.factors =
      static_cast<std::size_t>(std::count_if(scalars.begin(), scalars.end(), [](const auto& of_term) {
        return std::any_of(of_term.begin(), of_term.end(), [](std::uint64_t scalar) { return scalar != 1; });
      }));
  pass(queue, entry, workspace,
       [&](Workspace& scratch) { other_->combine(queue, out, a, scalars, added, base, scratch); });
}

void LedgerBackend::do_multiply_matrix(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                       const IntegerMatrixView& w, const RnsBase& base,
                                       Workspace& workspace) const {
  LedgerEntry entry = entry_of(Operation::multiply_matrix, out.shape, base);
  entry.terms = w.columns;
  entry.right = static_cast<std::size_t>(w.bytes);
  pass(queue, entry, workspace,
       [&](Workspace& scratch) { other_->multiply_matrix(queue, out, in, w, base, scratch); });
}

void LedgerBackend::do_multiply_elements(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                         const ConstPolyView& b, const RnsBase& base,
                                         Workspace& workspace) const {
  LedgerEntry entry = entry_of(Operation::multiply_elements, out.shape, base);
  entry.terms = a.shape.components;
  pass(queue, entry, workspace,
       [&](Workspace& scratch) { other_->multiply_elements(queue, out, a, b, base, scratch); });
}

void LedgerBackend::do_multiply_add_vector(Queue& queue, const PolyView& out, const IntegerMatrixView& w,
                                           const ConstPolyView& in, const RnsBase& base) const {
  LedgerEntry entry = entry_of(Operation::multiply_add_vector, out.shape, base);
  entry.terms = w.columns;
  pass(queue, entry, [&] { other_->multiply_add_vector(queue, out, w, in, base); });
}

void LedgerBackend::do_split_parts(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                   const RnsBase& base) const {
  LedgerEntry entry = entry_of(Operation::split_parts, in.shape, base);
  entry.terms = in.shape.degree / out.shape.degree;
  pass(queue, entry, [&] { other_->split_parts(queue, out, in, base); });
}

void LedgerBackend::do_inner_products(Queue& queue, std::span<const PolyView> out,
                                      std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                                      std::span<const std::uint64_t> added, const RnsBase& base) const {
  for_each_sum(out, a.size(), b, [&](const PolyView& sum, std::span<const ConstPolyView> own, bool whole) {
    if (!whole) return Backend::do_inner_products(queue, std::span(&sum, 1), a, own, added, base);
    LedgerEntry entry = entry_of(Operation::inner_product, sum.shape, base);
    entry.components = a.front().shape.components;
    entry.right = own.front().shape.components;
    entry.terms = a.size();
    pass(queue, entry, [&] { other_->inner_product(queue, sum, a, own, base, added); });
  });
}

void LedgerBackend::do_automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                    std::uint64_t galois_element, Form form, const RnsBase& base) const {
  pass(queue, entry_of(Operation::automorphism, out.shape, base),
       [&] { other_->automorphism(queue, out, in, galois_element, form, base); });
}

void LedgerBackend::do_convert(Queue& queue, const PolyView& out, const ConstPolyView& in,
                               const BaseConversion& plan, const IntegerView* doubtful) const {
  pass(queue, entry_of(Operation::convert, out.shape, plan.source()),
       [&] { other_->convert(queue, out, in, plan, doubtful); });
}

void LedgerBackend::do_scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                       const ScaleAndRound& plan, const IntegerView* doubtful) const {
  pass(queue, entry_of(Operation::scale_and_round, out.shape, plan.source()),
       [&] { other_->scale_and_round(queue, out, in, plan, doubtful); });
}

void LedgerBackend::do_divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                        const Division& plan, Form form, Workspace& workspace) const {
  LedgerEntry entry = entry_of(Operation::divide_and_round, out.shape, plan.source());
  entry.divides = true;
  pass(queue, entry, workspace,
       [&](Workspace& scratch) { other_->divide_and_round(queue, out, in, plan, form, scratch); });
}

void LedgerBackend::do_mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan,
                              Form form, const Division* down, Workspace& workspace) const {
  if (down != nullptr) return Backend::do_mod_up(queue, out, in, plan, form, down, workspace);
  pass(queue, switch_of(Operation::mod_up, out.shape, plan), workspace,
       [&](Workspace& scratch) { other_->mod_up(queue, out, in, plan, form, scratch); });
}

void LedgerBackend::do_key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                                         const ConstPolyView& key, const ModUp& plan) const {
  pass(queue, switch_of(Operation::key_inner_product, out.shape, plan),
       [&] { other_->key_inner_product(queue, out, digits, key, plan); });
}

void LedgerBackend::do_hoisted_products(Queue& queue, std::span<const PolyView> out,
                                        std::span<const HoistedTerm> terms, const ModUp& plan,
                                        std::span<const std::uint64_t> special, Workspace& workspace) const {
  LedgerEntry entry = switch_of(Operation::hoisted_products, out.front().shape, plan);
  entry.terms = terms.size();
  for (const HoistedTerm& term : terms) {
    if (term.digits.data != nullptr) ++entry.switched;
    for (const ConstPolyView& factor : term.factors) entry.factors += factor.data != nullptr ? 1 : 0;
  }
  pass(queue, entry, workspace,
       [&](Workspace& scratch) { other_->hoisted_products(queue, out, terms, plan, special, scratch); });
}

void LedgerBackend::do_switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                                   const ModUp& up, const Division* down, const ConstPolyView& addend,
                                   Workspace& workspace) const {
  LedgerEntry entry = switch_of(Operation::switch_keys, switches.front().out.shape, up);
  entry.terms = switches.size();
  entry.divides = down != nullptr;
  pass(queue, entry, workspace,
       [&](Workspace& scratch) { other_->switch_keys(queue, switches, in, up, down, addend, scratch); });
}

void LedgerBackend::do_multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                            const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                                            const Division* down, std::span<const std::uint64_t> added,
                                            Workspace& workspace) const {
  LedgerEntry entry = switch_of(Operation::multiply_relinearize, out.shape, up);
  entry.divides = down != nullptr;
  pass(queue, entry, workspace, [&](Workspace& scratch) {
    other_->multiply_relinearize(queue, out, a, b, key, up, down, scratch, added);
  });
}

void LedgerBackend::do_scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                      const ConstPolyView& b, const ScaledProduct& plan,
                                      Workspace& workspace) const {
  LedgerEntry entry = entry_of(Operation::scaled_product, out.shape, plan.base());
  entry.extended = plan.all().size();
  pass(queue, entry, workspace,
       [&](Workspace& scratch) { other_->scaled_product(queue, out, a, b, plan, scratch); });
}

void LedgerBackend::do_lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                                     std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                                     const ScaledProduct& plan, Workspace& workspace) const {
  LedgerEntry entry = entry_of(Operation::lift_operands, a_lifted.shape, plan.base());
  entry.extended = plan.all().size();
  entry.terms = a.size();
  pass(queue, entry, workspace,
       [&](Workspace& scratch) { other_->lift_operands(queue, a_lifted, b_lifted, a, b, plan, scratch); });
}

void LedgerBackend::do_sample(Queue& queue, const PolyView& out, std::span<const RandomStream> streams,
                              const Distribution& distribution, const RnsBase& base,
                              Workspace& workspace) const {
  pass(queue, entry_of(Operation::sample, out.shape, base), workspace,
       [&](Workspace& scratch) { other_->sample(queue, out, streams, distribution, base, scratch); });
}

void LedgerBackend::do_encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                                    const RandomStream& stream, const ErrorDistribution& distribution,
                                    std::uint64_t factor, const RnsBase& base, const Division* division,
                                    const ConstPolyView& addend, Workspace& workspace) const {
  LedgerEntry entry = entry_of(Operation::encrypt_zero, out.shape, base);
  entry.divides = division != nullptr;
  pass(queue, entry, workspace, [&](Workspace& scratch) {
    other_->encrypt_zero(queue, out, key, stream, distribution, factor, base, division, addend, scratch);
  });
}

void LedgerBackend::do_phase(Queue& queue, const PolyView& out, const ConstPolyView& in,
                             const ConstPolyView& secret, Form form, const RnsBase& base) const {
  LedgerEntry entry = entry_of(Operation::phase, out.shape, base);
  entry.components = in.shape.components;
  pass(queue, entry, [&] { other_->phase(queue, out, in, secret, form, base); });
}

void LedgerBackend::do_sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret,
                                   const RlweSampling& from, const RnsBase& base, const ConstPolyView& addend,
                                   std::span<const GadgetTerm> terms, Workspace& workspace) const {
  LedgerEntry entry = entry_of(Operation::sample_rlwe, out.shape, base);
  entry.terms = terms.size();
  pass(queue, entry, workspace, [&](Workspace& scratch) {
    other_->sample_rlwe(queue, out, secret, from, base, addend, terms, scratch);
  });
}

void LedgerBackend::do_embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                             std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                             Form form) const {
  pass(queue, entry_of(Operation::embed, out.shape, base), workspace,
       [&](Workspace& scratch) { other_->embed(queue, out, slots, scale, generator, base, scratch, form); });
}

void LedgerBackend::do_unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
                               std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                               double* largest) const {
  require_values("unembed");
  pass(queue, entry_of(Operation::unembed, in.shape, base), workspace, [&](Workspace& scratch) {
    other_->unembed(queue, slots, in, scale, generator, base, scratch, largest);
  });
}

void LedgerBackend::do_exponentials(Queue& queue, const SlotView& out, const ConstPolyView& in,
                                    const ExponentialLayout& layout, const RnsBase& base) const {
  pass(queue, {.operation = Operation::exponentials, .batch = out.batch, .terms = out.slots},
       [&] { other_->exponentials(queue, out, in, layout, base); });
}

void LedgerBackend::do_place_slots(Queue& queue, const SlotView& slots, const NumberView& values,
                                   Placement placement) const {
  const bool places = placement == Placement::place;
  if (!places) require_values("collect_slots");
  const Operation operation = places ? Operation::place_slots : Operation::collect_slots;
  pass(queue, {.operation = operation, .batch = slots.batch, .terms = slots.slots}, [&] {
    places ? other_->place_slots(queue, slots, values) : other_->collect_slots(queue, values, slots);
  });
}

void LedgerBackend::do_place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                                      std::uint64_t generator, const RnsBase& base) const {
  pass(queue, entry_of(Operation::place_integers, out.shape, base),
       [&] { other_->place_integers(queue, out, values, form, generator, base); });
}

void LedgerBackend::do_collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in,
                                        Form form, std::uint64_t generator, bool is_signed,
                                        const RnsBase& base, const TakenAlong& along) const {
  require_values("collect_integers");
  pass(queue, entry_of(Operation::collect_integers, in.shape, base),
       [&] { other_->collect_integers(queue, values, in, form, generator, is_signed, base, along); });
}

void LedgerBackend::do_lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                                     std::uint64_t factor, std::span<const std::uint64_t> scalars,
                                     const BaseConversion& lift, Workspace& workspace,
                                     const ConstPolyView& addend) const {
  LedgerEntry entry = entry_of(Operation::lift_integers, out.shape, lift.target());
  entry.terms = in.size();
  pass(queue, entry, workspace, [&](Workspace& scratch) {
    other_->lift_integers(queue, out, in, factor, scalars, lift, scratch, addend);
  });
}

// Parts of the defaults, which are never taken here.

void LedgerBackend::do_finish_division(Queue& /*queue*/, const PolyView& /*out*/, const ConstPolyView& /*in*/,
                                       const ConstPolyView& /*delta*/, const Division& /*plan*/) const {
  throw DeviceError("finish_division: a part of divide_and_round, which is counted as a whole");
}

void LedgerBackend::do_extract_window(Queue& /*queue*/, const PolyView& /*out*/, const ConstPolyView& /*in*/,
                                      int /*shift*/, int /*width*/, const RnsBase& /*base*/) const {
  throw DeviceError("extract_window: a part of mod_up, which is counted as a whole");
}

}  // namespace ledger

std::shared_ptr<const Backend> make_ledger_backend(std::shared_ptr<const Ring> ring,
                                                   std::shared_ptr<Ledger> ledger, int threads) {
  return std::make_shared<ledger::LedgerBackend>(make_measuring_backend(std::move(ring), threads),
                                                 ledger::LedgerBackend::Mode::counts,
                                                 std::make_shared<ledger::LedgerMemory>(), std::move(ledger));
}

std::shared_ptr<const Backend> make_counted_backend(std::shared_ptr<const Backend> backend,
                                                    std::shared_ptr<Ledger> ledger, bool timed) {
  using Mode = ledger::LedgerBackend::Mode;
  const std::shared_ptr<runtime::Memory> memory = backend->memory();
  return std::make_shared<ledger::LedgerBackend>(std::move(backend), timed ? Mode::times : Mode::runs, memory,
                                                 std::move(ledger));
}

}  // namespace hemera::poly
