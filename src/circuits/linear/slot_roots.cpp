#include "circuits/linear/slot_roots.hpp"

#include <cstddef>
#include <cstdint>
#include <numbers>

namespace hemera::circuits {

std::vector<std::complex<double>> slot_roots(const rlwe::Parameters& parameters) {
  const std::size_t degree = parameters.degree();
  const std::uint64_t generator = parameters.literal().galois_generator;
  std::vector<std::complex<double>> roots(degree / 2);
  std::uint64_t exponent = 1;
  for (std::complex<double>& root : roots) {
    root = std::polar(1.0, std::numbers::pi * static_cast<double>(exponent) / static_cast<double>(degree));
    exponent = exponent * generator % (2 * degree);
  }
  return roots;
}

}  // namespace hemera::circuits
