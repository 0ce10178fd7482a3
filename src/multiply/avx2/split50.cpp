// The split form of the discrete Galois transform for primes below 2^50, in double precision.
#include "multiply/avx2/split50_passes.hpp"
#include "multiply/split_run.hpp"

namespace hemera::multiply {
namespace {

using split50::Passes;

void sum_of_products(Word* out, const Word* const* a, const Word* const* b, std::size_t terms,
                     const SplitTables& tables) {
  Passes::sum_of_products(out, a, b, terms, pair * tables.pairs, tables.modulus);
}

}  // namespace

const SplitKernels& avx2_split50_kernels() {
  static constexpr SplitKernels table = {SplitFactorForm::doubles, run_forward<Passes>, run_inverse<Passes>,
                                         sum_of_products, run_tensor_product<Passes>};
  return table;
}

}  // namespace hemera::multiply
