#include "poly/sampling_checks.hpp"

#include <cstdint>
#include <string>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::poly {

void check_stream(const char* operation, const PolyShape& out, const RandomStream& stream) {
  const std::uint64_t polynomials = out.batch * out.components;
  const std::uint64_t numbers = std::uint64_t{1} << 32;
  if (polynomials > numbers - stream.first_polynomial) {
    throw ParameterError(std::string(operation) + ": " + std::to_string(polynomials) +
                         " polynomials from number " + std::to_string(stream.first_polynomial) +
                         " on would repeat the stream, which has 2^32; draw another seed");
  }
}

void check_distribution(const Distribution& distribution, std::size_t degree) {
  if (distribution.purpose() == Purpose::fixed_weight &&
      (distribution.weight() < 1 || distribution.weight() > degree)) {
    throw ParameterError("a secret with " + std::to_string(distribution.weight()) +
                         " non-zero coefficients of " + std::to_string(degree) +
                         "; choose a Hamming weight from 1 to the degree");
  }
}

// Vector registers too: the loader saves them on the stack when the C++ library first calls a function of the
// C library, whatever the program itself has looked up at its start.
#define HEMERA_ZERO_REGISTERS
#if defined(__aarch64__) && defined(__has_attribute)
#if __has_attribute(zero_call_used_regs)
#undef HEMERA_ZERO_REGISTERS
#define HEMERA_ZERO_REGISTERS __attribute__((zero_call_used_regs("all")))
#endif
#endif

HEMERA_ZERO_REGISTERS __attribute__((noinline)) void zero_stack_below() {
  std::uint8_t area[16384];
  runtime::secure_zero(area, sizeof area);
}

}  // namespace hemera::poly
