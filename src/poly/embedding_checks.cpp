#include "poly/embedding_checks.hpp"

#include <bit>
#include <cmath>
#include <string>

#include "hemera/runtime/error.hpp"
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

}  // namespace hemera::poly
