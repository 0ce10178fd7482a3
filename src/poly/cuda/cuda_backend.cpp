#include "poly/cuda/cuda_backend.hpp"

#include <algorithm>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "poly/cuda/conversion.hpp"
#include "poly/cuda/fused.hpp"
#include "poly/cuda/key_switching.hpp"
#include "poly/cuda/sampling.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"
#include "runtime/cuda/check.hpp"
#include "runtime/cuda/devices.hpp"
#include "runtime/cuda/recording.hpp"

namespace hemera::poly {
namespace cuda {
namespace {

using runtime::Buffer;
using runtime::Secrecy;
using runtime::cuda::check;
using runtime::cuda::DeviceScope;

std::shared_ptr<const runtime::cuda::Stream> open_stream(int device) {
  runtime::cuda::require_device(device);
  return std::make_shared<const runtime::cuda::Stream>(device);
}

std::uint8_t bit(Arithmetic arithmetic) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(arithmetic));
}

std::vector<std::uint32_t> counted(std::size_t count) {
  std::vector<std::uint32_t> positions(count);
  for (std::size_t i = 0; i < count; ++i) positions[i] = static_cast<std::uint32_t>(i);
  return positions;
}

bool contiguous(const ConstPolyView& view) {
  const ConstPolyView whole(view.data, view.shape, view.word);
  return view.limb_stride == whole.limb_stride &&
         (view.shape.components == 1 || view.component_stride == whole.component_stride) &&
         (view.shape.batch == 1 || view.batch_stride == whole.batch_stride);
}

}  // namespace

CudaBackend::CudaBackend(std::shared_ptr<const Ring> ring, const CudaOptions& options)
    : ring_(std::move(ring)),
      forced_(options.arithmetic),
      stream_(open_stream(options.device)),
      stream_memory_(std::make_shared<runtime::cuda::StreamMemory>(stream_, options.memory_limit)),
      memory_(stream_memory_),
      tables_(ring_, memory_, stream_),
      plans_(memory_, stream_),
      fused_(ring_, memory_, stream_, [this](const RnsBase& base) { return arithmetic(base); }) {
  for (const RingModulus& entry : ring_->moduli()) {
    std::uint8_t taken = bit(Arithmetic::u64);
    for (const Arithmetic candidate : {Arithmetic::m64, Arithmetic::f64}) {
      if (takes(candidate, entry.modulus)) taken |= bit(candidate);
    }
    arithmetics_.push_back(taken);
  }
}

// Tables go back to the pool, which frees them: nothing may still run on them.
CudaBackend::~CudaBackend() { cudaStreamSynchronize(stream_->get()); }

std::string CudaBackend::description() const {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, stream_->device()), "describe the device");
  return device().name() + " (" + properties.name + ")";
}

std::unique_ptr<runtime::Queue> CudaBackend::make_queue() const {
  return std::make_unique<runtime::cuda::StreamQueue>(stream_);
}

void CudaBackend::check_queue(const Queue& queue) const {
  const auto* own = dynamic_cast<const runtime::cuda::StreamQueue*>(&queue);
  if (own == nullptr || own->stream() != stream_->get()) {
    throw MismatchError("a queue of device " + queue.device().name() + " was given to a backend of " +
                        device().name() + "; use a queue that this backend made");
  }
}

Launcher CudaBackend::launcher(Queue& queue) const {
  check_queue(queue);
  // A thread's current device is its own business; kernels need the stream's.
  check(cudaSetDevice(stream_->device()), "select the device");
  return {stream_->get(), &tables_, static_cast<unsigned>(ring_->log_degree()), stream_->enter()};
}

Launcher CudaBackend::host_launcher(Queue& queue, const char* operation) const {
  stream_->refuse_recording(operation, "it copies from or to the host; do that before or after");
  return launcher(queue);
}

Launcher CudaBackend::random_launcher(Queue& queue) const {
  stream_->refuse_recording("drawing randomness",
                            "every replay would use the same; encrypt before, and pass it in");
  return launcher(queue);
}

namespace {

class CudaRecording final : public Backend::Recording {
 public:
  explicit CudaRecording(std::unique_ptr<runtime::cuda::Recording> recording)
      : recording_(std::move(recording)) {}
  void replay(runtime::Queue& /*queue*/) const override { recording_->replay(); }

