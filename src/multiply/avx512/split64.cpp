// The split form of the discrete Galois transform for primes up to 61 bits, with products of 32-bit pieces.
#include "multiply/avx512/split64_passes.hpp"
#include "multiply/split_run.hpp"

namespace hemera::multiply {

const SplitKernels& avx512_split64_kernels() {
  static constexpr SplitKernels table = run_kernels<split64::Passes>(SplitFactorForm::quotients64);
  return table;
}

}  // namespace hemera::multiply
