#include "hemera/circuits/linear/matrix_vector_product.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/plan_input.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using rlwe::Ciphertext;

std::string extents(std::size_t rows, std::size_t columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

}  // namespace

MatrixVectorProduct::MatrixVectorProduct(const rlwe::Parameters& parameters, std::size_t rows,
                                         std::size_t columns, const MatrixVectorOptions& options)
    : Plan(parameters), rows_(rows), columns_(columns), own_keys_(options.own_keys) {
  if (parameters.scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("a product of a matrix and a vector is for CKKS, not for " +
                        rlwe::name(parameters.scheme()));
  }
  if (rows == 0 || columns == 0 || std::max(rows, columns) > parameters.max_slots()) {
    throw ParameterError("a matrix of " + extents(rows, columns) + " does not fit " +
                         std::to_string(parameters.max_slots()) +
                         " slots; both extents are from 1 to their number");
  }
  if (options.baby_steps != 0 && !std::has_single_bit(options.baby_steps)) {
    throw ParameterError("baby_steps is " + std::to_string(options.baby_steps) + ", no power of two");
  }
  vector_slots_ = std::bit_ceil(columns);
  result_slots_ = std::bit_ceil(rows);
  slots_ = std::max(vector_slots_, result_slots_);
  diagonals_ = std::min(vector_slots_, result_slots_);
  take_user_levels(options.level, 1, "a product of a matrix and a vector");
  choose_steps(parameters, options.baby_steps);
  if (result_slots_ < slots_) {
    fold_ =
        SlotCircuit::inner_sum(parameters, slots_, {.count = slots_ / result_slots_, .stride = result_slots_},
                               true, {.level = ends_.result_level, .own_keys = own_keys_});
  }
  rounding_ = division_error(parameters, slots_);
  switching_ = switching_error(parameters, *gadget_of(rlwe::KeyRole::galois(1), ends_.level), slots_);
}

void MatrixVectorProduct::choose_steps(const rlwe::Parameters& parameters, std::size_t baby_steps) {
  // Costs in words of memory traffic: a switch reads two components of every digit's key; extending the
  // digits and dividing two components count thrice. A giant step relinearizes a sum and turns it.
  const auto digits = static_cast<double>(rlwe::key_digits(parameters.default_gadget(ends_.level)));
  const double baby = 2 * digits + 6, giant = 2 * (baby + 3 * digits);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t steps = 1; steps <= diagonals_; steps *= 2) {
    if (baby_steps != 0 && steps != std::min(baby_steps, diagonals_)) continue;
    const double own = static_cast<double>(steps) * baby + static_cast<double>(diagonals_ / steps) * giant;
    if (own >= least) continue;
    least = own;
    baby_steps_ = steps;
  }
}

std::set<std::size_t> MatrixVectorProduct::turns() const {
  std::set<std::size_t> turns;
  for (std::size_t baby = 1; baby < baby_steps_; ++baby) turns.insert(baby);
  for (std::size_t giant = baby_steps_; giant < diagonals_; giant += baby_steps_) turns.insert(giant);
  return turns;
}

std::vector<std::size_t> MatrixVectorProduct::rotations() const {
  std::set<std::size_t> rotations = turns();
  if (fold_) {
    const auto own = fold_->rotations();
    rotations.insert(own.begin(), own.end());
  }
  return {rotations.begin(), rotations.end()};
}

// Usual keys are all of one gadget, which serves the level of the last sum as well.
std::optional<rlwe::GadgetPrimes> MatrixVectorProduct::gadget_of(const rlwe::KeyRole& role,
                                                                 std::size_t level) const {
  if (!own_keys_) return parameters().default_gadget(ends_.level);
  return role.power == 2 ? product_gadget(parameters(), level, most_special_primes)
                         : rotation_gadget(parameters(), level, most_special_primes);
}

std::vector<Plan::Input> MatrixVectorProduct::inputs() const {
  return {{.slots = slots_, .batch = {diagonals_}}, {.slots = vector_slots_}};
}

Plan::Evaluation MatrixVectorProduct::bound(const rlwe::ContextPointer& context) const {
  return [prepared = std::make_shared<PreparedMatrixVectorProduct>(context, *this)](
             const ckks::Evaluator& evaluator, auto inputs) {
    static_cast<void>((*prepared)(evaluator, *inputs[0], *inputs[1]));
  };
}

std::vector<Complex> MatrixVectorProduct::pack(std::span<const Complex> matrix) const {
  if (matrix.size() != rows_ * columns_) {
    throw ParameterError("a matrix of " + extents(rows_, columns_) + " with " +
                         std::to_string(matrix.size()) + " entries");
  }
  std::vector<Complex> packed(diagonals_ * slots_);
  for (std::size_t j = 0; j < diagonals_; ++j) {
    const std::size_t giant = j - j % baby_steps_;
    for (std::size_t k = 0; k < slots_; ++k) {
      const std::size_t row = k % result_slots_, column = (k + j) % vector_slots_;
      if (row >= rows_ || column >= columns_) continue;
      packed[j * slots_ + (k + giant) % slots_] = matrix[row * columns_ + column];
    }
  }
  return packed;
}

