// Transforms for WebAssembly, of moduli below 2^49; larger ones are left to the scalar kernels.
//
// Stage after stage, with the last (first) two on the four words of two vectors. Several stages at a time, as
// for other sets, gain nothing: products take twelve times as long as a load.
#include "poly/cpu/simd128/arithmetic49.hpp"
#include "poly/cpu/vector/declarations.hpp"

namespace hemera::poly::cpu::simd128 {
namespace {

bool is_narrow(const LimbTables& tables) { return tables.modulus.value() < max_modulus_49; }

// Cooley-Tukey with the twist in the twiddles (P. Longa and M. Naehrig, 2016/504, algorithm 1): x and y in
// (-2 q, 2 q) to x + w y and x - w y in it.
HEMERA_VECTOR_FUNCTION void forward_butterfly(Vector& x, Vector& y, const Factors49& w, const Modulus49& q) {
  const Vector product = multiply49(y, w, q);
  const Vector sum = halve49(x, q);
  x = add(sum, product);
  y = subtract(sum, product);
}

// Gentleman-Sande (algorithm 2): x and y in [-q, q] to x + y and w (x - y) in it.
HEMERA_VECTOR_FUNCTION void inverse_butterfly(Vector& x, Vector& y, const Factors49& w, const Modulus49& q) {
  const Vector difference = subtract(x, y);
  x = halve49(add(x, y), q);
  y = multiply49(difference, w, q);
}

// The stage of `blocks` blocks, butterfly(x, y, w) on each pair of vectors.
template <typename Butterfly>
[[gnu::always_inline]] inline void stage(Word* out, const Word* in, const Word* powers, std::size_t degree,
                                         std::size_t blocks, const Modulus49& q, const Butterfly& butterfly) {
  const std::size_t half = degree / 2 / blocks;
  for (std::size_t block = 0; block < blocks; ++block) {
    const Factors49 w = Factors49::make(powers[blocks + block], q);
    const std::size_t first = 2 * half * block;
    for (std::size_t i = first; i < first + half; i += lanes) {
      Vector x = load(in + i);
      Vector y = load(in + i + half);
      butterfly(x, y, w);
      store(out + i, x);
      store(out + i + half, y);
    }
  }
}

// Blocks of four words: those two stages whose pairs are in one or two vectors.
template <typename Butterflies>
[[gnu::always_inline]] inline void four_words(Word* out, const Word* in, const Word* powers,
                                              std::size_t degree, const Modulus49& q,
                                              const Butterflies& butterflies) {
  for (std::size_t block = 0; block < degree / 4; ++block) {
    Vector x = load(in + 4 * block);
    Vector y = load(in + 4 * block + lanes);
    butterflies(x, y, Factors49::make(powers[degree / 4 + block], q),
                Factors49::of(load(powers + degree / 2 + 2 * block), q));
    store(out + 4 * block, x);
    store(out + 4 * block + lanes, y);
  }
}

void forward_stage(Word* out, const Word* in, const LimbTables& tables, std::size_t blocks,
                   const Modulus49& q) {
  stage(
      out, in, tables.powers.data(), tables.degree, blocks,
      q, [&](Vector & x, Vector & y, const Factors49& w) __attribute__((always_inline)) {
        forward_butterfly(x, y, w, q);
      });
}

void inverse_stage(Word* data, const LimbTables& tables, std::size_t blocks, const Modulus49& q) {
  stage(
      data, data, tables.inverse_powers.data(), tables.degree, blocks,
      q, [&](Vector & x, Vector & y, const Factors49& w) __attribute__((always_inline)) {
        inverse_butterfly(x, y, w, q);
      });
}

}  // namespace

void forward_transform(Word* out, const Word* in, const LimbTables& tables) {
  if (!is_narrow(tables)) return scalar_kernels().forward_transform(out, in, tables);
  const Modulus49 q = Modulus49::make(tables.modulus);
  for (std::size_t blocks = 1; blocks < tables.degree / 4; blocks *= 2) {
    forward_stage(out, blocks == 1 ? in : out, tables, blocks, q);
  }
  four_words(
      out, out, tables.powers.data(), tables.degree, q,
      [&](Vector & x, Vector & y, const Factors49& w, const Factors49& last) __attribute__((always_inline)) {
        forward_butterfly(x, y, w, q);
        transpose(x, y);
        forward_butterfly(x, y, last, q);
        x = canonical49(x, q);
        y = canonical49(y, q);
        transpose(x, y);
      });
}

void inverse_transform(Word* out, const Word* in, const LimbTables& tables) {
  if (!is_narrow(tables)) return scalar_kernels().inverse_transform(out, in, tables);
  const Modulus49 q = Modulus49::make(tables.modulus);
  four_words(
      out, in, tables.inverse_powers.data(), tables.degree, q,
      [&](Vector & x, Vector & y, const Factors49& w, const Factors49& first) __attribute__((always_inline)) {
        transpose(x, y);
        inverse_butterfly(x, y, first, q);
        transpose(x, y);
        inverse_butterfly(x, y, w, q);
      });
  for (std::size_t blocks = tables.degree / 8; blocks > 1; blocks /= 2) inverse_stage(out, tables, blocks, q);
  // The last stage takes N^-1 in.
  const Factors49 scale = Factors49::make(tables.inverse_degree.operand, q);
  const Factors49 twist = Factors49::make(tables.inverse_degree_twist.operand, q);
  stage(
      out, out, tables.inverse_powers.data(), tables.degree, 1,
      q, [&](Vector & x, Vector & y, const Factors49&) __attribute__((always_inline)) {
        const Vector sum = add(x, y);
        y = lift(multiply49(subtract(x, y), twist, q), q.q);
        x = lift(multiply49(sum, scale, q), q.q);
      });
}

}  // namespace hemera::poly::cpu::simd128
