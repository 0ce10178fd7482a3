#include "poly/shapes.hpp"

#include "hemera/runtime/error.hpp"

namespace hemera::poly {

std::string describe(const PolyShape& shape) {
  return "[batch " + std::to_string(shape.batch) + ", components " + std::to_string(shape.components) +
         ", limbs " + std::to_string(shape.limbs) + ", N " + std::to_string(shape.degree) + "]";
}

void check_view(const char* operation, const char* operand, const ConstPolyView& view, const RnsBase& base) {
  const std::size_t degree = base.ring() ? base.ring()->degree() : view.shape.degree;
  if (view.shape.limbs != base.size() || view.shape.degree != degree) {
    throw MismatchError(std::string(operation) + ": " + operand + " is " + describe(view.shape) +
                        ", but its base has " + std::to_string(base.size()) + " limbs of degree " +
                        std::to_string(degree) + "; both must belong to one level");
  }
  if (view.word != base.word()) {
    throw MismatchError(std::string(operation) + ": " + operand + " stores residues in " +
                        std::to_string(static_cast<int>(view.word)) + " bytes, but its base in " +
                        std::to_string(static_cast<int>(base.word())));
  }
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

void check_scalars(const char* operation, std::size_t scalars, const RnsBase& base) {
  check_count(operation, "scalars", scalars, base.size());
}

void check_count(const char* operation, const char* what, std::size_t actual, std::size_t expected) {
  if (actual != expected) {
    throw MismatchError(std::string(operation) + ": got " + std::to_string(actual) + " " + what + " where " +
                        std::to_string(expected) + " are needed");
  }
}

void check_key_inner_product(const PolyView& out, std::size_t batch, const ConstPolyView& key,
                             const ModUp& plan) {
  check_view("key_inner_product", "output", out, plan.extended());
  check_view("key_inner_product", "key", key, plan.key_base());
  check_count("key_inner_product", "components of the output", out.shape.components, key.shape.components);
  if (batch != out.shape.batch && batch != 1) {
    throw MismatchError("key_inner_product: digits of a batch of " + std::to_string(batch) +
                        " do not broadcast to the output " + describe(out.shape));
  }
  for (const GadgetDigit& digit : plan.digits()) {
    if (digit.key_digit >= key.shape.batch) {
      throw MismatchError("key_inner_product: the gadget asks for digit " + std::to_string(digit.key_digit) +
                          " of a key that has " + std::to_string(key.shape.batch) +
                          " digits; the key was made for other parameters");
    }
  }
}

}  // namespace hemera::poly
