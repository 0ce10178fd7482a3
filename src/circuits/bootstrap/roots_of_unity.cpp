#include "circuits/bootstrap/roots_of_unity.hpp"

#include <algorithm>
#include <complex>
#include <string>
#include <utility>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/imaginary_unit.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/turned_product.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/exponential_arithmetic.hpp"

namespace hemera::circuits {
namespace {

using poly::Form;
using rlwe::Ciphertext;
using rlwe::KeyRole;
using Complex = std::complex<double>;

// The largest degree of secrets: the smallest with an estimate (docs/security-estimates).
constexpr std::size_t largest_secret_degree = std::size_t{1} << 14;

std::uint64_t element_of(const rlwe::Parameters& parameters, std::size_t rotation) {
  return parameters.galois_element(static_cast<std::int64_t>(rotation));
}

void require_room(std::size_t values, std::size_t blocks, std::size_t slots) {
  if (values * blocks <= slots) return;
  throw ParameterError("a bootstrap of " + std::to_string(values) + " values by roots of unity; up to " +
                       std::to_string(slots / blocks) + " have room with " + std::to_string(blocks) +
                       " blocks: use fewer, or parameters without blocks");
}

// The numbers that plaintexts encode, one for each encryption.
struct Numbers {
  runtime::Buffer buffer;
  poly::SlotView view;
};

Numbers exponentials_of(const rlwe::Context& context, const poly::ConstPolyView& low,
                        const rlwe::BlockSlots& values, std::size_t row, const poly::RnsBase& base) {
  const std::size_t slots = context.degree() / 2, rows = values.encryptions(slots);
  const poly::ExponentialLayout layout{.values = values.values,
                                       .row = row,
                                       .blocks = values.secret.blocks,
                                       .length = values.secret.length(),
                                       .places = values.places(slots),
                                       .stride = context.degree() / values.secret.degree};
  runtime::Buffer buffer(context.memory(), rows * slots * sizeof(Complex));
  const poly::SlotView view{reinterpret_cast<Complex*>(buffer.data()), rows, slots};
  context.backend().exponentials(context.queue(), view, low, layout, base);
  return {std::move(buffer), view};
}

}  // namespace

std::size_t block_degree(std::size_t degree) { return std::min(degree, largest_secret_degree); }

rlwe::BlockSecret block_secret(const rlwe::Parameters& parameters, std::size_t blocks) {
  return {.degree = block_degree(parameters.degree()), .blocks = blocks};
}

RootsStage roots_stage(const rlwe::Parameters& parameters, const BootstrapLayout& layout,
                       std::size_t input_slots, std::size_t parts) {
  const std::size_t slots = parameters.max_slots(), blocks = layout.blocks, values = parts * input_slots;
  require_room(values, blocks, slots);
  RootsStage stage{.slots = {.secret = block_secret(parameters, blocks), .values = values},
                   .input_slots = input_slots,
                   .level = layout.top_level,
                   .plaintext_scale = matrix_scale(parameters, layout.top_level),
                   .to_block = {},
                   .encryptions = {},
                   .exponential = layout.sine.exponential};
  stage.to_block = {rlwe::to_block_role(stage.slots), to_ephemeral_gadget(parameters)};
  const rlwe::GadgetPrimes whole = from_block_gadget(parameters, stage.level);
  for (std::size_t i = 0; i < stage.slots.encryptions(slots); ++i) {
    stage.encryptions.push_back({rlwe::block_role(stage.slots, i), whole});
  }
  for (std::size_t step = values * blocks; step < slots;) {
    const bool is_last = 2 * step == slots;
    stage.places.push_back(is_last ? std::vector{step} : std::vector{step, 2 * step, 3 * step});
    step *= is_last ? 2 : 4;
  }
  stage.places_gadget = rotation_gadget(parameters, stage.level, most_special_primes);
  std::size_t level = stage.level - 1;
  for (std::size_t rotation = values; rotation < values * blocks; rotation *= 2) {
    const std::uint64_t element = element_of(parameters, rotation);
    const rlwe::GadgetPrimes gadget = product_gadget(parameters, level, most_special_primes);
    stage.products.push_back({.rotation = rotation,
                              .galois = {KeyRole::galois(element), gadget},
                              .product = {KeyRole::turned_product(element), gadget}});
    --level;
  }
  stage.result_scale = parameters.rescaling().scales[level].scale;
  return stage;
}

RootsOfUnity::RootsOfUnity(rlwe::ContextPointer context, RootsStage stage)
    : context_(std::move(context)), stage_(std::move(stage)) {
  if (!stage_.exponential) i_ = imaginary_unit(context_, stage_.level - 1 - stage_.products.size());
}

poly::Poly RootsOfUnity::exponentials(const poly::ConstPolyView& low, const poly::RnsBase& base) const {
  const rlwe::Context& context = *context_;
  const Numbers numbers = exponentials_of(context, low, stage_.slots, stage_.input_slots, context.base(0));
  poly::Poly result = context.make_poly(numbers.view.batch, 1, base, Form::evaluation);
  auto workspace = context.make_workspace();
  context.backend().embed(context.queue(), result.view(), numbers.view, stage_.plaintext_scale,
                          context.parameters().literal().galois_generator, base, workspace, Form::evaluation);
  return result;
}

// An element of the batch after the other, for its plaintexts are many.
Ciphertext RootsOfUnity::sum_of_products(const rlwe::EvaluationKeys& keys, const Ciphertext& low) const {
  const rlwe::Context& context = *context_;
  const poly::RnsBase& base = context.base(0);
  const std::size_t batch = low.poly.shape().batch;
  poly::Poly coefficients = context.make_poly(batch, 2, base, Form::coefficient);
  context.backend().inverse_transform(context.queue(), coefficients.view(), low.poly.view(), base);

  std::vector<std::shared_ptr<const rlwe::SwitchingKey>> encryptions;
  for (const KeyNeed& need : stage_.encryptions) encryptions.push_back(require_key(keys, need));
  const rlwe::GadgetPointer& gadget = encryptions.front()->gadget;
  const poly::ModUp& up = gadget->mod_up(stage_.level);
  rlwe::Metadata meta = low.meta;
  meta.level = stage_.level;
  meta.scale = context.scales().level_scale(stage_.level);
  meta.slots = context.degree() / 2;
  meta.largest = 1;
  meta = context.scales().number_product(std::move(meta), stage_.plaintext_scale);
  rlwe::ExtendedCiphertext sums{context_, gadget, std::move(meta),
                                context.make_poly(batch, 2, up.extended(), Form::evaluation)};
  for (std::size_t i = 0; i < batch; ++i) {
    const poly::Poly plaintexts =
        exponentials(std::as_const(coefficients).view().batches(i, 1), up.extended());
    std::vector<poly::HoistedTerm> terms;
    for (std::size_t row = 0; row < encryptions.size(); ++row) {
      terms.push_back({.digits = plaintexts.view().batches(row, 1), .key = encryptions[row]->poly.view()});
    }
    const poly::PolyView out = sums.poly.view().batches(i, 1);
    auto workspace = context.make_workspace();
    context.backend().hoisted_products(context.queue(), std::span(&out, 1), terms, up,
                                       gadget->special_residues(stage_.level), workspace);
  }
  return stage_.places.empty() ? rlwe::mod_down_rescaled(sums) : rlwe::mod_down(sums);
}

Ciphertext RootsOfUnity::over_places(const rlwe::EvaluationKeys& keys, const Ciphertext& x) const {
  rlwe::ExtendedCiphertext sum;
  for (const auto& step : stage_.places) {
    std::vector<std::shared_ptr<const rlwe::SwitchingKey>> used;
    std::vector<rlwe::Turn> turns(1);
    for (const std::size_t rotation : step) {
      const std::uint64_t element = element_of(context_->parameters(), rotation);
      used.push_back(require_key(keys, {KeyRole::galois(element), stage_.places_gadget}));
      turns.push_back({.key = used.back().get(), .galois_element = element});
    }
    sum = sum.poly ? rlwe::turned_sum(sum, turns) : rlwe::turned_sum(x, used.front()->gadget, turns);
  }
  return rlwe::mod_down_rescaled(sum);
}

Ciphertext RootsOfUnity::operator()(const ckks::Evaluator& evaluator, const Ciphertext& low) const {
  const rlwe::EvaluationKeys& keys = evaluator.keys();
  const rlwe::ScalePolicy& scales = context_->scales();
  Ciphertext x = sum_of_products(keys, rlwe::reencrypt(low, *require_key(keys, stage_.to_block)));
  if (!stage_.places.empty()) x = over_places(keys, x);
  for (const RootsStage::Product& product : stage_.products) {
    const auto galois = require_key(keys, product.galois), squared = require_key(keys, product.product);
    x.meta.scale = scales.level_scale(x.meta.level);
    x = rlwe::mod_down_rescaled(rlwe::multiply_turned(
        context_, x.poly.view(), scales.product(x.meta, x.meta).meta, product.galois.role.galois_element,
        {.galois = galois.get(), .product = squared.get()}));
  }
  if (i_) x = times_i(evaluator.subtract(evaluator.conjugate(x), x), *i_);
  x.meta.slots = stage_.slots.values;
  x.meta.scale = stage_.result_scale;
  return x;
}

void run_exponentials(const rlwe::Context& context, std::size_t values) {
  constexpr std::size_t blocks = 64;
  require_room(values, blocks, context.degree() / 2);
  const poly::RnsBase& all = context.base(context.top_level());
  std::size_t first = 0;
  while (first < all.size() && all.modulus(first).bits() > poly::most_exponential_bits) ++first;
  if (first == all.size()) {
    throw ParameterError("exponentials take primes of at most " +
                         std::to_string(poly::most_exponential_bits) +
                         " bits, and these parameters have none");
  }
  const poly::RnsBase base(all.ring(), {all.index(first)});
  poly::Poly low = context.make_poly(1, 2, base, Form::coefficient);
  context.backend().fill_zero(context.queue(), low.view());
  const rlwe::BlockSlots slots{.secret = block_secret(context.parameters(), blocks), .values = values};
  static_cast<void>(exponentials_of(context, std::as_const(low).view(), slots, values, base));
}

}  // namespace hemera::circuits
