#include "schemes/integer/rules.hpp"

#include <cmath>
#include <span>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "schemes/integer/plaintext.hpp"

namespace hemera::integer {
namespace {

using rlwe::Context;
using rlwe::Metadata;

// The message polynomial is round(Q m / t) = (Q m - [Q m]_t) / t, in the high bits.
class BfvRules final : public Rules {
 public:
  [[nodiscard]] rlwe::Scheme scheme() const override { return rlwe::Scheme::bfv; }

  [[nodiscard]] Placement placement(const Context& context, const Metadata& meta) const override {
    return placement_in_high_bits(context, meta.level);
  }

  void read_message(const Context& context, const poly::PolyView& out, const poly::ConstPolyView& phase,
                    const Metadata& meta, const poly::IntegerView& doubtful) const override {
    context.backend().scale_and_round(context.queue(), out, phase, context.decryption(meta.level), &doubtful);
  }

  // t (c(s) - (Q/t) m) = t c(s) modulo Q.
  [[nodiscard]] std::uint64_t noise_factor(std::uint64_t plain_modulus) const override {
    return plain_modulus;
  }
  // log2(2 t).
  [[nodiscard]] double room_log2(std::uint64_t plain_modulus) const override {
    return 1 + std::log2(static_cast<double>(plain_modulus));
  }
  [[nodiscard]] double switching_half_range(std::uint64_t /*plain_modulus*/) const override { return 0.5; }
};

// The message polynomial is m times the correction factor, in the low bits; errors are multiples of t.
class BgvRules final : public Rules {
 public:
  [[nodiscard]] rlwe::Scheme scheme() const override { return rlwe::Scheme::bgv; }

  [[nodiscard]] Placement placement(const Context& /*context*/, const Metadata& meta) const override {
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
  [[nodiscard]] double room_log2(std::uint64_t /*plain_modulus*/) const override {
    return low_bits_room_log2;
  }
  // A rounding error in [-1/2, 1/2] plus a correction modulo t in [-(t-1)/2, t/2]. That interval is not
  // symmetric for even t, which one half more covers.
  [[nodiscard]] double switching_half_range(std::uint64_t plain_modulus) const override {
    const auto t = static_cast<double>(plain_modulus);
    return plain_modulus % 2 == 1 ? t / 2 : t / 2 + 1;
  }
};

}  // namespace

const Rules& rules_of(rlwe::Scheme scheme) {
  static const BfvRules bfv;
  static const BgvRules bgv;
  if (scheme == rlwe::Scheme::ckks) {
    throw ParameterError("CKKS has no integers modulo t; use its own functions, or a context of BFV or BGV");
  }
  if (scheme == rlwe::Scheme::bfv) return bfv;
  return bgv;
}

}  // namespace hemera::integer
