// Ring products by discrete Galois transforms.
#include <algorithm>
#include <vector>

#include "hemera/multiply/galois_transform.hpp"
#include "multiply/engines.hpp"
#include "multiply/limb_engine.hpp"

namespace hemera::multiply {
namespace {

class DgtEngine final : public LimbEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "dgt"; }

 private:
  void prepare(std::size_t degree, const poly::RingModulus& modulus) const override {
    (void)transform(degree, modulus);
  }

  void multiply_limb(const Limb& limb, runtime::ThreadPool&) const override {
    const GaloisTransform& dgt = transform(limb.degree, limb.modulus);
    const std::size_t left = limb.a.size();
    const std::size_t right = limb.b.size();
    // A square transforms its components once.
    const bool square = left == right && std::equal(limb.a.begin(), limb.a.end(), limb.b.begin());
    runtime::Buffer buffer = scratch((left + (square ? 0 : right) + 1) * limb.degree);
    auto* next = reinterpret_cast<std::uint64_t*>(buffer.data());
    const auto transformed = [&](std::span<const std::uint64_t* const> operands) {
      std::vector<const std::uint64_t*> values;
      for (const std::uint64_t* operand : operands) {
        dgt.forward(next, operand);
        values.push_back(next);
        next += limb.degree;
      }
      return values;
    };
    const auto a = transformed(limb.a);
    auto b = square ? a : transformed(limb.b);
    std::reverse(b.begin(), b.end());  // then the terms of a component are two rows of neighbours
    for (std::size_t c = 0; c < left + right - 1; ++c) {
      const Diagonal terms = diagonal(c, left, right);
      dgt.sum_of_products(next, a.data() + terms.first, b.data() + (right - 1 + terms.first - c),
                          terms.count);
      dgt.inverse(limb.out[c], next);
    }
  }

  const GaloisTransform& transform(std::size_t degree, const poly::RingModulus& modulus) const {
    const std::uint64_t p = modulus.modulus.value();
    return transforms_.get(degree, p, [&] { return make_galois_transform(degree, p, modulus.root); });
  }

  PerModulus<GaloisTransform> transforms_;
};

}  // namespace

std::shared_ptr<const poly::RingMultiplier> make_dgt_engine() { return std::make_shared<const DgtEngine>(); }

}  // namespace hemera::multiply
