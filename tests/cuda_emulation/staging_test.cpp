// Copies between the host and the device go by way of pinned memory. The emulation runs copies from and to it
// as late as CUDA may: what is filled or taken too early is wrong.
#include "runtime/cuda/staging.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "child_process.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/interruption.hpp"
#include "poly/cuda/tuning.hpp"

namespace hemera::testing {
namespace {

using poly::Form;
using poly::Poly;
using runtime::cuda::Staging;

constexpr std::size_t block = Staging::block_bytes;
constexpr std::uint64_t prime = 12289;

std::vector<std::byte> random_bytes(std::size_t count, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::vector<std::uint64_t> random_residues(std::size_t count, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(count);
  for (std::uint64_t& word : words) word = random() % prime;
  return words;
}

// A polynomial's row has 8 KiB: 512 are a block.
struct Device {
  std::shared_ptr<const poly::Ring> ring = poly::Ring::make(
      1024, {{arith::Modulus(prime), arith::minimal_primitive_root(2048, arith::Modulus(prime))}});
  poly::RnsBase base{ring, {0}};
  std::shared_ptr<const poly::Backend> backend;
  std::unique_ptr<runtime::Queue> queue;

  explicit Device(const poly::CudaSettings& settings = {})
      : backend(poly::make_cuda_backend(ring, settings)), queue(backend->make_thread_queue()) {}

  [[nodiscard]] Poly make(std::size_t batch, std::size_t components, Form form) const {
    return {backend->memory(), batch, components, base, form};
  }
  void upload(Poly& poly, std::span<const std::uint64_t> words) const {
    backend->upload(*queue, poly.view(), words, poly.form());
  }
  [[nodiscard]] std::vector<std::uint64_t> download(const Poly& poly) const {
    std::vector<std::uint64_t> words(poly.shape().words());
    backend->download(*queue, words, poly.view(), poly.form());
    queue->synchronize();
    return words;
  }
  // There and back.
  void expect_travels(std::size_t bytes, unsigned seed = 1) const {
    const std::vector<std::byte> given = random_bytes(bytes, seed);
    runtime::Buffer there(backend->memory(), bytes);
    backend->upload_values(*queue, {there.data(), bytes}, given);
    std::vector<std::byte> back(bytes);
    backend->download_values(*queue, back, {std::as_const(there).data(), bytes});
    queue->synchronize();
    EXPECT_TRUE(given == back) << bytes << " bytes";
  }
};

bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

// What is pinned holds nothing but the garbage that it began with.
void expect_nothing_left() {
  for (const std::span<const std::byte> pinned : emulation::pinned_blocks()) {
    EXPECT_TRUE(std::all_of(pinned.begin(), pinned.end(),
                            [](std::byte byte) { return byte == std::byte{0} || byte == std::byte{0xa5}; }));
  }
}

TEST(EmulationStaging, ValuesOfAllSizesTravel) {
  const Device device;
  constexpr std::size_t least = poly::cuda::Tuning{}.least_staged_bytes;
  for (const std::size_t bytes : {std::size_t{1}, least - 1, least, least + 1, block - 1, block, block + 1,
                                  2 * block, 3 * block - 1, 3 * block, 3 * block + 1, 7 * block + 5}) {
    const emulation::Counts before = emulation::counts();
    device.expect_travels(bytes);
    const std::size_t parts = (bytes + block - 1) / block;
    EXPECT_EQ(emulation::counts().copies_to_device - before.copies_to_device, parts);
    EXPECT_EQ(emulation::counts().copies_to_host - before.copies_to_host, parts);
  }
}

// Each part is copied after the operations that make it, and before its block serves another.
TEST(EmulationStaging, PiecesAreCopiedWhenTheyAreMade) {
  const Device device;
  constexpr std::size_t part = poly::cuda::Tuning{}.download_part_bytes, piece = 65536;
  for (const std::size_t bytes : {piece, part, part + 8192, 7 * part + 3 * piece}) {
    const std::size_t polynomials = bytes / 8192;
    Poly poly = device.make(polynomials, 1, Form::coefficient);
    const std::vector<std::uint64_t> words = random_residues(poly.shape().words());
    device.upload(poly, words);
    runtime::Buffer there(device.backend->memory(), bytes);
    device.backend->upload_values(*device.queue, {there.data(), bytes}, random_bytes(bytes, 2));
    std::size_t made = 0;
    std::vector<std::byte> back(bytes);
    const emulation::Counts before = emulation::counts();
    device.backend->download_pieces(
        *device.queue, {std::as_const(there).data(), bytes},
        {.bytes = piece,
         .make =
             [&](std::size_t end) {
               const std::size_t count = end / 8192 - made;
               device.backend->pack_rounded(*device.queue, {there.data() + made * 8192, count * 8192},
                                            std::as_const(poly).view().batches(made, count), 0, 8);
               made += count;
             },
         .take = [&](std::size_t first,
                     std::span<const std::byte> taken) { std::ranges::copy(taken, back.data() + first); }});
    EXPECT_EQ(made, polynomials);
    EXPECT_EQ(emulation::counts().copies_to_host - before.copies_to_host, (bytes + part - 1) / part);
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(words)), back)) << bytes;
  }
}

