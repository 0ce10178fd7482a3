// How long circuits will take on a device: from the limbs that they go through, and the device's rates.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "hemera/circuits/plan.hpp"

namespace hemera::circuits {

/// Seconds for each limb of Work, on one device and at one degree.
struct WorkRates {
  double mod_ups = 0;
  double key_products = 0;
  double divisions = 0;
  double products = 0;
};

/// Times each kind of operation by itself, at a level that the gadget serves: the least of a few runs of some
/// milliseconds, or one. Takes memory for four keys and some ciphertexts, and is not to run beside others.
WorkRates measure_rates(const std::shared_ptr<const rlwe::Context>& context, const rlwe::GadgetPrimes& gadget,
                        std::size_t level);

/// The levels of `work` at which rates are measured: all, or so many from the highest to the lowest.
/// ParameterError for 0 of them.
std::vector<std::size_t> measured_levels(const std::map<std::size_t, Work>& work, std::size_t most);

/// Seconds of the work, where rates of levels that were not measured lie between those of their neighbours.
/// ParameterError for work without rates.
double seconds_of(const std::map<std::size_t, Work>& work, const std::map<std::size_t, WorkRates>& rates);

/// How long circuits take on a context's device, with its threads. What was measured once is kept: plans of
/// the same levels and keys take no time again. Used from any threads.
class TimeEstimator {
 public:
  explicit TimeEstimator(std::shared_ptr<const rlwe::Context> context);

  /// Seconds of one evaluation, from the rates of a few of its levels with the keys that it has there. Sums
  /// and copies are left out, and fused operations count as their parts (docs/circuits.md tells how near it
  /// is). MismatchError for a plan of other parameters.
  [[nodiscard]] double seconds(const Plan& plan);

 private:
  std::shared_ptr<const rlwe::Context> context_;
  std::mutex mutex_;
  std::map<std::pair<std::size_t, rlwe::GadgetPrimes>, WorkRates> rates_;
};

}  // namespace hemera::circuits
