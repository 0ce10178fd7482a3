// The reference kernels: plain 64-bit integer arithmetic.
#include <algorithm>
#include <cassert>

#include "arith/magnitude.hpp"
#include "poly/cpu/integer_rows.hpp"
#include "poly/cpu/kernels.hpp"

namespace hemera::poly::cpu {
namespace {

using arith::Modulus;
using arith::multiply_high;
using arith::multiply_wide;
using arith::ShoupFactor;
using arith::uint128;

// Products below 2^122 that a 128-bit sum holds, with room for a last one.
constexpr std::size_t terms_per_sum = 32;

// x in [0, 2 bound) to [0, bound).
std::uint64_t fold(std::uint64_t x, std::uint64_t bound) {
  return x - (bound & (0 - static_cast<std::uint64_t>(x >= bound)));
}

// a * w mod q for any word a; in [0, 2q).
std::uint64_t multiply_lazy(std::uint64_t a, std::uint64_t w, std::uint64_t quotient, std::uint64_t q) {
  return a * w - multiply_high(a, quotient) * q;
}

// A part of a limb's stages: blocks [first_block, end_block) of a stage of `blocks` blocks, and in each the
// butterflies [first, first + count) of its N / (2 blocks).
struct StagePart {
  std::size_t blocks;
  std::size_t first_block;
  std::size_t end_block;
  std::size_t first;
  std::size_t count;
};

// Cooley-Tukey with the twist in the twiddles (P. Longa and M. Naehrig, 2016/504, algorithm 1) and lazy
// butterflies (D. Harvey, "Faster arithmetic for number-theoretic transforms", section 3): between stages all
// values are in [0, 4q), which needs q < 2^62. Output in bit-reversed, that is standard evaluation, order.
void forward_stage(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables,
                   const StagePart& part) {
  const std::uint64_t q = tables.modulus.value(), twice_q = 2 * q;
  const std::size_t half = tables.degree / 2 / part.blocks;
  for (std::size_t block = part.first_block; block < part.end_block; ++block) {
    const std::uint64_t w = tables.powers[part.blocks + block];
    const std::uint64_t quotient = tables.quotients[part.blocks + block];
    const std::size_t first = 2 * half * block + part.first;
    for (std::size_t i = first; i < first + part.count; ++i) {
      assert(in[i] < 4 * q && in[i + half] < 4 * q);
      const std::uint64_t x = fold(in[i], twice_q);                         // [0, 2q)
      const std::uint64_t y = multiply_lazy(in[i + half], w, quotient, q);  // [0, 2q)
      out[i] = x + y;
      out[i + half] = x - y + twice_q;
    }
  }
}

// Stages from the one of `blocks` blocks on, on one of `rows` rows, to canonical values.
void forward_stages(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t rows,
                    std::size_t row) {
  const std::uint64_t q = tables.modulus.value();
  for (std::size_t blocks = rows; blocks < tables.degree; blocks *= 2) {
    const std::size_t each = blocks / rows;
    forward_stage(out, blocks == rows ? in : out, tables,
                  {blocks, each * row, each * (row + 1), 0, tables.degree / 2 / blocks});
  }
  const std::size_t length = tables.degree / rows;
  for (std::size_t i = row * length; i < (row + 1) * length; ++i) out[i] = fold(fold(out[i], 2 * q), q);
}

void forward_transform(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables) {
  forward_stages(out, in, tables, 1, 0);
}

void forward_columns(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t first,
                     std::size_t count) {
  const std::size_t length = tables.degree / transform_rows;
  for (std::size_t blocks = 1; blocks < transform_rows; blocks *= 2) {
    for (std::size_t row = 0; row < transform_rows / 2 / blocks; ++row) {
      forward_stage(out, blocks == 1 ? in : out, tables, {blocks, 0, blocks, row * length + first, count});
    }
  }
}

void forward_row(std::uint64_t* data, const LimbTables& tables, std::size_t row) {
  forward_stages(data, data, tables, transform_rows, row);
}

// Gentleman-Sande (Longa and Naehrig, algorithm 2): between stages all values are in [0, 2q).
void inverse_stage(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables,
                   const StagePart& part) {
  const std::uint64_t q = tables.modulus.value(), twice_q = 2 * q;
  const std::size_t half = tables.degree / 2 / part.blocks;
  for (std::size_t block = part.first_block; block < part.end_block; ++block) {
    const std::uint64_t w = tables.inverse_powers[part.blocks + block];
    const std::uint64_t quotient = tables.inverse_quotients[part.blocks + block];
    const std::size_t first = 2 * half * block + part.first;
    for (std::size_t i = first; i < first + part.count; ++i) {
      const std::uint64_t x = in[i];
      const std::uint64_t y = in[i + half];
      assert(x < twice_q && y < twice_q);
      out[i] = fold(x + y, twice_q);
      out[i + half] = multiply_lazy(x - y + twice_q, w, quotient, q);
    }
  }
}

// Stages down to the one of `rows` blocks, on one of them.
void inverse_stages(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t rows,
                    std::size_t row) {
  for (std::size_t blocks = tables.degree / 2; blocks >= rows; blocks /= 2) {
    const std::size_t each = blocks / rows;
    inverse_stage(out, blocks == tables.degree / 2 ? in : out, tables,
                  {blocks, each * row, each * (row + 1), 0, tables.degree / 2 / blocks});
  }
}

void multiply_by_inverse_degree(std::uint64_t* data, const LimbTables& tables, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    data[i] = arith::multiply(data[i], tables.inverse_degree, tables.modulus.value());
  }
}

void inverse_transform(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables) {
  inverse_stages(out, in, tables, 1, 0);
  multiply_by_inverse_degree(out, tables, tables.degree);
}

void inverse_row(std::uint64_t* out, const std::uint64_t* in, const LimbTables& tables, std::size_t row) {
  inverse_stages(out, in, tables, transform_rows, row);
}

void inverse_columns(std::uint64_t* data, const LimbTables& tables, std::size_t first, std::size_t count) {
  const std::size_t length = tables.degree / transform_rows;
  for (std::size_t blocks = transform_rows / 2; blocks >= 1; blocks /= 2) {
    for (std::size_t row = 0; row < transform_rows / 2 / blocks; ++row) {
      inverse_stage(data, data, tables, {blocks, 0, blocks, row * length + first, count});
    }
  }
  for (std::size_t row = 0; row < transform_rows; ++row) {
    multiply_by_inverse_degree(data + row * length + first, tables, count);
  }
}

void add(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
         const Modulus& q) {
  for (std::size_t i = 0; i < count; ++i) out[i] = q.add(a[i], b[i]);
}

void subtract(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
              const Modulus& q) {
  for (std::size_t i = 0; i < count; ++i) out[i] = q.subtract(a[i], b[i]);
}

void negate(std::uint64_t* out, const std::uint64_t* a, std::size_t count, const Modulus& q) {
  for (std::size_t i = 0; i < count; ++i) out[i] = q.negate(a[i]);
}

void multiply(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
              const Modulus& q) {
  for (std::size_t i = 0; i < count; ++i) out[i] = q.multiply(a[i], b[i]);
}

void multiply_add(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                  const std::uint64_t* addend, std::size_t count, const Modulus& q) {
  for (std::size_t i = 0; i < count; ++i) out[i] = q.reduce(multiply_wide(a[i], b[i]) + addend[i]);
}

void multiply_scalar(std::uint64_t* out, const std::uint64_t* a, const ShoupFactor& scalar, std::size_t count,
                     const Modulus& q) {
  for (std::size_t i = 0; i < count; ++i) out[i] = arith::multiply(a[i], scalar, q.value());
}

void add_scalar(std::uint64_t* out, const std::uint64_t* a, std::uint64_t scalar, std::size_t count,
                const Modulus& q) {
  for (std::size_t i = 0; i < count; ++i) out[i] = q.add(a[i], scalar);
}

void subtract_multiply_scalar(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                              const ShoupFactor& scalar, std::size_t count, const Modulus& q) {
  if (a == nullptr) {
    for (std::size_t i = 0; i < count; ++i) out[i] = arith::multiply(q.negate(b[i]), scalar, q.value());
    return;
  }
  // a - b + q in (0, 2q): Shoup's product takes any word.
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = arith::multiply(a[i] - b[i] + q.value(), scalar, q.value());
  }
}