 private:
  std::unique_ptr<runtime::cuda::Recording> recording_;
};

}  // namespace

std::unique_ptr<Backend::Recording> CudaBackend::record(Queue& queue,
                                                        const std::function<void()>& operations) const {
  check_queue(queue);
  runtime::cuda::Recorder recorder(stream_, stream_memory_);
  operations();
  return std::make_unique<CudaRecording>(recorder.finish());
}

Arithmetic CudaBackend::arithmetic(const RnsBase& base) const {
  std::uint8_t taken = 0xff;
  for (const std::uint32_t index : base.indices()) taken &= arithmetics_[index];
  if (forced_ && (taken & bit(*forced_)) != 0) return *forced_;
  if ((taken & bit(Arithmetic::f64)) != 0) return Arithmetic::f64;
  return (taken & bit(Arithmetic::m64)) != 0 ? Arithmetic::m64 : Arithmetic::u64;
}

const Embedding& CudaBackend::embedding() const {
  std::call_once(embedding_once_,
                 [&] { embedding_ = std::make_unique<const Embedding>(ring_->degree(), memory_, stream_); });
  return *embedding_;
}

// --- Copies ---

void CudaBackend::upload(Queue& queue, const PolyView& out, std::span<const std::uint64_t> host,
                         Form form) const {
  check_host("upload", host.size(), out.shape);
  const Launcher where = host_launcher(queue, "an upload");
  const auto copy_to = [&](std::byte* data) {
    check(cudaMemcpyAsync(data, host.data(), host.size_bytes(), cudaMemcpyHostToDevice, where.stream),
          "upload");
  };
  if (form == Form::coefficient && contiguous(out)) return copy_to(out.data);
  // It may be a plaintext or a key.
  Buffer staging(memory_, host.size_bytes(), Secrecy::secret);
  copy_to(staging.data());
  const ConstPolyView staged(staging.data(), out.shape, Word::u64);
  if (form == Form::evaluation) {
    reorder(where, out, staged);
  } else {
    cuda::copy(where, out, staged);
  }
}

void CudaBackend::download(Queue& queue, std::span<std::uint64_t> host, const ConstPolyView& in,
                           Form form) const {
  check_host("download", host.size(), in.shape);
  const Launcher where = host_launcher(queue, "a download");
  const auto copy_from = [&](const std::byte* data) {
    check(cudaMemcpyAsync(host.data(), data, host.size_bytes(), cudaMemcpyDeviceToHost, where.stream),
          "download");
  };
  if (form == Form::coefficient && contiguous(in)) return copy_from(in.data);
  Buffer staging(memory_, host.size_bytes(), Secrecy::secret);
  const PolyView staged(staging.data(), in.shape, Word::u64);
  if (form == Form::evaluation) {
    reorder(where, staged, in);
  } else {
    cuda::copy(where, staged, in);
  }
  copy_from(staging.data());
}

void CudaBackend::copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const {
  check_copy(out, in);
  if (out.data != in.data) cuda::copy(launcher(queue), out, in);
}

void CudaBackend::fill_zero(Queue& queue, const PolyView& out) const {
  cuda::fill_zero(launcher(queue), out);
}

// --- Transforms ---

void CudaBackend::forward_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                    const RnsBase& base) const {
  check_transform("forward_transform", ring_, base);
  check_view("forward_transform", "output", out, base);
  check_input("forward_transform", "input", in, out.shape, base);
  cuda::forward_transform(launcher(queue), arithmetic(base), out, in, base);
}

void CudaBackend::inverse_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                    const RnsBase& base) const {
  check_transform("inverse_transform", ring_, base);
  check_view("inverse_transform", "output", out, base);
  check_input("inverse_transform", "input", in, out.shape, base);
  cuda::inverse_transform(launcher(queue), arithmetic(base), out, in, base);
}

// --- Element by element ---

