#include <immintrin.h>

#include "poly/cpu/chacha20.hpp"
#include "poly/cpu/sampling_kernels.hpp"
#include "poly/cpu/sampling_vector.hpp"

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns about the deliberately undefined operands inside its own intrinsics (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace hemera::poly::cpu {
namespace {

struct Vector {
  using Type = __m512i;
  static constexpr std::size_t lanes = 8;

  static Type load(const std::uint64_t* p) { return _mm512_loadu_si512(p); }
  static void store(std::uint64_t* p, Type x) { _mm512_storeu_si512(p, x); }
  static Type broadcast(std::uint64_t a) { return _mm512_set1_epi64(static_cast<long long>(a)); }
  static Type add(Type a, Type b) { return _mm512_add_epi64(a, b); }
  static Type subtract(Type a, Type b) { return _mm512_sub_epi64(a, b); }
  static Type bit_and(Type a, Type b) { return _mm512_and_si512(a, b); }
  static Type exclusive_or(Type a, Type b) { return _mm512_xor_si512(a, b); }
  template <unsigned bits>
  static Type shift_right(Type a) {
    return _mm512_srli_epi64(a, bits);
  }

  static void load_wide(const std::uint64_t* wide, Type& low, Type& high) {
    const Type first = load(wide);
    const Type second = load(wide + lanes);
    low = _mm512_permutex2var_epi64(first, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), second);
    high = _mm512_permutex2var_epi64(first, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), second);
  }
  static void store_in_order(std::uint64_t* p, Type x) { store(p, x); }

  static Type multiply_32(Type a, Type b) { return _mm512_mul_epu32(a, b); }
  static Type multiply_low(Type a, Type b) { return _mm512_mullo_epi64(a, b); }
  static Type sign_mask(Type a) { return _mm512_srai_epi64(a, 63); }
  // Where x < c the difference wraps to more than x (c <= 2^63).
  static Type subtract_unless_below(Type x, Type c) { return _mm512_min_epu64(x, subtract(x, c)); }
  static Type decrement_where_below(Type n, Type x, Type c) {
    return _mm512_mask_sub_epi64(n, _mm512_cmplt_epi64_mask(x, c), n, broadcast(1));
  }
  static std::uint64_t sum(Type a) { return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(a)); }
};

using Sampling = VectorSampling<Vector>;

// Tables of up to 31 entries (a deviation up to 3.4) are searched in registers: entry (2 p + 1) 2^(4 - level)
// - 1 is pivot p of a level, and the index of each lane picks its pivot by a permutation, which takes the
// same time for all indices. Five levels replace 29 comparisons for a deviation of 3.19.
class RegisterTable {
 public:
  static constexpr std::size_t max_size = 31;

  /// Every `step`-th entry of the table.
  RegisterTable(const std::uint64_t* table, std::size_t size, std::size_t step = 1) {
    std::uint64_t pivots[5][16];
    for (std::size_t level = 0; level < 5; ++level) {
      for (std::size_t p = 0; p < 16; ++p) {
        const std::size_t entry = step * ((2 * p + 1) << (4 - level)) - 1;
        pivots[level][p] = entry < size ? table[entry] : ~std::uint64_t{0};  // never reached
      }
      pivots_[level] = Vector::load(pivots[level]);
    }
    last_high_ = Vector::load(pivots[4] + 8);
  }

  // The number of entries <= u, in each lane.
  [[nodiscard]] __m512i count_not_above(__m512i u) const {
    __m512i index = _mm512_setzero_si512();
    for (std::size_t level = 0; level < 4; ++level) {
      index = descend(index, u, _mm512_permutexvar_epi64(index, pivots_[level]));
    }
    return descend(index, u, _mm512_permutex2var_epi64(pivots_[4], index, last_high_));
  }

