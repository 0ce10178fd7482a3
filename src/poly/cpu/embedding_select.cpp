#include <string_view>

#include "poly/cpu/embedding_kernels.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu {

const EmbeddingKernels& select_embedding_kernels(const char* isa) {
  [[maybe_unused]] const std::string_view name = select_kernels(isa).name;
#if defined(HEMERA_X86_KERNELS)
  if (name == "avx512") return avx512_embedding_kernels();
  if (name == "avx2") return avx2_embedding_kernels();
#elif defined(HEMERA_NEON_KERNELS)
  if (name == "neon") return neon_embedding_kernels();
#endif
  return scalar_embedding_kernels();
}

}  // namespace hemera::poly::cpu
