// What a program says about the context that it needs, and the parameters that follow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "hemera/circuits/bootstrap/bootstrap_parameters.hpp"
#include "hemera/rlwe/parameters.hpp"
#include "hemera/rlwe/scheme.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::heir {

using rlwe::Scheme;

/// The requirements of a program. HEIR plans sizes of primes; Hemera chooses the primes, as many as its own
/// bounds need, and the ring.
struct Parameters {
  Scheme scheme = Scheme::ckks;
  /// Multiplications one after the other, by plaintexts included.
  std::size_t depth = 1;
  /// Slots of the program's ciphertexts, a power of two: its values repeat with this period.
  std::size_t slots = 1;
  /// CKKS: of the scale, from 20 to 60: programs have doubles.
  int scale_bits = 40;
  /// CKKS: of the modulus that is left at the end, scale included; 0: the scale and 20 bits. Results may be
  /// as large as 2^(first_bits - scale_bits - 1).
  int first_bits = 0;
  /// BFV and BGV: t, a prime that has 2 `slots` slots.
  std::uint64_t plain_modulus = 0;
  /// BFV and BGV: sums and rotations at each level.
  std::size_t terms = 16;
  /// Least degree of the ring; 0: the smallest that is secure and has the slots.
  std::size_t degree = 0;
  /// Bits; empty: not checked, for tests.
  std::optional<int> security = 128;
  /// CKKS: for programs that bootstrap, the preset whose matrices and sine they use
  /// (circuits::bootstrap_preset); `depth` and `scale_bits` are then the levels and the scale that a
  /// bootstrap leaves, 0 the preset's. Empty: none.
  std::string bootstrap = {};
  /// Largest magnitude of values that are bootstrapped.
  double bootstrap_magnitude = 1;
};

/// Hemera's parameters for a program. Throws ParameterError for requirements that have none, SecurityError
/// for a preset or a degree that is not secure.
inline rlwe::Parameters parameters_for(const Parameters& program) {
  if (program.slots == 0 || (program.slots & (program.slots - 1)) != 0) {
    throw ParameterError("a program of " + std::to_string(program.slots) +
                         " slots; their number is a power of two (HEIR: min-slot-count)");
  }
  if (program.scheme == Scheme::ckks && !program.bootstrap.empty()) {
    circuits::BootstrapSettings settings = circuits::bootstrap_preset(program.bootstrap);
    if (program.depth != 0) settings.levels = program.depth;
    if (program.scale_bits != 0) settings.scale_bits = program.scale_bits;
    if (!program.security) settings.security = std::nullopt;
    settings.degree = std::max(settings.degree, program.degree);
    return circuits::parameters_for_bootstrapping(settings);
  }
  if (program.scheme == Scheme::ckks) {
    ckks::CircuitRequest request{.depth = program.depth,
                                 .scale_bits = program.scale_bits,
                                 .slots = program.slots,
                                 .degree = program.degree,
                                 .security = program.security};
    if (program.first_bits != 0) request.range_bits = program.first_bits - program.scale_bits;
    return ckks::parameters_for(request);
  }
  const integer::CircuitRequest request{.depth = program.depth,
                                        .plain_modulus = program.plain_modulus,
                                        // A row holds the values, and there are two.
                                        .slots = 2 * program.slots,
                                        .terms = program.terms,
                                        .degree = program.degree,
                                        .security = program.security};
  return program.scheme == Scheme::bgv ? bgv::parameters_for(request) : bfv::parameters_for(request);
}

}  // namespace hemera::heir
