// Bootstraps and their steps on a GPU.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "gpu/rows.hpp"
#include "hemera/rlwe/ciphertext.hpp"

namespace hemera::gpu_bench {

struct BootstrapCase {
  std::string preset;
  std::size_t slots = 0;  ///< 0: all
  bool real = false;
  bool merges_parts = false;
  std::size_t batch = 1;
  std::size_t iterations = 1;
  std::size_t together = 1;
  rlwe::Storage storage = rlwe::Storage::automatic;
  bool measures_energy = false;  ///< a row more, of the whole bootstrap
  std::string changes = {};      ///< fields in place of the preset's: ":levels=16:digits=4"
};

/// "n16-40", "n16-40:1024", "n16-40:real", "n16-40:1024:x8", "n16-40:1024:merged", "n16-59:i2", 32 together
/// "n16-40:1024:x32:t32"; with fields of its own (degree, levels, digits, special_primes, nested_sine,
/// security): "n16-59:64:levels=16:digits=4:security=0"; with keys in the host's memory and a limit of the
/// device's: "n16-40:keys_on_host=1:memory_mib=4096". std::invalid_argument for another form. The preset
/// "openfhe" is a client's bootstrap (gpu/client_bootstraps.hpp).
BootstrapCase read_bootstrap(const std::string& text);
/// Its fields by name.
std::map<std::string, std::size_t> changes_of(const BootstrapCase& chosen);

/// Times of the whole bootstrap, eager and as a graph, and of its steps.
std::vector<TimedRow> time_bootstrap(const BootstrapCase& chosen, int device, std::size_t repetitions);

}  // namespace hemera::gpu_bench
