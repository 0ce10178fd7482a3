// The samplers against the rule of hemera/poly/random.hpp: every coefficient recomputed from raw ChaCha20
// blocks in big integers, for every instruction set and number of threads.
#include "poly/cpu/sampling.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "poly/sampling_support.hpp"

namespace hemera::poly::testing {
namespace {

constexpr std::uint64_t two_60 = std::uint64_t{1} << 60;

// Small and large, odd and even, next to both ends of the range.
const std::vector<std::uint64_t> mixed_moduli = {2,
                                                 3,
                                                 17,
                                                 256,
                                                 (std::uint64_t{1} << 30) - 35,
                                                 (std::uint64_t{1} << 50) - 27,
                                                 two_60 - 93,
                                                 two_60,
                                                 2 * two_60 - 1};

struct Sampler {
  Purpose purpose;
  std::function<void(runtime::ThreadPool&, const cpu::SamplingKernels&, const PolyView&, const RandomStream&,
                     const RnsBase&)>
      run;
};

constexpr double sigma = 3.19;
constexpr std::size_t weight = 192;

std::vector<Sampler> samplers() {
  using Pool = runtime::ThreadPool;
  using Kernels = cpu::SamplingKernels;
  const auto of = [](const Distribution& distribution) {
    return Sampler{
        distribution.purpose(),
        [distribution](Pool& pool, const Kernels& kernels, const PolyView& out, const RandomStream& stream,
                       const RnsBase& base) { sample(pool, kernels, out, stream, distribution, base); }};
  };
  static const ErrorDistribution errors(sigma);
  return {of(Distribution::uniform()), of(Distribution::ternary()), of(Distribution::fixed_weight(weight)),
          of(Distribution::error(errors))};
}

class Sampling : public ::testing::TestWithParam<const cpu::SamplingKernels*> {
 protected:
  const cpu::SamplingKernels& kernels() const { return *GetParam(); }
  Poly make_poly(std::size_t batch, std::size_t components, const RnsBase& base) const {
    return Poly(memory_, batch, components, base, Form::coefficient);
  }