 private:
  static __m512i descend(__m512i index, __m512i u, __m512i pivot) {
    const __m512i left = _mm512_add_epi64(index, index);
    return _mm512_mask_add_epi64(left, _mm512_cmpge_epu64_mask(u, pivot), left, Vector::broadcast(1));
  }

  __m512i pivots_[5];
  __m512i last_high_;  // pivots 8 to 15 of the last level
};

// Tables of up to 255 entries: every eighth is searched in registers, then the seven after it are compared.
class RunTable {
 public:
  static constexpr std::size_t run = 8, max_runs = 32;
  static constexpr std::size_t max_size = run * max_runs - 1;

  RunTable(const std::uint64_t* table, std::size_t size) : lasts_(table, size, run) {
    for (std::size_t p = 0; p + 1 < run; ++p) {
      for (std::size_t r = 0; r < max_runs; ++r) {
        const std::size_t entry = r * run + p;
        entries_[p][r] = entry < size ? table[entry] : ~std::uint64_t{0};  // never reached
      }
    }
  }

  [[nodiscard]] __m512i count_not_above(__m512i u) const {
    const __m512i number = lasts_.count_not_above(u);
    const __mmask8 upper = _mm512_test_epi64_mask(number, Vector::broadcast(max_runs / 2));
    __m512i count = _mm512_slli_epi64(number, 3);
    for (const auto& of_runs : entries_) {
      const __m512i entry =
          _mm512_mask_blend_epi64(upper, picked(of_runs, number), picked(of_runs + 16, number));
      count = _mm512_mask_add_epi64(count, _mm512_cmpge_epu64_mask(u, entry), count, Vector::broadcast(1));
    }
    return count;
  }

 private:
  // The entry of each lane's index, modulo 16.
  static __m512i picked(const std::uint64_t* entries, __m512i index) {
    return _mm512_permutex2var_epi64(Vector::load(entries), index, Vector::load(entries + Vector::lanes));
  }

  RegisterTable lasts_;
  alignas(64) std::uint64_t entries_[run - 1][max_runs];
};

template <typename Table>
void error_values_by(std::int64_t* out, const std::uint64_t* wide, std::size_t count,
                     const std::uint64_t* table, std::size_t table_size) {
  constexpr std::size_t unroll = 4;  // searches whose latencies overlap
  constexpr std::size_t step = unroll * Vector::lanes;
  const Table search(table, table_size);
  const __m512i low_63 = Vector::broadcast(~(std::uint64_t{1} << 63));
  const std::size_t whole = count - count % step;
  for (std::size_t i = 0; i < whole; i += step) {
    for (std::size_t k = 0; k < step; k += Vector::lanes) {
      __m512i low, high;
      Vector::load_wide(wide + 2 * (i + k), low, high);
      const __m512i magnitude = search.count_not_above(Vector::bit_and(low, low_63));
      const __m512i sign = Vector::sign_mask(high);
      const __m512i value = Vector::subtract(Vector::exclusive_or(magnitude, sign), sign);
      _mm512_storeu_si512(out + i + k, value);
    }
  }
  scalar_sampling.error_values(out + whole, wide + 2 * whole, count - whole, table, table_size);
}

void error_values(std::int64_t* out, const std::uint64_t* wide, std::size_t count, const std::uint64_t* table,
                  std::size_t table_size) {
  if (table_size <= RegisterTable::max_size)
    return error_values_by<RegisterTable>(out, wide, count, table, table_size);
  if (table_size <= RunTable::max_size) return error_values_by<RunTable>(out, wide, count, table, table_size);
  Sampling::error_values(out, wide, count, table, table_size);
}

}  // namespace

constinit const SamplingKernels avx512_sampling = {
    .name = "avx512",
    .chacha20_blocks = chacha20_blocks_avx512,
    .reduce_wide = Sampling::reduce_wide,
    .ternary_values = Sampling::ternary_values,
    .error_values = error_values,
    .residues = Sampling::residues,
    .count_below = Sampling::count_below,
};

}  // namespace hemera::poly::cpu
