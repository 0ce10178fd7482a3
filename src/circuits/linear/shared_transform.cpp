#include "hemera/circuits/linear/shared_transform.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {

using rlwe::Ciphertext;

SharedLinearTransform::SharedLinearTransform(std::span<const std::shared_ptr<const rlwe::Context>> members,
                                             const LinearTransform& plan, const rlwe::ForMembers& each,
                                             std::size_t most)
    : contexts_(members.begin(), members.end()) {
  if (members.empty() || most == 0) throw ParameterError("a shared linear transform without members");
  const bool is_chain = plan.fewest_keys_ || plan.giant_unit_ != 0;
  const std::size_t count = is_chain ? 1 : std::min({members.size(), plan.groups_.size(), most});
  std::vector<std::optional<PreparedLinearTransform>> made(count);
  each(count, [&](std::size_t member) {
    made[member] = PreparedLinearTransform(members[member], plan, {.member = member, .members = count});
  });
  for (auto& share : made) shares_.push_back(std::move(*share));
}

void SharedLinearTransform::require_members(std::span<const ckks::Evaluator* const> evaluators) const {
  if (evaluators.size() < shares_.size() || evaluators.size() > contexts_.size()) {
    throw MismatchError("shared linear transform: " + std::to_string(evaluators.size()) +
                        " evaluators, and " + std::to_string(shares_.size()) +
                        " members share it; give that of each member");
  }
  for (std::size_t i = 0; i < evaluators.size(); ++i) {
    rlwe::require_same_context(*contexts_[i], *evaluators[i]->context(), "shared linear transform");
  }
}

Ciphertext SharedLinearTransform::operator()(std::span<const ckks::Evaluator* const> evaluators,
                                             const Ciphertext& vector, const rlwe::ForMembers& each) const {
  require_members(evaluators);
  rlwe::require_filled(vector, "shared linear transform");
  const std::size_t count = shares_.size();
  // On the first member, at the plan's level.
  Ciphertext moved, storage;
  const Ciphertext* x = &vector;
  each(1, [&](std::size_t) {
    if (vector.context != contexts_.front()) {
      moved = rlwe::copy_to(contexts_.front(), vector);
      x = &moved;
    }
    x = &shares_.front().input(*evaluators.front(), *x, storage);
  });
  const auto others = std::span(contexts_).first(count).subspan(1);
  const std::vector<Ciphertext> copies = rlwe::broadcast(others, *x, each);
  std::vector<rlwe::ExtendedCiphertext> sums(count);
  each(count, [&](std::size_t member) {
    sums[member] = shares_[member].products(*evaluators[member], member == 0 ? *x : copies[member - 1]);
  });
  rlwe::reduce(std::span(sums), each);
  Ciphertext result;
  each(1, [&](std::size_t) {
    result = shares_.front().finished(*evaluators.front(), sums.front(), x->meta.largest);
  });
  return result;
}

std::vector<Ciphertext> SharedLinearTransform::on_all(std::span<const ckks::Evaluator* const> evaluators,
                                                      std::span<const Ciphertext> vectors,
                                                      const rlwe::ForMembers& each) const {
  require_members(evaluators);
  if (vectors.size() != evaluators.size()) {
    throw MismatchError("shared linear transform: " + std::to_string(vectors.size()) +
                        " copies of a vector for " + std::to_string(evaluators.size()) +
                        " members; broadcast it to all of them");
  }
  const std::size_t count = shares_.size();
  std::vector<rlwe::ExtendedCiphertext> sums(count);
  std::vector<double> largest(count);
  each(count, [&](std::size_t member) {
    Ciphertext storage;
    const Ciphertext& x = shares_[member].input(*evaluators[member], vectors[member], storage);
    largest[member] = x.meta.largest;
    sums[member] = shares_[member].products(*evaluators[member], x);
  });
  rlwe::all_reduce(std::span(sums), each);
  std::vector<Ciphertext> results(evaluators.size());
  each(count, [&](std::size_t member) {
    results[member] = shares_[member].finished(*evaluators[member], sums[member], largest[member]);
  });
  // Members without giant steps.
  if (count == evaluators.size()) return results;
  each(evaluators.size(), [&](std::size_t member) {
    if (member >= count) results[member] = rlwe::copy_to(contexts_[member], results[member % count]);
  });
  return results;
}

SharedWork SharedLinearTransform::work(const LinearTransform& plan, std::size_t members) {
  const runtime::Device ledger = runtime::Device::parse("ledger");
  std::vector<std::shared_ptr<const rlwe::Context>> contexts;
  for (std::size_t i = 0; i < members; ++i) {
    contexts.push_back(rlwe::Context::make(plan.parameters(), ledger));
  }
  const SharedLinearTransform shared(contexts, plan);
  rlwe::Metadata meta;
  meta.level = plan.level();
  meta.scale = plan.ends().scale;
  meta.slots = plan.vector_slots();
  SharedWork found;
  for (std::size_t i = 0; i < shared.members(); ++i) {
    const auto& context = contexts[i];
    const ckks::Evaluator evaluator(context, plan.generate_keys(rlwe::generate_secret_key(context)));
    const Ciphertext vector = rlwe::make_ciphertext(context, meta, 2);
    const auto take_entries = [&] {
      auto entries = context->ledger()->entries();
      context->ledger()->clear();
      return entries;
    };
    take_entries();
    Ciphertext storage;
    const Ciphertext& x = shared.shares_[i].input(evaluator, vector, storage);
    const rlwe::ExtendedCiphertext sum = shared.shares_[i].products(evaluator, x);
    found.products.push_back(take_entries());
    if (i != 0) continue;
    static_cast<void>(shared.shares_[i].finished(evaluator, sum, 1));
    found.finish = take_entries();
    found.vector_bytes = vector.poly.bytes();
    found.sum_bytes = sum.poly.bytes();
  }
  return found;
}

}  // namespace hemera::circuits
