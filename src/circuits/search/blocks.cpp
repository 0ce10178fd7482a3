#include "hemera/circuits/search/blocks.hpp"

#include <algorithm>
#include <utility>

namespace hemera::circuits::search {

Blocks::Blocks(std::shared_ptr<const rlwe::Context> context, std::size_t rows, std::size_t columns)
    : context_(std::move(context)), rows_(rows), columns_(columns) {}

std::size_t Blocks::memory_bytes() const {
  std::size_t bytes = 0;
  for (const poly::Poly& part : parts_) bytes += part.bytes();
  return bytes;
}

void Blocks::resize(std::size_t count) {
  std::size_t held = 0;
  for (const poly::Poly& part : parts_) held += part.shape().batch / rows_;
  if (count > held) {
    parts_.push_back(context_->make_poly((count - held) * rows_, columns_,
                                         context_->base(context_->top_level()), poly::Form::evaluation));
  } else {
    while (!parts_.empty() && held - parts_.back().shape().batch / rows_ >= count) {
      held -= parts_.back().shape().batch / rows_;
      parts_.pop_back();
    }
  }
  count_ = count;
}

std::pair<std::size_t, std::size_t> Blocks::find(std::size_t block) const {
  std::size_t part = 0, inside = block * rows_;
  for (; inside >= parts_[part].shape().batch; ++part) inside -= parts_[part].shape().batch;
  return {part, inside};
}

poly::PolyView Blocks::at(std::size_t block) {
  const auto [part, inside] = find(block);
  return parts_[part].view().batches(inside, rows_);
}

poly::ConstPolyView Blocks::at(std::size_t block) const {
  const auto [part, inside] = find(block);
  return parts_[part].view().batches(inside, rows_);
}

void Blocks::for_each_part(
    const std::function<void(std::size_t first, const poly::ConstPolyView& part)>& take) const {
  std::size_t first = 0;
  for (const poly::Poly& part : parts_) {
    const std::size_t size = std::min(part.shape().batch / rows_, count_ - first);
    take(first, part.view().batches(0, size * rows_));
    first += size;
  }
}

}  // namespace hemera::circuits::search
