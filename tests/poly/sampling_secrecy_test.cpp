// What the samplers leave behind, and (under Valgrind) whether control flow or addresses depend on secrets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

#include "own_stack.hpp"
#include "poly/cpu/sampling.hpp"
#include "poly/sampling_support.hpp"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

namespace hemera::poly::testing {
namespace {

constexpr std::size_t degree = 8192;
constexpr std::uint64_t prime_60 = (std::uint64_t{1} << 60) - 93;

class SamplingSecrecy : public ::testing::TestWithParam<const cpu::SamplingKernels*> {
 protected:
  struct Draw {
    Purpose purpose;
    std::function<void(const RandomStream&)> run;
  };

  std::vector<Draw> secret_draws() {
    const cpu::SamplingKernels& kernels = *GetParam();
    return {{Purpose::ternary,
             [&](const RandomStream& stream) {
               sample(pool_, kernels, poly_.view(), stream, Distribution::ternary(), base_);
             }},
            {Purpose::fixed_weight,
             [&](const RandomStream& stream) {
               sample(pool_, kernels, poly_.view(), stream, Distribution::fixed_weight(192), base_);
             }},
            {Purpose::error,
             [&](const RandomStream& stream) {
               sample(pool_, kernels, poly_.view(), stream, Distribution::error(narrow_), base_);
             }},
            {Purpose::error, [&](const RandomStream& stream) {
               sample(pool_, kernels, poly_.view(), stream, Distribution::error(wide_), base_);
             }}};
  }

  std::shared_ptr<runtime::Memory> memory_ = runtime::make_host_memory();
  runtime::ThreadPool pool_{1};
  RnsBase base_ = make_base(degree, {prime_60, 17});
  Poly poly_{memory_, 1, 1, base_, Form::coefficient};
  ErrorDistribution narrow_{3.19};
  ErrorDistribution wide_{20};
};

TEST_P(SamplingSecrecy, FixedWeightClearsItsWorkspace) {
  const auto draw = [&](runtime::Workspace& workspace) {
    cpu::sample(pool_, *GetParam(), poly_.view(), {make_seed(1), 0}, Distribution::fixed_weight(64), base_,
                workspace);
  };
  runtime::Workspace measuring = runtime::Workspace::measuring();
  draw(measuring);
  const std::size_t bytes = measuring.peak();
  ASSERT_GT(bytes, 0U);
  runtime::Workspace workspace(memory_, bytes);
  {
    const runtime::Workspace::Frame frame(workspace);
    std::memset(workspace.take(bytes), 0xee, bytes);
  }
  draw(workspace);
  const runtime::Workspace::Frame frame(workspace);
  const std::byte* scratch = workspace.take(bytes);
  EXPECT_TRUE(std::all_of(scratch, scratch + bytes, [](std::byte b) { return b == std::byte{0}; }));
}

#if defined(HEMERA_TEST_OWN_STACK)

using tests::run_on_stack;

// A thread that draws keeps neither words of the seed nor random words on its stack.
TEST_P(SamplingSecrecy, StackHoldsNoSecretsAfterwards) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const stack = static_cast<std::byte*>(memory);
  const auto seed = std::make_unique<Seed>(make_seed(2));
  std::unordered_set<std::uint32_t> seed_words;
  for (std::size_t word = 0; word < 8; ++word) {
    std::uint32_t value = 0;
    std::memcpy(&value, seed->bytes.data() + 4 * word, 4);
    seed_words.insert(value);
  }
  const auto count_seed_words = [&] {
    std::size_t found = 0;
    for (std::size_t offset = 0; offset < bytes; offset += 4) {
      std::uint32_t value = 0;
      std::memcpy(&value, stack + offset, 4);
      found += seed_words.count(value);
    }
    return found;
  };

  for (const Draw& draw : secret_draws()) {
    std::unordered_set<std::uint64_t> random_words;
    for (std::size_t i = 0; i < degree; ++i) {
      const BigInteger r = random_bits(*seed, draw.purpose, 0, 0, i);
      for (const BigInteger& part : {r, r / power_of_two(64), r / power_of_two(28), r / power_of_two(92)}) {
        random_words.insert(static_cast<std::uint64_t>(part % power_of_two(64)));
      }
    }
    const auto stream = std::make_unique<RandomStream>();
    stream->seed = *seed;
    run_on_stack(stack, bytes, [&] { draw.run(*stream); });
    EXPECT_EQ(count_seed_words(), 0U) << "purpose " << static_cast<int>(draw.purpose);
    std::size_t found = 0;
    for (std::size_t offset = 0; offset < bytes; offset += 8) {
      std::uint64_t value = 0;
      std::memcpy(&value, stack + offset, 8);
      found += random_words.count(value);
    }
    EXPECT_EQ(found, 0U) << "purpose " << static_cast<int>(draw.purpose);
  }

  // The scan finds what is left: a copy that nobody zeroes.
  run_on_stack(stack, bytes, [&] {
    std::uint8_t copy[16384];  // deep enough that the end of the thread does not overwrite it
    std::memcpy(copy, seed->bytes.data(), seed->bytes.size());
    __asm__ __volatile__("" : : "r"(copy) : "memory");
  });
  EXPECT_GE(count_seed_words(), 8U);
  munmap(memory, bytes);
}

#endif

#if defined(VALGRIND_MAKE_MEM_UNDEFINED)

// Langley's ctgrind: Valgrind is told that the seed is uninitialised, and reports each conditional jump and
// each address that depends on it. Runs only there (docs/randomness.md has the command).
TEST_P(SamplingSecrecy, NoBranchOrAddressDependsOnSecrets) {
  if (RUNNING_ON_VALGRIND == 0) GTEST_SKIP() << "checks under Valgrind only";
  for (const Draw& draw : secret_draws()) {
    RandomStream stream{make_seed(3), 0};
    VALGRIND_MAKE_MEM_UNDEFINED(stream.seed.bytes.data(), stream.seed.bytes.size());
    const std::size_t before = VALGRIND_COUNT_ERRORS;
    draw.run(stream);
    EXPECT_EQ(VALGRIND_COUNT_ERRORS, before) << "purpose " << static_cast<int>(draw.purpose);

    // What came out depends on the seed, bit by bit; and a branch on the seed is reported.
    std::vector<std::uint8_t> dependent(degree * sizeof(std::uint64_t));
    ASSERT_EQ(VALGRIND_GET_VBITS(poly_.view().data, dependent.data(), dependent.size()), 1U);
    for (std::size_t i = 0; i < degree; ++i) ASSERT_NE(dependent[8 * i], 0) << "coefficient " << i;
    if ((stream.seed.bytes[0] & 1) != 0) __asm__ __volatile__("" : : : "memory");
    EXPECT_GT(VALGRIND_COUNT_ERRORS, before);
    VALGRIND_MAKE_MEM_DEFINED(stream.seed.bytes.data(), stream.seed.bytes.size());
    VALGRIND_MAKE_MEM_DEFINED(poly_.view().data, poly_.bytes());
  }
}

#endif

INSTANTIATE_TEST_SUITE_P(InstructionSets, SamplingSecrecy, ::testing::ValuesIn(available_sampling_kernels()),
                         instruction_set_name);

}  // namespace
}  // namespace hemera::poly::testing
