// The choices of the CUDA backend for cards by name.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "poly/cuda/schedule.hpp"

namespace hemera::poly::cuda::choices {

inline Card card(std::string_view name) {
  for (const NamedCard& each : named_cards()) {
    if (each.name == name) return each.card;
  }
  ADD_FAILURE() << "no card " << name;
  return {};
}
inline Choices on(std::string_view name, std::string_view forced = "") {
  return choices_for(card(name), forced);
}

}  // namespace hemera::poly::cuda::choices
