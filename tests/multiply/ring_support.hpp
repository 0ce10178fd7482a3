// What the tests of ring products share: rings, arrays of polynomials, and a product by an engine.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/multiply/engines.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::multiply {

using Words = std::vector<std::uint64_t>;

/// How the coefficients of a test polynomial look.
enum class Fill { random, largest, sparse, alternating };
inline constexpr Fill fills[] = {Fill::random, Fill::largest, Fill::sparse, Fill::alternating};

inline void fill(std::uint64_t* row, std::size_t count, std::uint64_t bound, Fill how,
                 std::mt19937_64& random) {
  std::uniform_int_distribution<std::uint64_t> uniform(0, bound - 1);
  for (std::size_t n = 0; n < count; ++n) {
    switch (how) {
      case Fill::random:
        row[n] = uniform(random);
        break;
      case Fill::largest:
        row[n] = bound - 1;
        break;
      case Fill::sparse:
        row[n] = random() % 64 == 0 ? uniform(random) : 0;
        break;
      case Fill::alternating:
        row[n] = n % 2 == 0 ? bound - 1 : 0;
        break;
    }
  }
}

/// A ring whose moduli have the given bits, all 1 modulo 2N.
inline poly::RnsBase split_base(std::size_t degree, const std::vector<int>& bits) {
  std::vector<poly::RingModulus> moduli;
  std::vector<std::uint64_t> taken;
  std::vector<std::uint32_t> indices;
  for (const int b : bits) {
    const std::uint64_t q = arith::primes_below(std::uint64_t{1} << b, 2 * degree, 1 + taken.size()).back();
    const arith::Modulus modulus(q);
    indices.push_back(static_cast<std::uint32_t>(taken.size()));
    taken.push_back(q);
    moduli.push_back({modulus, arith::minimal_primitive_root(2 * degree, modulus)});
  }
  return {poly::Ring::make(degree, std::move(moduli)), std::move(indices)};
}

/// Polynomials of canonical residues, [batch, component, limb, N].
struct Polynomials {
  poly::PolyShape shape;
  Words words;

  Polynomials(const poly::PolyShape& extents) : shape(extents), words(extents.words()) {}  // NOLINT
  Polynomials(const poly::PolyShape& extents, const poly::RnsBase& base, Fill how, std::mt19937_64& random)
      : Polynomials(extents) {
    for (std::size_t row = 0; row < words.size() / shape.degree; ++row) {
      fill(words.data() + row * shape.degree, shape.degree, base.modulus(row % shape.limbs).value(), how,
           random);
    }
  }

  [[nodiscard]] poly::PolyView view() {
    return {reinterpret_cast<std::byte*>(words.data()), shape, poly::Word::u64};
  }
  [[nodiscard]] poly::ConstPolyView view() const {
    return {reinterpret_cast<const std::byte*>(words.data()), shape, poly::Word::u64};
  }
};

inline Words product(const poly::RingMultiplier& engine, const Polynomials& a, const Polynomials& b,
                     const poly::RnsBase& base, int threads = 2) {
  runtime::CpuQueue queue(std::make_shared<runtime::ThreadPool>(threads));
  poly::PolyShape shape = a.shape;
  shape.batch = std::max(a.shape.batch, b.shape.batch);
  shape.components = a.shape.components + b.shape.components - 1;
  Polynomials out(shape);
  engine.tensor_product(queue, out.view(), a.view(), b.view(), base);
  return out.words;
}

}  // namespace hemera::multiply