void permute_groups(std::uint64_t* out, const std::uint64_t* in, const std::uint32_t* groups,
                    const std::uint64_t* lanes, std::size_t count) {
  for (std::size_t k = 0; k < count / 8; ++k) {
    const std::uint64_t* from = in + (groups[k] & ~7U);
    const std::uint64_t* order = lanes + std::size_t{8} * (groups[k] & 7U);
    for (std::size_t l = 0; l < 8; ++l) out[8 * k + l] = from[order[l]];
  }
}

bool place_groups(std::uint64_t* out, const std::int64_t* in, std::size_t stride, const std::uint32_t* groups,
                  const std::uint64_t* orders, std::size_t count, std::uint64_t bound) {
  bool within = true;
  for (std::size_t k = 0; k < count; ++k) {
    std::uint64_t* to = out + std::size_t{8} * (groups[k] / 32);
    const std::uint64_t* order = orders + std::size_t{8} * (groups[k] % 32);
    std::array<std::int64_t, 8> values;
    for (std::size_t l = 0; l < 8; ++l) values[l] = in[k + stride * order[l]];
    within &= arith::all_within(values, bound);
    scalar_sampling.residues(to, values.data(), values.size(), bound);
  }
  return within;
}

void collect_groups(std::int64_t* out, std::size_t stride, const std::uint64_t* in,
                    const std::uint32_t* groups, const std::uint64_t* orders, std::size_t count,
                    std::uint64_t most, std::uint64_t q) {
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t* from = in + std::size_t{8} * (groups[k] / 32);
    const std::uint64_t* order = orders + std::size_t{8} * (groups[k] % 32);
    for (std::size_t c = 0; c < 8; ++c) {
      const std::uint64_t x = from[order[c]];
      const std::uint64_t above = 0 - ((most - x) >> 63);
      out[k + stride * c] = static_cast<std::int64_t>(x - (q & above));
    }
  }
}

