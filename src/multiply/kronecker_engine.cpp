// Ring products by Kronecker substitution and Schonhage-Strassen: each limb is one integer of its own, limbs
// run in parallel (C. Gouert and N. G. Tsoutsos, PolyFHEmus). X^N = -1 is 2^(N e) = -1 at X = 2^e, so that
// the integers are multiplied modulo 2^(N e) + 1.
#include <algorithm>
#include <vector>

#include "hemera/multiply/integer.hpp"
#include "hemera/multiply/kronecker.hpp"
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
    // The coefficients of the product are signed: what wraps is subtracted. The exponent is rounded up to one
    // for which 2^(N exponent) + 1 has a transform.
    const int least = kronecker_exponent(q.value() - 1, q.value() - 1, limb.degree * std::min(left, right),
                                         Signedness::signed_coefficients);
    const std::size_t modulus_exponent =
        plan_product_modulo(limb.degree * static_cast<std::size_t>(least), limb.degree, left, right)
            .modulus_exponent();
    const int exponent = static_cast<int>(modulus_exponent / limb.degree);
    const std::size_t words = modulus_exponent / 64 + 1;
    runtime::Buffer buffer = scratch((left + right + limb.out.size()) * words);
    auto* next = reinterpret_cast<Word*>(buffer.data());
    const auto packed = [&](std::span<const Word* const> operands) {
      std::vector<std::span<const Word>> integers;
      for (const Word* operand : operands) {
        const std::span<Word> integer{next, words};
        next += words;
        pack(integer.first(words - 1), {operand, limb.degree}, exponent, pool);
        integer.back() = 0;
        integers.emplace_back(integer);
      }
      return integers;
    };
    const bool square = left == right && std::equal(limb.a.begin(), limb.a.end(), limb.b.begin());
    const auto a = packed(limb.a);
    const auto b = square ? a : packed(limb.b);
    std::vector<std::span<Word>> products;
    for (std::size_t c = 0; c < limb.out.size(); ++c, next += words) products.emplace_back(next, words);
    multiplier_.tensor_product_modulo(products, a, b, modulus_exponent, pool);
    for (std::size_t c = 0; c < limb.out.size(); ++c) {
      unpack_negacyclic({limb.out[c], limb.degree}, products[c], exponent, q, pool);
    }
  }

  IntegerMultiplier multiplier_;
};

}  // namespace

std::shared_ptr<const poly::RingMultiplier> make_kronecker_engine() {
  return std::make_shared<const KroneckerEngine>();
}

}  // namespace hemera::multiply
