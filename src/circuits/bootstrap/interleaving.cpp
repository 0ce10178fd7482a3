#include "circuits/bootstrap/interleaving.hpp"

#include <algorithm>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "rlwe/monomial.hpp"

namespace hemera::circuits {

using rlwe::Ciphertext;

Interleaving::Interleaving(rlwe::ContextPointer context, const Shape& shape)
    : context_(std::move(context)), shape_(shape), down_(context_->base(shape.low_level), context_->base(0)) {
  const std::size_t order = 2 * context_->degree();
  const std::size_t y = context_->degree() / (2 * shape_.raised_slots);
  for (std::size_t step = 1; step < shape_.raised_slots / shape_.slots; step *= 2) {
    places_.push_back(rlwe::monomial(*context_, context_->base(shape_.low_level), step * y));
    turns_.push_back(rlwe::monomial(*context_, context_->base(shape_.high_level), order - step * y));
  }
}

Ciphertext Interleaving::joined(Ciphertext x, std::size_t sums) const {
  std::size_t count = x.poly.shape().batch;
  // The upper half of each sum's elements to the lower one.
  for (std::size_t i = places_.size(); i > 0; --i) {
    const std::size_t half = sums << (i - 1);
    if (count <= half) continue;
    const poly::PolyView upper = x.poly.view().batches(half, count - half);
    context_->backend().multiply_add(context_->queue(), x.poly.view().batches(0, count - half), upper,
                                     std::as_const(places_[i - 1]).view(), context_->base(shape_.low_level));
    count = half;
  }
  rlwe::Metadata meta = x.meta;
  meta.batch = {sums};
  meta.slots = shape_.raised_slots;
  meta.level = 0;
  meta.scale = context_->scales().level_scale(0);
  Ciphertext result = rlwe::make_ciphertext(context_, std::move(meta), x.size());
  auto workspace = context_->make_workspace();
  context_->backend().divide_and_round(context_->queue(), result.poly.view(),
                                       std::as_const(x.poly).view().batches(0, sums), down_, x.poly.form(),
                                       workspace);
  return result;
}

Ciphertext Interleaving::taken_apart(const ckks::Evaluator& evaluator, Ciphertext x,
                                     std::size_t count) const {
  const poly::RnsBase& base = context_->base(shape_.high_level);
  x.meta.slots = shape_.raised_slots;  // of merged parts they repeat
  std::size_t rotation = shape_.raised_slots;
  for (const poly::Poly& turn : turns_) {
    rotation /= 2;
    const std::size_t before = x.poly.shape().batch;
    const std::size_t after = std::min(2 * before, count);
    const Ciphertext turned = evaluator.rotate(x, static_cast<std::int64_t>(rotation));
    rlwe::Metadata meta = x.meta;
    meta.batch = {after};
    Ciphertext both = rlwe::make_ciphertext(context_, std::move(meta), 2);
    const poly::Backend& backend = context_->backend();
    runtime::Queue& queue = context_->queue();
    const poly::PolyView even = both.poly.view().batches(0, before);
    backend.add(queue, even, std::as_const(x.poly).view(), turned.poly.view(), base);
    if (const std::size_t odds = after - before; odds != 0) {
      const poly::PolyView odd = both.poly.view().batches(before, odds);
      backend.subtract(queue, odd, std::as_const(x.poly).view().batches(0, odds),
                       turned.poly.view().batches(0, odds), base);
      backend.multiply(queue, odd, odd, turn.view(), base);
    }
    x = std::move(both);
  }
  x.meta.slots = shape_.slots;
  x.meta.noise_scale_degree = 2;
  evaluator.rescale_inplace(x);
  x.meta.scale = context_->scales().level_scale(x.meta.level);
  return x;
}

}  // namespace hemera::circuits
