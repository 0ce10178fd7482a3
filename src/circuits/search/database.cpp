#include "hemera/circuits/search/database.hpp"

#include <algorithm>
#include <array>
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

void require_residues(const Query& query, const poly::RnsBase& base) {
  const std::size_t limbs = base.size(), dims = query.dims;
  if (query.count == 0 || query.numbers.size() != query.count * limbs * dims) {
    throw MismatchError("search: " + std::to_string(query.count) + " queries of " + std::to_string(dims) +
                        " numbers over " + std::to_string(limbs) + " primes come with " +
                        std::to_string(query.numbers.size()) +
                        " residues; at least one whole query is needed");
  }
  for (std::size_t i = 0; i < query.numbers.size(); ++i) {
    if (query.numbers[i] >= base.modulus(i / dims % limbs).value()) {
      throw FormatError("search: the query has a number that is no residue");
    }
  }
}

// Products of rows of bytes with residues below 2^60, in 15 bits at a time: 16-bit products, 32-bit sums.
class ClearProduct {
 public:
  ClearProduct(const arith::Modulus& q, std::span<const std::uint64_t> residues)
      : q_(q), dims_(residues.size()), parts_(part_count * dims_) {
    for (std::size_t part = 0; part < part_count; ++part) {
      for (std::size_t j = 0; j < dims_; ++j) {
        parts_[part * dims_ + j] = static_cast<std::int16_t>(residues[j] >> (part_bits * part) & part_mask);
      }
    }
  }

  std::uint64_t operator()(const std::int8_t* row) const {
    std::uint64_t result = 0;
    for (std::size_t part = part_count; part-- > 0;) {
      const std::int16_t* numbers = parts_.data() + part * dims_;
      std::int64_t sum = 0;
      for (std::size_t first = 0; first < dims_; first += most_terms) {
        std::int32_t some = 0;
        for (std::size_t j = first; j < std::min(dims_, first + most_terms); ++j) some += row[j] * numbers[j];
        sum += some;
      }
      result = q_.add(q_.multiply(result, part_mask + 1), q_.reduce_signed(sum));
    }
    return result;
  }

 private:
  static constexpr std::size_t part_count = 4, part_bits = 15;
  static constexpr std::uint64_t part_mask = (std::uint64_t{1} << part_bits) - 1;
  static constexpr std::size_t most_terms = 511;  // of 128 (2^15 - 1) each below 2^31

  const arith::Modulus& q_;
  std::size_t dims_;
  std::vector<std::int16_t> parts_;  // [part, j]
};

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

poly::Poly expand(const std::shared_ptr<const rlwe::Context>& context, const Query& query,
                  const rlwe::EvaluationKeys& keys) {
  const QueryLayout layout(context->degree(), query.dims);
  const poly::Backend& backend = context->backend();
  runtime::Queue& queue = context->queue();
  const std::size_t level = context->top_level(), count = query.count;
  const poly::RnsBase& base = context->base(level);
  poly::Poly numbers = context->make_poly(layout.dims * count, 2, base, Form::evaluation);
  place(*context, query, layout, numbers);

  // `nodes` ciphertexts for each query; that at r has the numbers j = r modulo `nodes`, at coefficients
  // j - r times the stride. In place: the odd half of what r has goes to r + nodes.
  std::size_t nodes = 1, power = 1;  // what an automorphism maps to minus itself: odd multiples of X^power
  for (const std::uint64_t element : galois_elements(layout.degree)) {
    const auto key = keys.find(rlwe::KeyRole::galois(element), level);
    if (key == nullptr) {
      throw MissingKeyError("search: the keys lack the automorphism X -> X^" + std::to_string(element) +
                            "; send those that the client makes for searches");
    }
    const bool splits = power >= layout.stride;
    const std::size_t odd = splits ? std::min(nodes, layout.dims - nodes) : 0;
    const poly::Poly monomial =
        odd > 0 ? rlwe::monomial(*context, base, 2 * layout.degree - power) : poly::Poly();
    const PolyView all = numbers.view();
    for (std::size_t first = 0; first < nodes * count; first += most_switched) {
      const std::size_t size = std::min(most_switched, nodes * count - first);
      const PolyView even = all.batches(first, size);
      const poly::Poly turned =
          rlwe::switch_key(*context, even.components(1, 1), level, *key, even.components(0, 1), element);
      const std::size_t odd_size = std::min(size, odd * count - std::min(first, odd * count));
      if (odd_size > 0) {
        const PolyView out = all.batches(nodes * count + first, odd_size);
        backend.subtract(queue, out, even.batches(0, odd_size), turned.view().batches(0, odd_size), base);
        backend.multiply(queue, out, out, monomial.view(), base);
      }
      backend.add(queue, even, even, turned.view(), base);
    }
    nodes += odd;
    power *= 2;
  }
  return numbers;
}

