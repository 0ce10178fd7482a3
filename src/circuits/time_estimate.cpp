#include "hemera/circuits/time_estimate.hpp"

#include <algorithm>
#include <chrono>
#include <complex>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits {
namespace {

using poly::Form;

constexpr int runs = 3;
constexpr double shortest_run = 5e-3;  // seconds: several operations where one is shorter
constexpr double longest_run = 0.1;    // one run is enough of those
// Of a plan, at which its operations are timed.
constexpr std::size_t most_levels = 4;

// Seconds of one operation, when several are given one after the other.
template <typename Give>
double seconds_of(const rlwe::Context& context, const Give& give) {
  using Clock = std::chrono::steady_clock;
  const auto run = [&](std::size_t times) {
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < times; ++i) give();
    context.queue().synchronize();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  run(1);  // makes constants and memory
  const double once = std::max(run(1), 1e-7);
  if (once > longest_run) return once;
  const std::size_t times = std::max<std::size_t>(1, static_cast<std::size_t>(shortest_run / once));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) least = std::min(least, run(times) / static_cast<double>(times));
  return least;
}

// Of the plan's keys that serve a level the one of the fewest words there.
rlwe::GadgetPrimes gadget_at(const Plan& plan, const rlwe::Context& context, std::size_t level) {
  std::shared_ptr<const rlwe::Gadget> best;
  for (const KeyNeed& need : plan.needed_keys()) {
    if (need.role.to == rlwe::ephemeral_secret || need.role.from == rlwe::ephemeral_secret) continue;
    auto gadget = context.gadget(need.gadget);
    if (gadget->serves(level) && (!best || gadget->cost(level) < best->cost(level))) best = std::move(gadget);
  }
  return best ? best->primes() : context.parameters().default_gadget(level);
}

double seconds_of(const Work& work, const WorkRates& rates) {
  return rates.mod_ups * static_cast<double>(work.mod_ups) +
         rates.key_products * static_cast<double>(work.key_products) +
         rates.divisions * static_cast<double>(work.divisions) +
         rates.products * static_cast<double>(work.products);
}

}  // namespace

