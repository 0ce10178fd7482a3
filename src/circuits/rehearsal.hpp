// Circuits are run on the device `ledger`, which shows the keys that they ask for and their cost.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "hemera/circuits/plan.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {

/// A circuit that has not been bound to a context yet.
struct Rehearsal {
  using Evaluation =
      std::function<void(const ckks::Evaluator&, std::span<const rlwe::Ciphertext* const> inputs)>;

  /// One evaluation of the circuit in a context, with its plaintexts in the context's memory.
  std::function<Evaluation(const rlwe::ContextPointer&)> bind;
  /// Metadata of the inputs.
  std::vector<rlwe::Metadata> inputs;
  /// The gadgets of keys that are asked for by a level.
  rlwe::AskedKeys::Choice choice = {};
  /// Keys that there are, if they are known already.
  std::optional<std::vector<KeyNeed>> needs = std::nullopt;
};

struct RehearsedRun {
  Cost cost;
  std::vector<KeyNeed> needs;
};

/// Runs it twice: the first run asks for keys, the second one has keys that serve all that was asked for.
/// Keys that are known are there in both.
RehearsedRun rehearse(const rlwe::Parameters& parameters, const Rehearsal& rehearsal);

}  // namespace hemera::circuits
