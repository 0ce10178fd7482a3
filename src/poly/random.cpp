#include "hemera/poly/random.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstring>
#include <string>

#include "hemera/runtime/error.hpp"
#include "runtime/entropy.hpp"

namespace hemera::poly {
namespace {

// 400 bits: entries need 64 and the sums below lose less than 20.
using WideReal = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<400, boost::multiprecision::digit_base_2>,
    boost::multiprecision::et_off>;

}  // namespace

Seed Seed::fresh() {
  Seed seed;
  if (const int failure = runtime::system_entropy(seed.bytes); failure != 0) {
    throw DeviceError("the operating system gave no random bytes for a seed (" +
                      std::string(std::strerror(failure)) +
                      "); Hemera does not encrypt without: allow getrandom(2) to this process");
  }
  return seed;
}

ErrorDistribution::ErrorDistribution(double sigma) : sigma_(sigma) {
  if (!(sigma >= 0.5 && sigma <= 20)) {
    throw ParameterError("an error distribution of deviation " + std::to_string(sigma) +
                         "; choose a deviation from 0.5 to 20");
  }
  // weight(m) = exp(-m^2 / (2 sigma^2)) by weight(m + 1) = weight(m) ratio(m), ratio(m + 1) = ratio(m)
  // ratio(0)^2.
  const WideReal first_ratio = exp(-1 / (2 * WideReal(sigma) * WideReal(sigma)));
  const WideReal square = first_ratio * first_ratio;
  const WideReal negligible = ldexp(WideReal(1), -300);
  WideReal total = 1;  // over all integers
  WideReal ratio = first_ratio;
  for (WideReal weight = first_ratio; weight > negligible; weight *= ratio) {
    total += 2 * weight;
    ratio *= square;
  }

  const WideReal scale = ldexp(WideReal(1), 63);
  const WideReal half = WideReal(1) / 2;
  WideReal inside = 1;  // over |e| <= m
  WideReal weight = 1;
  ratio = first_ratio;
  for (;;) {
    const WideReal entry = floor(scale * inside / total + half);
    if (entry >= scale) break;
    // For sigma <= 20 the last entry is at m = 183.
    table_[size_++] = static_cast<std::uint64_t>(entry);
    weight *= ratio;
    ratio *= square;
    inside += 2 * weight;
  }
}

}  // namespace hemera::poly
