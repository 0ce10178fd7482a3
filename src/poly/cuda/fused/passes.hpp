// Key-switching and division in few passes over memory: conversions run in the column pass of the next
// transform, and row passes end in what is done with the values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "poly/cuda/kernels.hpp"
#include "poly/cuda/plan_tables.hpp"

namespace hemera::poly::cuda {

/// Rings whose columns take two rounds that fit the registers.
inline bool can_fuse(int log_rows) { return log_rows >= 5 && log_rows <= 9; }

/// with_log_rows for such a ring.
template <typename Run>
void with_fused_rows(int log_rows, const Run& run) {
  with_log_rows<5, 9>(log_rows, run);
}

/// Most sources of a conversion by tensor cores: four a step.
inline constexpr unsigned max_fused_sources = 16;

/// Most digits whose rows a block of threads has in its shared memory.
inline constexpr unsigned max_fused_digits = 48;

/// Where the quotient of an exact conversion comes from.
enum class Quotient : std::uint8_t {
  none,
  stored,    // a row of the scratch
  computed,  // from the sources, again for every four targets: for few sources in small rings
  chained,   // the same, and some jobs convert twice
};

/// The conversion of one block of threads: a tile of this many columns, to this many targets.
inline constexpr unsigned job_columns = 8;
inline constexpr unsigned job_targets = 4;

/// The targets of one block of threads.
struct ColumnJob {
  struct Target {
    std::uint32_t ring_index;
    std::uint32_t component;      // of the output, added to the input's
    std::uint32_t limb;           // of the output
    std::uint32_t stored;         // 0: filled up
    std::uint64_t minus_shift;    // with what the halves lack, see half_products.cuh
    std::uint64_t minus_product;  // added once for each unit of the quotient
    std::uint64_t factor;         // of a single source, see reduce_word
  };
  std::uint32_t quotient_limb;  // of the scratch, where it is stored
  /// Limbs of the scaled residues; the last one fills up. Without steps those of the targets.
  std::uint32_t source[max_fused_sources];
  std::uint32_t quotient_shift[max_fused_sources];
  std::uint64_t quotient_factor[max_fused_sources];  // 0: not part of the quotient
  Target target[job_targets];
  /// Chained: the sources, at most four, are first converted to other scaled residues, at most four, which
  /// then are the sources.
  struct Link {
    std::uint32_t ring_index;
    std::uint32_t quotient_shift;
    std::uint64_t quotient_factor;
    std::uint64_t product;  // what a quotient of the sources counts
  };
  std::uint32_t chained;
  Link link[4];
};

/// Conversions from scaled residues to limbs, with the columns of their transform, for the arithmetic of the
/// targets.
struct ColumnTables {
  DeviceArray<ColumnJob> jobs;
  /// Bytes of the weights as the tensor cores take them: [job, step, column tile, 2, lane].
  DeviceArray<std::uint32_t> fragments;
  /// Instead, parts of the weights of halves: [job, step, half, lane].
  DeviceArray<double> halves;
  DeviceArray<std::uint32_t> links;  // the same of the first conversions: [job, column tile, 2, lane]
  unsigned job_count = 0;
  Quotient quotient = Quotient::none;
  Products products = Products::bytes;
  unsigned steps = 0;  // of four sources; 0: each target has one source of its own, of weight 1
  /// No steps, and no source's modulus is above three times its target's: U64 then takes residues as they
  /// are.
  bool close = false;
};

/// A limb that is taken to scaled residues: its modulus, and its position in the input.
struct ScaledLimb {
  std::uint16_t ring_index;
  std::uint16_t position;
};

/// Limbs that are taken to scaled residues by an inverse transform.
struct ScaledTables {
  DeviceArray<std::uint64_t> roots;   // [limb]: two factors of the arithmetic, see inverse_columns
  DeviceArray<std::uint64_t> shifts;  // [limb]: (a - 1) / 2 where scaled residues are centred, else 0
};

/// BGV's correction of a division by D: the centred -delta / D modulo t.
struct Correction {
  arith::Modulus plain;                // t
  std::uint64_t minus_product = 0;     // added once for each unit of the quotient
  std::uint64_t minus_shift = 0;       // of delta
  std::uint64_t negative_inverse = 0;  // -D^-1
};

/// Rows of scratch that follow the scaled residues: the quotient of an exact conversion, and BGV's
/// correction.
struct ExtraTables {
  DeviceArray<ConversionSource> sources;
  DeviceArray<std::uint64_t> weights;  // modulo t, [source]
  unsigned source_count = 0;
  bool quotient = false;
  bool has_correction = false;
  Correction correction;
};

struct FusedModUp {
  bool usable = false;
  ScaledTables scaled;
  ScaledTables scaled_product;  // of scaled_inverse_transform's result of two factors
  // Made for the arithmetics of the level's base and of the special limbs; in M64 a product with a key takes
  // 2^64 times the digits.
  ColumnTables base;
  ColumnTables special;
  std::vector<std::uint16_t> key_digits;  // [digit]
  DeviceArray<std::uint32_t> key_limbs;
  DeviceArray<std::uint32_t> own_digits;
};

struct FusedDivision {
  bool usable = false;
  ScaledTables scaled;
  ExtraTables extra;
  ColumnTables columns;
  /// The same without E, of a single dropped limb whose E is not 1: the conversion then only reduces, and
  /// rows multiply what is divided. No jobs: `columns` serve.
  ColumnTables without_multiple;
  unsigned scratch_limbs = 0;
};

/// BFV's second operand, coefficient by coefficient: from scaled residues of P b over Q to those of
/// round(P b / Q) over P, which is a conversion by the tensor cores.
struct RescaleTables {
  /// The weight of a residue in the next quotient.
  struct Fraction {
    std::uint64_t factor;
    std::uint32_t shift;
    std::uint32_t unused;
  };
  ColumnTables columns;             // limbs are those of the scratch
  DeviceArray<Fraction> fractions;  // [job, target]; zero where a job has fewer than four
  std::uint32_t sources = 0;        // limbs of Q
  std::uint32_t quotient_limb = 0;  // of the scratch: a's quotient, then that of b'
};

/// A product of BFV. Its scratch has the scaled residues of a over Q, of P b over Q; unless the lift's
/// conversions are chained, those of b' over P, and the quotients of a and b'.
struct FusedProduct {
  bool usable = false;
  Arithmetic arithmetic = Arithmetic::u64;
  std::vector<ScaledLimb> inputs;  // limbs over Q of a, then of b, in their own views
  std::vector<ScaledLimb> both;    // the same, in one array of both, or of one for a square
  ScaledTables operands;
  RescaleTables rescale;
  ColumnTables lift;             // to a over P, b' over Q and over P
  ColumnTables remainder;        // of the division, to Q
  std::vector<ScaledLimb> sums;  // limbs of P
  ScaledTables scaled_sums;
  std::size_t scratch_limbs = 0;
  /// The factors of sums of products: factors w and 2^62 w of the arithmetic.
  DeviceArray<std::uint64_t> sum_factors;  // [limb of P, 2]: w = 1
  DeviceArray<std::uint64_t> end_factors;  // [limb of Q, 2]: w = P^-1
};

/// The two passes of scaled_inverse_transform. Limb i of `out` is limb limbs[i].position of `in`, from limb
/// `first` on of `second`; times those of `factor`, if it has data. With `quotient` the columns make the row
/// of the quotient as well, in a cluster of all limbs, at most max_cluster_limbs; see extra_rows.
void scaled_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                 const ConstPolyView& in, const ConstPolyView& second, std::size_t first,
                 const ConstPolyView& factor, std::span<const ScaledLimb> limbs);
