#include "schemes/bgv/rules.hpp"

#include <span>

#include "schemes/bgv/noise.hpp"

namespace hemera::bgv {
namespace {

using rlwe::Context;
using rlwe::Metadata;

class BgvRules final : public integer::Rules {
 public:
  [[nodiscard]] rlwe::Scheme scheme() const override { return rlwe::Scheme::bgv; }

  [[nodiscard]] integer::Placement placement(const Context& /*context*/,
                                             const Metadata& meta) const override {
    return {.factor = meta.correction, .scalars = {}, .in_low_bits = true};
  }

  void read_message(const Context& context, const poly::PolyView& out, const poly::ConstPolyView& phase,
                    const Metadata& meta, const poly::IntegerView& doubtful) const override {
    const poly::RnsBase& plain = context.plain_base();
    context.backend().convert(context.queue(), out, phase,
                              context.exact_conversion(context.base(meta.level), plain), &doubtful);
    if (meta.correction == 1) return;
    const std::uint64_t inverse = arith::inverse(meta.correction, plain.modulus(0).value());
    context.backend().multiply_scalar(context.queue(), out, out, std::span(&inverse, 1), plain);
  }

  // The message counts as noise.
  [[nodiscard]] std::uint64_t noise_factor(std::uint64_t /*plain_modulus*/) const override { return 1; }
  [[nodiscard]] double room_log2(std::uint64_t /*plain_modulus*/) const override { return bgv::room_log2; }
  [[nodiscard]] double switching_half_range(std::uint64_t plain_modulus) const override {
    return bgv::switching_half_range(plain_modulus);
  }
};

}  // namespace

const integer::Rules& rules() {
  static const BgvRules instance;
  return instance;
}

}  // namespace hemera::bgv
