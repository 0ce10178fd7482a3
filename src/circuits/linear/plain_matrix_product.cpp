#include "hemera/circuits/linear/plain_matrix_product.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "circuits/plan_input.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
PlainMatrixProduct::PlainMatrixProduct(const rlwe::Parameters& parameters, std::size_t rows,
                                       std::size_t columns, std::span<const double> weights,
                                       const PlainMatrixOptions& options)
    : Plan(parameters),
      rows_(rows),
      columns_(columns),
      bits_(options.bits),
      rescaled_(options.rescaled),
      slots_(options.slots.value_or(parameters.max_slots())) {
  if (parameters.scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("a product with a matrix of real numbers is for CKKS, not for " +
                        rlwe::name(parameters.scheme()) + "; BFV and BGV take a matrix of integers");
  }
  const std::string extents = std::to_string(rows) + " x " + std::to_string(columns);
  if (rows == 0 || columns == 0 || columns > rlwe::most_matrix_columns || weights.size() / columns != rows ||
      weights.size() % columns != 0) {
    throw ParameterError("a matrix of " + extents + " with " + std::to_string(weights.size()) +
                         " weights; it has 1 to " + std::to_string(rlwe::most_matrix_columns) +
                         " columns, and a weight for each place");
  }
  if (bits_ != 8 && bits_ != 16) {
    throw ParameterError("weights of " + std::to_string(bits_) + " bits; they have 8 or 16");
  }
  take_user_levels(options.level, rescaled_ ? 1 : 0, "a product with a matrix");
  rounding_ = division_error(parameters, slots_);
  double largest = 0;
  for (const double weight : weights) {
    if (!std::isfinite(weight)) {
      throw ParameterError("a weight is not finite; the entries of a matrix are finite numbers");
    }
    largest = std::max(largest, std::abs(weight));
  }
  const double largest_integer = std::exp2(bits_ - 1) - 1;
  if (largest > 0) factor_ = largest_integer / largest;
  if (rescaled_) {
    // The factor of the sums before the division is an integer, so that no scale is rounded.
    const rlwe::ScalePolicy scales(parameters);
    const double whole = ends_.result_scale * (scales.policy().scales[ends_.level].divisor / ends_.scale);
    factor_ = whole / std::max(1.0, std::ceil(whole / factor_));
  } else {
    ends_.result_scale = ends_.scale * factor_;
  }
  std::vector<std::int16_t> integers(weights.size());
  double errors = 0, norms = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    double error = 0, norm = 0;
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) {
      const double rounded = std::nearbyint(weights[i] * factor_);
      integers[i] = static_cast<std::int16_t>(rounded);
      error += squared(rounded / factor_ - weights[i]);
      norm += squared(rounded / factor_);
    }
    errors += error;
    norms += norm;
    worst_weights_error_ = std::max(worst_weights_error_, std::sqrt(error));
    worst_norm_ = std::max(worst_norm_, std::sqrt(norm));
  }
  weights_error_ = std::sqrt(errors / static_cast<double>(rows));
  norm_ = std::sqrt(norms / static_cast<double>(rows));
  integers_ = std::make_shared<const std::vector<std::int16_t>>(std::move(integers));
}

std::vector<Plan::Input> PlainMatrixProduct::inputs() const {
  return {{.slots = slots_, .batch = {columns_}}};
}

Plan::Evaluation PlainMatrixProduct::bound(const rlwe::ContextPointer& context) const {
  return [prepared = std::make_shared<PreparedPlainMatrixProduct>(context, *this)](
             const ckks::Evaluator& evaluator, auto inputs) {
    static_cast<void>((*prepared)(evaluator, *inputs[0]));
  };
}

ExpectedError PlainMatrixProduct::error_from(double input_error) const {
  const double own = rescaled_ ? squared(rounding_ / ends_.result_scale) : 0;
  const auto error = [&](double norm, double weights) {
    return std::sqrt(squared(norm * input_error) + squared(weights) + own);
  };
  return {.mean = error(norm_, weights_error_), .worst = error(worst_norm_, worst_weights_error_)};
}

