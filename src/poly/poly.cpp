#include "hemera/poly/poly.hpp"

#include <limits>
#include <string>
#include <utility>

#include "hemera/runtime/error.hpp"

namespace hemera::poly {

bool fits(const RnsBase& base, Word word) {
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (base.modulus(i).bits() > word_bits(word)) return false;
  }
  return true;
}

void require_fits(const RnsBase& base, Word word) {
  for (std::size_t i = 0; i < base.size(); ++i) {
    const arith::Modulus& modulus = base.modulus(i);
    if (modulus.bits() <= word_bits(word)) continue;
    throw ParameterError("the modulus " + std::to_string(modulus.value()) + " has " +
                         std::to_string(modulus.bits()) + " bits, but words of " +
                         std::to_string(word_bits(word)) +
                         " bits store residues of smaller moduli; use words of 8 bytes, or smaller primes");
  }
}

Poly::Poly(const std::shared_ptr<runtime::Memory>& memory, std::size_t batch, std::size_t components,
           RnsBase base, Form form, runtime::Secrecy secrecy, std::size_t entries, Word word)
    : base_(std::move(base)), form_(form), word_(word) {
  if (base_.empty()) throw ParameterError("a polynomial needs an RNS base of at least one modulus");
  const std::size_t degree = base_.ring()->degree();
  shape_ = {.batch = batch,
            .components = components,
            .limbs = base_.size(),
            .degree = entries == 0 ? degree : entries};
  if (!is_entry_count(shape_.degree, degree) || (shape_.degree != degree && form == Form::coefficient)) {
    throw ParameterError("a limb of " + std::to_string(degree) + " entries can not be stored by " +
                         std::to_string(shape_.degree) + "; a power of two from " +
                         std::to_string(min_entries) + " on of values in evaluation form can");
  }
  if (word != Word::u64) {
    if (shape_.degree != degree) {
      throw ParameterError("limbs in words of " + std::to_string(word_bits(word)) +
                           " bits have all of their entries");
    }
    require_fits(base_, word);
  }
  // A product that wraps would ask for little memory and be overrun later.
  std::size_t room = std::numeric_limits<std::size_t>::max() / sizeof(std::uint64_t);
  for (const std::size_t extent : {batch, components, shape_.limbs, shape_.degree}) {
    if (extent != 0) room /= extent;
  }
  if (room == 0) {
    throw OutOfMemoryError("a polynomial array of " + std::to_string(batch) + " x " +
                           std::to_string(components) + " x " + std::to_string(shape_.limbs) + " x " +
                           std::to_string(shape_.degree) +
                           " residues does not fit the address space; use a smaller batch");
  }
  buffer_ = runtime::Buffer(memory, stored_bytes(word, shape_.words()), secrecy);
}

}  // namespace hemera::poly
