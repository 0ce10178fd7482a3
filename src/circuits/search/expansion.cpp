#include "hemera/circuits/search/expansion.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "circuits/search/answers.hpp"
#include "circuits/search/message.hpp"
#include "hemera/arith/modulus.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/monomial.hpp"

namespace hemera::circuits::search {
namespace {

using poly::Form;
using poly::PolyView;

// The queries as ciphertexts: [query, 2, limb, N], evaluation form.
void place(const rlwe::Context& context, const Query& query, const QueryLayout& layout, poly::Poly& out) {
  const poly::Backend& backend = context.backend();
  const poly::RnsBase& base = out.base();
  const std::size_t limbs = base.size(), degree = layout.degree, dims = layout.dims;
  require_residues(query, base);
  poly::Poly queries = context.make_poly(query.count, 2, base, Form::evaluation);
  rlwe::expand_uniform_half(context, queries, query.seed);
  const PolyView b = queries.view().components(0, 1);
  backend.upload_rows(context.queue(), b, Form::coefficient,
                      [&](std::size_t first, std::span<std::uint64_t> rows) {
                        std::fill(rows.begin(), rows.end(), 0);
                        for (std::size_t row = 0; row < rows.size() / degree; ++row) {
                          for (std::size_t j = 0; j < dims; ++j) {
                            rows[row * degree + j * layout.stride] = query.numbers[(first + row) * dims + j];
                          }
                        }
                      });
  backend.forward_transform(context.queue(), b, b, base);
  std::vector<std::uint64_t> inverses;
  for (std::size_t l = 0; l < limbs; ++l) inverses.push_back(arith::inverse(degree, base.modulus(l).value()));
  backend.multiply_scalar(context.queue(), out.view().batches(0, query.count), std::as_const(queries).view(),
                          inverses, base);
}

}  // namespace

std::size_t total(std::span<const KeyedQuery> queries) {
  std::size_t count = 0;
  for (const KeyedQuery& each : queries) count += each.query.count;
  return count;
}

std::vector<std::size_t> counts(std::span<const KeyedQuery> queries) {
  std::vector<std::size_t> of_each;
  for (const KeyedQuery& each : queries) of_each.push_back(each.query.count);
  return of_each;
}

Expansion::Expansion(rlwe::ContextPointer context, std::size_t dims)
    : context_(std::move(context)), layout_(context_->degree(), dims) {
  const poly::RnsBase& base = context_->base(context_->top_level());
  for (std::size_t power = layout_.stride; power < layout_.degree; power *= 2) {
    turns_.push_back(rlwe::monomial(*context_, base, 2 * layout_.degree - power));
  }
}

poly::Poly Expansion::operator()(const Query& query, const rlwe::EvaluationKeys& keys) const {
  if (query.dims != layout_.dims) {
    throw MismatchError("search: a query of " + std::to_string(query.dims) + " numbers where those of " +
                        std::to_string(layout_.dims) + " are expanded");
  }
  const poly::Backend& backend = context_->backend();
  runtime::Queue& queue = context_->queue();
  const std::size_t level = context_->top_level(), count = query.count;
  const poly::RnsBase& base = context_->base(level);
  poly::Poly numbers = context_->make_poly(layout_.dims * count, 2, base, Form::evaluation);
  place(*context_, query, layout_, numbers);

  // `nodes` ciphertexts for each query; that at r has the numbers j = r modulo `nodes`, at coefficients
  // j - r times the stride. In place: the odd half of r's numbers goes to r + nodes.
  std::size_t nodes = 1, power = 1;  // what an automorphism maps to minus itself: odd multiples of X^power
  auto turn = turns_.begin();
  for (const std::uint64_t element : galois_elements(layout_.degree)) {
    const auto key = keys.find(rlwe::KeyRole::galois(element), level);
    if (key == nullptr) {
      throw MissingKeyError("search: the keys lack the automorphism X -> X^" + std::to_string(element) +
                            "; send those that the client makes for searches");
    }
    const bool splits = power >= layout_.stride;
    const std::size_t odd = splits ? std::min(nodes, layout_.dims - nodes) : 0;
    const PolyView all = numbers.view();
    for (std::size_t first = 0; first < nodes * count; first += most_switched) {
      const std::size_t size = std::min(most_switched, nodes * count - first);
      const PolyView even = all.batches(first, size);
      const poly::Poly turned =
          rlwe::switch_key(*context_, even.components(1, 1), level, *key, even.components(0, 1), element);
      const std::size_t odd_size = std::min(size, odd * count - std::min(first, odd * count));
      if (odd_size > 0) {
        const PolyView out = all.batches(nodes * count + first, odd_size);
        backend.subtract(queue, out, even.batches(0, odd_size), turned.view().batches(0, odd_size), base);
        backend.multiply(queue, out, out, turn->view(), base);
      }
      backend.add(queue, even, even, turned.view(), base);
    }
    nodes += odd;
    power *= 2;
    if (splits) ++turn;
  }
  return numbers;
}

poly::Poly Expansion::operator()(std::span<const KeyedQuery> queries) const {
  if (queries.size() == 1) return (*this)(queries.front().query, queries.front().keys);
  const std::size_t count = total(queries), dims = layout_.dims;
  if (count == 0) throw MismatchError("search: no query is given; at least one is needed");
  poly::Poly joined =
      context_->make_poly(dims * count, 2, context_->base(context_->top_level()), Form::evaluation);
  const PolyView by_number = joined.view().with_batch(dims);  // [number, 2 query]
  std::size_t first = 0;
  for (const auto& [query, keys] : queries) {
    const poly::Poly own = (*this)(query, keys);
    context_->backend().copy(context_->queue(), by_number.components(2 * first, 2 * query.count),
                             own.view().with_batch(dims));
    first += query.count;
  }
  return joined;
}

}  // namespace hemera::circuits::search
