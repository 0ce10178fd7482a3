// What stands behind the handles of the C interface, and how its functions end.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "hemera/c/hemera.h"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/evaluator.hpp"
#include "hemera/rlwe/keys.hpp"

struct hemera_context {
  hemera::rlwe::ContextPointer context;
  int least_security = 0;  // bits
};
struct hemera_secret_key {
  hemera::rlwe::SecretKey key;
  int least_security = 0;  // of its context
};
struct hemera_keys {
  hemera::rlwe::EvaluationKeys keys;
};
struct hemera_ciphertext {
  hemera::rlwe::Ciphertext ciphertext;
};
struct hemera_evaluator {
  std::unique_ptr<hemera::rlwe::Evaluator> evaluator;
};

namespace hemera::c {

/// A callback of the caller's that asked to stop.
class Stopped {
 public:
  [[nodiscard]] const char* text() const { return "the caller's function stopped the operation"; }
};

/// Keeps the text of the exception being handled for hemera_error, and returns its status.
hemera_status failed() noexcept;
/// The same of an argument that is null.
hemera_status null_argument(const char* function, const char* argument) noexcept;

/// Runs `body`; its exceptions become a status.
template <typename Body>
hemera_status guarded(const Body& body) noexcept {
  try {
    body();
    return HEMERA_OK;
  } catch (...) {
    return failed();
  }
}

inline std::span<const std::byte> bytes_of(const void* data, std::size_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}

/// A handle of a new object.
template <typename Handle, typename... Parts>
void give(Handle** out, Parts&&... parts) {
  *out = new Handle{std::forward<Parts>(parts)...};
}

}  // namespace hemera::c

// Ends a function at its first argument that is null.
#define HEMERA_C_REQUIRE(argument) \
  if ((argument) == nullptr) return hemera::c::null_argument(__func__, #argument)
// The same of a result, which is empty until the function succeeds.
#define HEMERA_C_RESULT(result) \
  HEMERA_C_REQUIRE(result);     \
  *(result) = {}
