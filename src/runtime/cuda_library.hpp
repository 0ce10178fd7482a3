// The CUDA backend as the core sees it: a table of functions, which is linked in, loaded, or absent.
#pragma once

#include <memory>
#include <string>

#include "hemera/runtime/device.hpp"

namespace hemera::poly {
class Backend;
class Ring;
struct CudaSettings;
}  // namespace hemera::poly

namespace hemera::runtime {

struct CudaLibrary {
  /// Hemera's version, and a digest of the headers that both sides were compiled with. They stay the first
  /// members: the others mean something only where both are the core's own.
  const char* version;
  const char* interface;
  CudaDevices (*find_devices)();
  int (*device_of)(const void* pointer);
  std::shared_ptr<const poly::Backend> (*make_backend)(std::shared_ptr<const poly::Ring> ring,
                                                       const poly::CudaSettings& settings);
};

/// The CUDA backend of this process, or why there is none.
struct CudaPart {
  const CudaLibrary* library = nullptr;
  /// The problem with the way out; empty if there is a library.
  std::string problem;
};

/// A program defines it once: linked programs in runtime/cuda_part.cpp, the Python extension in
/// python/bindings/cuda_library.cpp, which loads the library when it is first asked.
const CudaPart& cuda_part();

}  // namespace hemera::runtime

/// The one name that the CUDA backend exports as a library by itself.
extern "C" const hemera::runtime::CudaLibrary* hemera_cuda_library();
