// The inverse of the CKKS embedding on the host, to more bits than doubles have.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "hemera/arith/modulus.hpp"

namespace hemera::ckks {

/// The polynomial of 2n coefficients whose slots j (its values at exp(2 pi i 5^j / 4n)) are the n values, a
/// power of two of them, times the scale: to the nearest integers. Long doubles compute it, which on x86 have
/// 64 bits: the error is 2^-62 of the values' root mean square, where doubles leave 2^-52. Coefficients must
/// be below 2^126.
std::vector<arith::int128> precise_coefficients(std::span<const std::complex<double>> values, double scale);

}  // namespace hemera::ckks
