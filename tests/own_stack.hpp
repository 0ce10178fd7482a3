// A thread on a stack that the test reads afterwards: what operations leave there.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <functional>

// Optimised builds only: without optimisation, and with sanitizers, frames are many times as large.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEMERA_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEMERA_TEST_SANITIZED 1
#endif
#endif
#if defined(__linux__) && defined(__OPTIMIZE__) && !defined(HEMERA_TEST_SANITIZED)
#define HEMERA_TEST_OWN_STACK 1

#include <pthread.h>
#include <sys/mman.h>

namespace hemera::tests {

// Runs `body` on a thread whose stack is `stack`, zeroed before.
inline void run_on_stack(std::byte* stack, std::size_t bytes, const std::function<void()>& body) {
  std::memset(stack, 0, bytes);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack, bytes), 0);
  pthread_t thread;
  const auto start = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&body)), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace hemera::tests

#endif
