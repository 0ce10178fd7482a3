# OpenFHE 1.5, with which the adapter for its programs is compiled: HEMERA_HAS_OPENFHE, where it is installed
# (CMAKE_PREFIX_PATH), and hemera_link_openfhe(target). Its package names folders, not targets that know them.
find_package(OpenFHE CONFIG QUIET)
if(OpenFHE_FOUND AND BASE_OPENFHE_VERSION VERSION_GREATER_EQUAL 1.5)
  set(HEMERA_HAS_OPENFHE TRUE)
else()
  set(HEMERA_HAS_OPENFHE FALSE)
endif()

function(hemera_link_openfhe target)
  target_include_directories(
    ${target} SYSTEM
    PRIVATE ${OpenFHE_INCLUDE} ${OpenFHE_INCLUDE}/third-party/include ${OpenFHE_INCLUDE}/core
            ${OpenFHE_INCLUDE}/binfhe ${OpenFHE_INCLUDE}/pke)
  target_link_libraries(${target} PRIVATE ${OpenFHE_SHARED_LIBRARIES})
endfunction()
