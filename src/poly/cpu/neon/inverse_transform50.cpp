// Inverse transform for Advanced SIMD.
#include "poly/cpu/neon/transform50.hpp"
#include "poly/cpu/vector/inverse50.hpp"
