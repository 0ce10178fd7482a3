// OpenFHE's EvalBootstrap as a session of Hemera takes it, without OpenFHE.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu/bootstraps.hpp"

namespace hemera::gpu_bench {

/// A context as OpenFHE would make it (FLEXIBLEAUTO, HYBRID, encapsulated sparse secrets, primes of 59 bits),
/// with keys by Hemera. Fields: degree (65536), primes (30), digits (3), budget (3; of both directions).
/// std::invalid_argument for others.
std::vector<TimedRow> time_client_bootstrap(const BootstrapCase& chosen, int device, std::size_t repetitions);

}  // namespace hemera::gpu_bench
