// Matrices of integers by warpgroups, by exact integers: blocks of clusters that share either factor's bytes,
// few rows, several parts, several jobs.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "conformance/suite.hpp"
#include "poly/cuda/cuda_backend.hpp"

namespace hemera::poly::cuda {
namespace {

using conformance::Host;
using conformance::Rig;
__extension__ using int128 = __int128;

struct Case {
  const char* name;
  const char* choices;
  std::size_t rows, columns, components;
  std::vector<int> bits;
};

// What is below a clear way, and the least and the most integers among others.
std::vector<int> integers(std::size_t count, int bytes, std::mt19937_64& random) {
  const int most = bytes == 1 ? 127 : 32767;
  std::vector<int> values(count);
  for (int& value : values) {
    const std::uint64_t bits = random();
    value = bits % 8 == 0   ? most
            : bits % 8 == 1 ? -most - 1
                            : static_cast<int>((bits >> 8) % (2 * most + 2)) - most - 1;
  }
  return values;
}

void check(const Case& given, int bytes, const std::string& way = "least_rows_of_warpgroups=1,") {
  SCOPED_TRACE(std::string(given.name) + ", bytes: " + std::to_string(bytes));
  const std::string choices = way + given.choices;
  Rig rig({.name = given.name,
           .make =
               [choices](std::shared_ptr<const Ring> ring) {
                 return std::make_shared<const CudaBackend>(std::move(ring), CudaSettings{}, choices);
               },
           .emulated = true},
          1024, given.bits);
  std::mt19937_64 random(given.rows);
  const std::vector<int> values = integers(given.rows * given.columns, bytes, random);
  std::vector<std::byte> host;
  for (const int value : values) {
    for (int i = 0; i < bytes; ++i) host.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
  }
  runtime::Buffer device(rig.backend->memory(), host.size());
  rig.backend->upload_values(*rig.queue, {device.data(), host.size()}, host);
  const IntegerMatrixView w{.data = device.data(),
                            .host = host.data(),
                            .rows = given.rows,
                            .columns = given.columns,
                            .bytes = bytes};
  Host in = rig.random(rig.all(), given.columns, given.components);
  for (std::size_t n = 0; n < 1024; n += 5) {
    for (std::size_t j = 0; j < given.columns; ++j) in.at(j, 0, 0, n) = rig.all().modulus(0).value() - 1;
  }
  const Poly held = rig.upload(in);
  // More rows than the product has: what is beside it stays.
  const Host before = rig.random(rig.all(), given.rows + 2, given.components);
  Poly out = rig.upload(before);
  rig.with_scratch([&](runtime::Workspace& space) {
    rig.backend->multiply_matrix(*rig.queue, out.view().batches(1, given.rows), held.view(), w, rig.all(),
                                 space);
  });
  const Host result = rig.download(out);
  for (std::size_t c = 0; c < given.components; ++c) {
    for (std::size_t l = 0; l < given.bits.size(); ++l) {
      const auto q = static_cast<int128>(rig.all().modulus(l).value());
      for (const std::size_t r : {std::size_t{0}, given.rows + 1}) {
        for (std::size_t n = 0; n < 1024; ++n)
          ASSERT_EQ(result.words[result.index(r, c, l, n)], before.words[before.index(r, c, l, n)]) << r;
      }
      std::vector<int128> sums(1024);
      for (std::size_t r = 0; r < given.rows; ++r) {
        std::fill(sums.begin(), sums.end(), 0);
        for (std::size_t j = 0; j < given.columns; ++j) {
          const std::uint64_t* const row = in.words.data() + in.index(j, c, l, 0);
          const int value = values[r * given.columns + j];
          for (std::size_t n = 0; n < 1024; ++n) sums[n] += static_cast<int128>(row[n]) * value;
        }
        for (std::size_t n = 0; n < 1024; ++n) {
          ASSERT_EQ(result.words[result.index(r + 1, c, l, n)],
                    static_cast<std::uint64_t>((sums[n] % q + q) % q))
              << "row " << r << ", component " << c << ", limb " << l << ", entry " << n;
        }
      }
    }
  }
}

TEST(EmulationWarpgroups, ProductsAreTheIntegers) {
  for (const Case& given :
       {Case{"one", "", 1, 1, 1, {49}},
        {"pairs of blocks of rows", "multiprocessors=4", 130, 144, 2, {49, 30}},
        {"three blocks of rows, few entries", "", 257, 130, 1, {60}},
        {"three", "multiprocessors=6,split_bytes_together=90000", 300, 100, 1, {49}},
        {"pairs of tiles", "multiprocessors=4", 64, 140, 1, {20, 61}},
        {"pairs of tiles, three at a time", "multiprocessors=4,split_bytes_together=90000", 70, 100, 1, {50}},
        {"an odd block of rows", "multiprocessors=4,split_bytes_together=90000", 520, 100, 1, {36}},
        {"two steps, more than stages", "multiprocessors=2", 130, 400, 1, {55}},
        {"short sums", "multiprocessors=2,most_columns_per_sum=0", 130, 260, 1, {52}},
        // More than parts_together, the last of them alone.
        {"many rows", "multiprocessors=8", 2200, 20, 1, {40}}}) {
    for (const int bytes : {1, 2}) check(given, bytes);
  }
}

// The same modulo numbers of a byte: tiles of 256 entries, four of the ring.
TEST(EmulationWarpgroups, ProductsByRemaindersAreTheIntegers) {
  for (const Case& given :
       {Case{"one", "", 1, 1, 1, {49}},
        {"pairs of blocks of rows", "multiprocessors=4", 130, 144, 2, {49, 40}},
        {"pairs of tiles, three of them", "split_bytes_together=1500000", 60, 100, 1, {61}},
        {"residues of four bytes", "", 50, 20, 1, {61, 61, 61, 30}},
        {"one tile at a time", "multiprocessors=2,split_bytes_together=0", 257, 100, 2, {40}},
        {"an odd block of rows", "multiprocessors=6", 520, 70, 1, {55}},
        {"more steps than stages", "multiprocessors=2", 130, 700, 1, {50}}}) {
    check(given, 2, "least_rows_of_warpgroups=1,least_columns_of_remainders=1,");
  }
}

}  // namespace
}  // namespace hemera::poly::cuda
