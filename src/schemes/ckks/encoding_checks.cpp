#include "schemes/ckks/encoding_checks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string>

#include "hemera/runtime/error.hpp"
#include "runtime/decimal.hpp"

namespace hemera::ckks {

// Compares bit patterns, which order like magnitudes; four at a time, which do not wait for each other.
double largest_magnitude(std::span<const double> numbers) {
  constexpr std::uint64_t magnitude = ~(std::uint64_t{1} << 63);
  std::array<std::uint64_t, 4> largest{};
  const auto take = [&](std::size_t lane, double number) {
    largest[lane] = std::max(largest[lane], std::bit_cast<std::uint64_t>(number) & magnitude);
  };
  std::size_t i = 0;
  for (; i + largest.size() <= numbers.size(); i += largest.size()) {
    for (std::size_t lane = 0; lane < largest.size(); ++lane) take(lane, numbers[i + lane]);
  }
  for (; i < numbers.size(); ++i) take(0, numbers[i]);
  return std::bit_cast<double>(*std::ranges::max_element(largest));
}

void require_rows(const HostRows<const double>& values, std::size_t rows, std::size_t slots) {
  const std::size_t doubles = rows * values.count * (values.is_complex ? 2 : 1);
  if (values.count != 0 && values.count <= slots && values.doubles.size() == doubles) return;
  throw MismatchError("encode: " + std::to_string(values.doubles.size()) + " doubles are not " +
                      std::to_string(rows) + " rows of " + std::to_string(values.count) + " numbers, 1 to " +
                      std::to_string(slots) + " a row");
}

void declare(rlwe::Metadata& meta, double largest) {
  if (!(largest >= 0)) {
    throw ParameterError("encode: largest, a bound of magnitudes, must be at least 0, not " +
                         decimal(largest));
  }
  meta.largest = largest;
}

void require_at_most(const HostRows<const double>& values, double part, double bound) {
  if (!std::isfinite(bound)) return;
  double largest = part * part;  // squared
  if (values.is_complex && 2 * largest > bound * bound) {
    for (std::size_t i = 0; i < values.doubles.size(); i += 2) {
      largest = std::max(largest, std::norm(std::complex<double>(values.doubles[i], values.doubles[i + 1])));
    }
  }
  if (largest <= bound * bound * (1 + 0x1p-50)) return;
  throw ParameterError("encode: a value of magnitude " + decimal(std::sqrt(largest)) +
                       " exceeds the declared bound " + decimal(bound) + "; use smaller values, or " +
                       Message(WayOut::larger_bound, "parameters with a larger bound"));
}

void require_fits(double largest, const rlwe::Metadata& meta, const poly::RnsBase& base) {
  const double bits = base.log2();
  if (largest == 0 || std::log2(largest) + std::log2(meta.scale) + 1 <= bits) return;
  throw ParameterError("encode: a value of magnitude " + decimal(largest) + " at scale 2^" +
                       decimal(std::log2(meta.scale)) + " does not fit the " + decimal(bits) +
                       " bits of level " + std::to_string(meta.level) +
                       "; use smaller values, a smaller scale or more range_bits");
}

void require_fits_lowest(double largest, const rlwe::Context& context) {
  rlwe::Metadata lowest;
  lowest.level = context.parameters().lowest_user_level();
  lowest.scale = context.scales().level_scale(lowest.level);
  require_fits(largest, lowest, context.base(lowest.level));
}

}  // namespace hemera::ckks
