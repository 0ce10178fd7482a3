// What the CUDA backend chooses, by card: no GPU, no emulation. The expected choices on an H200 are those
// that its measurements set (tuning.hpp, docs/measurements/gpu-kernels.md), at the sizes where they change;
// those of other cards follow by hand from their data sheets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "member_count.hpp"
#include "poly/cuda/schedule.hpp"

namespace hemera::poly::cuda {
namespace {

Card card(std::string_view name) {
  for (const NamedCard& each : named_cards()) {
    if (each.name == name) return each.card;
  }
  ADD_FAILURE() << "no card " << name;
  return {};
}
Choices on(std::string_view name, std::string_view forced = "") { return choices_for(card(name), forced); }

// A rotation of BFV 2^13, 3 x 54 + 1, as both ways take it.
SwitchShape small_rotation(std::size_t batch) {
  return {.sum = {.batch = batch,
                  .extended = 4,
                  .digits = 3,
                  .passes = true,
                  .clusters = true,
                  .cluster_bytes = 60000},
          .log_degree = 13,
          .special = 1,
          .division_passes = true,
          .division_clusters = true,
          .base_jobs = 3,
          .joined_jobs = 4,
          .joins_columns = true};
}

// A switch in passes, of primes below 2^50: N = 2^log_degree, 3 digits.
SwitchShape large_rotation(unsigned log_degree) {
  return {.sum = {.batch = 1, .extended = 16, .digits = 3, .passes = true},
          .log_degree = log_degree,
          .special = 4,
          .of_base = Arithmetic::f64,
          .of_special = Arithmetic::f64,
          .division_passes = true,
          .base_jobs = 9,
          .joined_jobs = 12};
}

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
    // Of two values that all may have or that flags may have, one at least changes something.
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
  const auto message = [](std::string_view forced) -> std::string {
    try {
      (void)on("h200", forced);
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "";
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
    EXPECT_NE(said.find("HEMERA_CUDA_TUNING"), std::string::npos) << wrong.forced;
    for (const std::string& part : wrong.said) EXPECT_NE(said.find(part), std::string::npos) << said;
  }
  EXPECT_EQ(message(""), "");
  EXPECT_EQ(message("few_rows=1,"), "");
}

TEST(CudaSchedule, SmallRingsRunInClustersWhileTheseFillTheDeviceOnce) {
  // 32, 48, 52 and 64 limbs.
  for (const auto& [batch, way] :
       {std::pair{8, Way::clusters}, {12, Way::clusters}, {13, Way::passes}, {16, Way::passes}}) {
    EXPECT_EQ(schedule_of(small_rotation(static_cast<std::size_t>(batch)), on("h200")).way, way) << batch;
  }
  // Where passes are not open, clusters take all.
  SwitchShape smaller = small_rotation(100);
  smaller.sum.passes = smaller.division_passes = false;
  EXPECT_EQ(way_of(smaller, on("h200")), Way::clusters);
  // Devices without clusters, packed keys, many digits, other bases.
  EXPECT_EQ(way_of(small_rotation(1), on("a100")), Way::passes);
  EXPECT_EQ(way_of(small_rotation(1), on("h200", "clusters=0")), Way::passes);
  SwitchShape other = small_rotation(1);
  other.sum.packed_key = true;
  EXPECT_EQ(way_of(other, on("h200")), Way::passes);
  other = small_rotation(1);
  other.sum.cluster_bytes = 227 * 1024;
  EXPECT_EQ(way_of(other, on("h200")), Way::clusters);
  ++other.sum.cluster_bytes;
  EXPECT_EQ(way_of(other, on("h200")), Way::passes);
  other.sum.cluster_bytes = 100 * 1024;
  EXPECT_EQ(way_of(other, on("b200")), Way::clusters);
  EXPECT_EQ(way_of(other, on("rtx-5090")), Way::passes);
  other = small_rotation(1);
  other.lowers = true;
  EXPECT_EQ(way_of(other, on("h200")), Way::passes);
  other.meets = false;
  EXPECT_EQ(way_of(other, on("h200")), Way::unfused);
}

TEST(CudaSchedule, ForcedWaysAreTakenWhereTheyAreOpen) {
  for (const std::size_t batch : {1, 100}) {
    EXPECT_EQ(way_of(small_rotation(batch), on("h200", "way=clusters")), Way::clusters);
    EXPECT_EQ(way_of(small_rotation(batch), on("h200", "way=passes")), Way::passes);
    EXPECT_EQ(way_of(small_rotation(batch), on("h200", "way=unfused")), Way::unfused);
    EXPECT_EQ(way_of(small_rotation(batch), on("a100", "way=clusters")), Way::passes);
  }
  EXPECT_EQ(way_of(large_rotation(16), on("h200", "way=clusters")), Way::passes);
  EXPECT_EQ(
      way_of(SumShape{.batch = 1, .extended = 4, .digits = 3, .clusters = true}, on("h200", "way=passes")),
      Way::unfused);
  EXPECT_EQ(way_of(SumShape{.batch = 1, .extended = 4, .digits = 3, .passes = true}, on("h200")),
            Way::passes);
}

TEST(CudaSchedule, KeysGoTogetherWhileTheyFillTheDevice) {
  struct Case {
    std::size_t keys, batch, digits, together;
    const char* card = "h200";
  };
  for (const Case& given : std::vector<Case>{{1, 1, 3, 1},
                                             {8, 1, 3, 4},
                                             {3, 1, 3, 3},
                                             {8, 2, 3, 4},
                                             {8, 3, 3, 2},
                                             {8, 4, 3, 2},
                                             {8, 5, 3, 1},
                                             {8, 100, 3, 1},
                                             {8, 1, 10, 4},
                                             {8, 1, 11, 3},
                                             {8, 1, 14, 2},
                                             {8, 1, 17, 1},
                                             {8, 1, 40, 1},
                                             {8, 1, 3, 4, "a100"},
                                             {8, 1, 7, 3, "a100"},
                                             {8, 2, 3, 3, "a100"},
                                             {8, 1, 3, 2, "rtx-4090"},
                                             {8, 1, 4, 2, "rtx-4090"},
                                             {8, 1, 5, 1, "rtx-4090"}}) {
    SwitchShape shape = large_rotation(15);
    shape.keys = given.keys;
    shape.sum.batch = given.batch;
    shape.sum.digits = given.digits;
    EXPECT_EQ(schedule_of(shape, on(given.card)).keys_together, given.together)
        << given.card << " " << given.keys << " " << given.batch << " " << given.digits;
  }
}

// In Shoup's products keys of many digits read these, extended once.
TEST(CudaSchedule, ManyDigitsAreRead) {
  SwitchShape shape = large_rotation(15);
  shape.of_base = shape.of_special = Arithmetic::u64;
  shape.keys = 2;
  const auto way = [&](std::size_t digits, std::string_view name, std::string_view forced = "") {
    shape.sum.digits = digits;
    return way_of(shape, on(name, forced));
  };
  EXPECT_EQ(way(8, "h200"), Way::passes);
  EXPECT_EQ(way(9, "h200"), Way::unfused);
  EXPECT_EQ(way(9, "a100"), Way::passes);
  EXPECT_EQ(way(15, "a100"), Way::unfused);
  EXPECT_EQ(way(15, "h200", "most_digits_transformed_again=15"), Way::passes);
  shape.keys = 1;
  EXPECT_EQ(way(15, "h200"), Way::passes);
  shape.keys = 2;
  shape.of_base = Arithmetic::m64;
  EXPECT_EQ(way(15, "h200"), Way::passes);
}

// Rows of 48 digits and two deltas take 200 KB of shared memory, of 21 and two 92.
TEST(CudaSchedule, DigitsFitTheSharedMemory) {
  SwitchShape shape = large_rotation(15);
  for (const auto& [name, digits] :
       {std::pair{"h200", 48}, {"a100", 37}, {"rtx-4090", 21}, {"rtx-5090", 21}}) {
    shape.sum.digits = static_cast<std::size_t>(digits);
    EXPECT_EQ(way_of(shape, on(name)), Way::passes) << name;
    if (digits == 48) continue;  // as many as kernels take
    ++shape.sum.digits;
    EXPECT_EQ(way_of(shape, on(name)), Way::unfused) << name;
    ++shape.sum.digits;
    EXPECT_EQ(way_of(shape.sum, on(name)), Way::passes) << name;  // without deltas
    ++shape.sum.digits;
    EXPECT_EQ(way_of(shape.sum, on(name)), Way::unfused) << name;
  }
}

// So do those and the deltas of all keys that go together.
TEST(CudaSchedule, KeysTogetherFitTheSharedMemory) {
  SwitchShape shape = large_rotation(15);
  shape.keys = 8;
  for (const auto& [digits, together] : {std::pair{21, 1}, {20, 1}, {19, 2}, {17, 3}, {15, 4}}) {
    shape.sum.digits = static_cast<std::size_t>(digits);
    EXPECT_EQ(schedule_of(shape, on("rtx-4090", "row_groups_together=1000")).keys_together,
              static_cast<std::size_t>(together))
        << digits;
  }
}

TEST(CudaSchedule, FewJobsAreJoined) {
  const auto joins = [](unsigned log_degree, std::size_t batch, std::size_t jobs, bool columns,
                        std::string_view name = "h200", std::string_view forced = "") {
    SwitchShape shape = large_rotation(log_degree);
    shape.sum.batch = batch;
    shape.joined_jobs = jobs;
    shape.joins_columns = columns;
    return schedule_of(shape, on(name, forced)).joins;
  };
  EXPECT_TRUE(joins(16, 1, 16, false));
  EXPECT_FALSE(joins(16, 1, 17, false));
  EXPECT_FALSE(joins(16, 2, 9, false));
  EXPECT_FALSE(joins(15, 1, 16, false));
  EXPECT_TRUE(joins(14, 1, 16, true));
  EXPECT_FALSE(joins(14, 1, 17, true));
  EXPECT_FALSE(joins(16, 1, 0, false));
  EXPECT_FALSE(joins(16, 1, 8, false, "l4"));
  EXPECT_TRUE(joins(16, 1, 7, false, "l4"));
  EXPECT_TRUE(joins(13, 1, 16, false, "h200", "least_log_degree_of_joined_digits=13"));
  EXPECT_FALSE(joins(16, 1, 4, false, "h200", "most_joined_jobs=3"));
}

TEST(CudaSchedule, SmallConversionsRunBesideEachOther) {
  const auto beside = [](std::size_t batch, std::size_t jobs, std::size_t joined) {
    SwitchShape shape = large_rotation(15);
    shape.sum.batch = batch;
    shape.base_jobs = jobs;
    shape.joined_jobs = joined;
    shape.joins_columns = true;
    return schedule_of(shape, on("h200")).converts_beside;
  };
  EXPECT_TRUE(beside(1, 16, 20));
  EXPECT_FALSE(beside(1, 17, 20));
  EXPECT_FALSE(beside(2, 9, 20));
  EXPECT_FALSE(beside(1, 9, 12));  // there is one conversion
}

TEST(CudaSchedule, FewSpecialLimbsAreInverted) {
  struct Case {
    unsigned log_degree;
    std::size_t batch, special;
    bool inverts;
    Arithmetic arithmetic = Arithmetic::f64;
    std::size_t of_dropped = 0;
  };
  for (const Case& given : std::vector<Case>{{14, 1, 1, true},
                                             {14, 8, 1, true},
                                             {14, 9, 1, false},
                                             {15, 1, 2, false},
                                             {15, 1, 8, false},
                                             {16, 1, 8, true},
                                             {16, 1, 9, false},
                                             {16, 2, 4, true},
                                             {16, 2, 5, false},
                                             {16, 1, 4, false, Arithmetic::u64},
                                             {16, 1, 1, false, Arithmetic::m64},
                                             {16, 1, 4, false, Arithmetic::f64, 1}}) {
    SwitchShape shape = large_rotation(given.log_degree);
    shape.sum.batch = given.batch;
    shape.special = given.special;
    shape.of_special = given.arithmetic;
    shape.of_dropped = given.of_dropped;
    EXPECT_EQ(schedule_of(shape, on("h200")).inverts, given.inverts)
        << given.log_degree << " " << given.special;
  }
}

// Other ways have no steps to choose.
TEST(CudaSchedule, StepsAreThoseOfPasses) {
  EXPECT_EQ(schedule_of(small_rotation(1), on("h200")), SwitchSchedule{.way = Way::clusters});
  EXPECT_EQ(schedule_of(small_rotation(1), on("h200", "way=unfused")), SwitchSchedule{});
  EXPECT_EQ(schedule_of(small_rotation(16), on("h200")),
            (SwitchSchedule{.way = Way::passes, .converts_beside = false, .keys_together = 1}));
}

TEST(CudaSchedule, RemaindersOfSingleLimbsJoinTheirColumns) {
  const auto schedule = [](unsigned log_degree, bool single, bool quotient, std::size_t dropped,
                           std::string_view name = "h200") {
    return schedule_of(RemainderShape{log_degree, dropped, single, quotient}, on(name));
  };
  EXPECT_EQ(schedule(15, true, false, 1), (RemainderSchedule{.joins_columns = true}));
  EXPECT_EQ(schedule(16, true, false, 1), RemainderSchedule{});
  EXPECT_EQ(schedule(15, false, false, 2), RemainderSchedule{});
  EXPECT_EQ(schedule(16, false, true, 8), (RemainderSchedule{.quotient_in_cluster = true}));
  EXPECT_EQ(schedule(16, false, true, 9), RemainderSchedule{});
  EXPECT_EQ(schedule(16, false, true, 8, "a100"), RemainderSchedule{});
  EXPECT_EQ(schedule(16, false, true, 8, "rtx-5090"), (RemainderSchedule{.quotient_in_cluster = true}));
}

// N = 2^17: inverse columns, conversions and columns are two kernels, which need 163 KB of shared memory.
TEST(CudaSchedule, LargestRingsConvertInAKernelOfItsOwn) {
  for (const auto& [name, room] :
       {std::pair{"h200", true}, {"a100", true}, {"b200", true}, {"rtx-3090", false}, {"rtx-5090", false}}) {
    EXPECT_TRUE(conversions_have_room(16, launch_sizes(16, on(name)))) << name;
    EXPECT_EQ(conversions_have_room(17, launch_sizes(17, on(name))), room) << name;
  }
  const Choices forced = on("h200", "largest_log_degree_of_joined_columns=99,most_joined_jobs=99");
  for (const unsigned log_degree : {16, 17}) {
    EXPECT_EQ(schedule_of(RemainderShape{log_degree, 1, true, false}, forced).joins_columns,
              log_degree == 16);
    SwitchShape shape = large_rotation(log_degree);
    EXPECT_TRUE(schedule_of(shape, forced).joins);
    shape.joins_columns = true;
    EXPECT_EQ(schedule_of(shape, forced).joins, log_degree == 16);
  }
}

TEST(CudaSchedule, DivisionsHaveTheirWay) {
  const auto way = [](std::size_t limbs, bool passes, bool clusters, std::string_view name = "h200",
                      std::string_view forced = "") {
    return way_of(DivisionShape{limbs, passes, clusters}, on(name, forced));
  };
  EXPECT_EQ(way(48, true, true), Way::clusters);
  EXPECT_EQ(way(49, true, true), Way::passes);
  EXPECT_EQ(way(49, false, true), Way::clusters);
  EXPECT_EQ(way(1, true, true, "a100"), Way::passes);
  EXPECT_EQ(way(1, false, false), Way::unfused);
  EXPECT_EQ(way(1, true, true, "h200", "way=unfused"), Way::unfused);
  // 148 and 132 multiprocessors.
  EXPECT_EQ(way(54, true, true, "b200"), Way::clusters);
  EXPECT_EQ(way(55, true, true, "b200"), Way::passes);
}

TEST(CudaSchedule, ProductsAndLifts) {
  const auto schedule = [](std::size_t batch, std::size_t limbs, std::string_view name = "h200",
                           std::string_view forced = "") {
    return schedule_of(ProductShape{batch, limbs, true, true}, on(name, forced));
  };
  // Four polynomials of 3 limbs.
  EXPECT_EQ(schedule(4, 3), (ProductSchedule{Way::passes, true}));
  EXPECT_EQ(schedule(5, 3), (ProductSchedule{Way::passes, false}));
  EXPECT_EQ(schedule(5, 3, "h200", "way=clusters"), (ProductSchedule{Way::passes, true}));
  EXPECT_EQ(schedule(1, 3, "a100"), (ProductSchedule{Way::passes, false}));
  EXPECT_EQ(schedule(1, 3, "h200", "way=unfused"), ProductSchedule{});
  EXPECT_EQ(schedule_of(ProductShape{1, 3, false, true}, on("h200")), ProductSchedule{});

  // Integers: a plaintext of up to 48 limbs in all.
  EXPECT_TRUE(lifts_in_clusters(true, 1, 48, on("h200")));
  EXPECT_FALSE(lifts_in_clusters(true, 1, 49, on("h200")));
  EXPECT_FALSE(lifts_in_clusters(true, 2, 3, on("h200")));
  EXPECT_FALSE(lifts_in_clusters(false, 1, 3, on("h200")));
  EXPECT_FALSE(lifts_in_clusters(true, 1, 3, on("a100")));

  // 256 MiB, 16 pairs, 2^14 batches.
  constexpr std::size_t mib = 1 << 20;
  EXPECT_EQ(pairs_together(8, 1, 16 * mib, on("h200")), 8U);
  EXPECT_EQ(pairs_together(20, 1, 16 * mib, on("h200")), 16U);
  EXPECT_EQ(pairs_together(20, 1, 17 * mib, on("h200")), 15U);
  EXPECT_EQ(pairs_together(20, 1, 300 * mib, on("h200")), 1U);
  EXPECT_EQ(pairs_together(20, 1 << 13, mib, on("h200")), 2U);
  EXPECT_EQ(pairs_together(20, 1 << 15, mib, on("h200")), 1U);
  EXPECT_EQ(pairs_together(20, 1, 16 * mib, on("rtx-3090")), 1U);
}

TEST(CudaSchedule, MatricesGoByTheirRows) {
  const auto schedule = [](std::size_t rows, std::size_t bytes, std::string_view forced = "",
                           std::string_view card = "h200") {
    return schedule_of(MatrixShape{.rows = rows, .columns = 768, .bytes = bytes}, on(card, forced));
  };
  EXPECT_EQ(schedule(1, 1).way, MatrixWay::combine);
  EXPECT_EQ(schedule(2, 1).way, MatrixWay::warps);
  EXPECT_EQ(schedule(47, 2).way, MatrixWay::warps);
  EXPECT_EQ(schedule(48, 2).way, MatrixWay::warpgroups);
  EXPECT_EQ(schedule(4096, 1).way, MatrixWay::warpgroups);
  EXPECT_EQ(schedule(4096, 1, "least_rows_of_warpgroups=0").way, MatrixWay::warps);
  // Compute capability 9.0 alone has warpgroups' products of bytes.
  for (const char* card : {"a100", "rtx-4090", "rtx-5090"}) {
    EXPECT_EQ(schedule(4096, 1, "", card).way, MatrixWay::warps) << card;
  }
  EXPECT_EQ(schedule(1, 2, "least_rows_of_bytes=0").way, MatrixWay::warps);
  EXPECT_EQ(schedule(4096, 1, "least_rows_of_bytes=5000").way, MatrixWay::combine);
  // Sums of 32 bits: an unsigned byte times a signed one, and products of two kinds in one sum.
  const std::size_t most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(schedule(4096, 1).columns_per_sum, 65536U);
  EXPECT_LE(schedule(4096, 1).columns_per_sum * 255 * 128, most);
  EXPECT_EQ(schedule(4096, 2).columns_per_sum, 16384U);
  EXPECT_LE(schedule(4096, 2).columns_per_sum * 255 * (255 + 127), most);
  EXPECT_EQ(schedule(40, 2, "most_columns_per_sum=100").columns_per_sum, 96U);
  EXPECT_EQ(schedule(40, 1, "most_columns_per_sum=0").columns_per_sum, 32U);
  EXPECT_EQ(schedule(4096, 2, "most_columns_per_sum=300").columns_per_sum, 256U);
  EXPECT_EQ(schedule(4096, 1, "most_columns_per_sum=0").columns_per_sum, 128U);
}

// Numbers of a byte that tell sums of 2^15 q for each column, counted by hand, and two for joining them, in
// place of products of bytes.
TEST(CudaSchedule, MatricesOfTwoBytesGoByRemainders) {
  const auto schedule = [](const MatrixShape& shape, std::string_view forced = "") {
    return schedule_of(shape, on("h200", forced));
  };
  const MatrixShape shape{.rows = 768,
                          .columns = 4096,
                          .bytes = 2,
                          .largest = (std::uint64_t{1} << 49) - 1,
                          .limbs = 2,
                          .residue_bytes = 14};
  const auto with = [&](auto member, auto value) {
    MatrixShape other = shape;
    other.*member = value;
    return other;
  };
  EXPECT_EQ(schedule(shape),
            (MatrixSchedule{.way = MatrixWay::remainders, .columns_per_sum = 4096, .divisors = 10}));
  EXPECT_EQ(schedule(with(&MatrixShape::largest, (std::uint64_t{1} << 50) - 1)).divisors, 10U);
  EXPECT_EQ(schedule(with(&MatrixShape::columns, 65536U)).divisors, 11U);
  MatrixShape longer = with(&MatrixShape::largest, (std::uint64_t{1} << 60) - 1);
  longer.residue_bytes = 16;
  EXPECT_EQ(schedule(longer).divisors, 12U);
  // More products than bytes take, or more columns than sums of 32 bits hold.
  EXPECT_EQ(schedule(with(&MatrixShape::residue_bytes, 12U)).way, MatrixWay::warpgroups);
  EXPECT_EQ(schedule(with(&MatrixShape::columns, 65537U)).way, MatrixWay::warpgroups);
  EXPECT_EQ(schedule(with(&MatrixShape::bytes, 1U)).way, MatrixWay::warpgroups);
  EXPECT_EQ(schedule(with(&MatrixShape::rows, 47U)).way, MatrixWay::warps);
  EXPECT_EQ(schedule(with(&MatrixShape::warpgroups, false)).way, MatrixWay::warps);
  EXPECT_EQ(schedule(shape, "least_columns_of_remainders=4096").way, MatrixWay::remainders);
  EXPECT_EQ(schedule(shape, "least_columns_of_remainders=4097").way, MatrixWay::warpgroups);
}

TEST(CudaSchedule, LaunchesGoByTheRing) {
  const auto sizes = [](unsigned log_degree, std::string_view name = "h200", std::string_view forced = "") {
    return launch_sizes(log_degree, on(name, forced));
  };
  for (const unsigned log_degree : {13, 14, 15, 16}) {
    EXPECT_EQ(sizes(log_degree).carve_out, log_degree <= 14 ? 58 : -1);
    EXPECT_EQ(sizes(log_degree).conversion_carve_out, log_degree == 15 ? 58 : -1);
    EXPECT_EQ(sizes(log_degree).computed_quotient_sources, log_degree <= 14 ? 8U : 4U);
    EXPECT_EQ(sizes(log_degree, "a100").carve_out, -1);
  }
  EXPECT_EQ(sizes(16).few_rows, 512U);
  EXPECT_EQ(sizes(16).least_blocks_of_four, 1024U);
  EXPECT_EQ(sizes(16).hoisted_shared_bytes, 75U * 1024);
  EXPECT_EQ(sizes(16, "h200", "hoisted_shared_bytes=999999").hoisted_shared_bytes, 227U * 1024);
}

TEST(CudaSchedule, ConversionsOfDoublesMultiplyHalves) {
  const auto products = [](const ConversionShape& shape, std::string_view name = "h100",
                           std::string_view forced = "") {
    return products_of(shape, launch_sizes(16, on(name, forced)));
  };
  const auto from = [](std::size_t sources) {
    return ConversionShape{.arithmetic = Arithmetic::f64, .sources = sources, .source_bits = 50};
  };
  for (const std::size_t sources : {1, 4, 5, 12, 14, 15, 16}) {
    EXPECT_EQ(products(from(sources)) == Products::halves, sources > 4 && sources <= 14) << sources;
    EXPECT_EQ(products(from(sources), "h100", "most_sources_of_halves=99"), products(from(sources)));
    EXPECT_EQ(products(from(sources), "h100", "most_sources_of_halves=0"), Products::bytes);
  }
  // Halves of 25 bits, and a quotient that is stored.
  EXPECT_EQ(products({.arithmetic = Arithmetic::f64, .sources = 8, .source_bits = 51}), Products::bytes);
  EXPECT_EQ(products({.arithmetic = Arithmetic::f64, .sources = 8}), Products::bytes);
  EXPECT_EQ(
      products({.arithmetic = Arithmetic::f64, .sources = 8, .source_bits = 50, .computes_quotient = true}),
      Products::bytes);
  for (const Arithmetic integers : {Arithmetic::u64, Arithmetic::m64}) {
    EXPECT_EQ(products({.arithmetic = integers, .sources = 8, .source_bits = 50}), Products::bytes);
  }
  // Sums of two products of at most 2^48 a source, with a residue and its quotient: 53 bits.
  const std::uint64_t sum =
      (2 * max_half_sources << 48) + (std::uint64_t{1} << 49) + (max_half_sources << 25);
  EXPECT_LE(sum, std::uint64_t{1} << 53);
  EXPECT_EQ(products(from(8), "h200"), Products::halves);
  for (const std::string_view other : {"a100", "b200", "rtx-3090", "rtx-4090", "l4", "rtx-5090"}) {
    EXPECT_EQ(products(from(8), other), Products::bytes) << other;
    EXPECT_EQ(products(from(8), other, "most_sources_of_halves=14"), Products::halves) << other;
  }
}

TEST(CudaSchedule, ClustersShareTheDevice) {
  const LaunchSizes h200 = launch_sizes(13, on("h200")), b200 = launch_sizes(13, on("b200"));
  // A rotation of 3 x 54 + 1: two results of three limbs, 8 blocks each, are 48 blocks; eight of them 384.
  EXPECT_EQ(results_of_cluster(2, 3, 8, h200), 1U);
  EXPECT_EQ(results_of_cluster(2, 8, 8, h200), 1U);
  EXPECT_EQ(results_of_cluster(2, 9, 8, h200), 2U);
  EXPECT_EQ(results_of_cluster(2, 9, 8, b200), 1U);
  EXPECT_EQ(results_of_cluster(8, 4, 8, h200), 2U);
  EXPECT_EQ(results_of_cluster(8, 24, 8, h200), 4U);
  EXPECT_EQ(results_of_cluster(8, 24, 8, launch_sizes(13, on("h200", "most_cluster_results=2"))), 2U);
  // Its special limb's two sums, 16 blocks, in three groups of a digit.
  EXPECT_EQ(parts_of_remainders(3, 2, 8, h200), 3U);
  EXPECT_EQ(parts_of_remainders(3, 4, 8, h200), 2U);
  EXPECT_EQ(parts_of_remainders(3, 5, 8, h200), 1U);
  EXPECT_EQ(parts_of_remainders(1, 2, 8, h200), 1U);
  EXPECT_EQ(parts_of_remainders(9, 2, 8, h200), 3U);  // four would be of 3, 3, 3 and none
  EXPECT_EQ(parts_of_remainders(8, 1, 1, h200), 4U);
  EXPECT_EQ(parts_of_remainders(3, 2, 8, launch_sizes(13, on("h200", "cluster_blocks_of_remainders=16"))),
            1U);
}

TEST(CudaSchedule, HoistedStepsFitTheSharedMemory) {
  for (const NamedCard& each : named_cards()) {
    const LaunchSizes sizes = launch_sizes(16, choices_for(each.card, ""));
    for (const std::size_t outputs : {1, 2, 4, 8}) {
      const std::size_t steps = hoisted_steps(outputs, sizes);
      // Two stages of rows of 2 KB; an address a row, and a word a step.
      const std::size_t rows = 14 + outputs, bytes = 2 * rows * 2048 + steps * (rows + 1) * 8;
      EXPECT_LE(bytes + 1024, each.card.shared_bytes_of_block) << each.name;
      EXPECT_GE(steps, 16U) << each.name;
      if (each.card.shared_bytes_of_block > 160 * 1024) {
        EXPECT_EQ(steps, 128U) << each.name;
      }
    }
  }
}

TEST(CudaSchedule, ArithmeticIsTheCards) {
  const auto chosen = [](bool m64, bool f64, std::string_view name, std::string_view forced = "") {
    return arithmetic_of(m64, f64, on(name, forced).tuning);
  };
  for (const std::string_view fast : {"h200", "h100", "a100", "b200"}) {
    EXPECT_EQ(chosen(false, true, fast), Arithmetic::f64);
    EXPECT_EQ(chosen(true, true, fast), Arithmetic::f64);
    EXPECT_EQ(chosen(true, false, fast), Arithmetic::m64);
    EXPECT_EQ(chosen(false, false, fast), Arithmetic::u64);
  }
  for (const std::string_view slow : {"rtx-3090", "rtx-4090", "l4", "rtx-5090"}) {
    EXPECT_EQ(chosen(false, true, slow), Arithmetic::u64);
    EXPECT_EQ(chosen(true, true, slow), Arithmetic::m64);
    EXPECT_EQ(chosen(true, false, slow), Arithmetic::m64);
    EXPECT_EQ(chosen(false, false, slow), Arithmetic::u64);
    EXPECT_EQ(chosen(false, true, slow, "fp64=1"), Arithmetic::f64);
    EXPECT_EQ(chosen(false, true, slow, "arithmetic=f64"), Arithmetic::f64);
  }
  EXPECT_EQ(chosen(true, true, "h200", "fp64=0"), Arithmetic::m64);
  EXPECT_EQ(chosen(true, true, "h200", "arithmetic=u64"), Arithmetic::u64);
  EXPECT_EQ(chosen(true, true, "h200", "arithmetic=m64"), Arithmetic::m64);
  EXPECT_EQ(chosen(false, true, "h200", "arithmetic=m64"), Arithmetic::f64);
  EXPECT_EQ(chosen(true, false, "h200", "arithmetic=f64"), Arithmetic::m64);
}

}  // namespace
}  // namespace hemera::poly::cuda
