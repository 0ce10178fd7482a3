// The threads of a context, for work above the backend.
#pragma once

#include "hemera/rlwe/context.hpp"
#include "hemera/runtime/queue.hpp"
#include "hemera/runtime/thread_pool.hpp"

namespace hemera::rlwe {

/// The threads of a context that computes on the CPU; operations inside of their loops run in place. Null on
/// another device, and where a ledger counts operations in their order.
inline runtime::ThreadPool* host_threads(const Context& context) {
  auto* cpu = dynamic_cast<runtime::CpuQueue*>(&context.queue());
  return cpu == nullptr || context.ledger() != nullptr ? nullptr : &cpu->pool();
}

}  // namespace hemera::rlwe
