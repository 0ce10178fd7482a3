#include "hemera/schemes/integer/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/interruption.hpp"
#include "hemera/runtime/warning.hpp"
#include "hemera/schemes/integer/encryption.hpp"
#include "rlwe/requirements.hpp"
#include "schemes/integer/plaintext.hpp"
#include "schemes/integer/rules.hpp"

namespace hemera::integer {
namespace {

// Rounding of budgets, which are sums of logarithms.
constexpr double rounding_bits = 0x1p-20;

using poly::Form;
using rlwe::Ciphertext;
using rlwe::Context;
using rlwe::Metadata;
using rlwe::Plaintext;
using rlwe::Scalar;

// A single object repeated for a batch of this shape.
Ciphertext repeated(const Ciphertext& a, const rlwe::BatchShape& shape) {
  Metadata meta = a.meta;
  meta.batch = shape;
  Ciphertext grown = rlwe::make_ciphertext(a.context, std::move(meta), a.size());
  a.context->backend().copy(a.context->queue(), grown.poly.view(), a.poly.view());
  return grown;
}

// Number of values of a product: the longer operand's slots, or the length of the product of polynomials.
std::size_t product_slots(const Metadata& a, const Metadata& b, std::size_t degree) {
  if (a.encoding == rlwe::Encoding::slots) return std::max(a.slots, b.slots);
  return std::min(degree, a.slots + b.slots - 1);
}

// Noise after modulus switching from a ciphertext's level to a lower one, step by step; each step rounds
// coefficients by at most `half_range`.
double switched_noise_log2(const Ciphertext& a, std::size_t to, double half_range) {
  const Context& context = *a.context;
  const rlwe::Parameters& parameters = context.parameters();
  const double rounding =
      rlwe::rounding_noise_log2(parameters.degree(), parameters.literal().secret, a.size(), half_range);
  double noise = a.meta.noise_log2;
  for (std::size_t level = a.meta.level; level > to; --level) {
    noise = rlwe::add_log2(noise + context.base(level - 1).log2() - context.base(level).log2(), rounding);
  }
  return noise;
}

}  // namespace

Evaluator::Evaluator(const Rules& rules, rlwe::ContextPointer context, rlwe::EvaluationKeys keys,
                     rlwe::Relinearization relinearization, Refresh refresh)
    : rlwe::Evaluator(std::move(context), std::move(keys), relinearization),
      rules_(&rules),
      refresh_(std::move(refresh)) {
  const rlwe::Scheme scheme = this->context()->scheme();
  if (scheme != rules.scheme()) {
    const std::string own = rlwe::name(rules.scheme());
    throw MismatchError("the context is for " + rlwe::name(scheme) + "; a " + own + " evaluator needs a " +
                        own + " context");
  }
}

void Evaluator::combine_plain(Ciphertext& a, const Plaintext& b, bool subtract, const char* operation) const {
  require(a, operation);
  const Context& own = *context();
  rlwe::require_plaintext(own, b, operation);
  require_same_encoding(a.meta.encoding, b.meta.encoding, operation);
  const rlwe::BatchShape batch = rlwe::broadcast(a.meta.batch, b.meta.batch, operation);
  const std::size_t level = a.meta.level;
  const poly::RnsBase& base = own.base(level);
  Placement placement = rules_->placement(own, a.meta);
  // One message of many ciphertexts is made once; others are added where they are made.
  const bool repeats = rlwe::batch_count(batch) != b.poly.shape().batch;
  const poly::Poly* term = ready_term(b, level, placement);
  poly::Poly made;
  if (term == nullptr) {
    rlwe::require_certain(b);
    if (repeats) term = &(made = place(own, b, level, placement, runtime::Secrecy::open));
  }
  const bool grows = rlwe::batch_count(batch) != a.poly.shape().batch;
  Ciphertext grown = grows ? repeated(a, batch) : Ciphertext();
  auto workspace = own.make_workspace();
  const runtime::Uninterrupted whole;
  if (grows) a = std::move(grown);
  const poly::PolyView c0 = a.poly.view().components(0, 1);
  if (term == nullptr) {
    if (subtract) placement.negate(base);
    const poly::ConstPolyView message = b.poly.view();
    own.backend().lift_integers(own.queue(), c0, std::span(&message, 1), placement.factor, placement.scalars,
                                own.exact_conversion(own.plain_base(), base), workspace, c0);
  } else if (subtract) {
    own.backend().subtract(own.queue(), c0, c0, term->view(), base);
  } else {
    own.backend().add(own.queue(), c0, c0, term->view(), base);
  }
  a.meta.batch = batch;
  rlwe::join_filling(a.meta, a.meta, b.meta, false);
  a.meta.slots = std::max(a.meta.slots, b.meta.slots);
  a.meta.filled = rlwe::filled_slots(a.meta, own.parameters().max_slots());
  if (a.meta.filled == 0) rlwe::count_all(a.meta);
  const double largest = std::log2(static_cast<double>(own.parameters().plain_modulus())) - 1;
  a.meta.noise_log2 = rlwe::add_log2(a.meta.noise_log2, placement.noise_log2(largest));
  notice(a, operation);
}

void Evaluator::add_plain_inplace(Ciphertext& a, const Plaintext& b) const {
  combine_plain(a, b, false, "add_plain");
}

void Evaluator::subtract_plain_inplace(Ciphertext& a, const Plaintext& b) const {
  combine_plain(a, b, true, "subtract_plain");
}

void Evaluator::add_scalar_inplace(Ciphertext& a, const Scalar& b) const {
  require(a, "add_scalar");
  const Context& own = *context();
  const arith::Modulus& t = own.plain_base().modulus(0);
  const Placement placement = rules_->placement(own, a.meta);
  const std::int64_t term =
      t.centered(t.multiply(t.reduce_signed(b.integer("add_scalar")), placement.factor));
  const poly::RnsBase& base = own.base(a.meta.level);
  std::vector<std::uint64_t> terms = residues(term, base);
  for (std::size_t i = 0; i < placement.scalars.size(); ++i) {
    terms[i] = base.modulus(i).multiply(terms[i], placement.scalars[i]);
  }
  const runtime::Uninterrupted whole;
  const poly::PolyView c0 = a.poly.view().components(0, 1);
  own.backend().add_scalar(own.queue(), c0, c0, terms, Form::evaluation, base);
  // A term 0 brings the noise 2^-infinity: none.
  const double largest = std::log2(std::abs(static_cast<double>(term)));
  a.meta.noise_log2 = rlwe::add_log2(a.meta.noise_log2, placement.noise_log2(largest));
  if (term != 0) a.meta.padding = rlwe::no_longer_zeros(a.meta);
  notice(a, "add_scalar");
}

void Evaluator::multiply_scalar_inplace(Ciphertext& a, const Scalar& b) const {
  require(a, "multiply_scalar");
  const Context& own = *context();
  const arith::Modulus& t = own.plain_base().modulus(0);
  const std::int64_t factor = t.centered(t.reduce_signed(b.integer("multiply_scalar")));
  const double growth = std::log2(std::max(1.0, std::abs(static_cast<double>(factor))));
  if (growth > 0 && needs_refresh(a.meta.level, a.meta.noise_log2 + growth)) {
    if (auto fresh = refreshed(a)) a = std::move(*fresh);
  }
  const poly::RnsBase& base = own.base(a.meta.level);
  const runtime::Uninterrupted whole;
  own.backend().multiply_scalar(own.queue(), a.poly.view(), std::as_const(a.poly).view(),
                                residues(factor, base), base);
  a.meta.noise_log2 += growth;
  a.seed.reset();
  notice(a, "multiply_scalar");
}

Ciphertext Evaluator::rescale(const Ciphertext& a) const {
  require(a, "rescale");
  const Context& own = *context();
  Metadata meta = own.scales().rescaled(a.meta);
  meta.noise_log2 =
      switched_noise_log2(a, meta.level, rules_->switching_half_range(own.parameters().plain_modulus()));
  const poly::Backend& backend = own.backend();
  const poly::Division& plan = own.rescale(a.meta.level);
  Ciphertext result = rlwe::make_ciphertext(context(), std::move(meta), a.size());
  auto workspace = own.make_workspace();
  backend.divide_and_round(own.queue(), result.poly.view(), a.poly.view(), plan, Form::evaluation, workspace);
  notice(result, "rescale");
  return result;
}

void Evaluator::multiply_by_factor(Ciphertext& a, const rlwe::ScaleStep& step) const {
  const std::int64_t factor = step.correction_factor;
  if (factor == 1) return;
  const Context& own = *context();
  const poly::RnsBase& base = own.base(a.meta.level);
  own.backend().multiply_scalar(own.queue(), a.poly.view(), std::as_const(a.poly).view(),
                                residues(factor, base), base);
  a.meta.noise_log2 += std::log2(std::abs(static_cast<double>(factor)));
}

void Evaluator::notice(Ciphertext& result, const char* operation) const {
  if (!has_warning_handler() || !notice_spent_budget(result)) return;
  warn(Warning::Kind::spent_noise_budget,
       std::string(operation) +
           ": the guaranteed noise budget of the result is spent, so it may decrypt to wrong values; choose "
           "parameters for a circuit of this depth, parameters_for({.depth, .terms}). noise_budget measures "
           "the true budget with the secret key");
}

std::optional<std::size_t> Evaluator::product_level(const Metadata&, const Metadata&) const { return {}; }

double Evaluator::budget(std::size_t level, double noise_log2) const {
  const Context& own = *context();
  return rules_->budget(own.base(level).log2(), noise_log2, own.parameters().plain_modulus());
}

bool Evaluator::needs_refresh(std::size_t level, double noise_log2, std::size_t terms) const {
  if (!refresh_.run) return false;
  const double of_sum = refresh_.least + std::log2(static_cast<double>(terms));
  return budget(level, noise_log2) < std::max(refresh_.needed, of_sum);
}

std::optional<Ciphertext> Evaluator::refreshed(const Ciphertext& a) const {
  if (budget(a.meta.level, a.meta.noise_log2) >= refresh_.left - rounding_bits) return std::nullopt;
  return refresh_.run(*this, a);
}

std::optional<Ciphertext> Evaluator::refreshed_if_possible(const Ciphertext& a) const {
  if (budget(a.meta.level, a.meta.noise_log2) < refresh_.least - rounding_bits) return std::nullopt;
  return refreshed(a);
}

std::optional<Ciphertext> Evaluator::refreshed_addend(const Ciphertext& a, const Metadata& own,
                                                      const Metadata& other) const {
  if (!refresh_.run || own.noise_log2 < other.noise_log2) return std::nullopt;
  const double sum = rlwe::add_log2(own.noise_log2, other.noise_log2);
  return budget(own.level, sum) < refresh_.least ? refreshed_if_possible(a) : std::nullopt;
}

std::optional<Ciphertext> Evaluator::refreshed_for_sum(const Ciphertext& a, std::size_t terms) const {
  if (!refresh_.run) return std::nullopt;
  const double sum = a.meta.noise_log2 + std::log2(static_cast<double>(terms));
  return budget(a.meta.level, sum) < refresh_.least ? refreshed_if_possible(a) : std::nullopt;
}

void Evaluator::count_bootstrap(const Ciphertext& a) const {
  bootstraps_.fetch_add(rlwe::batch_count(a.meta.batch), std::memory_order_relaxed);
}

bool Evaluator::refresh_copy(const Ciphertext& a, rlwe::OperandCopies& copies) const {
  auto fresh = refreshed(copies.of(a));
  if (!fresh) return false;
  copies.keep(a, std::move(*fresh));
  return true;
}

rlwe::Factors Evaluator::factors(const Ciphertext& a, const Ciphertext& b,
                                 rlwe::OperandCopies& copies) const {
  rlwe::Factors result = factors_as_they_are(copies.of(a), copies.of(b));
  if (!needs_refresh(result.meta.level, result.meta.noise_log2, copies.products())) return result;
  const bool is_fresh_a = refresh_copy(a, copies);
  const bool is_fresh_b = refresh_copy(b, copies);  // of a square the same copy, which is fresh
  return is_fresh_a || is_fresh_b ? factors_as_they_are(copies.of(a), copies.of(b)) : std::move(result);
}

rlwe::Factors Evaluator::factors(const Ciphertext& a, const Plaintext& b, rlwe::OperandCopies& copies) const {
  rlwe::Factors result = factors_as_they_are(copies.of(a), b);
  if (!needs_refresh(result.meta.level, result.meta.noise_log2, copies.products())) return result;
  return refresh_copy(a, copies) ? factors_as_they_are(copies.of(a), b) : std::move(result);
}

rlwe::Factors Evaluator::factors_as_they_are(const Ciphertext& a, const Ciphertext& b) const {
  const Context& own = *context();
  rlwe::ScaleProduct product = own.scales().product(a.meta, b.meta, product_level(a.meta, b.meta));
  Ciphertext lowered_a;
  Ciphertext lowered_b;
  const Ciphertext& x = stepped(a, product.a.steps, lowered_a);
  const Ciphertext& y = &a == &b ? x : stepped(b, product.b.steps, lowered_b);

  rlwe::Factors result{.a = x.poly.view(), .b = y.poly.view(), .meta = std::move(product.meta), .held = {}};
  result.meta.batch = rlwe::broadcast(x.meta.batch, y.meta.batch, "multiply");
  result.meta.slots = product_slots(x.meta, y.meta, own.degree());
  rlwe::join_filling(result.meta, x.meta, y.meta, true);
  result.meta.filled = rlwe::filled_slots(result.meta, own.parameters().max_slots());
  if (result.meta.filled == 0) rlwe::count_all(result.meta);
  result.meta.noise_log2 = product_noise_log2(x.meta, y.meta);
  result.hold(std::move(lowered_a.poly));
  result.hold(std::move(lowered_b.poly));
  return result;
}

rlwe::Factors Evaluator::factors_as_they_are(const Ciphertext& a, const Plaintext& b) const {
  const Context& own = *context();
  rlwe::require_plaintext(own, b, "multiply_plain");
  require_same_encoding(a.meta.encoding, b.meta.encoding, "multiply_plain");
  rlwe::ScaleProduct product = own.scales().plain_product(a.meta, b.meta);
  Ciphertext lowered;
  const Ciphertext& x = stepped(a, product.a.steps, lowered);
  rlwe::Factors result{.a = x.poly.view(), .b = {}, .meta = std::move(product.meta), .held = {}};
  result.meta.batch = rlwe::broadcast(a.meta.batch, b.meta.batch, "multiply_plain");
  result.meta.slots = product_slots(a.meta, b.meta, own.degree());
  rlwe::join_filling(result.meta, x.meta, b.meta, true);
  result.meta.filled = rlwe::filled_slots(result.meta, own.parameters().max_slots());
  if (result.meta.filled == 0) rlwe::count_all(result.meta);
  result.meta.noise_log2 =
      x.meta.noise_log2 + rlwe::plaintext_factor_log2(own.degree(), own.parameters().plain_modulus());
  // The message itself, or times the factor of the level: it multiplies the one placed in the ciphertext.
  if (b.lifted != nullptr && b.lifted->level == result.meta.level) {
    result.b = b.lifted->poly.view();
  } else {
    rlwe::require_certain(b);
    result.integers = b.poly.view();
  }
  result.hold(std::move(lowered.poly));
  return result;
}

Ciphertext Evaluator::sum_products(std::span<const rlwe::Factors> products, Metadata meta,
                                   const rlwe::SwitchingKey* key) const {
  const auto waits = [](const rlwe::Factors& product) { return product.integers.data != nullptr; };
  if (std::none_of(products.begin(), products.end(), waits)) {
    return rlwe::Evaluator::sum_products(products, std::move(meta), key);
  }
  const Context& own = *context();
  std::vector<poly::ConstPolyView> a, b;
  for (const rlwe::Factors& product : products) {
    a.push_back(product.a);
    b.push_back(product.b);
  }
  // Plaintexts of equally many batches are lifted together.
  std::vector<poly::Poly> lifted;
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (b[i].data != nullptr) continue;
    const std::size_t batch = products[i].integers.shape.batch;
    const auto belongs = [&](std::size_t j) {
      return b[j].data == nullptr && products[j].integers.shape.batch == batch;
    };
    std::vector<poly::ConstPolyView> messages;
    for (std::size_t j = i; j < products.size(); ++j) {
      if (belongs(j)) messages.push_back(products[j].integers);
    }
    lifted.push_back(place_factors(own, messages, meta.level, runtime::Secrecy::open));
    std::size_t first = 0;
    for (std::size_t j = i; j < products.size(); ++j) {
      if (!belongs(j)) continue;
      b[j] = std::as_const(lifted).back().view().batches(first, batch);
      first += batch;
    }
  }
  Ciphertext sum = rlwe::make_ciphertext(context(), std::move(meta), products.front().size());
  own.inner_product(sum.poly.view(), a, b, own.base(sum.meta.level));
  return sum;
}

std::size_t Evaluator::smallest_safe_level(const Ciphertext& a) const {
  const Context& own = *context();
  const std::uint64_t t = own.parameters().plain_modulus();
  const double half_range = rules_->switching_half_range(t);
  const double room = rules_->room_log2(t);
  // The lowest level at which the noise bound leaves a bit of budget; the ciphertext's own if none does. A
  // group opens its results, for which levels of bootstraps have no room of their own: all but a bit is left.
  const bool is_opened = own.parameters().has_circuit() && own.parameters().literal().secret.terms > 1;
  const double budget = own.base(a.meta.level).log2() - room - a.meta.noise_log2;
  const double left = is_opened ? std::max(1.0, budget - 1) : 1;
  for (std::size_t level = own.parameters().lowest_user_level(); level < a.meta.level; ++level) {
    if (switched_noise_log2(a, level, half_range) + left <= own.base(level).log2() - room) return level;
  }
  return a.meta.level;
}

}  // namespace hemera::integer
