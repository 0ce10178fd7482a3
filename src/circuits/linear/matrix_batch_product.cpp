#include "hemera/circuits/linear/matrix_batch_product.hpp"

#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

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

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using poly::ComponentOrder;
using poly::Form;
using rlwe::Ciphertext;

// Components of ciphertexts; and polynomials to switch: V from images of s, U from their products with s.
constexpr std::size_t components = 2;

// The element of phi_i.
std::uint64_t image_element(const rlwe::Parameters& parameters, std::size_t size, std::size_t i) {
  return 1 + 2 * parameters.degree() / size * i;
}

std::size_t reversed(std::size_t number, std::size_t size) {
  return arith::reverse_bits(number, std::countr_zero(size));
}

rlwe::KeyRole key_role(std::uint64_t element, std::size_t kind) {
  return kind == 0 ? rlwe::KeyRole::galois(element) : rlwe::KeyRole::turned_product(element);
}

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

// A slot is a polynomial of degree d - 1 at its root, whose coefficients are a pair's entries.
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

Plan::Evaluation MatrixBatchProduct::bound(const rlwe::ContextPointer& context) const {
  return [prepared = std::make_shared<PreparedMatrixBatchProduct>(context, *this)](
             const ckks::Evaluator& evaluator, auto inputs) {
    static_cast<void>((*prepared)(evaluator, *inputs[0], *inputs[1]));
  };
}

// An entry is the mean of d slots, turned.
ExpectedError MatrixBatchProduct::error_from(double input_error) const {
  const auto d = static_cast<double>(size_);
  const double factors = 2 * d * squared(input_error) / d;
  const double keys = components * d * squared(switching_ / squared(ends_.scale)) / d;
  const double own = squared(rounding_ / ends_.result_scale) / d;
  const double error = std::sqrt(factors + keys + own);
  return {.mean = error, .worst = error};
}

PreparedMatrixBatchProduct::PreparedMatrixBatchProduct(const rlwe::ContextPointer& context,
                                                       const MatrixBatchProduct& plan)
    : context_(context),
      plan_((plan.require_parameters(*context, "products of matrices"), plan)),
      gadget_(context->gadget(plan.gadget())) {
  const poly::ModUp& up = gadget_->mod_up(plan_.level());
  const std::size_t d = plan.size(), order = 2 * context->degree();
  std::vector<std::size_t> of_roots, ups, downs;
  for (std::size_t u = 0; u < d; ++u) {
    if (u < d / 2) of_roots.push_back(order / d * u);
    ups.push_back(u);
    downs.push_back((order - u) % order);
  }
  roots_ = rlwe::monomials(*context, up.extended(), of_roots);
  to_images_ = rlwe::monomials(*context, up.base(), ups);
  to_rows_ = rlwe::monomials(*context, up.extended(), downs);
  std::vector<std::uint64_t> inverses;
  for (std::size_t l = 0; l < up.base().size(); ++l) {
    inverses.push_back(arith::inverse(d, up.base().modulus(l).value()));
  }
  context->backend().multiply_scalar(context->queue(), to_images_.view(), std::as_const(to_images_).view(),
                                     inverses, up.base());
}

std::uint64_t PreparedMatrixBatchProduct::galois_element(std::size_t i) const {
  return image_element(plan_.parameters(), plan_.size(), i);
}

poly::Poly PreparedMatrixBatchProduct::outer_products(const Ciphertext& left, const Ciphertext& right) const {
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  const poly::RnsBase& base = context.base(plan_.level());
  const std::size_t d = plan_.size();
  // Part u of each column's b, and of each column's a: [component, u, k].
  poly::Poly parts =
      context.make_poly(2 * d, d, base, Form::evaluation, runtime::Secrecy::open, context.degree() / d);
  backend.split_parts(context.queue(), parts.view(), left.poly.view(), base);
  poly::Poly sums = context.make_poly(2 * components, d, base, Form::evaluation);
  auto workspace = context.make_workspace();
  for (std::size_t i = 0; i < components; ++i) {
    backend.multiply_elements(context.queue(), sums.view().batches(i * components, components).transposed(),
                              std::as_const(parts).view().batches(i * d, d), right.poly.view(), base,
                              workspace);
  }
  return sums;
}

