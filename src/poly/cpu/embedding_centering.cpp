#include "poly/cpu/embedding_centering.hpp"

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "hemera/arith/modulus.hpp"

namespace hemera::poly::cpu {
namespace {

using arith::multiply_wide;
using arith::uint128;

// words *= factor; there is room for the result.
void multiply_word(std::uint64_t* words, std::size_t count, std::uint64_t factor) {
  std::uint64_t carry = 0;
  for (std::size_t w = 0; w < count; ++w) {
    const uint128 product = multiply_wide(words[w], factor) + carry;
    words[w] = static_cast<std::uint64_t>(product);
    carry = static_cast<std::uint64_t>(product >> 64);
  }
}

void divide_word(std::uint64_t* out, const std::uint64_t* words, std::size_t count, std::uint64_t divisor) {
  std::uint64_t remainder = 0;
  for (std::size_t w = count; w-- > 0;) {
    const uint128 dividend = (static_cast<uint128>(remainder) << 64) | words[w];
    out[w] = static_cast<std::uint64_t>(dividend / divisor);
    remainder = static_cast<std::uint64_t>(dividend % divisor);
  }
}

// Bits [first, first + bits) of a number of `count` words; what lies outside is zero, also below bit 0.
std::uint64_t window(const std::uint64_t* words, std::size_t count, std::int64_t first, int bits) {
  std::uint64_t result = 0;
  const std::int64_t word = first >> 6;
  const int offset = static_cast<int>(first & 63);
  const auto at = [&](std::int64_t index) {
    return index >= 0 && index < static_cast<std::int64_t>(count) ? words[index] : 0;
  };
  result = at(word) >> offset;
  if (offset != 0) result |= at(word + 1) << (64 - offset);
  return bits == 64 ? result : result & ((std::uint64_t{1} << bits) - 1);
}

}  // namespace

Centering make_centering(const RnsBase& base, double scale, int word_bits, std::uint64_t* memory) {
  const std::size_t limbs = base.size();
  Centering result;
  result.limbs = limbs;
  result.modulus = base.modulus(0).value();
  result.divisor = 2 * std::frexp(scale, &result.divisor_exponent);
  --result.divisor_exponent;
  if (limbs == 1) return result;

  std::uint64_t* const product = memory;  // Q, [limbs + 1] words of 64 bits
  std::uint64_t* const weight = product + limbs + 1;
  std::uint64_t* next = weight + limbs + 1;
  const std::size_t count = limbs + 1;
  std::fill_n(product, count, 0);
  product[0] = 1;
  result.narrow = true;
  for (std::size_t i = 0; i < limbs; ++i) {
    multiply_word(product, count, base.modulus(i).value());
    result.narrow = result.narrow && base.modulus(i).value() < (std::uint64_t{1} << 52);
  }
  std::size_t top = count - 1;
  while (product[top] == 0) --top;
  const std::size_t bits = 64 * top + static_cast<std::size_t>(std::bit_width(product[top]));
  const auto word = static_cast<std::size_t>(word_bits);
  const std::size_t words = (bits + word - 1) / word;
  result.words = words;
  result.shift = static_cast<int>(words * word - bits);

  const auto shifted_word = [&](const std::uint64_t* number, std::size_t w) {
    return window(number, count, static_cast<std::int64_t>(w * word) - result.shift, word_bits);
  };
  std::uint64_t* const weights = next;  // [word, limb]
  next += words * limbs;
  for (std::size_t i = 0; i < limbs; ++i) {
    const arith::Modulus& q = base.modulus(i);
    std::uint64_t residue = 1 % q.value();
    for (std::size_t j = 0; j < limbs; ++j) {
      if (j != i) residue = q.multiply(residue, base.modulus(j).value());
    }
    divide_word(weight, product, count, q.value());
    multiply_word(weight, count, arith::inverse(residue, q.value()));
    for (std::size_t w = 0; w < words; ++w) weights[w * limbs + i] = shifted_word(weight, w);
  }
  result.weights = weights;

  std::uint64_t* const scaled = next;
  std::uint64_t* const complement = scaled + words;
  std::uint64_t* const half = complement + words + 1;
  const std::uint64_t word_mask = ~std::uint64_t{0} >> (64 - word_bits);
  std::uint64_t carry = 1;
  for (std::size_t w = 0; w <= words; ++w) {
    const std::uint64_t value = w < words ? shifted_word(product, w) : 0;
    if (w < words) scaled[w] = value;
    complement[w] = ((value ^ word_mask) + carry) & word_mask;
    carry = static_cast<std::uint64_t>(carry == 1 && value == 0);
  }
  // The highest 128 bits of Q, for the reciprocal; then floor(Q / 2).
  const std::int64_t first = static_cast<std::int64_t>(bits) - 128;
  const std::uint64_t leading_high = window(product, count, first + 64, 64);
  const std::uint64_t leading_low = window(product, count, first, 64);
  for (std::size_t w = 0; w + 1 < count; ++w) product[w] = (product[w] >> 1) | (product[w + 1] << 63);
  product[count - 1] >>= 1;
  for (std::size_t w = 0; w < words; ++w) half[w] = shifted_word(product, w);
  result.product = scaled;
  result.complement = complement;
  result.half = half;

  using Wide = boost::multiprecision::uint256_t;  // of fixed size: no allocation
  const Wide leading = (Wide(leading_high) << 64) + leading_low + 1;
  const Wide reciprocal = ((Wide(1) << 255) / leading) >> (2 * (64 - word_bits));
  result.reciprocal_high = static_cast<std::uint64_t>(reciprocal >> word_bits);
  result.reciprocal_low = static_cast<std::uint64_t>(reciprocal & word_mask);
  return result;
}

}  // namespace hemera::poly::cpu
