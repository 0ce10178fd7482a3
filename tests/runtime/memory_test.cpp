#include "hemera/runtime/memory.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "child_process.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/queue.hpp"
#include "refusals.hpp"
#include "runtime/host_memory.hpp"

namespace hemera::runtime {
namespace {

bool aligned(const std::byte* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 64 == 0; }

TEST(HostMemory, GivesAlignedDistinctBlocks) {
  const auto memory = make_host_memory();
  std::vector<Buffer> buffers;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{4097},
                                  std::size_t{1} << 20, (std::size_t{5} << 20) + 1}) {
    buffers.emplace_back(memory, bytes);
    ASSERT_TRUE(aligned(buffers.back().data()));
    std::memset(buffers.back().data(), static_cast<int>(buffers.size()), bytes);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + buffer.size(),
                            [&](std::byte value) { return value == std::byte(i + 1); }));
  }
}

#if defined(__linux__)
// Whether core dumps leave out the page of an address: the flag `dd` of its mapping (proc(5)).
bool is_left_out_of_dumps(const std::byte* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_own = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &first, &last) == 2) {
      const auto own = reinterpret_cast<std::uintptr_t>(address);
      is_own = first <= own && own < last;
    } else if (is_own && line.starts_with("VmFlags:")) {
      return line.find(" dd") != std::string::npos;
    }
  }
  ADD_FAILURE() << "no mapping has the address";
  return false;
}

TEST(HostMemory, DumpsLeaveSecretsOut) {
  const auto memory = make_host_memory();
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const std::size_t bytes : {std::size_t{32}, page, page + 1, 10 * page, std::size_t{3} << 20}) {
    SCOPED_TRACE(bytes);
    const Buffer secret(memory, bytes, Secrecy::secret);
    for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1}) {
      EXPECT_TRUE(is_left_out_of_dumps(secret.data() + at)) << at;
    }
    Buffer moved(memory, 1);
    moved = Buffer(memory, bytes, Secrecy::secret);
    EXPECT_TRUE(is_left_out_of_dumps(moved.data()));
  }
  // A fresh mapping of its own, which no secret has had.
  const Buffer open(make_host_memory(), std::size_t{256} << 20);
  EXPECT_FALSE(is_left_out_of_dumps(open.data() + open.size() / 2));
}
#endif

TEST(HostMemory, CountsWhatIsInUse) {
  const auto memory = make_host_memory();
  EXPECT_EQ(memory->used(), 0U);
  {
    const Buffer first(memory, 100000);
    EXPECT_GE(memory->used(), 100000U);
    const std::size_t before = memory->used();
    Buffer second(memory, 5000);
    EXPECT_GE(memory->used(), before + 5000);
    second = Buffer(memory, 10);
    EXPECT_LT(memory->used(), before + 5000);
  }
  EXPECT_EQ(memory->used(), 0U);
}

TEST(HostMemory, TellsItsPeakAndWhatItsLimitLeaves) {
  EXPECT_EQ(make_host_memory()->available(), SIZE_MAX);
  const auto memory = make_host_memory(kept_bytes, 1 << 20);
  EXPECT_EQ(memory->available(), std::size_t{1} << 20);
  {
    const Buffer first(memory, 512 << 10), second(memory, 256 << 10);
    EXPECT_EQ(memory->available(), std::size_t{256} << 10);
    EXPECT_THROW(Buffer(memory, 512 << 10), OutOfMemoryError);
    EXPECT_EQ(memory->used(), std::size_t{768} << 10);
  }
  EXPECT_EQ(memory->peak(), std::size_t{768} << 10);
  // Blocks that are kept make way for another size.
  EXPECT_EQ(memory->available(), std::size_t{1} << 20);
  const Buffer other(memory, 1 << 20);
  EXPECT_EQ(memory->available(), 0U);
  memory->reset_peak();
  EXPECT_EQ(memory->peak(), std::size_t{1} << 20);
}

