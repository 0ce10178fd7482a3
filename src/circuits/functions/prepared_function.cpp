#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "hemera/circuits/functions/function_plan.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::circuits {
namespace {

using rlwe::Ciphertext;
using Value = Function::Value;

constexpr const char* operation = "function";

bool is_one_real_number(const Coefficient& coefficient) {
  return coefficient.size() == 1 && coefficient.front().imag() == 0;
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
    if (!is_one_real_number(step.constant)) {
      constants_.emplace(i, encode(encoder, base, step.constant, step.level, step.scale));
    }
    if (!step.rescaled) continue;
    for (std::size_t term = 0; term < step.terms.size(); ++term) {
      const auto& [value, factor] = step.terms[term];
      rlwe::Metadata meta;
      meta.level = value < inputs ? plan_.level() : plan_.steps_[value - inputs].result_level;
      meta.scale = value < inputs ? plan_.scale() : plan_.steps_[value - inputs].result_scale;
      const double scale = step.scale / scales.dropped(meta, step.level).meta.scale;
      factors_.emplace(std::pair(i, term), encode(encoder, base, factor, step.level, scale));
    }
  }
}

// One run through the steps.
class PreparedFunction::Evaluation {
 public:
  Evaluation(const PreparedFunction& prepared, const ckks::Evaluator& evaluator,
             std::span<const Ciphertext* const> inputs)
      : prepared_(prepared), context_(*prepared.context_), evaluator_(evaluator) {
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
    std::vector<Ciphertext> results;
    for (std::size_t i = 0; i < plan.outputs_.size(); ++i) {
      Held& held = values_[plan.outputs_[i]];
      const bool is_free = held.outside == nullptr &&
                           std::count(plan.outputs_.begin(), plan.outputs_.end(), plan.outputs_[i]) == 1;
      Ciphertext result = is_free ? std::move(held.own) : own(plan.outputs_[i]).clone();
      const bool is_declared =
          std::all_of(largest_.begin(), largest_.end(), [](double bound) { return std::isfinite(bound); });
      result.meta.largest = is_declared ? plan.largest_[i] : HUGE_VAL;
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  struct Held {
    const Ciphertext* outside = nullptr;  // an input that is used as it is
    Ciphertext own = {};
    std::map<std::size_t, Ciphertext> lower = {};  // copies at lower levels
  };

  // An input at the plan's level and scale; copies are kept.
  const Ciphertext* fitted(const Ciphertext& input) {
    const FunctionPlan& plan = prepared_.plan_;
    rlwe::require_filled(input, operation);
    rlwe::require_same_context(context_, *input.context, operation);
    if (plan.function_.width() != 1 && input.meta.slots != plan.function_.width()) {
      throw MismatchError("function: its coefficients are of " + std::to_string(plan.function_.width()) +
                          " slots, and the ciphertext has " + std::to_string(input.meta.slots) +
                          "; give as many coefficients");
    }
    largest_.push_back(input.meta.largest);
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

  // Products and terms carry no bounds: those of the results are the plan's.
  [[nodiscard]] rlwe::Metadata unbounded(rlwe::Metadata meta, const FunctionStep& step) const {
    meta.level = step.level;
    meta.scale = step.scale;
    meta.noise_scale_degree = 2;
    meta.largest = HUGE_VAL;
    return meta;
  }

  void add_constant(Ciphertext& sum, const FunctionStep& step, std::size_t number) const {
    if (const auto found = prepared_.constants_.find(number); found != prepared_.constants_.end()) {
      evaluator_.add_plain_inplace(sum, found->second);
    } else {
      evaluator_.add_scalar_inplace(sum, {.value = step.constant.front()});
    }
  }

  Ciphertext products(const FunctionStep& step) {
    std::vector<const Ciphertext*> a, b;
    for (const auto& product : step.products) {
      a.push_back(&at(product.a, step.level));
      b.push_back(&at(product.b, step.level));
    }
    Ciphertext sum = a.size() == 1 ? evaluator_.multiply(*a[0], *b[0]) : evaluator_.dot(a, b);
    evaluator_.relinearize_inplace(sum);
    if (step.factor == 2) evaluator_.add_inplace(sum, sum);
    if (step.factor == -1) evaluator_.negate_inplace(sum);
    return sum;
  }

  Ciphertext terms(const FunctionStep& step, std::size_t number) {
    std::vector<poly::ConstPolyView> a, b;
    rlwe::Metadata meta = own(step.terms.front().value).meta;
    for (std::size_t term = 0; term < step.terms.size(); ++term) {
      const Value value = step.terms[term].value;
      a.push_back(view(value, step.level));
      b.push_back(prepared_.factors_.at({number, term}).poly.view());
      const rlwe::Metadata& other = own(value).meta;
      meta.batch = rlwe::broadcast(meta.batch, other.batch, operation);
      meta.slots = std::max(meta.slots, other.slots);
    }
    Ciphertext sum = rlwe::make_ciphertext(prepared_.context_, unbounded(std::move(meta), step), 2);
    context_.backend().inner_product(context_.queue(), sum.poly.view(), a, b, context_.base(step.level));
    return sum;
  }

  Ciphertext sum(const FunctionStep& step, std::size_t number) {
    Ciphertext sum;
    if (!step.products.empty()) {
      sum = products(step);
      sum.meta = unbounded(std::move(sum.meta), step);
    }
    if (!step.terms.empty()) {
      Ciphertext linear = terms(step, number);
      if (sum.context) {
        evaluator_.add_inplace(sum, linear);
      } else {
        sum = std::move(linear);
      }
    }
    add_constant(sum, step, number);
    return evaluator_.rescale(sum);
  }

  Ciphertext mapped(const FunctionStep& step, std::size_t number) {
    Ciphertext result = own(step.terms.front().value).clone();
    result.meta = unbounded(std::move(result.meta), step);
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
