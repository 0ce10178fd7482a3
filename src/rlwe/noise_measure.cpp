// The largest coefficient of an opened ciphertext, in exact multi-word arithmetic.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "hemera/arith/big_integer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::rlwe {
namespace {

using arith::BigInteger;
using arith::uint128;
using Words = std::vector<std::uint64_t>;  // little-endian

Words to_words(BigInteger value, std::size_t count) {
  Words words(count);
  for (std::uint64_t& word : words) {
    word = static_cast<std::uint64_t>(value & ~std::uint64_t{0});
    value >>= 64;
  }
  return words;
}

// sum += a * b. The caller's words hold the result.
void multiply_add(std::span<std::uint64_t> sum, const Words& a, std::uint64_t b) {
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const uint128 term = static_cast<uint128>(a[i]) * b + sum[i] + carry;
    sum[i] = static_cast<std::uint64_t>(term);
    carry = static_cast<std::uint64_t>(term >> 64);
  }
}

// out = a - b, and whether that is negative (then out is wrapped).
bool subtract(std::span<std::uint64_t> out, std::span<const std::uint64_t> a,
              std::span<const std::uint64_t> b) {
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const uint128 term = static_cast<uint128>(a[i]) - b[i] - borrow;
    out[i] = static_cast<std::uint64_t>(term);
    borrow = static_cast<std::uint64_t>(term >> 64) & 1;
  }
  return borrow != 0;
}

double log2_rounded_up(std::span<const std::uint64_t> words) {
  double value = 0;
  for (std::size_t i = words.size(); i-- > 0;) value = value * 0x1p64 + static_cast<double>(words[i]);
  // Doubles end at 2^1024: scale long numbers by their leading words.
  if (std::isfinite(value)) return std::log2(std::max(1.0, value)) + 0x1p-40;
  const std::size_t skip = words.size() - 8;
  return log2_rounded_up(words.subspan(skip)) + 64.0 * static_cast<double>(skip) + 0x1p-40;
}

}  // namespace

double largest_coefficient_log2(const Context& context, const poly::Poly& x, std::uint64_t factor) {
  const poly::RnsBase& base = x.base();
  const std::size_t limbs = base.size();
  const std::size_t degree = context.degree();
  const BigInteger whole = arith::product(base.values());
  // Room for a sum of `limbs` values below Q.
  const std::size_t count = static_cast<std::size_t>(std::ceil((base.log2() + 16) / 64));
  const Words modulus = to_words(whole, count);

  // factor * x = sum_i y_i Q_i - v Q with y_i = factor x_i Q_i^-1 mod q_i (the Chinese remainder theorem).
  std::vector<Words> punctured;
  std::vector<arith::ShoupFactor> inverse;
  for (std::size_t i = 0; i < limbs; ++i) {
    const arith::Modulus& q = base.modulus(i);
    const BigInteger part = whole / q.value();
    punctured.push_back(to_words(part, count));
    inverse.emplace_back(
        q.multiply(q.reduce(factor), arith::inverse(arith::modulo(part, q.value()), q.value())), q);
  }

  Words residues(x.shape().words());
  const runtime::ZeroedAtEnd zeroed{std::span(residues)};
  context.backend().download(context.queue(), residues, x.view(), poly::Form::coefficient);
  context.queue().synchronize();
  Words sum(count);
  Words reduced(count);
  Words largest(count, 0);
  for (std::size_t b = 0; b < x.shape().batch; ++b) {
    for (std::size_t n = 0; n < degree; ++n) {
      std::fill(sum.begin(), sum.end(), 0);
      for (std::size_t i = 0; i < limbs; ++i) {
        const std::uint64_t residue = residues[(b * limbs + i) * degree + n];  // [batch, limb, N]
        multiply_add(sum, punctured[i], arith::multiply(residue, inverse[i], base.modulus(i).value()));
      }
      // At most `limbs` times.
      while (!subtract(reduced, sum, modulus)) std::swap(sum, reduced);
      // The smaller of the value and its distance to Q.
      subtract(reduced, modulus, sum);
      const Words& magnitude =
          std::lexicographical_compare(sum.rbegin(), sum.rend(), reduced.rbegin(), reduced.rend()) ? sum
                                                                                                   : reduced;
      if (std::lexicographical_compare(largest.rbegin(), largest.rend(), magnitude.rbegin(),
                                       magnitude.rend())) {
        largest = magnitude;
      }
    }
  }
  for (Words* words : {&sum, &reduced}) {
    runtime::secure_zero(words->data(), words->size() * sizeof(std::uint64_t));
  }
  return log2_rounded_up(largest);
}

}  // namespace hemera::rlwe
