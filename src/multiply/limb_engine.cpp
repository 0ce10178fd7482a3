#include "multiply/limb_engine.hpp"

#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/queue.hpp"
#include "poly/shapes.hpp"

namespace hemera::multiply {

void LimbEngine::tensor_product(runtime::Queue& queue, const poly::PolyView& out,
                                const poly::ConstPolyView& a, const poly::ConstPolyView& b,
                                const poly::RnsBase& base) const {
  auto* cpu = dynamic_cast<runtime::CpuQueue*>(&queue);
  if (cpu == nullptr) {
    throw DeviceError("the multiplication engine " + std::string(name()) + " runs on the CPU, not on " +
                      queue.device().name() + "; make the context on 'cpu', or without a multiplier");
  }
  const char* operation = "ring product";
  poly::check_view(operation, "output", out, base);
  poly::check_view(operation, "a", a, base);
  poly::check_view(operation, "b", b, base);
  const std::size_t left = a.shape.components;
  const std::size_t right = b.shape.components;
  poly::check_count(operation, "components of the output", out.shape.components, left + right - 1);
  poly::PolyShape one = out.shape;
  one.components = 1;
  poly::check_broadcast(operation, "a", a.components(0, 1).shape, one);
  poly::check_broadcast(operation, "b", b.components(0, 1).shape, one);
  const std::size_t limbs = base.size();
  const auto modulus_of = [&](std::size_t l) -> const poly::RingModulus& {
    return (*base.ring())[base.index(l)];
  };
  for (std::size_t l = 0; l < limbs; ++l) prepare(out.shape.degree, modulus_of(l));

  runtime::ThreadPool& pool = cpu->pool();
  const auto task = [&](std::size_t index) {
    const std::size_t i = index / limbs;
    const std::size_t l = index % limbs;
    std::vector<std::uint64_t*> to;
    std::vector<const std::uint64_t*> from_a, from_b;
    for (std::size_t c = 0; c < left + right - 1; ++c) to.push_back(out.limb<std::uint64_t>(i, c, l));
    for (std::size_t c = 0; c < left; ++c) from_a.push_back(a.limb<std::uint64_t>(i, c, l));
    for (std::size_t c = 0; c < right; ++c) from_b.push_back(b.limb<std::uint64_t>(i, c, l));
    multiply_limb({to, from_a, from_b, out.shape.degree, modulus_of(l)}, pool);
  };
  // A single task keeps the threads to itself.
  if (out.shape.batch * limbs == 1) {
    task(0);
  } else {
    pool.parallel_for(out.shape.batch * limbs, task);
  }
}

}  // namespace hemera::multiply
