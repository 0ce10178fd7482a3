#include "hemera/circuits/search/encrypted_database.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "circuits/search/answers.hpp"
#include "hemera/arith/modulus.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/monomial.hpp"

namespace hemera::circuits::search {
namespace {

using poly::ConstPolyView;
using poly::Form;
using poly::PolyView;

// Every second element of the batch.
template <typename Byte>
poly::BasicPolyView<Byte> every_second(const poly::BasicPolyView<Byte>& view, std::size_t first) {
  poly::BasicPolyView<Byte> part = view.batches(first, view.shape.batch / 2);
  part.batch_stride *= 2;
  return part;
}

}  // namespace

EncryptedDatabase::EncryptedDatabase(rlwe::ContextPointer context, std::size_t dims)
    : context_(std::move(context)), expansion_(context_, dims), blocks_(context_, 2, dims) {}

void EncryptedDatabase::require_residues(std::span<const std::uint64_t> residues,
                                         std::size_t polynomials) const {
  const std::size_t degree = context_->degree();
  const poly::RnsBase& base = context_->base(context_->top_level());
  if (residues.size() != polynomials * base.size() * degree) {
    throw MismatchError("search: encrypted rows of " + std::to_string(dims()) + " numbers come with " +
                        std::to_string(residues.size()) + " residues, not " +
                        std::to_string(polynomials * base.size() * degree));
  }
  for (std::size_t row = 0; row < polynomials * base.size(); ++row) {
    const auto of_row = residues.subspan(row * degree, degree);
    if (*std::max_element(of_row.begin(), of_row.end()) >= base.modulus(row % base.size()).value()) {
      throw FormatError("search: the encrypted rows have a number that is no residue");
    }
  }
}

void EncryptedDatabase::place(std::size_t block, std::size_t first, const EncryptedRows& rows) {
  const rlwe::Context& context = *context_;
  const std::size_t degree = context.degree();
  if (block >= blocks() || rows.dims != dims() || rows.count < 1 || first > degree ||
      rows.count > degree - first) {
    throw ParameterError("search: " + std::to_string(rows.count) + " encrypted rows of " +
                         std::to_string(rows.dims) + " at place " + std::to_string(first) + " of block " +
                         std::to_string(block) + " of " + std::to_string(blocks()) + "; a block has " +
                         std::to_string(degree) + " rows of " + std::to_string(dims()));
  }
  const poly::RnsBase& base = context.base(context.top_level());
  require_residues(rows.numbers, dims());
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  poly::Poly added = context.make_poly(dims(), 2, base, Form::evaluation);
  rlwe::expand_uniform_half(context, added, rows.seed);
  backend.upload_rows(queue, added.view().components(0, 1), Form::evaluation,
                      [&](std::size_t row, std::span<std::uint64_t> into) {
                        std::copy_n(rows.numbers.data() + row * degree, into.size(), into.data());
                      });
  const PolyView out = blocks_.at(block).transposed();  // [j, 2]
  if (first == 0) return backend.copy(queue, out, std::as_const(added).view());
  backend.multiply_add(queue, out, std::as_const(added).view(), rlwe::monomial(context, base, first).view(),
                       base);
}

std::vector<std::uint64_t> EncryptedDatabase::residues(std::size_t block) const {
  const ConstPolyView from = blocks_.at(block);
  std::vector<std::uint64_t> residues(from.shape.words());
  context_->backend().download(context_->queue(), residues, from, Form::evaluation);
  context_->queue().synchronize();
  return residues;
}

void EncryptedDatabase::set_residues(std::size_t block, std::span<const std::uint64_t> residues) {
  require_residues(residues, 2 * dims());
  context_->backend().upload(context_->queue(), blocks_.at(block), residues, Form::evaluation);
}

void EncryptedDatabase::move_block(std::size_t to, std::size_t from) {
  const PolyView source = blocks_.at(from);
  context_->backend().copy(context_->queue(), blocks_.at(to), source);
}

void EncryptedDatabase::answer(std::span<const KeyedQuery> queries, const Packing& packing,
                               std::span<const AnswerHalves> out) const {
  const rlwe::Context& context = *context_;
  require_answerable(context, queries, dims(), blocks(), out.size());
  const std::size_t level = context.top_level(), count = total(queries);
  std::vector<std::shared_ptr<const rlwe::SwitchingKey>> of_query;
  for (const auto& [query, keys] : queries) {
    const auto key = keys.find(rlwe::KeyRole::relinearization(), level);
    if (key == nullptr) {
      throw MissingKeyError(
          "search: the keys lack the one for products; send those that the client makes for encrypted rows");
    }
    of_query.insert(of_query.end(), query.count, key);
  }
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::RnsBase& base = context.base(level);
  const poly::Poly numbers = expansion_(queries);
  // [block * (b, a), query * (b, a)]
  poly::Poly products = context.make_poly(2 * blocks(), 2 * count, base, Form::evaluation);
  auto workspace = context.make_workspace();
  blocks_.for_each_part([&](std::size_t first, const ConstPolyView& part) {
    backend.multiply_elements(queue, products.view().batches(2 * first, part.shape.batch), part,
                              numbers.view().with_batch(dims()), base, workspace);
  });
  poly::Poly sums = context.make_poly(blocks(), 2 * count, base, Form::evaluation);
  const PolyView by_b = every_second(products.view(), 0), by_a = every_second(products.view(), 1);
  for (std::size_t i = 0; i < count; ++i) {
    const PolyView linear = by_b.components(2 * i + 1, 1);
    backend.add(queue, linear, linear, by_a.components(2 * i, 1), base);
    for (std::size_t first = 0; first < blocks(); first += most_switched) {
      const std::size_t size = std::min(most_switched, blocks() - first);
      const poly::Poly switched =
          rlwe::switch_key(context, by_a.components(2 * i + 1, 1).batches(first, size), level, *of_query[i],
                           by_b.components(2 * i, 2).batches(first, size));
      backend.copy(queue, sums.view().components(2 * i, 2).batches(first, size), switched.view());
    }
  }
  backend.inverse_transform(queue, sums.view(), sums.view(), base);
  sums.set_form(Form::coefficient);
  pack_answers(context, sums, packing, counts(queries), out);
}

void EncryptedDatabase::answer(const rlwe::IntegerMatrix& queries, std::uint64_t factor,
                               const Packing& packing, const AnswerHalves& out) const {
  const rlwe::Context& context = *context_;
  rlwe::require_same_context(context, *queries.context(), "search");
  if (queries.columns() != dims() || blocks() == 0) throw unanswerable(queries.columns(), dims(), blocks());
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::RnsBase& base = context.base(context.top_level());
  const std::size_t count = queries.rows();
  poly::Poly sums = context.make_poly(blocks(), 2 * count, base, Form::evaluation);
  auto workspace = context.make_workspace();
  blocks_.for_each_part([&](std::size_t first, const ConstPolyView& part) {
    const std::size_t size = part.shape.batch / 2;
    for (std::size_t c = 0; c < 2; ++c) {
      PolyView of_queries = sums.view().batches(first, size).components(c, count);  // [block, query]
      of_queries.component_stride *= 2;
      backend.multiply_matrix(queue, of_queries.transposed(), every_second(part, c).transposed(),
                              queries.view(), base, workspace);
    }
  });
  std::vector<std::uint64_t> factors;
  for (std::size_t l = 0; l < base.size(); ++l) factors.push_back(base.modulus(l).reduce(factor));
  backend.multiply_scalar(queue, sums.view(), std::as_const(sums).view(), factors, base);
  backend.inverse_transform(queue, sums.view(), sums.view(), base);
  sums.set_form(Form::coefficient);
  pack_answers(context, sums, packing, std::array{count}, {&out, 1});
}

}  // namespace hemera::circuits::search
