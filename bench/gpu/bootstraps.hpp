// Bootstraps and their steps on a GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gpu/timer.hpp"
#include "hemera/rlwe/ciphertext.hpp"

namespace hemera::gpu_bench {

/// One line of the results: names and JSON values beside the time.
using Fields = std::vector<std::pair<std::string, std::string>>;

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

/// A number with one digit after the point.
std::string fixed(double value);
/// A call that makes a ciphertext.
Call making(std::function<rlwe::Ciphertext()> make, std::function<bool(const rlwe::Ciphertext&)> check);

struct TimedRow {
  Fields fields;
  double microseconds = 0, spread = 0;
  bool checked = false;
};

/// Times of the whole bootstrap, eager and as a graph, and of its steps.
std::vector<TimedRow> time_bootstrap(const BootstrapCase& chosen, int device, std::size_t repetitions);

}  // namespace hemera::gpu_bench
