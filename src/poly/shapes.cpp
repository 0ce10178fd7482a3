#include "poly/shapes.hpp"

#include "hemera/runtime/error.hpp"

namespace hemera::poly {

std::string describe(const PolyShape& shape) {
  return "[batch " + std::to_string(shape.batch) + ", components " + std::to_string(shape.components) +
         ", limbs " + std::to_string(shape.limbs) + ", N " + std::to_string(shape.degree) + "]";
}

namespace {

void check_word(const char* operation, const char* operand, Word actual, Word expected) {
  if (actual == expected) return;
  throw MismatchError(std::string(operation) + ": " + operand + " stores residues in " +
                      std::to_string(word_bits(actual)) + " bits, but needs " +
                      std::to_string(word_bits(expected)));
}

// The view as if it were in words of 64 bits, where others may be.
ConstPolyView in_wide_words(ConstPolyView view) {
  if (view.word == Word::u50) view.word = Word::u64;
  return view;
}

// The view as if all entries were there, where fewer may be.
ConstPolyView as_whole(ConstPolyView view, std::size_t degree) {
  if (is_entry_count(view.shape.degree, degree)) view.shape.degree = degree;
  return view;
}

}  // namespace

void check_view(const char* operation, const char* operand, const ConstPolyView& view, const RnsBase& base) {
  const std::size_t degree = base.ring() ? base.ring()->degree() : view.shape.degree;
  if (view.shape.limbs != base.size() || view.shape.degree != degree) {
    throw MismatchError(std::string(operation) + ": " + operand + " is " + describe(view.shape) +
                        ", but its base has " + std::to_string(base.size()) + " limbs of degree " +
                        std::to_string(degree) + "; both must belong to one level");
  }
  check_word(operation, operand, view.word, base.word());
}

void check_broadcast(const char* operation, const char* operand, const PolyShape& input,
                     const PolyShape& out) {
  const bool batch = input.batch == out.batch || input.batch == 1;
  const bool components = input.components == out.components || input.components == 1;
  if (!batch || !components) {
    throw MismatchError(std::string(operation) + ": " + operand + " " + describe(input) +
                        " does not broadcast to the output " + describe(out) +
                        "; batch and components must be equal or 1");
  }
}

void check_input(const char* operation, const char* operand, const ConstPolyView& input, const PolyShape& out,
                 const RnsBase& base) {
  check_view(operation, operand, input, base);
  check_broadcast(operation, operand, input.shape, out);
}

void check_ring(const char* operation, const std::shared_ptr<const Ring>& ring, const RnsBase& base) {
  if (!base.empty() && base.ring() != ring) {
    throw MismatchError(std::string(operation) +
                        ": the RNS base belongs to another ring than this backend; " +
                        "make both from one context");
  }
}

void check_transform(const char* operation, const std::shared_ptr<const Ring>& ring, const RnsBase& base) {
  check_ring(operation, ring, base);
  for (std::size_t i = 0; i < base.size(); ++i) {
    if ((*ring)[base.index(i)].root == 0) {
      throw ParameterError(std::string(operation) + ": the modulus " +
                           std::to_string(base.modulus(i).value()) + " has no root of unity of order " +
                           std::to_string(2 * ring->degree()) +
                           " in this ring, so it has no evaluation form");
    }
  }
}

void check_host(const char* operation, std::size_t host_words, const PolyShape& shape) {
  if (host_words != shape.words()) {
    throw MismatchError(std::string(operation) + ": the host array has " + std::to_string(host_words) +
                        " words, but the polynomials are " + describe(shape) + " with " +
                        std::to_string(shape.words()));
  }
}

void check_degree(const char* operation, const char* operand, const ConstPolyView& view, const Ring& ring) {
  if (view.shape.degree != ring.degree()) {
    throw MismatchError(std::string(operation) + ": " + operand + " is " + describe(view.shape) +
                        ", but this backend's ring has degree " + std::to_string(ring.degree()) +
                        "; make both from one context");
  }
  check_word(operation, operand, view.word, Word::u64);
}

void check_entries(const char* operation, const char* operand, const ConstPolyView& view, const Ring& ring) {
  const ConstPolyView wide = in_wide_words(view);
  if (view.word != Word::u64 || !is_entry_count(view.shape.degree, ring.degree())) {
    check_degree(operation, operand, wide, ring);
  }
  check_word(operation, operand, wide.word, Word::u64);
}

void check_copy(const char* operation, const PolyView& out, const ConstPolyView& in) {
  if (in.shape.limbs != out.shape.limbs) {
    throw MismatchError(std::string(operation) + ": the input " + describe(in.shape) + " and the output " +
                        describe(out.shape) + " have different limbs");
  }
}

void check_unary(const char* operation, const std::shared_ptr<const Ring>& ring, const PolyView& out,
                 const ConstPolyView& a, const RnsBase& base) {
  check_ring(operation, ring, base);
  check_view(operation, "output", out, base);
  check_input(operation, "a", a, out.shape, base);
}

void check_binary(const char* operation, const std::shared_ptr<const Ring>& ring, const PolyView& out,
                  const ConstPolyView& a, const ConstPolyView& b, const RnsBase& base) {
  check_unary(operation, ring, out, a, base);
  check_input(operation, "b", as_whole(b, out.shape.degree), out.shape, base);
}

void check_inner_product(const char* operation, const PolyView& out, std::span<const ConstPolyView> a,
                         std::span<const ConstPolyView> b, const RnsBase& base) {
  check_count(operation, "right factors", b.size(), a.size());
  if (a.empty()) {
    throw MismatchError(std::string(operation) + ": there are no factors; at least one pair is needed");
  }
  check_view(operation, "output", out, base);
  const std::size_t left = a.front().shape.components, right = b.front().shape.components;
  check_count(operation, "components of the output", out.shape.components, left + right - 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    check_view(operation, "a", a[i], base);
    check_view(operation, "b", right == 1 ? as_whole(b[i], out.shape.degree) : b[i], base);
    check_count(operation, "components of a left factor", a[i].shape.components, left);
    check_count(operation, "components of a right factor", b[i].shape.components, right);
    check_batch(operation, "a", a[i].shape, out.shape);
    check_batch(operation, "b", b[i].shape, out.shape);
  }
}

void check_multiply_matrix(const PolyView& out, const ConstPolyView& in, const IntegerMatrixView& w,
                           const RnsBase& base) {
  constexpr const char* operation = "multiply_matrix";
  if (w.bytes != 1 && w.bytes != 2) {
    throw ParameterError("multiply_matrix: the matrix has entries of " + std::to_string(w.bytes) +
                         " bytes; they must have 1 or 2");
  }
  if (w.rows == 0 || w.columns == 0) {
    throw ParameterError("multiply_matrix: the matrix has " + std::to_string(w.rows) + " rows and " +
                         std::to_string(w.columns) + " columns; at least one of each is needed");
  }
  if (w.data == nullptr || w.host == nullptr) {
    throw ParameterError(
        "multiply_matrix: the matrix must be in the backend's memory and in the host's; one is missing");
  }
  check_view(operation, "output", out, base);
  check_view(operation, "input", in, base);
  check_count(operation, "polynomials of the output for the matrix's rows", out.shape.batch, w.rows);
  check_count(operation, "polynomials of the input for the matrix's columns", in.shape.batch, w.columns);
  check_count(operation, "components of the input", in.shape.components, out.shape.components);
}

void check_multiply_elements(const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                             const RnsBase& base) {
  constexpr const char* operation = "multiply_elements";
  check_view(operation, "output", out, base);
  check_view(operation, "a", as_whole(a, out.shape.degree), base);
  check_view(operation, "b", b, base);
  check_count(operation, "rows of a", a.shape.batch, out.shape.batch);
  check_count(operation, "columns of b", b.shape.components, out.shape.components);
  check_count(operation, "rows of b for the columns of a", b.shape.batch, a.shape.components);
  if (out.shape.batch == 0 || out.shape.components == 0 || a.shape.components == 0) {
    throw MismatchError("multiply_elements: a is " + describe(a.shape) + " and the output " +
                        describe(out.shape) + "; at least one row, term and column are needed");
  }
}

void check_multiply_add_vector(const PolyView& out, const IntegerMatrixView& w, const ConstPolyView& in,
                               const RnsBase& base) {
  constexpr const char* operation = "multiply_add_vector";
  constexpr std::size_t most_columns = std::size_t{1} << 16;
  check_view(operation, "output", out, base);
  check_view(operation, "input", in, base);
  check_count(operation, "components of the output", out.shape.components, 1);
  check_count(operation, "polynomials of the input", in.shape.batch * in.shape.components, 1);
  if (w.bytes != 1 || w.columns == 0 || w.columns % 16 != 0 ||
      w.columns > std::min(in.shape.degree, most_columns)) {
    throw ParameterError("multiply_add_vector: the matrix has " + std::to_string(w.columns) + " columns of " +
                         std::to_string(w.bytes) +
                         " bytes; they must be of 1 byte, and a multiple of 16 up to " +
                         std::to_string(std::min(in.shape.degree, most_columns)));
  }
  if (w.rows == 0 || w.rows > out.shape.batch * out.shape.degree || w.data == nullptr) {
    throw ParameterError(
        "multiply_add_vector: the matrix has " + std::to_string(w.rows) +
        " rows in the backend's memory; there must be one, and at most one for each of the " +
        std::to_string(out.shape.batch * out.shape.degree) + " coefficients of the output");
  }
}

void check_transform_components(const PolyView& values, const ConstPolyView& roots,
                                const ConstPolyView& factors, const RnsBase& base) {
  constexpr const char* operation = "transform_components";
  const std::size_t size = values.shape.components;
  check_view(operation, "values", values, base);
  if (size < 2 || !std::has_single_bit(size)) {
    throw MismatchError("transform_components: the values have " + std::to_string(size) +
                        " components; their number is a power of two, at least 2");
  }
  check_view(operation, "roots", roots, base);
  check_count(operation, "polynomials of the roots", roots.shape.batch, 1);
  check_count(operation, "roots", roots.shape.components, size / 2);
  if (factors.data == nullptr) return;
  check_view(operation, "factors", factors, base);
  check_count(operation, "polynomials of the factors", factors.shape.batch, 1);
  check_count(operation, "factors", factors.shape.components, size);
}

void check_split_parts(const PolyView& out, const ConstPolyView& in, const RnsBase& base) {
  constexpr const char* operation = "split_parts";
  const std::size_t degree = in.shape.degree;
  check_view(operation, "input", in, base);
  check_view(operation, "output", as_whole(out, degree), base);
  if (out.shape.degree == degree) {
    throw MismatchError("split_parts: the output " + describe(out.shape) +
                        " has whole polynomials; parts are stored by N/2 entries or fewer");
  }
  check_count(operation, "parts of the input's components", out.shape.batch,
              degree / out.shape.degree * in.shape.components);
  check_count(operation, "polynomials of each part", out.shape.components, in.shape.batch);
  for (std::size_t i = 0; i < base.size(); ++i) {
    if ((*base.ring())[base.index(i)].values_in(degree) == degree) continue;
    throw ParameterError("split_parts: the modulus " + std::to_string(base.modulus(i).value()) +
                         " has fewer values than " + std::to_string(degree) +
                         ", which do not determine a polynomial's parts; split over primes with N values");
  }
}

void check_pack_rounded(std::span<const std::byte> out, const PolyShape& in, int dropped_bits, int width) {
  if (dropped_bits < 0 || dropped_bits > 60 || width < 1 || width > 8) {
    throw ParameterError("pack_rounded: " + std::to_string(dropped_bits) + " bits are dropped, and " +
                         std::to_string(width) + " bytes kept; 0 to 60 bits may be, and 1 to 8 bytes");
  }
  check_count("pack_rounded", "bytes of the output", out.size(),
              in.words() * static_cast<std::size_t>(width));
  if (reinterpret_cast<std::uintptr_t>(out.data()) % 8 != 0) {
    throw MismatchError("pack_rounded: the output does not begin at a multiple of 8 bytes");
  }
}

void check_galois_element(const char* operation, std::uint64_t element, std::size_t degree) {
  if (element % 2 == 0 || element >= 2 * degree) {
    throw ParameterError(std::string(operation) + ": the Galois element " + std::to_string(element) +
                         " is not odd and below " + std::to_string(2 * degree));
  }
}

void check_count(const char* operation, const char* what, std::size_t actual, std::size_t expected) {
  if (actual != expected) {
    throw MismatchError(std::string(operation) + ": got " + std::to_string(actual) + " " + what + " where " +
                        std::to_string(expected) + " are needed");
  }
}

void check_rows(const char* operation, std::size_t from, std::size_t to) {
  if (from == to || from == 1) return;
  throw MismatchError(std::string(operation) + ": a batch of " + std::to_string(from) +
                      " does not broadcast to one of " + std::to_string(to) + "; it must be equal or 1");
}

void check_batch(const char* operation, const char* operand, const PolyShape& input, const PolyShape& out) {
  if (input.batch == out.batch || input.batch == 1) return;
  throw MismatchError(std::string(operation) + ": " + operand + " " + describe(input) +
                      " does not broadcast to the output " + describe(out) + "; batches must be equal or 1");
}

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

void check_integers(const char* operation, const ConstPolyView& view, std::size_t count, Form form,
                    std::uint64_t generator, const RnsBase& base) {
  check_count(operation, "moduli", base.size(), 1);
  check_view(operation, "the plaintext", view, base);
  check_count(operation, "components of the plaintext", view.shape.components, 1);
  const std::size_t degree = view.shape.degree;
  const std::size_t places =
      form == Form::evaluation ? (*base.ring())[base.index(0)].values_in(degree) : degree;
  if (count == 0 || count > places) {
    throw MismatchError(std::string(operation) + ": got " + std::to_string(count) +
                        " integers a row where 1 to " + std::to_string(places) + " have a place");
  }
  check_galois_element(operation, generator, view.shape.degree);
}

void check_slots(const char* operation, const SlotView& slots, const NumberView& values) {
  check_count(operation, "rows of numbers", values.batch, slots.batch);
  if (values.count == 0 || values.count > slots.slots) {
    throw MismatchError(std::string(operation) + ": got " + std::to_string(values.count) +
                        " numbers a row where 1 to " + std::to_string(slots.slots) + " have a slot");
  }
}

void check_lift_integers(const PolyView& out, std::span<const ConstPolyView> in, const ConstPolyView& addend,
                         std::span<const std::uint64_t> scalars, const BaseConversion& lift) {
  check_count("lift_integers", "moduli of the integers", lift.source().size(), 1);
  check_view("lift_integers", "output", out, lift.target());
  check_count("lift_integers", "components of the output", out.shape.components, 1);
  if (in.empty()) throw MismatchError("lift_integers: there are no inputs; at least one is needed");
  for (const ConstPolyView& each : in) {
    check_view("lift_integers", "input", each, lift.source());
    check_count("lift_integers", "components of an input", each.shape.components, 1);
    check_count("lift_integers", "batches of all inputs", in.size() * each.shape.batch, out.shape.batch);
  }
  if (!scalars.empty()) check_count("lift_integers", "scalars", scalars.size(), lift.target().size());
  if (addend.data == nullptr) return;
  check_view("lift_integers", "addend", addend, lift.target());
  check_count("lift_integers", "components of the addend", addend.shape.components, 1);
  check_count("lift_integers", "batches of the addend", addend.shape.batch, out.shape.batch);
}

void check_doubtful(const char* operation, const PolyShape& out, const IntegerView* doubtful, bool tells) {
  if (doubtful == nullptr) return;
  check_count(operation, "components of what is rounded", out.components, 1);
  check_count(operation, "numbers of each polynomial", doubtful->count, out.degree / coefficients_per_doubt);
  check_count(operation, "rows of numbers", doubtful->batch, out.batch);
  if (!tells) {
    throw ParameterError(
        std::string(operation) +
        ": only exact conversions, and roundings that divide by their whole source, tell how far "
        "they are from rounding otherwise");
  }
}

bool same_view(const ConstPolyView& a, const ConstPolyView& b) {
  return a.data == b.data && a.shape == b.shape && a.batch_stride == b.batch_stride &&
         a.component_stride == b.component_stride && a.limb_stride == b.limb_stride;
}

}  // namespace hemera::poly
