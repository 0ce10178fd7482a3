#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "circuits/coefficient.hpp"
#include "circuits/functions/function_bounds.hpp"
#include "circuits/functions/lowering.hpp"
#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"
#include "schemes/ckks/scaled_numbers.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;
using Value = Function::Value;

constexpr const char* operation = "function";

bool has_complex(const Coefficient& coefficient) {
  return std::any_of(coefficient.begin(), coefficient.end(), [](const auto& c) { return c.imag() != 0; });
}

bool has_complex(const FunctionStep& step) {
  return has_complex(step.constant) || std::any_of(step.terms.begin(), step.terms.end(),
                                                   [](const auto& term) { return has_complex(term.factor); });
}

// The residues of an integer factor, which must fit.
std::vector<std::uint64_t> scaled_number(double value, double scale, const poly::RnsBase& base) {
  if (std::log2(std::abs(value)) + std::log2(scale) + 1 > base.log2()) {
    throw ParameterError("function: its coefficient " + std::to_string(value) + " at scale 2^" +
                         std::to_string(std::log2(scale)) + " does not fit a level of " +
                         std::to_string(base.log2()) + " bits; plan it for a higher level");
  }
  return ckks::scaled_residues(value, scale, base);
}

rlwe::Plaintext encode(const ckks::Encoder& encoder, const poly::RnsBase& base,
                       const Coefficient& coefficient, std::size_t level, double scale) {
  if (coefficient.size() == 1) return encoder.encode_number(coefficient.front(), level, scale);
  return encoder.encode_over(base, coefficient, {}, level, scale, ckks::Stored::one_period, HUGE_VAL);
}

}  // namespace

PreparedFunction::PreparedFunction(std::shared_ptr<const rlwe::Context> context, const FunctionPlan& plan)
    : context_(std::move(context)), plan_(plan) {
  plan_.require_parameters(*context_, "function");
  require_room(*context_, plan_.cost_.plaintext_bytes + plan_.cost_.workspace_bytes, "function");
  const ckks::Encoder encoder(context_);
  const rlwe::ScalePolicy& scales = context_->scales();
  const std::size_t inputs = plan_.function_.inputs().size();
  for (std::size_t i = 0; i < plan_.steps_.size(); ++i) {
    const FunctionStep& step = plan_.steps_[i];
    const poly::RnsBase& base = context_->base(step.level);
    if (!is_real_number(step.constant)) {
      constants_.emplace(i, encode(encoder, base, step.constant, step.level, step.scale));
    }
    if (!step.rescaled) continue;
    const bool has_numbers = has_real_numbers(step);
    for (const auto& [value, factor] : step.terms) {
      rlwe::Metadata meta;
      meta.level = value < inputs ? plan_.level() : plan_.steps_[value - inputs].result_level;
      meta.scale = value < inputs ? plan_.scale() : plan_.steps_[value - inputs].result_scale;
      const double scale = step.scale / scales.dropped(meta, step.level).meta.scale;
      if (has_numbers) {
        numbers_[i].push_back(scaled_number(factor.front().real(), scale, base));
      } else {
        factors_[i].push_back(encode(encoder, base, factor, step.level, scale));
      }
    }
  }
}

// One run through the steps.
class PreparedFunction::Evaluation {
 public:
  Evaluation(const PreparedFunction& prepared, const ckks::Evaluator& evaluator,
             std::span<const Ciphertext* const> inputs)
      : prepared_(prepared), context_(*prepared.context_), evaluator_(evaluator) {
    for (const Ciphertext* input : inputs) {
      rlwe::require_filled(*input, operation);
      largest_.push_back(input->meta.largest);
    }
    prepared.plan_.function_.require_in_intervals(largest_);
    for (const Ciphertext* input : inputs) values_.push_back({.outside = fitted(*input), .lower = {}});
  }