void inner_product(std::uint64_t* out, const std::uint64_t* const* a, const std::uint64_t* const* b,
                   std::size_t terms, std::size_t count, const Modulus& q) {
  for (std::size_t i = 0; i < count; ++i) {
    uint128 sum = 0;
    for (std::size_t first = 0; first < terms; first += terms_per_sum) {
      if (first != 0) sum = q.reduce(sum);
      const std::size_t last = std::min(terms, first + terms_per_sum);
      for (std::size_t term = first; term < last; ++term) {
        assert(a[term][i] < q.value() && b[term][i] < q.value());
        sum += multiply_wide(a[term][i], b[term][i]);
      }
    }
    out[i] = q.reduce(sum);
  }
}

void tensor_2x2(std::uint64_t* out0, std::uint64_t* out1, std::uint64_t* out2, const std::uint64_t* a0,
                const std::uint64_t* a1, const std::uint64_t* b0, const std::uint64_t* b1, std::size_t count,
                const Modulus& q) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t x0 = a0[i], x1 = a1[i], y0 = b0[i], y1 = b1[i];
    out0[i] = q.multiply(x0, y0);
    out1[i] = q.reduce(multiply_wide(x0, y1) + multiply_wide(x1, y0));
    out2[i] = q.multiply(x1, y1);
  }
}

void scale_residues(std::uint64_t* y, const std::uint64_t* x, const ShoupFactor& factor, bool center,
                    std::size_t count, const Modulus& a) {
  const std::uint64_t shift = center ? (a.value() - 1) / 2 : 0;
  for (std::size_t i = 0; i < count; ++i) y[i] = a.add(arith::multiply(x[i], factor, a.value()), shift);
}

// For fractions with a half added, whose two highest bits differ where the fraction is below a quarter or
// above three quarters: x ^ 2x of all of them.
bool one_is_alike(std::uint64_t differences) { return differences >> 63 == 0; }

bool quotient(std::uint64_t* v, const std::uint64_t* const* y, const std::uint64_t* r, const int* bits,
              std::size_t sources, std::size_t count) {
  std::uint64_t differences = ~std::uint64_t{0};
  for (std::size_t n = 0; n < count; ++n) {
    uint128 sum = std::uint64_t{1} << 63;
    for (std::size_t i = 0; i < sources; ++i) {
      sum += static_cast<std::uint64_t>(multiply_wide(y[i][n], r[i]) >> (bits[i] - 1));
    }
    v[n] = static_cast<std::uint64_t>(sum >> 64);
    differences &= static_cast<std::uint64_t>(sum) ^ static_cast<std::uint64_t>(sum << 1);
  }
  return one_is_alike(differences);
}

void weighted_sum(std::uint64_t* out, const std::uint64_t* const* y, const std::uint64_t* weights,
                  std::size_t sources, [[maybe_unused]] std::uint64_t source_bound, const std::uint64_t* v,
                  std::uint64_t product, std::uint64_t shift, std::size_t count, const Modulus& q) {
  assert(source_bound <= std::uint64_t{1} << 61);  // any residue below that will do here
  const std::uint64_t minus_product = q.value() - product;
  const std::uint64_t minus_shift = q.value() - shift;
  for (std::size_t n = 0; n < count; ++n) {
    uint128 sum = minus_shift;
    for (std::size_t first = 0; first < sources; first += terms_per_sum) {
      if (first != 0) sum = q.reduce(sum);
      const std::size_t last = std::min(sources, first + terms_per_sum);
      for (std::size_t i = first; i < last; ++i) {
        assert(y[i][n] < source_bound && weights[i] < q.value());
        sum += multiply_wide(y[i][n], weights[i]);
      }
    }
    if (v != nullptr) sum += multiply_wide(v[n], minus_product);  // v <= sources
    out[n] = q.reduce(sum);
  }
}

