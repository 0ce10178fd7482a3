#include "hemera/circuits/linear/packed_rows_product.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/linear/slot_roots.hpp"
#include "circuits/plan_input.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/arith/modulus.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/monomial.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using poly::ComponentOrder;
using poly::ConstPolyView;
using poly::Form;
using poly::PolyView;
using rlwe::Ciphertext;

// Digits of groups that are packed together.
constexpr std::size_t most_digit_bytes = std::size_t{1} << 29;

// N / 2 over the power of two that the vectors are filled up to: R^2 <= 2N, so that the R-th roots of unity
// are powers of X^R.
std::size_t parts_of(const rlwe::Parameters& parameters, std::size_t vectors) {
  const std::size_t slots = parameters.degree() / 2;
  if (vectors < 1 || vectors > slots / 2) {
    throw ParameterError("a product with packed rows of " + std::to_string(vectors) +
                         " vectors; at N = " + std::to_string(parameters.degree()) + " they are 1 to " +
                         std::to_string(slots / 2) + ", and PlainMatrixProduct takes more");
  }
  std::size_t parts = std::bit_floor(std::min(slots / std::bit_ceil(vectors), slots * 2 / poly::min_entries));
  while (parts * parts > 4 * slots) parts /= 2;
  return parts;
}

}  // namespace

PackedRowsProduct::PackedRowsProduct(const rlwe::Parameters& parameters, std::size_t rows,
                                     std::size_t columns, std::span<const double> weights,
                                     std::size_t vectors, const PackedRowsOptions& options)
    : Plan(parameters),
      product_(parameters, rows, columns, weights, {.level = options.level, .bits = options.bits}),
      vectors_(vectors),
      parts_(parts_of(parameters, vectors)) {
  ends_ = product_.ends();
  gadget_ = product_gadget(parameters, ends_.level, most_special_primes);
  rounding_ = division_error(parameters, parameters.max_slots());
  switching_ = switching_error(parameters, gadget_, parameters.max_slots());
}

// A slot is a polynomial of degree R - 1 at its root, whose coefficients are entries of one vector.
std::vector<Complex> PackedRowsProduct::pack(std::span<const Complex> matrix) const {
  const std::size_t rows = matrix.size() / vectors_, slots = parameters().max_slots();
  if (rows * vectors_ != matrix.size()) {
    throw ParameterError(std::to_string(matrix.size()) + " entries are no whole rows of " +
                         std::to_string(vectors_) + " vectors");
  }
  const std::vector<Complex> at = slot_roots(parameters());
  std::vector<Complex> values(groups(rows) * slots);
  for (std::size_t first = 0; first < rows; first += parts_) {
    Complex* const out = values.data() + first / parts_ * slots;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const std::size_t vector = slot % (slots / parts_);
      if (vector >= vectors_) continue;
      Complex sum = 0;
      for (std::size_t row = std::min(rows, first + parts_); row-- > first;) {
        sum = sum * at[slot] + matrix[row * vectors_ + vector];
      }
      out[slot] = sum;
    }
  }
  return values;
}

std::vector<Complex> PackedRowsProduct::unpack(std::span<const Complex> values, std::size_t rows) const {
  const std::size_t slots = parameters().max_slots();
  if (values.size() != groups(rows) * slots) {
    throw ParameterError(std::to_string(values.size()) + " values for " + std::to_string(rows) +
                         " rows, which have " + std::to_string(groups(rows) * slots));
  }
  const std::vector<Complex> at = slot_roots(parameters());
  std::vector<Complex> matrix(rows * vectors_);
  for (std::size_t first = 0; first < rows; first += parts_) {
    const Complex* const in = values.data() + first / parts_ * slots;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const std::size_t vector = slot % (slots / parts_);
      if (vector >= vectors_) continue;
      Complex term = in[slot] / static_cast<double>(parts_);
      for (std::size_t row = first; row < std::min(rows, first + parts_); ++row) {
        matrix[row * vectors_ + vector] += term;
        term *= std::conj(at[slot]);
      }
    }
  }
  return matrix;
}

std::vector<Plan::Input> PackedRowsProduct::inputs() const {
  return {{.slots = parameters().max_slots(), .batch = {input_ciphertexts()}}};
}

Plan::Evaluation PackedRowsProduct::bound(const rlwe::ContextPointer& context) const {
  return [prepared = std::make_shared<PreparedPackedRowsProduct>(context, *this)](
             const ckks::Evaluator& evaluator, auto inputs) {
    static_cast<void>((*prepared)(evaluator, *inputs[0]));
  };
}

