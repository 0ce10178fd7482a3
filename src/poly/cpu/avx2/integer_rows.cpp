// Rows of integers times packed residues for AVX2.
#include "poly/cpu/integer_rows.hpp"

#include "poly/cpu/avx2/vectors.hpp"
#include "poly/cpu/vector/integers.hpp"

namespace hemera::poly::cpu::avx2 {

void multiply_integers(Word* const* out, const PackedRows& in, const std::int32_t* weights, std::size_t rows,
                       bool adds, const arith::Modulus& q) {
  IntegerRows<Integers>::run(out, in, weights, rows, adds, q);
}

}  // namespace hemera::poly::cpu::avx2
