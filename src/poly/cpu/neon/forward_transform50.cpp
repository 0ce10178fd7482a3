// Forward transform for Advanced SIMD.
#include "poly/cpu/neon/transform50.hpp"
#include "poly/cpu/vector/forward50.hpp"
