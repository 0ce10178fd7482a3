// The canonical bytes of parameters, in every version of the format.
#pragma once

#include "hemera/rlwe/parameters.hpp"
#include "hemera/runtime/bytes.hpp"

namespace hemera::rlwe {

/// The part of the bytes that the fingerprint covers.
void write_compatible(const ParametersLiteral& literal, runtime::ByteWriter& out);

}  // namespace hemera::rlwe
