// Gadgets for keys of a single level: digits and special primes by what their header says of them, and the
// error of switches whose digits are longer than P.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/rounding_model.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/noise.hpp"
#include "schemes/ckks_support.hpp"

namespace hemera::circuits {
namespace {

using PrimeList = std::vector<std::uint64_t>;

const std::vector<std::string> presets = {"n16-40", "n16-40-precise", "n16-59",
                                          "n15-31", "n16-exact",      "test-40"};

long double bits_of(const PrimeList& primes) {
  long double bits = 0;
  for (const std::uint64_t prime : primes) bits += std::log2(static_cast<long double>(prime));
  return bits;
}

// One level, whose primes the special ones divide to 3/4 each: k digits of k primes exceed k special ones by
// 0.415 k bits.
rlwe::Parameters with_short_special_primes() {
  constexpr std::size_t degree = 1024;
  constexpr std::uint64_t bound = std::uint64_t{1} << 45;
  const PrimeList base = arith::primes_below(bound, 2 * degree, 6, {});
  rlwe::ParametersLiteral literal;
  literal.degree = degree;
  literal.levels = {base};
  literal.special_primes = arith::primes_below(bound / 4 * 3, 2 * degree, 6, {});
  literal.scale = 0x1p40;
  literal.security.reset();
  return rlwe::Parameters(std::move(literal));
}

// The first special primes that a key over the level may have.
PrimeList allowed(const rlwe::Parameters& own, std::size_t level, std::size_t most) {
  const rlwe::ParametersLiteral& literal = own.literal();
  PrimeList pool = literal.special_primes;
  pool.insert(pool.end(), literal.key_primes.begin(), literal.key_primes.end());
  const PrimeList& base = literal.levels[level];
  pool.resize(std::min({pool.size(), most, base.size() + 1}));
  if (!literal.security) return pool;
  const int limit = rlwe::max_log_modulus(own.degree(), *literal.security).value();
  while (bits_of(base) + bits_of(pool) > limit) pool.pop_back();
  return pool;
}

// Digits of consecutive primes, each as long as the limit allows; empty if a single prime is above it.
std::vector<PrimeList> filled(const PrimeList& base, long double limit) {
  std::vector<PrimeList> digits(1);
  for (const std::uint64_t prime : base) {
    if (bits_of({prime}) > limit) return {};
    PrimeList longer = digits.back();
    longer.push_back(prime);
    if (bits_of(longer) > limit) digits.emplace_back();
    digits.back().push_back(prime);
  }
  return digits;
}

// Limbs that a switch transforms, six of what reading one takes, converts and multiplies by keys.
double counted_work(double limbs, double special, double digits) {
  const double extended = limbs + special;
  const double up = 6 * (limbs + digits * extended) + 0.5 * limbs * extended;
  const double down = 6 * extended + 2 * limbs + 0.5 * special * limbs;
  return up + 3 * digits * extended + 2 * down;
}

void expect_best_for_products(const rlwe::Parameters& own, std::size_t level, std::size_t most) {
  const PrimeList& base = own.literal().levels[level];
  const PrimeList pool = allowed(own, level, most);
  double least = std::numeric_limits<double>::infinity();
  rlwe::GadgetPrimes best;
  for (std::size_t count = 1; count <= pool.size(); ++count) {
    const PrimeList special(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(count));
    const auto digits = filled(base, bits_of(special) + 0.5L);
    if (digits.empty()) continue;
    const double work = counted_work(static_cast<double>(base.size()), static_cast<double>(count),
                                     static_cast<double>(digits.size()));
    if (work >= least) continue;
    least = work;
    best = {.base = base, .special = special, .digits = digits};
  }
  EXPECT_EQ(product_gadget(own, level, most), best);
}

void expect_fewest_for_rotations(const rlwe::Parameters& own, std::size_t level, std::size_t most) {
  const PrimeList& base = own.literal().levels[level];
  const PrimeList pool = allowed(own, level, most);
  const rlwe::GadgetPrimes gadget = rotation_gadget(own, level, most);
  EXPECT_NO_THROW(rlwe::check_digits(gadget.digits, 0, base));
  std::size_t longest = 0;
  for (const PrimeList& digit : gadget.digits) longest = std::max(longest, digit.size());
  // As few digits as those of all primes that are allowed, and no shorter ones would do for so many.
  const std::size_t length = pool.size() > 1 ? pool.size() - 1 : 1;
  EXPECT_EQ(gadget.digits.size(), (base.size() + length - 1) / length);
  EXPECT_LT((longest - 1) * gadget.digits.size(), base.size());
  EXPECT_EQ(gadget.special.size(), pool.size() > 1 ? longest + 1 : 1);
  EXPECT_TRUE(std::equal(gadget.special.begin(), gadget.special.end(), pool.begin()));
}

TEST(OwnGadgets, HaveTheDigitsThatCostLeast) {
  std::vector<std::pair<std::string, rlwe::Parameters>> cases = {{"short P", with_short_special_primes()}};
  for (const std::string& preset : presets)
    cases.emplace_back(preset, parameters_for_bootstrapping(bootstrap_preset(preset)));
  for (const auto& [name, own] : cases) {
    for (std::size_t level = 0; level < own.levels(); ++level) {
      for (const std::size_t most : {std::size_t{1}, std::size_t{2}, std::size_t{7}, most_special_primes}) {
        SCOPED_TRACE(name + ", level " + std::to_string(level) + ", at most " + std::to_string(most));
        expect_best_for_products(own, level, most);
        expect_fewest_for_rotations(own, level, most);
      }
    }
  }
}

// Ten primes of a level are longer than ten special ones by a millionth of a bit.
TEST(OwnGadgets, DigitsOfProductsAreAsLongAsTheSpecialPrimes) {
  const auto shape_of = [](const std::string& preset, std::size_t limbs) {
    BootstrapSettings settings = bootstrap_preset(preset);
    settings.nested_sine = false;
    if (preset == "n16-40") {
      settings.coefficients_to_slots = {48, 48, 48};
      settings.eval_mod_error = -36.6;
    }
    const rlwe::Parameters own = parameters_for_bootstrapping(settings);
    std::size_t level = own.levels();
    while (own.literal().levels[--level].size() != limbs) {
    }
    const rlwe::GadgetPrimes gadget = product_gadget(own, level, most_special_primes);
    return std::pair(gadget.special.size(), gadget.digits.size());
  };
  EXPECT_EQ(shape_of("n16-40", 23), std::pair(std::size_t{8}, std::size_t{3}));
  EXPECT_EQ(shape_of("n16-40", 22), std::pair(std::size_t{11}, std::size_t{2}));
  EXPECT_EQ(shape_of("n16-40", 20), std::pair(std::size_t{10}, std::size_t{2}));
  EXPECT_EQ(shape_of("n15-31", 14), std::pair(std::size_t{3}, std::size_t{5}));
}

// Single primes above all special ones are digits all the same, with as many special primes as there are.
TEST(OwnGadgets, PrimesLongerThanTheSpecialOnesAreDigits) {
  constexpr std::size_t degree = 1024;
  rlwe::ParametersLiteral literal;
  literal.degree = degree;
  literal.levels = {arith::primes_below(std::uint64_t{1} << 60, 2 * degree, 3, {})};
  literal.special_primes = arith::primes_below(std::uint64_t{1} << 25, 2 * degree, 2, {});
  literal.scale = 0x1p40;
  literal.security.reset();
  const rlwe::Parameters own(std::move(literal));
  const rlwe::GadgetPrimes gadget = product_gadget(own, 0, most_special_primes);
  EXPECT_EQ(gadget.special, own.literal().special_primes);
  EXPECT_EQ(gadget.digits.size(), 3U);
}

// 26 primes of n16-40's top level, two of them short, in three digits of at most 450 - 10 bits; two primes of
// 79 bits below two special ones. Never more digits than equal ones, nor more special primes.
TEST(OwnGadgets, DigitsOfABootstrapsRotationsAreSpread) {
  const rlwe::Parameters usual = parameters_for_bootstrapping(bootstrap_preset("n16-40"));
  const auto shape = [&](std::size_t level) {
    const rlwe::GadgetPrimes gadget = spread_rotation_gadget(usual, level);
    return std::pair(gadget.special.size(), gadget.digits.size());
  };
  const std::size_t top = usual.levels() - 1;
  EXPECT_EQ(shape(top), std::pair(std::size_t{9}, std::size_t{3}));
  EXPECT_EQ(shape(top - 1), std::pair(std::size_t{9}, std::size_t{3}));
  EXPECT_EQ(shape(1), std::pair(std::size_t{2}, std::size_t{1}));
  for (const std::string& preset : presets) {
    const rlwe::Parameters own = parameters_for_bootstrapping(bootstrap_preset(preset));
    for (std::size_t level = 0; level < own.levels(); ++level) {
      SCOPED_TRACE(preset + ", level " + std::to_string(level));
      const rlwe::GadgetPrimes gadget = spread_rotation_gadget(own, level);
      const rlwe::GadgetPrimes equal = rotation_gadget(own, level, most_special_primes);
      EXPECT_NO_THROW(rlwe::check_digits(gadget.digits, 0, own.literal().levels[level]));
      EXPECT_LE(std::pair(gadget.digits.size(), gadget.special.size()),
                std::pair(equal.digits.size(), equal.special.size()));
      if (gadget == equal) continue;
      // No error to speak of beside a division's rounding.
      EXPECT_LT(switching_error(own, gadget, own.max_slots()), division_error(own, own.max_slots()) / 16);
    }
  }
}

// What a client is told of a plan's keys: levels and numbers of special primes.
TEST(OwnGadgets, AreToldByTheirNumberOfSpecialPrimes) {
  for (const std::string& preset : presets) {
    SCOPED_TRACE(preset);
    const rlwe::Parameters own = parameters_for_bootstrapping(bootstrap_preset(preset));
    const int limit = rlwe::max_log_modulus(own.degree(), 128).value_or(std::numeric_limits<int>::max());
    const Bootstrap plan(own, {.slots = 64});
    for (const KeyNeed& need : plan.needed_keys()) {
      if (need.role.to == rlwe::ephemeral_secret || need.role.from == rlwe::ephemeral_secret) continue;
      const auto& levels = own.literal().levels;
      const auto found = std::find(levels.begin(), levels.end(), need.gadget.base);
      ASSERT_NE(found, levels.end());
      const auto level = static_cast<std::size_t>(found - levels.begin());
      if (need.role.power == 1) {
        EXPECT_EQ(spread_rotation_gadget(own, level), need.gadget);
      } else {
        const std::optional<std::size_t> special = own_special_primes(own, need, level);
        ASSERT_TRUE(special);
        EXPECT_EQ(own_gadget(own, need.role.power, level, *special), need.gadget);
      }
      if (own.literal().security) {
        EXPECT_LE(bits_of(need.gadget.base) + bits_of(need.gadget.special), limit);
      }
      for (const PrimeList& base : levels) EXPECT_TRUE(rlwe::lent_primes(need.gadget, base).empty());
    }
  }
}

// Keys of several levels whose digits are far longer than P: primes that a level lacks are lent to it. The
// largest of N coefficients of a switch's error is 4 to 5.5 times the deviation that sigma, N and the digits
// give it, with the rounding of the division.
TEST(OwnGadgets, KeysOfSeveralLevelsHaveTheErrorOfEachLevelsDigits) {
  const rlwe::Parameters own = parameters_for_bootstrapping(bootstrap_preset("test-40"));
  const ckks::Session client(own);
  const auto degree = static_cast<long double>(own.degree());
  const std::uint64_t element = own.galois_element(1);
  std::size_t tested = 0;
  for (const rlwe::GadgetPrimes& gadget : common_product_gadgets(own, {17, 20, 22, 24})) {
    if (gadget.digits.size() > 3 || bits_of(gadget.digits.front()) < bits_of(gadget.special) + 50) continue;
    if (++tested % 3 != 1) continue;
    const auto shared = client.context->gadget(gadget);
    const rlwe::SwitchingKey key = rlwe::generate_galois_key(client.secret, element, shared);
    for (const std::size_t level : {17, 20, 22, 24}) {
      SCOPED_TRACE(std::to_string(gadget.special.size()) + " special primes, level " + std::to_string(level));
      const PrimeList& base = own.literal().levels[level];
      const PrimeList lent = rlwe::lent_primes(gadget, base);
      if (level == 24) {
        ASSERT_FALSE(lent.empty());
      }
      const auto has = [](const PrimeList& primes, std::uint64_t prime) {
        return std::find(primes.begin(), primes.end(), prime) != primes.end();
      };
      long double variance = (1 + 2 * degree / 3) / 12;
      for (const PrimeList& digit : gadget.digits) {
        long double bits = -bits_of(gadget.special) - bits_of(lent);
        std::size_t primes = 0;
        for (const std::uint64_t prime : digit) {
          primes += has(base, prime) ? 1 : 0;
          if (has(base, prime) || has(lent, prime)) bits += std::log2(static_cast<long double>(prime));
        }
        EXPECT_LT(bits, 0.51L);
        variance += degree * own.literal().sigma * own.literal().sigma * static_cast<long double>(primes) /
                    12 * std::exp2(2 * bits);
      }
      rlwe::Metadata meta;
      meta.level = level;
      meta.slots = 1;
      const rlwe::Ciphertext rotated =
          rlwe::apply_galois(rlwe::encrypt_zero(client.secret, meta), element, key);
      const double largest =
          rlwe::largest_coefficient_log2(*client.context, rlwe::decrypt_phase(rotated, client.secret), 1);
      const auto deviation = static_cast<double>(std::log2(variance) / 2);
      EXPECT_GT(largest, deviation + 1.3);
      EXPECT_LT(largest, deviation + 2.5);
      EXPECT_LT(largest, rlwe::switching_noise_log2(*client.context, *shared, level));
    }
  }
  EXPECT_GT(tested, 0U);
}

// Errors of rotations grow by the ratio of digits to P, as the model says, whatever it is.
TEST(OwnGadgets, SwitchesHaveTheErrorOfTheirDigitsRatio) {
  const rlwe::Parameters own = with_short_special_primes();
  constexpr std::size_t slots = 512;
  const ckks::Session client(own);
  const PrimeList& base = own.literal().levels[0];
  const std::uint64_t element = own.galois_element(1);
  for (const auto& [count, excess] : {std::pair<std::size_t, double>{1, 0.5}, {2, 1}, {3, 1.5}, {3, 0}}) {
    SCOPED_TRACE(count);
    const PrimeList& all = own.literal().special_primes;
    const PrimeList special(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    const rlwe::GadgetPrimes gadget{
        .base = base, .special = special, .digits = rlwe::consecutive_digits(base, special, excess)};
    EXPECT_EQ(gadget.digits.front().size(), excess == 0 ? count - 1 : count);
    const double expected = std::hypot(switching_error(own, gadget, slots), division_error(own, slots));
    double sum = 0;
    constexpr std::size_t trials = 4;
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const std::vector<KeyNeed> need = {{rlwe::KeyRole::galois(element), gadget}};
      const ckks::Evaluator evaluator(client.context, generate_needed_keys(client.secret, need));
      const rlwe::Ciphertext x = client.encrypt(ckks::random_values(slots, trial));
      ckks::Values wanted = client.decrypt(x);
      std::rotate(wanted.begin(), wanted.begin() + 1, wanted.end());
      const ckks::Values found = client.decrypt(evaluator.rotate(x, 1));
      for (std::size_t i = 0; i < slots; ++i) sum += std::norm(found[i] - wanted[i]);
    }
    const double measured = std::sqrt(sum / (trials * slots)) * own.literal().scale;
    EXPECT_NEAR(measured / expected, 1, 0.1);
  }
}

}  // namespace
}  // namespace hemera::circuits
