#include "hemera/circuits/bootstrap/shared_bootstrap.hpp"

#include <array>
#include <string>
#include <utility>

#include "circuits/bootstrap/bootstrap_engine.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;
using rlwe::ForMembers;
using Part = PreparedFunction::Part;

constexpr std::array both_parts{Part::real, Part::imaginary};

void require_single(const Bootstrap& plan) {
  if (plan.blocks() != 0) {
    throw ParameterError(
        "a shared bootstrap by roots of unity, whose steps are too short to share; give each member "
        "ciphertexts "
        "of its own, or use parameters without blocks");
  }
  if (plan.together() == 1) return;
  throw ParameterError(
      "a shared bootstrap of several ciphertexts at once; share a plan for single ones, or give each member "
      "ciphertexts of its own");
}

rlwe::ContextPointer first_of(std::span<const std::shared_ptr<const rlwe::Context>> members) {
  if (members.empty()) throw ParameterError("a shared bootstrap without members");
  return members.front();
}

}  // namespace

SharedBootstrap::SharedBootstrap(std::span<const std::shared_ptr<const rlwe::Context>> members,
                                 const Bootstrap& plan, std::optional<double> magnitude,
                                 const ForMembers& each, std::span<const std::size_t> counts)
    : contexts_(members.begin(), members.end()),
      is_slots_first_(plan.order() == BootstrapOrder::slots_first),
      first_(first_of(members), plan, magnitude, false),
      engines_{first_.engine_} {
  require_single(plan);
  BootstrapStages stages = plan.stages();
  const std::size_t steps = 2 + stages.to_slots.size() + stages.join.size() + stages.to_coefficients.size();
  if (!counts.empty() && counts.size() != steps) {
    throw ParameterError("a shared bootstrap of " + std::to_string(steps) + " steps with " +
                         std::to_string(counts.size()) + " counts of members; give one for each step");
  }
  std::size_t step = 0;
  const auto next_count = [&] { return counts.empty() ? members.size() : counts[step++]; };
  const auto share = [&](const std::vector<LinearTransform>& plans, Transforms& transforms) {
    for (const LinearTransform& own : plans) transforms.emplace_back(members, own, each, next_count());
  };
  if (is_slots_first_) share(stages.to_coefficients, to_coefficients_);
  static_cast<void>(next_count());  // ModRaise
  share(stages.to_slots, to_slots_);
  const bool shares_parts = next_count() > 1 && members.size() > 1 && engines_.front()->joins_parts();
  share(stages.join, join_);
  if (!is_slots_first_) share(stages.to_coefficients, to_coefficients_);
  if (!shares_parts) return;
  engines_.resize(2);
  each(2, [&](std::size_t member) {
    if (member == 1) {
      engines_[1] = std::make_shared<const BootstrapEngine>(members[1], without_matrices(std::move(stages)));
    }
  });
}

void SharedBootstrap::hold_on(Copies& x, std::size_t count, const ForMembers& each) const {
  if (count <= x.size()) return x.resize(count);
  const std::size_t held = x.size();
  const std::span members(contexts_.data(), count);
  const rlwe::Broadcast copies(members, x.front(), each, held);
  Copies others(count);
  each(count, [&](std::size_t member) {
    if (member >= held) others[member] = copies.on(member);
  });
  std::move(x.begin(), x.end(), others.begin());
  x = std::move(others);
}

// Does the same as the engine's.
void SharedBootstrap::pass_through(const Transforms& transforms, Evaluators evaluators, Copies& x,
                                   const ForMembers& each) const {
  for (const SharedLinearTransform& transform : transforms) {
    hold_on(x, transform.members(), each);
    for (Ciphertext& own : x) own.meta.slots = transform.plan().slots();
    x = transform.on_all(evaluators.first(x.size()), x, each);
    for (Ciphertext& own : x) own.meta.scale = transform.plan().ends().result_scale;
  }
}

