#include "circuits/search/answers.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {

std::size_t total(std::span<const KeyedQuery> queries) {
  std::size_t count = 0;
  for (const KeyedQuery& each : queries) count += each.query.count;
  return count;
}

void require_answerable(const rlwe::Context& context, std::span<const KeyedQuery> queries, std::size_t dims,
                        std::size_t blocks) {
  for (const auto& [query, keys] : queries) {
    rlwe::require_same_context(context, *keys.context, "search");
    if (query.dims != dims || blocks == 0) throw unanswerable(query.dims, dims, blocks);
  }
}

MismatchError unanswerable(std::size_t query_dims, std::size_t dims, std::size_t blocks) {
  return MismatchError("search: a query of " + std::to_string(query_dims) + " numbers in a database of " +
                       std::to_string(blocks) + " blocks of rows of " + std::to_string(dims));
}

Answer rounded(const rlwe::Context& context, poly::Poly sums, std::size_t count, int dropped_bits) {
  using poly::Form;
  if (dropped_bits < 0 || dropped_bits > most_dropped_bits) {
    throw ParameterError("search: an answer may lack its lowest 0 to " + std::to_string(most_dropped_bits) +
                         " bits, not " + std::to_string(dropped_bits));
  }
  const std::size_t blocks = sums.shape().batch, components = sums.shape().components;
  const std::size_t degree = context.degree();
  auto workspace = context.make_workspace();
  for (std::size_t level = context.top_level(); level > 0; --level) {
    poly::Poly lower = context.make_poly(blocks, components, context.base(level - 1), Form::coefficient);
    context.backend().divide_and_round(context.queue(), lower.view(), std::as_const(sums).view(),
                                       context.rescale(level), Form::coefficient, workspace);
    sums = std::move(lower);
  }
  Answer answer{.count = count, .blocks = blocks, .dropped_bits = dropped_bits, .numbers = {}};
  answer.numbers.resize(blocks * components * degree);
  const std::uint64_t half = (std::uint64_t{1} << dropped_bits) / 2;
  context.backend().download_rows(context.queue(), std::as_const(sums).view(), Form::coefficient,
                                  [&](std::size_t row, std::span<const std::uint64_t> residues) {
                                    std::uint64_t* out = answer.numbers.data() + row * degree;
                                    for (std::size_t i = 0; i < residues.size(); ++i) {
                                      out[i] = (residues[i] + half) >> dropped_bits;
                                    }
                                  });
  context.queue().synchronize();
  return answer;
}

}  // namespace hemera::circuits::search
