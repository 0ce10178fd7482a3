#include "hemera/circuits/time_estimate.hpp"

#include <algorithm>
#include <chrono>
#include <complex>
#include <limits>
#include <utility>
#include <vector>

#include "hemera/schemes/ckks.hpp"

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

WorkRates measure_rates(const std::shared_ptr<const rlwe::Context>& shared,
                        const rlwe::GadgetPrimes& primes) {
  const rlwe::Context& context = *shared;
  const auto gadget = context.gadget(primes);
  const std::size_t level = gadget->highest_level();
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

double estimate_seconds(const Plan& plan, const std::shared_ptr<const rlwe::Context>& context) {
  plan.require_parameters(*context, "time of a plan");
  const WorkRates rates = measure_rates(context, largest_gadget(plan, context->parameters()));
  const Work& work = plan.cost().work;
  return rates.mod_ups * static_cast<double>(work.mod_ups) +
         rates.key_products * static_cast<double>(work.key_products) +
         rates.divisions * static_cast<double>(work.divisions) +
         rates.products * static_cast<double>(work.products);
}

}  // namespace hemera::circuits
