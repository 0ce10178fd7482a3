# `cmake --install` for C++ users: the static library, the public headers and find_package(hemera).
set(hemera_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hemera)

install(TARGETS hemera EXPORT hemera-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/hemera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(DIRECTORY integrations/heir/include/hemera_heir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
if(TARGET hemera_c)
  install(TARGETS hemera_c EXPORT hemera-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(EXPORT hemera-targets NAMESPACE hemera:: DESTINATION ${hemera_package_dir} COMPONENT development)

configure_package_config_file(cmake/hemera-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/hemera-config.cmake
                              INSTALL_DESTINATION ${hemera_package_dir}
                              NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/hemera-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hemera-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/hemera-config-version.cmake
              cmake/HemeraDependencies.cmake
        DESTINATION ${hemera_package_dir} COMPONENT development)

# pkg-config: the library is static, so its own libraries are needed to link with it.
set(hemera_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH hemera_pkgconfig_up /prefix/${hemera_pkgconfig_dir} /prefix)
string(REGEX REPLACE "/$" "" hemera_pkgconfig_up ${hemera_pkgconfig_up})
set(hemera_pkgconfig_libraries "")
if(HEMERA_HAS_GMP)
  string(APPEND hemera_pkgconfig_libraries " -lgmp")
endif()
if(HEMERA_HAS_CUDA)
  string(APPEND hemera_pkgconfig_libraries " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
endif()
configure_file(cmake/hemera.pc.in ${CMAKE_CURRENT_BINARY_DIR}/hemera.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hemera.pc DESTINATION ${hemera_pkgconfig_dir} COMPONENT development)

# The wheel hemera-cuda, python/cuda.
if(HEMERA_HAS_CUDA)
  install(TARGETS hemera_cuda LIBRARY DESTINATION hemera_cuda COMPONENT cuda EXCLUDE_FROM_ALL)
endif()
