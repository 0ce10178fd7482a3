#include "io/corruption.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "io/reseal.hpp"

namespace hemera::io::test {
namespace {

std::string change(std::vector<std::byte>& file, std::mt19937_64& random) {
  // Half of the changes hit the first 512 bytes, where headers and lengths are.
  const auto place = [&] {
    const std::size_t range = random() % 2 == 0 ? std::min<std::size_t>(file.size(), 512) : file.size();
    return static_cast<std::size_t>(random() % range);
  };
  const auto offset = [](std::size_t at) { return static_cast<std::ptrdiff_t>(at); };
  const std::size_t at = place();
  const std::string where = " at " + std::to_string(at);
  switch (random() % 8) {
    case 0:
      file[at] ^= static_cast<std::byte>(1U << (random() % 8));
      return "bit flipped" + where;
    case 1:
      file[at] = static_cast<std::byte>(random() & 0xFF);
      return "byte overwritten" + where;
    case 2: {
      const std::size_t other = place();
      std::swap(file[at], file[other]);
      return "bytes swapped" + where + " and " + std::to_string(other);
    }
    case 3: {
      const std::size_t count = 1 + random() % 16;
      for (std::size_t i = 0; i < count; ++i) {
        file.insert(file.begin() + offset(at), static_cast<std::byte>(random() & 0xFF));
      }
      return std::to_string(count) + " bytes inserted" + where;
    }
    case 4: {
      const std::size_t count = std::min<std::size_t>(1 + random() % 16, file.size() - at);
      file.erase(file.begin() + offset(at), file.begin() + offset(at + count));
      return std::to_string(count) + " bytes removed" + where;
    }
    case 5: {
      const std::array<std::uint64_t, 6> values = {
          0, 0x7FFFFFFF, 0xFFFFFFFF, std::uint64_t{1} << 40, 0x7FFFFFFFFFFFFFFF, ~std::uint64_t{0}};
      const std::uint64_t value = values[random() % values.size()];
      const std::size_t bytes = random() % 2 == 0 ? 4 : 8;
      store(file, at & ~std::size_t{3}, value, bytes);
      return "field of " + std::to_string(bytes) + " bytes set to " + std::to_string(value) + where;
    }
    case 6: {
      const std::size_t to = place();
      const std::size_t count = std::min<std::size_t>(1 + random() % 64, file.size() - std::max(at, to));
      const std::vector<std::byte> part(file.begin() + offset(at), file.begin() + offset(at + count));
      std::copy(part.begin(), part.end(), file.begin() + offset(to));
      return std::to_string(count) + " bytes copied" + where + " to " + std::to_string(to);
    }
    default:
      file.insert(file.end(), 1 + random() % 64, static_cast<std::byte>(random() & 0xFF));
      return "bytes appended";
  }
}

}  // namespace

std::string corrupt(std::vector<std::byte>& file, std::mt19937_64& random) {
  const std::vector<std::byte> original = file;
  std::string what;
  while (file == original) what = change(file, random);
  return what;
}

}  // namespace hemera::io::test
