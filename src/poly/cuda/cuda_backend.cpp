#include "poly/cuda/cuda_backend.hpp"

#include <algorithm>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "poly/cuda/fused/encryption.hpp"
#include "poly/cuda/sampling/sampling.hpp"
#include "poly/cuda/values.hpp"
#include "poly/embedding_checks.hpp"
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

std::shared_ptr<const runtime::cuda::Streams> open_streams(const CudaSettings& settings) {
  runtime::cuda::require_device(settings.device);
  std::optional<cudaStream_t> stream;
  if (settings.stream) stream = reinterpret_cast<cudaStream_t>(*settings.stream);
  return std::make_shared<const runtime::cuda::Streams>(settings.device, stream);
}

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "describe the device");
  return properties;
}

// Kernels of clusters are compiled for compute capability 9.0 and newer.
std::size_t cluster_shared_bytes(int device) {
  const cudaDeviceProp properties = properties_of(device);
  return properties.major >= 9 ? properties.sharedMemPerBlockOptin : 0;
}

std::uint8_t bit(Arithmetic arithmetic) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(arithmetic));
}

bool contiguous(const ConstPolyView& view) {
  const ConstPolyView whole(view.data, view.shape, view.word);
  return view.limb_stride == whole.limb_stride &&
         (view.shape.components == 1 || view.component_stride == whole.component_stride) &&
         (view.shape.batch == 1 || view.batch_stride == whole.batch_stride);
}

}  // namespace

CudaBackend::CudaBackend(std::shared_ptr<const Ring> ring, const CudaSettings& settings,
                         std::optional<Arithmetic> arithmetic)
    : ring_(std::move(ring)),
      forced_(arithmetic),
      streams_(open_streams(settings)),
      cluster_shared_bytes_(cluster_shared_bytes(streams_->device())),
      stream_memory_(std::make_shared<runtime::cuda::StreamMemory>(streams_, settings.memory_limit)),
      memory_(stream_memory_),
      tables_(ring_, memory_, streams_),
      plans_(memory_, streams_),
      fused_(ring_, memory_, streams_, [this](const RnsBase& base) { return this->arithmetic(base); }) {
  for (const RingModulus& entry : ring_->moduli()) {
    std::uint8_t taken = bit(Arithmetic::u64);
    for (const Arithmetic candidate : {Arithmetic::m64, Arithmetic::f64}) {
      if (takes(candidate, entry.modulus)) taken |= bit(candidate);
    }
    arithmetics_.push_back(taken);
  }
}

// Tables go back to the pool, which frees them: nothing may still run on them.
CudaBackend::~CudaBackend() { streams_->drain(); }

std::string CudaBackend::description() const {
  return device().name() + " (" + properties_of(streams_->device()).name + ")";
}

std::unique_ptr<runtime::Queue> CudaBackend::make_queue() const {
  return std::make_unique<runtime::cuda::StreamQueue>(streams_);
}

void CudaBackend::check_queue(const Queue& queue) const {
  const auto* own = dynamic_cast<const runtime::cuda::StreamQueue*>(&queue);
  if (own == nullptr || &own->streams() != streams_.get()) {
    throw MismatchError("a queue of device " + queue.device().name() + " was given to a backend of " +
                        device().name() + "; use a queue that this backend made");
  }
}

Launcher CudaBackend::launcher(Queue& queue) const {
  check_queue(queue);
  // A thread's current device is its own business; kernels need the stream's.
  check(cudaSetDevice(streams_->device()), "select the device");
  return {streams_->current().get(), &tables_, static_cast<unsigned>(ring_->log_degree())};
}

Launcher CudaBackend::host_launcher(Queue& queue, const char* operation) const {
  streams_->refuse_recording(operation, "it copies from or to the host; do that before or after");
  return launcher(queue);
}

Launcher CudaBackend::random_launcher(Queue& queue) const {
  streams_->refuse_recording("drawing randomness",
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
  runtime::cuda::Recorder recorder(streams_, stream_memory_);
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
                 [&] { embedding_ = std::make_unique<const Embedding>(ring_->degree(), memory_, streams_); });
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

void CudaBackend::copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                            const ConstPolyView& in, Form form) const {
  const auto* other = dynamic_cast<const CudaBackend*>(&source);
  if (other == nullptr || in.shape != out.shape || !contiguous(out) || !contiguous(in)) {
    Backend::copy_from(queue, out, source, source_queue, in, form);
    return;
  }
  check_copy(out, in);
  streams_->refuse_recording("a copy between devices", "do it before, and pass the result in");
  other->check_queue(source_queue);
  const Launcher where = launcher(queue);
  const runtime::cuda::Stream& stream = streams_->current();
  const runtime::cuda::Stream& other_stream = other->streams_->current();
  stream.wait_for(other_stream);
  check(cudaMemcpyPeerAsync(out.data, streams_->device(), in.data, other->streams_->device(),
                            in.shape.words() * static_cast<std::size_t>(in.word), where.stream),
        "copy between devices");
  other_stream.wait_for(stream);
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
  check_tensor_product("tensor_product", out, a, b, base);
  cuda::inner_product(launcher(queue), "tensor_product", out, std::span(&a, 1), std::span(&b, 1), base);
}

