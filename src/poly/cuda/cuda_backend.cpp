#include "poly/cuda/cuda_backend.hpp"

#include <algorithm>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "poly/cuda/cluster/passes.hpp"
#include "poly/cuda/fused/encryption.hpp"
#include "poly/cuda/sampling/sampling.hpp"
#include "poly/cuda/values.hpp"
#include "poly/embedding_tables.hpp"
#include "poly/scratch.hpp"
#include "poly/shapes.hpp"
#include "runtime/cuda/check.hpp"
#include "runtime/cuda/devices.hpp"
#include "runtime/cuda/recording.hpp"

namespace hemera::poly::cuda {
namespace {

using runtime::cuda::check;
using runtime::cuda::DeviceScope;
using runtime::cuda::StreamQueue;

std::shared_ptr<const runtime::cuda::Streams> open_streams(const CudaSettings& settings) {
  runtime::cuda::require_device(settings.device);
  std::optional<cudaStream_t> stream;
  if (settings.stream) stream = reinterpret_cast<cudaStream_t>(*settings.stream);
  return std::make_shared<const runtime::cuda::Streams>(settings.device, stream);
}

std::string description_of(int device, const std::string& forced) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "describe the device");
  return runtime::Device{runtime::Device::Kind::cuda, device}.name() + " (" + properties.name +
         (forced.empty() ? "" : ", forced: " + forced) + ")";
}

std::uint8_t bit(Arithmetic arithmetic) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(arithmetic));
}

}  // namespace

CudaBackend::Opened CudaBackend::open(const CudaSettings& settings) {
  auto streams = open_streams(settings);
  auto memory = std::make_shared<runtime::cuda::StreamMemory>(streams, settings.memory_limit);
  std::shared_ptr<runtime::cuda::StreamMemory> key_memory;
  if (settings.keys_on_host) {
    key_memory = std::make_shared<runtime::cuda::StreamMemory>(streams, 0, runtime::cuda::Place::pinned_host);
  }
  auto staging = std::make_unique<runtime::cuda::Staging>(streams, settings.threads);
  return {std::move(streams), std::move(memory), std::move(key_memory), std::move(staging)};
}

CudaBackend::CudaBackend(std::shared_ptr<const Ring> ring, const CudaSettings& settings,
                         const std::string& forced)
    : CudaBackend(std::move(ring), open(settings), forced) {}

CudaBackend::CudaBackend(std::shared_ptr<const Ring> given, Opened device, const std::string& forced)
    // Keys may be in six bytes, whatever their moduli are computed in.
    : Backend({.description = description_of(device.streams->device(), forced),
               .stores_u50 = true,
               .records = true},
              std::move(given), device.memory, std::move(device.key_memory)),
      streams_(std::move(device.streams)),
      choices_(choices_for(card_of_device(streams_->device()), forced)),
      sizes_(launch_sizes(static_cast<unsigned>(ring()->log_degree()), choices_)),
      stream_memory_(std::move(device.memory)),
      staging_(std::move(device.staging)),
      tables_(ring(), memory(), streams_),
      plans_(memory(), streams_),
      fused_(
          ring(), memory(), streams_, [this](const RnsBase& base) { return this->arithmetic(base); },
          sizes_) {
  for (const RingModulus& entry : ring()->moduli()) {
    std::uint8_t taken = bit(Arithmetic::u64);
    for (const Arithmetic candidate : {Arithmetic::m64, Arithmetic::f64}) {
      if (takes(candidate, entry.modulus)) taken |= bit(candidate);
    }
    arithmetics_.push_back(taken);
  }
}

// Tables go back to the pool, which frees them: nothing may still run on them.
CudaBackend::~CudaBackend() { streams_->drain(); }

std::unique_ptr<runtime::Queue> CudaBackend::do_make_queue(QueueOrder order) const {
  using Kind = StreamQueue::Kind;
  return std::make_unique<StreamQueue>(streams_,
                                       order == QueueOrder::own ? Kind::own_stream : Kind::of_thread);
}

void CudaBackend::enter(const runtime::cuda::Streams& streams, const Queue& queue) {
  const auto* own = dynamic_cast<const StreamQueue*>(&queue);
  if (own == nullptr || &own->streams() != &streams) {
    throw MismatchError("a queue of device " + queue.device().name() + " was given to a backend of " +
                        runtime::Device{runtime::Device::Kind::cuda, streams.device()}.name() +
                        "; use a queue that this backend made");
  }
  own->enter();
}

