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

const std::shared_ptr<const rlwe::Context>& first_of(
    std::span<const std::shared_ptr<const rlwe::Context>> members) {
  if (members.empty()) throw ParameterError("a shared bootstrap without members");
  return members.front();
}

BootstrapStages without_matrices(BootstrapStages stages) {
  for (auto* matrices : {&stages.to_slots, &stages.to_coefficients, &stages.join}) matrices->clear();
  return stages;
}

}  // namespace

SharedBootstrap::SharedBootstrap(std::span<const std::shared_ptr<const rlwe::Context>> members,
                                 const Bootstrap& plan, std::optional<double> magnitude,
                                 const ForMembers& each)
    : contexts_(members.begin(), members.end()),
      is_slots_first_(plan.order() == BootstrapOrder::slots_first),
      first_(first_of(members), plan, magnitude, false),
      engines_{first_.engine_} {
  BootstrapStages stages = plan.stages();
  for (const auto& [from, to] : {std::pair(&stages.to_slots, &to_slots_),
                                 {&stages.to_coefficients, &to_coefficients_},
                                 {&stages.join, &join_}}) {
    for (const LinearTransform& transform : *from) to->emplace_back(members, transform, each);
  }
  if (members.size() == 1 || !engines_.front()->joins_parts()) return;
  engines_.resize(2);
  each(2, [&](std::size_t member) {
    if (member == 1)
      engines_[1] = std::make_shared<const BootstrapEngine>(members[1], without_matrices(stages));
  });
}

std::vector<Ciphertext> SharedBootstrap::spread(Ciphertext x, const ForMembers& each) const {
  std::vector<Ciphertext> all = rlwe::broadcast(std::span(contexts_).subspan(1), x, each);
  all.insert(all.begin(), std::move(x));
  return all;
}

// As the engine's.
std::vector<Ciphertext> SharedBootstrap::through(const Transforms& transforms, Evaluators evaluators,
                                                 std::vector<Ciphertext> x, const ForMembers& each) {
  for (const SharedLinearTransform& transform : transforms) {
    for (Ciphertext& own : x) own.meta.slots = transform.plan().slots();
    x = transform.on_all(evaluators, x, each);
    for (Ciphertext& own : x) own.meta.scale = transform.plan().ends().result_scale;
  }
  return x;
}

Ciphertext SharedBootstrap::shared(const Transforms& transforms, Evaluators evaluators, Ciphertext x,
                                   const ForMembers& each) const {
  if (transforms.empty()) return x;
  return std::move(through(transforms, evaluators, spread(std::move(x), each), each).front());
}

Ciphertext SharedBootstrap::reduced(Evaluators evaluators, const std::vector<Ciphertext>& x,
                                    const ForMembers& each) const {
  Ciphertext result;
  if (engines_.size() == 1) {
    each(1, [&](std::size_t) { result = engines_.front()->reduced(*evaluators.front(), x.front()); });
    return result;
  }
  std::vector<Ciphertext> parts(2);
  each(2, [&](std::size_t member) {
    parts[member] = engines_[member]->part(*evaluators[member], x[member], both_parts[member]);
  });
  rlwe::reduce(std::span(parts), each);
  each(1, [&](std::size_t) { result = engines_.front()->joined(*evaluators.front(), parts.front()); });
  return result;
}

Ciphertext SharedBootstrap::operator()(Evaluators evaluators, const Ciphertext& in,
                                       const ForMembers& each) const {
  if (evaluators.size() != contexts_.size()) {
    throw MismatchError("shared bootstrap: " + std::to_string(evaluators.size()) + " evaluators for " +
                        std::to_string(contexts_.size()) + " members; give that of each member");
  }
  for (std::size_t i = 0; i < evaluators.size(); ++i) {
    rlwe::require_same_context(*contexts_[i], *evaluators[i]->context(), "shared bootstrap");
  }
  rlwe::require_filled(in, "shared bootstrap");
  const ckks::Evaluator& own = *evaluators.front();
  const auto engine = [&](Ciphertext x, const std::vector<PreparedLinearTransform>* dividing) {
    const auto to_coefficients = [&](Ciphertext y) {
      if (dividing == nullptr) return shared(to_coefficients_, evaluators, std::move(y), each);
      each(1, [&](std::size_t) { y = circuits::through(*dividing, own, std::move(y)); });
      return y;
    };
    if (is_slots_first_) x = to_coefficients(std::move(x));
    each(1, [&](std::size_t) { x = engines_.front()->raised(own.keys(), x); });
    x = reduced(evaluators, through(to_slots_, evaluators, spread(std::move(x), each), each), each);
    x = shared(join_, evaluators, std::move(x), each);
    return is_slots_first_ ? std::move(x) : to_coefficients(std::move(x));
  };
  if (in.context == contexts_.front()) return first_.by(own, in, engine);
  return first_.by(own, rlwe::copy_to(contexts_.front(), in), engine);
}

SharedBootstrapWork SharedBootstrap::work(const Bootstrap& plan) {
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
