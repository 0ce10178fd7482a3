#include "hemera/rlwe/gadget.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "hemera/arith/modulus.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

using Primes = std::vector<std::uint64_t>;

poly::RnsBase base_of(const poly::ModulusChain& chain, const Primes& primes) {
  const auto& ring = chain.base(0).ring();
  std::vector<std::uint32_t> indices;
  for (const std::uint64_t prime : primes) indices.push_back(ring->index_of(prime));
  return {ring, std::move(indices)};
}

}  // namespace

std::vector<Primes> consecutive_digits(const Primes& primes, const Primes& special, double excess_bits) {
  double limit = excess_bits;
  for (const std::uint64_t prime : special) limit += std::log2(prime);
  std::vector<Primes> digits;
  double used = 0;
  for (const std::uint64_t prime : primes) {
    const double bits = std::log2(prime);
    if (digits.empty() || used + bits > limit) {
      digits.emplace_back();
      used = 0;
    }
    digits.back().push_back(prime);
    used += bits;
  }
  return digits;
}

std::vector<Primes> equal_digits(std::span<const std::uint64_t> primes, std::size_t count) {
  const std::size_t longest = (primes.size() + count - 1) / count;
  const bool is_even = (primes.size() + longest - 1) / longest == count;
  std::vector<Primes> digits;
  std::size_t first = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = is_even ? std::min(longest, primes.size() - first)
                                     : primes.size() / count + (i < primes.size() % count ? 1 : 0);
    const auto digit = primes.subspan(first, size);
    digits.emplace_back(digit.begin(), digit.end());
    first += size;
  }
  return digits;
}

// Digits of a level, of one prime or more: none of a single one may be a multiple of others.
Primes lent_primes(const GadgetPrimes& gadget, const Primes& level) {
  const double special = arith::log2_product(gadget.special);
  const auto is_long = [&](const Primes& digit) {
    return digit.size() > 1 && arith::log2_product(digit) > special + 2 * digit_excess_bits;
  };
  if (gadget.window_bits != 0 || std::none_of(gadget.digits.begin(), gadget.digits.end(), is_long)) return {};
  struct Digit {
    Primes left;         // to be lent, the longest last
    double missing = 0;  // bits by which it is too long for what others have lent
  };
  const std::set<std::uint64_t> own(level.begin(), level.end());
  std::vector<Digit> digits;
  for (const Primes& digit : gadget.digits) {
    Digit& each = digits.emplace_back();
    Primes there;
    for (const std::uint64_t prime : digit) (own.contains(prime) ? there : each.left).push_back(prime);
    each.missing = there.empty() ? 0 : arith::log2_product(there) - special - digit_excess_bits;
    if (there.size() == 1) each.left.clear();
    std::stable_sort(each.left.begin(), each.left.end());
  }
  Primes lent;
  while (true) {
    const auto least = [](const Digit& a, const Digit& b) { return a.missing < b.missing; };
    const auto worst = std::max_element(digits.begin(), digits.end(), least);
    if (worst->missing <= 0) break;
    Digit* lender = nullptr;
    for (Digit& other : digits) {
      if (&other == &*worst || other.left.empty()) continue;
      if (lender == nullptr || lender->left.back() < other.left.back()) lender = &other;
    }
    if (lender == nullptr) return {};
    const std::uint64_t prime = lender->left.back();
    lender->left.pop_back();
    lent.push_back(prime);
    for (Digit& other : digits) {
      if (&other != lender) other.missing -= std::log2(prime);
    }
  }
  return lent;
}

std::size_t key_digits(const Primes& digit, int window_bits) {
  if (window_bits == 0) return 1;
  const auto width = static_cast<std::size_t>(window_bits);
  return (static_cast<std::size_t>(std::bit_width(digit.front())) + width - 1) / width;
}

std::size_t key_digits(const GadgetPrimes& gadget) {
  std::size_t count = 0;
  for (const Primes& digit : gadget.digits) count += key_digits(digit, gadget.window_bits);
  return count;
}

void check_digits(const std::vector<Primes>& digits, int window_bits, const Primes& primes) {
  if (window_bits < 0 || window_bits > arith::max_modulus_bits) {
    throw ParameterError("window_bits " + std::to_string(window_bits) + " is outside [0, 61]");
  }
  Primes members;
  for (const Primes& digit : digits) {
    if (digit.empty()) throw ParameterError("a digit of the key-switching gadget has no primes");
    if (window_bits != 0 && digit.size() != 1) {
      throw ParameterError("a base-2^w gadget needs digits of one prime each, but a digit has " +
                           std::to_string(digit.size()) + "; set window_bits to 0 or split the digits");
    }
    members.insert(members.end(), digit.begin(), digit.end());
  }
  Primes sorted = primes;
  std::sort(sorted.begin(), sorted.end());
  std::sort(members.begin(), members.end());
  if (members != sorted) {
    throw ParameterError(
        "the digits of the key-switching gadget must contain every ciphertext prime exactly once");
  }
}

