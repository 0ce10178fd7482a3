#include "cpu/sets.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "hemera/rlwe/security.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::cpu_bench {
namespace {

constexpr std::uint64_t plain_modulus = 786433;  // 1 modulo 2^18

// The number of primes of `bits` bits that 128-bit security allows next to one special prime.
std::size_t secure_count(std::size_t degree, int bits) {
  return static_cast<std::size_t>(rlwe::max_log_modulus(degree, 128).value_or(0) / bits) - 1;
}

// The fewest nearly equal parts of at most `largest` that make up `bits`.
std::vector<int> split(int bits, int largest) {
  const int count = (bits + largest - 1) / largest;
  std::vector<int> parts(static_cast<std::size_t>(count), bits / count);
  for (int i = 0; i < bits % count; ++i) ++parts[static_cast<std::size_t>(i)];
  return parts;
}

integer::ChainRequest integers(std::size_t degree, std::vector<int> primes, int special,
                               std::optional<int> security) {
  integer::ChainRequest request;
  request.degree = degree;
  request.plain_modulus = plain_modulus;
  request.digits = primes.size();
  request.prime_bits = std::move(primes);
  request.special_bits = {special};
  request.security = security;
  return request;
}

integer::ChainRequest secure(std::size_t degree, int bits, int special) {
  return integers(degree, std::vector<int>(secure_count(degree, special), bits), special, 128);
}

// SEAL's default moduli for 128 bits: the sum of all but the special prime, and their bits at N = 2^15.
int seal_bits(std::size_t degree) {
  if (degree == 8192) return 174;
  if (degree == 16384) return 389;
  if (degree == 32768) return 825;
  throw std::invalid_argument("SEAL's moduli are for N = 2^13 to 2^15");
}

integer::ChainRequest as_seal(std::size_t degree) {
  const std::vector<int> primes = split(seal_bits(degree), 49);
  return integers(degree, primes, *std::max_element(primes.begin(), primes.end()), std::nullopt);
}

rlwe::Parameters ckks45(std::size_t degree, std::size_t digit_primes, std::size_t specials) {
  const auto log_modulus = rlwe::max_log_modulus(degree, 128).value_or(0);
  const auto special_bits = 49 * static_cast<int>(specials);
  const auto primes = static_cast<std::size_t>((static_cast<int>(log_modulus) - special_bits) / 49);
  return ckks::parameters_from_bits({.degree = degree,
                                     .prime_bits = std::vector<int>(primes, 45),
                                     .special_bits = std::vector<int>(specials, 49),
                                     .scale = 0x1p45,
                                     .digits = (primes + digit_primes - 1) / digit_primes});
}

// 60 + 40 k + 60 bits in all, each prime below 2^49.
rlwe::Parameters ckks40_as_seal(std::size_t degree) {
  const int special = degree == 8192 ? 44 : degree == 16384 ? 49 : 56;
  const int levels = (seal_bits(degree) + special - 120) / 40;
  std::vector<int> primes = {30, 30};
  primes.insert(primes.end(), static_cast<std::size_t>(levels), 40);
  return ckks::parameters_from_bits({.degree = degree,
                                     .prime_bits = primes,
                                     .special_bits = {49},
                                     .scale = 0x1p40,
                                     .last_base = 2,
                                     .digits = primes.size(),
                                     .security = std::nullopt});
}

// OpenFHE's moduli of `bits` bits in primes below 2^49, in digits whose special primes have no more bits than
// its.
integer::ChainRequest as_openfhe(std::size_t degree, int bits, std::size_t digits, std::vector<int> special) {
  integer::ChainRequest request = integers(degree, split(bits, 49), 0, std::nullopt);
  request.digits = digits;
  request.special_bits = std::move(special);
  return request;
}

integer::ChainRequest bgv_as_openfhe(std::size_t degree) {
  if (degree == 8192) return as_openfhe(degree, 109, 3, {49});
  if (degree == 16384) return as_openfhe(degree, 325, 4, {48, 48});
  return as_openfhe(degree, 649, 3, {48, 48, 48, 48, 48});
}

integer::ChainRequest bfv_as_openfhe(std::size_t degree) {
  if (degree == 8192) return as_openfhe(degree, 120, 3, {49});
  if (degree == 16384) return as_openfhe(degree, 300, 4, {49, 49});
  return as_openfhe(degree, 600, 3, {48, 48, 48, 48, 48});
}

rlwe::Parameters ckks_of_openfhe(std::size_t degree, std::size_t primes, int bits, std::size_t digits,
                                 std::vector<int> special) {
  std::vector<int> prime_bits(primes, bits);
  prime_bits.front() = bits + 1;
  return ckks::parameters_from_bits({.degree = degree,
                                     .prime_bits = std::move(prime_bits),
                                     .special_bits = std::move(special),
                                     .scale = std::ldexp(1.0, bits),
                                     .digits = digits,
                                     .security = std::nullopt});
}

rlwe::Parameters ckks_as_openfhe(std::size_t degree) {
  if (degree == 8192) return ckks_of_openfhe(degree, 3, 45, 3, {49});
  if (degree == 16384) return ckks_of_openfhe(degree, 8, 45, 4, {49, 49});
  if (degree == 32768) return ckks_of_openfhe(degree, 14, 45, 3, {47, 47, 47, 47, 47});
  return ckks_of_openfhe(degree, 28, 45, 4, {49, 49, 49, 49, 49, 49, 49});
}

rlwe::Parameters ckks59_of_openfhe(std::size_t degree) {
  if (degree == 32768) return ckks_of_openfhe(degree, 11, 59, 4, {60, 60, 60});
  return ckks_of_openfhe(degree, 24, 59, 4, {60, 60, 60, 60, 60, 60});
}

}  // namespace