void CudaBackend::inner_product(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                                std::span<const ConstPolyView> b, const RnsBase& base) const {
  check_ring("inner_product", ring_, base);
  check_inner_product(out, a, b, base);
  cuda::inner_product(launcher(queue), "inner_product", out, a, b, base);
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

// --- Values ---

void CudaBackend::upload_values(Queue& queue, std::span<std::byte> out,
                                std::span<const std::byte> host) const {
  check_count("upload_values", "bytes", host.size(), out.size());
  check(cudaMemcpyAsync(out.data(), host.data(), host.size(), cudaMemcpyHostToDevice,
                        host_launcher(queue, "an upload").stream),
        "upload_values");
}

void CudaBackend::download_values(Queue& queue, std::span<std::byte> host,
                                  std::span<const std::byte> in) const {
  check_count("download_values", "bytes", host.size(), in.size());
  check(cudaMemcpyAsync(host.data(), in.data(), host.size(), cudaMemcpyDeviceToHost,
                        host_launcher(queue, "a download").stream),
        "download_values");
}

void CudaBackend::place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                                 std::uint64_t generator, const RnsBase& base) const {
  check_ring("place_integers", ring_, base);
  check_place_integers(out, values, generator, base);
  cuda::place_integers(launcher(queue), out, values, form, generator, base);
}

void CudaBackend::collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in,
                                   Form form, std::uint64_t generator, bool is_signed,
                                   const RnsBase& base) const {
  check_ring("collect_integers", ring_, base);
  check_collect_integers(values, in, generator, base);
  cuda::collect_integers(launcher(queue), values, in, form, generator, is_signed, base);
}

void CudaBackend::lift_integers(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                std::uint64_t factor, std::span<const std::uint64_t> scalars,
                                const BaseConversion& lift, Workspace& /*workspace*/) const {
  check_ring("lift_integers", ring_, lift.source());
  check_transform("lift_integers", ring_, lift.target());
  check_lift_integers(out, in, scalars, lift);
  const Launcher where = launcher(queue);
  const Arithmetic chosen = arithmetic(lift.target());
  lift_columns(where, chosen, out, in, lift.source().modulus(0), factor, scalars, lift.target());
  forward_rows(where, chosen, out, out, lift.target());
}

void CudaBackend::place_slots(Queue& queue, const SlotView& out, const NumberView& values) const {
  check_slots("place_slots", out, values);
  cuda::place_slots(launcher(queue), out, values);
}

void CudaBackend::collect_slots(Queue& queue, const NumberView& values, const SlotView& in) const {
  check_slots("collect_slots", in, values);
  cuda::collect_slots(launcher(queue), values, in);
}

void CudaBackend::slots_to_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                                     std::uint64_t generator) const {
  check_slot_order("slots_to_embedding", ring_->degree(), out, in, generator);
  cuda::slots_to_embedding(launcher(queue), out, in, generator);
}

void CudaBackend::slots_from_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                                       std::uint64_t generator) const {
  check_slot_order("slots_from_embedding", ring_->degree(), in, out, generator);
  cuda::slots_from_embedding(launcher(queue), out, in, generator);
}

void CudaBackend::embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                        const RnsBase& base, Workspace& workspace) const {
  check_ring("embed", ring_, base);
  embedding().embed(launcher(queue), out, slots, scale, base, workspace);
}

void CudaBackend::unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
                          const RnsBase& base, Workspace& workspace, double* largest) const {
  check_ring("unembed", ring_, base);
  embedding().unembed(launcher(queue), slots, in, scale, base, workspace, largest);
}

std::size_t CudaBackend::embed_workspace(std::size_t batch, std::size_t slots, const RnsBase& base) const {
  return embedding().workspace(batch, slots, base);
}

}  // namespace cuda

std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Ring> ring,
                                                 const CudaSettings& settings) {
  return std::make_shared<const cuda::CudaBackend>(std::move(ring), settings);
}

}  // namespace hemera::poly
