// WebAssembly: random bytes come from the host, whose crypto.getRandomValues a page or Node passes in.
#include "runtime/entropy.hpp"

#include <cerrno>
#include <cstddef>

// Returns 0 when all bytes are filled.
extern "C" __attribute__((import_module("hemera"), import_name("entropy"))) int hemera_host_entropy(
    std::uint8_t* out, std::size_t bytes);

namespace hemera::runtime {

int system_entropy(std::span<std::uint8_t> out) {
  return hemera_host_entropy(out.data(), out.size()) == 0 ? 0 : EIO;
}

}  // namespace hemera::runtime
