#include <algorithm>
#include <bit>
#include <vector>

#include "multiply/galois_forms.hpp"
#include "multiply/gaussian.hpp"

namespace hemera::multiply {
namespace {

using arith::Modulus;
using arith::ShoupFactor;
using Word = std::uint64_t;

// Products of Gaussian values re[], im[] of `half` entries each.
class ScalarTransform : public GaloisTransform {
 public:
  ScalarTransform(std::size_t degree, const Modulus& p) : p_(p), half_(degree / 2) {}

  [[nodiscard]] std::size_t degree() const final { return 2 * half_; }
  [[nodiscard]] const Modulus& modulus() const final { return p_; }

  void sum_of_products(Word* out, const Word* const* a, const Word* const* b, std::size_t terms) const final {
    // 16 products of residues below 2^61 fit 128 bits with room for a multiple of p that keeps them positive.
    const arith::uint128 shift = static_cast<arith::uint128>(p_.value()) * p_.value() * terms;
    for (std::size_t j = 0; j < half_; ++j) {
      arith::uint128 re = shift;
      arith::uint128 im = 0;
      for (std::size_t k = 0; k < terms; ++k) {
        const Word a_re = a[k][j], a_im = a[k][half_ + j], b_re = b[k][j], b_im = b[k][half_ + j];
        re += static_cast<arith::uint128>(a_re) * b_re;
        re -= static_cast<arith::uint128>(a_im) * b_im;
        im += static_cast<arith::uint128>(a_re) * b_im;
        im += static_cast<arith::uint128>(a_im) * b_re;
      }
      out[j] = p_.reduce(re);
      out[half_ + j] = p_.reduce(im);
    }
  }

 protected:
  Modulus p_;
  std::size_t half_;
};

// The weights h^j turn X^(N/2) - i into X^(N/2) - 1, whose roots of unity are real: after them real and
// imaginary parts go through the same cyclic transform of residues.
class ScalarSplit final : public ScalarTransform {
 public:
  ScalarSplit(std::size_t degree, const Modulus& p, Word psi) : ScalarTransform(degree, p) {
    const Gaussian h = split_root(degree, psi, p);
    const Word scale = arith::inverse(half_, p.value());
    Gaussian weight{1, 0};
    for (std::size_t j = 0; j < half_; ++j) {
      cosines_.emplace_back(weight.re, p);
      sines_.emplace_back(weight.im, p);
      scaled_cosines_.emplace_back(p.multiply(weight.re, scale), p);
      scaled_sines_.emplace_back(p.multiply(weight.im, scale), p);
      weight = multiply::multiply(weight, h, p);
    }
    const Word omega = p.power(psi, 4);
    const int log = static_cast<int>(std::bit_width(half_)) - 1;
    for (std::size_t k = 0; k < half_ / 2; ++k) {
      const Word twiddle = p.power(omega, arith::reverse_bits(k, log - 1));
      twiddles_.emplace_back(twiddle, p);
      inverse_twiddles_.emplace_back(arith::inverse(twiddle, p.value()), p);
    }
  }

  [[nodiscard]] Form form() const override { return Form::split; }

  void forward(Word* values, const Word* coefficients) const override {
    const Word p = p_.value();
    for (std::size_t j = 0; j < half_; ++j) {
      const Word re = coefficients[j], im = coefficients[half_ + j];
      values[j] =
          arith::multiply_lazy(re, cosines_[j], p) + arith::multiply_lazy(p - im, sines_[j], p);  // [0, 4p)
      values[half_ + j] = arith::multiply_lazy(im, cosines_[j], p) + arith::multiply_lazy(re, sines_[j], p);
    }
    // D. Harvey's lazy butterflies: values in [0, 4p).
    for (Word* part : {values, values + half_}) {
      for (std::size_t block = half_; block > 1; block /= 2) {
        for (std::size_t k = 0; k < half_ / block; ++k) {
          for (std::size_t j = k * block; j < k * block + block / 2; ++j) {
            const Word x = below(part[j], 2 * p);
            const Word y = arith::multiply_lazy(part[j + block / 2], twiddles_[k], p);
            part[j] = x + y;
            part[j + block / 2] = x - y + 2 * p;
          }
        }
      }
      for (std::size_t j = 0; j < half_; ++j) part[j] = below(below(part[j], 2 * p), p);
    }
  }

