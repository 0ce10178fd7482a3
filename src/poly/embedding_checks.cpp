#include "poly/embedding_checks.hpp"

#include <bit>
#include <cmath>
#include <string>

#include "hemera/runtime/error.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {
namespace {

void check_plaintext(const char* operation, std::size_t degree, const PolyShape& shape, const SlotView& slots,
                     double scale, const RnsBase& base) {
  const auto fail = [&](const std::string& problem) {
    throw MismatchError(std::string(operation) + ": " + problem);
  };
  if (shape.degree != degree) {
    fail("polynomials of degree " + std::to_string(shape.degree) + " given to the embedding of degree " +
         std::to_string(degree));
  }
  if (shape.limbs != base.size() || base.empty()) {
    fail("polynomials of " + std::to_string(shape.limbs) + " limbs over a base of " +
         std::to_string(base.size()));
  }
  if (shape.components != 1) {
    fail("a plaintext has one component, not " + std::to_string(shape.components));
  }
  if (!std::has_single_bit(slots.slots) || slots.slots > degree / 2) {
    fail(std::to_string(slots.slots) + " slots; give a power of two of at most " +
         std::to_string(degree / 2));
  }
  if (!(scale > 0) || !std::isfinite(scale)) {
    throw ScaleError(std::string(operation) + ": the scale must be positive and finite");
  }
}

}  // namespace

void check_embedding_degree(std::size_t degree) {
  if (!std::has_single_bit(degree) || degree < min_degree || degree > max_degree) {
    throw ParameterError("the embedding needs a degree that is a power of two in [2^10, 2^17], not " +
                         std::to_string(degree));
  }
}

void check_embed(std::size_t degree, const PolyShape& out, const SlotView& slots, double scale,
                 const RnsBase& base) {
  check_plaintext("encode", degree, out, slots, scale, base);
  if (slots.batch != out.batch && slots.batch != 1) {
    throw MismatchError("encode: a batch of " + std::to_string(slots.batch) +
                        " slot vectors into a batch of " + std::to_string(out.batch) + " polynomials");
  }
}

void check_unembed(std::size_t degree, const SlotView& slots, const PolyShape& in, double scale,
                   const RnsBase& base) {
  check_plaintext("decode", degree, in, slots, scale, base);
  if (in.batch != slots.batch && in.batch != 1) {
    throw MismatchError("decode: a batch of " + std::to_string(in.batch) + " polynomials into a batch of " +
                        std::to_string(slots.batch) + " slot vectors");
  }
}

void check_slot_order(const char* operation, std::size_t degree, const SlotView& embedded,
                      const SlotView& slots, std::uint64_t generator) {
  check_galois_element(operation, generator, degree);
  check_count(operation, "slots of the embedding", embedded.slots, degree / 2);
  check_count(operation, "rows of slots", slots.batch, embedded.batch);
  if (!std::has_single_bit(slots.slots) || slots.slots > degree / 2) {
    throw MismatchError(std::string(operation) + ": " + std::to_string(slots.slots) +
                        " slots; give a power of two of at most " + std::to_string(degree / 2));
  }
}

}  // namespace hemera::poly
