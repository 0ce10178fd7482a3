// Ring products by discrete Galois transforms.
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
    const std::size_t words = dgt.tensor_scratch(limb.a.size(), limb.b.size());
    runtime::Buffer buffer = scratch(words);
    dgt.tensor_product(limb.out, limb.a, limb.b, {reinterpret_cast<std::uint64_t*>(buffer.data()), words});
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
