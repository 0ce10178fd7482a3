// What the tests of the samplers share: instruction sets, rings, and the rule of hemera/poly/random.hpp
// written down a second time, coefficient by coefficient in big integers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/cpu/chacha20.hpp"
#include "poly/cpu/kernels.hpp"
#include "poly/cpu/sampling.hpp"

namespace hemera::poly::testing {

using arith::BigInteger;

/// The sampling kernels of every instruction set that this processor and build have, the scalar ones first.
inline std::vector<const cpu::SamplingKernels*> available_sampling_kernels() {
  std::vector<const cpu::SamplingKernels*> result;
  for (const cpu::Kernels* kernels : cpu::available_kernels()) result.push_back(kernels->sampling);
  return result;
}

/// The name of a test's instruction set.
inline std::string instruction_set_name(const ::testing::TestParamInfo<const cpu::SamplingKernels*>& test) {
  return test.param->name;
}

/// Draws with scratch of the size that the sampler measures.
inline void sample(runtime::ThreadPool& pool, const cpu::SamplingKernels& kernels, const PolyView& out,
                   const RandomStream& stream, const Distribution& distribution, const RnsBase& base) {
  runtime::Workspace measuring = runtime::Workspace::measuring();
  cpu::sample(pool, kernels, out, stream, distribution, base, measuring);
  runtime::Workspace exact(runtime::make_host_memory(), measuring.peak());
  cpu::sample(pool, kernels, out, stream, distribution, base, exact);
}

/// A base of moduli without transforms; samplers need none.
inline RnsBase make_base(std::size_t degree, const std::vector<std::uint64_t>& moduli) {
  std::vector<RingModulus> ring_moduli;
  for (const std::uint64_t q : moduli) ring_moduli.push_back({arith::Modulus(q), 0});
  std::vector<std::uint32_t> indices(moduli.size());
  std::iota(indices.begin(), indices.end(), 0U);
  return RnsBase(Ring::make(degree, ring_moduli), indices);
}

inline Seed make_seed(std::uint64_t value) {
  Seed seed;
  for (std::size_t i = 0; i < seed.bytes.size(); ++i) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    seed.bytes[i] = static_cast<std::uint8_t>(value >> 56);
  }
  return seed;
}

inline std::vector<std::uint64_t> limb_values(const ConstPolyView& view, std::size_t batch,
                                              std::size_t component, std::size_t limb) {
  const std::uint64_t* first = view.limb<std::uint64_t>(batch, component, limb);
  return {first, first + view.shape.degree};
}

/// r of coefficient i of limb j of polynomial k.
inline BigInteger random_bits(const Seed& seed, Purpose purpose, std::uint32_t k, std::uint32_t j,
                              std::size_t i) {
  std::uint32_t key[8];
  for (int word = 0; word < 8; ++word) {
    key[word] = 0;
    for (int byte = 0; byte < 4; ++byte) {
      const auto index = static_cast<std::size_t>(4 * word + byte);
      key[word] |= static_cast<std::uint32_t>(seed.bytes[index]) << (8 * byte);
    }
  }
  const std::uint32_t nonce[3] = {k, j, static_cast<std::uint32_t>(purpose)};
  std::uint8_t block[64];
  cpu::chacha20_blocks_scalar(block, key, static_cast<std::uint32_t>(i / 4), nonce, 1);
  BigInteger r = 0;
  for (std::size_t byte = 16; byte-- > 0;) r = r * 256 + block[16 * (i % 4) + byte];
  return r;
}

inline BigInteger power_of_two(unsigned exponent) { return BigInteger(1) << exponent; }

inline int ternary_coefficient(const BigInteger& r) {
  const BigInteger low = r % power_of_two(64);
  return static_cast<int>(3 * low / power_of_two(64)) - 1;
}

inline int error_coefficient(const BigInteger& r, const ErrorDistribution& distribution) {
  const auto u = static_cast<std::uint64_t>(r % power_of_two(63));
  int magnitude = 0;
  for (std::size_t m = 0; m < distribution.size(); ++m) magnitude += distribution.table()[m] <= u ? 1 : 0;
  return r >= power_of_two(127) ? -magnitude : magnitude;
}

/// The coefficients of a polynomial of fixed weight from the r of all coefficients.
inline std::vector<int> fixed_weight_coefficients(const std::vector<BigInteger>& r, std::size_t weight) {
  std::vector<std::size_t> order(r.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return r[a] % power_of_two(62) < r[b] % power_of_two(62);
  });
  std::vector<int> result(r.size(), 0);
  for (std::size_t n = 0; n < weight; ++n) result[order[n]] = r[order[n]] >= power_of_two(127) ? -1 : 1;
  return result;
}

}  // namespace hemera::poly::testing
