#include "hemera/circuits/time_estimate.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace hemera::circuits {
namespace {

using poly::Form;

constexpr int runs = 3;
constexpr double shortest_run = 5e-3;  // seconds: several operations where one is shorter

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
  const std::size_t times = std::max<std::size_t>(1, static_cast<std::size_t>(shortest_run / once));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) least = std::min(least, run(times) / static_cast<double>(times));
  return least;
}

double each(double seconds, std::size_t limbs) { return seconds / static_cast<double>(limbs); }

// Of the most words in a key: its operations are those that take the most time.
rlwe::GadgetPrimes largest_gadget(const Plan& plan, const rlwe::Parameters& parameters) {
  const auto words = [](const KeyNeed& need) {
    return need.gadget.digits.size() * (need.gadget.base.size() + need.gadget.special.size());
  };
  const auto& needs = plan.needed_keys();
  const auto largest = std::max_element(
      needs.begin(), needs.end(), [&](const KeyNeed& a, const KeyNeed& b) { return words(a) < words(b); });
  return largest == needs.end() ? parameters.default_gadget(plan.cost().level) : largest->gadget;
}

}  // namespace

WorkRates measure_rates(const rlwe::Context& context, const rlwe::GadgetPrimes& primes) {
  const auto gadget = context.gadget(primes);
  const std::size_t level = gadget->highest_level();
  const poly::ModUp& up = gadget->mod_up(level);
  const poly::Division* down = gadget->mod_down(level);
  const poly::Backend& backend = context.backend();
  const std::size_t digits = up.digits().size(), extended = up.extended().size();

  // Zeros: no operation's time depends on values.
  const auto zeros = [&](std::size_t batch, std::size_t components, const poly::RnsBase& base) {
    poly::Poly poly = context.make_poly(batch, components, base, Form::evaluation);
    backend.fill_zero(context.queue(), poly.view());
    return poly;
  };
  poly::Poly in = zeros(1, 2, context.base(level)), split = zeros(1, digits, up.extended());
  poly::Poly key = zeros(gadget->digits().size(), 2, gadget->modulus());
  poly::Poly sums = zeros(1, 2, up.extended()), factor = zeros(1, 1, up.extended());
  auto workspace = context.make_workspace();

  WorkRates rates;
  rates.mod_ups = each(seconds_of(context,
                                  [&] {
                                    backend.mod_up(context.queue(), split.view(),
                                                   std::as_const(in).view().components(1, 1), up,
                                                   Form::evaluation, workspace);
                                  }),
                       digits * extended);
  rates.key_products =
      each(seconds_of(context,
                      [&] {
                        backend.key_inner_product(context.queue(), sums.view(), std::as_const(split).view(),
                                                  std::as_const(key).view(), up);
                      }),
           2 * digits * extended);
  rates.products =
      each(seconds_of(context,
                      [&] {
                        backend.multiply_add(context.queue(), sums.view(), std::as_const(sums).view(),
                                             std::as_const(factor).view(), up.extended());
                      }),
           2 * extended);
  const poly::Division& division = down != nullptr ? *down : context.rescale(level);
  poly::Poly quotient = zeros(1, 2, division.target());
  const poly::ConstPolyView dividend =
      down != nullptr ? std::as_const(sums).view() : std::as_const(in).view();
  rates.divisions = each(seconds_of(context,
                                    [&] {
                                      backend.divide_and_round(context.queue(), quotient.view(), dividend,
                                                               division, Form::evaluation, workspace);
                                    }),
                         2 * dividend.shape.limbs);
  return rates;
}

double estimate_seconds(const Plan& plan, const rlwe::Context& context) {
  plan.require_parameters(context, "time of a plan");
  const WorkRates rates = measure_rates(context, largest_gadget(plan, context.parameters()));
  const Work& work = plan.cost().work;
  return rates.mod_ups * static_cast<double>(work.mod_ups) +
         rates.key_products * static_cast<double>(work.key_products) +
         rates.divisions * static_cast<double>(work.divisions) +
         rates.products * static_cast<double>(work.products);
}

}  // namespace hemera::circuits
