// Element-wise kernels for AVX-512.
#include "poly/cpu/avx512/arithmetic52.hpp"
#include "poly/cpu/avx512/arithmetic64.hpp"
#include "poly/cpu/avx512/within_bound.hpp"
#include "poly/cpu/vector/words.hpp"

namespace hemera::poly::cpu::avx512 {
namespace {

using arith::uint128;

// Operands come from beyond the second-level cache: two pages ahead, which no processor fetches by itself.
template <typename Operation>
[[gnu::always_inline]] inline void map_past_cache(Word* out, const Word* a, const Word* b, std::size_t count,
                                                  const Operation& operation) {
  constexpr std::size_t ahead = 1024;
  for (std::size_t i = 0; i < count; i += lanes) {
    _mm_prefetch(reinterpret_cast<const char*>(a + i + ahead), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(b + i + ahead), _MM_HINT_T0);
    store_past_cache(out + i, operation(load(a + i), load(b + i)));
  }
  _mm_sfence();
}

// floor(2^bits / q) for bits <= 128.
Word scaled_reciprocal(const Modulus& q, int bits) {
  const uint128 ratio = static_cast<uint128>(q.ratio_high()) << 64 | q.ratio_low();
  return static_cast<Word>(ratio >> (128 - bits));
}

// Barrett's product of two residues of L bits, for q < 2^50: with h = floor(a b / 2^(L-1)) the quotient
// floor(h floor(2^(51+L) / q) / 2^52) is at most two too small.
struct Barrett52 {
  Vector q;
  Vector twice_q;
  Vector negative_q;
  Vector reciprocal;
  Vector mask;
  __m128i shift;  // 52 - L

  [[gnu::always_inline]] static inline Barrett52 make(const Modulus& modulus) {
    const int bits = modulus.bits();
    Word reciprocal = scaled_reciprocal(modulus, 51 + bits);
    if (reciprocal > mask52) reciprocal = mask52;  // a power of two; the bound above still holds
    return {broadcast(modulus.value()),
            broadcast(2 * modulus.value()),
            broadcast((Word{1} << 52) - modulus.value()),
            broadcast(reciprocal),
            broadcast(mask52),
            _mm_cvtsi32_si128(52 - bits)};
  }

  [[gnu::always_inline]] inline Vector multiply(Vector a, Vector b) const {
    const Vector head = add_high52(zero(), shift_left(a, shift), add(b, b));
    const Vector quotient = add_high52(zero(), head, reciprocal);
    Vector x = add_low52(zero(), a, b);
    x = bit_and(add_low52(x, quotient, negative_q), mask);  // [0, 2.5 q)
    return fold(fold(x, twice_q), q);
  }
};

// The same for q < 2^55: with h = floor(floor(a / 8) floor(b / 8) / 2^52), which is a b / 2^58 less up to 3,
// the quotient is floor(h floor(2^(51+L) / q) / 2^52) times 2^(59-L), less than 2^(60-L) + 3 * 2^58 / q too
// small. What is left is below 2^61.
struct Barrett55 {
  Modulus64 modulus;
  Vector q;
  Vector reciprocal;
  Vector multiple;  // 2^(59-L) q

  static constexpr Word bound = Word{1} << 55;

  [[gnu::always_inline]] static inline Barrett55 make(const Modulus& modulus) {
    const int bits = modulus.bits();
    const Word reciprocal = scaled_reciprocal(modulus, 51 + bits);
    return {Modulus64::make(modulus), broadcast(modulus.value()),
            broadcast(reciprocal > mask52 ? mask52 : reciprocal), broadcast(modulus.value() << (59 - bits))};
  }

  [[gnu::always_inline]] inline Vector multiply(Vector a, Vector b) const {
    const Vector head = add_high52(zero(), shift_right<3>(a), shift_right<3>(b));
    const Vector quotient = add_high52(zero(), head, reciprocal);
    return reduce64(subtract(multiply_low(a, b), multiply_low(quotient, multiple)), modulus);
  }
};

// The same for q < 2^61: h = floor(a b / 2^(L-2)), reciprocal floor(2^(L+62) / q), below 2^63 both. The
// quotient is at most three too small, two of them by the missing carries of the high product.
struct Barrett64 {
  Vector q;
  Vector twice_q;
  Vector reciprocal;
  Vector reciprocal_high;
  __m128i left;   // 66 - L
  __m128i right;  // L - 2

