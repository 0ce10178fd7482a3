// Where tests of whole schemes run: on the CPU, or on the device that HEMERA_TEST_DEVICE names.
#pragma once

#include <cstdlib>
#include <memory>
#include <utility>

#include "hemera/rlwe/context.hpp"

namespace hemera::tests {

inline runtime::Device device() {
  const char* name = std::getenv("HEMERA_TEST_DEVICE");
  return name == nullptr ? runtime::Device{} : runtime::Device::parse(name);
}

inline std::shared_ptr<const rlwe::Context> make_context(rlwe::Parameters parameters, int threads = 0,
                                                         rlwe::Storage storage = rlwe::Storage::automatic,
                                                         rlwe::KeyPlace keys = rlwe::KeyPlace::device) {
  return rlwe::Context::make(std::move(parameters), device(),
                             {.threads = threads, .storage = storage, .keys = keys});
}

}  // namespace hemera::tests