TEST(HostMemory, ReusesFreedBlocksButNoMoreThanItsLimit) {
  const auto memory = make_host_memory(1 << 20);
  const std::byte* first = nullptr;
  {
    const Buffer buffer(memory, 70000);
    first = buffer.data();
  }
  const Buffer again(memory, 70000);
  EXPECT_EQ(again.data(), first);
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
std::size_t bytes_in_use() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(HostMemory, KeepsNoMoreThanItsLimit) {
  if (tests::sanitized) GTEST_SKIP() << "sanitizers have an allocator of their own";
  constexpr std::size_t block = 1 << 20;
  for (const std::size_t limit : {std::size_t{0}, block, 3 * block, 20 * block}) {
    const auto memory = make_host_memory(limit);
    const std::size_t before = bytes_in_use();
    // Kept ones serve again, and are kept again.
    for (int round = 0; round < 3; ++round) {
      {
        std::vector<Buffer> buffers;
        for (int i = 0; i < 10; ++i) buffers.emplace_back(memory, block);
      }
      const std::size_t kept = bytes_in_use() - before;
      const std::size_t expected = std::min(limit, 10 * block);
      EXPECT_LT(kept, expected + block / 2) << limit;
      EXPECT_GT(kept + block / 2, expected) << limit;
    }
  }
}

// While a pool takes fresh memory, those that were used before the others give back what they keep.
TEST(HostMemory, PoolsOfAProcessKeepNoMoreThanOneWhileOneGrows) {
  if (tests::sanitized) GTEST_SKIP() << "sanitizers have an allocator of their own";
  constexpr std::size_t block = std::size_t{300} << 20;
  const std::size_t before = bytes_in_use();
  std::vector<std::shared_ptr<Memory>> pools(6);
  for (auto& memory : pools) {
    memory = make_host_memory();
    const Buffer grown(memory, block);
    EXPECT_LT(bytes_in_use() - before, kept_bytes + 2 * block);
  }
  const std::size_t kept = bytes_in_use();
  const Buffer last(pools[5], block), earlier(pools[2], block);
  EXPECT_LT(bytes_in_use(), kept + block / 2);  // blocks that are kept serve
  const Buffer first(pools[0], block);
  EXPECT_GT(bytes_in_use(), kept + block / 2);
}
#endif

void expect_zeros(const std::shared_ptr<Memory>& memory, std::size_t bytes, const std::byte* freed) {
  const Buffer next(memory, bytes, Secrecy::secret);
  ASSERT_EQ(next.data(), freed) << "the test needs the block back to look at it";
  EXPECT_EQ(std::count(next.data(), next.data() + bytes, std::byte{0}), static_cast<std::ptrdiff_t>(bytes));
}

TEST(HostMemory, ZeroesSecretBlocksBeforeReuse) {
  for (const auto& threads : {std::shared_ptr<ThreadPool>(), std::make_shared<ThreadPool>(3)}) {
    const auto memory = make_host_memory(kept_bytes, 0, threads);
    for (const std::size_t bytes : {std::size_t{1} << 16, std::size_t{1} << 20, (std::size_t{5} << 18) + 8,
                                    (std::size_t{1} << 22) - 1}) {
      const std::byte* freed = nullptr;
      {
        Buffer secret(memory, bytes, Secrecy::secret);
        std::memset(secret.data(), 0x5a, secret.size());
        freed = secret.data();
      }
      expect_zeros(memory, bytes, freed);
    }
  }
}

TEST(HostMemory, ASecretStaysOneWhereverItIsMoved) {
  const auto memory = make_host_memory();
  const std::byte* freed = nullptr;
  {
    Buffer secret(memory, 8192, Secrecy::secret);
    std::memset(secret.data(), 0x5a, secret.size());
    freed = secret.data();
    Buffer assigned(memory, 64);  // which was none
    assigned = std::move(secret);
    EXPECT_EQ(assigned.secrecy(), Secrecy::secret);
    const Buffer constructed(std::move(assigned));
    EXPECT_EQ(constructed.secrecy(), Secrecy::secret);
    EXPECT_EQ(constructed.data(), freed);
    EXPECT_EQ(constructed.size(), 8192U);
    EXPECT_EQ(assigned.size(), 0U);
    EXPECT_FALSE(assigned);
  }
  expect_zeros(memory, 8192, freed);
}

TEST(HostMemory, SaysHowMuchWasAskedForWhenThereIsNone) {
  const auto memory = make_host_memory();
  for (const std::size_t bytes : {SIZE_MAX / 2 + 1, SIZE_MAX - 1, SIZE_MAX}) {
    tests::expect_error<OutOfMemoryError>([&] { const Buffer buffer(memory, bytes); },
                                          {std::to_string(bytes)});
  }
  EXPECT_EQ(memory->used(), 0U);
}

TEST(HostMemory, ServesManyThreads) {
  const auto memory = make_host_memory();
  std::vector<std::thread> threads;
  std::atomic<int> damaged{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        Buffer buffer(memory, static_cast<std::size_t>(1000 + (i * 37 + t * 101) % 9000));
        std::memset(buffer.data(), t, buffer.size());
        if (std::any_of(buffer.data(), buffer.data() + buffer.size(),
                        [&](std::byte b) { return b != std::byte(t); })) {
          ++damaged;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(damaged, 0);
  EXPECT_EQ(memory->used(), 0U);
}

TEST(SecureZero, Zeroes) {
  // From word to word, and up to and beyond where another function takes over.
  for (const std::size_t size : {1, 7, 8, 63, 64, 65, 1000, 4095, 4096, 4097, 65536}) {
    std::vector<unsigned char> bytes(size + 1, 7);
    secure_zero(bytes.data(), size);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0), static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(bytes.back(), 7) << "beyond the end";
  }
  secure_zero(nullptr, 0);
}

TEST(Workspace, HandsOutInStackOrder) {
  Workspace workspace(make_host_memory(), 1024);
  EXPECT_EQ(workspace.size(), 1024U);
  std::byte* outer = workspace.take(100);
  EXPECT_TRUE(aligned(outer));
  std::byte* inner = nullptr;
  {
    const Workspace::Frame frame(workspace);
    inner = workspace.take(10);
    EXPECT_EQ(inner, outer + Workspace::aligned(100));
    workspace.take(1024 - 128 - 64);
    EXPECT_THROW(workspace.take(1), OutOfMemoryError);
    EXPECT_NO_THROW(workspace.take(0));
  }
  EXPECT_EQ(workspace.take(64), inner);
  EXPECT_EQ(Workspace::aligned(0), 0U);
  EXPECT_EQ(Workspace::aligned(1), 64U);
  EXPECT_EQ(Workspace::aligned(64), 64U);
}

TEST(Device, ParsesAndNames) {
  EXPECT_EQ(Device::parse("cpu"), (Device{Device::Kind::cpu, 0}));
  EXPECT_EQ(Device::parse("cuda"), (Device{Device::Kind::cuda, 0}));
  EXPECT_EQ(Device::parse("cuda:3"), (Device{Device::Kind::cuda, 3}));
  for (const char* name : {"cpu", "cuda:2"})
    EXPECT_EQ(Device::parse(Device::parse(name).name()), Device::parse(name));
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "CPU", "cpu:1x"}) {
    EXPECT_THROW(Device::parse(name), DeviceError) << name;
  }
}

}  // namespace
}  // namespace hemera::runtime
