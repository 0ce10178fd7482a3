// Damage to files, with and without checksums that fit afterwards.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace hemera::io::test {

/// One random change: bits, bytes, ranges swapped, removed, doubled or overwritten, or a length made huge.
/// The result differs from `file`. Returns what was done, for messages.
std::string corrupt(std::vector<std::byte>& file, std::mt19937_64& random);

/// Makes every checksum fit again, as far as header and section lengths can be followed: the checks behind
/// the checksums get to see the damage.
void reseal(std::vector<std::byte>& file);

}  // namespace hemera::io::test