void SharedBootstrap::reduce(Evaluators evaluators, Copies& x, const ForMembers& each) const {
  hold_on(x, engines_.size(), each);
  if (engines_.size() == 1) {
    each(1, [&](std::size_t) { x.front() = engines_.front()->reduced(*evaluators.front(), x.front()); });
    return;
  }
  each(2, [&](std::size_t member) {
    x[member] = engines_[member]->part(*evaluators[member], x[member], both_parts[member]);
    rlwe::offer(x[member], std::span(contexts_).first(2));
  });
  x.resize(2);
  rlwe::MemberSum<Ciphertext> sum(x, each, "shared bootstrap");
  Ciphertext joined;
  each(1, [&](std::size_t) { joined = engines_.front()->joined(*evaluators.front(), sum.on(0)); });
  x.resize(1);
  x.front() = std::move(joined);
}

Ciphertext SharedBootstrap::operator()(Evaluators evaluators, const Ciphertext& in,
                                       const ForMembers& each) const {
  if (evaluators.size() != contexts_.size()) {
    throw MismatchError("shared bootstrap: " + std::to_string(evaluators.size()) + " evaluators for " +
                        std::to_string(contexts_.size()) + " members; give that of each member");
  }
  for (std::size_t i = 0; i < evaluators.size(); ++i) {
    if (evaluators[i] == nullptr) rlwe::throw_null_operand(i, "shared bootstrap");
    rlwe::require_same_context(*contexts_[i], *evaluators[i]->context(), "shared bootstrap");
  }
  rlwe::require_filled(in, "shared bootstrap");
  const ckks::Evaluator& own = *evaluators.front();
  const auto engine = [&](Ciphertext low, const std::vector<PreparedLinearTransform>* dividing) {
    Copies x;
    x.push_back(std::move(low));
    const auto to_coefficients = [&] {
      if (dividing == nullptr) return pass_through(to_coefficients_, evaluators, x, each);
      hold_on(x, 1, each);
      each(1, [&](std::size_t) { x.front() = through(*dividing, own, std::move(x.front())); });
    };
    if (is_slots_first_) to_coefficients();
    hold_on(x, 1, each);
    each(1, [&](std::size_t) { x.front() = engines_.front()->raised(own.keys(), x.front()); });
    pass_through(to_slots_, evaluators, x, each);
    reduce(evaluators, x, each);
    pass_through(join_, evaluators, x, each);
    if (!is_slots_first_) to_coefficients();
    return std::move(x.front());
  };
  if (in.context == contexts_.front()) return first_.by(own, in, engine);
  return first_.by(own, rlwe::copy_to(contexts_.front(), in), engine);
}

SharedBootstrapWork SharedBootstrap::work(const Bootstrap& plan) {
  require_single(plan);
  BootstrapStages stages = plan.stages();
  SharedBootstrapWork found;
  found.is_slots_first = plan.order() == BootstrapOrder::slots_first;
  const auto context = rlwe::Context::make(plan.parameters(), runtime::Device::parse("ledger"));
  const ckks::Evaluator evaluator(context, plan.generate_keys(rlwe::generate_secret_key(context)));
  found.to_slots = stages.to_slots;
  found.to_coefficients = stages.to_coefficients;
  found.join = stages.join;
  const BootstrapEngine engine(context, without_matrices(stages));
  const auto counted = [&](const auto& step) {
    context->ledger()->clear();
    step();
    return context->ledger()->entries();
  };
  const auto vector_at = [&](std::size_t level, double scale, std::size_t slots) {
    rlwe::Metadata meta;
    meta.level = level;
    meta.scale = scale;
    meta.slots = slots;
    return rlwe::make_ciphertext(context, meta, 2);
  };
  const Ciphertext low = vector_at(0, 1, plan.slots());
  found.raise = counted([&] { static_cast<void>(engine.raised(evaluator.keys(), low)); });
  const LinearTransform& last = found.to_slots.back();
  const Ciphertext x = vector_at(last.result_level(), last.ends().result_scale, last.slots());
  found.slots_bytes = x.poly.bytes();
  found.both = counted([&] { static_cast<void>(engine.reduced(evaluator, x)); });
  if (!engine.joins_parts()) return found;
  Ciphertext sum;
  for (const Part which : both_parts) {
    found.parts.push_back(counted([&] { sum = engine.part(evaluator, x, which); }));
  }
  found.part_bytes = sum.poly.bytes();
  found.joined = counted([&] { static_cast<void>(engine.joined(evaluator, sum)); });
  return found;
}

}  // namespace hemera::circuits