WorkRates measure_rates(const std::shared_ptr<const rlwe::Context>& shared, const rlwe::GadgetPrimes& primes,
                        std::size_t level) {
  const rlwe::Context& context = *shared;
  const auto gadget = context.gadget(primes);
  const poly::ModUp& up = gadget->mod_up(level);
  const poly::Division* down = gadget->mod_down(level);
  const poly::Backend& backend = context.backend();
  const std::size_t digits = up.digits().size(), extended = up.extended().size();

  // Zeros: no operation's time depends on values.
  const auto zeros = [&](std::size_t components, const poly::RnsBase& base, std::size_t batch = 1) {
    poly::Poly poly = context.make_poly(batch, components, base, Form::evaluation);
    backend.fill_zero(context.queue(), poly.view());
    return poly;
  };
  const poly::Poly in = zeros(2, context.base(level));
  const poly::ConstPolyView second = in.view().components(1, 1);
  poly::Poly split = zeros(digits, up.extended());
  auto workspace = context.make_workspace();

  WorkRates rates;
  const double mod_up = seconds_of(context, [&] {
    backend.mod_up(context.queue(), split.view(), second, up, Form::evaluation, workspace);
  });
  rates.mod_ups = mod_up / static_cast<double>(digits * extended);

  // Rotations and their products with plaintexts, as matrices take them: each by a key of
  // its own, for keys come from memory.
  constexpr std::size_t terms = 4, most_sums = 3;
  const ckks::Encoder encoder(shared);
  const std::vector<std::complex<double>> values(context.parameters().max_slots());
  std::vector<rlwe::Plaintext> factors;
  std::vector<poly::Poly> keys, sums;
  for (std::size_t i = 0; i < terms; ++i) {
    keys.push_back(zeros(2, gadget->modulus(), gadget->digits().size()));
    for (std::size_t sum = 0; sum < most_sums; ++sum) {
      factors.push_back(encoder.encode_over(up.extended(), values, {}, level, 1, ckks::Stored::one_period));
    }
  }
  for (std::size_t sum = 0; sum < most_sums; ++sum) sums.push_back(zeros(2, up.extended()));
  const auto hoisted = [&](std::size_t count) {
    std::vector<poly::PolyView> out;
    for (std::size_t sum = 0; sum < count; ++sum) out.push_back(sums[sum].view());
    std::vector<poly::Backend::HoistedTerm> all;
    for (std::size_t i = 0; i < terms; ++i) {
      poly::Backend::HoistedTerm& term = all.emplace_back();
      term = {.digits = std::as_const(split).view(),
              .key = std::as_const(keys[i]).view(),
              .addend = in.view().components(0, 1),
              .galois_element = context.galois_element(static_cast<std::int64_t>(i) + 1)};
      for (std::size_t sum = 0; sum < count; ++sum) {
        term.factors.push_back(std::as_const(factors[i * most_sums + sum]).poly.view());
      }
    }
    return seconds_of(context, [&] {
      backend.hoisted_products(context.queue(), out, all, up, gadget->special_residues(level), workspace);
    });
  };
  const double one = hoisted(1) / terms, several = hoisted(most_sums) / terms;
  // Where the clock does not tell them apart, a product is taken for a tenth of a rotation.
  const double product = std::max((several - one) / (most_sums - 1), one / 10);
  rates.products = product / static_cast<double>(2 * extended);
  rates.key_products = std::max(one - product, one / 10) / static_cast<double>(2 * digits * extended);

  const poly::Division& division = down != nullptr ? *down : context.rescale(level);
  poly::Poly quotient = zeros(2, division.target());
  const poly::ConstPolyView dividend = down != nullptr ? std::as_const(sums.front()).view() : in.view();
  const double divided = seconds_of(context, [&] {
    backend.divide_and_round(context.queue(), quotient.view(), dividend, division, Form::evaluation,
                             workspace);
  });
  rates.divisions = divided / static_cast<double>(2 * dividend.shape.limbs);
  return rates;
}

std::vector<std::size_t> measured_levels(const std::map<std::size_t, Work>& work, std::size_t most) {
  if (most == 0)
    throw ParameterError("measured_levels: no time is told by rates of no level; ask for one or more");
  std::vector<std::size_t> all;
  for (const auto& [level, own] : work) all.push_back(level);
  if (all.size() <= most) return all;
  if (most == 1) return {all.back()};
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return chosen;
}

double seconds_of(const std::map<std::size_t, Work>& work, const std::map<std::size_t, WorkRates>& rates) {
  if (rates.empty() && !work.empty()) {
    throw ParameterError("seconds_of: work is timed by rates, and there are none; measure those of a level");
  }
  double sum = 0;
  for (const auto& [level, own] : work) {
    const auto above = rates.lower_bound(level);
    if (above == rates.end()) {
      sum += seconds_of(own, std::prev(above)->second);
    } else if (above->first == level || above == rates.begin()) {
      sum += seconds_of(own, above->second);
    } else {
      const auto below = std::prev(above);
      const double part =
          static_cast<double>(level - below->first) / static_cast<double>(above->first - below->first);
      sum += part * seconds_of(own, above->second) + (1 - part) * seconds_of(own, below->second);
    }
  }
  return sum;
}

TimeEstimator::TimeEstimator(std::shared_ptr<const rlwe::Context> context) : context_(std::move(context)) {}

double TimeEstimator::seconds(const Plan& plan) {
  plan.require_parameters(*context_, "time of a plan");
  const auto& work = plan.cost().work;
  const std::lock_guard lock(mutex_);
  std::map<std::size_t, WorkRates> rates;
  for (const std::size_t level : measured_levels(work, most_levels)) {
    const auto key = std::pair(level, gadget_at(plan, *context_, level));
    auto known = rates_.find(key);
    if (known == rates_.end()) known = rates_.emplace(key, measure_rates(context_, key.second, level)).first;
    rates.emplace(level, known->second);
  }
  return seconds_of(work, rates);
}

}  // namespace hemera::circuits
