// The rule by which operands are refreshed.
#pragma once

#include <cstddef>

#include "hemera/schemes/ckks.hpp"

namespace hemera::ckks {

/// Whether Evaluator::refreshed gives a ciphertext with this metadata a refresh. It follows neither from the
/// shape of the batch nor from the magnitude.
bool needs_refresh(const rlwe::Context& context, const Evaluator::Refresh& refresh, const rlwe::Metadata& a,
                   std::size_t levels, double result);

}  // namespace hemera::ckks