  std::vector<Ciphertext> run() {
    const FunctionPlan& plan = prepared_.plan_;
    const std::vector<std::size_t> last = plan.last_uses();
    for (std::size_t i = 0; i < plan.steps_.size(); ++i) {
      const FunctionStep& step = plan.steps_[i];
      Ciphertext result = step.rescaled ? sum(step, i) : mapped(step, i);
      result.meta.scale = step.result_scale;
      result.meta.noise_scale_degree = 1;
      store(std::move(result));
      for (std::size_t value = 0; value < values_.size(); ++value) {
        if (last[value] == i) values_[value] = {};
      }
    }
    const std::vector<double> bounds = result_bounds();
    std::vector<Ciphertext> results;
    for (std::size_t i = 0; i < plan.outputs_.size(); ++i) {
      Held& held = values_[plan.outputs_[i]];
      const bool is_free = held.outside == nullptr &&
                           std::count(plan.outputs_.begin(), plan.outputs_.end(), plan.outputs_[i]) == 1;
      Ciphertext result = is_free ? std::move(held.own) : own(plan.outputs_[i]).clone();
      result.meta.largest = bounds[i];
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  [[nodiscard]] std::vector<double> result_bounds() const {
    const FunctionPlan& plan = prepared_.plan_;
    const bool is_declared =
        std::all_of(largest_.begin(), largest_.end(), [](double bound) { return std::isfinite(bound); });
    if (!is_declared) return std::vector<double>(plan.outputs_.size(), HUGE_VAL);
    return plan.function_.is_unbounded() ? bounds_of(plan.function_, largest_) : plan.largest_;
  }

  struct Held {
    const Ciphertext* outside = nullptr;  // an input that is used as it is
    Ciphertext own = {};
    std::map<std::size_t, Ciphertext> lower = {};  // copies at lower levels
  };

  // An input at the plan's level and scale; copies are kept.
  const Ciphertext* fitted(const Ciphertext& input) {
    const FunctionPlan& plan = prepared_.plan_;
    rlwe::require_same_context(context_, *input.context, operation);
    if (plan.function_.width() != 1 && input.meta.slots != plan.function_.width()) {
      throw MismatchError("function: its coefficients are of " + std::to_string(plan.function_.width()) +
                          " slots, and the ciphertext has " + std::to_string(input.meta.slots) +
                          "; give as many coefficients");
    }
    const rlwe::ScalePolicy& scales = context_.scales();
    const auto fits = [&](const Ciphertext& x) {
      return x.meta.level == plan.level() && scales.close(x.meta.scale, plan.scale());
    };
    if (input.size() == 2 && scales.finished(input.meta).steps.empty() && fits(input)) return &input;
    auto copy = std::make_unique<Ciphertext>(input.clone());
    if (copy->size() > 2) evaluator_.relinearize_inplace(*copy);
    if (!scales.finished(copy->meta).steps.empty()) evaluator_.rescale_inplace(*copy);
    if (copy->meta.level < plan.level()) {
      throw LevelError("function: it was planned for level " + std::to_string(plan.level()) +
                       ", and the ciphertext is at level " + std::to_string(copy->meta.level) +
                       "; plan it for that level");
    }
    if (copy->meta.level > plan.level()) {
      if (scales.close(copy->meta.scale, plan.scale())) {
        evaluator_.drop_to_level_inplace(*copy, plan.level());
      } else {
        evaluator_.adjust_to_level_inplace(*copy, plan.level(), plan.scale());
      }
    }
    if (!scales.close(copy->meta.scale, plan.scale())) {
      throw ScaleError("function: it was planned for the scale 2^" + std::to_string(std::log2(plan.scale())) +
                       ", and the ciphertext has 2^" + std::to_string(std::log2(copy->meta.scale)) +
                       "; plan it for that scale");
    }
    fitted_.push_back(std::move(copy));
    return fitted_.back().get();
  }

  const Ciphertext& own(Value value) const {
    const Held& held = values_[value];
    return held.outside != nullptr ? *held.outside : held.own;
  }

  void store(Ciphertext result) {
    values_.emplace_back();
    values_.back().own = std::move(result);
  }

  // The value with the limbs of a level.
  const Ciphertext& at(Value value, std::size_t level) {
    const Ciphertext& whole = own(value);
    if (whole.meta.level == level) return whole;
    auto& lower = values_[value].lower;
    if (const auto found = lower.find(level); found != lower.end()) return found->second;
    Ciphertext part;
    if (context_.base(level).without(whole.poly.base()).empty()) {
      rlwe::Metadata meta = whole.meta;
      meta.level = level;
      part = {
          whole.context, std::move(meta), rlwe::restrict_to(context_, whole.poly, context_.base(level)), {}};
    } else {
      part = whole.clone();
      evaluator_.drop_to_level_inplace(part, level);
    }
    return lower.emplace(level, std::move(part)).first->second;
  }

  // The same to read, without a copy where the level's limbs come first.
  poly::ConstPolyView view(Value value, std::size_t level) {
    const Ciphertext& whole = own(value);
    const auto wanted = context_.base(level).values(), there = whole.poly.base().values();
    if (wanted.size() <= there.size() && std::equal(wanted.begin(), wanted.end(), there.begin())) {
      return whole.poly.view().limbs(0, wanted.size());
    }
    return at(value, level).poly.view();
  }

  // Sums carry no bounds: those of the results are the plan's.
  [[nodiscard]] rlwe::Metadata metadata(const FunctionStep& step) const {
    std::vector<Value> values;
    for (const auto& [a, b] : step.products) values.insert(values.end(), {a, b});
    for (const auto& term : step.terms) values.push_back(term.value);
    rlwe::Metadata meta = own(values.front()).meta;
    for (const Value value : values) {
      const rlwe::Metadata& other = own(value).meta;
      meta.batch = rlwe::broadcast(meta.batch, other.batch, operation);
      rlwe::join_filling(meta, meta, other, false);
      meta.slots = std::max(meta.slots, other.slots);
    }
    meta.is_complex = meta.is_complex || has_complex(step);
    meta.padding = rlwe::no_longer_zeros(meta);
    if (prepared_.plan_.function_.width() != 1 && meta.padding == rlwe::Padding::uniform) {
      meta.padding = meta.filled == 0 ? rlwe::Padding::zeros : rlwe::Padding::unknown;
    }
    return waiting(std::move(meta), step);
  }
  [[nodiscard]] static rlwe::Metadata waiting(rlwe::Metadata meta, const FunctionStep& step) {
    meta.level = step.level;
    meta.scale = step.scale;
    meta.noise_scale_degree = 2;
    meta.largest = HUGE_VAL;
    return meta;
  }

  void add_constant(Ciphertext& sum, const FunctionStep& step, std::size_t number) const {
    if (const auto found = prepared_.constants_.find(number); found != prepared_.constants_.end()) {
      // Coefficients of all slots fill none: metadata() says what is filled.
      const rlwe::Metadata before = sum.meta;
      evaluator_.add_plain_inplace(sum, found->second);
      rlwe::copy_filling(sum.meta, before);
    } else {
      evaluator_.add_scalar_inplace(sum, {.value = step.constant.front()});
    }
  }

  // The products' factor is that of a product taken once or twice, so that nothing else goes over the sum.
  void multiply(const poly::PolyView& out, const FunctionStep& step) {
    std::vector<poly::ConstPolyView> a, b;
    for (int time = 0; time < std::abs(step.factor); ++time) {
      for (const auto& product : step.products) {
        a.push_back(view(product.a, step.level));
        b.push_back(view(product.b, step.level));
      }
    }
    const poly::RnsBase& base = context_.base(step.level);
    context_.inner_product(out, a, b, base);
    if (step.factor < 0) context_.backend().negate(context_.queue(), out, out, base);
  }

  // Adds the terms to products, or makes their sum. Numbers go along with the constant in one pass.
  void add_terms(Ciphertext& sum, const FunctionStep& step, std::size_t number) {
    const poly::Backend& backend = context_.backend();
    const poly::RnsBase& base = context_.base(step.level);
    const poly::PolyView out = sum.poly.view().components(0, 2);
    const bool has_products = !step.products.empty();
    std::vector<poly::ConstPolyView> values;
    for (const auto& term : step.terms) values.push_back(view(term.value, step.level));
    if (const auto numbers = prepared_.numbers_.find(number); numbers != prepared_.numbers_.end()) {
      auto scalars = numbers->second;
      if (has_products) {
        values.insert(values.begin(), out);
        scalars.insert(scalars.begin(), std::vector<std::uint64_t>(base.size(), 1));
      }
      const bool adds_number = !prepared_.constants_.contains(number) && step.constant.front() != 0.0;
      std::vector<std::uint64_t> constant;
      if (adds_number) constant = ckks::scaled_residues(step.constant.front().real(), step.scale, base);
      auto workspace = context_.make_workspace();
      backend.combine(context_.queue(), out, values, scalars, constant, base, workspace);
      if (prepared_.constants_.contains(number)) add_constant(sum, step, number);
      return;
    }
    if (!step.terms.empty()) {
      std::vector<poly::ConstPolyView> factors;
      for (const rlwe::Plaintext& factor : prepared_.factors_.at(number))
        factors.push_back(factor.poly.view());
      if (has_products) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          backend.multiply_add(context_.queue(), out, values[i], factors[i], base);
        }
      } else {
        backend.inner_product(context_.queue(), out, values, factors, base);
      }
    }
    add_constant(sum, step, number);
  }

