#include "poly/cpu/limb_tables.hpp"

#include <bit>

namespace hemera::poly::cpu {
namespace {

using arith::Modulus;

// floor(w * 2^64 / q) from the Barrett ratio floor(2^128 / q): the product with the ratio is at most one too
// small, and needs no 128-bit division.
std::uint64_t shoup_quotient(std::uint64_t w, const Modulus& q) {
  const std::uint64_t estimate = w * q.ratio_high() + arith::multiply_high(w, q.ratio_low());
  const std::uint64_t remainder = 0 - estimate * q.value();  // of w * 2^64, in [0, 2q)
  return estimate + static_cast<std::uint64_t>(remainder >= q.value());
}

// Factors of the stages after log2(values) are 0: blocks that are left are their first coefficients.
void fill(const Modulus& q, std::uint64_t root, std::size_t values, std::size_t degree, TwiddleTable& powers,
          TwiddleTable& quotients) {
  powers.resize(degree);
  quotients.resize(degree);
  const arith::ShoupFactor step(root, q);
  std::uint64_t power = 1;
  std::size_t position = 0;  // reverse_bits(i)
  for (std::size_t i = 0; i < values; ++i) {
    powers[position] = power;
    quotients[position] = shoup_quotient(power, q);
    power = arith::multiply(power, step, q.value());
    // Count up in reversed order: the carry runs from the highest bit down.
    std::size_t bit = values >> 1;
    for (; (position & bit) != 0; bit >>= 1) position ^= bit;
    position |= bit;
  }
}

// The order of the tables for vectors, see LimbTables, of entries without their lowest bits.
TwiddleTable arranged(const TwiddleTable& entries, int dropped_bits) {
  const std::size_t degree = entries.size();
  TwiddleTable table(degree);
  const auto entry = [&](std::size_t i) { return entries[i] >> dropped_bits; };
  for (std::size_t i = 0; i < degree / 4; ++i) table[i] = entry(i);
  std::uint64_t* next = table.data() + degree / 4;
  for (std::size_t first = 0; first < degree / 8; first += 8) {
    for (const std::size_t width : {std::size_t{2}, std::size_t{4}}) {
      for (std::size_t h = 0; h < width; ++h) {
        for (std::size_t l = 0; l < 8; ++l) *next++ = entry(width * (degree / 8 + first + l) + h);
      }
    }
  }
  return table;
}

}  // namespace

LimbTables make_limb_tables(const RingModulus& modulus, std::size_t degree) {
  LimbTables tables;
  tables.modulus = modulus.modulus;
  tables.degree = degree;
  tables.log_degree = static_cast<int>(std::bit_width(degree)) - 1;
  tables.root = modulus.root;
  if (modulus.root == 0) return tables;
  const Modulus& q = modulus.modulus;
  const std::size_t values = modulus.values_in(degree);
  fill(q, modulus.root, values, degree, tables.powers, tables.quotients);
  fill(q, arith::inverse(modulus.root, q.value()), values, degree, tables.inverse_powers,
       tables.inverse_quotients);
  if (q.value() < max_modulus_52) {
    tables.powers52 = arranged(tables.powers, 0);
    tables.quotients52 = arranged(tables.quotients, 12);
    tables.inverse_powers52 = arranged(tables.inverse_powers, 0);
    tables.inverse_quotients52 = arranged(tables.inverse_quotients, 12);
  } else {
    tables.powers64 = arranged(tables.powers, 0);
    tables.quotients64 = arranged(tables.quotients, 0);
    tables.inverse_powers64 = arranged(tables.inverse_powers, 0);
    tables.inverse_quotients64 = arranged(tables.inverse_quotients, 0);
  }
  tables.inverse_degree = {arith::inverse(values, q.value()), q};
  tables.inverse_degree_twist = {q.multiply(tables.inverse_degree.operand, tables.inverse_powers[1]), q};
  return tables;
}

}  // namespace hemera::poly::cpu
