// The sampling kernels in plain C++. Comparisons are subtractions whose sign bit is shifted down: no compiler
// makes a branch of that.
#include "poly/cpu/chacha20.hpp"
#include "poly/cpu/sampling_kernels.hpp"

namespace hemera::poly::cpu {
namespace {

void reduce_wide(std::uint64_t* out, const std::uint64_t* wide, std::size_t count, const arith::Modulus& q) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = q.reduce((static_cast<arith::uint128>(wide[2 * i + 1]) << 64) | wide[2 * i]);
  }
}

void ternary_values(std::int64_t* out, const std::uint64_t* wide, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::int64_t>(arith::multiply_high(3, wide[2 * i])) - 1;
  }
}

void error_values(std::int64_t* out, const std::uint64_t* wide, std::size_t count, const std::uint64_t* table,
                  std::size_t table_size) {
  // The table outside, a few coefficients inside: loads are shared and the inner loop vectorises.
  constexpr std::size_t group = 16;
  constexpr std::uint64_t low_63 = ~(std::uint64_t{1} << 63);
  for (std::size_t first = 0; first < count; first += group) {
    const std::size_t here = count - first < group ? count - first : group;
    std::uint64_t u[group] = {}, magnitude[group];
    for (std::size_t k = 0; k < here; ++k) u[k] = wide[2 * (first + k)] & low_63;
    for (std::uint64_t& m : magnitude) m = table_size;
    for (std::size_t m = 0; m < table_size; ++m) {
      for (std::size_t k = 0; k < group; ++k) magnitude[k] -= (u[k] - table[m]) >> 63;
    }
    for (std::size_t k = 0; k < here; ++k) {
      const std::uint64_t negative = 0 - (wide[2 * (first + k) + 1] >> 63);
      out[first + k] = static_cast<std::int64_t>((magnitude[k] ^ negative) - negative);
    }
  }
}

void residues(std::uint64_t* out, const std::int64_t* values, std::size_t count, std::uint64_t q) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = static_cast<std::uint64_t>(values[i]);
    out[i] = x + (q & (0 - (x >> 63)));
  }
}

std::size_t count_below(const std::uint64_t* keys, std::size_t count, std::uint64_t bound) {
  std::size_t result = 0;
  for (std::size_t i = 0; i < count; ++i) result += (keys[i] - bound) >> 63;
  return result;
}

}  // namespace

constinit const SamplingKernels scalar_sampling = {
    .name = "scalar",
    .chacha20_blocks = chacha20_blocks_scalar,
    .reduce_wide = reduce_wide,
    .ternary_values = ternary_values,
    .error_values = error_values,
    .residues = residues,
    .count_below = count_below,
};

}  // namespace hemera::poly::cpu
