#include "circuits/search/answers.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/checksum.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {
namespace {

constexpr std::size_t piece_bytes = runtime::checksum_piece_bytes;

void require_fitting(std::size_t degree, const Packing& packing, const PackedHalf& half) {
  if (packing.dropped_bits < 0 || packing.dropped_bits > most_dropped_bits || packing.width < 1 ||
      packing.width > 8) {
    throw ParameterError("search: an answer may lack its lowest 0 to " + std::to_string(most_dropped_bits) +
                         " bits, not " + std::to_string(packing.dropped_bits) +
                         ", and have 1 to 8 bytes a number, not " + std::to_string(packing.width));
  }
  const AnswerHalf& out = half.out;
  const std::size_t bytes = half.blocks * half.count * degree * static_cast<std::size_t>(packing.width);
  const std::size_t pieces = runtime::checksum_pieces(bytes);
  if (out.bytes.size() != bytes || (!out.checksums.empty() && out.checksums.size() != pieces)) {
    throw MismatchError("search: half of an answer of " + std::to_string(half.blocks) + " blocks has " +
                        std::to_string(bytes) + " bytes in " + std::to_string(pieces) +
                        " pieces, and is to be written to " + std::to_string(out.bytes.size()) + " in " +
                        std::to_string(out.checksums.size()));
  }
}

// The memory of a new message is made when it is first written to, in time that the host has while the device
// works.
void touch(const AnswerHalf& half) {
  constexpr std::size_t page = 4096;
  for (std::size_t at = 0; at < half.bytes.size(); at += page) half.bytes[at] = std::byte{0};
}

// Halves one after another in the device's memory, each from the beginning of a piece on.
class PackedHalves {
 public:
  PackedHalves(const rlwe::Context& context, const Packing& packing, std::span<const PackedHalf> halves)
      : context_(context), packing_(packing), halves_(halves) {
    for (const PackedHalf& half : halves) {
      require_fitting(context.degree(), packing, half);
      begins_.push_back(size_);
      size_ += runtime::checksum_pieces(half.out.bytes.size()) * piece_bytes;
    }
    bytes_ = runtime::Buffer(context.memory(), size_);
  }

  [[nodiscard]] std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }

  // Gives the queue what makes the bytes before `end`, as far as it was not given.
  void make(std::size_t end) {
    for (; half_ < halves_.size(); ++half_, block_ = 0) {
      const PackedHalf& half = halves_[half_];
      const std::size_t blocks = half.blocks, block_bytes = half.out.bytes.size() / blocks;
      const std::size_t begin = begins_[half_] + block_ * block_bytes;
      if (begin >= end) return;
      const std::size_t count = std::min(blocks - block_, (end - begin + block_bytes - 1) / block_bytes);
      const poly::ConstPolyView numbers = half.make(block_, count);
      context_.backend().pack_rounded(context_.queue(), {bytes_.data() + begin, count * block_bytes}, numbers,
                                      packing_.dropped_bits, packing_.width);
      block_ += count;
      if (block_ < blocks) return;
    }
  }

  // Moves one piece, and takes its checksum while it is in the cache.
  void take(std::size_t first, std::span<const std::byte> piece) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), first);
    const auto which = static_cast<std::size_t>(after - begins_.begin()) - 1;
    const AnswerHalf& out = halves_[which].out;
    const std::size_t offset = first - begins_[which];
    const std::span place = out.bytes.subspan(offset, std::min(piece.size(), out.bytes.size() - offset));
    std::memcpy(place.data(), piece.data(), place.size());
    if (!out.checksums.empty()) out.checksums[offset / piece_bytes] = runtime::checksum(0, place);
  }

 private:
  const rlwe::Context& context_;
  const Packing& packing_;
  std::span<const PackedHalf> halves_;
  std::vector<std::size_t> begins_;
  std::size_t size_ = 0;
  runtime::Buffer bytes_;
  std::size_t half_ = 0, block_ = 0;  // the first that is not given
};

}  // namespace

void require_answerable(const rlwe::Context& context, std::span<const KeyedQuery> queries, std::size_t dims,
                        std::size_t blocks, std::size_t places) {
  for (const auto& [query, keys] : queries) {
    rlwe::require_same_context(context, *keys.context, "search");
    if (query.dims != dims || blocks == 0) throw unanswerable(query.dims, dims, blocks);
  }
  if (places != queries.size()) {
    throw MismatchError("search: " + std::to_string(queries.size()) + " messages of queries have " +
                        std::to_string(places) + " places for their answers");
  }
}

MismatchError unanswerable(std::size_t query_dims, std::size_t dims, std::size_t blocks) {
  return MismatchError("search: a query of " + std::to_string(query_dims) + " numbers in a database of " +
                       std::to_string(blocks) + " blocks of rows of " + std::to_string(dims));
}

void pack(const rlwe::Context& context, const Packing& packing, std::span<const PackedHalf> halves) {
  PackedHalves packed(context, packing, halves);
  context.backend().download_pieces(
      context.queue(), packed.bytes(),
      {.bytes = piece_bytes,
       .make = [&](std::size_t end) { packed.make(end); },
       .take = [&](std::size_t first, std::span<const std::byte> piece) { packed.take(first, piece); }});
}

poly::ConstPolyView at_level_0(const rlwe::Context& context, const poly::ConstPolyView& sums,
                               poly::Poly& room) {
  poly::ConstPolyView last = sums;
  auto workspace = context.make_workspace();
  for (std::size_t level = context.top_level(); level > 0; --level) {
    poly::Poly lower = context.make_poly(sums.shape.batch, sums.shape.components, context.base(level - 1),
                                         poly::Form::coefficient);
    context.backend().divide_and_round(context.queue(), lower.view(), last, context.rescale(level),
                                       poly::Form::coefficient, workspace);
    room = std::move(lower);
    last = std::as_const(room).view();
  }
  return last;
}

void pack_answers(const rlwe::Context& context, const poly::Poly& sums, const Packing& packing,
                  std::span<const std::size_t> counts, std::span<const AnswerHalves> out) {
  poly::Poly room;
  const poly::ConstPolyView all = at_level_0(context, sums.view(), room);
  std::vector<PackedHalf> halves;
  const auto add = [&](std::size_t first, std::size_t count, const AnswerHalf& half) {
    poly::ConstPolyView numbers = all.components(first, count);
    numbers.component_stride *= 2;
    halves.push_back(
        {.blocks = all.shape.batch,
         .count = count,
         .out = half,
         .make = [numbers](std::size_t block, std::size_t size) { return numbers.batches(block, size); }});
  };
  for (std::size_t i = 0, first = 0; i < out.size(); first += 2 * counts[i], ++i) {
    touch(out[i].b);
    touch(out[i].a);
    add(first, counts[i], out[i].b);
    add(first + 1, counts[i], out[i].a);
  }
  pack(context, packing, halves);
}

}  // namespace hemera::circuits::search
