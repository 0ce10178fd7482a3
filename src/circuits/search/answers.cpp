#include "circuits/search/answers.hpp"

#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {

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

void pack(const rlwe::Context& context, poly::Poly sums, const Packing& packing, std::span<std::byte> out) {
  using poly::Form;
  if (packing.dropped_bits < 0 || packing.dropped_bits > most_dropped_bits || packing.width < 1 ||
      packing.width > 8) {
    throw ParameterError("search: an answer may lack its lowest 0 to " + std::to_string(most_dropped_bits) +
                         " bits, not " + std::to_string(packing.dropped_bits) +
                         ", and have 1 to 8 bytes a number, not " + std::to_string(packing.width));
  }
  const std::size_t blocks = sums.shape().batch, components = sums.shape().components;
  const std::size_t bytes = blocks * components * context.degree() * static_cast<std::size_t>(packing.width);
  if (out.size() != bytes) {
    throw MismatchError("search: an answer of " + std::to_string(blocks) + " blocks has " +
                        std::to_string(bytes) + " bytes, and is to be written to " +
                        std::to_string(out.size()));
  }
  const poly::Backend& backend = context.backend();
  auto workspace = context.make_workspace();
  for (std::size_t level = context.top_level(); level > 0; --level) {
    poly::Poly lower = context.make_poly(blocks, components, context.base(level - 1), Form::coefficient);
    backend.divide_and_round(context.queue(), lower.view(), std::as_const(sums).view(),
                             context.rescale(level), Form::coefficient, workspace);
    sums = std::move(lower);
  }
  runtime::Buffer packed(context.memory(), bytes);
  backend.pack_rounded(context.queue(), {packed.data(), bytes}, std::as_const(sums).view(),
                       packing.dropped_bits, packing.width);
  backend.download_values(context.queue(), out, {std::as_const(packed).data(), bytes});
  context.queue().synchronize();
}

}  // namespace hemera::circuits::search
