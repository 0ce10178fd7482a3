#include "hemera/poly/ledger.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace hemera::poly {

namespace {

constexpr std::array names = {
    "upload",
    "download",
    "pack_rounded",
    "copy",
    "fill_zero",
    "transform",
    "add",
    "subtract",
    "multiply",
    "multiply_add",
    "negate",
    "multiply_scalar",
    "add_scalar",
    "combine",
    "multiply_matrix",
    "multiply_elements",
    "multiply_add_vector",
    "split_parts",
    "inner_product",
    "automorphism",
    "convert",
    "scale_and_round",
    "divide_and_round",
    "mod_up",
    "key_inner_product",
    "hoisted_products",
    "switch_keys",
    "multiply_relinearize",
    "scaled_product",
    "lift_operands",
    "sample",
    "encrypt_zero",
    "phase",
    "sample_rlwe",
    "embed",
    "unembed",
    "place_slots",
    "collect_slots",
    "place_integers",
    "collect_integers",
    "lift_integers",
    "exponentials",
};
static_assert(names.size() == static_cast<std::size_t>(Operation::exponentials) + 1);

}  // namespace

const char* name(Operation operation) { return names.at(static_cast<std::size_t>(operation)); }

std::optional<Operation> operation_named(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Operation>(found - names.begin());
}

void Ledger::note(const LedgerEntry& entry) {
  const std::lock_guard lock(mutex_);
  ++entries_[entry];
}

void Ledger::note_time(const LedgerEntry& entry, double seconds) {
  const std::lock_guard lock(mutex_);
  Taken& taken = times_[entry];
  taken.sum += seconds;
  taken.least = std::min(taken.least, seconds);
  ++taken.calls;
}

Ledger::Times Ledger::take_times(bool least) {
  const std::lock_guard lock(mutex_);
  Times result;
  for (const auto& [entry, taken] : std::exchange(times_, {}))
    result[entry] = least ? taken.least : taken.sum / static_cast<double>(taken.calls);
  return result;
}

Ledger::Entries Ledger::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

void Ledger::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
  times_.clear();
}

}  // namespace hemera::poly
