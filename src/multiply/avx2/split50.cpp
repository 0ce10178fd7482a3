// The split form of the discrete Galois transform for primes below 2^50, in double precision.
#include "multiply/avx2/split50_passes.hpp"
#include "multiply/split_run.hpp"

namespace hemera::multiply {

const SplitKernels& avx2_split50_kernels() {
  static constexpr SplitKernels table = run_kernels<split50::Passes>(SplitFactorForm::doubles);
  return table;
}

}  // namespace hemera::multiply
