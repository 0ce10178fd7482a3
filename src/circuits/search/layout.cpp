#include <bit>
#include <cmath>
#include <string>

#include "hemera/circuits/search/query.hpp"
#include "hemera/rlwe/gadget.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::circuits::search {

rlwe::Parameters parameters(bool exact) {
  // Below 2^48 residues of queries and answers take six bytes; below 2^50 transforms are fastest.
  if (exact) {
    return ckks::parameters_from_bits(
        {.degree = 8192, .prime_bits = {48, 48}, .special_bits = {50}, .scale = 0x1p40});
  }
  return ckks::parameters_from_bits(
      {.degree = 4096, .prime_bits = {48}, .special_bits = {50}, .scale = 0x1p30});
}

QueryLayout::QueryLayout(std::size_t ring_degree, std::size_t numbers)
    : degree(ring_degree), dims(numbers), stride(1) {
  if (dims < 1 || dims > degree) {
    throw ParameterError("search: vectors of " + std::to_string(dims) + " numbers; a ring of degree " +
                         std::to_string(degree) + " has room for 1 to " + std::to_string(degree));
  }
  stride = degree / std::bit_ceil(dims);
}

std::vector<std::uint64_t> galois_elements(std::size_t degree) {
  std::vector<std::uint64_t> elements;
  for (std::size_t step = degree; step > 1; step /= 2) elements.push_back(step + 1);
  return elements;
}

double noise_deviation(const rlwe::Parameters& parameters, const NoiseSources& sources) {
  const double degree = static_cast<double>(parameters.degree());
  const double sigma = parameters.literal().sigma;
  const std::size_t top = parameters.levels() - 1;
  const rlwe::GadgetPrimes gadget = parameters.default_gadget(top);
  // A rounding to integers in both components; uniform ternary secrets have 2 N / 3 coefficients.
  const double rounding = (1 + 2 * degree / 3) / 12;
  double digits = 0;  // |digit|^2 / P^2
  for (const auto& digit : gadget.digits) {
    double ratio = std::exp2(-parameters.log_special());
    for (const std::uint64_t prime : digit) ratio *= static_cast<double>(prime);
    digits += ratio * ratio;
  }
  const double switching = rounding + degree * sigma * sigma * digits / 12;
  const double own = (degree * degree - 1) / 3, others = 2 * (degree + 1) / 3 - 1;
  double variance =
      sigma * sigma * sources.row_square +
      switching * (own * sources.row_square + others * (sources.block_square - sources.row_square));
  if (sources.encrypted.has_value()) {
    const EncryptedSources& rows = *sources.encrypted;
    const double of_rows = rows.messages * sigma * sigma;
    if (rows.dims == 0) {
      variance = of_rows * rows.query_square;
    } else {
      const double of_query = sigma * sigma + switching * degree * (degree - 1);
      variance = rows.row_scale * rows.row_scale * variance +
                 of_rows * (rows.query_square + static_cast<double>(rows.dims) * of_query) + switching;
    }
  }
  for (std::size_t level = top; level > 0; --level) {
    const double ratio = parameters.ratio(level);
    variance = variance / (ratio * ratio) + rounding;
  }
  const double dropped = std::exp2(sources.dropped_bits);
  if (sources.dropped_bits > 0) variance += dropped * dropped * rounding;
  return std::sqrt(variance);
}

}  // namespace hemera::circuits::search
