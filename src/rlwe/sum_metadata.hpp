// The metadata of sums.
#pragma once

#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/metadata.hpp"

namespace hemera::rlwe {

/// Metadata of the sum or difference of two aligned ciphertexts. `operation` is for the error of batches that
/// do not fit.
Metadata sum_metadata(const Context& context, const Metadata& a, const Metadata& b, const char* operation);

/// Adds an addend's metadata to those of a sum of extended ciphertexts. Throws ScaleError unless they are
/// aligned.
void join_sum(const Context& context, Metadata& sum, const Metadata& addend);

}  // namespace hemera::rlwe
