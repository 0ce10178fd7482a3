// Random damage to files.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace hemera::io::test {

/// One random change: bits, bytes, ranges swapped, removed, doubled or overwritten, or a length made huge.
/// The result differs from `file`. Returns what was done, for messages.
std::string corrupt(std::vector<std::byte>& file, std::mt19937_64& random);

}  // namespace hemera::io::test