  Ciphertext sum(const FunctionStep& step, std::size_t number) {
    Ciphertext sum = rlwe::make_ciphertext(prepared_.context_, metadata(step), step.products.empty() ? 2 : 3);
    if (!step.products.empty()) multiply(sum.poly.view(), step);
    add_terms(sum, step, number);
    return evaluator_.relinearize_rescale(sum);
  }

  Ciphertext mapped(const FunctionStep& step, std::size_t number) {
    Ciphertext result = own(step.terms.front().value).clone();
    result.meta = waiting(std::move(result.meta), step);
    add_constant(result, step, number);
    return result;
  }

  const PreparedFunction& prepared_;
  const rlwe::Context& context_;
  const ckks::Evaluator& evaluator_;
  std::vector<std::unique_ptr<Ciphertext>> fitted_;
  std::vector<Held> values_;
  std::vector<double> largest_;  // declared bounds of the inputs
};

std::vector<Ciphertext> PreparedFunction::operator()(const ckks::Evaluator& evaluator,
                                                     std::span<const Ciphertext* const> inputs) const {
  rlwe::require_same_context(*context_, *evaluator.context(), operation);
  if (inputs.size() != plan_.function_.inputs().size()) {
    throw MismatchError("function: it has " + std::to_string(plan_.function_.inputs().size()) +
                        " inputs, and " + std::to_string(inputs.size()) + " ciphertexts were given");
  }
  return Evaluation(*this, evaluator, inputs).run();
}

}  // namespace hemera::circuits
