// Ring products by the CPU backend's number-theoretic transforms.
#include <map>
#include <mutex>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/fork.hpp"
#include "hemera/runtime/interruption.hpp"
#include "multiply/engines.hpp"

namespace hemera::multiply {
namespace {

class NttEngine final : public poly::RingMultiplier {
 public:
  [[nodiscard]] std::string_view name() const override { return "ntt"; }

  void tensor_product(runtime::Queue& queue, const poly::PolyView& out, const poly::ConstPolyView& a,
                      const poly::ConstPolyView& b, const poly::RnsBase& base) const override {
    if (queue.device().kind != runtime::Device::Kind::cpu) {
      throw DeviceError("the multiplication engine ntt runs on the CPU, not on " + queue.device().name());
    }
    const poly::Backend& backend = backend_of(base.ring());
    const auto forward = [&](const poly::ConstPolyView& in) {
      poly::Poly values(backend.memory(), in.shape.batch, in.shape.components, base, poly::Form::evaluation);
      backend.forward_transform(queue, values.view(), in, base);
      return values;
    };
    const bool square = a.data == b.data && a.shape == b.shape;
    const poly::Poly left = forward(a);
    const poly::Poly right = square ? poly::Poly() : forward(b);
    const poly::ConstPolyView first = left.view(), second = square ? first : right.view();
    backend.inner_product(queue, out, std::span(&first, 1), std::span(&second, 1), base);
    backend.inverse_transform(queue, out, out, base);
  }

 private:
  const poly::Backend& backend_of(const std::shared_ptr<const poly::Ring>& ring) const {
    const runtime::Uninterrupted locked;
    const std::lock_guard lock(mutex_);
    auto& backend = backends_[ring];
    if (!backend) backend = poly::make_cpu_backend(ring, 1);  // the queue brings the threads
    return *backend;
  }

  mutable runtime::ForkSafeMutex mutex_;
  mutable std::map<std::shared_ptr<const poly::Ring>, std::shared_ptr<const poly::Backend>> backends_;
};

}  // namespace

std::shared_ptr<const poly::RingMultiplier> make_ntt_engine() { return std::make_shared<const NttEngine>(); }

}  // namespace hemera::multiply