ExpectedError MatrixVectorProduct::error_from(double input_error) const {
  const double fresh = squared(input_error);
  const double turn = squared(switching_) + squared(rounding_);
  const double baby =
      turn / squared(ends_.scale) * (static_cast<double>(baby_steps_) - 1) / static_cast<double>(baby_steps_);
  const double own = squared(rounding_ / ends_.result_scale);
  // Entries that are zero have errors, too: each meets a value.
  double variance = static_cast<double>(diagonals_) * (2 * fresh + baby) + own;
  if (fold_) variance = squared(fold_->expected_error(std::sqrt(variance)).mean);
  const double error = std::sqrt(variance);
  return {.mean = error, .worst = error};
}

std::vector<Complex> MatrixVectorProduct::evaluate_clear(std::span<const Complex> matrix,
                                                         std::span<const Complex> vector) const {
  if (vector.size() != columns_) {
    throw ParameterError("a matrix of " + extents(rows_, columns_) + " does not multiply " +
                         std::to_string(vector.size()) + " values");
  }
  const std::vector<Complex> packed = pack(matrix);
  std::vector<Complex> x(vector.begin(), vector.end()), result(slots_);
  x.resize(vector_slots_);
  for (std::size_t j = 0; j < diagonals_; ++j) {
    const std::size_t baby = j % baby_steps_, giant = j - baby;
    for (std::size_t k = 0; k < slots_; ++k) {
      const std::size_t place = (k + giant) % slots_;
      result[k] += packed[j * slots_ + place] * x[(place + baby) % vector_slots_];
    }
  }
  if (fold_) result = fold_->evaluate_clear(result);
  result.resize(rows_);
  return result;
}

PreparedMatrixVectorProduct::PreparedMatrixVectorProduct(rlwe::ContextPointer context,
                                                         const MatrixVectorProduct& plan)
    : context_(std::move(context)), plan_(plan) {
  plan_.require_parameters(*context_, "matrix and vector");
  if (plan_.fold_) fold_.emplace(context_, *plan_.fold_);
}

Ciphertext PreparedMatrixVectorProduct::operator()(const ckks::Evaluator& evaluator, const Ciphertext& matrix,
                                                   const Ciphertext& vector) const {
  constexpr const char* operation = "matrix and vector";
  rlwe::require_same_context(*context_, *evaluator.context(), operation);
  for (const Ciphertext* operand : {&matrix, &vector}) {
    rlwe::require_filled(*operand, operation);
    rlwe::require_same_context(*context_, *operand->context, operation);
  }
  if (matrix.meta.batch != rlwe::BatchShape{plan_.diagonals_} || matrix.meta.slots != plan_.slots_) {
    throw MismatchError("matrix and vector: a matrix of " + extents(plan_.rows_, plan_.columns_) +
                        " is a batch of shape {" + std::to_string(plan_.diagonals_) + "} of " +
                        std::to_string(plan_.slots_) + " slots, not one of shape " +
                        rlwe::to_text(matrix.meta.batch) + " of " + std::to_string(matrix.meta.slots) +
                        "; encrypt what pack makes of the matrix");
  }
  if (vector.meta.slots != plan_.vector_slots_) {
    throw MismatchError("matrix and vector: a matrix of " + std::to_string(plan_.columns_) +
                        " columns takes vectors of " + std::to_string(plan_.vector_slots_) +
                        " slots, not of " + std::to_string(vector.meta.slots));
  }
  Ciphertext matrix_storage, vector_storage;
  const Ciphertext& m = lowered_input(evaluator, matrix, plan_.ends_.level, matrix_storage);
  const Ciphertext& x = lowered_input(evaluator, vector, plan_.ends_.level, vector_storage);
  const std::size_t lower = std::min(m.meta.level, x.meta.level);
  if (lower < plan_.ends_.level) {
    throw LevelError("matrix and vector: the product was planned for level " +
                     std::to_string(plan_.ends_.level) + ", and an operand is at level " +
                     std::to_string(lower) + "; plan it for that level");
  }

  std::vector<std::int64_t> steps;
  for (std::size_t baby = 1; baby < plan_.baby_steps_; ++baby) {
    steps.push_back(static_cast<std::int64_t>(baby));
  }
  const std::vector<Ciphertext> turned = evaluator.rotate_hoisted(x, steps);
  std::vector<const Ciphertext*> babies{&x};
  for (const Ciphertext& each : turned) babies.push_back(&each);

  Ciphertext sum;
  for (std::size_t giant = 0; giant < plan_.diagonals_; giant += plan_.baby_steps_) {
    std::vector<Ciphertext> diagonals;
    for (std::size_t baby = 0; baby < plan_.baby_steps_; ++baby) {
      diagonals.push_back(rlwe::take(m, giant + baby));
    }
    std::vector<const Ciphertext*> factors;
    for (const Ciphertext& each : diagonals) factors.push_back(&each);
    Ciphertext part = evaluator.dot(factors, babies);
    evaluator.relinearize_inplace(part);
    if (giant == 0) {
      sum = std::move(part);
    } else {
      evaluator.add_inplace(sum, evaluator.rotate(part, static_cast<std::int64_t>(giant)));
    }
  }
  sum = evaluator.rescale(sum);
  if (fold_) sum = (*fold_)(evaluator, sum);
  // Every slot has its sum, so they repeat.
  sum.meta.slots = plan_.result_slots_;
  sum.meta.filled = 0;
  sum.meta.padding = rlwe::Padding::zeros;
  return sum;
}

}  // namespace hemera::circuits
