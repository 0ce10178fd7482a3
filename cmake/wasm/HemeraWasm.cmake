# WebAssembly by Emscripten: the client in one file without generated JavaScript, which a page or Node instantiates
# with a source of entropy (clients/javascript).
add_compile_options(-fwasm-exceptions -ffunction-sections -msimd128)
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#include <bit>\n#include <span>\nint main() { const float x = 1; return std::bit_cast<int>(x); }"
                          HEMERA_LIBCXX_HAS_BIT_CAST)
if(NOT HEMERA_LIBCXX_HAS_BIT_CAST)
  include_directories(BEFORE ${CMAKE_CURRENT_LIST_DIR}/libcxx13)
  add_compile_options(-include ${CMAKE_CURRENT_LIST_DIR}/libcxx13/cxx20.hpp)
endif()

# hemera_wasm_client(TARGET SOURCES...): the functions of src/c/functions.txt before "parameters:" are exported.
function(hemera_wasm_client target)
  file(STRINGS ${PROJECT_SOURCE_DIR}/src/c/functions.txt names)
  list(FIND names "parameters:" boundary)
  list(SUBLIST names 0 ${boundary} names)
  list(TRANSFORM names PREPEND "_")
  list(JOIN names "," names)
  add_executable(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES SUFFIX .wasm)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE hemera hemera_options)
  target_link_options(${target} PRIVATE -Oz -fwasm-exceptions --no-entry -sSTANDALONE_WASM -sALLOW_MEMORY_GROWTH=1
    -sMAXIMUM_MEMORY=4GB -sINITIAL_MEMORY=16MB -sTOTAL_STACK=1MB -sERROR_ON_UNDEFINED_SYMBOLS=0
    -sDISABLE_EXCEPTION_CATCHING=1 LINKER:--growable-table "-sEXPORTED_FUNCTIONS=_malloc,_free,${names}")
endfunction()
