// Rows of words for kernels, and moduli of all sizes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/memory.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu::kernel_tests {

using arith::Modulus;
using arith::ShoupFactor;
using Words = std::vector<std::uint64_t>;

enum class Fill { random, zero, largest, near_largest, mixed };
inline constexpr Fill fills[] = {Fill::random, Fill::zero, Fill::largest, Fill::near_largest, Fill::mixed};

// 64-byte aligned words, as kernels want them.
class Row {
 public:
  explicit Row(std::size_t count)
      : buffer_(runtime::make_host_memory(0), count * sizeof(std::uint64_t)), count_(count) {}

  [[nodiscard]] std::uint64_t* data() { return reinterpret_cast<std::uint64_t*>(buffer_.data()); }
  [[nodiscard]] const std::uint64_t* data() const {
    return reinterpret_cast<const std::uint64_t*>(buffer_.data());
  }
  [[nodiscard]] Words words() const { return {data(), data() + count_}; }
  void copy_from(const Row& other) { std::memcpy(data(), other.data(), count_ * sizeof(std::uint64_t)); }

 private:
  runtime::Buffer buffer_;
  std::size_t count_;
};

class KernelsTest : public ::testing::TestWithParam<const Kernels*> {
 protected:
  // Words below `bound`.
  void fill(std::uint64_t* words, std::size_t count, std::uint64_t bound, Fill how) {
    std::uniform_int_distribution<std::uint64_t> uniform(0, bound - 1);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t choice = random_() % 4;
      if (how == Fill::random) words[i] = uniform(random_);
      if (how == Fill::zero) words[i] = 0;
      if (how == Fill::largest) words[i] = bound - 1;
      if (how == Fill::near_largest)
        words[i] = bound - 1 - random_() % std::min(bound, std::uint64_t{1} << 20);
      if (how == Fill::mixed) {
        words[i] = choice == 0   ? 0
                   : choice == 1 ? bound - 1
                   : choice == 2 ? (bound - 1) / 2
                                 : uniform(random_);
      }
    }
  }
  Row row(std::size_t count, std::uint64_t bound, Fill how) {
    Row result(count);
    fill(result.data(), count, bound, how);
    return result;
  }
  Fill any_fill() { return fills[random_() % std::size(fills)]; }
  std::uint64_t below(std::uint64_t bound) {
    std::uint64_t word = 0;
    fill(&word, 1, bound, any_fill());
    return word;
  }

  const Kernels& scalar() { return scalar_kernels(); }
  const Kernels& kernels() { return *GetParam(); }
  // Two kernels give the same row of `count` words.
  template <typename Kernel, typename... Operands>
  static void compare(const char* name, Kernel* usual, Kernel* own, std::size_t count, const Modulus& q,
                      const Operands&... operands) {
    Row expected(count), actual(count);
    usual(expected.data(), operands..., count, q);
    own(actual.data(), operands..., count, q);
    ASSERT_EQ(expected.words(), actual.words()) << name << ", q = " << q.value();
  }

  std::mt19937_64 random_{20240607};

 private:
};

// Moduli of all sizes for the element-wise kernels: at both ends of each size, powers of two, primes.
inline std::vector<Modulus> element_moduli() {
  std::vector<Modulus> moduli;
  for (const int bits : {2, 7, 20, 32, 33, 43, 48, 49, 50, 51, 52, 53, 54, 55, 56, 60, 61}) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    moduli.emplace_back(power - 1);
    moduli.emplace_back(power / 2);
    moduli.emplace_back(power / 2 + 1);
    moduli.emplace_back(power / 3 * 2 + 1);
  }
  for (const int bits : {20, 30, 44, 49, 50, 51, 55, 60, 61}) {
    moduli.emplace_back(arith::primes_below(std::uint64_t{1} << bits, 2048, 1).at(0));
  }
  moduli.emplace_back(0x20000000a4001);  // products of its largest residues need the last fold
  return moduli;
}

inline constexpr std::size_t element_counts[] = {8, 24, 64, 1024 + 40};

// All but the scalar ones, which they are compared with.
inline std::vector<const Kernels*> vector_kernels() {
  const auto available = available_kernels();
  return {available.begin() + 1, available.end()};
}
inline std::string kernels_name(const ::testing::TestParamInfo<const Kernels*>& instance) {
  return instance.param->name;
}

}  // namespace hemera::poly::cpu::kernel_tests
