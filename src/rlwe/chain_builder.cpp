#include "hemera/rlwe/chain_builder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
namespace {

using Primes = std::vector<std::uint64_t>;

constexpr int full_bits = 50;
constexpr std::uint64_t full_bound = std::uint64_t{1} << full_bits;
constexpr double negligible_bits = 0x1p-4;

// Sizes of a level's adjusting primes, in units of 2^-4 bits, so that equal rests share their primes.
using Size = long;
Size size_of(double bits) { return std::lround(bits * 16); }

class Builder {
 public:
  Builder(std::size_t degree, std::span<const std::uint64_t> taken)
      : degree_(degree),
        least_bits_(std::max(20, std::countr_zero(2 * degree) + 8)),
        taken_(taken.begin(), taken.end()) {}

  Primes level(double bits) {
    auto full = static_cast<std::size_t>(std::floor((bits + negligible_bits) / full_bits));
    const double rest = bits - static_cast<double>(full) * full_bits;
    Primes adjusting;
    if (rest > negligible_bits) {
      if (rest >= least_bits_) {
        adjusting = {adjuster(rest, 0)};
      } else if (full > 0 && full_bits + rest >= 2 * least_bits_) {
        --full;
        adjusting = {adjuster((full_bits + rest) / 2, 0), adjuster((full_bits + rest) / 2, 1)};
      } else {
        throw ParameterError("a level of " + std::to_string(bits) + " bits has no primes at degree " +
                             std::to_string(degree_) + ", where they have " + std::to_string(least_bits_) +
                             " bits at least; use more bits");
      }
    }
    while (full_.size() < full) full_.push_back(next_below(full_bound));
    Primes primes(full_.begin(), full_.begin() + static_cast<std::ptrdiff_t>(full));
    primes.insert(primes.end(), adjusting.begin(), adjusting.end());
    return primes;
  }

 private:
  std::uint64_t next_below(std::uint64_t limit) {
    return take(arith::primes_below(limit, 2 * degree_, 1, taken_), full_bits);
  }
  // The `index`-th prime of a size.
  std::uint64_t adjuster(double bits, std::size_t index) {
    Primes& primes = adjusters_[size_of(bits)];
    while (primes.size() <= index) {
      primes.push_back(take(
          arith::primes_nearest(std::exp2(bits), 2 * degree_, 1, 2 * degree_, full_bound, taken_), bits));
    }
    return primes[index];
  }
  std::uint64_t take(const Primes& found, double bits) {
    if (found.empty()) {
      throw ParameterError("there is no NTT prime left of about " + std::to_string(std::lround(bits)) +
                           " bits for degree " + std::to_string(degree_) +
                           "; use fewer levels or another degree");
    }
    taken_.push_back(found.front());
    return found.front();
  }

  std::size_t degree_;
  int least_bits_;
  Primes taken_;
  Primes full_;
  std::map<Size, Primes> adjusters_;
};

}  // namespace

std::vector<Primes> build_chain(std::size_t degree, double last_bits, std::span<const double> drops,
                                std::span<const std::uint64_t> taken) {
  Builder builder(degree, taken);
  double bits = last_bits;
  std::vector<Primes> levels = {builder.level(bits)};
  for (const double drop : drops) {
    if (!(drop > 0) || !std::isfinite(drop)) {
      throw ParameterError("a level must drop more than 0 bits, not " + std::to_string(drop));
    }
    bits += drop;
    levels.push_back(builder.level(bits));
  }
  return levels;
}

}  // namespace hemera::rlwe