// The words of the products are summed apart: all terms together may pass 192 bits.
bool rounded_fractions(std::uint64_t* low48, std::uint64_t* rest, const std::uint64_t* const* y,
                       const std::uint64_t* high, const std::uint64_t* low, std::size_t sources,
                       std::uint64_t, std::size_t count) {
  std::uint64_t differences = ~std::uint64_t{0};
  for (std::size_t n = 0; n < count; ++n) {
    uint128 word0 = 0;
    uint128 word1 = std::uint64_t{1} << 63;
    uint128 word2 = 0;
    for (std::size_t i = 0; i < sources; ++i) {
      const uint128 lower = multiply_wide(y[i][n], low[i]);
      const uint128 upper = multiply_wide(y[i][n], high[i]) + static_cast<std::uint64_t>(lower >> 64);
      word0 += static_cast<std::uint64_t>(lower);
      word1 += static_cast<std::uint64_t>(upper);
      word2 += static_cast<std::uint64_t>(upper >> 64);
    }
    word1 += word0 >> 64;
    word2 += word1 >> 64;
    low48[n] = static_cast<std::uint64_t>(word2) & ((std::uint64_t{1} << 48) - 1);
    rest[n] = static_cast<std::uint64_t>(word2 >> 48);
    differences &= static_cast<std::uint64_t>(word1) ^ static_cast<std::uint64_t>(word1 << 1);
  }
  return one_is_alike(differences);
}

bool one_outside(const std::uint64_t* words, std::uint64_t least, std::uint64_t most, std::size_t count) {
  std::uint64_t signs = 0;
  for (std::size_t i = 0; i < count; ++i) signs |= (words[i] - least) | (most - words[i]);
  return signs >> 63 != 0;
}

bool all_within(const std::int64_t* values, std::size_t count, std::uint64_t bound) {
  return arith::all_within({values, count}, bound);
}

bool residues_within(std::uint64_t* out, const std::int64_t* values, std::size_t count, std::uint64_t bound) {
  scalar_sampling.residues(out, values, count, bound);
  return arith::all_within({values, count}, bound);
}

// One residue at a time.
struct ScalarIntegers {
  using Sum = std::int64_t;
  using Half = std::int64_t;
  using Weight = std::int64_t;
  static constexpr std::size_t lanes = 1;

  static Half load_low(const std::uint64_t* p) { return static_cast<std::int64_t>(*p & 0x7fffffff); }
  static Half load_high(const std::uint64_t* p) { return static_cast<std::int64_t>(*p >> 31); }
  static Weight broadcast(std::int32_t w) { return w; }
  static Sum add_product(Sum sum, Half half, Weight w) { return sum + half * w; }
  static void store(std::int64_t* out, Sum sum) { *out = sum; }
};

void multiply_integers(std::uint64_t* const* out, const PackedRows& in, const std::int32_t* weights,
                       std::size_t rows, bool adds, const Modulus& q) {
  IntegerRows<ScalarIntegers>::run(out, in, weights, rows, adds, q);
}

constexpr Kernels table = {
    .name = "scalar",
    .forward_transform = forward_transform,
    .inverse_transform = inverse_transform,
    .forward_columns = forward_columns,
    .forward_row = forward_row,
    .inverse_row = inverse_row,
    .inverse_columns = inverse_columns,
    .add = add,
    .subtract = subtract,
    .negate = negate,
    .multiply = multiply,
    .multiply_add = multiply_add,
    .multiply_scalar = multiply_scalar,
    .add_scalar = add_scalar,
    .subtract_multiply_scalar = subtract_multiply_scalar,
    .permute_groups = permute_groups,
    .place_groups = place_groups,
    .collect_groups = collect_groups,
    .inner_product = inner_product,
    .multiply_integers = multiply_integers,
    .tensor_2x2 = tensor_2x2,
    .scale_residues = scale_residues,
    .quotient = quotient,
    .weighted_sum = weighted_sum,
    .rounded_fractions = rounded_fractions,
    .one_outside = one_outside,
    .all_within = all_within,
    .residues_within = residues_within,
    .sampling = &scalar_sampling,
};

}  // namespace

const Kernels& scalar_kernels() { return table; }

}  // namespace hemera::poly::cpu