void scaled_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                    const ConstPolyView& between, std::span<const ScaledLimb> limbs,
                    const ScaledTables& scaled, const ExtraTables* quotient = nullptr);

/// The first pass for operands that are apart: the batches of pair 0 of `out`, then those of pair 1, and so
/// on. The first half of the limbs is that of the first operands.
void scaled_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                 std::span<const ConstPolyView> first, std::span<const ConstPolyView> second,
                 std::span<const ScaledLimb> limbs);

/// The limbs of a base, which stand in an input at `positions` (none: in order).
std::vector<ScaledLimb> scaled_limbs(const RnsBase& base, std::span<const std::uint32_t> positions = {});

/// Inverse transform of scaled_limbs(base, positions) of `in` into scaled residues in paired order:
/// limbs 0, 1, ... of `out`. `between` is scratch of as many limbs. With a `factor` it is the products of the
/// values of both, which the tables then know of (2^-64 of the product in M64).
void scaled_inverse_transform(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                              const PolyView& between, const ConstPolyView& in, const ConstPolyView& factor,
                              std::span<const std::uint32_t> positions, const RnsBase& base,
                              const ScaledTables& scaled);

/// The rest of a product's scratch, from the scaled residues over Q: b' over P, and the quotients.
void rescale_operand(const Launcher& launcher, Arithmetic arithmetic, const PolyView& scratch,
                     const RescaleTables& tables);

