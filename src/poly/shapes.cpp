#include "poly/shapes.hpp"

#include "hemera/runtime/error.hpp"

namespace hemera::poly {

std::string describe(const PolyShape& shape) {
  return "[batch " + std::to_string(shape.batch) + ", components " + std::to_string(shape.components) +
         ", limbs " + std::to_string(shape.limbs) + ", N " + std::to_string(shape.degree) + "]";
}

void check_word(const char* operation, const char* operand, Word actual, Word expected) {
  if (actual == expected) return;
  throw MismatchError(std::string(operation) + ": " + operand + " stores residues in " +
                      std::to_string(word_bits(actual)) + " bits, but needs " +
                      std::to_string(word_bits(expected)));
}

ConstPolyView in_wide_words(ConstPolyView view) {
  if (view.word == Word::u50) view.word = Word::u64;
  return view;
}

ConstPolyView as_whole(ConstPolyView view, std::size_t degree) {
  if (is_entry_count(view.shape.degree, degree)) view.shape.degree = degree;
  return view;
}

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