PreparedPlainMatrixProduct::PreparedPlainMatrixProduct(const rlwe::ContextPointer& context,
                                                       const PlainMatrixProduct& plan)
    : plan_((plan.require_parameters(*context, "matrix product"), plan)),
      weights_(context, plan.rows(), plan.columns(), plan.integers()) {
  // Multiplied and divided in one pass, where doubles have the factor of both.
  const std::vector<rlwe::ScaleStep> steps = plan.rescaled_
                                                 ? end_of(*context, plan.ends_.scale * plan.factor_).steps
                                                 : std::vector<rlwe::ScaleStep>();
  if (steps.size() != 2 || steps[0].kind != rlwe::ScaleStep::Kind::multiply ||
      steps[1].kind != rlwe::ScaleStep::Kind::rescale) {
    return;
  }
  const poly::Division& rescale = context->rescale(plan.ends_.level);
  const double multiple = steps[0].scale_factor.value, factor = rescale.factor() * multiple;
  if (steps[0].scale_factor.rest != 0 || std::fma(rescale.factor(), multiple, -factor) != 0) return;
  multiple_ = multiple;
  division_.emplace(rescale.source(), rescale.target(), poly::RnsBase(), factor);
}

rlwe::ScaleWay PreparedPlainMatrixProduct::end_of(const rlwe::Context& context, double scale) const {
  rlwe::Metadata meta;
  meta.level = plan_.ends_.level;
  meta.scale = scale;
  return context.scales().adjusted(meta, plan_.ends_.result_level, plan_.ends_.result_scale);
}

rlwe::Ciphertext PreparedPlainMatrixProduct::operator()(const ckks::Evaluator& evaluator,
                                                        const rlwe::Ciphertext& x) const {
  rlwe::Ciphertext result = sums(evaluator, x);
  if (!plan_.rescaled_) return result;
  const rlwe::Context& context = *weights_.context();
  rlwe::ScaleWay way =
      context.scales().adjusted(result.meta, plan_.ends_.result_level, plan_.ends_.result_scale);
  if (!division_ || way.steps.size() != 2 || way.steps.front().scale_factor.value != multiple_) {
    evaluator.adjust_to_level_inplace(result, plan_.ends_.result_level, plan_.ends_.result_scale);
    return result;
  }
  rlwe::Ciphertext divided = rlwe::make_ciphertext(weights_.context(), std::move(way.meta), result.size());
  auto workspace = context.make_workspace();
  context.backend().divide_and_round(context.queue(), divided.poly.view(), result.poly.view(), *division_,
                                     poly::Form::evaluation, workspace);
  return divided;
}

rlwe::Ciphertext PreparedPlainMatrixProduct::sums(const ckks::Evaluator& evaluator,
                                                  const rlwe::Ciphertext& x) const {
  constexpr const char* operation = "matrix product";
  rlwe::require_same_context(*weights_.context(), *evaluator.context(), operation);
  rlwe::require_filled(x, operation);
  rlwe::require_same_context(*weights_.context(), *x.context, operation);
  rlwe::Ciphertext storage;
  const rlwe::Ciphertext& in = lowered_input(evaluator, x, plan_.ends_.level, storage);
  if (in.meta.level < plan_.ends_.level) {
    throw LevelError("matrix product: the ciphertexts are at level " + std::to_string(in.meta.level) +
                     ", below the plan's " + std::to_string(plan_.ends_.level));
  }
  rlwe::Ciphertext result = rlwe::multiply_matrix(weights_, in);
  const double scale = in.meta.scale * plan_.factor_;
  const double held = weights_.context()->base(in.meta.level).log2();
  if (std::log2(scale) + 1 > held) {
    throw LevelError("matrix product: the result's scale does not fit the modulus of level " +
                     std::to_string(in.meta.level) + "; take weights of fewer bits, or a higher level");
  }
  result.meta.scale = scale;
  result.meta.largest /= plan_.factor_;
  return result;
}

}  // namespace hemera::circuits
