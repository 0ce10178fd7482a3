#include "hemera/circuits/counted_cost.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "circuits/circuit_gadgets.hpp"
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

// Adds calls to counts and work, each for one element of a batch.
void add_calls(Cost& total, const rlwe::Context& context, const poly::LedgerEntry& entry, std::size_t calls) {
  using poly::Operation;
  Cost cost;
  Work work;
  const Indices ciphertext_primes = without_special(context, entry.base);
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
      work.products = 4 * entry.base.size();
      break;
    case Operation::scaled_product:
      cost.products = 1;
      work.products = 4 * entry.extended;
      break;
    case Operation::inner_product:
      (entry.components > 1 && entry.right > 1 ? cost.products : cost.plain_products) = entry.terms;
      work.products = entry.terms * entry.components * entry.right * entry.base.size();
      break;
    case Operation::combine:
      cost.plain_products = entry.factors;
      work.products = entry.factors * entry.components * entry.base.size();
      break;
    case Operation::multiply_matrix:
      cost.plain_products = entry.terms;
      work.products = entry.terms * entry.components * entry.base.size();
      break;
    case Operation::multiply_elements:
      cost.plain_products = entry.terms * entry.components;
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
      return;
  }
  total.key_products += calls * cost.key_products;
  total.mod_ups += calls * cost.mod_ups;
  total.divisions += calls * cost.divisions;
  total.plain_products += calls * cost.plain_products;
  total.products += calls * cost.products;
  total.rescales += calls * cost.rescales;
  total.work[level_of(context, ciphertext_primes)] += {.mod_ups = calls * work.mod_ups,
                                                       .key_products = calls * work.key_products,
                                                       .divisions = calls * work.divisions,
                                                       .products = calls * work.products};
}

}  // namespace

Cost counted_cost(const rlwe::Context& context, poly::Ledger::Entries entries) {
  Cost total;
  for (const auto& [entry, calls] : entries) add_calls(total, context, entry, calls * entry.batch);
  total.entries = std::move(entries);
  return total;
}

std::vector<KeyNeed> needs_of(const rlwe::Context& context, const rlwe::AskedKeys& asked) {
  std::vector<KeyNeed> needs;
  for (const auto& [role, gadget] : asked.gadgets()) needs.push_back({role, gadget});
  // Lower levels may have asked as well: those that a circuit has for itself lack primes of others.
  const auto is_served = [&](const rlwe::KeyRole& role, std::size_t highest) {
    return std::any_of(needs.begin(), needs.end(), [&](const KeyNeed& need) {
      if (need.role != role) return false;
      const auto gadget = context.gadget(need.gadget);
      std::size_t level = 0;
      while (level <= highest && gadget->serves(level)) ++level;
      return level > highest;
    });
  };
  for (const auto& [role, level] : asked.levels()) {
    if (!is_served(role, level)) needs.push_back({role, context.parameters().default_gadget(level)});
  }
  return needs;
}

rlwe::AskedKeys::Choice own_product_keys(const rlwe::Parameters& parameters, bool rotations) {
  return [parameters, rotations](const rlwe::KeyRole& role,
                                 std::size_t level) -> std::optional<rlwe::GadgetPrimes> {
    if (role.power == 2) return product_gadget(parameters, level, most_special_primes);
    if (!rotations || role.from != 0 || role.to != 0) return std::nullopt;
    return rotation_gadget(parameters, level, most_special_primes_of_transforms);
  };
}

}  // namespace hemera::circuits
