#include "poly/embedding_checks.hpp"

#include <bit>
#include <cmath>
#include <string>

#include "hemera/runtime/error.hpp"
#include "poly/exponential_arithmetic.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {
void check_embedding_degree(std::size_t degree) {
  if (!std::has_single_bit(degree) || degree < min_degree || degree > max_degree) {
    throw ParameterError("the embedding needs a degree that is a power of two in [2^10, 2^17], not " +
                         std::to_string(degree));
  }
}

void check_embedding(const char* operation, const SlotView& slots, const PolyShape& plaintext,
                     std::size_t degree, double scale, std::uint64_t generator) {
  check_count(operation, "components of the plaintext", plaintext.components, 1);
  if (!std::has_single_bit(slots.slots) || slots.slots > degree / 2) {
    throw MismatchError(std::string(operation) + ": " + std::to_string(slots.slots) +
                        " slots; give a power of two of at most " + std::to_string(degree / 2));
  }
  if (!(scale > 0) || !std::isfinite(scale)) {
    throw ScaleError(std::string(operation) + ": the scale must be positive and finite");
  }
  check_galois_element(operation, generator, degree);
}

void check_exponentials(const SlotView& out, const ConstPolyView& in, const ExponentialLayout& layout,
                        const RnsBase& base) {
  constexpr const char* operation = "exponentials";
  check_count(operation, "moduli", base.size(), 1);
  check_count(operation, "components of the input", in.shape.components, 2);
  const std::size_t degree = in.shape.degree;
  const auto& [values, row, blocks, length, places, stride] = layout;
  const bool are_powers = std::has_single_bit(values) && std::has_single_bit(row) &&
                          std::has_single_bit(blocks) && std::has_single_bit(length) &&
                          std::has_single_bit(places) && std::has_single_bit(stride);
  if (!are_powers || (values != row && values != 2 * row) || 2 * row > degree || places > length ||
      stride * length * blocks > degree || values * blocks * places > out.slots) {
    throw MismatchError(std::string(operation) + ": " + std::to_string(values) + " values in rows of " +
                        std::to_string(row) + " and " + std::to_string(blocks) + " blocks of " +
                        std::to_string(length) + " coefficients, " + std::to_string(places) +
                        " at once and " + std::to_string(stride) + " apart, for " +
                        std::to_string(out.slots) + " slots: use powers of two with room in both");
  }
  check_count(operation, "rows of slots", out.batch, in.shape.batch * layout.rows());
  if (base.modulus(0).bits() > most_exponential_bits) {
    throw ParameterError(std::string(operation) + ": a prime of " + std::to_string(base.modulus(0).bits()) +
                         " bits; use one of at most " + std::to_string(most_exponential_bits));
  }
}

}  // namespace hemera::poly
