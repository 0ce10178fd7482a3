#include "hemera/circuits/linear/matrix_batch_product.hpp"

#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/linear/slot_roots.hpp"
#include "circuits/plan_input.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/monomial.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using poly::Form;
using rlwe::Ciphertext;

// The keys of V and U: of s_j and of s_j s.
constexpr std::size_t key_kinds = 2;

}  // namespace

MatrixBatchProduct::MatrixBatchProduct(const rlwe::Parameters& parameters, std::size_t size,
                                       const MatrixBatchOptions& options)
    : Plan(parameters), size_(size), pairs_(size == 0 ? 0 : parameters.degree() / 2 / size) {
  if (parameters.scheme() != rlwe::Scheme::ckks) {
    throw MismatchError("products of batches of matrices are for CKKS, not for " +
                        rlwe::name(parameters.scheme()));
  }
  const std::size_t most = parameters.degree() / poly::min_entries;
  if (size < 2 || !std::has_single_bit(size) || size > most) {
    throw ParameterError("matrices of " + std::to_string(size) +
                         " rows; at N = " + std::to_string(parameters.degree()) +
                         " they have a power of two, from 2 to " + std::to_string(most));
  }
  take_user_levels(options.level, 1, "a batch of products of matrices");
  gadget_ = product_gadget(parameters, ends_.level, most_special_primes);
  rounding_ = division_error(parameters, parameters.max_slots());
  switching_ = switching_error(parameters, gadget_, parameters.max_slots());
}

// A slot of the ciphertext is a polynomial of degree d - 1 at its root, whose coefficients are a pair's
// entries.
std::vector<Complex> MatrixBatchProduct::pack(std::span<const Complex> matrices, Side side) const {
  const std::size_t d = size_, slots = parameters().max_slots();
  if (matrices.size() != pairs_ * d * d) {
    throw ParameterError(std::to_string(pairs_) + " matrices of " + std::to_string(d) + " x " +
                         std::to_string(d) + " with " + std::to_string(matrices.size()) + " entries in all");
  }
  const std::vector<Complex> at = slot_roots(parameters());
  std::vector<Complex> values(d * slots);
  const std::size_t outer = side == Side::right ? d : 1, inner = side == Side::right ? 1 : d;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const Complex* matrix = matrices.data() + slot % pairs_ * d * d + i * outer;
      Complex sum = 0;
      for (std::size_t u = d; u-- > 0;) sum = sum * at[slot] + matrix[u * inner];
      values[i * slots + slot] = sum;
    }
  }
  return values;
}

std::vector<Complex> MatrixBatchProduct::unpack(std::span<const Complex> values, Side side) const {
  const std::size_t d = size_, slots = parameters().max_slots();
  if (values.size() != d * slots) {
    throw ParameterError(std::to_string(values.size()) + " values; packed matrices have " +
                         std::to_string(d * slots));
  }
  const std::vector<Complex> at = slot_roots(parameters());
  std::vector<Complex> matrices(pairs_ * d * d);
  const std::size_t outer = side == Side::right ? d : 1, inner = side == Side::right ? 1 : d;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      Complex* const matrix = matrices.data() + slot % pairs_ * d * d + i * outer;
      Complex term = values[i * slots + slot] / static_cast<double>(d);
      for (std::size_t u = 0; u < d; ++u) {
        matrix[u * inner] += term;
        term *= std::conj(at[slot]);
      }
    }
  }
  return matrices;
}

std::vector<Plan::Input> MatrixBatchProduct::inputs() const {
  const Input factor{.slots = parameters().max_slots(), .batch = {size_}};
  return {factor, factor};
}

Plan::Evaluation MatrixBatchProduct::bound(const std::shared_ptr<const rlwe::Context>& context) const {
  return [prepared = std::make_shared<PreparedMatrixBatchProduct>(context, *this)](
             const ckks::Evaluator& evaluator, auto inputs) {
    static_cast<void>((*prepared)(evaluator, *inputs[0], *inputs[1]));
  };
}

// An entry is the mean of d slots, turned.
ExpectedError MatrixBatchProduct::error_from(double input_error) const {
  const auto d = static_cast<double>(size_);
  const double factors = 2 * d * squared(input_error) / d;
  const double keys = key_kinds * d * squared(switching_ / squared(ends_.scale)) / d;
  const double own = squared(rounding_ / ends_.result_scale) / d;
  const double error = std::sqrt(factors + keys + own);
  return {.mean = error, .worst = error};
}

struct PreparedMatrixBatchProduct::Sums {
  Ciphertext switched;  // (V_u, U_u)
  Ciphertext kept;      // (T_r, W_r)
};

PreparedMatrixBatchProduct::PreparedMatrixBatchProduct(const std::shared_ptr<const rlwe::Context>& context,
                                                       const MatrixBatchProduct& plan)
    : context_(context),
      plan_((plan.require_parameters(*context, "products of matrices"), plan)),
      gadget_(context->gadget(plan.gadget())) {
  const poly::RnsBase& extended = gadget_->mod_up(plan_.level()).extended();
  wrap_ = rlwe::monomial(*context, extended, plan.size());
}

