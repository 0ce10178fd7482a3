// Programs that link the library have its CUDA backend or none (HEMERA_CUDA).
#include "runtime/cuda_library.hpp"

namespace hemera::runtime {

const CudaPart& cuda_part() {
#if defined(HEMERA_CUDA)
  static const CudaPart part{.library = hemera_cuda_library(), .problem = ""};
#else
  static const CudaPart part{.library = nullptr,
                             .problem =
                                 "this build of Hemera has no CUDA backend; use 'cpu', or build with "
                                 "HEMERA_CUDA=ON (docs/gpu.md)"};
#endif
  return part;
}

}  // namespace hemera::runtime
