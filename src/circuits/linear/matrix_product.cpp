#include "hemera/circuits/linear/matrix_product.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "circuits/plan_input.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using rlwe::Ciphertext;

// The slot that each slot [i, j] of a matrix takes its value from, by row and column.
template <typename From>
Diagonals permutation(std::size_t size, From from) {
  const std::size_t slots = size * size;
  Diagonals diagonals;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const std::size_t to = i * size + j;
      std::vector<Complex>& diagonal = diagonals[(from(i, j) + slots - to) % slots];
      diagonal.resize(slots);
      diagonal[to] = 1;
    }
  }
  return diagonals;
}

Diagonals sigma_of(std::size_t size) {
  return permutation(size, [=](std::size_t i, std::size_t j) { return i * size + (i + j) % size; });
}

Diagonals tau_of(std::size_t size) {
  return permutation(size, [=](std::size_t i, std::size_t j) { return (i + j) % size * size + j; });
}

Diagonals columns_of(std::size_t size, std::size_t k) {
  return permutation(size, [=](std::size_t i, std::size_t j) { return i * size + (j + k) % size; });
}

std::vector<Complex> product_of(const Diagonals& diagonals, std::span<const Complex> x) {
  std::vector<Complex> result(x.size());
  for (const auto& [number, diagonal] : diagonals) {
    for (std::size_t k = 0; k < x.size(); ++k) result[k] += diagonal[k] * x[(k + number) % x.size()];
  }
  return result;
}

}  // namespace

MatrixProduct::MatrixProduct(const rlwe::Parameters& parameters, std::size_t size,
                             const MatrixProductOptions& options)
    : Plan(parameters), size_(size), is_packed_(options.packed) {
  if (parameters.scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("a product of matrices is for CKKS, not for " + rlwe::name(parameters.scheme()));
  }
  if (!std::has_single_bit(size) || size < 2 || size > parameters.max_slots() / size) {
    throw ParameterError("a product of matrices of " + std::to_string(size) +
                         " rows; their number must be a power of two from 2 (fill up with zeros), and its "
                         "square at most " +
                         std::to_string(parameters.max_slots()) + " slots");
  }
  const std::size_t depth = is_packed_ ? 2 : 3;
  take_user_levels(options.level, depth, "a product of matrices");
  // One gadget for all levels, so that no rotation needs two keys.
  const rlwe::GadgetPrimes gadget = parameters.default_gadget(ends_.level);
  const std::size_t turned = ends_.result_level + 1;  // where the products are taken
  const auto transform = [&](Diagonals diagonals, std::size_t level) {
    return LinearTransform(parameters, std::move(diagonals), slots(), {.level = level, .gadget = gadget});
  };
  if (!is_packed_) {
    sigma_.push_back(transform(sigma_of(size), ends_.level));
    tau_.push_back(transform(tau_of(size), turned + 1));
  }
  for (std::size_t k = 1; k < size; ++k) columns_.push_back(transform(columns_of(size, k), turned + 1));
  rounding_ = division_error(parameters, slots());
  switching_ = switching_error(parameters, gadget, slots());
}

std::vector<std::size_t> MatrixProduct::rotations() const {
  std::set<std::size_t> rotations;
  for (const auto* row : {&sigma_, &tau_, &columns_}) {
    for (const LinearTransform& each : *row)
      rotations.insert(each.rotations().begin(), each.rotations().end());
  }
  for (std::size_t k = 1; k < size_; ++k) rotations.insert(k * size_);
  return {rotations.begin(), rotations.end()};
}

std::optional<rlwe::GadgetPrimes> MatrixProduct::gadget_of(const rlwe::KeyRole& /*role*/,
                                                           std::size_t /*level*/) const {
  return parameters().default_gadget(ends_.level);
}

std::vector<Plan::Input> MatrixProduct::inputs() const { return {{.slots = slots()}, {.slots = slots()}}; }

Plan::Evaluation MatrixProduct::bound(const rlwe::ContextPointer& context) const {
  return [prepared = std::make_shared<PreparedMatrixProduct>(context, *this)](
             const ckks::Evaluator& evaluator, auto inputs) {
    static_cast<void>((*prepared)(evaluator, *inputs[0], *inputs[1]));
  };
}

std::vector<Complex> MatrixProduct::pack(std::span<const Complex> matrix, Side side) const {
  if (matrix.size() != slots()) {
    throw ParameterError("a matrix of " + std::to_string(size_) + " x " + std::to_string(size_) + " with " +
                         std::to_string(matrix.size()) + " entries");
  }
  return product_of(side == Side::left ? sigma_of(size_) : tau_of(size_), matrix);
}

