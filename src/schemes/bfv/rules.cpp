#include "schemes/bfv/rules.hpp"

#include "schemes/bfv/noise.hpp"
#include "schemes/integer/plaintext.hpp"

namespace hemera::bfv {
namespace {

using rlwe::Context;
using rlwe::Metadata;

class BfvRules final : public integer::Rules {
 public:
  [[nodiscard]] rlwe::Scheme scheme() const override { return rlwe::Scheme::bfv; }

  [[nodiscard]] integer::Placement placement(const Context& context, const Metadata& meta) const override {
    return integer::placement_in_high_bits(context, meta.level);
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
