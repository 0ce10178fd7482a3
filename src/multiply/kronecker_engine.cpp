// Ring products by Kronecker substitution and Schonhage-Strassen: each limb is one integer of its own, limbs
// run in parallel (C. Gouert and N. G. Tsoutsos, PolyFHEmus).
#include <algorithm>
#include <string>
#include <vector>

#include "hemera/multiply/integer.hpp"
#include "hemera/multiply/kronecker.hpp"
#include "multiply/diagonal.hpp"
#include "multiply/engines.hpp"
#include "multiply/limb_engine.hpp"

namespace hemera::multiply {
namespace {

using Word = std::uint64_t;

class KroneckerEngine final : public LimbEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "kronecker_ss"; }

 private:
  void prepare(std::size_t, const poly::RingModulus&) const override {}

  void multiply_limb(const Limb& limb, runtime::ThreadPool& pool) const override {
    const arith::Modulus& q = limb.modulus.modulus;
    const std::size_t left = limb.a.size();
    const std::size_t right = limb.b.size();
    const int exponent = kronecker_exponent(q.value() - 1, q.value() - 1, limb.degree * std::min(left, right),
                                            Signedness::unsigned_coefficients);
    const std::size_t words = kronecker_words(limb.degree, exponent);
    runtime::Buffer buffer = scratch((left + right + 4) * words);
    auto* next = reinterpret_cast<Word*>(buffer.data());
    const auto packed = [&](std::span<const Word* const> operands) {
      std::vector<std::span<const Word>> integers;
      for (const Word* operand : operands) {
        const std::span<Word> integer{next, words};
        next += words;
        pack(integer, {operand, limb.degree}, exponent, pool);
        integers.emplace_back(integer);
      }
      return integers;
    };
    const bool square = left == right && std::equal(limb.a.begin(), limb.a.end(), limb.b.begin());
    const auto a = packed(limb.a);
    const auto b = square ? a : packed(limb.b);
    const std::span<Word> sum{next, 2 * words}, product{next + 2 * words, 2 * words};
    for (std::size_t c = 0; c < limb.out.size(); ++c) {
      const Diagonal terms = diagonal(c, left, right);
      multiplier_.multiply(sum, a[terms.first], b[c - terms.first], pool);
      for (std::size_t i = terms.first + 1; i < terms.first + terms.count; ++i) {
        multiplier_.multiply(product, a[i], b[c - i], pool);
        add(sum, product);
      }
      unpack_negacyclic({limb.out[c], limb.degree}, sum, exponent, q, pool);
    }
  }

  static void add(std::span<Word> sum, std::span<const Word> other) {
    Word carry = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const arith::uint128 total = static_cast<arith::uint128>(sum[i]) + other[i] + carry;
      sum[i] = static_cast<Word>(total);
      carry = static_cast<Word>(total >> 64);
    }
  }

  IntegerMultiplier multiplier_;
};

}  // namespace

std::shared_ptr<const poly::RingMultiplier> make_kronecker_engine() {
  return std::make_shared<const KroneckerEngine>();
}

}  // namespace hemera::multiply
