#include "hemera/rlwe/key_maker.hpp"

#include <string>
#include <utility>
#include <vector>

#include "hemera/arith/modulus.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/fresh_randomness.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::rlwe {
namespace {

std::shared_ptr<const SecretKey> not_held(const SecretKey& secret) {
  return {std::shared_ptr<const SecretKey>(), &secret};
}

std::shared_ptr<const poly::Poly> polynomial_of(const std::shared_ptr<const SecretKey>& secret) {
  return {secret, &secret->poly};
}

}  // namespace

KeyMaker::KeyMaker(const SecretKey& from, const SecretKey& to, GadgetPointer gadget)
    : KeyMaker(not_held(from), std::move(gadget)) {
  require_filled(to, "generate_switching_key");
  require_same_context(*context_, *to.context, "generate_switching_key");
  to_ = over_gadget(polynomial_of(not_held(to)));
  from_ = over_gadget(std::move(from_));
}

KeyMaker::KeyMaker(const SecretKey& secret, const KeyRole& role, GadgetPointer gadget)
    : KeyMaker(not_held(secret), role, std::move(gadget)) {}

KeyMaker::KeyMaker(SecretKey&& secret, const KeyRole& role, GadgetPointer gadget)
    : KeyMaker(std::make_shared<const SecretKey>(std::move(secret)), role, std::move(gadget)) {}

KeyMaker::KeyMaker(const std::shared_ptr<const SecretKey>& from, GadgetPointer gadget)
    : context_(from->context),
      gadget_(std::move(gadget)),
      from_(polynomial_of(from)),
      errors_{poly::Seed::fresh(), 0},
      uniform_{poly::Seed::fresh(), 0} {
  require_filled(*from, "generate_switching_key");
  if (gadget_->modulus().ring() != context_->key_base().ring()) {
    throw MismatchError("generate_switching_key: the gadget belongs to another context");
  }
}

KeyMaker::KeyMaker(const std::shared_ptr<const SecretKey>& secret, const KeyRole& role, GadgetPointer gadget)
    : KeyMaker(secret, std::move(gadget)) {
  const poly::Backend& backend = context_->backend();
  const poly::RnsBase& base = gadget_->modulus();
  const std::uint64_t order = 2 * context_->degree();
  if (role.galois_element % 2 == 0 || role.galois_element >= order) {
    throw ParameterError("Galois element " + std::to_string(role.galois_element) +
                         " is not odd and below 2N = " + std::to_string(order));
  }
  const auto made = [&] {
    return std::make_shared<poly::Poly>(
        context_->make_poly(1, 1, base, poly::Form::evaluation, runtime::Secrecy::secret));
  };
  to_ = from_ = over_gadget(std::move(from_));
  const poly::ConstPolyView s = from_->view().limbs(0, base.size());
  if (role.galois_element != 1) {
    // The automorphism comes after the switch: the key ends at the image of s under 1/g (docs/arithmetic.md).
    const auto image = made();
    backend.automorphism(context_->queue(), image->view(), s, arith::inverse(role.galois_element, order),
                         poly::Form::evaluation, base);
    to_ = image;
  }
  if (role.power == 2) {
    const auto product = made();
    backend.multiply(context_->queue(), product->view(), s, to_->view().limbs(0, base.size()), base);
    from_ = product;
  }
}

std::shared_ptr<const poly::Poly> KeyMaker::over_gadget(std::shared_ptr<const poly::Poly> secret) const {
  if (stands_first(*secret, gadget_->modulus())) return secret;
  return std::make_shared<const poly::Poly>(restrict_to(*context_, *secret, gadget_->modulus()));
}

void KeyMaker::make(const poly::PolyView& out, std::size_t first) const {
  const auto from_first = [&](poly::RandomStream stream) {
    stream.first_polynomial = static_cast<std::uint32_t>(first);
    return stream;
  };
  std::vector<poly::GadgetTerm> terms;
  for (poly::GadgetTerm term : gadget_terms(*gadget_)) {
    if (term.batch < first || term.batch - first >= out.shape.batch) continue;
    term.batch -= first;
    terms.push_back(term);
  }
  sample_rlwe(*context_, out, *to_, gadget_->modulus(),
              {.errors = from_first(errors_), .uniform = from_first(uniform_)},
              terms.empty() ? poly::ConstPolyView() : from_->view().limbs(0, gadget_->modulus().size()),
              terms);
}

SwitchingKey KeyMaker::key() const {
  poly::Poly pairs = context_->make_poly(digits(), 2, gadget_->modulus(), poly::Form::evaluation);
  make(pairs.view(), 0);
  return {context_, gadget_, stored_key(*context_, std::move(pairs)), uniform_};
}

}  // namespace hemera::rlwe
