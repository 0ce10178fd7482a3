// Code that runs in a forked child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <exception>

namespace hemera::tests {

/// Whether `body` returned true in a child of this process; not if it threw, crashed or took over a minute.
template <typename Body>
bool in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    bool fine = false;
    try {
      fine = body();
    } catch (const std::exception&) {
      // reported as the exit status
    }
    ::_exit(fine ? 0 : 1);
  }
  int status = -1;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// ThreadSanitizer knows no threads in children, and sanitizers reserve more memory than limits allow.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace hemera::tests
