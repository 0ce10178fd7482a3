#include "hemera/circuits/search/blocks.hpp"

#include <algorithm>
#include <utility>

namespace hemera::circuits::search {

Blocks::Blocks(rlwe::ContextPointer context, std::size_t rows, std::size_t columns, std::size_t bytes)
    : context_(std::move(context)), rows_(rows), columns_(columns), bytes_(bytes) {}

std::size_t Blocks::memory_bytes() const {
  std::size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.polynomials.bytes() + part.bytes.size();
  return bytes;
}

void Blocks::resize(std::size_t count) {
  std::size_t held = 0;
  for (const Part& part : parts_) held += part.blocks(rows_);
  if (count > held) {
    const std::size_t added = count - held;
    Part part{context_->make_poly(added * rows_, columns_, context_->base(context_->top_level()),
                                  poly::Form::evaluation),
              {}};
    if (bytes_ != 0) part.bytes = runtime::Buffer(context_->memory(), added * bytes_);
    parts_.push_back(std::move(part));
  } else {
    while (!parts_.empty() && held - parts_.back().blocks(rows_) >= count) {
      held -= parts_.back().blocks(rows_);
      parts_.pop_back();
    }
  }
  count_ = count;
}

std::pair<std::size_t, std::size_t> Blocks::find(std::size_t block) const {
  std::size_t part = 0, inside = block;
  for (; inside >= parts_[part].blocks(rows_); ++part) inside -= parts_[part].blocks(rows_);
  return {part, inside};
}

poly::PolyView Blocks::at(std::size_t block) {
  const auto [part, inside] = find(block);
  return parts_[part].polynomials.view().batches(inside * rows_, rows_);
}

poly::ConstPolyView Blocks::at(std::size_t block) const {
  const auto [part, inside] = find(block);
  return parts_[part].polynomials.view().batches(inside * rows_, rows_);
}

std::span<std::byte> Blocks::bytes_at(std::size_t block) {
  const auto [part, inside] = find(block);
  return {parts_[part].bytes.data() + inside * bytes_, bytes_};
}

void Blocks::for_each_part(
    const std::function<void(std::size_t first, const poly::ConstPolyView& part)>& take) const {
  std::size_t first = 0;
  for (const Part& part : parts_) {
    const std::size_t size = std::min(part.blocks(rows_), count_ - first);
    take(first, part.polynomials.view().batches(0, size * rows_));
    first += size;
  }
}

void Blocks::for_each_bytes(
    std::size_t begin, std::size_t size,
    const std::function<void(std::size_t first, std::size_t count, const std::byte* bytes)>& take) const {
  for (const std::size_t end = begin + size; begin < end;) {
    const auto [part, inside] = find(begin);
    const std::size_t count = std::min(parts_[part].blocks(rows_) - inside, end - begin);
    take(begin, count, parts_[part].bytes.data() + inside * bytes_);
    begin += count;
  }
}

}  // namespace hemera::circuits::search