// An entry is the mean of R slots, turned.
ExpectedError PackedRowsProduct::error_from(double input_error) const {
  const auto count = static_cast<double>(parts_);
  const double sums_scale = ends_.scale * product_.factor();
  const double packing = (squared(rounding_) + count * squared(switching_)) / squared(sums_scale);
  const double own = (packing + squared(rounding_ / ends_.result_scale)) / count;
  const auto error = [&](double norm, double weights) {
    return std::sqrt(squared(norm * input_error) / count + squared(weights) + own);
  };
  return {.mean = error(product_.norm_, product_.weights_error_),
          .worst = error(product_.worst_norm_, product_.worst_weights_error_)};
}

PreparedPackedRowsProduct::PreparedPackedRowsProduct(const rlwe::ContextPointer& context,
                                                     const PackedRowsProduct& plan)
    : context_(context),
      plan_((plan.require_parameters(*context, "product with packed rows"), plan)),
      product_(context, plan.product()),
      gadget_(context->gadget(plan.gadget())) {
  const poly::RnsBase& base = context->base(plan.level());
  const std::size_t parts = plan.parts(), order = 2 * context->degree();
  std::vector<std::size_t> of_places, of_turns, of_roots, of_parts;
  for (std::size_t r = 0; r < parts; ++r) {
    of_places.push_back(r);
    of_turns.push_back((order - r) % order);
    if (r < parts / 2) of_roots.push_back((order - order / parts * r) % order);
    of_parts.push_back(r == 0 ? 0 : parts - r);
  }
  places_ = rlwe::monomials(*context, base, of_places);
  turns_ = rlwe::monomials(*context, base, of_turns);
  roots_ = rlwe::monomials(*context, base, of_roots);
  parts_ = rlwe::monomials(*context, base, of_parts);
  std::vector<std::uint64_t> inverses;
  for (std::size_t l = 0; l < base.size(); ++l)
    inverses.push_back(arith::inverse(parts, base.modulus(l).value()));
  context->backend().multiply_scalar(context->queue(), parts_.view(), std::as_const(parts_).view(), inverses,
                                     base);
}

Ciphertext PreparedPackedRowsProduct::unpacked(const Ciphertext& x) const {
  const std::size_t parts = plan_.parts(), columns = plan_.columns();
  rlwe::Metadata meta = x.meta;
  meta.batch = {columns};
  Ciphertext rows = rlwe::make_ciphertext(context_, std::move(meta), 2);
  for (std::size_t first = 0; first < columns; first += parts) {
    const std::size_t count = std::min(parts, columns - first);
    context_->backend().multiply(
        context_->queue(), rows.poly.view().batches(first, count), x.poly.view().batches(first / parts, 1),
        std::as_const(turns_).view().batches(0, count), context_->base(plan_.level()));
  }
  return rows;
}

poly::Poly PreparedPackedRowsProduct::ordered_keys(const rlwe::EvaluationKeys& keys) const {
  const rlwe::Context& context = *context_;
  const std::size_t parts = plan_.parts();
  const poly::ModUp& up = gadget_->mod_up(plan_.level());
  poly::Poly ordered = context.make_poly(parts * up.digits().size(), 2, up.extended(), Form::evaluation);
  std::size_t place = 0;
  for (std::size_t u = 0; u < parts; ++u) {
    const auto key = require_key(
        keys,
        {.role = rlwe::part_role({.parts = parts, .index = (parts - u) % parts}), .gadget = plan_.gadget()});
    rlwe::with_restricted(context, key->poly, up.extended(), [&](const ConstPolyView& own) {
      for (const poly::GadgetDigit& digit : up.digits()) {
        context.backend().copy(context.queue(), ordered.view().batches(place++, 1),
                               own.batches(digit.key_digit, 1));
      }
    });
  }
  return ordered;
}

void PreparedPackedRowsProduct::exchange(const PolyView& out, const PolyView& rows) const {
  const poly::Backend& backend = context_->backend();
  runtime::Queue& queue = context_->queue();
  const poly::RnsBase& base = context_->base(plan_.level());
  const std::size_t parts = plan_.parts();
  const ConstPolyView roots = roots_.view().transposed();
  auto workspace = context_->make_workspace();
  backend.transform_components(queue, rows, roots, places_.view().transposed(), ComponentOrder::natural, base,
                               workspace);
  for (std::size_t place = 0; place < parts; ++place) {
    const std::size_t j = arith::reverse_bits(place, std::countr_zero(parts));
    backend.automorphism(queue, out.components(place, 1), rows.components(place, 1),
                         1 + 2 * context_->degree() / parts * j, Form::evaluation, base);
  }
  backend.transform_components(queue, out, roots, parts_.view().transposed(), ComponentOrder::reversed, base,
                               workspace);
}

