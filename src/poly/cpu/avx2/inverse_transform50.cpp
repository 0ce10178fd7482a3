// Inverse transform for AVX2.
#include "poly/cpu/avx2/transform50.hpp"
#include "poly/cpu/vector/inverse50.hpp"
