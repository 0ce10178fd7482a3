#include "poly/key_switching_checks.hpp"

#include <string>

#include "hemera/runtime/error.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {

void check_pair(const char* operation, const char* operand, const ConstPolyView& view, const PolyView& out,
                const RnsBase& base) {
  check_view(operation, operand, view, base);
  if (view.shape.components != 2) {
    throw MismatchError(std::string(operation) + ": " + operand + " " + describe(view.shape) +
                        " is no ciphertext of 2 components");
  }
  check_batch(operation, operand, view.shape, out.shape);
}

void check_division(const char* operation, const std::shared_ptr<const Ring>& ring, const Division& plan,
                    Form form) {
  check_ring(operation, ring, plan.source());
  check_ring(operation, ring, plan.target());
  check_ring(operation, ring, plan.plaintext());
  if (form == Form::coefficient) return;
  check_transform(operation, ring, plan.dropped());
  check_transform(operation, ring, plan.target());
}

void check_mod_up_plan(const char* operation, const std::shared_ptr<const Ring>& ring, const ModUp& plan) {
  check_transform(operation, ring, plan.extended());
  check_ring(operation, ring, plan.key_base());
}

void check_switch_plans(const char* operation, const std::shared_ptr<const Ring>& ring, const ModUp& up,
                        const Division* down) {
  check_mod_up_plan(operation, ring, up);
  if (down != nullptr) check_division(operation, ring, *down, Form::evaluation);
  const RnsBase& from = down == nullptr ? up.base() : down->source();
  if (!(from == up.extended())) {
    throw MismatchError(std::string(operation) + ": the division is not from the extended base of " +
                        std::to_string(up.extended().size()) + " limbs, but from " +
                        std::to_string(from.size()) + "; make it from ModUp's bases");
  }
}

const RnsBase& switched_base(const ModUp& up, const Division* down) {
  return down == nullptr ? up.base() : down->target();
}

void check_key(const char* operation, const PolyView& out, const ConstPolyView& key, const ModUp& plan) {
  check_view(operation, "key", in_wide_words(key), plan.key_base());
  check_count(operation, "components of the output", out.shape.components, key.shape.components);
  for (const GadgetDigit& digit : plan.digits()) {
    if (digit.key_digit >= key.shape.batch) {
      throw MismatchError(std::string(operation) + ": the gadget asks for digit " +
                          std::to_string(digit.key_digit) + " of a key that has " +
                          std::to_string(key.shape.batch) + " digits; the key was made for other parameters");
    }
  }
}

void check_same_word(const char* operation, const ConstPolyView& a, const ConstPolyView& b) {
  check_word(operation, "a key", b.word, a.word);
}

void check_hoisted_products(std::span<const PolyView> out, std::span<const HoistedTerm> terms,
                            const ModUp& plan, std::span<const std::uint64_t> special) {
  constexpr const char* operation = "hoisted_products";
  if (out.empty() || terms.empty()) {
    throw MismatchError("hoisted_products: there must be an output and a term");
  }
  check_count(operation, "residues of P", special.size(), plan.base().size());
  for (const PolyView& each : out) {
    check_view(operation, "output", each, plan.extended());
    check_count(operation, "components of the output", each.shape.components, 2);
    check_count(operation, "batch of the outputs", each.shape.batch, out.front().shape.batch);
  }
  const PolyView& whole = out.front();
  const ConstPolyView* first_key = nullptr;
  for (const HoistedTerm& term : terms) {
    if (term.digits.data != nullptr) {
      if (first_key == nullptr) first_key = &term.key;
      check_same_word(operation, *first_key, term.key);
      check_view(operation, "digits", term.digits, plan.extended());
      check_count(operation, "digits", term.digits.shape.components, plan.digits().size());
      check_batch(operation, "digits", term.digits.shape, whole.shape);
      check_key(operation, whole, term.key, plan);
    }
    if (term.addend.data != nullptr) {
      const bool is_extended = term.addend.shape.limbs == plan.extended().size();
      check_view(operation, "addend", term.addend, is_extended ? plan.extended() : plan.base());
      check_batch(operation, "addend", term.addend.shape, whole.shape);
      if (term.addend.shape.components > 2) {
        throw MismatchError("hoisted_products: the addend " + describe(term.addend.shape) +
                            " has more than two components");
      }
    }
    if (term.factors.empty() && terms.front().factors.empty()) continue;
    check_count(operation, "factors of a term", term.factors.size(), out.size());
    for (const ConstPolyView& factor : term.factors) {
      if (factor.data == nullptr) continue;
      check_view(operation, "factor", as_whole(factor, whole.shape.degree), plan.extended());
      check_count(operation, "components of a factor", factor.shape.components, 1);
      check_batch(operation, "factor", factor.shape, whole.shape);
    }
  }
}