poly::Poly expand(const std::shared_ptr<const rlwe::Context>& context, std::span<const KeyedQuery> queries) {
  if (queries.size() == 1) return expand(context, queries.front().query, queries.front().keys);
  const std::size_t count = total(queries), dims = queries.empty() ? 0 : queries.front().query.dims;
  for (const KeyedQuery& each : queries) {
    if (each.query.dims != dims) {
      throw MismatchError("search: queries of " + std::to_string(dims) + " and of " +
                          std::to_string(each.query.dims) + " numbers do not take one pass");
    }
  }
  if (count == 0) throw MismatchError("search: no query is given; at least one is needed");
  const poly::RnsBase& base = context->base(context->top_level());
  poly::Poly joined = context->make_poly(dims * count, 2, base, Form::evaluation);
  const PolyView by_number = joined.view().with_batch(dims);  // [number, 2 query]
  std::size_t first = 0;
  for (const auto& [query, keys] : queries) {
    const poly::Poly own = expand(context, query, keys);
    context->backend().copy(context->queue(), by_number.components(2 * first, 2 * query.count),
                            own.view().with_batch(dims));
    first += query.count;
  }
  return joined;
}

Database::Database(std::shared_ptr<const rlwe::Context> context, std::size_t dims)
    : context_(std::move(context)), layout_(context_->degree(), dims), blocks_(context_, 1, dims) {}

void Database::set_block(std::size_t block, std::span<const std::int8_t> rows) {
  const std::size_t dims = layout_.dims, degree = layout_.degree, count = rows.size() / dims;
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
}

poly::Poly Database::products(std::span<const KeyedQuery> queries) const {
  const rlwe::Context& context = *context_;
  require_answerable(context, queries, layout_.dims, blocks());
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::Poly numbers = expand(context_, queries);
  const std::size_t components = 2 * total(queries);
  poly::Poly sums =
      context.make_poly(blocks(), components, context.base(context.top_level()), Form::evaluation);
  auto workspace = context.make_workspace();
  blocks_.for_each_part([&](std::size_t first, const ConstPolyView& part) {
    backend.multiply_elements(queue, sums.view().batches(first, part.shape.batch), part,
                              numbers.view().with_batch(layout_.dims), sums.base(), workspace);
  });
  backend.inverse_transform(queue, sums.view(), sums.view(), sums.base());
  sums.set_form(Form::coefficient);
  return sums;
}

Answer Database::answer(const Query& query, const rlwe::EvaluationKeys& keys, int dropped_bits) const {
  return answer(std::array{KeyedQuery{query, keys}}, dropped_bits);
}

Answer Database::answer(std::span<const KeyedQuery> queries, int dropped_bits) const {
  return rounded(*context_, products(queries), total(queries), dropped_bits);
}

PreparedAnswer Database::prepare(const poly::RandomStream& seed, const rlwe::EvaluationKeys& keys) const {
  Query query{.count = 1, .dims = layout_.dims, .seed = seed, .numbers = {}};
  query.numbers.resize(context_->base(context_->top_level()).size() * layout_.dims);
  return {layout_.dims, products(std::array{KeyedQuery{query, keys}})};
}

Answer Database::finish(PreparedAnswer prepared, const Query& query, std::span<const std::int8_t> rows,
                        int dropped_bits) const {
  const rlwe::Context& context = *context_;
  const std::size_t dims = layout_.dims, degree = layout_.degree, count = rows.size() / dims;
  const poly::RnsBase& base = prepared.sums.base();
  if (query.count != 1 || query.dims != dims || prepared.dims != dims || count * dims != rows.size() ||
      prepared.sums.shape().batch != blocks() || (count + degree - 1) / degree != blocks()) {
    throw MismatchError("search: an answer prepared for " + std::to_string(prepared.sums.shape().batch) +
                        " blocks does not fit " + std::to_string(query.count) + " queries of " +
                        std::to_string(query.dims) + " numbers and " + std::to_string(rows.size()) +
                        " bytes of rows; it serves one query of " + std::to_string(dims));
  }
  require_residues(query, base);
  poly::Poly products = context.make_poly(blocks(), 1, base, Form::coefficient);
  context.backend().upload_rows(
      context.queue(), products.view(), Form::coefficient,
      [&](std::size_t first, std::span<std::uint64_t> into) {
        std::fill(into.begin(), into.end(), 0);
        for (std::size_t row = first; row < first + into.size() / degree; ++row) {
          const std::size_t block = row / base.size(), limb = row % base.size();
          const ClearProduct product(base.modulus(limb), std::span(query.numbers).subspan(limb * dims, dims));
          const std::size_t end = std::min(count, (block + 1) * degree);
          for (std::size_t r = block * degree; r < end; ++r) {
            into[(row - first) * degree + r - block * degree] = product(rows.data() + r * dims);
          }
        }
      });
  const PolyView b = prepared.sums.view().components(0, 1);
  context.backend().add(context.queue(), b, b, std::as_const(products).view(), base);
  return rounded(context, std::move(prepared.sums), 1, dropped_bits);
}

}  // namespace hemera::circuits::search
