#include "hemera/circuits/linear/shared_grid.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {

using rlwe::Ciphertext;

SharedTransformGrid::SharedTransformGrid(std::span<const std::shared_ptr<const rlwe::Context>> members,
                                         const TransformGrid& plan, const rlwe::ForMembers& each)
    : rows_(plan.rows()) {
  if (members.empty()) throw ParameterError("a shared grid of transforms without members");
  const std::size_t count = std::min(members.size(), rows_);
  contexts_.assign(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<std::optional<PreparedTransformGrid>> made(count);
  each(count, [&](std::size_t member) {
    made[member] = PreparedTransformGrid(members[member], plan, {.member = member, .members = count});
  });
  for (auto& share : made) shares_.push_back(std::move(*share));
}

std::vector<Ciphertext> SharedTransformGrid::operator()(std::span<const ckks::Evaluator* const> evaluators,
                                                        std::span<const Ciphertext* const> vectors,
                                                        const rlwe::ForMembers& each) const {
  const std::size_t count = shares_.size();
  if (evaluators.size() != count) {
    throw MismatchError("shared grid of transforms: " + std::to_string(evaluators.size()) +
                        " evaluators, and " + std::to_string(count) +
                        " members share it; give that of each member");
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (evaluators[i] == nullptr) rlwe::throw_null_operand(i, "shared grid of transforms");
    rlwe::require_same_context(*contexts_[i], *evaluators[i]->context(), "shared grid of transforms");
  }
  for (const Ciphertext* vector : vectors) rlwe::require_filled(*vector, "shared grid of transforms");
  // Each member takes its copies, and goes on with them.
  std::vector<rlwe::Broadcast> copies;  // of each column
  for (const Ciphertext* vector : vectors) copies.emplace_back(contexts_, *vector, each);

  std::vector<std::vector<Ciphertext>> found(count);  // [member, row of its own]
  each(count, [&](std::size_t member) {
    std::vector<Ciphertext> copied(vectors.size());
    std::vector<const Ciphertext*> own(vectors.begin(), vectors.end());
    for (std::size_t column = 0; column < own.size(); ++column) {
      if (own[column]->context == contexts_[member]) continue;
      copied[column] = copies[column].on(member);
      own[column] = &copied[column];
    }
    found[member] = shares_[member](*evaluators[member], own);
    for (const Ciphertext& row : found[member]) rlwe::offer(row, std::span(contexts_).first(1));
  });
  std::vector<Ciphertext> results(rows_);
  each(1, [&](std::size_t) {
    for (std::size_t row = 0; row < rows_; ++row) {
      Ciphertext& own = found[row % count][row / count];
      results[row] = row % count == 0 ? std::move(own) : rlwe::copy_to(contexts_.front(), own);
    }
  });
  return results;
}

SharedGridWork SharedTransformGrid::work(const TransformGrid& plan, std::size_t members) {
  const runtime::Device ledger = runtime::Device::parse("ledger");
  std::vector<std::shared_ptr<const rlwe::Context>> contexts;
  for (std::size_t i = 0; i < members; ++i) {
    contexts.push_back(rlwe::Context::make(plan.parameters(), ledger));
  }
  const SharedTransformGrid shared(contexts, plan);
  rlwe::Metadata meta;
  meta.level = plan.level();
  meta.scale = plan.ends().scale;
  meta.slots = plan.slots();
  SharedGridWork found;
  for (std::size_t i = 0; i < shared.members(); ++i) {
    const auto& context = contexts[i];
    const ckks::Evaluator evaluator(context, plan.generate_keys(rlwe::generate_secret_key(context)));
    const Ciphertext vector = rlwe::make_ciphertext(context, meta, 2);
    context->ledger()->clear();
    const auto results =
        shared.shares_[i](evaluator, std::vector<const Ciphertext*>(plan.columns(), &vector));
    found.members.push_back(context->ledger()->entries());
    found.vectors_bytes = plan.columns() * vector.poly.bytes();
    found.results_bytes = plan.rows() * results.front().poly.bytes();
  }
  return found;
}

}  // namespace hemera::circuits
