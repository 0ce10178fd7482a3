// Ring products by N^2 products of coefficients: what the other engines are tested with.
#include <algorithm>

#include "multiply/diagonal.hpp"
#include "multiply/engines.hpp"
#include "multiply/limb_engine.hpp"

namespace hemera::multiply {
namespace {

using arith::uint128;

class SchoolbookEngine final : public LimbEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "schoolbook"; }

 private:
  void prepare(std::size_t, const poly::RingModulus&) const override {}

  void multiply_limb(const Limb& limb, runtime::ThreadPool& pool) const override {
    const std::size_t degree = limb.degree;
    const arith::Modulus& q = limb.modulus.modulus;
    constexpr std::size_t block = 64;
    for (std::size_t c = 0; c < limb.out.size(); ++c) {
      const Diagonal terms = diagonal(c, limb.a.size(), limb.b.size());
      pool.parallel_for((degree + block - 1) / block, [&](std::size_t number) {
        for (std::size_t n = number * block; n < std::min(degree, (number + 1) * block); ++n) {
          std::uint64_t sum = 0;
          for (std::size_t i = terms.first; i < terms.first + terms.count; ++i) {
            sum = q.add(sum, coefficient(limb.a[i], limb.b[c - i], n, degree, q));
          }
          limb.out[c][n] = sum;
        }
      });
    }
  }

  // Coefficient n of a product: the sum of a_j b_(n - j) minus that of a_j b_(N + n - j).
  static std::uint64_t coefficient(const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
                                   std::size_t degree, const arith::Modulus& q) {
    return q.subtract(sum(a, b + n, n + 1, q), sum(a + n + 1, b + degree - 1, degree - 1 - n, q));
  }

  // The sum of a[j] b[-j] for j < count.
  static std::uint64_t sum(const std::uint64_t* a, const std::uint64_t* b, std::size_t count,
                           const arith::Modulus& q) {
    constexpr std::size_t together = 32;  // products below 2^122 that fit 128 bits with a residue
    uint128 total = 0;
    for (std::size_t first = 0; first < count; first += together) {
      const std::size_t end = std::min(count, first + together);
      for (std::size_t j = first; j < end; ++j) {
        total += static_cast<uint128>(a[j]) * *(b - static_cast<std::ptrdiff_t>(j));
      }
      total = q.reduce(total);
    }
    return static_cast<std::uint64_t>(total);
  }
};

}  // namespace

std::shared_ptr<const poly::RingMultiplier> make_schoolbook_engine() {
  return std::make_shared<const SchoolbookEngine>();
}

}  // namespace hemera::multiply