void check_switch(const char* operation, const PolyView& out, const ConstPolyView& in,
                  const ConstPolyView& key, const ModUp& up, const RnsBase& target,
                  const ConstPolyView& addend) {
  check_view(operation, "output", out, target);
  check_view(operation, "input", in, up.base());
  check_count(operation, "components of the input", in.shape.components, 1);
  check_count(operation, "polynomials of the input", in.shape.batch, out.shape.batch);
  check_key(operation, out, key, up);
  if (addend.data == nullptr) return;
  check_view(operation, "addend", addend, up.base());
  if (addend.shape.components > out.shape.components) {
    throw MismatchError(std::string(operation) + ": the addend " + describe(addend.shape) +
                        " has more components than the output " + describe(out.shape));
  }
  check_batch(operation, "addend", addend.shape, out.shape);
}

void check_encrypt_zero(const PolyView& out, const ConstPolyView& key, const RnsBase& base,
                        const Division* division, const ConstPolyView& addend) {
  const RnsBase& target = division == nullptr ? base : division->target();
  if (division != nullptr && !(division->source() == base)) {
    throw MismatchError("encrypt_zero: the division is not from the base of " + std::to_string(base.size()) +
                        " limbs that is encrypted over; make it from that base");
  }
  check_view("encrypt_zero", "output", out, target);
  check_view("encrypt_zero", "key", key, base);
  check_count("encrypt_zero", "components of the output", out.shape.components, 2);
  check_count("encrypt_zero", "components of the key", key.shape.components, 2);
  check_count("encrypt_zero", "keys in the batch", key.shape.batch, 1);
  if (addend.data == nullptr) return;
  check_count("encrypt_zero", "components of the addend", addend.shape.components, 1);
  check_input("encrypt_zero", "addend", addend, out.components(0, 1).shape, target);
}

void check_phase(const PolyView& out, const ConstPolyView& in, const ConstPolyView& secret,
                 const RnsBase& base) {
  check_view("phase", "output", out, base);
  check_view("phase", "input", in, base);
  check_view("phase", "secret", secret, base);
  check_count("phase", "components of the output", out.shape.components, 1);
  check_count("phase", "components of the secret", secret.shape.components, 1);
  check_count("phase", "secrets in the batch", secret.shape.batch, 1);
  check_count("phase", "polynomials of the input", in.shape.batch, out.shape.batch);
}

void check_sample_rlwe(const PolyView& out, const ConstPolyView& secret, const RnsBase& base,
                       const ConstPolyView& addend, std::span<const GadgetTerm> terms) {
  check_view("sample_rlwe", "output", out, base);
  check_view("sample_rlwe", "secret", secret, base);
  check_count("sample_rlwe", "components of the output", out.shape.components, 2);
  check_count("sample_rlwe", "components of the secret", secret.shape.components, 1);
  check_count("sample_rlwe", "secrets in the batch", secret.shape.batch, 1);
  if (addend.data != nullptr) {
    check_count("sample_rlwe", "components of the addend", addend.shape.components, 1);
    check_input("sample_rlwe", "addend", addend, out.components(0, 1).shape, base);
  }
  if (terms.empty()) return;
  check_count("sample_rlwe", "polynomials of the terms", addend.data == nullptr ? 0 : addend.shape.batch, 1);
  for (const GadgetTerm& term : terms) {
    if (term.batch < out.shape.batch && term.limb < base.size()) continue;
    throw MismatchError("sample_rlwe: a term is for limb " + std::to_string(term.limb) + " of polynomial " +
                        std::to_string(term.batch) + ", but there are " + std::to_string(out.shape.batch) +
                        " polynomials of " + std::to_string(base.size()) + " limbs");
  }
}

}  // namespace hemera::poly
