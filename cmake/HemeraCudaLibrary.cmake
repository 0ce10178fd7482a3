# The CUDA backend as a library by itself, which the Python extension finds by its name, and checks
# (docs/decisions/cuda-wheel.md). It takes Hemera's own functions of the extension.

# Sets `digest` to one of what both sides must have in common: the headers of the layers below the backend, and the
# compiler's version.
function(hemera_digest_cuda_interface digest)
  set(text "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  string(REGEX REPLACE "^([A-Za-z]+ [0-9]+).*" "\\1" text "${text}")
  foreach(layer arith runtime poly)
    foreach(folder include/hemera src)
      file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
                                                                         ${PROJECT_SOURCE_DIR}/${folder}/${layer}/*.hpp)
      list(SORT headers)
      foreach(header IN LISTS headers)
        file(SHA256 ${PROJECT_SOURCE_DIR}/${header} own)
        string(APPEND text "\n${header} ${own}")
        set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
      endforeach()
    endforeach()
  endforeach()
  string(SHA256 text "${text}")
  string(SUBSTRING ${text} 0 16 text)
  set(${digest} ${text} PARENT_SCOPE)
endfunction()
hemera_digest_cuda_interface(hemera_cuda_interface)
set(hemera_cuda_identity HEMERA_VERSION="${PROJECT_VERSION}" HEMERA_CUDA_INTERFACE="${hemera_cuda_interface}")

# Tells the backend's sources, for the targets of this folder, what they are part of. `architectures`: of its kernels.
function(hemera_describe_cuda_library architectures)
  list(JOIN architectures "," architectures)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/poly/cuda/library.cpp PROPERTIES
    COMPILE_DEFINITIONS "${hemera_cuda_identity}")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/runtime/cuda/devices.cpp PROPERTIES
    COMPILE_DEFINITIONS HEMERA_CUDA_ARCHITECTURES="${architectures}")
endfunction()

# libhemera_cuda-VERSION.so of a target's objects. Not part of `all`: C++ programs link the objects.
function(hemera_add_cuda_library target objects)
  add_library(${target} MODULE EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${objects}>)
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX PREFIX lib OUTPUT_NAME hemera_cuda-${PROJECT_VERSION} SUFFIX .so
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/cuda-library.map)
  target_link_options(${target} PRIVATE LINKER:-z,now
                                        LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/cuda-library.map)
endfunction()