void CudaBackend::run_binary(const char* name, Binary operation, Queue& queue, const PolyView& out,
                             const ConstPolyView& a, const ConstPolyView& b, const RnsBase& base) const {
  check_ring(name, ring_, base);
  check_view(name, "output", out, base);
  check_input(name, "a", a, out.shape, base);
  check_input(name, "b", b, out.shape, base);
  binary(launcher(queue), operation, out, a, b, base);
}

void CudaBackend::add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                      const RnsBase& base) const {
  run_binary("add", Binary::add, queue, out, a, b, base);
}

void CudaBackend::subtract(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                           const RnsBase& base) const {
  run_binary("subtract", Binary::subtract, queue, out, a, b, base);
}

void CudaBackend::multiply(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                           const RnsBase& base) const {
  run_binary("multiply", Binary::multiply, queue, out, a, b, base);
}

void CudaBackend::multiply_add(Queue& queue, const PolyView& out, const ConstPolyView& a,
                               const ConstPolyView& b, const RnsBase& base) const {
  run_binary("multiply_add", Binary::multiply_add, queue, out, a, b, base);
}

void CudaBackend::negate(Queue& queue, const PolyView& out, const ConstPolyView& a,
                         const RnsBase& base) const {
  check_ring("negate", ring_, base);
  check_view("negate", "output", out, base);
  check_input("negate", "a", a, out.shape, base);
  cuda::negate(launcher(queue), out, a, base);
}

void CudaBackend::multiply_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                  std::span<const std::uint64_t> scalars, const RnsBase& base) const {
  check_ring("multiply_scalar", ring_, base);
  check_view("multiply_scalar", "output", out, base);
  check_input("multiply_scalar", "a", a, out.shape, base);
  check_scalars("multiply_scalar", scalars.size(), base);
  cuda::multiply_scalar(launcher(queue), out, a, scalars, base);
}

void CudaBackend::add_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                             std::span<const std::uint64_t> scalars, Form form, const RnsBase& base) const {
  check_ring("add_scalar", ring_, base);
  check_view("add_scalar", "output", out, base);
  check_input("add_scalar", "a", a, out.shape, base);
  check_scalars("add_scalar", scalars.size(), base);
  cuda::add_scalar(launcher(queue), out, a, scalars, form == Form::evaluation, base);
}

// --- Ring structure ---

void CudaBackend::tensor_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                 const ConstPolyView& b, const RnsBase& base) const {
  check_ring("tensor_product", ring_, base);
  check_tensor_product(out, a, b, base);
  cuda::tensor_product(launcher(queue), out, a, b, base);
}

void CudaBackend::automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in,
                               std::uint64_t galois_element, Form form, const RnsBase& base) const {
  check_ring("automorphism", ring_, base);
  check_view("automorphism", "output", out, base);
  check_input("automorphism", "input", in, out.shape, base);
  check_galois_element("automorphism", galois_element, ring_->degree());
  if (form == Form::evaluation) {
    automorphism_values(launcher(queue), out, in, galois_element);
  } else {
    automorphism_coefficients(launcher(queue), out, in, galois_element, base);
  }
}

// --- Changes of base ---

void CudaBackend::convert(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const BaseConversion& plan) const {
  if (plan.source().empty() || plan.target().empty()) return fill_zero(queue, out);
  check_ring("convert", ring_, plan.source());
  check_view("convert", "output", out, plan.target());
  check_input("convert", "input", in, out.shape, plan.source());
  cuda::convert("convert", launcher(queue), out, in, static_cast<unsigned>(out.shape.components),
                plans_.of(plan));
}

void CudaBackend::scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                  const ScaleAndRound& plan) const {
  check_ring("scale_and_round", ring_, plan.source());
  check_view("scale_and_round", "output", out, plan.target());
  check_input("scale_and_round", "input", in, out.shape, plan.source());
  cuda::scale_and_round(launcher(queue), out, in, plans_.of(plan));
}

void CudaBackend::finish_division(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                  const ConstPolyView& delta, const Division& plan) const {
  check_ring("finish_division", ring_, plan.target());
  check_view("finish_division", "output", out, plan.target());
  check_input("finish_division", "input", in, out.shape, plan.source());
  check_input("finish_division", "delta", delta, out.shape, plan.target());
  cuda::finish_division(launcher(queue), out, in, delta, plan);
}

