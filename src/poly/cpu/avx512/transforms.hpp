// The transforms of each arithmetic: canonical in, canonical out, in place or not.
#pragma once

#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu::avx512 {

// The ones for q < 2^50, and those for q < 2^61.
Kernel<&Kernels::forward_transform> forward_transform52, forward_transform64;
Kernel<&Kernels::inverse_transform> inverse_transform52, inverse_transform64;
Kernel<&Kernels::forward_transform_of_sum> forward_transform_of_sum52, forward_transform_of_sum64;
Kernel<&Kernels::forward_columns> forward_columns52, forward_columns64;
Kernel<&Kernels::forward_row> forward_row52, forward_row64;
Kernel<&Kernels::inverse_row> inverse_row52, inverse_row64;
Kernel<&Kernels::inverse_columns> inverse_columns52, inverse_columns64;

}  // namespace hemera::poly::cpu::avx512
