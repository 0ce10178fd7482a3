#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "circuits/coefficient.hpp"
#include "circuits/functions/function_evaluation.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/ckks/scaled_numbers.hpp"

namespace hemera::circuits {

using poly::ConstPolyView;
using poly::Form;
using poly::PolyView;
using rlwe::Ciphertext;
using Value = Function::Value;

namespace {

// Times that the products are taken: their factor, so that nothing else goes over the sum.
int repetitions(const FunctionStep& step) { return step.doubles_by_scale ? 1 : std::abs(step.factor); }

}  // namespace

std::vector<std::uint64_t> scaled_number(const arith::TwoDoubles& value, const arith::TwoDoubles& scale,
                                         const poly::RnsBase& base) {
  if (std::log2(std::abs(value.value)) + std::log2(scale.value) + 1 > base.log2()) {
    throw ParameterError("function: its coefficient " + std::to_string(value.value) + " at scale 2^" +
                         std::to_string(std::log2(scale.value)) + " does not fit a level of " +
                         std::to_string(base.log2()) + " bits; plan it for a higher level");
  }
  return ckks::residues(ckks::scaled_integer(value, scale), base);
}

std::vector<std::uint64_t> scaled_constant(const FunctionStep& step, const poly::RnsBase& base, bool after) {
  const arith::TwoDoubles scale = after ? arith::TwoDoubles{step.result_scale, step.result_scale_rest}
                                        : arith::TwoDoubles{step.scale, step.scale_rest};
  return scaled_number({step.constant.front().real(), step.constant_rest}, scale, base);
}

bool PreparedFunction::Evaluation::is_single(const FunctionStep& step) const {
  return context_.multiplier() == nullptr && step.rescaled && step.products.size() == 1 &&
         repetitions(step) == 1 && step.factor > 0 && step.terms.empty() && is_real_number(step.constant) &&
         (is_zero(step.constant) || step.doubles_by_scale);
}

void PreparedFunction::Evaluation::multiply_relinearize(const PolyView& out, const FunctionStep& step) {
  const auto key = this->key(step.level);
  const auto& [a, b] = step.products.front();
  std::vector<std::uint64_t> added;
  if (!is_zero(step.constant)) added = scaled_constant(step, context_.base(step.result_level), true);
  auto workspace = context_.make_workspace();
  context_.backend().multiply_relinearize(
      context_.queue(), out, view(a, step.level), view(b, step.level), key->poly.view(),
      key->gadget->mod_up(step.level), key->gadget->mod_down(step.level, step.level - 1), workspace, added);
}

void PreparedFunction::Evaluation::multiply(const PolyView& out, const FunctionStep& step) {
  std::vector<ConstPolyView> a, b;
  for (int time = 0; time < repetitions(step); ++time) {
    for (const auto& product : step.products) {
      a.push_back(view(product.a, step.level));
      b.push_back(view(product.b, step.level));
    }
  }
  const poly::RnsBase& base = context_.base(step.level);
  std::vector<std::uint64_t> added;
  if (step.terms.empty() && is_real_number(step.constant) && !is_zero(step.constant)) {
    added = scaled_constant(step, base);
  }
  if (step.factor > 0) return context_.inner_product(out, a, b, base, added);
  context_.inner_product(out, a, b, base);
  context_.backend().negate(context_.queue(), out, out, base);
  if (added.empty()) return;
  const PolyView first = out.components(0, 1);
  context_.backend().add_scalar(context_.queue(), first, first, added, Form::evaluation, base);
}

// Adds terms that are numbers, and a constant, to products, or makes their sum, in one pass.
void PreparedFunction::Evaluation::add_numbers(const PolyView& out, std::size_t number) {
  const FunctionStep& step = prepared_.plan_.steps_[number];
  const poly::RnsBase& base = context_.base(step.level);
  if (step.terms.empty()) return;
  const bool has_number = is_real_number(step.constant) && !is_zero(step.constant);
  std::vector<std::uint64_t> constant;
  if (has_number) constant = scaled_constant(step, base);
  const auto& numbers = prepared_.numbers_.at(number);
  if (!step.rescaled && step.terms.size() == 1 && !has_number) {
    const ConstPolyView only = view(step.terms.front().value, step.level);
    context_.backend().multiply_scalar(context_.queue(), out, only, numbers.front(), base);
    return;
  }
  std::vector<ConstPolyView> values;
  std::vector<std::vector<std::uint64_t>> scalars;
  if (!step.products.empty()) {
    values.push_back(out);
    scalars.emplace_back(base.size(), 1);
  }
  for (const auto& term : step.terms) values.push_back(view(term.value, step.level));
  scalars.insert(scalars.end(), numbers.begin(), numbers.end());
  auto workspace = context_.make_workspace();
  context_.backend().combine(context_.queue(), out, values, scalars, constant, base, workspace);
}

// The same with plaintexts.
void PreparedFunction::Evaluation::add_plaintexts(Ciphertext& sum, std::size_t number) {
  const FunctionStep& step = prepared_.plan_.steps_[number];
  const poly::Backend& backend = context_.backend();
  const poly::RnsBase& base = context_.base(step.level);
  const PolyView out = sum.poly.view().components(0, 2);
  if (const auto found = prepared_.factors_.find(number); found != prepared_.factors_.end()) {
    std::vector<ConstPolyView> values, factors;
    for (const auto& term : step.terms) values.push_back(view(term.value, step.level));
    for (const rlwe::Plaintext& factor : found->second) factors.push_back(factor.poly.view());
    if (step.products.empty()) {
      backend.inner_product(context_.queue(), out, values, factors, base);
    } else if (values.size() == 1) {
      backend.multiply_add(context_.queue(), out, values.front(), factors.front(), base);
    } else {
      poly::Poly terms = context_.make_poly(out.shape.batch, 2, base, Form::evaluation);
      backend.inner_product(context_.queue(), terms.view(), values, factors, base);
      backend.add(context_.queue(), out, out, std::as_const(terms).view(), base);
    }
  } else if (!step.terms.empty()) {
    add_numbers(out, number);
  }
  add_constant(out.components(0, 1), number);
}

void PreparedFunction::Evaluation::add_constant(const PolyView& first, std::size_t number) {
  const FunctionStep& step = prepared_.plan_.steps_[number];
  const poly::RnsBase& base = context_.base(step.level);
  if (const auto found = prepared_.constants_.find(number); found != prepared_.constants_.end()) {
    context_.backend().add(context_.queue(), first, first, found->second.poly.view(), base);
  } else if (step.constant.front() != 0.0) {
    context_.backend().add_scalar(context_.queue(), first, first, scaled_constant(step, base),
                                  Form::evaluation, base);
  }
}

Ciphertext PreparedFunction::Evaluation::sum(std::size_t number) {
  const FunctionStep& step = prepared_.plan_.steps_[number];
  const rlwe::Metadata before = metadata(step);
  Ciphertext result;
  const auto divided = [&] {
    return rlwe::make_ciphertext(prepared_.context_,
                                 step.rescaled ? context_.scales().rescaled(before) : before, 2);
  };
  const auto is_whole = [&](Value value) { return meta(value).batch == before.batch; };
  if (is_lowered(step)) {
    result = divided();
    lower_along(number, number + 1, result.poly.view(), 0, result.poly.shape().batch);
    return result;
  }
  if (is_single(step) && is_whole(step.products.front().a) && is_whole(step.products.front().b)) {
    result = divided();
    multiply_relinearize(result.poly.view(), step);
    return result;
  }
  Ciphertext sum = rlwe::make_ciphertext(prepared_.context_, before, step.products.empty() ? 2 : 3);
  if (!step.products.empty()) multiply(sum.poly.view(), step);
  if (prepared_.factors_.contains(number) || prepared_.constants_.contains(number)) {
    add_plaintexts(sum, number);
  } else {
    add_numbers(sum.poly.view().components(0, 2), number);
  }
  if (step.products.empty()) return step.rescaled ? evaluator_.relinearize_rescale(sum) : std::move(sum);
  result = divided();
  relinearize(result.poly.view(), std::as_const(sum).poly.view(), step.level, step.result_level);
  return result;
}

// The products of the parts that are joined, or of one of them.
Ciphertext PreparedFunction::Evaluation::unjoined(std::size_t number) {
  const FunctionStep& step = prepared_.plan_.steps_[number];
  rlwe::Metadata before = metadata(step);
  Ciphertext sum = rlwe::make_ciphertext(prepared_.context_, before, 3);
  multiply(sum.poly.view(), step);
  add_numbers(sum.poly.view().components(0, 2), number);
  sum.meta = std::move(before);
  if (part_ == Part::imaginary) {
    context_.backend().multiply(context_.queue(), sum.poly.view(), std::as_const(sum.poly).view(),
                                prepared_.imaginary_unit_.poly.view(), context_.base(step.level));
  }
  return sum;
}

// Real and imaginary parts, joined before they are relinearized.
Ciphertext PreparedFunction::Evaluation::joined(std::size_t number) {
  const FunctionStep& step = prepared_.plan_.steps_[number];
  Ciphertext sum = unjoined(number);
  const std::size_t half = sum.poly.shape().batch / 2;
  const PolyView real = sum.poly.view().batches(0, half), imaginary = sum.poly.view().batches(half, half);
  context_.backend().multiply_add(context_.queue(), real, imaginary, prepared_.imaginary_unit_.poly.view(),
                                  context_.base(step.level));
  sum.meta.batch.erase(sum.meta.batch.begin());
  return divided(real, std::move(sum.meta), step);
}

Ciphertext PreparedFunction::Evaluation::joined(const Ciphertext& sum) {
  const FunctionStep& step = prepared_.plan_.steps_.back();
  store(divided(sum.poly.view(), waiting(sum.meta, step), step), step);
  return output(values_.size() - 1);
}

Ciphertext PreparedFunction::Evaluation::divided(const ConstPolyView& joined, rlwe::Metadata before,
                                                 const FunctionStep& step) {
  before.is_complex = true;
  if (step.rescaled) before = context_.scales().rescaled(before);
  Ciphertext result = rlwe::make_ciphertext(prepared_.context_, std::move(before), 2);
  relinearize(result.poly.view(), joined, step.level, step.result_level);
  return result;
}

// One term by its scale: the value itself, where it is the last to take it.
void PreparedFunction::Evaluation::map(std::size_t number, bool is_last) {
  const FunctionStep& step = prepared_.plan_.steps_[number];
  const Value value = step.terms.front().value;
  rlwe::Metadata after = waiting(meta(value), step);
  if (!is_last || values_[value].outside != nullptr) {
    Ciphertext result = copied(value);
    result.meta = std::move(after);
    evaluator_.add_scalar_inplace(result, step.constant.front());
    return store(std::move(result), step);
  }
  Held held = std::move(values_[value]);
  held.lower.clear();
  after.noise_scale_degree = 1;
  after.padding = step.constant.front() == 0.0 ? after.padding : rlwe::no_longer_zeros(after);
  held.meta = std::move(after);
  if (step.constant.front() != 0.0) {
    const std::size_t count = rlwe::batch_count(held.meta.batch);
    const PolyView first = held.poly->view().batches(held.first, count).components(0, 1);
    const poly::RnsBase& base = context_.base(step.level);
    context_.backend().add_scalar(context_.queue(), first, first, scaled_constant(step, base),
                                  Form::evaluation, base);
  }
  values_[value] = {};
  values_.push_back(std::move(held));
}

void PreparedFunction::Evaluation::relinearize(const PolyView& out, const ConstPolyView& products,
                                               std::size_t level, std::size_t result_level) const {
  const auto key = this->key(level);
  const poly::KeySwitch only{out, key->poly.view()};
  auto workspace = context_.make_workspace();
  context_.backend().switch_keys(context_.queue(), std::span(&only, 1), products.components(2, 1),
                                 key->gadget->mod_up(level), key->gadget->mod_down(level, result_level),
                                 products.components(0, 2), workspace);
}

std::shared_ptr<const rlwe::SwitchingKey> PreparedFunction::Evaluation::key(std::size_t level) const {
  const rlwe::KeyRole role = rlwe::KeyRole::relinearization();
  if (const auto gadget = prepared_.plan_.gadget_of(role, level)) {
    if (auto own = evaluator_.keys().find(role, *gadget)) return own;
  }
  if (auto usual = evaluator_.keys().find(role, level)) return usual;
  // The evaluator says which key is missing, and what to do.
  rlwe::Metadata unswitched;
  unswitched.level = level;
  static_cast<void>(
      evaluator_.relinearize_rescale(rlwe::make_ciphertext(prepared_.context_, std::move(unswitched), 3)));
  throw MissingKeyError("function: the relinearization key is missing");
}

}  // namespace hemera::circuits
