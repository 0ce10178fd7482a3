#include "gpu/sets.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "hemera/arith/primes.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::gpu_bench {
namespace {

using rlwe::Parameters;
using rlwe::ParametersLiteral;

std::vector<int> times(std::size_t count, int bits) { return std::vector<int>(count, bits); }

std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// One call is one operation: nothing is rescaled or aligned by itself.
Parameters manual(ParametersLiteral literal) {
  literal.rescaling = rlwe::RescalingPolicy::manual(literal.scheme);
  return Parameters(std::move(literal));
}

struct Chain {
  std::size_t degree;
  std::vector<int> primes;
  std::vector<int> special;
  std::size_t digits;
};

Parameters ckks_chain(const Chain& chain, int scale_bits) {
  // Room for values above the scale.
  const std::size_t last_base = chain.primes.front() >= scale_bits + 8 ? 1 : 2;
  return manual(ckks::parameters_from_bits({.degree = chain.degree,
                                            .prime_bits = chain.primes,
                                            .special_bits = chain.special,
                                            .scale = std::ldexp(1.0, scale_bits),
                                            .last_base = last_base,
                                            .digits = chain.digits,
                                            .security = std::nullopt})
                    .literal());
}

integer::ChainRequest integers(const Chain& chain) {
  // Primes that are 1 modulo 2N.
  return {.degree = chain.degree,
          .plain_modulus = chain.degree <= 32768 ? 65537U : 786433U,
          .prime_bits = chain.primes,
          .special_bits = chain.special,
          .digits = chain.digits,
          .security = std::nullopt};
}

Parameters bfv_chain(const Chain& chain,
                     rlwe::BfvMultiplication variant = rlwe::BfvMultiplication::hps_over_q) {
  ParametersLiteral literal = bfv::parameters_from_bits(integers(chain)).literal();
  literal.bfv_multiplication = variant;
  return manual(std::move(literal));
}

Parameters bgv_chain(const Chain& chain) {
  return manual(bgv::parameters_from_bits(integers(chain)).literal());
}

// The same sizes with primes that are 1 modulo 2^32.
Parameters for_montgomery(const Parameters& parameters) {
  ParametersLiteral literal = parameters.literal();
  std::map<std::uint64_t, std::uint64_t> replaced;
  std::vector<std::uint64_t> taken;
  const auto replace = [&](std::uint64_t& prime) {
    const auto [entry, added] = replaced.try_emplace(prime, 0);
    if (added) {
      const int bits = static_cast<int>(std::lround(std::log2(static_cast<double>(prime))));
      entry->second = arith::primes_below(std::uint64_t{1} << bits, std::uint64_t{1} << 32, 1, taken).at(0);
      taken.push_back(entry->second);
    }
    prime = entry->second;
  };
  // Special primes first: they get the largest ones, as the gadget needs.
  for (std::uint64_t& prime : literal.special_primes) replace(prime);
  for (auto& level : literal.levels) {
    for (std::uint64_t& prime : level) replace(prime);
  }
  for (auto& digit : literal.digits) {
    for (std::uint64_t& prime : digit) replace(prime);
  }
  literal.roots.clear();
  return Parameters(std::move(literal));
}

const Chain chain_30x59{65536, times(30, 59), times(8, 60), 4};
const Chain chain_23x59{65536, times(23, 59), times(6, 60), 4};
// log Q 1373 and log P 372 in primes below 2^50.
const std::vector<int> special_372 = joined(times(4, 46), times(4, 47));
// Log Q 1373 in 29 primes below 2^48.
const Chain chain_29x47{65536, joined({48}, joined(times(19, 47), times(9, 48))), times(8, 48), 4};
const Chain chain_14x59{32768, times(14, 59), {60}, 14};
const Chain chain_14x57{32768, times(14, 57), {60}, 14};
const Chain chain_15x55{32768, times(15, 55), {56}, 15};
const Chain chain_15x53{32768, times(15, 53), {54}, 15};
const Chain chain_3x54{8192, times(3, 54), {55}, 3};
const Chain chain_3x53{8192, times(3, 53), {54}, 3};

// Sets of papers, beside those of the list below that have the same. Where a paper gives the degree, the
// digits and the number of special primes alone, primes have the bits that fill its bound of log QP.
struct PaperSet {
  const char* scheme;  // "bgv", "bfv" or "ckks"
  int log_degree;
  std::size_t primes;
  int bits;
  std::size_t special;
  std::size_t digits;
  std::vector<std::size_t> levels = {};
};

std::string power(int log_degree) { return "N 2^" + std::to_string(log_degree); }

Set paper_set(const char* paper, const PaperSet& given) {
  const auto text = [](std::size_t number) { return std::to_string(number); };
  const std::string name = std::string(paper) + "-" + given.scheme + "-" + std::to_string(given.log_degree) +
                           "-" + text(given.primes) + "x" + std::to_string(given.bits) + "+" +
                           text(given.special);
  const std::string what = power(given.log_degree) + ", " + text(given.primes) + " primes of " +
                           std::to_string(given.bits) + " bits and " + text(given.special) + " special, " +
                           text(given.digits) + " digits";
  const auto make = [given] {
    const Chain chain{std::size_t{1} << given.log_degree, times(given.primes, given.bits),
                      times(given.special, given.bits + 1), given.digits};
    const std::string scheme = given.scheme;
    if (scheme == "bgv") return bgv_chain(chain);
    if (scheme == "bfv") return bfv_chain(chain);
    return ckks_chain(chain, std::min(given.bits, 59) - (given.primes < 4 ? 8 : 0));
  };
  return {.name = name, .what = what, .make = make, .levels = given.levels};
}

std::vector<Set> paper_sets() {
  std::vector<Set> all;
  // Phantom (2023/049), tables VI to VIII.
  for (const char* scheme : {"bgv", "bfv"}) {
    for (const PaperSet& set : std::initializer_list<PaperSet>{{scheme, 12, 2, 36, 1, 2},
                                                               {scheme, 14, 7, 54, 1, 7},
                                                               {scheme, 15, 23, 36, 1, 23},
                                                               {scheme, 15, 22, 36, 2, 11},
                                                               {scheme, 15, 21, 36, 3, 7},
                                                               {scheme, 15, 20, 36, 4, 5},
                                                               {scheme, 15, 18, 36, 6, 3},
                                                               {scheme, 16, 31, 55, 1, 31},
                                                               {scheme, 16, 47, 36, 1, 47},
                                                               {scheme, 16, 42, 41, 1, 42},
                                                               {scheme, 16, 46, 36, 2, 23},
                                                               {scheme, 16, 45, 36, 3, 15},
                                                               {scheme, 16, 44, 36, 4, 11},
                                                               {scheme, 16, 42, 36, 6, 7}}) {
      all.push_back(paper_set("phantom", set));
    }
  }
  all.push_back(paper_set("phantom", {"bgv", 15, 16, 36, 8, 2}));
  all.push_back(paper_set("phantom", {"bgv", 14, 8, 36, 4, 2}));
  for (const PaperSet& set : std::initializer_list<PaperSet>{{"ckks", 12, 2, 36, 1, 2},
                                                             {"ckks", 13, 4, 43, 1, 4},
                                                             {"ckks", 15, 23, 36, 1, 23},
                                                             {"ckks", 16, 31, 55, 1, 31},
                                                             {"ckks", 16, 47, 36, 1, 47},
                                                             {"ckks", 16, 46, 36, 2, 23},
                                                             {"ckks", 16, 44, 36, 4, 11}}) {
    all.push_back(paper_set("phantom", set));
  }
  // Its table V: the steps of a key switch by level.
  all.push_back(paper_set("steps", {"ckks", 15, 30, 59, 15, 2, {24, 19, 14, 9, 4}}));
  all.push_back(paper_set("steps", {"ckks", 16, 45, 59, 15, 3, {39, 29, 19, 9, 4}}));
  // FIDESlib: {log N, depth, bits of the scale, digits}. The fourth is ckks-30x59.
  all.push_back(paper_set("fideslib", {"ckks", 13, 6, 36, 3, 2, {3, 1}}));
  all.push_back(paper_set("fideslib", {"ckks", 14, 8, 38, 3, 3, {5, 2}}));
  all.push_back(paper_set("fideslib", {"ckks", 15, 10, 41, 4, 3, {6, 3}}));
  all.push_back(paper_set("fideslib", {"ckks", 17, 45, 59, 15, 3, {30, 15}}));
  // SEAL's default moduli.
  const auto seal = [&](int log_degree, std::vector<int> primes, int special) {
    const std::string name = "seal-bfv-" + std::to_string(log_degree);
    const Chain chain{std::size_t{1} << log_degree, primes, {special}, primes.size()};
    all.push_back({.name = name, .what = power(log_degree) + ", SEAL's default moduli", .make = [chain] {
                     return bfv_chain(chain);
                   }});
  };
  seal(12, {36, 36}, 37);
  seal(13, {43, 43, 44, 44}, 44);
  seal(14, joined(times(3, 48), times(5, 49)), 49);
  // Transforms by degree and number: in Shoup's products, and in FP64.
  for (int log_degree = 12; log_degree <= 17; ++log_degree) {
    for (const int bits : {59, 49}) {
      const Chain chain{std::size_t{1} << log_degree, times(1, bits), {bits + 1}, 1};
      all.push_back({.name = "transforms-" + std::to_string(log_degree) + "-" + std::to_string(bits),
                     .what = power(log_degree) + ", one prime of " + std::to_string(bits) + " bits",
                     .make = [chain] { return bgv_chain(chain); },
                     .transforms = {1, 2, 4, 8, 16, 32, 64, 128}});
    }
  }
  return all;
}

bool starts_with_one_of(const std::string& name, std::initializer_list<const char*> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const char* beginning) { return name.starts_with(beginning); });
}

