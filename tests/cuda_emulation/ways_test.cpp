// The ways of key switches, divisions, products and encryption give the same bits, by kernels of their own,
// and can be forced.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "conformance/suite.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/cuda/cuda_backend.hpp"

namespace hemera::poly::cuda {
namespace {

using conformance::Host;
using conformance::Rig;

struct Forced {
  const char* name;
  const char* choices;
};
constexpr Forced ways[] = {
    {"chosen", ""}, {"unfused", "way=unfused"}, {"passes", "way=passes"}, {"clusters", "way=clusters"}};

conformance::BackendCase case_of(const Forced& forced) {
  return {.name = forced.name,
          .make =
              [choices = forced.choices](std::shared_ptr<const Ring> ring) {
                return std::make_shared<const CudaBackend>(std::move(ring), CudaSettings{}, choices);
              },
          .emulated = true};
}

struct Outcome {
  Host result;
  std::size_t kernels;
};

// The operation into an output over the first `limbs` primes, and how many kernels it took.
Outcome outcome(Rig& rig, std::size_t limbs, std::size_t components,
                const std::function<void(const PolyView& out, runtime::Workspace& space)>& operation) {
  Poly out = rig.output(rig.primes(0, limbs), 1, components);
  rig.with_scratch([&](runtime::Workspace& space) { operation(out.view(), space); });  // makes the tables
  runtime::Workspace space(rig.backend->memory());
  const std::size_t before = emulation::counts().kernels;
  operation(out.view(), space);
  const std::size_t kernels = emulation::counts().kernels - before;
  return {rig.download(out), kernels};
}

// The number of kernels that each way took, all with the same bits.
std::vector<std::size_t> kernels_by_way(std::size_t degree, const std::function<Outcome(Rig&)>& run,
                                        int bits = 50) {
  std::vector<std::size_t> kernels;
  std::optional<Host> first;
  for (const Forced& forced : ways) {
    SCOPED_TRACE(forced.name);
    Rig rig(case_of(forced), degree, std::vector<int>(4, bits));
    const Outcome outcome = run(rig);
    if (!first) first = outcome.result;
    EXPECT_EQ(outcome.result.words, first->words);
    kernels.push_back(outcome.kernels);
  }
  return kernels;
}

TEST(EmulationWays, KeySwitchesHaveThree) {
  const auto run = [](Rig& rig) {
    const RnsBase base = rig.primes(0, 3);
    const ModUp up(base, rig.primes(3, 1), {{0, rig.primes(0, 2)}, {1, rig.primes(2, 1)}}, rig.all());
    const Division down(rig.all(), base);
    const Poly in = rig.upload(rig.random(base, 1, 1)), key = rig.upload(rig.random(rig.all(), 2, 2));
    return outcome(rig, 3, 2, [&](const PolyView& out, runtime::Workspace& space) {
      const KeySwitch only{out, key.view(), 5};
      rig.backend->switch_keys(*rig.queue, std::span(&only, 1), in.view(), up, &down, {}, space);
    });
  };
  // N = 2^13 has all ways open, smaller rings no passes, larger ones no clusters.
  const std::vector<std::size_t> small = kernels_by_way(1024, run);
  EXPECT_EQ(small[0], 3U);
  EXPECT_EQ(small[2], small[1]);
  EXPECT_EQ(small[3], 3U);
  const std::vector<std::size_t> middle = kernels_by_way(8192, run);
  EXPECT_EQ(middle[0], 3U);
  EXPECT_GT(middle[2], 3U);
  EXPECT_GT(middle[1], middle[2]);
  EXPECT_EQ(middle[3], 3U);
  const std::vector<std::size_t> large = kernels_by_way(16384, run);
  EXPECT_EQ(large[0], large[2]);
  EXPECT_GT(large[1], large[2]);
  EXPECT_EQ(large[3], large[2]);
}

// Integers modulo t are lifted, and added, by one kernel in rings up to N = 2^14, while batches are small.
TEST(EmulationWays, LiftedIntegersHaveTwo) {
  struct Case {
    std::size_t degree, batch;
    std::size_t kernels[std::size(ways)];
  };
  for (const Case& given :
       {Case{1024, 1, {1, 2, 2, 1}}, Case{1024, 16, {1, 2, 2, 1}}, Case{1024, 17, {2, 2, 2, 1}},
        Case{16384, 1, {1, 2, 2, 1}}, Case{32768, 1, {2, 2, 2, 2}}}) {
    SCOPED_TRACE(std::to_string(given.degree) + " " + std::to_string(given.batch));
    for (const bool adds : {false, true}) {
      std::optional<Host> first;
      for (std::size_t i = 0; i < std::size(ways); ++i) {
        Rig rig(case_of(ways[i]), given.degree, {50, 50, 50}, {65537});
        const RnsBase base = rig.all(), plain = rig.plaintext(0);
        const BaseConversion lift(plain, base, BaseConversion::Kind::exact);
        const Poly in = rig.upload(rig.random(plain, given.batch, 1), Form::coefficient);
        const ConstPolyView input = in.view();
        Poly out = rig.upload(rig.random(base, given.batch, 1));
        runtime::Workspace space(rig.backend->memory());
        // The first call makes tables.
        for (const bool counts : {false, true}) {
          const std::size_t before = emulation::counts().kernels;
          rig.backend->lift_integers(*rig.queue, out.view(), std::span(&input, 1), 3, {}, lift, space,
                                     adds ? ConstPolyView(out.view()) : ConstPolyView());
          if (counts) {
            EXPECT_EQ(emulation::counts().kernels - before, given.kernels[i]) << ways[i].name;
          }
        }
        const Host result = rig.download(out);
        if (!first) first = result;
        EXPECT_EQ(result.words, first->words) << ways[i].name;
      }
    }
  }
}

// Digits of one prime and a single special one are converted where the columns of their inverse transform
// end.
TEST(EmulationWays, SinglePrimesTakeFewerKernels) {
  for (const int bits : {50, 55}) {
    SCOPED_TRACE(bits);
    const auto run = [](bool product) {
      return [product](Rig& rig) {
        const RnsBase base = rig.primes(0, 3);
        const ModUp up(base, rig.primes(3, 1),
                       {{0, rig.primes(0, 1)}, {1, rig.primes(1, 1)}, {2, rig.primes(2, 1)}}, rig.all());
        const Division down(rig.all(), base);
        const Poly a = rig.upload(rig.random(base, 1, 2)), b = rig.upload(rig.random(base, 1, 2));
        const Poly key = rig.upload(rig.random(rig.all(), 3, 2));
        return outcome(rig, 3, 2, [&](const PolyView& out, runtime::Workspace& space) {
          if (product) {
            rig.backend->multiply_relinearize(*rig.queue, out, a.view(), b.view(), key.view(), up, &down,
                                              space);
          } else {
            const KeySwitch only{out, key.view(), 5};
            rig.backend->switch_keys(*rig.queue, std::span(&only, 1), a.view().components(0, 1), up, &down,
                                     {}, space);
          }
        });
      };
    };
    for (const bool product : {false, true}) {
      const auto kernels = kernels_by_way(8192, run(product), bits);
      EXPECT_EQ(kernels[2], bits == 50 ? 5U : 6U);
      EXPECT_GT(kernels[1], kernels[2]);
    }
  }
}

// In passes, keys of many digits go one after the other; the digits are converted once.
TEST(EmulationWays, KeysOfManyDigitsGoOneByOne) {
  constexpr std::size_t limbs = 16;
  Rig rig(case_of(ways[2]), 8192, std::vector<int>(limbs + 1, 50));
  const RnsBase base = rig.primes(0, limbs);
  std::vector<GadgetDigit> digits;
  for (std::size_t i = 0; i < limbs; ++i) digits.push_back({i, rig.primes(i, 1)});
  const ModUp up(base, rig.primes(limbs, 1), digits, rig.all());
  const Division down(rig.all(), base);
  const Poly in = rig.upload(rig.random(base, 1, 1)), key = rig.upload(rig.random(rig.all(), limbs, 2));
  Poly second = rig.output(base, 1, 2);
  const Outcome both = outcome(rig, limbs, 2, [&](const PolyView& out, runtime::Workspace& space) {
    const KeySwitch switches[] = {{out, key.view(), 5}, {second.view(), key.view(), 5}};
    rig.backend->switch_keys(*rig.queue, switches, in.view(), up, &down, {}, space);
  });
  EXPECT_EQ(both.kernels, 4U + 2 * 3);
  EXPECT_EQ(rig.download(second).words, both.result.words);
}

// Switches that end in a base that is no part of the level's, and divisions to one.
TEST(EmulationWays, OtherBasesHaveTwo) {
  const auto switches = kernels_by_way(8192, [](Rig& rig) {
    const RnsBase base = rig.primes(0, 2), extended = rig.primes(0, 3), target = rig.choose({3, 0});
    const ModUp up(base, rig.primes(2, 1), {{0, base}}, extended);
    const Division down(extended, target);
    const Poly in = rig.upload(rig.random(base, 1, 1)), addend = rig.upload(rig.random(base, 1, 2));
    const Poly key = rig.upload(rig.random(extended, 1, 2));
    return outcome(rig, 2, 2, [&](const PolyView& out, runtime::Workspace& space) {
      const KeySwitch only{out, key.view()};
      rig.backend->switch_keys(*rig.queue, std::span(&only, 1), in.view(), up, &down, addend.view(), space);
    });
  });
  const auto divisions = kernels_by_way(8192, [](Rig& rig) {
    const Division plan(rig.primes(0, 3), rig.choose({3, 0}));
    const Poly in = rig.upload(rig.random(plan.source(), 1, 2));
    return outcome(rig, 2, 2, [&](const PolyView& out, runtime::Workspace& space) {
      rig.backend->divide_and_round(*rig.queue, out, in.view(), plan, Form::evaluation, space);
    });
  });
  for (const auto& kernels : {switches, divisions}) {
    EXPECT_EQ(kernels[0], kernels[2]);
    EXPECT_GT(kernels[1], kernels[2]);
    EXPECT_EQ(kernels[3], kernels[2]);
  }
}

TEST(EmulationWays, DivisionsHaveThree) {
  const auto kernels = kernels_by_way(8192, [](Rig& rig) {
    const Division plan(rig.all(), rig.primes(0, 3));
    const Poly in = rig.upload(rig.random(rig.all(), 1, 2));
    return outcome(rig, 3, 2, [&](const PolyView& out, runtime::Workspace& space) {
      rig.backend->divide_and_round(*rig.queue, out, in.view(), plan, Form::evaluation, space);
    });
  });
  EXPECT_EQ(kernels[0], 2U);
  EXPECT_GT(kernels[2], 2U);
  EXPECT_GT(kernels[1], kernels[2]);
  EXPECT_EQ(kernels[3], 2U);
}

// In every arithmetic.
TEST(EmulationWays, ProductsHaveThree) {
  for (const int bits : {50, 60, -60}) {
    SCOPED_TRACE(bits);
    const auto run = [](Rig& rig) {
      const ScaledProduct plan(rig.primes(0, 2), rig.primes(2, 2), 65537);
      const Poly a = rig.upload(rig.random(plan.base(), 1, 2)), b = rig.upload(rig.random(plan.base(), 1, 2));
      return outcome(rig, 2, 3, [&](const PolyView& out, runtime::Workspace& space) {
        rig.backend->scaled_product(*rig.queue, out, a.view(), b.view(), plan, space);
      });
    };
    const std::vector<std::size_t> kernels = kernels_by_way(8192, run, bits);
    EXPECT_EQ(kernels[2], 7U);
    EXPECT_GT(kernels[1], kernels[2]);
    EXPECT_EQ(kernels[0], 6U);
    EXPECT_EQ(kernels[3], 6U);
  }
}

// Columns of 512 rows: rows, columns with the quotient, conversion with columns, rows. Without clusters the
// quotient has a kernel of its own; where a block has 99 KB the operations run one by one.
TEST(EmulationWays, LargestRingsHaveTwo) {
  const std::string stored = "most_sources_of_computed_quotients=0";
  for (const int bits : {60, -60}) {
    SCOPED_TRACE(bits);
    std::optional<Host> first;
    std::vector<std::size_t> kernels;
    for (const std::string& forced :
         {stored, stored + ",card=a100", std::string("way=unfused"), std::string("card=rtx-4090")}) {
      SCOPED_TRACE(forced);
      Rig rig(case_of({"", forced.c_str()}), 131072, std::vector<int>(3, bits));
      const Division plan(rig.all(), rig.primes(0, 1));
      const Poly in = rig.upload(rig.random(rig.all(), 1, 1));
      const Outcome found = outcome(rig, 1, 1, [&](const PolyView& out, runtime::Workspace& space) {
        rig.backend->divide_and_round(*rig.queue, out, in.view(), plan, Form::evaluation, space);
      });
      if (!first) first = found.result;
      EXPECT_EQ(found.result.words, first->words);
      kernels.push_back(found.kernels);
    }
    EXPECT_EQ(kernels[0], 4U);
    EXPECT_EQ(kernels[1], 5U);
    EXPECT_GT(kernels[2], kernels[1]);
    EXPECT_EQ(kernels[3], kernels[2]);
  }
}

// One by one, by bytes and by halves: one digit of so many primes, and a division by as many. 14 sources are
// the most by halves. Scaled residues are random, or all as large or as small as their halves get.
TEST(EmulationWays, ConversionsHaveThree) {
  constexpr std::size_t degree = 8192;
  const std::string stored =
      "way=passes,most_sources_of_computed_quotients=0,most_sources_of_computed_quotients_in_small_rings=0,";
  for (const std::size_t sources : {4, 5, 8, 9, 12, 13, 14, 15}) {
    SCOPED_TRACE(sources);
    std::vector<int> bits(sources + 3, 50);
    bits[0] = bits[sources] = 36;
    std::optional<Host> digits, quotients;
    for (const std::string& forced : {std::string("way=unfused"), stored + "most_sources_of_halves=0",
                                      stored + "most_sources_of_halves=14"}) {
      SCOPED_TRACE(forced);
      Rig rig(case_of({"", forced.c_str()}), degree, bits);
      const RnsBase base = rig.primes(0, sources), special = rig.primes(sources, 3);
      const ModUp up(base, special, {{0, base}}, rig.all());
      const Division down(rig.all(), special);
      Host residues = rig.random(base, 1, 1);
      for (std::size_t limb = 0; limb < sources; ++limb) {
        const arith::Modulus& q = base.modulus(limb);
        const std::uint64_t half = std::uint64_t{1} << 25, most = q.value() - 1;
        const std::uint64_t weight =
            arith::inverse(up.conversions()[0].inverse_punctured()[limb].operand, q.value());
        std::size_t at = limb * degree;
        for (const std::uint64_t scaled : {most, std::uint64_t{0}, half - 1, most / half * half}) {
          residues.words[at++] = q.multiply(q.subtract(scaled, most / 2), weight);
        }
      }
      const Poly in = rig.upload(rig.transformed(residues, Form::coefficient, Form::evaluation));
      const Poly sum = rig.upload(rig.random(rig.all(), 1, 2));
      Poly extended = rig.output(rig.all(), 1, 1), quotient = rig.output(special, 1, 2);
      rig.with_scratch([&](runtime::Workspace& space) {
        rig.backend->mod_up(*rig.queue, extended.view(), in.view(), up, Form::evaluation, space);
      });
      rig.with_scratch([&](runtime::Workspace& space) {
        rig.backend->divide_and_round(*rig.queue, quotient.view(), sum.view(), down, Form::evaluation, space);
      });
      if (!digits) {
        digits = rig.download(extended);
        quotients = rig.download(quotient);
      }
      EXPECT_EQ(rig.download(extended).words, digits->words);
      EXPECT_EQ(rig.download(quotient).words, quotients->words);
    }
  }
}

TEST(EmulationWays, EncryptionHasTwo) {
  const auto kernels = kernels_by_way(8192, [](Rig& rig) {
    const Division plan(rig.all(), rig.primes(0, 3));
    const Poly key = rig.upload(rig.random(rig.all(), 1, 2));
    const ErrorDistribution errors(3.19);
    return outcome(rig, 3, 2, [&](const PolyView& out, runtime::Workspace& space) {
      rig.backend->encrypt_zero(*rig.queue, out, key.view(), {}, errors, 1, rig.all(), &plan, {}, space);
    });
  });
  EXPECT_EQ(kernels[0], kernels[2]);
  EXPECT_GT(kernels[1], kernels[2]);
  EXPECT_EQ(kernels[3], kernels[2]);
}

// Rows of combine; products of bytes by warps, with sums of as few columns as there may be, too; by
// warpgroups, and the same with little memory for split words.
TEST(EmulationWays, MatricesHaveFive) {
  constexpr std::size_t rows = 19, columns = 70;
  for (const int bytes : {1, 2}) {
    std::vector<std::byte> integers(rows * columns * static_cast<std::size_t>(bytes));
    std::mt19937_64 random(static_cast<unsigned>(bytes));
    for (std::byte& byte : integers) byte = static_cast<std::byte>(random());
    std::optional<Host> first;
    for (const auto& [forced, kernels] :
         {std::pair(Forced{"chosen", ""}, std::size_t{1 + 3}),
          {Forced{"short", "most_columns_per_sum=32"}, 1 + 3},
          {Forced{"rows", "least_rows_of_bytes=1000"}, rows * ((columns + 5) / 6)},
          {Forced{"groups", "least_rows_of_warpgroups=1"}, 1 + 3 * 2},
          // Two components; of tiles of 32 entries, those of 4 bytes two at a time.
          {Forced{"tiles", "least_rows_of_warpgroups=1,split_bytes_together=0"},
           1 + 2 * (4 * 32 + 2 * 16 + 2 * 32)}}) {
      SCOPED_TRACE(forced.name);
      Rig rig(case_of(forced), 1024, {49, 50, 30, 61});
      const Poly in = rig.upload(rig.random(rig.all(), columns, 2));
      runtime::Buffer device(rig.backend->memory(), integers.size());
      rig.backend->upload_values(*rig.queue, {device.data(), integers.size()}, integers);
      const IntegerMatrixView w{
          .data = device.data(), .host = integers.data(), .rows = rows, .columns = columns, .bytes = bytes};
      Poly out = rig.output(rig.all(), rows, 2);
      runtime::Workspace space(rig.backend->memory());
      const std::size_t before = emulation::counts().kernels;
      rig.backend->multiply_matrix(*rig.queue, out.view(), in.view(), w, rig.all(), space);
      EXPECT_EQ(emulation::counts().kernels - before, kernels);  // of 7, 4 and 8 bytes
      const Host result = rig.download(out);
      if (!first) first = result;
      EXPECT_EQ(result.words, first->words);
    }
  }
}

// With 19 rows: remainders of the matrix and of the words, their product, and a kernel that joins them for
// each limb of two components. All at once, or one tile of 256 entries of a limb at a time.
TEST(EmulationWays, MatricesOfTwoBytesHaveRemainders) {
  constexpr std::size_t rows = 19, columns = 70;
  std::vector<std::byte> integers(rows * columns * 2);
  std::mt19937_64 random(3);
  for (std::byte& byte : integers) byte = static_cast<std::byte>(random());
  std::optional<Host> first;
  for (const auto& [forced, kernels] :
       {std::pair(Forced{"bytes", "least_rows_of_warpgroups=1"}, std::size_t{1 + 2}),
        {Forced{"remainders", "least_rows_of_warpgroups=1,least_columns_of_remainders=70"}, 1 + 2 + 4},
        {Forced{"more columns", "least_rows_of_warpgroups=1,least_columns_of_remainders=71"}, 1 + 2},
        {Forced{"tiles", "least_rows_of_warpgroups=1,least_columns_of_remainders=1,split_bytes_together=0"},
         1 + 4 * 4 * 3}}) {
    SCOPED_TRACE(forced.name);
    Rig rig(case_of(forced), 1024, {49, 50});
    const Poly in = rig.upload(rig.random(rig.all(), columns, 2));
    runtime::Buffer device(rig.backend->memory(), integers.size());
    rig.backend->upload_values(*rig.queue, {device.data(), integers.size()}, integers);
    const IntegerMatrixView w{
        .data = device.data(), .host = integers.data(), .rows = rows, .columns = columns, .bytes = 2};
    Poly out = rig.output(rig.all(), rows, 2);
    runtime::Workspace space(rig.backend->memory());
    const std::size_t before = emulation::counts().kernels;
    rig.backend->multiply_matrix(*rig.queue, out.view(), in.view(), w, rig.all(), space);
    EXPECT_EQ(emulation::counts().kernels - before, kernels);
    const Host result = rig.download(out);
    if (!first) first = result;
    EXPECT_EQ(result.words, first->words);
  }
}

TEST(EmulationWays, EnvironmentForcesTheBackend) {
  const Rig rig(case_of(ways[0]), 1024, {50});
  const auto description = [&] { return make_cuda_backend(rig.ring)->description(); };
  const std::string chosen = description();
  EXPECT_EQ(chosen, rig.backend->description());
  for (const char* forced : {"way=unfused", "card=a100,arithmetic=u64"}) {
    setenv("HEMERA_CUDA_TUNING", forced, 1);
    EXPECT_NE(description().find(forced), std::string::npos);
  }
  setenv("HEMERA_CUDA_TUNING", "way=quickly", 1);
  EXPECT_THROW((void)description(), DeviceError);
  unsetenv("HEMERA_CUDA_TUNING");
  EXPECT_EQ(description(), chosen);
}

}  // namespace
}  // namespace hemera::poly::cuda
