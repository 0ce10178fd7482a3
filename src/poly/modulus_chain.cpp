#include "hemera/poly/modulus_chain.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hemera/arith/big_integer.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::poly {
namespace {

using Primes = std::vector<std::uint64_t>;

// The primes of `all` that `others` lacks, in order.
Primes without(Primes all, const Primes& others) {
  std::erase_if(all, [&](std::uint64_t prime) {
    return std::find(others.begin(), others.end(), prime) != others.end();
  });
  return all;
}

}  // namespace

double modulus_ratio(const Primes& from, const Primes& to) {
  double ratio = 1;
  // Factors in turn, so that the partial products stay far from overflow.
  const Primes dropped = without(from, to);
  const Primes added = without(to, from);
  for (std::size_t i = 0; i < dropped.size() || i < added.size(); ++i) {
    if (i < dropped.size()) ratio *= static_cast<double>(dropped[i]);
    if (i < added.size()) ratio /= static_cast<double>(added[i]);
  }
  return ratio;
}

ModulusChain::ModulusChain(std::vector<RnsBase> bases) : bases_(std::move(bases)) {
  if (bases_.empty()) throw ParameterError("a modulus chain needs at least one base");
  arith::BigInteger lower = 0;
  for (std::size_t level = 0; level < bases_.size(); ++level) {
    const RnsBase& base = bases_[level];
    if (base.empty()) {
      throw ParameterError("the base of level " + std::to_string(level) + " of a modulus chain is empty");
    }
    if (base.ring() != bases_.front().ring()) {
      throw ParameterError("the bases of levels 0 and " + std::to_string(level) +
                           " of a modulus chain belong to different rings");
    }
    arith::BigInteger product = arith::product(base.values());
    if (product <= lower) {
      throw ParameterError("the modulus of level " + std::to_string(level) +
                           " is not larger than that of level " + std::to_string(level - 1) +
                           "; every level down must make the modulus smaller");
    }
    lower = std::move(product);
  }
  union_ = bases_.back();
  for (std::size_t level = bases_.size() - 1; level-- > 0;) union_ = union_.united(bases_[level]);
}

double ModulusChain::ratio(std::size_t level) const {
  if (level == 0) throw LevelError("level 0 is the last one; nothing is rescaled there");
  return modulus_ratio(base(level).values(), base(level - 1).values());
}

void ModulusChain::throw_no_level(std::size_t level) const {
  throw LevelError(
      "there is no level " + std::to_string(level) +
      (bases_.empty() ? ", as the chain is empty" : "; the top level is " + std::to_string(top())));
}

}  // namespace hemera::poly
