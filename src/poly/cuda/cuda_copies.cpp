// Copies: between the host and the device, on it, and from another one.
#include <algorithm>
#include <cstring>
#include <utility>

#include "poly/cuda/cuda_backend.hpp"
#include "poly/row_parts.hpp"
#include "runtime/cuda/check.hpp"

namespace hemera::poly::cuda {
namespace {

using runtime::Buffer;
using runtime::Secrecy;
using runtime::cuda::check;
using runtime::cuda::Staging;

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

bool contiguous(const ConstPolyView& view) {
  const ConstPolyView whole(view.data, view.shape, view.word);
  return view.limb_stride == whole.limb_stride &&
         (view.shape.components == 1 || view.component_stride == whole.component_stride) &&
         (view.shape.batch == 1 || view.batch_stride == whole.batch_stride);
}

// The bytes of a block that a thread of the host takes at a time.
constexpr std::size_t piece_bytes = std::size_t{128} << 10;

// Calls body(first, rows) for the rows of a part, which stand in a block.
template <typename Row, typename Body>
void for_each_piece(runtime::ThreadPool& pool, const PolyShape& shape, std::size_t first, Row* block,
                    const Body& body) {
  const std::size_t rows = shape.batch * shape.components * shape.limbs;
  const std::size_t most = std::max<std::size_t>(1, piece_bytes / word_bytes / shape.degree);
  pool.parallel_for((rows + most - 1) / most, [&](std::size_t i) {
    const std::size_t begin = i * most;
    body(first + begin, std::span(block + begin * shape.degree, std::min(most, rows - begin) * shape.degree));
  });
}

// Values, not residues: bytes of a block at a time.
void copy_pieces(runtime::ThreadPool& pool, std::byte* out, const std::byte* in, std::size_t bytes) {
  pool.parallel_for((bytes + piece_bytes - 1) / piece_bytes, [&](std::size_t i) {
    const std::size_t begin = i * piece_bytes;
    std::memcpy(out + begin, in + begin, std::min(piece_bytes, bytes - begin));
  });
}

// Where a part of an array stands on the device as it does on the host: in its own place, or in a buffer,
// when its entries are in another order or other words, or it is no whole. In the order of one stream, a
// buffer serves all parts.
class HostOrder {
 public:
  HostOrder(const Backend& backend, const PolyShape& shape, Form form)
      : memory_(backend.memory()),
        keys_on_host_(backend.key_memory() != backend.memory()),
        reorders_(form == Form::evaluation && shape.degree == backend.ring()->degree()),
        parts_(shape, Staging::block_bytes / word_bytes / shape.degree),
        part_bytes_(parts_.most() * shape.degree * word_bytes) {}

  [[nodiscard]] const RowParts& parts() const { return parts_; }
  [[nodiscard]] std::size_t part_bytes() const { return part_bytes_; }

  void upload(const Launcher& where, const PolyView& out, const std::byte* host) {
    const bool there = stays(out);
    const std::size_t bytes = out.shape.words() * word_bytes;
    check(
        cudaMemcpyAsync(there ? out.data : buffer(), host, bytes, kind(cudaMemcpyHostToDevice), where.stream),
        "upload");
    if (there) return;
    const ConstPolyView given(buffer(), out.shape, Word::u64);
    if (reorders_) {
      reorder(where, out, given);
    } else {
      cuda::copy(where, out, given);
    }
  }

  void download(const Launcher& where, std::byte* host, const ConstPolyView& in) {
    const bool there = stays(in);
    if (!there) {
      const PolyView made(buffer(), in.shape, Word::u64);
      if (reorders_) {
        reorder(where, made, in);
      } else {
        cuda::copy(where, made, in);
      }
    }
    const std::size_t bytes = in.shape.words() * word_bytes;
    check(
        cudaMemcpyAsync(host, there ? in.data : buffer(), bytes, kind(cudaMemcpyDeviceToHost), where.stream),
        "download");
  }

 private:
  [[nodiscard]] bool stays(const ConstPolyView& view) const {
    return !reorders_ && view.word == Word::u64 && contiguous(view);
  }
  // An array may be a key.
  [[nodiscard]] cudaMemcpyKind kind(cudaMemcpyKind usual) const {
    return keys_on_host_ ? cudaMemcpyDefault : usual;
  }
  std::byte* buffer() {
    // It may be a plaintext or a key.
    if (!buffer_) buffer_ = Buffer(memory_, part_bytes_, Secrecy::secret);
    return buffer_.data();
  }