TEST(EmulationStaging, FewValuesDoNotWait) {
  const Device device;
  const std::vector<std::byte> given = random_bytes(poly::cuda::Tuning{}.least_staged_bytes - 1);
  runtime::Buffer there(device.backend->memory(), given.size());
  const emulation::Counts before = emulation::counts();
  device.backend->upload_values(*device.queue, {there.data(), given.size()}, given);
  EXPECT_EQ(emulation::counts().synchronizations, before.synchronizations);
  EXPECT_EQ(emulation::counts().pinned_allocations, before.pinned_allocations);
}

// In their order, and in the device's; whole elements of a batch make a part, or limbs of a polynomial.
TEST(EmulationStaging, PolynomialsOfAllSizesTravel) {
  const Device device;
  const auto travels = [&](Poly& poly, const std::string& what) {
    const std::vector<std::uint64_t> given = random_residues(poly.shape().words());
    device.upload(poly, given);
    EXPECT_TRUE(device.download(poly) == given) << what;
  };
  for (const std::size_t batch : {1, 255, 256, 257, 768, 1025}) {
    Poly pairs = device.make(batch, 2, Form::coefficient);
    travels(pairs, std::to_string(batch) + " pairs");
  }
  for (const std::size_t batch : {1, 257}) {
    Poly reordered = device.make(batch, 2, Form::evaluation);
    travels(reordered, std::to_string(batch) + " pairs of values");
  }
  // No divisor of a block.
  Poly odd = device.make(200, 7, Form::coefficient);
  travels(odd, "200 of 7 components");
}

TEST(EmulationStaging, LimbsOfLargePolynomialsTravel) {
  // Rows of 256 KiB: 16 are a block, and a polynomial has 17.
  constexpr std::size_t degree = std::size_t{1} << 15;
  std::vector<poly::RingModulus> moduli;
  poly::RnsBase base;
  for (const std::uint64_t value : arith::primes_below(std::uint64_t{1} << 50, 2 * degree, 17)) {
    moduli.push_back({arith::Modulus(value), 0});
  }
  const auto ring = poly::Ring::make(degree, moduli);
  std::vector<std::uint32_t> indices;
  for (std::uint32_t i = 0; i < moduli.size(); ++i) indices.push_back(i);
  const auto backend = poly::make_cuda_backend(ring);
  const auto queue = backend->make_thread_queue();
  Poly poly(backend->memory(), 2, 2, poly::RnsBase(ring, indices), Form::coefficient);
  const std::vector<std::uint64_t> given = random_residues(poly.shape().words());
  backend->upload(*queue, poly.view(), given, Form::coefficient);
  std::vector<std::uint64_t> back(given.size());
  backend->download(*queue, back, std::as_const(poly).view(), Form::coefficient);
  EXPECT_TRUE(back == given);
}

