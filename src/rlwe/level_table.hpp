// Tables with an entry for each level.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {

/// The entry of a level. Throws LevelError for one that is not there.
template <typename Entry>
const Entry& at_level(const std::vector<Entry>& table, std::size_t level) {
  if (level < table.size()) return table[level];
  throw LevelError("there is no level " + std::to_string(level) + "; the top level is " +
                   std::to_string(table.size() - 1));
}

}  // namespace hemera::rlwe
