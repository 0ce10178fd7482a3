# The system libraries of the core, as targets hemera::boost, ::zstd, ::xxhash and ::crypto. The build and the installed
# package (hemera-config.cmake) both include this. What is missing is named with the Debian package that brings it.
function(hemera_require variable what package)
  if(NOT ${variable})
    message(FATAL_ERROR "Hemera needs ${what}: not found. On Debian or Ubuntu: apt-get install ${package}")
  endif()
endfunction()

function(hemera_dependency name include library)
  if(TARGET hemera::${name})
    return()
  endif()
  add_library(hemera::${name} INTERFACE IMPORTED)
  set_target_properties(hemera::${name} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${include}"
                                                   INTERFACE_INCLUDE_DIRECTORIES "${include}"
                                                   INTERFACE_LINK_LIBRARIES "${library}")
endfunction()

find_path(HEMERA_BOOST_INCLUDE boost/multiprecision/cpp_int.hpp)
hemera_require(HEMERA_BOOST_INCLUDE "the headers of Boost.Multiprecision" libboost-dev)
find_path(HEMERA_ZSTD_INCLUDE zstd.h)
find_library(HEMERA_ZSTD_LIBRARY zstd)
hemera_require(HEMERA_ZSTD_INCLUDE "the headers of Zstandard" libzstd-dev)
hemera_require(HEMERA_ZSTD_LIBRARY "the Zstandard library" libzstd-dev)
find_path(HEMERA_XXHASH_INCLUDE xxhash.h)
hemera_require(HEMERA_XXHASH_INCLUDE "the xxHash header" libxxhash-dev)
find_path(HEMERA_CRYPTO_INCLUDE openssl/evp.h)
find_library(HEMERA_CRYPTO_LIBRARY crypto)
hemera_require(HEMERA_CRYPTO_INCLUDE "the headers of OpenSSL" libssl-dev)
hemera_require(HEMERA_CRYPTO_LIBRARY "OpenSSL's libcrypto" libssl-dev)
find_package(Threads REQUIRED)
mark_as_advanced(HEMERA_BOOST_INCLUDE HEMERA_ZSTD_INCLUDE HEMERA_ZSTD_LIBRARY HEMERA_XXHASH_INCLUDE
                 HEMERA_CRYPTO_INCLUDE HEMERA_CRYPTO_LIBRARY)

hemera_dependency(boost "${HEMERA_BOOST_INCLUDE}" "")
hemera_dependency(zstd "${HEMERA_ZSTD_INCLUDE}" "${HEMERA_ZSTD_LIBRARY}")
hemera_dependency(xxhash "${HEMERA_XXHASH_INCLUDE}" "")
hemera_dependency(crypto "${HEMERA_CRYPTO_INCLUDE}" "${HEMERA_CRYPTO_LIBRARY}")
