// Public operations of a backend: copies.
#include <cstring>
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/matrix_checks.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {

void Backend::upload(Queue& queue, const PolyView& out, std::span<const std::uint64_t> host,
                     Form form) const {
  check_entries("upload", "output", out, *ring_);
  check_stored("upload", "output", out);
  check_host("upload", host.size(), out.shape);
  do_upload(queue, out, form, [&](std::size_t first, std::span<std::uint64_t> rows) {
    std::memcpy(rows.data(), host.data() + first * out.shape.degree, rows.size_bytes());
  });
}

void Backend::download(Queue& queue, std::span<std::uint64_t> host, const ConstPolyView& in,
                       Form form) const {
  check_entries("download", "input", in, *ring_);
  check_stored("download", "input", in);
  check_host("download", host.size(), in.shape);
  do_download(queue, in, form, [&](std::size_t first, std::span<const std::uint64_t> rows) {
    std::memcpy(host.data() + first * in.shape.degree, rows.data(), rows.size_bytes());
  });
}

void Backend::upload_rows(Queue& queue, const PolyView& out, Form form, const FillRows& fill) const {
  check_entries("upload_rows", "output", out, *ring_);
  check_stored("upload_rows", "output", out);
  do_upload(queue, out, form, fill);
}

void Backend::download_rows(Queue& queue, const ConstPolyView& in, Form form, const TakeRows& take) const {
  check_entries("download_rows", "input", in, *ring_);
  check_stored("download_rows", "input", in);
  do_download(queue, in, form, take);
}

void Backend::upload_values(Queue& queue, std::span<std::byte> out, std::span<const std::byte> host) const {
  check_count("upload_values", "bytes", host.size(), out.size());
  do_copy_values(queue, out, host, Transfer::upload);
}

void Backend::download_values(Queue& queue, std::span<std::byte> host, std::span<const std::byte> in) const {
  check_count("download_values", "bytes", host.size(), in.size());
  do_copy_values(queue, host, in, Transfer::download);
}

void Backend::download_pieces(Queue& queue, std::span<const std::byte> in, const Pieces& pieces) const {
  if (pieces.bytes < 1 || pieces.bytes > most_piece_bytes) {
    throw ParameterError("download_pieces: pieces of " + std::to_string(pieces.bytes) +
                         " bytes; they may have 1 to " + std::to_string(most_piece_bytes));
  }
  do_download_pieces(queue, in, pieces);
}

void Backend::pack_rounded(Queue& queue, std::span<std::byte> out, const ConstPolyView& in, int dropped_bits,
                           int width) const {
  check_degree("pack_rounded", "input", in, *ring_);
  check_pack_rounded(out, in.shape, dropped_bits, width);
  do_pack_rounded(queue, out, in, dropped_bits, width);
}

void Backend::copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const {
  check_entries("copy", "output", out, *ring_);
  check_entries("copy", "input", in, *ring_);
  check_stored("copy", "output", out);
  check_stored("copy", "input", in);
  if (in.word != out.word && in.shape.degree != out.shape.degree) {
    throw MismatchError("copy: the input " + describe(in.shape) +
                        " is stored by other entries and in other " + "words than the output " +
                        describe(out.shape) + "; copy it in two steps");
  }
  check_copy("copy", out, in);
  check_broadcast("copy", "input", in.shape, out.shape);
  do_copy(queue, out, in);
}

void Backend::copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                        const ConstPolyView& in, Form form) const {
  check_entries("copy_from", "output", out, *ring_);
  check_entries("copy_from", "input", in, *source.ring_);
  check_stored("copy_from", "output", out);
  source.check_stored("copy_from", "input", in);
  if (in.shape != out.shape) {
    throw MismatchError("copy_from: the input " + describe(in.shape) + " and the output " +
                        describe(out.shape) + " have different shapes");
  }
  do_copy_from(queue, out, source, source_queue, in, form);
}

void Backend::fill_zero(Queue& queue, const PolyView& out) const {
  check_degree("fill_zero", "output", out, *ring_);
  do_copy(queue, out, {});
}

}  // namespace hemera::poly