Gadget::Gadget(const poly::ModulusChain& chain, const GadgetPrimes& primes, poly::RnsBase plain)
    : chain_(chain), primes_(primes), plain_(std::move(plain)) {
  check_digits(primes_.digits, primes_.window_bits, primes_.base);
  const std::set<std::uint64_t> base(primes_.base.begin(), primes_.base.end());
  for (const std::uint64_t prime : primes_.special) {
    if (base.contains(prime)) {
      throw ParameterError("the prime " + std::to_string(prime) +
                           " is special and in the base of one gadget; a key needs it in one place only");
    }
  }
  base_ = base_of(chain_, primes_.base);
  special_ = base_of(chain_, primes_.special);
  modulus_ = base_.united(special_);
  special_residues_ = base_.residues_of_product(special_);
  for (const Primes& digit : primes_.digits) {
    const poly::RnsBase moduli = base_of(chain_, digit);
    const int width = primes_.window_bits;
    const auto windows = static_cast<int>(key_digits(digit, width));
    for (int i = 0; i < windows; ++i) {
      digits_.push_back({.key_digit = digits_.size(), .moduli = moduli, .shift = i * width, .width = width});
    }
  }
  const std::size_t levels = chain_.levels();
  for (std::size_t level = 0; level < levels; ++level) {
    serves_.push_back(chain_.base(level).without(base_).empty());
    if (serves_.back()) highest_level_ = level;
    lent_.push_back(serves_.back() ? base_of(chain_, lent_primes(primes_, chain_.base(level).values()))
                                   : poly::RnsBase());
  }
  if (!serves_[highest_level_]) {
    throw ParameterError("a gadget whose base holds no level of the modulus chain switches nothing");
  }
  mod_up_.resize(levels);
  mod_down_.resize(levels);
}

void Gadget::require(std::size_t level) const {
  if (serves(level)) return;
  throw LevelError("the gadget of the key does not serve level " + std::to_string(level) +
                   ", but levels up to " + std::to_string(highest_level_) +
                   "; drop the ciphertext's level, or make a key for its level");
}

const poly::ModUp& Gadget::mod_up(std::size_t level) const {
  require(level);
  const std::lock_guard lock(mutex_);
  auto& plan = mod_up_[level];
  if (!plan) {
    std::vector<poly::GadgetDigit> digits;
    poly::LentModuli lent{.all = lent_[level]};
    for (poly::GadgetDigit digit : digits_) {
      const poly::RnsBase own_lent = digit.moduli.intersected(lent.all);
      digit.moduli = digit.moduli.intersected(chain_.base(level));
      if (digit.moduli.empty()) continue;
      digits.push_back(std::move(digit));
      lent.of_digits.push_back(own_lent);
    }
    plan = std::make_unique<const poly::ModUp>(chain_.base(level), special_.united(lent_[level]),
                                               std::move(digits), modulus_, std::move(lent));
  }
  return *plan;
}

const poly::Division* Gadget::mod_down(std::size_t level) const { return mod_down(level, level); }

const poly::Division* Gadget::mod_down(std::size_t level, std::size_t target) const {
  require(level);
  if (target > level) {
    throw LevelError("ModDown goes from level " + std::to_string(level) + " down, not up to level " +
                     std::to_string(target));
  }
  if (special_.empty() && lent_[level].empty() && target == level) return nullptr;
  const std::lock_guard lock(mutex_);
  auto& plans = mod_down_[level];
  plans.resize(level + 1);
  auto& plan = plans[target];
  if (!plan) {
    plan = std::make_unique<const poly::Division>(chain_.base(level).united(special_).united(lent_[level]),
                                                  chain_.base(target), plain_);
  }
  return plan.get();
}

const std::vector<std::uint64_t>& Gadget::special_residues(std::size_t level) const {
  return mod_up(level).special_residues();
}

std::size_t Gadget::cost(std::size_t level) const {
  return mod_up(level).digits().size() * mod_up(level).extended().size();
}

}  // namespace hemera::rlwe
