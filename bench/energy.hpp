// The energy that calls take, by a device's own counter.
#pragma once

#include <chrono>
#include <cstddef>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace hemera::bench {

/// Joules since some moment; nothing where there is no counter that can be read.
using EnergyCounter = std::function<std::optional<double>()>;

struct Energy {
  double seconds = 0;  ///< of one round
  double joules = 0;   ///< of one round
  std::size_t rounds = 0;
  double idle_watts = 0;  ///< of the device, measured before
};

/// Rounds, one after the other for at least `seconds`, as counters are read anew every 0.02 to 0.1 s. Before
/// that the device is left alone for as long. Nothing without a counter.
inline std::optional<Energy> measure_energy(const EnergyCounter& counter, const std::function<void()>& round,
                                            double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  Energy energy;
  round();
  const std::optional<double> idle_from = counter();
  if (!idle_from) return std::nullopt;
  auto begin = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  energy.idle_watts = (counter().value_or(*idle_from) - *idle_from) / since(begin);
  const double from = counter().value_or(0);
  begin = Clock::now();
  do {
    round();
    ++energy.rounds;
  } while (since(begin) < seconds);
  const auto rounds = static_cast<double>(energy.rounds);
  energy.seconds = since(begin) / rounds;
  energy.joules = (counter().value_or(from) - from) / rounds;
  return energy;
}

/// Energy of the first processor's package (Intel's and AMD's RAPL by Linux), where this user may read it.
inline EnergyCounter processor_energy() {
  return []() -> std::optional<double> {
    std::ifstream file("/sys/class/powercap/intel-rapl:0/energy_uj");
    double microjoules = 0;
    if (!(file >> microjoules)) return std::nullopt;
    return microjoules * 1e-6;
  };
}

}  // namespace hemera::bench
