// How the transforms in double precision go over their data, for every width of vectors.
#pragma once

namespace hemera::poly::cpu {

/// How many stages each sweep over the data does before the last five, which are done together on 32 words in
/// registers. Later sweeps run on one block of the sweep before at a time, so that they find it in the cache.
struct Sweeps {
  int count = 0;
  int stages[4] = {};
};

constexpr Sweeps sweeps_of(int log_degree) {
  switch (log_degree) {
    case 10:
      return {2, {3, 2}};
    case 11:
      return {2, {3, 3}};
    case 12:
      return {3, {3, 2, 2}};
    case 13:
      return {3, {3, 3, 2}};
    case 14:
      return {3, {3, 3, 3}};
    case 15:
      return {4, {3, 3, 2, 2}};
    case 16:
      return {4, {3, 3, 3, 2}};
    default:
      return {4, {3, 3, 3, 3}};
  }
}

}  // namespace hemera::poly::cpu
