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

KeyMaker::KeyMaker(const SecretKey& from, GadgetPointer gadget)
    : context_(from.context),
      gadget_(std::move(gadget)),
      from_(&from.poly),
      to_(&from.poly),
      errors_{poly::Seed::fresh(), 0},
      uniform_{poly::Seed::fresh(), 0} {
  require_filled(from, "generate_switching_key");
  if (gadget_->modulus().ring() != context_->key_base().ring()) {
    throw MismatchError("generate_switching_key: the gadget belongs to another context");
  }
}

KeyMaker::KeyMaker(const SecretKey& from, const SecretKey& to, GadgetPointer gadget)
    : KeyMaker(from, std::move(gadget)) {
  require_filled(to, "generate_switching_key");
  require_same_context(*context_, *to.context, "generate_switching_key");
  to_ = &to.poly;
}

KeyMaker::KeyMaker(const SecretKey& secret, const KeyRole& role, GadgetPointer gadget)
    : KeyMaker(secret, std::move(gadget)) {
  const poly::Backend& backend = context_->backend();
  const poly::RnsBase& base = secret.poly.base();
  const std::uint64_t order = 2 * context_->degree();
  if (role.galois_element % 2 == 0 || role.galois_element >= order) {
    throw ParameterError("Galois element " + std::to_string(role.galois_element) +
                         " is not odd and below 2N = " + std::to_string(order));
  }
  const auto make_secret = [&] {
    return std::make_shared<poly::Poly>(
        context_->make_poly(1, 1, base, poly::Form::evaluation, runtime::Secrecy::secret));
  };
  if (role.galois_element != 1) {
    // The automorphism comes after the switch: the key ends at the image of s under 1/g (docs/arithmetic.md).
    const auto image = make_secret();
    backend.automorphism(context_->queue(), image->view(), secret.poly.view(),
                         arith::inverse(role.galois_element, order), poly::Form::evaluation, base);
    to_ = (image_ = image).get();
  }
  if (role.power == 2) {
    const auto product = make_secret();
    backend.multiply(context_->queue(), product->view(), secret.poly.view(), to_->view(), base);
    from_ = (product_ = product).get();
  }
}

KeyMaker::KeyMaker(std::shared_ptr<const SecretKey> secret, const KeyRole& role, GadgetPointer gadget)
    : KeyMaker(*secret, role, std::move(gadget)) {
  secret_ = std::move(secret);
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
  with_restricted(*context_, *from_, gadget_->modulus(), [&](const poly::ConstPolyView& from) {
    sample_rlwe(*context_, out, *to_, gadget_->modulus(),
                {.errors = from_first(errors_), .uniform = from_first(uniform_)},
                terms.empty() ? poly::ConstPolyView() : from, terms);
  });
}

SwitchingKey KeyMaker::key() const {
  poly::Poly pairs = context_->make_poly(digits(), 2, gadget_->modulus(), poly::Form::evaluation);
  make(pairs.view(), 0);
  return {context_, gadget_, stored_key(*context_, std::move(pairs)), uniform_};
}

}  // namespace hemera::rlwe
