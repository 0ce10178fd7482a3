// Choices of the CUDA backend that somebody forces, by name. Host C++: no header of CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "poly/cuda/tuning.hpp"

namespace hemera::poly::cuda {

/// The facts that all choices follow from.
struct Choices {
  Card card;
  Tuning tuning;
};

/// The choices for a device. `forced` is a list as "way=passes,most_joined_jobs=0"; its names are, in any
/// order,
/// - card: the name of another card (named_cards), of which the device lends what it has,
/// - multiprocessors, bandwidth and the other members of Card, which Tuning follows from,
/// - way, arithmetic and the other members of Tuning.
///
/// The empty text forces nothing. Throws DeviceError, with the names or values that there are, for others.
Choices choices_for(const Card& device, std::string_view forced);

/// All names of such a list.
std::vector<std::string_view> forced_names();

/// The choices that HEMERA_CUDA_TUNING in the environment forces; empty without it.
std::string forced_by_environment();

}  // namespace hemera::poly::cuda
