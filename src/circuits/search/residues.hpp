// Whether a query's numbers are residues.
#pragma once

#include "hemera/circuits/search/query.hpp"
#include "hemera/poly/ring.hpp"

namespace hemera::circuits::search {

/// Throws MismatchError unless there is a query, and numbers as many as the extents have; FormatError for a
/// number that is no residue.
void require_residues(const Query& query, const poly::RnsBase& base);

}  // namespace hemera::circuits::search
