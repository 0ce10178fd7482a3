// How the CUDA backend runs key switches, by card and size: no GPU, no emulation. The
// expected choices on an H200 are those that its measurements set (tuning.hpp,
// docs/measurements/gpu-kernels.md), at the sizes where they change; those of other cards follow by hand from
// their data sheets.
#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "poly/cuda/schedule.hpp"
#include "poly/cuda_choices_support.hpp"

namespace hemera::poly::cuda::choices {
namespace {

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

}  // namespace
}  // namespace hemera::poly::cuda::choices
