#include "schemes/bfv/rules.hpp"

#include "schemes/bfv/noise.hpp"

namespace hemera::bfv {
namespace {

using rlwe::Context;
using rlwe::Metadata;

class BfvRules final : public integer::Rules {
 public:
  [[nodiscard]] rlwe::Scheme scheme() const override { return rlwe::Scheme::bfv; }

  // Modulo Q, (Q m - [Q m]_t) / t is [Q m]_t times -t^-1.
  [[nodiscard]] integer::Placement placement(const Context& context, const Metadata& meta) const override {
    const arith::Modulus& t = context.plain_base().modulus(0);
    const poly::RnsBase& base = context.base(meta.level);
    integer::Placement result{.factor = t.reduce(std::uint64_t{1}),
                              .scalars = std::vector<std::uint64_t>(base.size()),
                              .in_low_bits = false};
    for (std::size_t i = 0; i < base.size(); ++i) {
      const arith::Modulus& q = base.modulus(i);
      result.factor = t.multiply(result.factor, t.reduce(q.value()));
      result.scalars[i] = q.negate(arith::inverse(q.reduce(t.value()), q.value()));
    }
    return result;
  }

  void read_message(const Context& context, const poly::PolyView& out, const poly::ConstPolyView& phase,
                    const Metadata& meta, const poly::IntegerView& doubtful) const override {
    context.backend().scale_and_round(context.queue(), out, phase, context.decryption(meta.level), &doubtful);
  }

  // t (c(s) - (Q/t) m) = t c(s) modulo Q.
  [[nodiscard]] std::uint64_t noise_factor(std::uint64_t plain_modulus) const override {
    return plain_modulus;
  }
  [[nodiscard]] double room_log2(std::uint64_t plain_modulus) const override {
    return bfv::room_log2(plain_modulus);
  }
  [[nodiscard]] double switching_half_range(std::uint64_t /*plain_modulus*/) const override {
    return bfv::switching_half_range;
  }
};

}  // namespace

const integer::Rules& rules() {
  static const BfvRules instance;
  return instance;
}

}  // namespace hemera::bfv
