# Toolchain file: cross-compiles the core for aarch64 on a Debian or Ubuntu machine of another kind, as a check that
# nothing depends on x86. It needs the package g++-aarch64-linux-gnu. With HEMERA_TESTS, the tests of arithmetic,
# polynomials and backends (hemera_arith_tests, hemera_poly_tests, hemera_conformance_tests) can be linked, and run by the
# package qemu-user; others call libraries that are not there.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

# The dependencies' headers of this machine serve too: they do not differ between 64-bit Linux systems. They are
# linked into a folder of their own, because /usr/include itself also holds this machine's C library.
set(borrowed ${CMAKE_BINARY_DIR}/borrowed-headers)
if(NOT EXISTS ${borrowed}/nlohmann)
  file(MAKE_DIRECTORY ${borrowed}/openssl)
  file(GLOB openssl_headers /usr/include/openssl/*.h /usr/include/*-linux-gnu/openssl/*.h)
  foreach(header IN LISTS openssl_headers)
    get_filename_component(name ${header} NAME)
    file(CREATE_LINK ${header} ${borrowed}/openssl/${name} SYMBOLIC)
  endforeach()
  foreach(name boost zstd.h zstd_errors.h zlib.h xxhash.h nlohmann)
    file(CREATE_LINK /usr/include/${name} ${borrowed}/${name} SYMBOLIC)
  endforeach()
  file(GLOB zlib_settings /usr/include/zconf.h /usr/include/*-linux-gnu/zconf.h)
  list(GET zlib_settings 0 zlib_settings)
  file(CREATE_LINK ${zlib_settings} ${borrowed}/zconf.h SYMBOLIC)
endif()
foreach(name BOOST ZSTD ZLIB XXHASH JSON CRYPTO)
  set(HEMERA_${name}_INCLUDE ${borrowed} CACHE PATH "")
endforeach()
# A target of cmake/HemeraCrossTests.cmake. What calls the others' functions is dropped with its section.
set(CMAKE_CXX_FLAGS_INIT "-ffunction-sections -fdata-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--gc-sections")
foreach(name ZSTD ZLIB CRYPTO)
  set(HEMERA_${name}_LIBRARY hemera_absent CACHE STRING "" FORCE)
endforeach()
