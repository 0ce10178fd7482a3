// Ring products by Kronecker substitution and Schonhage-Strassen: each limb is one integer of its own, limbs
// run in parallel (C. Gouert and N. G. Tsoutsos, PolyFHEmus).
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
    const int exponent = kronecker_exponent(q.value() - 1, q.value() - 1, limb.degree * std::min(left, right),
                                            Signedness::unsigned_coefficients);
    const std::size_t words = kronecker_words(limb.degree, exponent);
    const std::size_t product_words = 2 * words + 1;
    runtime::Buffer buffer = scratch((left + right) * words + (left + right - 1) * product_words);
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
    std::vector<std::span<Word>> products;
    for (std::size_t c = 0; c < limb.out.size(); ++c, next += product_words) {
      products.emplace_back(next, product_words);
    }
    multiplier_.tensor_product(products, a, b, pool);
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
