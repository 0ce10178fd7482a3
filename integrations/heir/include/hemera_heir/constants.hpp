// Constants of programs: vectors and rows that repeat, vectors with long runs, and files.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "hemera/runtime/error.hpp"

namespace hemera::heir {

/// `count` numbers, which repeat the given ones.
template <typename Number>
std::vector<Number> repeated(std::size_t count, const std::vector<Number>& period) {
  std::vector<Number> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = period[i % period.size()];
  return numbers;
}

/// Rows of `width` numbers, one after the other; each repeats the given ones.
template <typename Number>
std::vector<Number> repeated_rows(std::size_t width, const std::vector<std::vector<Number>>& periods) {
  std::vector<Number> numbers;
  for (const std::vector<Number>& period : periods) {
    const std::vector<Number> row = repeated(width, period);
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return numbers;
}

/// Runs of one number each: how many there are, and the number.
template <typename Number>
std::vector<Number> runs(const std::vector<std::pair<std::size_t, Number>>& counted) {
  std::vector<Number> numbers;
  for (const auto& [count, number] : counted) numbers.insert(numbers.end(), count, number);
  return numbers;
}

/// `count` numbers of a file that HEIR wrote (--ext-const-output-dir), little-endian; a bool is a byte.
/// Throws FormatError if the file is not there or has fewer of them.
template <typename Number>
std::vector<Number> load_resource(const std::string& path, std::size_t count) {
  static_assert(std::endian::native == std::endian::little, "files are read as they are");
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes(count * sizeof(Number));
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    throw FormatError("\"" + path + "\" has no " + std::to_string(count) +
                      " constants of this program; run it where HEIR's --ext-const-runtime-load-dir says");
  }
  std::vector<Number> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    Number number;
    std::memcpy(&number, bytes.data() + i * sizeof(Number), sizeof(Number));
    numbers[i] = number;
  }
  return numbers;
}

}  // namespace hemera::heir
