// Element-wise kernels for Advanced SIMD.
#include "poly/cpu/neon/arithmetic50.hpp"
#include "poly/cpu/vector/elementwise50.hpp"
