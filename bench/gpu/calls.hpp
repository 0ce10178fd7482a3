// Calls by themselves, for the table of all (calls.cpp).
#pragma once

#include <functional>
#include <utility>

#include "gpu/session.hpp"

namespace hemera::gpu_bench {

/// a b, slot by slot.
inline Values products(const Operands& in) {
  return in.expected([&](std::size_t i) { return in.a[i] * in.b[i]; });
}

inline Call making_ciphertext(const Operands& in, std::function<rlwe::Ciphertext()> make,
                              const Values& wanted, bool eager_only = false) {
  return making<rlwe::Ciphertext>(
      std::move(make), [&in, wanted](const rlwe::Ciphertext& c) { return in.holds(c, wanted); }, eager_only);
}

Call encode_call(const Operands& in);
Call decode_call(const Operands& in);

Call secret_key_call(const Operands& in);
Call public_key_call(const Operands& in);
Call relinearization_key_call(const Operands& in);

/// Copies from another GPU to that of the client, in whose stream the copy runs.
Call copy_call(const Operands& in);
/// A ciphertext's residues between the device and memory of the host that nobody has pinned.
Call upload_call(const Operands& in);
Call download_call(const Operands& in);

Call save_call(const Operands& in);
Call load_call(const Operands& in);

}  // namespace hemera::gpu_bench
