// Host memory of a backend with threads of its own.
#pragma once

#include <cstddef>
#include <memory>

#include "hemera/runtime/memory.hpp"
#include "hemera/runtime/thread_pool.hpp"

namespace hemera::runtime {

/// As the public function; the threads of `pool`, if there is one, zero large secrets together.
std::shared_ptr<Memory> make_host_memory(std::size_t kept_bytes_limit, std::size_t limit,
                                         std::shared_ptr<ThreadPool> pool);

}  // namespace hemera::runtime
