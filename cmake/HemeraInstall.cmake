# `cmake --install` for C++ users: the static library, the public headers and find_package(hemera).
set(hemera_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hemera)

install(TARGETS hemera EXPORT hemera-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/hemera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
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
