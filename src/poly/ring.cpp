#include "hemera/poly/ring.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <unordered_set>
#include <utility>

#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::poly {

Ring::Ring(std::size_t degree, std::vector<RingModulus> moduli)
    : degree_(degree),
      log_degree_(static_cast<int>(std::bit_width(degree)) - 1),
      moduli_(std::move(moduli)) {}

std::shared_ptr<const Ring> Ring::make(std::size_t degree, std::vector<RingModulus> moduli) {
  if (!std::has_single_bit(degree) || degree < min_degree || degree > max_degree) {
    throw ParameterError("ring degree " + std::to_string(degree) + " is not a power of two from " +
                         std::to_string(min_degree) + " to " + std::to_string(max_degree));
  }
  std::unordered_set<std::uint64_t> seen;
  for (const RingModulus& entry : moduli) {
    const std::uint64_t q = entry.modulus.value();
    if (q < 2 || (q >> arith::max_modulus_bits) != 0) {
      throw ParameterError("modulus " + std::to_string(q) + " is not in [2, 2^" +
                           std::to_string(arith::max_modulus_bits) + ")");
    }
    if (!seen.insert(q).second) {
      throw ParameterError("modulus " + std::to_string(q) + " is in the ring twice; list it once");
    }
    const std::size_t values = entry.values_in(degree);
    if (!std::has_single_bit(values) || values < 2 || values > degree) {
      throw ParameterError(std::to_string(values) + " values modulo " + std::to_string(q) +
                           " are no power of two from 2 to " + std::to_string(degree));
    }
    if (entry.root != 0 && !arith::is_primitive_root(entry.root, 2 * values, entry.modulus)) {
      throw ParameterError(std::to_string(entry.root) + " is no primitive root of unity of order " +
                           std::to_string(2 * values) + " modulo " + std::to_string(q));
    }
  }
  return std::shared_ptr<const Ring>(new Ring(degree, std::move(moduli)));
}

std::uint32_t Ring::index_of(std::uint64_t modulus) const {
  const auto found = std::find_if(moduli_.begin(), moduli_.end(), [modulus](const RingModulus& entry) {
    return entry.modulus.value() == modulus;
  });
  if (found == moduli_.end()) {
    throw ParameterError("the ring of degree " + std::to_string(degree_) + " has no modulus " +
                         std::to_string(modulus) + "; list it when the ring is made");
  }
  return static_cast<std::uint32_t>(found - moduli_.begin());
}

RnsBase::RnsBase(std::shared_ptr<const Ring> ring, std::vector<std::uint32_t> indices)
    : ring_(std::move(ring)), indices_(std::move(indices)) {
  const std::size_t available = ring_ ? ring_->moduli().size() : 0;
  std::vector<bool> seen(available, false);
  for (const std::uint32_t index : indices_) {
    if (index >= available) {
      throw ParameterError("RNS base asks for modulus number " + std::to_string(index) +
                           " of a ring that has " + std::to_string(available));
    }
    if (seen[index]) {
      throw ParameterError("RNS base has the modulus " + std::to_string((*ring_)[index].modulus.value()) +
                           " twice; its moduli must be distinct");
    }
    seen[index] = true;
  }
}

std::vector<std::uint64_t> RnsBase::values() const {
  std::vector<std::uint64_t> result;
  result.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) result.push_back(modulus(i).value());
  return result;
}

double RnsBase::log2() const {
  double sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += std::log2(static_cast<double>(modulus(i).value()));
  return sum;
}

std::vector<std::uint64_t> RnsBase::residues_of_product(const RnsBase& factors) const {
  std::vector<std::uint64_t> products;
  for (std::size_t i = 0; i < size(); ++i) {
    const arith::Modulus& q = modulus(i);
    std::uint64_t product = 1;
    for (const std::uint64_t prime : factors.values()) product = q.multiply(product, q.reduce(prime));
    products.push_back(product);
  }
  return products;
}

bool RnsBase::contains(std::uint32_t ring_index) const {
  return std::find(indices_.begin(), indices_.end(), ring_index) != indices_.end();
}

std::size_t RnsBase::position(std::uint32_t ring_index) const {
  const auto found = std::find(indices_.begin(), indices_.end(), ring_index);
  if (found == indices_.end()) {
    const bool known = ring_ && ring_index < ring_->moduli().size();
    throw MismatchError("RNS base of " + std::to_string(size()) + " moduli does not have modulus number " +
                        std::to_string(ring_index) +
                        (known ? " (" + std::to_string((*ring_)[ring_index].modulus.value()) + ")" : "") +
                        " of its ring; both operands must be over the same base");
  }
  return static_cast<std::size_t>(found - indices_.begin());
}

std::vector<std::uint32_t> RnsBase::positions(const RnsBase& part) const {
  std::vector<std::uint32_t> result;
  result.reserve(part.size());
  if (!part.empty() && part.ring_ != ring_) {
    throw MismatchError("two RNS bases belong to different rings; make both from one context");
  }
  for (const std::uint32_t index : part.indices_)
    result.push_back(static_cast<std::uint32_t>(position(index)));
  return result;
}

RnsBase RnsBase::united(const RnsBase& other) const {
  if (empty()) return other;
  if (!other.empty() && other.ring_ != ring_) {
    throw MismatchError("two RNS bases belong to different rings; make both from one context");
  }
  RnsBase result = *this;
  for (const std::uint32_t index : other.indices_) {
    if (!contains(index)) result.indices_.push_back(index);
  }
  return result;
}

RnsBase RnsBase::without(const RnsBase& other) const {
  RnsBase result = *this;
  std::erase_if(result.indices_,
                [&](std::uint32_t index) { return other.ring_ == ring_ && other.contains(index); });
  return result;
}

RnsBase RnsBase::intersected(const RnsBase& other) const {
  RnsBase result = *this;
  std::erase_if(result.indices_,
                [&](std::uint32_t index) { return other.ring_ != ring_ || !other.contains(index); });
  return result;
}

}  // namespace hemera::poly
