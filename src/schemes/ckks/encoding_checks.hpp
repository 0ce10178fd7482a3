// The checks of values before they are encoded.
#pragma once

#include <span>

#include "hemera/rlwe/context.hpp"
#include "hemera/schemes/ckks.hpp"

namespace hemera::ckks {

/// The largest magnitude; not finite if a number is not.
double largest_magnitude(std::span<const double> numbers);
/// Throws MismatchError unless these are this many rows of 1 to `slots` numbers.
void require_rows(const HostRows<const double>& values, std::size_t rows, std::size_t slots);
/// The largest coefficient over the scale that decoding a decryption accepts.
double range_limit(const rlwe::Context& context, const rlwe::Metadata& meta);
/// Throws ParameterError for a bound of magnitudes below 0.
void declare(rlwe::Metadata& meta, double largest);
/// Throws ParameterError where values exceed their declared bound. `part`: the largest magnitude of a real or
/// imaginary part.
void require_at_most(const HostRows<const double>& values, double part, double bound);
/// Throws ParameterError where values of this size do not fit the base.
void require_fits(double largest, const rlwe::Metadata& meta, const poly::RnsBase& base);
/// Throws ParameterError where values of this size do not fit the lowest level, where every circuit may end:
/// a double has few bits left for smaller values next to them.
void require_fits_lowest(double largest, const rlwe::Context& context);

}  // namespace hemera::ckks
