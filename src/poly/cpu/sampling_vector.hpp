// The sampling kernels over vectors of 64-bit lanes; avx2/, avx512/ and neon/ bring the vectors.
//
// `V` is a type of the including file's unnamed namespace, so that nothing here can be shared with a file
// compiled for another instruction set. It has Type, lanes and, on lanes:
//   load, store, broadcast, add, subtract, bit_and, exclusive_or, shift_right<bits>,
//   load_wide(wide, low, high)        the words of `lanes` wide integers, in an order of V's own;
//   store_in_order(out, x)            stores x, which came from load_wide, in the order of memory;
//   multiply_32(a, b)                 product of the low halves;
//   multiply_low(a, b)                product modulo 2^64;
//   sign_mask(a)                      all ones where bit 63 is set;
//   subtract_unless_below(x, c)       x - c where x >= c (unsigned), else x;
//   decrement_where_below(n, x, c)    n - 1 where x < c (signed), else n;
//   sum(a)                            of all lanes, modulo 2^64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemera/arith/modulus.hpp"
#include "poly/cpu/sampling_kernels.hpp"

namespace hemera::poly::cpu {

template <typename V>
struct VectorSampling {
  using Type = typename V::Type;

  static void reduce_wide(std::uint64_t* out, const std::uint64_t* wide, std::size_t count,
                          const arith::Modulus& q) {
    // high 2^64 + low = high w + low with w = 2^64 mod q: Shoup's product of high, Barrett's reduction of
    // low.
    const auto two_64 = static_cast<arith::uint128>(1) << 64;
    const arith::ShoupFactor w(q.reduce(two_64), q);
    const std::uint64_t value = q.value();
    const Type modulus = V::broadcast(value);
    const Type modulus2 = V::broadcast(2 * value);
    const Type modulus4 = V::broadcast(4 * value);
    const Type operand = V::broadcast(w.operand);
    const Type quotient = V::broadcast(w.quotient);
    const Type quotient_high = V::broadcast(w.quotient >> 32);
    const Type ratio = V::broadcast(q.ratio_high());
    const Type ratio_high = V::broadcast(q.ratio_high() >> 32);
    const std::size_t whole = count - count % V::lanes;
    for (std::size_t i = 0; i < whole; i += V::lanes) {
      Type low, high;
      V::load_wide(wide + 2 * i, low, high);
      // Exact high words would leave each remainder in [0, 2q); those here are up to 2 too small: [0, 4q).
      const Type quotients = V::add(almost_multiply_high(high, quotient, quotient_high),
                                    almost_multiply_high(low, ratio, ratio_high));
      const Type sum = V::add(V::multiply_low(high, operand), low);
      Type x = V::subtract(sum, V::multiply_low(quotients, modulus));  // [0, 8q), below 2^64
      x = V::subtract_unless_below(x, modulus4);
      x = V::subtract_unless_below(x, modulus2);
      x = V::subtract_unless_below(x, modulus);
      V::store_in_order(out + i, x);
    }
    scalar_sampling.reduce_wide(out + whole, wide + 2 * whole, count - whole, q);
  }

  static void ternary_values(std::int64_t* out, const std::uint64_t* wide, std::size_t count) {
    // ceil(2^64 / 3) and ceil(2 * 2^64 / 3), with the top bit flipped to compare as signed.
    const std::uint64_t flip = std::uint64_t{1} << 63;
    const Type flips = V::broadcast(flip);
    const Type third = V::broadcast(0x5555555555555556 ^ flip);
    const Type two_thirds = V::broadcast(0xaaaaaaaaaaaaaaab ^ flip);
    const Type one = V::broadcast(1);
    const std::size_t whole = count - count % V::lanes;
    for (std::size_t i = 0; i < whole; i += V::lanes) {
      Type low, high;
      V::load_wide(wide + 2 * i, low, high);
      const Type x = V::exclusive_or(low, flips);
      const Type value = V::decrement_where_below(V::decrement_where_below(one, x, third), x, two_thirds);
      V::store_in_order(reinterpret_cast<std::uint64_t*>(out) + i, value);
    }
    scalar_sampling.ternary_values(out + whole, wide + 2 * whole, count - whole);
  }

  static void error_values(std::int64_t* out, const std::uint64_t* wide, std::size_t count,
                           const std::uint64_t* table, std::size_t table_size) {
    constexpr std::size_t unroll = 4;  // vectors that share the load of a table entry
    constexpr std::size_t step = unroll * V::lanes;
    const Type low_63 = V::broadcast(~(std::uint64_t{1} << 63));
    const std::size_t whole = count - count % step;
    for (std::size_t i = 0; i < whole; i += step) {
      Type u[unroll], magnitude[unroll], sign[unroll];
      for (std::size_t k = 0; k < unroll; ++k) {
        Type low, high;
        V::load_wide(wide + 2 * (i + k * V::lanes), low, high);
        u[k] = V::bit_and(low, low_63);
        sign[k] = V::sign_mask(high);
        magnitude[k] = V::broadcast(table_size);
      }
      for (std::size_t m = 0; m < table_size; ++m) {
        const Type entry = V::broadcast(table[m]);
        for (std::size_t k = 0; k < unroll; ++k) {
          magnitude[k] = V::decrement_where_below(magnitude[k], u[k], entry);
        }
      }
      for (std::size_t k = 0; k < unroll; ++k) {
        const Type value = V::subtract(V::exclusive_or(magnitude[k], sign[k]), sign[k]);
        V::store_in_order(reinterpret_cast<std::uint64_t*>(out) + i + k * V::lanes, value);
      }
    }
    scalar_sampling.error_values(out + whole, wide + 2 * whole, count - whole, table, table_size);
  }

  static void residues(std::uint64_t* out, const std::int64_t* values, std::size_t count, std::uint64_t q) {
    const Type modulus = V::broadcast(q);
    const std::size_t whole = count - count % V::lanes;
    for (std::size_t i = 0; i < whole; i += V::lanes) {
      const Type x = V::load(reinterpret_cast<const std::uint64_t*>(values) + i);
      V::store(out + i, V::add(x, V::bit_and(V::sign_mask(x), modulus)));
    }
    scalar_sampling.residues(out + whole, values + whole, count - whole, q);
  }

  static std::size_t count_below(const std::uint64_t* keys, std::size_t count, std::uint64_t bound) {
    constexpr std::size_t unroll = 4;  // independent counters
    constexpr std::size_t step = unroll * V::lanes;
    const Type bounds = V::broadcast(bound);
    Type negative[unroll];
    for (Type& counter : negative) counter = V::broadcast(0);
    const std::size_t whole = count - count % step;
    for (std::size_t i = 0; i < whole; i += step) {
      for (std::size_t k = 0; k < unroll; ++k) {
        negative[k] = V::decrement_where_below(negative[k], V::load(keys + i + k * V::lanes), bounds);
      }
    }
    const Type total = V::add(V::add(negative[0], negative[1]), V::add(negative[2], negative[3]));
    return static_cast<std::size_t>(0 - V::sum(total)) +
           scalar_sampling.count_below(keys + whole, count - whole, bound);
  }

 private:
  // The high word of a * b less 0, 1 or 2: without the product of the low halves and the carries of the
  // middle ones.
  static Type almost_multiply_high(Type a, Type b, Type b_high) {
    const Type a_high = V::template shift_right<32>(a);
    const Type middle = V::add(V::template shift_right<32>(V::multiply_32(a, b_high)),
                               V::template shift_right<32>(V::multiply_32(a_high, b)));
    return V::add(V::multiply_32(a_high, b_high), middle);
  }
};

}  // namespace hemera::poly::cpu
