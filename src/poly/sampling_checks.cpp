#include "poly/sampling_checks.hpp"

#include <cstdint>
#include <string>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "poly/shapes.hpp"

namespace hemera::poly {

void check_sampling(const PolyView& out, const RandomStream& stream, const RnsBase& base) {
  check_view("sampling", "the output", out, base);
  const std::uint64_t polynomials = out.shape.batch * out.shape.components;
  const std::uint64_t numbers = std::uint64_t{1} << 32;
  if (polynomials > numbers - stream.first_polynomial) {
    throw ParameterError("sampling: " + std::to_string(polynomials) + " polynomials from number " +
                         std::to_string(stream.first_polynomial) +
                         " on would repeat the stream, which has 2^32; draw another seed");
  }
}

void check_weight(std::size_t weight, std::size_t degree) {
  if (weight < 1 || weight > degree) {
    throw ParameterError("a secret with " + std::to_string(weight) + " non-zero coefficients of " +
                         std::to_string(degree) + "; choose a Hamming weight from 1 to the degree");
  }
}

void check_flooding(int bits) {
  if (bits < 1 || bits > 120) {
    throw ParameterError("flooding with integers of " + std::to_string(bits) + " bits; choose 1 to 120");
  }
}

__attribute__((noinline)) void zero_stack_below() {
  std::uint8_t area[16384];
  runtime::secure_zero(area, sizeof area);
}

}  // namespace hemera::poly
