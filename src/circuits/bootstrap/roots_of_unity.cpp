#include "circuits/bootstrap/roots_of_unity.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <utility>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/imaginary_unit.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/turned_product.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

using poly::Form;
using rlwe::Ciphertext;
using rlwe::KeyRole;
using Complex = std::complex<double>;

// Of secrets: the smallest with an estimate (docs/security-estimates).
constexpr std::size_t largest_secret_degree = std::size_t{1} << 14;

std::size_t exponent_of(std::size_t power) { return static_cast<std::size_t>(std::countr_zero(power)); }

std::size_t reversed(std::size_t value, std::size_t bits) {
  std::size_t result = 0;
  for (std::size_t i = 0; i < bits; ++i) result |= (value >> i & 1U) << (bits - 1 - i);
  return result;
}

std::uint64_t element_of(const rlwe::Parameters& parameters, std::size_t rotation) {
  return parameters.galois_element(static_cast<std::int64_t>(rotation));
}

}  // namespace

rlwe::BlockSecret block_secret(const rlwe::Parameters& parameters, std::size_t blocks) {
  return {.degree = std::min(parameters.degree(), largest_secret_degree), .blocks = blocks};
}

RootsStage roots_stage(const rlwe::Parameters& parameters, const BootstrapLayout& layout,
                       std::size_t input_slots, std::size_t parts) {
  const std::size_t slots = parameters.max_slots(), blocks = layout.blocks, values = parts * input_slots;
  if (values * blocks > slots) {
    throw ParameterError("a bootstrap of " + std::to_string(values) + " values by roots of unity; up to " +
                         std::to_string(slots / blocks) + " have room with " + std::to_string(blocks) +
                         " blocks: use fewer, or parameters without blocks");
  }
  RootsStage stage{.slots = {.secret = block_secret(parameters, blocks), .values = values},
                   .input_slots = input_slots,
                   .level = layout.top_level,
                   .plaintext_scale = matrix_scale(parameters, layout.top_level),
                   .to_block = {},
                   .encryptions = {}};
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

RootsOfUnity::RootsOfUnity(std::shared_ptr<const rlwe::Context> context, RootsStage stage)
    : context_(std::move(context)),
      stage_(std::move(stage)),
      i_(imaginary_unit(context_, stage_.level - 1 - stage_.products.size())) {}

std::size_t RootsOfUnity::position(std::size_t value) const {
  const std::size_t slots = stage_.input_slots;
  return (reversed(value % slots, exponent_of(slots)) + value / slots * slots) *
         (context_->degree() / (2 * slots));
}

std::vector<Complex> RootsOfUnity::exponentials(std::span<const std::uint64_t> b,
                                                std::span<const std::uint64_t> a) const {
  const std::size_t degree = context_->degree(), slots = degree / 2;
  const auto& [secret, values] = stage_.slots;
  const std::size_t places = stage_.slots.places(slots), stride = degree / secret.degree;
  std::vector<std::size_t> positions;
  for (std::size_t j = 0; j < values; ++j) positions.push_back(position(j));
  const std::uint64_t q = context_->base(0).modulus(0).value();
  const double turn = 2 * std::numbers::pi / static_cast<double>(q);
  std::vector<Complex> result(stage_.encryptions.size() * slots);
  for (std::size_t row = 0; row < stage_.encryptions.size(); ++row) {
    for (std::size_t place = 0; place < places; ++place) {
      for (std::size_t k = 0; k < secret.blocks; ++k) {
        const std::size_t shift = stride * (k * secret.length() + row * places + place);
        for (std::size_t j = 0; j < values; ++j) {
          // X^shift a has at the value's coefficient that of a before it, or the negated one at the end.
          const bool wraps = shift > positions[j];
          std::uint64_t residue = a[positions[j] + (wraps ? degree : 0) - shift];
          if (wraps && residue != 0) residue = q - residue;
          if (k == 0) residue = (residue + b[positions[j]]) % q;
          const std::size_t slot = j + values * (k + secret.blocks * place);
          result[row * slots + slot] = std::polar(1.0, turn * static_cast<double>(residue));
        }
      }
    }
  }
  return result;
}

// An element of the batch after the other: its plaintexts are many.
Ciphertext RootsOfUnity::sum_of_products(const rlwe::EvaluationKeys& keys, const Ciphertext& low) const {
  const rlwe::Context& context = *context_;
  const poly::RnsBase& base = context.base(0);
  const std::size_t batch = low.poly.shape().batch, degree = context.degree(), slots = degree / 2;
  poly::Poly coefficients = context.make_poly(batch, 2, base, Form::coefficient);
  context.backend().inverse_transform(context.queue(), coefficients.view(), low.poly.view(), base);
  std::vector<std::uint64_t> residues(batch * 2 * degree);
  if (context.ledger() == nullptr) {  // which has no values
    context.backend().download(context.queue(), residues, std::as_const(coefficients).view(),
                               Form::coefficient);
    context.queue().synchronize();
  }

  std::vector<std::shared_ptr<const rlwe::SwitchingKey>> encryptions;
  for (const KeyNeed& need : stage_.encryptions) encryptions.push_back(require_key(keys, need));
  const std::shared_ptr<const rlwe::Gadget>& gadget = encryptions.front()->gadget;
  const poly::ModUp& up = gadget->mod_up(stage_.level);
  rlwe::Metadata meta = low.meta;
  meta.level = stage_.level;
  meta.scale = context.scales().level_scale(stage_.level);
  meta.slots = slots;
  meta.largest = 1;
  meta = context.scales().number_product(std::move(meta), stage_.plaintext_scale);
  rlwe::ExtendedCiphertext sums{context_, gadget, std::move(meta),
                                context.make_poly(batch, 2, up.extended(), Form::evaluation)};
  const ckks::Encoder encoder(context_);
  for (std::size_t i = 0; i < batch; ++i) {
    const std::span<const std::uint64_t> own = std::span(residues).subspan(2 * i * degree, 2 * degree);
    const rlwe::Plaintext plaintexts =
        encoder.encode_over(up.extended(), exponentials(own.first(degree), own.last(degree)),
                            {encryptions.size()}, stage_.level, stage_.plaintext_scale);
    std::vector<poly::HoistedTerm> terms;
    for (std::size_t row = 0; row < encryptions.size(); ++row) {
      terms.push_back(
          {.digits = plaintexts.poly.view().batches(row, 1), .key = encryptions[row]->poly.view()});
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
  x = times_i(evaluator.subtract(evaluator.conjugate(x), x), i_);
  x.meta.slots = stage_.slots.values;
  x.meta.scale = stage_.result_scale;
  return x;
}

}  // namespace hemera::circuits
