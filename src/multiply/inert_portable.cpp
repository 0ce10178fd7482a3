// The kernels of integer products in plain C++, for processors without AVX2.
#include <array>
#include <utility>

#include "multiply/inert52.hpp"

namespace hemera::multiply {
namespace {

struct PortableOps {
  using Word = std::uint64_t;
  using Vector = std::array<Word, inert_lanes>;
  static constexpr Word mask52 = (Word{1} << 52) - 1;

  template <typename Function>
  static Vector map(const Function& function) {
    Vector result;
    for (std::size_t l = 0; l < inert_lanes; ++l) result[l] = function(l);
    return result;
  }
  static Vector load(const Word* p) {
    return map([=](std::size_t l) { return p[l]; });
  }
  static void store(Word* p, const Vector& x) {
    for (std::size_t l = 0; l < inert_lanes; ++l) p[l] = x[l];
  }
  static Vector broadcast(Word a) {
    return map([=](std::size_t) { return a; });
  }
  static Vector zero() { return broadcast(0); }
  static Vector add(const Vector& a, const Vector& b) {
    return map([&](std::size_t l) { return a[l] + b[l]; });
  }
  static Vector subtract(const Vector& a, const Vector& b) {
    return map([&](std::size_t l) { return a[l] - b[l]; });
  }
  static Vector bit_and(const Vector& a, const Vector& b) {
    return map([&](std::size_t l) { return a[l] & b[l]; });
  }
  template <unsigned bits>
  static Vector shift_right(const Vector& a) {
    return map([&](std::size_t l) { return a[l] >> bits; });
  }
  static Vector add_low52(const Vector& sum, const Vector& a, const Vector& b) {
    return map([&](std::size_t l) { return sum[l] + ((a[l] * b[l]) & mask52); });
  }
  static Vector add_high52(const Vector& sum, const Vector& a, const Vector& b) {
    return map([&](std::size_t l) {
      return sum[l] + static_cast<Word>((static_cast<arith::uint128>(a[l] & mask52) * (b[l] & mask52)) >> 52);
    });
  }
  static Vector fold(const Vector& x, const Vector& bound) {
    return map([&](std::size_t l) { return x[l] >= bound[l] ? x[l] - bound[l] : x[l]; });
  }
  static Vector at_least(const Vector& a, const Vector& b) {
    return map([&](std::size_t l) { return static_cast<Word>(a[l] >= b[l]); });
  }
  static void transpose(Vector* v) {
    for (std::size_t i = 0; i < inert_lanes; ++i) {
      for (std::size_t j = 0; j < i; ++j) std::swap(v[i][j], v[j][i]);
    }
  }
  static const Word* reloaded(const Word* p) { return p; }
};

}  // namespace

const InertKernels& portable_inert_kernels() {
  static constexpr InertKernels table = InertPasses<Inert52<PortableOps>>::table("portable");
  return table;
}

}  // namespace hemera::multiply