PolyView CudaBackend::scaled_residues(const Launcher& where, const ConstPolyView& in,
                                      const std::vector<std::uint32_t>& positions, const RnsBase& base,
                                      const ScaledTables& tables, std::size_t limbs,
                                      Workspace& workspace) const {
  const PolyView residues = take(workspace, with_limbs(in.shape, limbs));
  const PolyView between = take(workspace, with_limbs(in.shape, base.size()));
  scaled_inverse_transform(where, arithmetic(base), residues, between, in, positions, base, tables);
  return residues;
}

std::size_t CudaBackend::divide_and_round_workspace(const PolyShape& in, const Division& plan) const {
  const FusedDivision& fused = fused_.of(plan);
  // In coefficient form the plan runs unfused.
  const std::size_t unfused = Backend::divide_and_round_workspace(in, plan);
  if (!fused.usable) return unfused;
  return std::max(unfused, bytes_of(with_limbs(in, fused.scratch_limbs)) +
                               bytes_of(with_limbs(in, plan.dropped().size())) +
                               bytes_of(with_limbs(in, plan.target().size())));
}

void CudaBackend::divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                   const Division& plan, Form form, Workspace& workspace) const {
  const FusedDivision& fused = fused_.of(plan);
  if (form == Form::coefficient || !fused.usable) {
    return Backend::divide_and_round(queue, out, in, plan, form, workspace);
  }
  check_transform("divide_and_round", ring_, plan.source());
  check_view("divide_and_round", "output", out, plan.target());
  check_input("divide_and_round", "input", in, out.shape, plan.source());
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const PolyView residues = scaled_residues(where, in, plan.dropped_positions(), plan.dropped(), fused.scaled,
                                            fused.scratch_limbs, workspace);
  extra_rows(where, residues, fused.extra);
  const PolyView delta = take(workspace, with_limbs(in.shape, plan.target().size()));
  const Arithmetic chosen = arithmetic(plan.target());
  convert_columns(where, chosen, delta, residues, static_cast<unsigned>(in.shape.components), fused.columns);
  finish_rows(where, chosen, out, in, delta, plan);
}

// --- Key-switching ---

std::size_t CudaBackend::mod_up_workspace(const PolyShape& in, const ModUp& plan) const {
  return plans_.of(plan).windowed ? Backend::mod_up_workspace(in, plan) : bytes_of(in);
}

void CudaBackend::mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan,
                         Form form, Workspace& workspace) const {
  const ModUpTables& tables = plans_.of(plan);
  if (tables.windowed) return Backend::mod_up(queue, out, in, plan, form, workspace);
  check_transform("mod_up", ring_, plan.extended());
  check_view("mod_up", "output", out, plan.extended());
  check_view("mod_up", "input", in, plan.base());
  check_count("mod_up", "components of the output", out.shape.components, plan.digits().size());
  check_count("mod_up", "components of the input", in.shape.components, 1);
  check_broadcast("mod_up", "input", in.shape, out.shape);
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const bool values = form == Form::evaluation;
  ConstPolyView coefficients = in;
  if (values) {
    const PolyView scratch(workspace.take(bytes_of(in.shape)), in.shape, Word::u64);
    cuda::inverse_transform(where, arithmetic(plan.base()), scratch, in, plan.base());
    coefficients = scratch;
  }
  cuda::convert("mod_up", where, out, coefficients, 1, tables.conversions);
  copy_own_limbs(where, out, in, tables);
  cuda::forward_transform(where, arithmetic(plan.extended()), out, out, plan.extended(),
                          values ? tables.own_digits.data() : nullptr);
}

void CudaBackend::extract_window(Queue& queue, const PolyView& out, const ConstPolyView& in, int shift,
                                 int width, const RnsBase& base) const {
  check_ring("extract_window", ring_, base);
  check_view("extract_window", "output", out, base);
  check_count("extract_window", "limbs of the input", in.shape.limbs, 1);
  check_broadcast("extract_window", "input", in.shape, out.shape);
  cuda::extract_window(launcher(queue), out, in, shift, width, base);
}

