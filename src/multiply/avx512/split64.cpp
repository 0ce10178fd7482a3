// The split form of the discrete Galois transform for primes up to 61 bits, with products of 32-bit pieces.
#include "multiply/avx512/split64_passes.hpp"
#include "multiply/split_run.hpp"

namespace hemera::multiply {
namespace {

using split64::Passes;

void sum_of_products(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                     const SplitTables& tables) {
  Passes::sum_of_products(out, a, b, terms, pair * tables.pairs, tables.modulus);
}

}  // namespace

const SplitKernels& avx512_split64_kernels() {
  static constexpr SplitKernels table = {SplitFactorForm::quotients64, run_forward<Passes>,
                                         run_inverse<Passes>, sum_of_products, run_tensor_product<Passes>};
  return table;
}

}  // namespace hemera::multiply