// Each row is made and taken once, whichever thread and part it is in.
TEST(EmulationStaging, RowsComeOnce) {
  const Device device({.threads = 4});
  Poly poly = device.make(700, 1, Form::coefficient);
  std::vector<std::atomic<int>> made(700), taken(700);
  device.backend->upload_rows(*device.queue, poly.view(), Form::coefficient,
                              [&](std::size_t first, std::span<std::uint64_t> rows) {
                                for (std::size_t i = 0; i < rows.size(); ++i) {
                                  if (i % 1024 == 0) ++made[first + i / 1024];
                                  rows[i] = (first + i / 1024) * 16 + i % 16;
                                }
                              });
  device.backend->download_rows(*device.queue, std::as_const(poly).view(), Form::coefficient,
                                [&](std::size_t first, std::span<const std::uint64_t> rows) {
                                  for (std::size_t i = 0; i < rows.size(); ++i) {
                                    if (i % 1024 == 0) ++taken[first + i / 1024];
                                    EXPECT_EQ(rows[i], (first + i / 1024) * 16 + i % 16);
                                  }
                                });
  for (std::size_t row = 0; row < 700; ++row) {
    EXPECT_EQ(made[row], 1) << row;
    EXPECT_EQ(taken[row], 1) << row;
  }
}

TEST(EmulationStaging, ThreadsCopyAtOnce) {
  {
    const Device device;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        for (unsigned round = 0; round < 4; ++round)
          device.expect_travels(2 * block + 100 * i, 10 * i + round);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(emulation::pinned_blocks().size(), Staging::most_blocks);
    expect_nothing_left();
  }
  EXPECT_EQ(emulation::pinned_blocks().size(), 0U) << "not given back";
}

TEST(EmulationStaging, BlocksAreKept) {
  const Device device;
  device.expect_travels(5 * block);
  const std::size_t before = emulation::counts().pinned_allocations;
  device.expect_travels(9 * block);
  EXPECT_EQ(emulation::counts().pinned_allocations, before);
  EXPECT_EQ(emulation::pinned_blocks().size(), Staging::blocks_of_copy);
}

TEST(EmulationStaging, NothingStaysInPinnedMemory) {
  for (const std::size_t bytes : {poly::cuda::Tuning{}.least_staged_bytes + 1, block, 4 * block + 17}) {
    const Device device;
    device.expect_travels(bytes);
    expect_nothing_left();
  }
  const Device device;
  Poly key = device.make(1, 1, Form::evaluation);
  device.upload(key, random_residues(1024));
  expect_nothing_left();
  static_cast<void>(device.download(key));
  expect_nothing_left();
  EXPECT_TRUE(is_zero(emulation::pinned_blocks().front().first(key.shape().words() * 8)));
}

// A step that fails ends the copy; its blocks are zeroed when the device is through with them.
TEST(EmulationStaging, FailedCopiesLeaveNothing) {
  const Device device;
  Poly poly = device.make(2048, 1, Form::coefficient);
  const std::vector<std::uint64_t> given = random_residues(2048 * 1024);
  device.upload(poly, given);
  for (const std::size_t bad : {0, 600, 2047}) {
    const auto fail_at_bad = [bad](std::size_t first, std::size_t rows) {
      if (first <= bad && bad < first + rows) throw std::runtime_error("bad row");
    };
    Poly other = device.make(2048, 1, Form::coefficient);
    EXPECT_THROW(device.backend->upload_rows(*device.queue, other.view(), Form::coefficient,
                                             [&](std::size_t first, std::span<std::uint64_t> rows) {
                                               std::fill(rows.begin(), rows.end(), 77);
                                               fail_at_bad(first, rows.size() / 1024);
                                             }),
                 std::runtime_error);
    device.queue->synchronize();  // nothing comes after
    expect_nothing_left();
    EXPECT_THROW(device.backend->download_rows(*device.queue, std::as_const(poly).view(), Form::coefficient,
                                               [&](std::size_t first, std::span<const std::uint64_t> rows) {
                                                 fail_at_bad(first, rows.size() / 1024);
                                               }),
                 std::runtime_error);
    device.queue->synchronize();  // nothing comes after
    expect_nothing_left();
  }
  EXPECT_TRUE(device.download(poly) == given);
  EXPECT_EQ(emulation::pinned_blocks().size(), Staging::blocks_of_copy) << "blocks are lost";
}