void CudaBackend::key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                                    const ConstPolyView& key, const ModUp& plan) const {
  check_ring("key_inner_product", ring_, plan.extended());
  check_key_inner_product(out, digits.shape.batch, key, plan);
  check_view("key_inner_product", "digits", digits, plan.extended());
  check_count("key_inner_product", "digits", digits.shape.components, plan.digits().size());
  cuda::key_inner_product(launcher(queue), out, digits, key, plan.extended(), plans_.of(plan));
}

namespace {

PolyShape digits_shape(PolyShape in, const ModUp& plan) {
  in.components = plan.digits().size();
  in.limbs = plan.extended().size();
  return in;
}

PolyShape pair_of(PolyShape in, std::size_t limbs) {
  in.components = 2;
  in.limbs = limbs;
  return in;
}

}  // namespace

std::size_t CudaBackend::mod_up_inner_product_workspace(const PolyShape& in, const ModUp& plan) const {
  return Backend::mod_up_inner_product_workspace(in, plan) + (fused_.of(plan).usable ? bytes_of(in) : 0);
}

void CudaBackend::mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                       const ConstPolyView& key, const ModUp& plan, Form form,
                                       Workspace& workspace) const {
  const FusedModUp& fused = fused_.of(plan);
  if (form == Form::coefficient || !fused.usable || key.shape.components != 2) {
    return Backend::mod_up_inner_product(queue, out, in, key, plan, form, workspace);
  }
  check_transform("mod_up", ring_, plan.extended());
  check_key_inner_product(out, in.shape.batch, key, plan);
  check_view("mod_up", "input", in, plan.base());
  check_count("mod_up", "components of the input", in.shape.components, 1);
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const std::size_t limbs = plan.base().size();
  const PolyView digits = take(workspace, digits_shape(in.shape, plan));
  const PolyView residues =
      scaled_residues(where, in, counted(limbs), plan.base(), fused.scaled, limbs, workspace);
  const Arithmetic chosen = arithmetic(plan.extended());
  convert_columns(where, chosen, digits, residues, 1, fused.special);
  convert_columns(where, chosen, digits, residues, 1, fused.base);
  rows_inner_product(where, chosen, out, digits, in, key, fused, plan.extended(), 0, nullptr);
}

// The special limbs go first: then the division's inverse transform and conversion are done when the sums
// over the base are made, and these never reach memory.
bool CudaBackend::fuses_switch(const ModUp& up, const Division* down) const {
  return down != nullptr && fused_.of(up).usable && fused_.of(*down).usable;
}

std::size_t CudaBackend::switch_key_workspace(const PolyShape& in, const ModUp& up,
                                              const Division* down) const {
  const std::size_t unfused = Backend::switch_key_workspace(in, up, down);
  if (!fuses_switch(up, down)) return unfused;
  const std::size_t limbs = up.base().size(), special = down->dropped().size();
  return std::max(unfused, bytes_of(digits_shape(in, up)) + 2 * bytes_of(with_limbs(in, limbs)) +
                               2 * bytes_of(pair_of(in, special)) +
                               bytes_of(pair_of(in, fused_.of(*down).scratch_limbs)) +
                               bytes_of(pair_of(in, limbs)));
}

void CudaBackend::switch_key(Queue& queue, const PolyView& out, const ConstPolyView& in,
                             const ConstPolyView& key, const ModUp& up, const Division* down,
                             const ConstPolyView& addend, std::uint64_t galois_element,
                             Workspace& workspace) const {
  check_galois_element("switch_key", galois_element, ring_->degree());
  if (!fuses_switch(up, down) || key.shape.components != 2) {
    return Backend::switch_key(queue, out, in, key, up, down, addend, galois_element, workspace);
  }
  check_transform("switch_key", ring_, up.extended());
  check_switch_key(out, in, key, up, down, addend);
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  const FusedModUp& fused = fused_.of(up);
  const FusedDivision& division = fused_.of(*down);
  const std::size_t limbs = up.base().size(), special = down->dropped().size();
  const Arithmetic chosen = arithmetic(up.extended());
  const PolyView digits = take(workspace, digits_shape(in.shape, up));
  const PolyView residues =
      scaled_residues(where, in, counted(limbs), up.base(), fused.scaled, limbs, workspace);
  convert_columns(where, chosen, digits, residues, 1, fused.special);
  const PolyView sums = take(workspace, pair_of(in.shape, special));
  rows_inner_product(where, chosen, sums, digits, in, key, fused, up.extended(), limbs, nullptr);
  const PolyView remainders = scaled_residues(where, sums, counted(special), down->dropped(), division.scaled,
                                              division.scratch_limbs, workspace);
  extra_rows(where, remainders, division.extra);
  const PolyView delta = take(workspace, pair_of(in.shape, limbs));
  convert_columns(where, chosen, digits, residues, 1, fused.base);
  convert_columns(where, chosen, delta, remainders, 2, division.columns);
  const SwitchEnd end{delta, down, addend, galois_element};
  rows_inner_product(where, chosen, out, digits, in, key, fused, up.extended(), 0, &end);
}

