#include "circuits/search/residues.hpp"

#include <string>

#include "hemera/runtime/error.hpp"

namespace hemera::circuits::search {

void require_residues(const Query& query, const poly::RnsBase& base) {
  const std::size_t limbs = base.size(), dims = query.dims;
  if (query.count == 0 || query.numbers.size() != query.count * limbs * dims) {
    throw MismatchError("search: " + std::to_string(query.count) + " queries of " + std::to_string(dims) +
                        " numbers over " + std::to_string(limbs) + " primes come with " +
                        std::to_string(query.numbers.size()) +
                        " residues; at least one whole query is needed");
  }
  for (std::size_t i = 0; i < query.numbers.size(); ++i) {
    if (query.numbers[i] >= base.modulus(i / dims % limbs).value()) {
      throw FormatError("search: the query has a number that is no residue");
    }
  }
}

}  // namespace hemera::circuits::search
