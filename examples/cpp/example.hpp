// What the examples share: waves to encrypt, and the largest error of a result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <vector>

inline std::vector<double> wave(std::size_t count, double step) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(step * static_cast<double>(i));
  return values;
}

// Against expected(i) at each i.
template <typename Expected>
double largest_error(const std::vector<double>& found, Expected expected) {
  double error = 0;
  for (std::size_t i = 0; i < found.size(); ++i) error = std::max(error, std::abs(found[i] - expected(i)));
  return error;
}

// Runs a program that returns its error: the exit status is 0 if that is below the bound.
template <typename Program>
int example(Program program, double bound) {
  try {
    const double error = program();
    std::printf("error %.2g\n", error);
    return error < bound ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