ExpectedError MatrixProduct::error_from(double input_error) const {
  const auto after = [&](const std::vector<LinearTransform>& transforms, double error) {
    return transforms.empty() ? error : transforms.front().expected_error(error).mean;
  };
  const double left = after(columns_, after(sigma_, input_error)), right = after(tau_, input_error);
  // Rotations of the right factor are divided each.
  const double turned = squared(right) + (squared(switching_) + squared(rounding_)) / squared(ends_.scale);
  const double error = std::sqrt(static_cast<double>(size_) * (squared(left) + turned) +
                                 squared(rounding_ / ends_.result_scale));
  return {.mean = error, .worst = error};
}

std::vector<Complex> MatrixProduct::evaluate_clear(std::span<const Complex> left,
                                                   std::span<const Complex> right) const {
  const std::vector<Complex> a = pack(left, Side::left), b = pack(right, Side::right);
  std::vector<Complex> result(slots());
  for (std::size_t k = 0; k < size_; ++k) {
    const std::vector<Complex> turned = k == 0 ? a : columns_[k - 1].evaluate_clear(a);
    for (std::size_t i = 0; i < slots(); ++i) result[i] += turned[i] * b[(i + k * size_) % slots()];
  }
  return result;
}

PreparedMatrixProduct::PreparedMatrixProduct(rlwe::ContextPointer context, const MatrixProduct& plan)
    : context_(std::move(context)), plan_(plan) {
  plan_.require_parameters(*context_, "matrix product");
  for (const LinearTransform& each : plan_.sigma_) sigma_.emplace_back(context_, each);
  for (const LinearTransform& each : plan_.tau_) tau_.emplace_back(context_, each);
  for (const LinearTransform& each : plan_.columns_) columns_.emplace_back(context_, each);
}

Ciphertext PreparedMatrixProduct::operator()(const ckks::Evaluator& evaluator, const Ciphertext& left,
                                             const Ciphertext& right) const {
  constexpr const char* operation = "matrix product";
  rlwe::require_same_context(*context_, *evaluator.context(), operation);
  for (const Ciphertext* factor : {&left, &right}) {
    rlwe::require_filled(*factor, operation);
    rlwe::require_same_context(*context_, *factor->context, operation);
    if (factor->meta.slots == plan_.slots()) continue;
    throw MismatchError("matrix product: matrices of " + std::to_string(plan_.size_) + " rows take " +
                        std::to_string(plan_.slots()) + " slots, and a ciphertext has " +
                        std::to_string(factor->meta.slots));
  }
  static_cast<void>(rlwe::broadcast(left.meta.batch, right.meta.batch, operation));
  const std::size_t product_level = plan_.ends_.result_level + 1;
  Ciphertext left_storage, right_storage;
  const Ciphertext& a = lowered_input(evaluator, left, plan_.ends_.level, left_storage);
  const Ciphertext& b =
      lowered_input(evaluator, right, plan_.is_packed_ ? product_level : product_level + 1, right_storage);
  const std::size_t needed = plan_.is_packed_ ? product_level : product_level + 1;
  if (a.meta.level < plan_.ends_.level || b.meta.level < needed) {
    throw LevelError("matrix product: it was planned for factors at level " +
                     std::to_string(plan_.ends_.level) + " and at least " + std::to_string(needed) +
                     ", and they are at levels " + std::to_string(a.meta.level) + " and " +
                     std::to_string(b.meta.level) + "; plan it for the lower one");
  }
  const Ciphertext sigma = plan_.is_packed_ ? a.clone() : sigma_.front()(evaluator, a);
  const Ciphertext tau = plan_.is_packed_ ? b.clone() : tau_.front()(evaluator, b);
  std::vector<std::int64_t> steps;
  for (std::size_t k = 1; k < plan_.size_; ++k) steps.push_back(static_cast<std::int64_t>(k * plan_.size_));
  const std::vector<Ciphertext> rows = evaluator.rotate_hoisted(tau, steps);
  std::vector<Ciphertext> columns;
  for (const PreparedLinearTransform& each : columns_) columns.push_back(each(evaluator, sigma));
  // phi^0, with the scale of the others.
  columns.insert(columns.begin(), sigma.clone());
  evaluator.adjust_to_level_inplace(columns.front(), product_level, columns.back().meta.scale);
  std::vector<const Ciphertext*> left_factors, right_factors{&tau};
  for (const Ciphertext& each : columns) left_factors.push_back(&each);
  for (const Ciphertext& each : rows) right_factors.push_back(&each);
  Ciphertext sum = evaluator.dot(left_factors, right_factors);
  evaluator.relinearize_inplace(sum);
  sum.meta.filled = 0;
  sum.meta.padding = rlwe::Padding::zeros;
  return evaluator.rescale(sum);
}

}  // namespace hemera::circuits