const std::vector<Set>& sets() {
  using Degree = std::size_t;
  static const std::vector<Degree> common = {8192, 16384, 32768};
  static const std::vector<Set> all = {
      {"bfv48", "BFV, secure, 48 bits, a digit each", common,
       [](Degree n) { return bfv::parameters_from_bits(secure(n, 48, 49)); }},
      {"bgv48", "BGV, the same", common,
       [](Degree n) { return bgv::parameters_from_bits(secure(n, 48, 49)); }},
      {"ckks45", "CKKS, secure, 45 bits, a digit each", common, [](Degree n) { return ckks45(n, 1, 1); }},
      {"bfv55", "BFV, secure, 54 bits and a special prime of 55", common,
       [](Degree n) { return bfv::parameters_from_bits(secure(n, 54, 55)); }},
      {"bgv55", "BGV, the same", common,
       [](Degree n) { return bgv::parameters_from_bits(secure(n, 54, 55)); }},
      {"ckks45_few",
       "CKKS, secure, 45 bits, digits of six primes",
       {32768, 65536},
       [](Degree n) { return ckks45(n, 6, 6); }},
      {"bfv_as_seal", "BFV, SEAL's default modulus in primes below 2^49", common,
       [](Degree n) { return bfv::parameters_from_bits(as_seal(n)); }},
      {"bgv_as_seal", "BGV, the same", common,
       [](Degree n) { return bgv::parameters_from_bits(as_seal(n)); }},
      {"ckks_as_seal", "CKKS, 60 + 40 k + 60 bits in primes below 2^49", common, ckks40_as_seal},
      {"bfv_of_seal",
       "BFV, SEAL's own primes of 55 bits",
       {32768},
       [](Degree n) {
         return bfv::parameters_from_bits(integers(n, std::vector<int>(15, 55), 56, std::nullopt));
       }},
      {"bgv_of_seal",
       "BGV, the same",
       {32768},
       [](Degree n) {
         return bgv::parameters_from_bits(integers(n, std::vector<int>(15, 55), 56, std::nullopt));
       }},
      {"bfv_as_openfhe", "BFV, OpenFHE's modulus in primes below 2^49", common,
       [](Degree n) { return bfv::parameters_from_bits(bfv_as_openfhe(n)); }},
      {"bgv_as_openfhe", "BGV, the same", common,
       [](Degree n) { return bgv::parameters_from_bits(bgv_as_openfhe(n)); }},
      {"ckks_as_openfhe",
       "CKKS, 45 bits, digits of 1, 2, 5 and 7 primes",
       {8192, 16384, 32768, 65536},
       ckks_as_openfhe},
      {"ckks59_of_openfhe",
       "CKKS, OpenFHE's own primes of 59 bits, 4 digits",
       {32768, 65536},
       ckks59_of_openfhe},
      {"smoke_bfv",
       "BFV, for a test",
       {4096},
       [](Degree n) {
         return bfv::parameters_from_bits(integers(n, {33, 33}, 34, 128));
       }},
      {"smoke_bgv",
       "BGV, for a test",
       {4096},
       [](Degree n) {
         return bgv::parameters_from_bits(integers(n, {33, 33}, 34, 128));
       }},
      {"smoke_ckks",
       "CKKS, for a test",
       {4096},
       [](Degree n) {
         return ckks::parameters_from_bits(
             {.degree = n, .prime_bits = {36, 30}, .special_bits = {37}, .scale = 0x1p30});
       }},
  };
  return all;
}

}  // namespace hemera::cpu_bench