  std::shared_ptr<runtime::Memory> memory_ = runtime::make_host_memory();
  runtime::ThreadPool pool_{1};
};

// The coefficients of polynomial k by the rule; limb counts for purpose uniform only.
std::vector<BigInteger> coefficients_by_rule(Purpose purpose, const Seed& seed, std::uint32_t k,
                                             std::uint32_t limb, std::size_t degree) {
  const ErrorDistribution distribution(sigma);
  std::vector<BigInteger> r(degree);
  for (std::size_t i = 0; i < degree; ++i) r[i] = random_bits(seed, purpose, k, limb, i);
  std::vector<BigInteger> result(degree);
  std::vector<int> chosen;
  if (purpose == Purpose::fixed_weight) chosen = fixed_weight_coefficients(r, weight);
  for (std::size_t i = 0; i < degree; ++i) {
    switch (purpose) {
      case Purpose::uniform:
        result[i] = r[i];
        break;
      case Purpose::ternary:
        result[i] = ternary_coefficient(r[i]);
        break;
      case Purpose::fixed_weight:
        result[i] = chosen[i];
        break;
      case Purpose::error:
        result[i] = error_coefficient(r[i], distribution);
        break;
    }
  }
  return result;
}

// Every residue is the one of the rule, in all limbs and polynomials of a batch.
TEST_P(Sampling, FollowsTheRule) {
  const std::size_t degree = 1024;
  const RnsBase base = make_base(degree, mixed_moduli);
  const std::uint32_t first = 0xfffffff0U;
  for (const Sampler& sampler : samplers()) {
    const RandomStream stream{make_seed(1), first};
    Poly poly = make_poly(2, 2, base);
    sampler.run(pool_, kernels(), poly.view(), stream, base);
    for (std::uint32_t p = 0; p < 4; ++p) {
      std::vector<BigInteger> expected;
      for (std::uint32_t limb = 0; limb < base.size(); ++limb) {
        if (limb == 0 || sampler.purpose == Purpose::uniform) {
          expected = coefficients_by_rule(sampler.purpose, stream.seed, first + p, limb, degree);
        }
        const std::vector<std::uint64_t> actual = limb_values(poly.view(), p / 2, p % 2, limb);
        for (std::size_t i = 0; i < degree; ++i) {
          ASSERT_EQ(actual[i], arith::modulo(expected[i], base.modulus(limb).value()))
              << "purpose " << static_cast<int>(sampler.purpose) << ", polynomial " << p << ", limb " << limb
              << ", coefficient " << i;
        }
      }
    }
  }
}

// A degree of many ranges, of which threads take one at a time, follows the same rule.
TEST_P(Sampling, FollowsTheRuleAtLargeDegree) {
  const std::size_t degree = 16384;
  const RnsBase base = make_base(degree, {two_60 - 93});
  for (const Sampler& sampler : samplers()) {
    const RandomStream stream{make_seed(2), 5};
    Poly poly = make_poly(1, 1, base);
    sampler.run(pool_, kernels(), poly.view(), stream, base);
    const auto expected = coefficients_by_rule(sampler.purpose, stream.seed, 5, 0, degree);
    const std::vector<std::uint64_t> actual = limb_values(poly.view(), 0, 0, 0);
    for (std::size_t i = 0; i < degree; ++i) {
      ASSERT_EQ(actual[i], arith::modulo(expected[i], two_60 - 93))
          << "purpose " << static_cast<int>(sampler.purpose) << ", coefficient " << i;
    }
  }
}

// Threads, instruction sets and the split into calls do not change the stream; words outside a
// strided view stay as they were.
TEST_P(Sampling, StreamDependsOnNothingElse) {
  const std::size_t degree = 8192;
  const RnsBase base = make_base(degree, {two_60 - 93, (std::uint64_t{1} << 50) - 27});
  for (const Sampler& sampler : samplers()) {
    const RandomStream stream{make_seed(3), 7};
    Poly reference = make_poly(3, 2, base);
    sampler.run(pool_, cpu::scalar_sampling, reference.view(), stream, base);
    const std::vector<std::byte> expected(reference.view().data, reference.view().data + reference.bytes());
    for (const int threads : {1, 2, 5}) {
      runtime::ThreadPool pool(threads);
      Poly poly = make_poly(3, 2, base);
      sampler.run(pool, kernels(), poly.view(), stream, base);
      EXPECT_EQ(std::memcmp(poly.view().data, expected.data(), expected.size()), 0)
          << threads << " threads, purpose " << static_cast<int>(sampler.purpose);
    }
    Poly parts = make_poly(3, 2, base);
    std::memset(parts.view().data, 0x5a, parts.bytes());
    const PolyView second = parts.view().components(1, 1);
    for (std::size_t batch = 0; batch < 3; ++batch) {
      const RandomStream part{stream.seed,
                              stream.first_polynomial + 2 * static_cast<std::uint32_t>(batch) + 1};
      sampler.run(pool_, kernels(), second.batches(batch, 1), part, base);
      for (std::size_t limb = 0; limb < 2; ++limb) {
        EXPECT_EQ(limb_values(parts.view(), batch, 1, limb), limb_values(reference.view(), batch, 1, limb));
        EXPECT_EQ(limb_values(parts.view(), batch, 0, limb),
                  std::vector<std::uint64_t>(degree, 0x5a5a5a5a5a5a5a5a));
      }
    }
  }
}

// Keys of 62 random bits never collide in a test: a generator whose keys have three random bits does.
void colliding_blocks(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                      const std::uint32_t nonce[3], std::size_t blocks) {
  cpu::chacha20_blocks_scalar(out, key, counter, nonce, blocks);
  for (std::size_t i = 0; i < 64 * blocks; ++i) {
    // Bits 24 to 26 of the key and bits 120 to 127 of r stay.
    const int kept = i % 16 == 15 ? 0xff : i % 16 == 3 ? 0x07 : 0x00;
    out[i] = static_cast<std::uint8_t>(out[i] & kept);
  }
}

TEST_P(Sampling, EqualKeysAreTakenInOrder) {
  const std::size_t degree = 1024;
  const RnsBase base = make_base(degree, {two_60 - 93});
  cpu::SamplingKernels colliding = kernels();
  colliding.chacha20_blocks = colliding_blocks;
  const Seed seed = make_seed(6);
  std::vector<BigInteger> r(degree);
  for (std::size_t i = 0; i < degree; ++i) {
    const BigInteger full = random_bits(seed, Purpose::fixed_weight, 0, 0, i);
    r[i] = (full & (BigInteger(7) << 24)) | (full & (BigInteger(255) << 120));
  }
  for (std::size_t h = 1; h <= degree; h += 31) {
    Poly poly = make_poly(1, 1, base);
    sample(pool_, colliding, poly.view(), {seed, 0}, Distribution::fixed_weight(h), base);
    const std::vector<int> expected = fixed_weight_coefficients(r, h);
    const std::vector<std::uint64_t> actual = limb_values(poly.view(), 0, 0, 0);
    for (std::size_t i = 0; i < degree; ++i) {
      ASSERT_EQ(actual[i], arith::modulo(expected[i], two_60 - 93))
          << "weight " << h << ", coefficient " << i;
    }
  }
}

TEST_P(Sampling, ErrorsOfEveryDeviation) {
  const std::size_t degree = 1024;
  // Moduli below the bound of the widest distribution, too.
  const RnsBase base = make_base(degree, {5, 127, two_60 - 93});
  for (const double deviation : {0.5, 1.0, 3.19, 3.5, 8.0, 20.0}) {
    const ErrorDistribution distribution(deviation);
    Poly poly = make_poly(1, 1, base);
    sample(pool_, kernels(), poly.view(), {make_seed(8), 0}, Distribution::error(distribution), base);
    for (std::size_t i = 0; i < degree; ++i) {
      const int expected =
          error_coefficient(random_bits(make_seed(8), Purpose::error, 0, 0, i), distribution);
      for (std::size_t limb = 0; limb < base.size(); ++limb) {
        ASSERT_EQ(poly.view().limb<std::uint64_t>(0, 0, limb)[i],
                  arith::modulo(expected, base.modulus(limb).value()))
            << "deviation " << deviation << ", coefficient " << i;
      }
    }
  }
}

// No block of a key stream serves two draws. Blocks are (key, nonce, counter).
using BlockName = std::tuple<std::vector<std::uint32_t>, std::vector<std::uint32_t>, std::uint32_t>;
thread_local std::map<BlockName, int>* recorded_blocks = nullptr;

void recording_blocks(std::uint8_t* out, const std::uint32_t key[8], std::uint32_t counter,
                      const std::uint32_t nonce[3], std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto number = static_cast<std::uint32_t>(counter + i);
    ++(*recorded_blocks)[{{key, key + 8}, {nonce, nonce + 3}, number}];
  }
  cpu::chacha20_blocks_scalar(out, key, counter, nonce, blocks);
}

TEST_P(Sampling, NoBlockIsUsedTwice) {
  const std::size_t degree = 2048;
  const RnsBase base = make_base(degree, {two_60 - 93, 65537, 257});
  cpu::SamplingKernels recording = kernels();
  recording.chacha20_blocks = recording_blocks;
  std::map<BlockName, int> blocks;
  recorded_blocks = &blocks;
  std::size_t polynomials = 0;
  for (const std::uint64_t seed : {10U, 11U}) {
    for (const Sampler& sampler : samplers()) {
      for (const std::uint32_t first : {0U, 6U}) {
        Poly poly = make_poly(2, 3, base);
        sampler.run(pool_, recording, poly.view(), {make_seed(seed), first}, base);
        polynomials += 6 * (sampler.purpose == Purpose::uniform ? base.size() : 1);
      }
    }
  }
  recorded_blocks = nullptr;
  EXPECT_EQ(blocks.size(), polynomials * degree / 4);
  for (const auto& [name, uses] : blocks) ASSERT_EQ(uses, 1);
  // The record sees repetition: the same draw once more uses blocks again.
  recorded_blocks = &blocks;
  Poly poly = make_poly(1, 1, base);
  sample(pool_, recording, poly.view(), {make_seed(10), 11}, Distribution::ternary(), base);
  recorded_blocks = nullptr;
  EXPECT_EQ(blocks.size(), polynomials * degree / 4);
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, Sampling, ::testing::ValuesIn(available_sampling_kernels()),
                         instruction_set_name);

}  // namespace
}  // namespace hemera::poly::testing
