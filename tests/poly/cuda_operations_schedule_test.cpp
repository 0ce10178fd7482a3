// How the CUDA backend runs divisions, products, matrices and conversions, by card and size: no GPU, no
// emulation. The expected choices on an H200 are those that its measurements set (tuning.hpp,
// docs/measurements/gpu-kernels.md), at the sizes where they change; those of other cards follow by hand from
// their data sheets.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string_view>

#include "poly/cuda/schedule.hpp"
#include "poly/cuda_choices_support.hpp"

namespace hemera::poly::cuda::choices {
namespace {

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
}  // namespace hemera::poly::cuda::choices
