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

void fill(const Modulus& q, std::uint64_t root, int log_degree, std::vector<std::uint64_t>& powers,
          std::vector<std::uint64_t>& quotients, std::vector<std::uint64_t>& quotients52) {
  const std::size_t degree = std::size_t{1} << log_degree;
  const bool narrow = q.value() < max_modulus_52;
  powers.resize(degree);
  quotients.resize(degree);
  quotients52.resize(narrow ? degree : 0);
  const arith::ShoupFactor step(root, q);
  std::uint64_t power = 1;
  std::size_t position = 0;  // reverse_bits(i)
  for (std::size_t i = 0; i < degree; ++i) {
    powers[position] = power;
    quotients[position] = shoup_quotient(power, q);
    if (narrow) quotients52[position] = quotients[position] >> 12;
    power = arith::multiply(power, step, q.value());
    // Count up in reversed order: the carry runs from the highest bit down.
    std::size_t bit = degree >> 1;
    for (; (position & bit) != 0; bit >>= 1) position ^= bit;
    position |= bit;
  }
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
  fill(q, modulus.root, tables.log_degree, tables.powers, tables.quotients, tables.quotients52);
  fill(q, arith::inverse(modulus.root, q.value()), tables.log_degree, tables.inverse_powers,
       tables.inverse_quotients, tables.inverse_quotients52);
  tables.inverse_degree = {arith::inverse(degree, q.value()), q};
  return tables;
}

}  // namespace hemera::poly::cpu