  const std::shared_ptr<runtime::Memory>& memory_;
  bool keys_on_host_;
  bool reorders_;
  RowParts parts_;
  std::size_t part_bytes_;
  Buffer buffer_;
};

// A graph does not wait for another device's stream.
void refuse_recording(const runtime::cuda::Streams& reader, const runtime::cuda::Streams& source) {
  for (const runtime::cuda::Streams* streams : {&reader, &source}) {
    streams->refuse_recording("a copy between devices", "do it before, and pass the result in");
  }
}

}  // namespace

// --- Between the host and the device ---

void CudaBackend::do_upload(Queue& queue, const PolyView& out, Form form, const FillRows& fill) const {
  const Launcher where = host_launcher(queue, "an upload");
  HostOrder order(*this, out.shape, form);
  const RowParts& parts = order.parts();
  staging_->upload({.stream = where.stream,
                    .parts = parts.count(),
                    .part_bytes = order.part_bytes(),
                    .on_host =
                        [&](std::size_t part, std::byte* block) {
                          for_each_piece(staging_->pool(), parts.of(out, part).shape, parts.first(part),
                                         reinterpret_cast<std::uint64_t*>(block), fill);
                        },
                    .on_device = [&](std::size_t part,
                                     std::byte* block) { order.upload(where, parts.of(out, part), block); }});
}

void CudaBackend::do_download(Queue& queue, const ConstPolyView& in, Form form, const TakeRows& take) const {
  const Launcher where = host_launcher(queue, "a download");
  HostOrder order(*this, in.shape, form);
  const RowParts& parts = order.parts();
  staging_->download(
      {.stream = where.stream,
       .parts = parts.count(),
       .part_bytes = order.part_bytes(),
       .on_host =
           [&](std::size_t part, std::byte* block) {
             for_each_piece(staging_->pool(), parts.of(in, part).shape, parts.first(part),
                            reinterpret_cast<const std::uint64_t*>(block), take);
           },
       .on_device = [&](std::size_t part,
                        std::byte* block) { order.download(where, block, parts.of(in, part)); }});
}

void CudaBackend::do_copy_values(Queue& queue, std::span<std::byte> out, std::span<const std::byte> in,
                                 Transfer transfer) const {
  const bool up = transfer == Transfer::upload;
  const Launcher where = host_launcher(queue, up ? "an upload" : "a download");
  const auto copy = [&](std::byte* to, const std::byte* from, std::size_t bytes) {
    check(
        cudaMemcpyAsync(to, from, bytes, up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, where.stream),
        up ? "upload_values" : "download_values");
  };
  if (in.size() < choices_.tuning.least_staged_bytes) return copy(out.data(), in.data(), in.size());
  const auto begin = [](std::size_t part) { return part * Staging::block_bytes; };
  const auto size = [&](std::size_t part) { return std::min(Staging::block_bytes, in.size() - begin(part)); };
  Staging::Copy staged{.stream = where.stream,
                       .parts = (in.size() + Staging::block_bytes - 1) / Staging::block_bytes,
                       .part_bytes = std::min(Staging::block_bytes, in.size()),
                       .on_host = {},
                       .on_device = {}};
  if (up) {
    staged.on_host = [&](std::size_t part, std::byte* block) {
      copy_pieces(staging_->pool(), block, in.data() + begin(part), size(part));
    };
    staged.on_device = [&](std::size_t part, std::byte* block) {
      copy(out.data() + begin(part), block, size(part));
    };
    staging_->upload(staged);
  } else {
    staged.on_host = [&](std::size_t part, std::byte* block) {
      copy_pieces(staging_->pool(), out.data() + begin(part), block, size(part));
    };
    staged.on_device = [&](std::size_t part, std::byte* block) {
      copy(block, in.data() + begin(part), size(part));
    };
    staging_->download(staged);
  }
}

// Parts are copied in a stream of their own, each after the operations that make it, so that a copy and the
// operations of later parts run at once. The host waits for all copies: what the thread gives next comes
// after them.
void CudaBackend::do_download_pieces(Queue& queue, std::span<const std::byte> in,
                                     const Pieces& pieces) const {
  const Launcher where = host_launcher(queue, "a download");
  const runtime::cuda::Stream& making = streams_->current();
  const runtime::cuda::Stream& copying = streams_->at(runtime::cuda::Streams::first_copying);
  const std::size_t wanted = std::min(choices_.tuning.download_part_bytes, Staging::block_bytes);
  const std::size_t part_bytes = std::max<std::size_t>(1, wanted / pieces.bytes) * pieces.bytes;
  const auto part_of = [&](std::size_t part) {
    const std::size_t begin = part * part_bytes;
    return in.subspan(begin, std::min(part_bytes, in.size() - begin));
  };
  staging_->download(
      {.stream = copying.get(),
       .parts = (in.size() + part_bytes - 1) / part_bytes,
       .part_bytes = std::min(part_bytes, in.size()),
       .on_host =
           [&](std::size_t part, std::byte* block) {
             const std::size_t size = part_of(part).size();
             staging_->pool().parallel_for((size + pieces.bytes - 1) / pieces.bytes, [&](std::size_t i) {
               const std::size_t first = i * pieces.bytes;
               pieces.take(part * part_bytes + first, {block + first, std::min(pieces.bytes, size - first)});
             });
           },
       .on_device =
           [&](std::size_t part, std::byte* block) {
             const std::span<const std::byte> from = part_of(part);
             pieces.make(part * part_bytes + from.size());
             if (copying.get() != where.stream) copying.wait_for(making);
             check(cudaMemcpyAsync(block, from.data(), from.size(), cudaMemcpyDeviceToHost, copying.get()),
                   "download_pieces");
           },
       .secrecy = Secrecy::open});
}

void CudaBackend::do_pack_rounded(Queue& queue, std::span<std::byte> out, const ConstPolyView& in,
                                  int dropped_bits, int width) const {
  cuda::pack_rounded(launcher(queue), out, in, dropped_bits, width);
}

// --- On devices ---

void CudaBackend::do_copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const {
  if (in.data == nullptr) return cuda::fill_zero(launcher(queue), out);
  if (out.data != in.data) cuda::copy(launcher(queue), out, in);
}

void CudaBackend::do_copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                               const ConstPolyView& in, Form form) const {
  const auto* other = dynamic_cast<const CudaBackend*>(&source);
  if (other == nullptr || in.word != out.word || !contiguous(out) || !contiguous(in)) {
    Backend::do_copy_from(queue, out, source, source_queue, in, form);
    return;
  }
  refuse_recording(*streams_, *other->streams_);
  enter(*other->streams_, source_queue);
  const Launcher where = launcher(queue);
  const runtime::cuda::Stream& stream = streams_->current();
  const runtime::cuda::Stream& other_stream = other->streams_->current();
  streams_->expect_copies_from(other->streams_->device());
  // After what made the input; and what the source's stream is given next, which may be a change of the input
  // or its release, after the copy.
  stream.wait_for(other_stream);
  const std::size_t bytes = stored_bytes(in.word, in.shape.words());
  if (other->key_memory() != other->memory()) {
    // The input may be a key on the host.
    check(cudaMemcpyAsync(out.data, in.data, bytes, cudaMemcpyDefault, where.stream), "copy between devices");
  } else {
    check(cudaMemcpyPeerAsync(out.data, streams_->device(), in.data, other->streams_->device(), bytes,
                              where.stream),
          "copy between devices");
  }
  other_stream.wait_for(stream);
}

bool CudaBackend::read_from(Queue& queue, const Backend& source, Queue& source_queue,
                            const std::function<void()>& operations) const {
  if (&source == this) {
    operations();
    return true;
  }
  const auto* other = dynamic_cast<const CudaBackend*>(&source);
  if (other == nullptr) return false;
  refuse_recording(*streams_, *other->streams_);
  if (!streams_->expect_copies_from(other->streams_->device())) return false;
  enter(*other->streams_, source_queue);
  enter(*streams_, queue);
  const runtime::cuda::Stream& stream = streams_->current();
  const runtime::cuda::Stream& other_stream = other->streams_->current();
  stream.wait_for(other_stream);
  try {
    operations();
  } catch (...) {
    other_stream.wait_for(stream);  // some of them may have been given
    throw;
  }
  other_stream.wait_for(stream);
  return true;
}

}  // namespace hemera::poly::cuda