Launcher CudaBackend::launcher(Queue& queue) const {
  enter(*streams_, queue);
  // A thread's current device is its own business; kernels need the stream's.
  check(cudaSetDevice(streams_->device()), "select the device");
  return {streams_->current().get(), &tables_, static_cast<unsigned>(ring()->log_degree()), &sizes_};
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
  CudaRecording(std::function<void(const runtime::Queue&)> enter,
                std::unique_ptr<runtime::cuda::Recording> recording)
      : enter_(std::move(enter)), recording_(std::move(recording)) {}
  void replay(runtime::Queue& queue) const override {
    enter_(queue);
    recording_->replay();
  }

 private:
  std::function<void(const runtime::Queue&)> enter_;
  std::unique_ptr<runtime::cuda::Recording> recording_;
};

}  // namespace

std::unique_ptr<Backend::Recording> CudaBackend::record(Queue& queue,
                                                        const std::function<void()>& operations) const {
  enter(*streams_, queue);
  std::vector<std::shared_ptr<runtime::cuda::StreamMemory>> memories = {stream_memory_};
  if (key_memory() != memory()) {
    memories.push_back(std::static_pointer_cast<runtime::cuda::StreamMemory>(key_memory()));
  }
  runtime::cuda::Recorder recorder(streams_, std::move(memories));
  operations();
  return std::make_unique<CudaRecording>([streams = streams_](const Queue& given) { enter(*streams, given); },
                                         recorder.finish());
}

Arithmetic CudaBackend::arithmetic(std::span<const std::uint32_t> moduli) const {
  std::uint8_t taken = 0xff;
  for (const std::uint32_t index : moduli) taken &= arithmetics_[index];
  return arithmetic_of((taken & bit(Arithmetic::m64)) != 0, (taken & bit(Arithmetic::f64)) != 0,
                       choices_.tuning);
}

const Embedding& CudaBackend::embedding() const {
  std::call_once(embedding_once_, [&] {
    embedding_ = std::make_unique<const Embedding>(ring()->degree(), memory(), streams_);
  });
  return *embedding_;
}

const SmallRing& CudaBackend::small_ring(std::size_t degree) const {
  const std::lock_guard lock(small_rings_mutex_);
  std::unique_ptr<const SmallRing>& found = small_rings_[degree];
  if (!found) found = std::make_unique<const SmallRing>(*ring(), degree, memory(), streams_, choices_);
  return *found;
}

// --- Transforms ---

void CudaBackend::do_transform(Queue& queue, const PolyView& out, const ConstPolyView& in, Form to,
                               const RnsBase& base) const {
  const Launcher where = launcher(queue);
  if (to == Form::evaluation) {
    cuda::forward_transform(where, arithmetic(base), out, in, base);
  } else {
    cuda::inverse_transform(where, arithmetic(base), out, in, base);
  }
}

// --- Element by element ---

void CudaBackend::do_binary(Queue& queue, Binary operation, const PolyView& out, const ConstPolyView& a,
                            const ConstPolyView& b, const RnsBase& base) const {
  binary(launcher(queue), operation, out, a, b, base);
}

void CudaBackend::do_unary(Queue& queue, Unary operation, const PolyView& out, const ConstPolyView& a,
                           std::span<const std::uint64_t> scalars, const RnsBase& base) const {
  const Launcher where = launcher(queue);
  switch (operation) {
    case Unary::negate:
      return cuda::negate(where, out, a, base);
    case Unary::multiply:
      return cuda::multiply_scalar(where, out, a, scalars, base);
    case Unary::add_to_all:
    case Unary::add_to_first:
      return cuda::add_scalar(where, out, a, scalars, operation == Unary::add_to_all, base);
  }
}

// --- Ring structure ---

void CudaBackend::do_combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                             std::span<const std::vector<std::uint64_t>> scalars,
                             std::span<const std::uint64_t> added, const RnsBase& base,
                             Workspace& workspace) const {
  if (workspace.measures()) return;
  cuda::combine(launcher(queue), out, a, scalars, added, base);
}

void CudaBackend::do_inner_products(Queue& queue, std::span<const PolyView> out,
                                    std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                                    std::span<const std::uint64_t> added, const RnsBase& base) const {
  const PolyShape& whole = out.front().shape;
  const ConstPolyView& first = b.front();
  const bool repeats = std::all_of(b.begin(), b.end(), [&](const ConstPolyView& view) {
    return view.shape.degree < whole.degree && view.shape.degree == first.shape.degree &&
           view.limb_stride == first.limb_stride && view.shape.batch == 1;
  });
  if (repeats) return cuda::repeated_products(launcher(queue), out, a, b, added, base);
  for_each_sum(out, a.size(), b,
               [&](const PolyView& sum, std::span<const ConstPolyView> own, bool are_whole) {
                 if (!are_whole)
                   return Backend::do_inner_products(queue, std::span(&sum, 1), a, own, added, base);
                 cuda::inner_product(launcher(queue), sum, a, own, added, base);
               });
}