TEST(EmulationStaging, CopiesAreInterrupted) {
  const Device device({.threads = 1});  // the caller's, which is asked
  Poly poly = device.make(2048, 1, Form::coefficient);
  const std::vector<std::uint64_t> given = random_residues(2048 * 1024);
  device.upload(poly, given);
  static std::atomic<int> questions_left;
  for (const int questions : {0, 3, 20}) {
    questions_left = questions;
    runtime::set_interrupt_check([] { return questions_left-- == 0; }, std::chrono::milliseconds(0));
    EXPECT_THROW(static_cast<void>(device.download(poly)), runtime::Interrupted);
    runtime::set_interrupt_check(nullptr);
    expect_nothing_left();
  }
  EXPECT_TRUE(device.download(poly) == given);
}

// Without pinned memory copies go on; it is asked for once, and what there is serves.
TEST(EmulationStaging, CopiesNeedNoPinnedMemory) {
  for (const bool one : {false, true}) {
    const Device device;
    if (one) device.expect_travels(block / 2);
    constexpr std::size_t many = 1000;
    emulation::refused_pinned_allocations = many;
    device.expect_travels(5 * block + 3);
    device.expect_travels(5 * block + 3);
    Poly poly = device.make(700, 1, Form::evaluation);
    const std::vector<std::uint64_t> given = random_residues(700 * 1024);
    device.upload(poly, given);
    EXPECT_TRUE(device.download(poly) == given);
    EXPECT_EQ(emulation::refused_pinned_allocations, many - 1);
    emulation::refused_pinned_allocations = 0;
    EXPECT_EQ(emulation::pinned_blocks().size(), one ? 1U : 0U);
  }
}

// A recording has no copies of the host's, not those of other threads either, which go on beside it.
TEST(EmulationStaging, ThreadsCopyWhileAnotherRecords) {
  const Device device;
  Poly in = device.make(1, 1, Form::evaluation), out = device.make(1, 1, Form::evaluation);
  device.upload(in, random_residues(1024));
  const auto recording = device.backend->record(*device.queue, [&] {
    device.backend->copy(*device.queue, out.view(), std::as_const(in).view());
    std::thread([&] { device.expect_travels(4 * block); }).join();
    const std::vector<std::byte> refused(block);
    runtime::Buffer there(device.backend->memory(), block);
    EXPECT_THROW(device.backend->upload_values(*device.queue, {there.data(), block}, refused), DeviceError);
    EXPECT_THROW(static_cast<void>(device.download(in)), DeviceError);
  });
  const emulation::Counts before = emulation::counts();
  recording->replay(*device.queue);
  EXPECT_EQ(emulation::counts().copies_to_device, before.copies_to_device);
  EXPECT_EQ(emulation::counts().copies_to_host, before.copies_to_host);
  EXPECT_TRUE(device.download(out) == device.download(in));
}

TEST(EmulationStaging, EachDeviceHasItsOwn) {
  emulation::devices = 2;
  {
    const Device first({.device = 0}), second({.device = 1});
    for (int round = 0; round < 2; ++round) {
      first.expect_travels(4 * block);
      second.expect_travels(4 * block);
    }
    EXPECT_EQ(emulation::pinned_blocks().size(), 2 * Staging::blocks_of_copy);
  }
  cudaSetDevice(0);
  emulation::devices = 1;
}

// The emulation aborts a child that calls CUDA.
TEST(EmulationStaging, AChildLeavesPinnedMemoryAlone) {
  auto device = std::make_unique<Device>();
  device->expect_travels(4 * block);
  EXPECT_TRUE(tests::in_child([&] {
    Poly poly;
    try {
      poly = device->make(1, 1, Form::coefficient);
      return false;
    } catch (const DeviceError&) {
    }
    device.reset();
    return true;
  }));
  device->expect_travels(4 * block);
}

}  // namespace
}  // namespace hemera::testing
