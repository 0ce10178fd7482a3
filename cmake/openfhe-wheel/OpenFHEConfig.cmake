# The CMake package that OpenFHE's wheel does not bring: libraries of the wheel in the environment HEMERA_OPENFHE_WHEEL,
# OpenFHE's headers, which `tools/setup openfhe-headers` puts beside them, and the system's cereal and RapidJSON.
#   cmake -DOpenFHE_DIR=$PWD/cmake/openfhe-wheel -DHEMERA_OPENFHE_WHEEL=$PWD/.openfhe/1.5
set(OpenFHE_FOUND FALSE)
set(OpenFHE_INCLUDE ${HEMERA_OPENFHE_WHEEL}/include/openfhe)
file(GLOB openfhe_wheel ${HEMERA_OPENFHE_WHEEL}/lib/python3.*/site-packages/openfhe)
if(NOT EXISTS ${openfhe_wheel}/build-config.txt OR NOT EXISTS ${OpenFHE_INCLUDE}/core/config_core.in)
  set(OpenFHE_NOT_FOUND_MESSAGE "its wheel or headers are not in '${HEMERA_OPENFHE_WHEEL}' (tools/setup openfhe-headers)")
  return()
endif()
find_path(HEMERA_CEREAL_INCLUDE cereal/cereal.hpp)
# Debian's cereal has no RapidJSON of its own.
find_path(HEMERA_RAPIDJSON_INCLUDE rapidjson/document.h)
mark_as_advanced(HEMERA_CEREAL_INCLUDE HEMERA_RAPIDJSON_INCLUDE)
if(NOT HEMERA_CEREAL_INCLUDE OR NOT HEMERA_RAPIDJSON_INCLUDE)
  set(OpenFHE_NOT_FOUND_MESSAGE "cereal or RapidJSON is not installed (libcereal-dev, rapidjson-dev)")
  return()
endif()
find_package(OpenMP QUIET COMPONENTS CXX)
if(NOT OpenMP_CXX_FOUND)
  set(OpenFHE_NOT_FOUND_MESSAGE "the compiler has no OpenMP")
  return()
endif()

file(STRINGS ${openfhe_wheel}/build-config.txt openfhe_tag REGEX "^OPENFHE_TAG=v")
string(REPLACE "OPENFHE_TAG=v" "" BASE_OPENFHE_VERSION "${openfhe_tag}")

# The defaults of OpenFHE's build, which the wheels have.
set(WITH_BE4 ON)
set(WITH_OPENMP ON)
set(CKKS_M_FACTOR 1)
set(HAVE_INT64 1)
set(HAVE_INT128 1)
set(MATHBACKEND 4)
set(NATIVEINT 64)
configure_file(${OpenFHE_INCLUDE}/core/config_core.in ${CMAKE_CURRENT_BINARY_DIR}/openfhe/config_core.h)

set(OpenFHE_SHARED_LIBRARIES)
foreach(part core binfhe pke)
  if(NOT TARGET OPENFHE${part})
    add_library(OPENFHE${part} SHARED IMPORTED)
  endif()
  set_target_properties(OPENFHE${part} PROPERTIES IMPORTED_LOCATION ${openfhe_wheel}/lib/libOPENFHE${part}.so.1)
  list(APPEND OpenFHE_SHARED_LIBRARIES OPENFHE${part})
endforeach()
target_include_directories(OPENFHEcore INTERFACE ${CMAKE_CURRENT_BINARY_DIR}/openfhe ${HEMERA_CEREAL_INCLUDE}
                                                 ${HEMERA_RAPIDJSON_INCLUDE})
target_link_libraries(OPENFHEcore INTERFACE OpenMP::OpenMP_CXX)
target_link_libraries(OPENFHEbinfhe INTERFACE OPENFHEcore)
target_link_libraries(OPENFHEpke INTERFACE OPENFHEbinfhe)
# The libraries have no paths to each other: they take the program's, which only a DT_RPATH lends.
target_link_options(OPENFHEcore INTERFACE LINKER:--disable-new-dtags)
set(OpenFHE_FOUND TRUE)
