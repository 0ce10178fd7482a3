#include "conformance/oracle.hpp"

#include <bit>

#include "hemera/arith/modulus.hpp"

namespace hemera::conformance {

ExactBase::ExactBase(const poly::RnsBase& base) : moduli_(base.values()), product_(arith::product(moduli_)) {
  for (const std::uint64_t a : moduli_) {
    parts_.push_back(product_ / a);
    inverse_.push_back(arith::inverse(arith::modulo(parts_.back(), a), a));
    if (moduli_.size() == 1) inverse_.back() = 1 % a;
    bits_.push_back(static_cast<int>(std::bit_width(a)));
    factor_.push_back(static_cast<std::uint64_t>((BigInteger(1) << (63 + bits_.back())) / a));
  }
}

BigInteger ExactBase::combine(const std::vector<std::uint64_t>& residues) const {
  const std::vector<std::uint64_t> y = scaled(residues);
  BigInteger sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += parts_[i] * y[i];
  return sum % product_;
}

std::vector<std::uint64_t> ExactBase::residues(const BigInteger& value) const {
  std::vector<std::uint64_t> result;
  for (const std::uint64_t a : moduli_) result.push_back(arith::modulo(value, a));
  return result;
}

std::vector<std::uint64_t> ExactBase::scaled(const std::vector<std::uint64_t>& residues) const {
  std::vector<std::uint64_t> y;
  for (std::size_t i = 0; i < size(); ++i) {
    y.push_back(
        static_cast<std::uint64_t>(static_cast<arith::uint128>(residues[i]) * inverse_[i] % moduli_[i]));
  }
  return y;
}

BigInteger ExactBase::approximate(const std::vector<std::uint64_t>& residues) const {
  const std::vector<std::uint64_t> y = scaled(residues);
  BigInteger sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += parts_[i] * centered(y[i], moduli_[i]);
  return sum;
}

BigInteger ExactBase::exact(const std::vector<std::uint64_t>& residues) const {
  if (size() == 1) return centered(residues[0], moduli_[0]);
  const std::vector<std::uint64_t> y = scaled(residues);
  BigInteger sum = 0;
  arith::uint128 quotient = arith::uint128{1} << 63;
  for (std::size_t i = 0; i < size(); ++i) {
    quotient += (static_cast<arith::uint128>(factor_[i]) * y[i]) >> (bits_[i] - 1);
    sum += parts_[i] * y[i];
  }
  return sum - product_ * static_cast<std::uint64_t>(quotient >> 64);
}

bool ExactBase::quotient_is_certain(const BigInteger& x) const {
  if (size() == 1) return true;
  // |2 x - A| / (2 A) >= 3k / 2^64
  const BigInteger distance = abs(2 * (x % product_) - product_);
  return (distance << 63) >= 3 * size() * product_;
}

std::vector<BigInteger> ExactBase::adversarial() const {
  const BigInteger half = product_ / 2;
  const BigInteger window = (3 * size() * product_) >> 64;
  std::vector<BigInteger> values = {0, 1, product_ - 1, half, half + 1, half - 1, half + 2};
  for (const int quarters : {1, 2, 3, 4, 5, 8}) {
    const BigInteger distance = window * quarters / 4 + quarters % 2;
    values.push_back((half + distance) % product_);
    values.push_back(((half - distance) % product_ + product_) % product_);
  }
  std::vector<std::uint64_t> maximal, maximal_scaled;
  for (std::size_t i = 0; i < size(); ++i) {
    maximal.push_back(moduli_[i] - 1);
    // y_i = a_i - 1 for all i.
    maximal_scaled.push_back(arith::modulo(-parts_[i], moduli_[i]));
  }
  values.push_back(combine(maximal));
  values.push_back(combine(maximal_scaled));
  return values;
}

BigInteger centered(const BigInteger& x, const BigInteger& m) {
  BigInteger remainder = x % m;
  if (remainder < 0) remainder += m;
  return 2 * remainder > m ? BigInteger(remainder - m) : remainder;
}

BigInteger floor_divide(const BigInteger& a, const BigInteger& b) {
  BigInteger quotient = a / b;
  if (a % b < 0) --quotient;
  return quotient;
}

BigInteger round_divide(const BigInteger& a, const BigInteger& b) { return floor_divide(2 * a + b, 2 * b); }

Host adversarial(Rig& rig, const poly::RnsBase& base, std::size_t batch, std::size_t components) {
  Host host = rig.random(base, batch, components);
  const ExactBase exact(base);
  const std::vector<BigInteger> values = exact.adversarial();
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t c = 0; c < components; ++c) {
      for (std::size_t n = 0; n < values.size(); ++n) {
        const std::vector<std::uint64_t> residues = exact.residues(values[n]);
        // At the end for every other component, so that the last block is covered too.
        const std::size_t position = c % 2 == 0 ? n : host.shape.degree - 1 - n;
        for (std::size_t l = 0; l < base.size(); ++l) host.at(b, c, l, position) = residues[l];
      }
    }
  }
  return host;
}

Host map_coefficients(const Host& in, const poly::RnsBase& target,
                      const std::function<BigInteger(const std::vector<std::uint64_t>&)>& function) {
  Host out(target, in.shape.batch, in.shape.components);
  for (std::size_t b = 0; b < in.shape.batch; ++b) {
    for (std::size_t c = 0; c < in.shape.components; ++c) {
      for (std::size_t n = 0; n < in.shape.degree; ++n) {
        const BigInteger value = function(in.residues(b, c, n));
        for (std::size_t j = 0; j < target.size(); ++j) {
          out.at(b, c, j, n) = arith::modulo(value, target.modulus(j).value());
        }
      }
    }
  }
  return out;
}

}  // namespace hemera::conformance
