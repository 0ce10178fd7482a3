#include "hemera/circuits/counted_cost.hpp"

#include <algorithm>
#include <optional>

#include "hemera/rlwe/gadget.hpp"

namespace hemera::circuits {
namespace {

using Indices = std::vector<std::uint32_t>;

// The ciphertext primes of a base.
Indices without_special(const rlwe::Context& context, const Indices& base) {
  const poly::RnsBase& all = context.chain().all();
  const std::vector<std::uint32_t> known(all.indices().begin(), all.indices().end());
  Indices result;
  for (const std::uint32_t index : base) {
    if (std::find(known.begin(), known.end(), index) != known.end()) result.push_back(index);
  }
  return result;
}

// The level with these primes; of a base that is no level's, the lowest level that has as many.
std::size_t level_of(const rlwe::Context& context, const Indices& base) {
  std::optional<std::size_t> of_size;
  for (std::size_t level = 0; level <= context.top_level(); ++level) {
    const auto indices = context.base(level).indices();
    if (std::equal(indices.begin(), indices.end(), base.begin(), base.end())) return level;
    if (!of_size && indices.size() >= base.size()) of_size = level;
  }
  return of_size.value_or(context.top_level());
}

// What a call adds to counts and work, for one element of its batch.
Cost cost_of_call(const rlwe::Context& context, const poly::LedgerEntry& entry) {
  using poly::Operation;
  Cost cost;
  const Indices ciphertext_primes = without_special(context, entry.base);
  Work& work = cost.work[level_of(context, ciphertext_primes)];
  const auto count_switches = [&](std::size_t switches) {
    cost.mod_ups = 1;
    work.mod_ups = entry.digits * entry.extended;
    cost.key_products = switches;
    work.key_products = 2 * switches * entry.digits * entry.extended;
    cost.divisions = entry.divides ? switches : 0;
    work.divisions = entry.divides ? 2 * switches * entry.extended : 0;
  };
  switch (entry.operation) {
    case Operation::mod_up:
      cost.mod_ups = 1;
      work.mod_ups = entry.digits * entry.extended;
      break;
    case Operation::key_inner_product:
      cost.key_products = 1;
      work.key_products = 2 * entry.digits * entry.extended;
      break;
    case Operation::hoisted_products:
      cost.key_products = entry.switched;
      work.key_products = 2 * entry.switched * entry.digits * entry.extended;
      cost.plain_products = entry.factors;
      work.products = 2 * entry.factors * entry.extended;
      break;
    case Operation::switch_keys:
      count_switches(entry.terms);
      break;
    case Operation::multiply_relinearize:
      count_switches(1);
      cost.products = 1;
      work.products = 3 * entry.base.size();
      break;
    case Operation::scaled_product:
      cost.products = 1;
      work.products = 3 * entry.extended;
      break;
    case Operation::inner_product:
      (entry.right > 1 ? cost.products : cost.plain_products) = entry.terms;
      work.products = entry.terms * (entry.components + entry.right - 1) * entry.base.size();
      break;
    case Operation::combine:
      cost.plain_products = entry.terms;
      work.products = entry.terms * entry.components * entry.base.size();
      break;
    case Operation::multiply:
    case Operation::multiply_add:
      cost.plain_products = 1;
      work.products = entry.components * entry.base.size();
      break;
    case Operation::divide_and_round:
      (ciphertext_primes.size() < entry.base.size() ? cost.divisions : cost.rescales) = 1;
      work.divisions = entry.components * entry.base.size();
      break;
    default:
      break;
  }
  return cost;
}

}  // namespace

Cost counted_cost(const rlwe::Context& context, const poly::Ledger::Entries& entries) {
  Cost total;
  for (const auto& [entry, calls] : entries) {
    const Cost one = cost_of_call(context, entry);
    for (std::size_t i = 0; i < calls * entry.batch; ++i) total.add_operations(one);
  }
  std::erase_if(total.work, [](const auto& item) { return item.second == Work{}; });
  return total;
}

std::vector<KeyNeed> needs_of(const rlwe::Context& context, const rlwe::AskedKeys& asked) {
  std::vector<KeyNeed> needs;
  for (const auto& [role, gadget] : asked.gadgets()) needs.push_back({role, gadget});
  const auto is_served = [&](const rlwe::KeyRole& role, std::size_t level) {
    return std::any_of(needs.begin(), needs.end(), [&](const KeyNeed& need) {
      return need.role == role && context.gadget(need.gadget)->serves(level);
    });
  };
  for (const auto& [role, level] : asked.levels()) {
    if (!is_served(role, level)) needs.push_back({role, context.parameters().default_gadget(level)});
  }
  return needs;
}

}  // namespace hemera::circuits