void PreparedPackedRowsProduct::pack_groups(const PolyView& kept, const PolyView& switched,
                                            const ConstPolyView& rows, const poly::Poly& keys) const {
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const std::size_t parts = plan_.parts(), groups = kept.shape.batch;
  const std::size_t count = rows.shape.batch / groups;  // below R in a last group
  const poly::RnsBase& base = context.base(plan_.level());
  const poly::ModUp& up = gadget_->mod_up(plan_.level());
  auto workspace = context.make_workspace();
  // [group, row]
  const auto of_component = [&](std::size_t component) {
    ConstPolyView found = rows.components(component, 1);
    found.component_stride = found.batch_stride;
    found.shape.components = count;
    found.shape.batch = groups;
    found.batch_stride = count * found.component_stride;
    return found;
  };
  backend.multiply_elements(queue, kept.components(0, 1), of_component(0), places_.view().batches(0, count),
                            base, workspace);
  poly::Poly values = context.make_poly(groups, parts, base, Form::evaluation);
  poly::Poly exchanged = context.make_poly(groups, parts, base, Form::evaluation);
  backend.copy(queue, values.view().components(0, count), of_component(1));
  if (count < parts) backend.fill_zero(queue, values.view().components(count, parts - count));
  exchange(exchanged.view(), values.view());
  poly::Poly digits = context.make_poly(groups * parts, up.digits().size(), up.extended(), Form::evaluation);
  backend.mod_up(queue, digits.view(), std::as_const(exchanged).view().with_batch(groups * parts), up,
                 Form::evaluation, workspace);
  backend.multiply_elements(queue, switched, std::as_const(digits).view().with_batch(groups), keys.view(),
                            up.extended(), workspace);
}

Ciphertext PreparedPackedRowsProduct::packed(Ciphertext rows, const rlwe::EvaluationKeys& keys) const {
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const std::size_t parts = plan_.parts(), groups = plan_.result_ciphertexts();
  const poly::RnsBase& base = context.base(plan_.level());
  const poly::ModUp& up = gadget_->mod_up(plan_.level());
  const poly::RnsBase& extended = up.extended();

  rlwe::Metadata meta = rows.meta;
  meta.batch = {groups};
  meta.is_complex = true;
  meta.largest *= static_cast<double>(parts);                             // a slot is a sum of all parts
  Ciphertext kept = rlwe::make_ciphertext(context_, std::move(meta), 2);  // (sum of X^r b_r, 0)
  backend.fill_zero(queue, kept.poly.view().components(1, 1));
  rlwe::keep_first_part(context, rows.poly.view().components(0, 1), parts, base);
  const poly::Poly ordered = ordered_keys(keys);
  poly::Poly switched = context.make_poly(groups, 2, extended, Form::evaluation);
  const std::size_t group_bytes =
      parts * up.digits().size() * extended.size() * context.degree() * sizeof(std::uint64_t);
  const std::size_t together = std::max<std::size_t>(1, most_digit_bytes / group_bytes);
  const std::size_t whole = plan_.rows() / parts;  // groups
  for (std::size_t first = 0; first < groups;) {
    const std::size_t count = first == whole ? 1 : std::min(together, whole - first);
    const std::size_t end = std::min(plan_.rows(), (first + count) * parts);
    pack_groups(kept.poly.view().batches(first, count), switched.view().batches(first, count),
                std::as_const(rows.poly).view().batches(first * parts, end - first * parts), ordered);
    first += count;
  }
  rlwe::ExtendedCiphertext result = rlwe::extend(kept, gadget_);
  backend.add(queue, result.poly.view(), std::as_const(result.poly).view(), std::as_const(switched).view(),
              extended);
  return rlwe::mod_down(result);
}

Ciphertext PreparedPackedRowsProduct::operator()(const ckks::Evaluator& evaluator,
                                                 const Ciphertext& x) const {
  constexpr const char* operation = "product with packed rows";
  rlwe::require_same_context(*context_, *evaluator.context(), operation);
  rlwe::require_filled(x, operation);
  rlwe::require_same_context(*context_, *x.context, operation);
  const std::size_t slots = plan_.parameters().max_slots();
  if (x.meta.batch != rlwe::BatchShape{plan_.input_ciphertexts()} || x.meta.slots != slots) {
    throw MismatchError("product with packed rows: the rows are a batch of shape {" +
                        std::to_string(plan_.input_ciphertexts()) + "} of " + std::to_string(slots) +
                        " slots, not one of shape " + rlwe::to_text(x.meta.batch) + " of " +
                        std::to_string(x.meta.slots) + "; encrypt what pack makes of the matrix");
  }
  if (x.meta.level < plan_.level()) {
    throw LevelError("product with packed rows: the ciphertexts are at level " +
                     std::to_string(x.meta.level) + ", below the plan's " + std::to_string(plan_.level()));
  }
  plan_.require_keys(*context_, evaluator.keys());
  Ciphertext storage;
  const Ciphertext& in = lowered_input(evaluator, x, plan_.level(), storage);
  Ciphertext result = packed(product_.sums(evaluator, unpacked(in)), evaluator.keys());
  evaluator.adjust_to_level_inplace(result, plan_.result_level(), plan_.ends().result_scale);
  return result;
}

}  // namespace hemera::circuits
