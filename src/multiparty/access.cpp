#include "hemera/multiparty/access.hpp"

#include <string>

#include "hemera/runtime/error.hpp"

namespace hemera::multiparty {
namespace {

// All sets of `size` of the members `first` to `members` - 1, added to `chosen`, in lexicographic order.
void choose(std::size_t first, std::size_t members, std::size_t size, std::uint32_t chosen,
            std::vector<std::uint32_t>& sets) {
  if (size == 0) {
    sets.push_back(chosen);
    return;
  }
  for (std::size_t m = first; m + size <= members; ++m) {
    choose(m + 1, members, size - 1, chosen | (std::uint32_t{1} << m), sets);
  }
}

}  // namespace

Access::Access(std::size_t members, std::size_t threshold) : members_(members), threshold_(threshold) {
  if (members < 1 || members > most_members) {
    throw ParameterError("a committee has 1 to " + std::to_string(most_members) + " members, not " +
                         std::to_string(members) + "; let the others be contributors");
  }
  if (threshold < 1 || threshold > members) {
    throw ParameterError("the threshold of a committee of " + std::to_string(members) + " is from 1 to " +
                         std::to_string(members) + ", not " + std::to_string(threshold));
  }
  choose(0, members, threshold - 1, 0, lacking_);
  if (lacking_.size() > most_pieces) {
    throw ParameterError(std::to_string(threshold) + " of " + std::to_string(members) + " takes " +
                         std::to_string(lacking_.size()) + " pieces, more than " +
                         std::to_string(most_pieces) + "; choose a smaller committee");
  }
}

bool Access::holds(std::size_t member, std::size_t piece) const {
  if (member >= members_ || piece >= pieces()) {
    throw ParameterError("there is no member " + std::to_string(member) + " or no piece " +
                         std::to_string(piece) + " in a committee of " + std::to_string(members_) + " with " +
                         std::to_string(pieces()) + " pieces");
  }
  return (lacking_[piece] >> member & 1U) == 0;
}

std::vector<std::size_t> Access::held_by(std::size_t member) const {
  std::vector<std::size_t> held;
  for (std::size_t piece = 0; piece < pieces(); ++piece) {
    if (holds(member, piece)) held.push_back(piece);
  }
  return held;
}

std::vector<std::size_t> Access::holders(std::size_t piece) const {
  std::vector<std::size_t> found;
  for (std::size_t member = 0; member < members_; ++member) {
    if (holds(member, piece)) found.push_back(member);
  }
  return found;
}

}  // namespace hemera::multiparty
