// Rings, scratch and exact references for the tests of the embedding.
#pragma once

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/thread_pool.hpp"
#include "poly/cpu/embedding.hpp"
#include "poly/cpu/embedding_kernels.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::embedding_tests {

using arith::BigInteger;
using Slots = std::vector<std::complex<double>>;

/// Half the distance from 1 to the next double.
inline constexpr double unit = 0x1p-53;

inline std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const cpu::Kernels* kernels : cpu::available_kernels()) names.emplace_back(kernels->name);
  return names;
}

/// A base of the given moduli; transforms are not needed, so any pairwise coprime ones.
inline RnsBase base_of(std::size_t degree, const std::vector<std::uint64_t>& moduli) {
  std::vector<RingModulus> all;
  std::vector<std::uint32_t> indices;
  for (const std::uint64_t q : moduli) {
    indices.push_back(static_cast<std::uint32_t>(all.size()));
    all.push_back({arith::Modulus(q), 0});
  }
  return {Ring::make(degree, all), indices};
}

inline RnsBase base_of_bits(std::size_t degree, int bits, std::size_t limbs) {
  return base_of(degree, arith::primes_below(std::uint64_t{1} << bits, 2, limbs));
}

inline BigInteger modulus_product(const RnsBase& base) { return arith::product(base.values()); }

/// An embedding with everything a call needs.
class Fixture {
 public:
  Fixture(std::size_t degree, RnsBase base, const std::string& isa = "", int threads = 1)
      : base_(std::move(base)), embedding_(degree, isa.c_str()), pool_(threads), degree_(degree) {}

  [[nodiscard]] const RnsBase& base() const { return base_; }
  [[nodiscard]] std::size_t degree() const { return degree_; }
  [[nodiscard]] std::size_t full() const { return degree_ / 2; }
  [[nodiscard]] const cpu::Embedding& embedding() const { return embedding_; }
  runtime::ThreadPool& pool() { return pool_; }
  const std::shared_ptr<runtime::Memory>& memory() { return memory_; }

  /// Runs `operation`, which is given scratch of exactly the size that it measures.
  void with_scratch(const std::function<void(runtime::Workspace&)>& operation) const {
    runtime::Workspace measuring = runtime::Workspace::measuring();
    operation(measuring);
    runtime::Workspace exact(memory_, measuring.peak());
    operation(exact);
  }

  Poly polynomial(std::size_t batch = 1) { return {memory_, batch, 1, base_, Form::coefficient}; }

  Poly embed(Slots slots, double scale, std::size_t batch = 1) {
    Poly out = polynomial(batch);
    const std::size_t n = slots.size() / batch;
    with_scratch([&](runtime::Workspace& scratch) {
      embedding_.embed(pool_, out.view(), SlotView{slots.data(), batch, n}, scale, base_, scratch);
    });
    return out;
  }

  Slots unembed(const Poly& in, std::size_t n, double scale) {
    const std::size_t batch = in.shape().batch;
    Slots slots(batch * n);
    with_scratch([&](runtime::Workspace& scratch) {
      embedding_.unembed(pool_, SlotView{slots.data(), batch, n}, in.view(), scale, base_, scratch);
    });
    return slots;
  }

  /// Residues of an integer at one coefficient.
  void set(Poly& poly, std::size_t batch, std::size_t coefficient, const BigInteger& value) const {
    for (std::size_t limb = 0; limb < base_.size(); ++limb) {
      poly.view().limb<std::uint64_t>(batch, 0, limb)[coefficient] =
          arith::modulo(value, base_.modulus(limb).value());
    }
  }

  /// All residues are those of these integers; the rest of the N coefficients is zero.
  Poly from_integers(const std::vector<BigInteger>& values) {
    Poly poly = polynomial();
    for (std::size_t i = 0; i < degree_; ++i) set(poly, 0, i, i < values.size() ? values[i] : BigInteger(0));
    return poly;
  }

 private:
  RnsBase base_;
  cpu::Embedding embedding_;
  runtime::ThreadPool pool_;
  std::shared_ptr<runtime::Memory> memory_ = runtime::make_host_memory();
  std::size_t degree_;
};

inline std::vector<std::uint64_t> residues(const Poly& poly) {
  const auto* begin = poly.view().limb<std::uint64_t>(0, 0, 0);
  return {begin, begin + poly.shape().words()};
}

inline Slots random_slots(std::size_t count, std::mt19937_64& random, double size = 1.0) {
  std::uniform_real_distribution<double> uniform(-size, size);
  Slots slots(count);
  for (auto& slot : slots) slot = {uniform(random), uniform(random)};
  return slots;
}

inline double largest_difference(const Slots& a, const Slots& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::fmax(largest, std::abs(a[i] - b[i]));
  return largest;
}

inline double largest_size(const Slots& a) {
  double largest = 0;
  for (const auto& x : a) largest = std::fmax(largest, std::abs(x));
  return largest;
}

inline double root_mean_square(const Slots& a) {
  double sum = 0;
  for (const auto& x : a) sum += std::norm(x);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

/// What the slots met here are off after one transform of n values, relative to the largest one. It is the
/// proven bound of the root mean square, with room for the two roundings of a coefficient
/// (docs/arithmetic-embedding.md).
inline double transform_error(std::size_t n) { return 4 * (std::log2(static_cast<double>(n)) + 1) * unit; }

/// The product of two doubles to the nearest integer, ties to even, by exact integers.
inline BigInteger exact_round(double value, double scale) {
  int value_exponent = 0, scale_exponent = 0;
  const BigInteger product = BigInteger(std::ldexp(std::frexp(value, &value_exponent), 53)) *
                             BigInteger(std::ldexp(std::frexp(scale, &scale_exponent), 53));
  const int exponent = value_exponent + scale_exponent - 106;
  const BigInteger magnitude = abs(product);
  BigInteger result;
  if (exponent >= 0) {
    result = magnitude << static_cast<unsigned>(exponent);
  } else {
    const BigInteger one = BigInteger(1) << static_cast<unsigned>(-exponent);
    result = magnitude / one;
    const BigInteger twice_rest = 2 * (magnitude % one);
    if (twice_rest > one || (twice_rest == one && result % 2 != 0)) ++result;
  }
  return product < 0 ? BigInteger(-result) : result;
}

/// x rounded to 53 bits, ties to even, then divided by scale with one rounding.
inline double exact_quotient(const BigInteger& x, double scale) {
  if (x == 0) return 0;
  const BigInteger magnitude = abs(x);
  const int bits = static_cast<int>(msb(magnitude)) + 1;
  int exponent = 0;
  BigInteger mantissa = magnitude;
  if (bits > 53) {
    exponent = bits - 53;
    const BigInteger one = BigInteger(1) << static_cast<unsigned>(exponent);
    mantissa = magnitude / one;
    const BigInteger twice_rest = 2 * (magnitude % one);
    if (twice_rest > one || (twice_rest == one && mantissa % 2 != 0)) ++mantissa;
  }
  int scale_exponent = 0;
  const double fraction = std::frexp(scale, &scale_exponent);
  const double quotient = static_cast<double>(static_cast<std::int64_t>(mantissa)) / fraction;
  return std::ldexp(x < 0 ? -quotient : quotient, exponent - scale_exponent);
}

}  // namespace hemera::poly::embedding_tests