PreparedMatrixBatchProduct::Sums PreparedMatrixBatchProduct::outer_products(const Ciphertext& left,
                                                                            const Ciphertext& right) const {
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  const poly::RnsBase& base = context.base(plan_.level());
  const std::size_t d = plan_.size();
  rlwe::Metadata meta = context.scales().product(left.meta, right.meta).meta;
  meta.batch = {d};
  meta.is_complex = true;
  // An entry is at most the largest slot; a slot of the product is d sums of d products.
  meta.largest *= squared(static_cast<double>(d));
  Sums sums{rlwe::make_ciphertext(context_, meta, 2), rlwe::make_ciphertext(context_, meta, 2)};
  // Part u of each column's b, and of each column's a: [component, u, k].
  poly::Poly parts =
      context.make_poly(2 * d, d, base, Form::evaluation, runtime::Secrecy::open, context.degree() / d);
  backend.split_parts(context.queue(), parts.view(), left.poly.view(), base);
  auto workspace = context.make_workspace();
  backend.multiply_elements(context.queue(), sums.kept.poly.view(), std::as_const(parts).view().batches(0, d),
                            right.poly.view(), base, workspace);
  backend.multiply_elements(context.queue(), sums.switched.poly.view(),
                            std::as_const(parts).view().batches(d, d), right.poly.view(), base, workspace);
  return sums;
}

poly::Poly PreparedMatrixBatchProduct::ordered_keys(const rlwe::EvaluationKeys& keys) const {
  const rlwe::Context& context = *context_;
  const std::size_t d = plan_.size();
  const poly::ModUp& up = gadget_->mod_up(plan_.level());
  const std::size_t digits = up.digits().size();
  poly::Poly ordered = context.make_poly(d * key_kinds * digits, 2, up.extended(), Form::evaluation);
  std::size_t place = 0;
  for (std::size_t j = d; j-- > 0;) {
    for (const bool times_secret : {false, true}) {
      const auto key =
          require_key(keys, {.role = rlwe::part_role({.parts = d, .index = j, .times_secret = times_secret}),
                             .gadget = plan_.gadget()});
      rlwe::with_restricted(context, key->poly, up.extended(), [&](const poly::ConstPolyView& own) {
        // One copy for digits that follow each other.
        for (std::size_t first = 0; first < digits;) {
          const std::size_t begin = up.digits()[first].key_digit;
          std::size_t count = 1;
          while (first + count < digits && up.digits()[first + count].key_digit == begin + count) ++count;
          context.backend().copy(context.queue(), ordered.view().batches(place, count),
                                 own.batches(begin, count));
          place += count;
          first += count;
        }
      });
    }
  }
  return ordered;
}

Ciphertext PreparedMatrixBatchProduct::operator()(const ckks::Evaluator& evaluator, const Ciphertext& left,
                                                  const Ciphertext& right) const {
  constexpr const char* operation = "products of matrices";
  rlwe::require_same_context(*context_, *evaluator.context(), operation);
  const std::size_t d = plan_.size();
  for (const Ciphertext* factor : {&left, &right}) {
    rlwe::require_filled(*factor, operation);
    rlwe::require_same_context(*context_, *factor->context, operation);
    if (factor->meta.batch != rlwe::BatchShape{d} || factor->meta.slots != plan_.parameters().max_slots()) {
      throw MismatchError("products of matrices: a factor is a batch of shape (" + std::to_string(d) +
                          ",) of " + std::to_string(plan_.parameters().max_slots()) +
                          " slots, not one of shape " + rlwe::to_text(factor->meta.batch) + " of " +
                          std::to_string(factor->meta.slots) + "; encrypt what pack makes of the matrices");
    }
    if (factor->meta.level < plan_.level()) {
      throw LevelError("products of matrices: a factor is at level " + std::to_string(factor->meta.level) +
                       ", below the plan's " + std::to_string(plan_.level()));
    }
  }
  plan_.require_keys(*context_, evaluator.keys());
  Ciphertext left_storage, right_storage;
  const Ciphertext& z = lowered_input(evaluator, left, plan_.level(), left_storage);
  const Ciphertext& x = lowered_input(evaluator, right, plan_.level(), right_storage);
  const Sums sums = outer_products(z, x);

  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  const poly::ModUp& up = gadget_->mod_up(plan_.level());
  const poly::RnsBase& extended = up.extended();
  // Digits of V_u and U_u by turns, behind their multiples by X^d: row r takes them from r + 1 on.
  const std::size_t kinds = key_kinds * up.digits().size();
  poly::Poly digits = context.make_poly(2 * d * key_kinds, up.digits().size(), extended, Form::evaluation);
  const poly::ConstPolyView one_by_one = sums.switched.poly.view().with_batch(d * key_kinds);
  auto workspace = context.make_workspace();
  const poly::PolyView whole = digits.view().batches(d * key_kinds, d * key_kinds);
  backend.mod_up(context.queue(), whole, one_by_one, up, Form::evaluation, workspace);
  backend.multiply(context.queue(), digits.view().batches(0, d * key_kinds), whole, wrap_.view(), extended);

  // out[r] = sum over places j, kinds and digits of digits[r + 1 + j] key[d - 1 - j].
  poly::ConstPolyView sliding = std::as_const(digits).view().batches(key_kinds, d);
  sliding.shape.components = d * kinds;
  sliding.batch_stride = kinds * sliding.component_stride;
  rlwe::ExtendedCiphertext rows = rlwe::extend(sums.kept, gadget_);
  {
    const poly::Poly keys = ordered_keys(evaluator.keys());
    poly::Poly switched = context.make_poly(d, 2, extended, Form::evaluation);
    backend.multiply_elements(context.queue(), switched.view(), sliding, keys.view(), extended, workspace);
    backend.add(context.queue(), rows.poly.view(), std::as_const(rows.poly).view(),
                std::as_const(switched).view(), extended);
  }
  return rlwe::mod_down_rescaled(rows);
}

}  // namespace hemera::circuits
