#include "runtime/entropy.hpp"

#include <unistd.h>

#include <cerrno>

#if defined(__linux__)
#include <sys/random.h>
#endif

namespace hemera::runtime {

int system_entropy(std::span<std::uint8_t> out) {
#if defined(__linux__)
  // Waits, once after boot, until the generator has been seeded; may be interrupted meanwhile.
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    if (got > 0) {
      out = out.subspan(static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return got == 0 ? EIO : errno;
    }
  }
  return 0;
#else
  return getentropy(out.data(), out.size()) == 0 ? 0 : errno;
#endif
}

}  // namespace hemera::runtime