  void inverse(Word* coefficients, Word* values) const override {
    const Word p = p_.value();
    for (Word* part : {values, values + half_}) {  // values in [0, 2p)
      for (std::size_t block = 2; block <= half_; block *= 2) {
        for (std::size_t k = 0; k < half_ / block; ++k) {
          for (std::size_t j = k * block; j < k * block + block / 2; ++j) {
            const Word x = part[j], y = part[j + block / 2];
            part[j] = below(x + y, 2 * p);
            part[j + block / 2] = arith::multiply_lazy(x - y + 2 * p, inverse_twiddles_[k], p);
          }
        }
      }
    }
    for (std::size_t j = 0; j < half_; ++j) {
      const Word re = values[j], im = values[half_ + j];
      const Word new_re =
          arith::multiply_lazy(re, scaled_cosines_[j], p) + arith::multiply_lazy(im, scaled_sines_[j], p);
      const Word new_im = arith::multiply_lazy(im, scaled_cosines_[j], p) +
                          arith::multiply_lazy(2 * p - re, scaled_sines_[j], p);
      coefficients[j] = below(below(new_re, 2 * p), p);
      coefficients[half_ + j] = below(below(new_im, 2 * p), p);
    }
  }

 private:
  // [0, 2 bound) to [0, bound).
  static Word below(Word x, Word bound) { return x - (x >= bound ? bound : 0); }

  std::vector<ShoupFactor> cosines_, sines_;                // of h^j
  std::vector<ShoupFactor> scaled_cosines_, scaled_sines_;  // divided by N/2
  std::vector<ShoupFactor> twiddles_, inverse_twiddles_;
};

// The weights are in the twiddle factors: block k of a level holds a polynomial modulo X^m - r, and the
// factor of its stage is the root of r. In the field of p^2 elements that root is a Gaussian integer.
class ScalarInert final : public ScalarTransform {
 public:
  ScalarInert(std::size_t degree, const Modulus& p) : ScalarTransform(degree, p) {
    const Gaussian h = inert_root(degree, p);
    // Entry 2^level + k: h^(half (1 + 4 reverse_bits(k)) / 2^(level + 1)).
    twiddles_.resize(half_);
    for (std::size_t level = 0; (std::size_t{1} << level) < half_; ++level) {
      const Gaussian even = power(h, half_ >> (level + 1), p);
      const Gaussian step = power(even, 4, p);
      Gaussian twiddle = even;
      const std::size_t blocks = std::size_t{1} << level;
      for (std::size_t k = 0; k < blocks; ++k) {
        twiddles_[blocks + arith::reverse_bits(k, static_cast<int>(level))] = twiddle;
        twiddle = multiply::multiply(twiddle, step, p);
      }
    }
    scale_ = arith::inverse(half_, p.value());
  }

  [[nodiscard]] Form form() const override { return Form::inert; }

  void forward(Word* values, const Word* coefficients) const override {
    if (values != coefficients) std::copy_n(coefficients, 2 * half_, values);
    Word* re = values;
    Word* im = values + half_;
    for (std::size_t block = half_; block > 1; block /= 2) {
      for (std::size_t k = 0; k < half_ / block; ++k) {
        const Gaussian w = twiddles_[half_ / block + k];
        for (std::size_t j = k * block; j < k * block + block / 2; ++j) {
          const std::size_t at = j + block / 2;
          const Gaussian y = multiply::multiply({re[at], im[at]}, w, p_);
          re[at] = p_.subtract(re[j], y.re);
          im[at] = p_.subtract(im[j], y.im);
          re[j] = p_.add(re[j], y.re);
          im[j] = p_.add(im[j], y.im);
        }
      }
    }
  }

  void inverse(Word* coefficients, Word* values) const override {
    Word* re = values;
    Word* im = values + half_;
    for (std::size_t block = 2; block <= half_; block *= 2) {
      for (std::size_t k = 0; k < half_ / block; ++k) {
        const Gaussian w = inverse_of(twiddles_[half_ / block + k]);
        for (std::size_t j = k * block; j < k * block + block / 2; ++j) {
          const std::size_t at = j + block / 2;
          const Gaussian y{p_.subtract(re[j], re[at]), p_.subtract(im[j], im[at])};
          re[j] = p_.add(re[j], re[at]);
          im[j] = p_.add(im[j], im[at]);
          const Gaussian product = multiply::multiply(y, w, p_);
          re[at] = product.re;
          im[at] = product.im;
        }
      }
    }
    for (std::size_t j = 0; j < 2 * half_; ++j) coefficients[j] = p_.multiply(values[j], scale_);
  }

 private:
  // Roots have norm 1 or, when 2N does not divide p + 1, maybe -1.
  [[nodiscard]] Gaussian inverse_of(const Gaussian& w) const {
    const Gaussian other = conjugate(w, p_);
    const Word norm = multiply::multiply(w, other, p_).re;
    return norm == 1 ? other : Gaussian{p_.negate(other.re), p_.negate(other.im)};
  }

  std::vector<Gaussian> twiddles_;
  Word scale_ = 0;
};

}  // namespace

std::unique_ptr<const GaloisTransform> make_scalar_split(std::size_t degree, const Modulus& p,
                                                         std::uint64_t psi) {
  return std::make_unique<const ScalarSplit>(degree, p, psi);
}

std::unique_ptr<const GaloisTransform> make_scalar_inert(std::size_t degree, const Modulus& p) {
  return std::make_unique<const ScalarInert>(degree, p);
}

}  // namespace hemera::multiply
