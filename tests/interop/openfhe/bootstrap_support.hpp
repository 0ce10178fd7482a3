// Settings of OpenFHE's bootstraps, and the rotations that EvalBootstrapKeyGen makes keys for.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "interop/openfhe/parameters.hpp"

namespace hemera::interop::openfhe::bootstraps {

inline constexpr std::int64_t half = 512;  // N / 2 of the context

struct BootstrapCase {
  const char* name;
  std::uint32_t slots, encode, decode;
  std::uint32_t encode_steps, decode_steps;
  SecretType secret = SecretType::uniform;
  Scaling scaling = Scaling::flexible_auto;
  bool decodes_first = false;
  bool is_complex = false;
  /// As OpenFHE 1.6.1 makes keys for with one giant key a stage, those that it has listed; empty: up to 1.5.
  std::vector<std::int64_t> listed = {};
};

// Results of OpenFHE 1.6.1's CryptoContext::GetExistingEvalAutomorphismKeyIndices at N = 1024.
inline const std::vector<std::int64_t> layers_1_6 = {1, 2, 3, 4, 8, 12, 16, 17, 32, 48, 64, 128, 192, 256};
inline const std::vector<std::int64_t> different_1_6 = {1,  2,  3,  4,  5,  6,   7,   8,
                                                        16, 17, 32, 48, 64, 128, 192, 256};
inline const std::vector<std::int64_t> all_slots_1_6 = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,
                                                        13, 14, 15, 16, 17, 18, 19, 20, 21, 22,  23,  24,
                                                        25, 26, 27, 28, 29, 30, 31, 32, 64, 128, 192, 256};
inline const std::vector<std::int64_t> sparse_1_6 = {1,  2,  3,  4,  8,   12,  16, 24,
                                                     32, 48, 64, 65, 128, 192, 256};
inline const std::vector<std::int64_t> dense_1_6 = {1, 2, 3, 4, 5, 6, 7, 8, 64, 128, 192, 256};
// With one baby step: the turns that both sides leave out, 1 each, are made up for one by one.
inline const std::vector<std::int64_t> single_1_6 = {1, 4, 16, 32, 64, 128, 256};

// Rotations of one side: (first + j) stride for j < steps, then multiples of steps stride.
inline void add_layer(std::set<std::int64_t>& rotations, std::int64_t layers, std::int64_t steps,
                      std::int64_t stride, std::int64_t inner_modulus) {
  const std::int64_t diagonals = (std::int64_t{2} << layers) - 1;
  const auto modulo = [](std::int64_t a, std::int64_t m) { return ((a % m) + m) % m; };
  for (std::int64_t j = 0; j < steps; ++j) {
    rotations.insert(modulo((j - (std::int64_t{1} << layers) + 1) * stride, inner_modulus));
  }
  for (std::int64_t i = 0; i < (diagonals + 1) / steps; ++i)
    rotations.insert(modulo(i * steps * stride, half));
}

// How many layers the stages of a budget have, by OpenFHE's SelectLayers: where it does not divide their
// number, the last stage has the rest, and is smaller or larger than the others.
inline std::vector<std::int64_t> stages_of(std::int64_t layers, std::int64_t budget) {
  if (layers % budget == 0)
    return std::vector<std::int64_t>(static_cast<std::size_t>(budget), layers / budget);
  const std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> uneven = {
      {{4, 3}, {1, 1, 2}},
      {{5, 2}, {3, 2}},
      {{5, 3}, {2, 2, 1}},
      {{6, 4}, {1, 1, 1, 3}},
      {{9, 4}, {2, 2, 2, 3}}};
  return uneven.at({layers, budget});
}

// What EvalBootstrapKeyGen makes keys for.
inline std::set<std::int64_t> rotations_of(const BootstrapCase& tested) {
  std::set<std::int64_t> rotations;
  const auto slots = static_cast<std::int64_t>(tested.slots);
  for (std::int64_t step = slots; step < half; step *= 2) rotations.insert(step);
  if (tested.encode == 1 && tested.decode == 1) {
    const std::int64_t steps = tested.encode_steps;
    for (std::int64_t i = 1; i <= steps; ++i) rotations.insert(i);
    for (std::int64_t i = 2; i < slots / steps; ++i) rotations.insert(i * steps);
  } else {
    const auto log_slots = static_cast<std::int64_t>(std::countr_zero(tested.slots));
    // Baby steps are given for all stages but that of a rest, which has OpenFHE's own choice.
    const auto add = [&](std::int64_t budget, std::int64_t steps, std::int64_t inner_modulus,
                         bool is_encode) {
      const std::vector<std::int64_t> stages = stages_of(log_slots, budget);
      std::int64_t done = 0;
      for (std::size_t i = 0; i < stages.size(); ++i) {
        const bool is_rest = log_slots % budget != 0 && i + 1 == stages.size();
        const std::int64_t own = std::int64_t{1} << (stages[i] / 2 + (stages[i] > 2 ? 2 : 1));
        // CoeffToSlot begins with the widest, so that a rest is at its end, too.
        const std::int64_t place = is_encode ? log_slots - done - stages[i] : done;
        add_layer(rotations, stages[i], is_rest ? own : steps, std::int64_t{1} << place, inner_modulus);
        done += stages[i];
      }
    };
    add(tested.encode, tested.encode_steps, slots, true);
    add(tested.decode, tested.decode_steps, half, false);
  }
  rotations.erase(0);
  return rotations;
}

}  // namespace hemera::interop::openfhe::bootstraps
