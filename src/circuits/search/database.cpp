#include "hemera/circuits/search/database.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "circuits/search/answers.hpp"
#include "circuits/search/message.hpp"
#include "hemera/arith/modulus.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {
namespace {

using poly::ConstPolyView;
using poly::Form;
using poly::PolyView;

// Bytes of a row in a backend's memory: products with a vector take multiples of 16.
std::size_t row_bytes(std::size_t dims) { return (dims + 15) / 16 * 16; }

}  // namespace

Database::Database(rlwe::ContextPointer context, std::size_t dims)
    : context_(std::move(context)),
      expansion_(context_, dims),
      blocks_(context_, 1, dims, row_bytes(dims) * context_->degree()) {}

void Database::set_block(std::size_t block, std::span<const std::int8_t> rows) {
  const std::size_t dims = this->dims(), degree = context_->degree(), count = rows.size() / dims;
  if (block >= blocks() || count * dims != rows.size() || count > degree) {
    throw ParameterError("search: " + std::to_string(rows.size()) + " bytes for block " +
                         std::to_string(block) + " of " + std::to_string(blocks()) +
                         "; a block takes up to " + std::to_string(degree) + " rows of " +
                         std::to_string(dims));
  }
  const PolyView out = blocks_.at(block);
  const poly::RnsBase& base = context_->base(context_->top_level());
  context_->backend().upload_rows(context_->queue(), out, Form::coefficient,
                                  [&](std::size_t first, std::span<std::uint64_t> into) {
                                    std::fill(into.begin(), into.end(), 0);
                                    for (std::size_t row = 0; row < into.size() / degree; ++row) {
                                      const std::size_t j = (first + row) / base.size();
                                      const arith::Modulus& q = base.modulus((first + row) % base.size());
                                      for (std::size_t r = 0; r < count; ++r) {
                                        into[row * degree + r] = q.reduce_signed(rows[r * dims + j]);
                                      }
                                    }
                                  });
  context_->backend().forward_transform(context_->queue(), out, out, base);
  const std::size_t pitch = row_bytes(dims);
  std::vector<std::byte> bytes(degree * pitch);
  for (std::size_t r = 0; r < count; ++r) std::memcpy(bytes.data() + r * pitch, rows.data() + r * dims, dims);
  context_->backend().upload_values(context_->queue(), blocks_.bytes_at(block), bytes);
}

poly::Poly Database::products(std::span<const KeyedQuery> queries) const {
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::Poly numbers = expansion_(queries);
  const std::size_t components = 2 * total(queries);
  poly::Poly sums =
      context.make_poly(blocks(), components, context.base(context.top_level()), Form::evaluation);
  auto workspace = context.make_workspace();
  blocks_.for_each_part([&](std::size_t first, const ConstPolyView& part) {
    backend.multiply_elements(queue, sums.view().batches(first, part.shape.batch), part,
                              numbers.view().with_batch(dims()), sums.base(), workspace);
  });
  backend.inverse_transform(queue, sums.view(), sums.view(), sums.base());
  sums.set_form(Form::coefficient);
  return sums;
}

void Database::answer(std::span<const KeyedQuery> queries, const Packing& packing,
                      std::span<const AnswerHalves> out) const {
  require_answerable(*context_, queries, dims(), blocks(), out.size());
  pack_answers(*context_, products(queries), packing, counts(queries), out);
}

PreparedAnswer Database::prepare(const poly::RandomStream& seed, const rlwe::EvaluationKeys& keys,
                                 const Packing& packing, const AnswerHalf& a) const {
  const rlwe::Context& context = *context_;
  Query query{.count = 1, .dims = dims(), .seed = seed, .numbers = {}};
  query.numbers.resize(context.base(context.top_level()).size() * dims());
  const KeyedQuery keyed{query, keys};
  require_answerable(context, {&keyed, 1}, dims(), blocks(), 1);
  const poly::Backend& backend = context.backend();
  const poly::Poly both = products({&keyed, 1});
  PreparedAnswer prepared{dims(), packing, context.make_poly(blocks(), 1, both.base(), Form::coefficient)};
  backend.copy(context.queue(), prepared.sums.view(), both.view().components(0, 1));
  poly::Poly room;
  const ConstPolyView of_a = at_level_0(context, both.view().components(1, 1), room);
  const auto make = [&](std::size_t first, std::size_t size) { return of_a.batches(first, size); };
  pack(context, packing, std::array{PackedHalf{.blocks = blocks(), .count = 1, .out = a, .make = make}});
  return prepared;
}

void Database::finish(PreparedAnswer prepared, const Query& query, const AnswerHalf& out) const {
  const rlwe::Context& context = *context_;
  const std::size_t dims = this->dims(), degree = context.degree(), columns = row_bytes(dims);
  const poly::RnsBase& base = prepared.sums.base();
  if (query.count != 1 || query.dims != dims || prepared.dims != dims ||
      prepared.sums.shape().batch != blocks()) {
    throw MismatchError("search: an answer prepared for " + std::to_string(prepared.sums.shape().batch) +
                        " blocks does not fit " + std::to_string(query.count) + " queries of " +
                        std::to_string(query.dims) + " numbers in " + std::to_string(blocks()) +
                        " blocks; it serves one query of " + std::to_string(dims));
  }
  require_residues(query, base);
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  poly::Poly numbers = context.make_poly(1, 1, base, Form::coefficient);
  // Residues go as values, which are few: nobody waits until they are there.
  std::vector<std::uint64_t> residues(base.size() * degree);
  for (std::size_t l = 0; l < base.size(); ++l) {
    std::copy_n(query.numbers.data() + l * dims, dims, residues.data() + l * degree);
  }
  backend.upload_values(queue, {numbers.view().data, residues.size() * sizeof(std::uint64_t)},
                        std::as_bytes(std::span(residues)));
  poly::Poly room;  // of the blocks that are made
  const auto make = [&](std::size_t first, std::size_t size) -> ConstPolyView {
    const PolyView b = prepared.sums.view();
    blocks_.for_each_bytes(first, size, [&](std::size_t block, std::size_t count, const std::byte* rows) {
      backend.multiply_add_vector(queue, b.batches(block, count),
                                  {.data = rows, .rows = count * degree, .columns = columns, .bytes = 1},
                                  std::as_const(numbers).view(), base);
    });
    return at_level_0(context, b.batches(first, size), room);
  };
  pack(context, prepared.packing,
       std::array{PackedHalf{.blocks = blocks(), .count = 1, .out = out, .make = make}});
}

}  // namespace hemera::circuits::search
