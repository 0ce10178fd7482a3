# What tests need on a machine of another kind (cmake/aarch64.cmake) and Debian does not bring: GoogleTest, from the
# sources of libgtest-dev, and the libraries that no tested program calls, but for one function.
# GCC notes that AArch64's ABI for C++17 differs from that of old GCCs in Boost's headers.
add_compile_options(-Wno-psabi)

find_path(HEMERA_GOOGLETEST_SOURCES src/gtest-all.cc PATHS /usr/src/googletest/googletest NO_CMAKE_FIND_ROOT_PATH)
mark_as_advanced(HEMERA_GOOGLETEST_SOURCES)
hemera_require(HEMERA_GOOGLETEST_SOURCES "GoogleTest's sources for tests of another machine" libgtest-dev)

add_library(hemera_googletest STATIC ${HEMERA_GOOGLETEST_SOURCES}/src/gtest-all.cc)
target_include_directories(hemera_googletest SYSTEM PUBLIC ${HEMERA_GOOGLETEST_SOURCES}/include)
target_include_directories(hemera_googletest PRIVATE ${HEMERA_GOOGLETEST_SOURCES})
target_link_libraries(hemera_googletest PUBLIC Threads::Threads)
add_library(hemera_googletest_main STATIC ${HEMERA_GOOGLETEST_SOURCES}/src/gtest_main.cc)
target_link_libraries(hemera_googletest_main PUBLIC hemera_googletest)
add_library(GTest::gtest ALIAS hemera_googletest)
add_library(GTest::gtest_main ALIAS hemera_googletest_main)

# The toolchain file names it in the place of libcrypto, Zstandard and zlib.
add_library(hemera_absent STATIC ${PROJECT_SOURCE_DIR}/tests/absent_libraries.cpp)
