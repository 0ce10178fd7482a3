// The split form of the discrete Galois transform for primes below 2^50, with 52-bit multiplies.
#include "multiply/avx512/split52_passes.hpp"
#include "multiply/split_run.hpp"

namespace hemera::multiply {
namespace {

using Two = split52::Passes<2>;    // bits of headroom: of primes of 50 bits
using Three = split52::Passes<3>;  // of all below 2^49

void forward(Word* values, const Word* coefficients, const SplitTables& tables) {
  (tables.modulus.bits() == 50 ? run_forward<Two> : run_forward<Three>)(values, coefficients, tables);
}
void inverse(Word* coefficients, Word* values, const SplitTables& tables) {
  (tables.modulus.bits() == 50 ? run_inverse<Two> : run_inverse<Three>)(coefficients, values, tables);
}
void sum_of_products(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                     const SplitTables& tables) {
  split52::sum_of_products(out, a, b, terms, pair * tables.pairs, tables.modulus);
}
void tensor_product(Word* const* out, const Word* const* a, std::size_t left, const Word* const* b,
                    std::size_t right, bool square, Word* scratch, const SplitTables& tables) {
  (tables.modulus.bits() == 50 ? run_tensor_product<Two>
                               : run_tensor_product<Three>)(out, a, left, b, right, square, scratch, tables);
}

}  // namespace

const SplitKernels& avx512_split52_kernels() {
  static constexpr SplitKernels table = {SplitFactorForm::quotients52, forward, inverse, sum_of_products,
                                         tensor_product};
  return table;
}

}  // namespace hemera::multiply