/// Adds the extra rows to `scratch`.
void extra_rows(const Launcher& launcher, const PolyView& scratch, const ExtraTables& tables);

/// When a kernel begins.
/// - `after`: after the kernel before it.
/// - `beside`: together with that kernel, on which it does not depend.
enum class Begin : std::uint8_t { after, beside };

/// The jobs of `tables` for `components` components of the scratch: lazy values between the passes of a
/// transform.
void convert_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                     const ConstPolyView& scratch, unsigned components, const ColumnTables& tables,
                     Begin begin = Begin::after);

/// scaled_columns and convert_columns in one, for conversions from single limbs, in rings up to
/// largest_inverse_conversion: `between` has the limbs of `sources` between the passes of their inverse
/// transform. The targets of a job have one source.
void inverse_convert_columns(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                             const ConstPolyView& between, unsigned components, const RnsBase& sources,
                             const ScaledTables& scaled, const ColumnTables& columns);

/// The digits of a ModUp, and which of them has each limb of its base, on the device.
struct OwnDigits {
  PolyView digits = {};
  const std::uint32_t* of_limbs = nullptr;
};

/// Rows of `delta`, which is lazy, and the end of the division: out = (x - delta) E / D, or (E x - delta) / D
/// where `multiplies`. Reads `in` before the kernel before has ended, which must not write there. With `own`
/// the quotients, of one component, go to their own digits, and `out` has the rows of their inverse
/// transform.
void finish_rows(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                 const ConstPolyView& in, const ConstPolyView& delta, const Division& plan, bool multiplies,
                 const OwnDigits& own = {});

/// The input of key switches: a polynomial and what is added to the result (no data: nothing), or two
/// ciphertexts, for whose tensor product the last component and the first two stand.
struct SwitchInput {
  ConstPolyView in = {};
  ConstPolyView addend = {};
  ConstPolyView left = {};
  ConstPolyView right = {};
  std::span<const std::uint64_t> added = {};  // to the first component of a product that ends, in passes

  [[nodiscard]] bool is_product() const { return left.data != nullptr; }
};

/// One key, and where the result goes.
struct SwitchRows {
  PolyView out;
  ConstPolyView key;
  ConstPolyView delta = {};  // lazy, [batch, component, limb]; in clusters the scaled residues
  std::uint64_t galois_element = 1;
};

/// How the rows of a key switch end.
enum class SwitchEnd : std::uint8_t {
  sums,      // stored
  inverted,  // to the rows of their inverse transform, lazy; in FP64 alone
  extended,  // and P times what is added to them
  divided,   // with the rows of delta: (sum - delta) / P and what is added, and the automorphism of that
  lowered,   // the same by any division: (E (sum + P times what is added) - delta) / D
};

/// The limbs of such a pass: their moduli, and where each stands in the extended base (below 0: nowhere,
/// where a division adds it).
struct SwitchLimbs {
  RnsBase base;
  std::vector<std::int32_t> positions;
};

/// Rows of the digits, and their inner products with the keys. `digits` is lazy; the limbs that a digit has
/// come from the input, which has the level's base. `down` where the switches are divided.
void rows_inner_product(const Launcher& launcher, Arithmetic arithmetic, const ConstPolyView& digits,
                        const SwitchInput& input, std::span<const SwitchRows> switches, SwitchEnd end,
                        const SwitchLimbs& limbs, const ModUp& up, const FusedModUp& tables,
                        const Division* down);

/// Rows of both operands over P, which are lazy limbs of `lifted`, their product, and its rows of the inverse
/// transform, lazy: out is [batch, 3, limb of P].
void rows_product(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                  const ConstPolyView& lifted, const ScaledProduct& plan, const FusedProduct& tables);

/// Rows of b' over Q and of delta, both lazy, and the end of the product: out = (a b' - delta) / P.
void rows_end_product(const Launcher& launcher, Arithmetic arithmetic, const PolyView& out,
                      const ConstPolyView& a, const ConstPolyView& lifted, const ConstPolyView& delta,
                      const ScaledProduct& plan, const FusedProduct& tables);

}  // namespace hemera::poly::cuda
