#include "hemera/rlwe/gadget_choice.hpp"

#include <algorithm>
#include <cmath>

#include "hemera/arith/primes.hpp"
#include "hemera/rlwe/gadget.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {
std::optional<GadgetChoice> choose_gadget(std::size_t degree, std::span<const std::uint64_t> primes,
                                          double max_log_modulus, std::size_t digits,
                                          std::span<const std::uint64_t> taken, double margin_bits) {
  if (digits > primes.size()) {
    throw ParameterError("a gadget of " + std::to_string(digits) +
                         " digits needs at least as many primes, not " + std::to_string(primes.size()));
  }
  const std::uint64_t largest = *std::max_element(primes.begin(), primes.end());
  const auto below = [&](int bits) { return largest < (std::uint64_t{1} << bits); };
  const std::uint64_t bound = std::uint64_t{1} << (below(49) ? 49 : below(50) ? 50 : 60);
  std::vector<std::uint64_t> used(primes.begin(), primes.end());
  used.insert(used.end(), taken.begin(), taken.end());
  const auto special = arith::primes_below(bound, 2 * degree, primes.size() + 1, used);
  const double total = arith::log2_product(primes);

  std::size_t previous_group = 0;
  for (std::size_t count = digits == 0 ? 1 : digits; count <= (digits == 0 ? primes.size() : digits);
       ++count) {
    const std::size_t group = (primes.size() + count - 1) / count;
    if (group == previous_group) continue;  // the same special primes as with fewer digits
    previous_group = group;
    GadgetChoice choice;
    choice.digits = equal_digits(primes, count);
    double widest = margin_bits;
    for (const auto& digit : choice.digits)
      widest = std::max(widest, margin_bits + arith::log2_product(digit));
    double product = 0;
    for (const std::uint64_t prime : special) {
      if (product >= widest) break;
      choice.special_primes.push_back(prime);
      product += std::log2(prime);
    }
    if (product >= widest && total + product <= max_log_modulus) return choice;
  }
  return std::nullopt;
}

}  // namespace hemera::rlwe