std::vector<Set> own_sets() {
  return {
      {"smoke-ckks", "a small ring, to try the program",
       [] {
         return ckks_chain({1024, times(4, 45), times(2, 46), 2}, 40);
       }},
      {"smoke-bfv", "a small ring, to try the program",
       [] {
         return bfv_chain({1024, times(4, 45), {46}, 4});
       }},
      {"smoke-bgv", "a small ring, to try the program",
       [] {
         return bgv_chain({1024, times(4, 45), {46}, 4});
       }},

      {"ckks-30x59",
       "CKKS, N 2^16, 30 primes of 59 bits and 8 special ones, 4 digits",
       [] { return ckks_chain(chain_30x59, 59); },
       {25, 20, 15, 10, 5, 2}},
      {"ckks-30x59-m",
       "the same with primes that are 1 modulo 2^32",
       [] { return for_montgomery(ckks_chain(chain_30x59, 59)); },
       {20, 10}},
      {"ckks-23x59", "its secure neighbour", [] { return ckks_chain(chain_23x59, 59); }},
      {"ckks-23x59-m", "its secure neighbour, with primes that are 1 modulo 2^32",
       [] { return for_montgomery(ckks_chain(chain_23x59, 59)); }},
      {"ckks-1373",
       "CKKS, N 2^16, log Q 1373 and log P 372 in 28 + 8 primes below 2^50, 4 digits; 12 limbs hold 13 "
       "levels of 40 bits",
       [] {
         return ckks_chain({65536, joined({50}, times(27, 49)), special_372, 4}, 40);
       },
       {20, 11, 5}},
      {"ckks-29x47",
       "CKKS, N 2^16, log Q 1373 in 29 primes below 2^48 and 8 special ones, 4 digits",
       [] { return ckks_chain(chain_29x47, 40); },
       {12}},
      {"ckks-1370-40",
       "CKKS, N 2^16, 34 levels of 40 bits and log P 372, 4 digits; 14 limbs are 13 levels",
       [] {
         return ckks_chain({65536, joined({50}, times(33, 40)), special_372, 4}, 40);
       },
       {13}},
      {"ckks-35x40", "CKKS, N 2^16, 35 primes of 40 bits and 5 special ones, 7 digits",
       [] {
         return ckks_chain({65536, times(35, 40), times(5, 41), 7}, 36);
       }},
      {"ckks-14x59", "CKKS, N 2^15, 14 primes of 59 bits and one special one, 14 digits",
       [] { return ckks_chain(chain_14x59, 59); }},
      {"ckks-14x59-m", "the same with primes that are 1 modulo 2^32",
       [] { return for_montgomery(ckks_chain(chain_14x59, 59)); }},
      {"ckks-14x57", "its secure neighbour", [] { return ckks_chain(chain_14x57, 50); }},
      {"ckks-8x40", "CKKS, N 2^14, 8 primes of 40 bits and one special one, 8 digits",
       [] {
         return ckks_chain({16384, times(8, 40), {41}, 8}, 36);
       }},

      {"bfv-15x55", "BFV, N 2^15, 15 primes of 55 bits and one special one, HPS over Q",
       [] { return bfv_chain(chain_15x55); }},
      {"bfv-15x55-behz", "the same with BEHZ",
       [] { return bfv_chain(chain_15x55, rlwe::BfvMultiplication::behz); }},
      {"bfv-15x53", "its secure neighbour", [] { return bfv_chain(chain_15x53); }},
      {"bfv-16x36", "BFV, N 2^15, 16 primes of 36 bits and 8 special ones, 2 digits",
       [] {
         return bfv_chain({32768, times(16, 36), times(8, 37), 2});
       }},
      {"bfv-16x35", "its secure neighbour",
       [] {
         return bfv_chain({32768, times(16, 35), times(8, 36), 2});
       }},
      {"bfv-8x36", "BFV, N 2^14, 8 primes of 36 bits and 4 special ones, 2 digits",
       [] {
         return bfv_chain({16384, times(8, 36), times(4, 37), 2});
       }},
      {"bfv-8x35", "its secure neighbour",
       [] {
         return bfv_chain({16384, times(8, 35), times(4, 36), 2});
       }},
      {"bfv-3x54", "BFV, N 2^13, 3 primes of 54 bits and one special one",
       [] { return bfv_chain(chain_3x54); }},
      {"bfv-3x53", "its secure neighbour", [] { return bfv_chain(chain_3x53); }},

      {"bgv-15x55", "BGV, N 2^15, 15 primes of 55 bits and one special one",
       [] { return bgv_chain(chain_15x55); }},
      {"bgv-15x53", "its secure neighbour", [] { return bgv_chain(chain_15x53); }},
      {"bgv-3x54", "BGV, N 2^13, 3 primes of 54 bits and one special one",
       [] { return bgv_chain(chain_3x54); }},
      {"bgv-3x53", "its secure neighbour", [] { return bgv_chain(chain_3x53); }},
  };
}

}  // namespace

const std::vector<Set>& sets() {
  static const std::vector<Set> all = [] {
    std::vector<Set> found = own_sets();
    for (Set& set : paper_sets()) found.push_back(std::move(set));
    return found;
  }();
  return all;
}

bool is_default(const Set& set) {
  return !starts_with_one_of(set.name, {"smoke-", "phantom-", "steps-", "fideslib-", "seal-", "transforms-"});
}

std::string arithmetic(const rlwe::Parameters& parameters) {
  bool below_50 = true;
  bool montgomery = true;
  const auto look = [&](std::uint64_t prime) {
    below_50 = below_50 && prime < std::uint64_t{1} << 50;
    montgomery = montgomery && (prime & 0xffffffffU) == 1 && prime < std::uint64_t{1} << 60;
  };
  for (const std::uint64_t prime : parameters.literal().levels.back()) look(prime);
  for (const std::uint64_t prime : parameters.literal().special_primes) look(prime);
  if (below_50) return "f64";
  return montgomery ? "m64" : "u64";
}

}  // namespace hemera::gpu_bench