void CudaBackend::do_automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                  std::uint64_t galois_element, Form form, const RnsBase& base) const {
  if (form == Form::evaluation) {
    automorphism_values(launcher(queue), out, in, galois_element);
  } else {
    automorphism_coefficients(launcher(queue), out, in, galois_element, base);
  }
}

// --- Samplers ---

void CudaBackend::do_sample(Queue& queue, const PolyView& out, std::span<const RandomStream> streams,
                            const Distribution& distribution, const RnsBase& base,
                            Workspace& workspace) const {
  if (!workspace.measures()) cuda::sample(random_launcher(queue), out, streams, distribution, base);
}

// --- Values ---

void CudaBackend::do_place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                                    std::uint64_t generator, const RnsBase& base) const {
  cuda::place_integers(launcher(queue), out, values, form, generator, base);
}

void CudaBackend::do_collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in,
                                      Form form, std::uint64_t generator, bool is_signed, const RnsBase& base,
                                      const TakenAlong& along) const {
  cuda::collect_integers(launcher(queue), values, in, form, generator, is_signed, base, along);
}

void CudaBackend::do_lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                                   std::uint64_t factor, std::span<const std::uint64_t> scalars,
                                   const BaseConversion& lift, Workspace& workspace,
                                   const ConstPolyView& addend) const {
  const Workspace::Frame frame(workspace);
  const bool clusters = lifts_in_clusters(can_lift_in_cluster(ring()->log_degree() - 8), in.size(),
                                          out.shape.batch * out.shape.limbs, choices_);
  const bool between = addend.data != nullptr && !clusters;
  const PolyView columns = between ? take(workspace, out.shape) : out;
  if (workspace.measures()) return;
  const Launcher where = launcher(queue);
  const Arithmetic chosen = arithmetic(lift.target());
  const arith::Modulus& plain = lift.source().modulus(0);
  if (clusters) {
    return cluster_lift(where, chosen, out, in.front(), plain, factor, scalars, addend, lift.target());
  }
  lift_columns(where, chosen, columns, in, plain, factor, scalars, lift.target());
  forward_rows(where, chosen, out, columns, lift.target(), nullptr, addend);
}

void CudaBackend::do_exponentials(Queue& queue, const SlotView& out, const ConstPolyView& in,
                                  const ExponentialLayout& layout, const RnsBase& base) const {
  cuda::exponentials(launcher(queue), out, in, layout, base);
}

void CudaBackend::do_place_slots(Queue& queue, const SlotView& slots, const NumberView& values,
                                 Placement placement) const {
  if (placement == Placement::place) return cuda::place_slots(launcher(queue), slots, values);
  cuda::collect_slots(launcher(queue), values, slots);
}

SlotView CudaBackend::embedding_slots(const Launcher& where, const SlotView& slots, std::uint64_t generator,
                                      Workspace& workspace) const {
  if (generator == embedding_generator) return slots;
  const SlotView ordered = take_slots(workspace, slots.batch, ring()->degree() / 2);
  if (!workspace.measures()) slots_to_embedding(where, ordered, slots, generator);
  return ordered;
}

void CudaBackend::do_embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                           std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                           Form form) const {
  const Launcher where = launcher(queue);
  const Arithmetic chosen = arithmetic(base);
  if (out.shape.degree < ring()->degree()) {  // in evaluation form
    // Copies from a ring of more entries bring them into standard order.
    const std::size_t small = std::max(2 * out.shape.degree, min_degree);
    if (small >= ring()->degree() || generator != embedding_generator) {
      return embed_whole(queue, out, slots, scale, generator, base, workspace);
    }
    return small_ring(small).embed(where, chosen, out, slots, scale, base, workspace);
  }
  const Workspace::Frame frame(workspace);
  const SlotView ordered = embedding_slots(where, slots, generator, workspace);
  if (form == Form::coefficient) return embedding().embed(where, out, ordered, scale, base, workspace);
  embedding().embed_columns(where, chosen, out, ordered, scale, base, workspace);
  if (!workspace.measures()) forward_rows(where, chosen, out, out, base);
}

void CudaBackend::do_unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
                             std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                             double* largest) const {
  const Workspace::Frame frame(workspace);
  const Launcher where = launcher(queue);
  SlotView ordered = slots;
  if (generator != embedding_generator) ordered = take_slots(workspace, slots.batch, ring()->degree() / 2);
  embedding().unembed(where, ordered, in, scale, base, workspace, largest);
  if (generator == embedding_generator || workspace.measures()) return;
  slots_from_embedding(where, slots, ordered, generator);
}

}  // namespace hemera::poly::cuda