// --- Samplers ---

void CudaBackend::sample_uniform(Queue& queue, const PolyView& out, const RandomStream& stream,
                                 const RnsBase& base) const {
  check_ring("sampling", ring_, base);
  cuda::sample_uniform(random_launcher(queue), out, stream, base);
}

void CudaBackend::sample_ternary(Queue& queue, const PolyView& out, const RandomStream& stream,
                                 const RnsBase& base) const {
  check_ring("sampling", ring_, base);
  cuda::sample_ternary(random_launcher(queue), out, stream, base);
}

void CudaBackend::sample_fixed_weight(Queue& queue, const PolyView& out, const RandomStream& stream,
                                      std::size_t weight, const RnsBase& base, Workspace& workspace) const {
  check_ring("sampling", ring_, base);
  cuda::sample_fixed_weight(random_launcher(queue), out, stream, weight, base, workspace);
}

std::size_t CudaBackend::sample_fixed_weight_workspace() const {
  return cuda::sample_fixed_weight_workspace(ring_->degree());
}

void CudaBackend::sample_error(Queue& queue, const PolyView& out, const RandomStream& stream,
                               const ErrorDistribution& distribution, const RnsBase& base) const {
  check_ring("sampling", ring_, base);
  cuda::sample_error(random_launcher(queue), out, stream, distribution, base);
}

void CudaBackend::sample_flooding(Queue& queue, const PolyView& out, const RandomStream& stream, int bits,
                                  const RnsBase& base) const {
  check_ring("sampling", ring_, base);
  cuda::sample_flooding(random_launcher(queue), out, stream, bits, base);
}

// --- CKKS embedding ---

void CudaBackend::upload_slots(Queue& queue, const SlotView& out,
                               std::span<const std::complex<double>> host) const {
  check_count("upload_slots", "slots", host.size(), out.batch * out.slots);
  check(cudaMemcpyAsync(out.data, host.data(), host.size_bytes(), cudaMemcpyHostToDevice,
                        launcher(queue).stream),
        "upload_slots");
}

void CudaBackend::download_slots(Queue& queue, std::span<std::complex<double>> host,
                                 const SlotView& in) const {
  check_count("download_slots", "slots", host.size(), in.batch * in.slots);
  check(cudaMemcpyAsync(host.data(), in.data, host.size_bytes(), cudaMemcpyDeviceToHost,
                        launcher(queue).stream),
        "download_slots");
}

void CudaBackend::embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                        const RnsBase& base, Workspace& workspace) const {
  check_ring("embed", ring_, base);
  embedding().embed(launcher(queue), out, slots, scale, base, workspace);
}

void CudaBackend::unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
                          const RnsBase& base, Workspace& workspace) const {
  check_ring("unembed", ring_, base);
  embedding().unembed(launcher(queue), slots, in, scale, base, workspace);
}

std::size_t CudaBackend::embed_workspace(std::size_t batch, std::size_t slots, const RnsBase& base) const {
  return embedding().workspace(batch, slots, base);
}

}  // namespace cuda

std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Ring> ring, int device,
                                                 std::size_t memory_limit) {
  return std::make_shared<const cuda::CudaBackend>(
      std::move(ring), cuda::CudaOptions{.device = device, .memory_limit = memory_limit, .arithmetic = {}});
}

}  // namespace hemera::poly