  [[gnu::always_inline]] static inline Barrett64 make(const Modulus& modulus) {
    const int bits = modulus.bits();
    const Word reciprocal = scaled_reciprocal(modulus, bits + 62);
    return {broadcast(modulus.value()),  broadcast(2 * modulus.value()), broadcast(reciprocal),
            broadcast(reciprocal >> 32), _mm_cvtsi32_si128(66 - bits),   _mm_cvtsi32_si128(bits - 2)};
  }

  [[gnu::always_inline]] inline Vector multiply(Vector a, Vector b) const {
    Vector high;
    Vector low;
    multiply_wide(a, b, high, low);
    const Vector head = bit_or(shift_left(high, left), shift_right(low, right));
    const Vector quotient = almost_multiply_high(head, reciprocal, reciprocal_high);
    const Vector x = subtract(low, multiply_low(quotient, q));  // [0, 4q)
    return fold(fold(x, twice_q), q);
  }
};

// body(product) for moduli of 50 bits and more.
template <typename Body>
[[gnu::always_inline]] inline void with_barrett(const Modulus& q, const Body& body) {
  if (q.value() < Barrett55::bound) {
    body(Barrett55::make(q));
  } else {
    body(Barrett64::make(q));
  }
}

}  // namespace

void add_past_cache(Word* out, const Word* a, const Word* b, std::size_t count, const Modulus& q) {
  const Vector modulus = broadcast(q.value());
  map_past_cache(out, a, b, count, [=](Vector x, Vector y) { return fold(add(x, y), modulus); });
}

void subtract_past_cache(Word* out, const Word* a, const Word* b, std::size_t count, const Modulus& q) {
  const Vector modulus = broadcast(q.value());
  map_past_cache(out, a, b, count, [=](Vector x, Vector y) { return lift(subtract(x, y), modulus); });
}

void multiply_past_cache(Word* out, const Word* a, const Word* b, std::size_t count, const Modulus& q) {
  const auto run = [&](const auto& barrett) __attribute__((always_inline)) {
    map_past_cache(out, a, b, count, [&](Vector x, Vector y) { return barrett.multiply(x, y); });
  };
  if (is_narrow(q)) {
    run(Barrett52::make(q));
  } else {
    with_barrett(q, run);
  }
}

void multiply(Word* out, const Word* a, const Word* b, std::size_t count, const Modulus& q) {
  if (is_narrow(q)) {
    const Barrett52 barrett = Barrett52::make(q);
    map(out, a, b, count, [&](Vector x, Vector y) { return barrett.multiply(x, y); });
  } else {
    with_barrett(q, [&](const auto& barrett) {
      map(out, a, b, count, [&](Vector x, Vector y) { return barrett.multiply(x, y); });
    });
  }
}

void multiply_add(Word* out, const Word* a, const Word* b, const Word* addend, std::size_t count,
                  const Modulus& q) {
  if (is_narrow(q)) {
    const Modulus52 modulus = Modulus52::make(q);
    for (std::size_t i = 0; i < count; i += lanes) {
      const Vector x = load(a + i);
      const Vector y = load(b + i);
      store(out + i, reduce_sum52(add_high52(zero(), x, y), add_low52(load(addend + i), x, y), modulus));
    }
  } else {
    with_barrett(q, [&](const auto& barrett) {
      for (std::size_t i = 0; i < count; i += lanes) {
        const Vector product = barrett.multiply(load(a + i), load(b + i));
        store(out + i, fold(add(load(addend + i), product), barrett.q));
      }
    });
  }
}

void multiply_scalar(Word* out, const Word* a, const ShoupFactor& scalar, std::size_t count,
                     const Modulus& q) {
  if (is_narrow(q)) {
    const Modulus52 modulus = Modulus52::make(q);
    const Factor52 factor = Factor52::make(scalar);
    map(out, a, count, [&](Vector x) {
      return fold(multiply52_lazy(x, factor, modulus.negative_q, modulus.mask), modulus.q);
    });
  } else {
    const Modulus64 modulus = Modulus64::make(q);
    const Factor64 factor = Factor64::make(scalar);
    map(out, a, count, [&](Vector x) { return canonical64(multiply64_lazy(x, factor, modulus.q), modulus); });
  }
}

void subtract_multiply_scalar(Word* out, const Word* a, const Word* b, const ShoupFactor& scalar,
                              std::size_t count, const Modulus& q) {
  // (a - b + q) * scalar; a missing a is 0. The factor is in [0, 2q).
  const auto apply = [&](const auto& scale, Vector modulus) __attribute__((always_inline)) {
    if (a == nullptr) {
      map(out, b, count, [&](Vector y) { return scale(subtract(modulus, y)); });
    } else {
      map(out, a, b, count, [&](Vector x, Vector y) { return scale(add(subtract(x, y), modulus)); });
    }
  };
  if (is_narrow(q)) {
    const Modulus52 modulus = Modulus52::make(q);
    const Factor52 factor = Factor52::make(scalar);
    apply(
        [&](Vector x) {
          return fold(multiply52_lazy(x, factor, modulus.negative_q, modulus.mask), modulus.q);
        },
        modulus.q);
  } else {
    const Modulus64 modulus = Modulus64::make(q);
    const Factor64 factor = Factor64::make(scalar);
    apply([&](Vector x) { return canonical64(multiply64_lazy(x, factor, modulus.q), modulus); }, modulus.q);
  }
}

void tensor_2x2(Word* out0, Word* out1, Word* out2, const Word* a0, const Word* a1, const Word* b0,
                const Word* b1, std::size_t count, const Modulus& q) {
  const auto apply = [&](const auto& barrett, const auto& cross) __attribute__((always_inline)) {
    for (std::size_t i = 0; i < count; i += lanes) {
      const Vector x0 = load(a0 + i);
      const Vector x1 = load(a1 + i);
      const Vector y0 = load(b0 + i);
      const Vector y1 = load(b1 + i);
      store(out0 + i, barrett.multiply(x0, y0));
      store(out1 + i, cross(x0, x1, y0, y1));
      store(out2 + i, barrett.multiply(x1, y1));
    }
  };
  if (is_narrow(q)) {
    const Modulus52 modulus = Modulus52::make(q);
    apply(Barrett52::make(q), [&](Vector x0, Vector x1, Vector y0, Vector y1) {
      return reduce_sum52(add_high52(add_high52(zero(), x0, y1), x1, y0),
                          add_low52(add_low52(zero(), x0, y1), x1, y0), modulus);
    });
  } else {
    with_barrett(q, [&](const auto& barrett) {
      apply(barrett, [&](Vector x0, Vector x1, Vector y0, Vector y1) {
        return fold(add(barrett.multiply(x0, y1), barrett.multiply(x1, y0)), barrett.q);
      });
    });
  }
}

bool all_within(const std::int64_t* values, std::size_t count, std::uint64_t bound) {
  WithinBound within(bound);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) within.take(_mm512_loadu_si512(values + i));
  if (i < count) {
    const auto rest = static_cast<__mmask8>((1U << (count - i)) - 1);
    within.take(_mm512_maskz_loadu_epi64(rest, values + i));
  }
  return within.all_within();
}

bool residues_within(Word* out, const std::int64_t* values, std::size_t count, std::uint64_t bound) {
  WithinBound within(bound);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) store(out + i, within.residues(_mm512_loadu_si512(values + i)));
  if (i < count) {
    const auto rest = static_cast<__mmask8>((1U << (count - i)) - 1);
    _mm512_mask_storeu_epi64(out + i, rest, within.residues(_mm512_maskz_loadu_epi64(rest, values + i)));
  }
  return within.all_within();
}

}  // namespace hemera::poly::cpu::avx512
