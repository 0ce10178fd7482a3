// The tuning that the CUDA backend derives from a card, and choices that are forced: no GPU, no emulation.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "member_count.hpp"
#include "poly/cuda/schedule.hpp"
#include "poly/cuda_choices_support.hpp"
#include "refusals.hpp"

namespace hemera::poly::cuda::choices {
namespace {

TEST(CudaCard, HasItsClass) {
  const std::vector<std::pair<std::string, CardClass>> classes = {
      {"a100", CardClass::ampere},    {"rtx-3090", CardClass::small_ampere},
      {"rtx-4090", CardClass::ada},   {"l4", CardClass::ada},
      {"h100", CardClass::hopper},    {"h200", CardClass::hopper},
      {"b200", CardClass::blackwell}, {"rtx-5090", CardClass::small_blackwell}};
  ASSERT_EQ(classes.size(), named_cards().size());
  for (const auto& [name, kind] : classes) EXPECT_EQ(class_of(card(name)), kind) << name;
}

TEST(CudaTuning, IsTheMeasuredOneOnHopper) {
  EXPECT_EQ(tuning_of(card("h200")), Tuning{});
  EXPECT_EQ(tuning_of(card("h100")), Tuning{});
  // The one for PCI express, and a part of one.
  EXPECT_EQ(tuning_of({.multiprocessors = 114, .bandwidth = 2000}), Tuning{});
  EXPECT_EQ(tuning_of({.multiprocessors = 16, .cache_bytes = 1 << 20, .bandwidth = 600}), Tuning{});
}

// What is derived is the measured number where a card of another class has an H200's data.
// But for what compute capability 9.0 alone has.
TEST(CudaTuning, DerivesFromTheMeasuredOne) {
  Tuning expected;
  expected.least_rows_of_warpgroups = 0;
  expected.most_sources_of_halves = 0;
  EXPECT_EQ(tuning_of({.capability = 100}), expected);
}

TEST(CudaTuning, FollowsFromTheCard) {
  const Tuning a100 = tuning_of(card("a100")), ada = tuning_of(card("rtx-4090"));
  const Tuning b200 = tuning_of(card("b200")), small = tuning_of(card("rtx-5090"));
  EXPECT_TRUE(a100.fp64 && b200.fp64);
  EXPECT_FALSE(ada.fp64 || small.fp64 || tuning_of(card("rtx-3090")).fp64 || tuning_of(card("l4")).fp64);
  EXPECT_FALSE(a100.clusters || ada.clusters);
  EXPECT_TRUE(b200.clusters && small.clusters);
  // 108, 128, 148 and 170 multiprocessors for 132.
  EXPECT_EQ(a100.most_cluster_limbs, 39U);
  EXPECT_EQ(a100.polynomials_together, 7U);
  EXPECT_EQ(a100.least_blocks_of_four, 838U);
  EXPECT_EQ(ada.few_rows, 496U);
  EXPECT_EQ(ada.most_joined_jobs, 16U);
  EXPECT_EQ(tuning_of(card("l4")).most_jobs_beside_conversion, 7U);
  EXPECT_EQ(b200.cluster_blocks_of_device, 144U);
  EXPECT_EQ(b200.cluster_blocks_of_remainders, 72U);
  EXPECT_EQ(small.cluster_blocks_of_device, 168U);
  // A third of 164 and of 100 KB, less one.
  EXPECT_EQ(a100.hoisted_shared_bytes, 164U * 1024 / 3 - 1024);
  EXPECT_EQ(a100.row_groups_together, 13U);
  EXPECT_EQ(ada.row_groups_together, 8U);
  EXPECT_EQ(small.most_cluster_key_bytes, 14291U);
  EXPECT_EQ(a100.carve_out, 0U);
  EXPECT_EQ(b200.carve_out, 58U);
  // Multiprocessors times clock by bandwidth: 1.4 times as much as an H200's, and 5.9 times.
  EXPECT_EQ(a100.most_digits_transformed_again, 11U);
  EXPECT_EQ(ada.most_digits_transformed_again, 47U);
  EXPECT_EQ(tuning_of(card("rtx-3090")).lifted_bytes_together, 32212255U);
  // A driver that does not say.
  EXPECT_EQ(tuning_of({.capability = 89, .bandwidth = 0}).most_digits_transformed_again, 8U);
}

TEST(CudaForcing, TakesEveryName) {
  EXPECT_EQ(on("h200").tuning, Tuning{});
  EXPECT_EQ(on("a100").card, card("a100"));
  EXPECT_EQ(on("h200", "way=passes").tuning.way, Way::passes);
  EXPECT_EQ(on("h200", "way=unfused").tuning.way, Way::unfused);
  EXPECT_EQ(on("h200", "way=clusters").tuning.way, Way::clusters);
  EXPECT_EQ(on("h200", "arithmetic=u64").tuning.arithmetic, Arithmetic::u64);
  EXPECT_EQ(on("h200", "arithmetic=m64").tuning.arithmetic, Arithmetic::m64);
  EXPECT_EQ(on("h200", "arithmetic=f64").tuning.arithmetic, Arithmetic::f64);
  // The name of the card, and every member.
  const std::vector<std::string_view> names = forced_names();
  EXPECT_EQ(names.size(), 1 + tests::member_count<Card>() + tests::member_count<Tuning>());
  for (const std::string_view name : names) {
    SCOPED_TRACE(name);
    if (name == "card" || name == "way" || name == "arithmetic") continue;
    // One at least of two values that all may have or that flags may have changes something.
    const auto changes = [&](std::string_view value) {
      try {
        const Choices given = on("h200", std::string(name) + "=" + std::string(value));
        return !(given.card == card("h200") && given.tuning == Tuning{});
      } catch (const DeviceError&) {
        return false;
      }
    };
    EXPECT_TRUE(changes("0") || changes("1") || changes("3") || changes("80") || changes("100000"));
  }
}

TEST(CudaForcing, NumbersFollowFromForcedCards) {
  // In any order; what the list has of its own comes last.
  const Choices forced = on("h200", "most_joined_jobs=3,multiprocessors=128,card=rtx-4090,bandwidth=2016");
  Tuning expected = tuning_of(card("rtx-4090"));
  expected.most_joined_jobs = 3;
  expected.most_digits_transformed_again = 24;  // of twice the bandwidth
  EXPECT_EQ(forced.tuning, expected);
  EXPECT_EQ(forced.card.capability, 89U);
  EXPECT_EQ(on("h200", "single_to_double=64").tuning.fp64, false);
  EXPECT_EQ(on("h200", "single_to_double=64,fp64=1").tuning, Tuning{});
}

TEST(CudaForcing, KeepsToWhatTheDeviceHas) {
  EXPECT_FALSE(on("a100", "card=h200").tuning.clusters);
  EXPECT_FALSE(on("a100", "card=h200,clusters=1,launches_clusters=1").tuning.clusters);
  EXPECT_EQ(on("rtx-4090", "card=h200").card.shared_bytes_of_block, 99U * 1024);
  EXPECT_EQ(on("h200", "card=rtx-4090").card.shared_bytes_of_block, 99U * 1024);
}

TEST(CudaForcing, SaysWhatIsWrong) {
  const auto message = [](std::string_view forced) {
    return tests::refusal<DeviceError>([&] { return on("h200", forced); });
  };
  struct Wrong {
    const char* forced;
    std::vector<std::string> said;
  };
  const std::vector<Wrong> list = {
      {"ways=passes", {"ways", "most_joined_jobs", "arithmetic", "card", "multiprocessors"}},
      {"passes", {"passes", "NAME=VALUE"}},
      {"way=passes,,few_rows=1", {"NAME=VALUE"}},
      {"way=passes;few_rows=1", {"passes;few_rows=1", "unfused, passes, clusters"}},
      {"way=quickly", {"quickly", "unfused, passes, clusters"}},
      {"way=", {"way", "unfused, passes, clusters"}},
      {"arithmetic=fp64", {"fp64", "u64, m64, f64"}},
      {"card=h300", {"h300", "h200", "rtx-4090"}},
      {"most_joined_jobs=-1", {"most_joined_jobs", "-1", "from 0 to"}},
      {"most_joined_jobs=3x", {"3x"}},
      {"most_joined_jobs=99999999999999999999", {"from 0 to 1099511627776"}},
      {"polynomials_together=0", {"from 1 to"}},
      {"most_cluster_results=5", {"from 1 to 4"}},
      {"fp64=2", {"from 0 to 1"}},
      {"shared_bytes_of_block=49152", {"from 98304"}},
      {"few_rows=1,few_rows=1", {"few_rows", "twice"}},
  };
  for (const Wrong& wrong : list) {
    const std::string said = message(wrong.forced);
    EXPECT_TRUE(tests::says(said, "HEMERA_CUDA_TUNING")) << wrong.forced;
    for (const std::string& part : wrong.said) EXPECT_TRUE(tests::says(said, part));
  }
  EXPECT_EQ(message(""), "");
  EXPECT_EQ(message("few_rows=1,"), "");
}

}  // namespace
}  // namespace hemera::poly::cuda::choices
