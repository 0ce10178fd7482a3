// Choosing the lowest keys for a secret of fixed weight, on keys that no seed is likely to give: equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "poly/cuda/sampling/sampling.hpp"

namespace hemera::poly::cuda {
namespace {

constexpr std::uint64_t largest_key = (std::uint64_t{1} << 62) - 1;

std::vector<std::uint64_t> expected(const std::vector<std::uint64_t>& entries, std::size_t weight) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return entries[a] >> 1 < entries[b] >> 1; });
  std::vector<std::uint64_t> result(entries.size(), 0);
  for (std::size_t i = 0; i < weight; ++i) result[order[i]] = 1 - 2 * (entries[order[i]] & 1);
  return result;
}

void check(const std::vector<std::uint64_t>& keys) {
  std::mt19937_64 generator(keys[0] + keys.size());
  std::vector<std::uint64_t> entries;
  for (const std::uint64_t key : keys) entries.push_back(2 * key + generator() % 2);
  const std::size_t degree = keys.size();
  for (const std::size_t weight : {std::size_t{1}, degree / 3, degree - 1}) {
    std::vector<std::uint64_t> words = entries;
    const PolyView view(reinterpret_cast<std::byte*>(words.data()), {1, 1, 1, degree}, Word::u64);
    const Launcher launcher{nullptr, nullptr, static_cast<unsigned>(std::countr_zero(degree))};
    choose_lowest(launcher, view, weight);
    EXPECT_EQ(words, expected(entries, weight)) << degree << " " << weight << " " << keys[0];
  }
}

TEST(EmulationChoice, FillsUpWithTheFirstOfEqualKeys) {
  std::mt19937_64 generator(1);
  for (const std::size_t degree : {std::size_t{1024}, std::size_t{4096}}) {
    for (const std::uint64_t key : {std::uint64_t{0}, largest_key}) {
      check(std::vector<std::uint64_t>(degree, key));
    }
    for (const std::uint64_t kinds : {2, 10, 1000}) {
      std::vector<std::uint64_t> keys(degree);
      for (std::uint64_t& key : keys) key = largest_key / (kinds - 1) * (generator() % kinds);
      check(keys);
    }
  }
}

TEST(EmulationChoice, FindsKeysOneApart) {
  for (const std::uint64_t first : {std::uint64_t{0}, (std::uint64_t{1} << 61) - 512, largest_key - 1023}) {
    std::vector<std::uint64_t> keys(1024);
    std::iota(keys.begin(), keys.end(), first);
    std::mt19937_64 generator(2);
    std::shuffle(keys.begin(), keys.end(), generator);
    check(keys);
  }
}

}  // namespace
}  // namespace hemera::poly::cuda