poly::Poly PreparedMatrixBatchProduct::images(const poly::PolyView& switched) const {
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::RnsBase& base = context.base(plan_.level());
  const std::size_t d = plan_.size();
  poly::Poly found = context.make_poly(components, d, base, Form::evaluation);
  auto workspace = context.make_workspace();
  backend.transform_components(queue, switched, roots_.view().transposed().limbs(0, base.size()),
                               to_images_.view().transposed(), ComponentOrder::natural, base, workspace);
  for (std::size_t place = 0; place < d; ++place) {
    const std::uint64_t element = galois_element(reversed(place, d));
    backend.automorphism(queue, found.view().components(place, 1), switched.components(place, 1),
                         arith::inverse(element, 2 * context.degree()), Form::evaluation, base);
  }
  return found;
}

poly::Poly PreparedMatrixBatchProduct::switched_rows(const poly::Poly& images,
                                                     const rlwe::EvaluationKeys& keys) const {
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const std::size_t d = plan_.size();
  const poly::ModUp& up = gadget_->mod_up(plan_.level());
  const poly::RnsBase& extended = up.extended();
  auto workspace = context.make_workspace();
  poly::Poly digits = context.make_poly(components * d, up.digits().size(), extended, Form::evaluation);
  backend.mod_up(queue, digits.view(), images.view().with_batch(components * d), up, Form::evaluation,
                 workspace);
  // The first image is the secret itself: V(X) needs no key.
  poly::Poly first = context.make_poly(1, 2, up.base(), Form::evaluation);
  backend.fill_zero(queue, first.view().components(0, 1));
  backend.copy(queue, first.view().components(1, 1), images.view().batches(0, 1).components(0, 1));
  poly::Poly rows = context.make_poly(components, d, extended, Form::evaluation);
  for (std::size_t place = 0; place < d; ++place) {
    const std::size_t i = reversed(place, d);
    std::vector<poly::HoistedTerm> terms;
    std::vector<std::shared_ptr<const rlwe::SwitchingKey>> used;
    for (std::size_t kind = 0; kind < components; ++kind) {
      poly::HoistedTerm term{.galois_element = galois_element(i)};
      if (i == 0 && kind == 0) {
        term.addend = std::as_const(first).view();
      } else {
        used.push_back(
            require_key(keys, {.role = key_role(term.galois_element, kind), .gadget = plan_.gadget()}));
        term.digits = std::as_const(digits).view().batches(kind * d + place, 1);
        term.key = used.back()->poly.view();
      }
      terms.push_back(std::move(term));
    }
    // The place of -i, as rows are sums with the inverses of Z^i.
    const poly::PolyView out = rows.view().transposed().batches(reversed((d - i) % d, d), 1);
    backend.hoisted_products(queue, std::span(&out, 1), terms, up, gadget_->special_residues(plan_.level()),
                             workspace);
  }
  backend.transform_components(queue, rows.view(), roots_.view().transposed(), to_rows_.view().transposed(),
                               ComponentOrder::reversed, extended, workspace);
  return rows;
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
      throw MismatchError("products of matrices: a factor is a batch of shape {" + std::to_string(d) +
                          "} of " + std::to_string(plan_.parameters().max_slots()) +
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
  poly::Poly sums = outer_products(z, x);
  const poly::Poly rows =
      switched_rows(images(sums.view().batches(components, components)), evaluator.keys());

  rlwe::Metadata meta = context_->scales().product(z.meta, x.meta).meta;
  meta.batch = {d};
  meta.is_complex = true;
  // An entry is at most the largest slot; a slot of the product is d sums of d products.
  meta.largest *= squared(static_cast<double>(d));
  Ciphertext kept = rlwe::make_ciphertext(context_, meta, components);
  const poly::Backend& backend = context_->backend();
  backend.copy(context_->queue(), kept.poly.view(),
               std::as_const(sums).view().batches(0, components).transposed());
  rlwe::ExtendedCiphertext result = rlwe::extend(kept, gadget_);
  backend.add(context_->queue(), result.poly.view(), std::as_const(result.poly).view(),
              rows.view().transposed(), rows.base());
  return rlwe::mod_down_rescaled(result);
}

}  // namespace hemera::circuits
