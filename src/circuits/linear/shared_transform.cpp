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
    if (evaluators[i] == nullptr) rlwe::throw_null_operand(i, "shared linear transform");
    rlwe::require_same_context(*contexts_[i], *evaluators[i]->context(), "shared linear transform");
  }
}

void SharedLinearTransform::begin(std::size_t member, const ckks::Evaluator& evaluator,
                                  const Ciphertext& vector, rlwe::ExtendedCiphertext& sum,
                                  double& largest) const {
  Ciphertext storage;
  const Ciphertext& x = shares_[member].input(evaluator, vector, storage);
  largest = x.meta.largest;
  sum = shares_[member].products(evaluator, x);
  rlwe::offer(sum, std::span(contexts_).first(shares_.size()));
}

Ciphertext SharedLinearTransform::operator()(std::span<const ckks::Evaluator* const> evaluators,
                                             const Ciphertext& vector, const rlwe::ForMembers& each) const {
  require_members(evaluators);
  rlwe::require_filled(vector, "shared linear transform");
  const std::size_t count = shares_.size();
  // Each member takes its copy, and goes on with it.
  const std::span members(contexts_.data(), count);
  const rlwe::Broadcast copies(members, vector, each);
  std::vector<rlwe::ExtendedCiphertext> sums(count);
  std::vector<double> largest(count);
  each(count, [&](std::size_t member) {
    Ciphertext copy;
    const bool is_here = vector.context == contexts_[member];
    if (!is_here) copy = copies.on(member);
    begin(member, *evaluators[member], is_here ? vector : copy, sums[member], largest[member]);
  });
  rlwe::MemberSum<rlwe::ExtendedCiphertext> sum(sums, each, "shared linear transform");
  Ciphertext result;
  each(1, [&](std::size_t) {
    result = shares_.front().finished(*evaluators.front(), sum.on(0), largest.front());
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
    begin(member, *evaluators[member], vectors[member], sums[member], largest[member]);
  });
  rlwe::MemberSum<rlwe::ExtendedCiphertext> sum(sums, each, "shared linear transform");
  std::vector<Ciphertext> results(evaluators.size());
  each(count, [&](std::size_t member) {
    results[member] = shares_[member].finished(*evaluators[member], sum.on(member), largest[member]);
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
