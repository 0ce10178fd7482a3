// How long circuits will take on a device: from the limbs that they go through, and the device's rates.
#pragma once

#include <memory>

#include "hemera/circuits/plan.hpp"

namespace hemera::circuits {

/// Seconds for each limb of Work, on one device and at one degree.
struct WorkRates {
  double mod_ups = 0;
  double key_products = 0;
  double divisions = 0;
  double products = 0;
};

/// Times each kind of operation by itself, at the highest level that the gadget serves: the least of a few
/// runs of some milliseconds. Takes memory for four keys and some ciphertexts, and is not to run beside
/// others.
WorkRates measure_rates(const std::shared_ptr<const rlwe::Context>& context,
                        const rlwe::GadgetPrimes& gadget);

/// Seconds of one evaluation, from rates that are measured now with the largest gadget of the plan's keys.
/// Sums and copies are left out, and fused operations count as their parts (docs/circuits.md tells how near
/// it is). MismatchError for a context of other parameters.
double estimate_seconds(const Plan& plan, const std::shared_ptr<const rlwe::Context>& context);

}  // namespace hemera::circuits
