#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>
#include <vector>

#include "multiply/galois_forms.hpp"
#include "multiply/gaussian.hpp"
#include "poly/cpu/limb_tables.hpp"

namespace hemera::multiply {
namespace {

using arith::Modulus;
using arith::ShoupFactor;
using Word = std::uint64_t;
using Table = poly::cpu::TwiddleTable;

// floor(w 2^64 / p), from the Barrett ratio: quicker than a division.
Word quotient64(Word w, const Modulus& p) {
  const Word estimate = w * p.ratio_high() + arith::multiply_high(w, p.ratio_low());  // or 1 less
  const Word remainder = 0 - estimate * p.value();
  return estimate + static_cast<Word>(remainder >= p.value());
}

struct Factors {
  Table operands;
  Table quotients;

  explicit Factors(std::size_t count) : operands(count), quotients(count) {}
  void set(std::size_t i, const std::pair<Word, Word>& factor) {
    std::tie(operands[i], quotients[i]) = factor;
  }
  [[nodiscard]] SplitFactors view() const { return {operands.data(), quotients.data()}; }
};

class VectorSplit final : public GaloisTransform {
 public:
  VectorSplit(std::size_t degree, const Modulus& p, Word psi, const SplitKernels& kernels)
      : kernels_(kernels),
        weights_(2 * degree),
        inverse_weights_(2 * degree),
        first_(4),
        inverse_first_(4),
        twiddles_(degree / 2),
        inverse_twiddles_(degree / 2) {
    const std::size_t pairs = degree / split_pair;
    tables_ = {p,
               pairs,
               weights_.data(),
               inverse_weights_.data(),
               first_.view(),
               inverse_first_.view(),
               twiddles_.view(),
               inverse_twiddles_.view(),
               0,
               {}};
    const std::size_t half = degree / 2;
    const Gaussian h = split_root(degree, psi, p);
    const Word scale = arith::inverse(half, p.value());
    Gaussian weight{1, 0};
    for (std::size_t j = 0; j < half; ++j) {
      set_weight(weights_, j, weight);
      set_weight(inverse_weights_, j, {p.multiply(weight.re, scale), p.negate(p.multiply(weight.im, scale))});
      weight = multiply::multiply(weight, h, p);
    }
    // Block k of any level has the factor omega^reverse_bits(k), omega of order N/2, k < N/4.
    const ShoupFactor omega(p.power(psi, 4), p);
    std::vector<Word> powers(half);
    powers[0] = 1;
    for (std::size_t j = 1; j < half; ++j) powers[j] = arith::multiply(powers[j - 1], omega, p.value());
    const int log = static_cast<int>(std::bit_width(half)) - 2;
    const auto set = [&](Factors& factors, Factors& inverses, std::size_t index, std::size_t k) {
      const std::size_t exponent = arith::reverse_bits(k, log);
      factors.set(index, factor(powers[exponent]));
      inverses.set(index, factor(powers[(half - exponent) % half]));
    };
    for (std::size_t k = 0; k < 4; ++k) set(first_, inverse_first_, k, k);
    for (std::size_t blocks = 1; blocks < pairs; blocks *= 2) {
      for (std::size_t k = 0; k < blocks; ++k) {
        for (std::size_t l = 0; l < split_lanes; ++l) {
          set(twiddles_, inverse_twiddles_, split_lanes * (blocks + k) + l, l * blocks + k);
        }
      }
    }
    // Passes of three stages, and up to two of two stages last.
    const int levels = static_cast<int>(std::bit_width(pairs)) - 1;
    const int twos = (3 - levels % 3) % 3;
    for (int left = levels - 2 * twos; left > 0; left -= 3) tables_.stages[tables_.passes++] = 3;
    for (int i = 0; i < twos; ++i) tables_.stages[tables_.passes++] = 2;
  }

  [[nodiscard]] Form form() const override { return Form::split; }
  [[nodiscard]] std::size_t degree() const override { return split_pair * tables_.pairs; }
  [[nodiscard]] const Modulus& modulus() const override { return tables_.modulus; }

  void forward(Word* values, const Word* coefficients) const override {
    kernels_.forward(values, coefficients, tables_);
  }
  void inverse(Word* coefficients, Word* values) const override {
    kernels_.inverse(coefficients, values, tables_);
  }
  void sum_of_products(Word* out, const Word* const* a, const Word* const* b,
                       std::size_t terms) const override {
    kernels_.sum_of_products(out, a, b, terms, tables_);
  }
  void tensor_product(std::span<Word* const> out, std::span<const Word* const> a,
                      std::span<const Word* const> b, std::span<Word> scratch) const override {
    check_tensor_product(out.size(), a.size(), b.size(), scratch.size());
    const bool square = a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
    kernels_.tensor_product(out.data(), a.data(), a.size(), b.data(), b.size(), square, scratch.data(),
                            tables_);
  }

 private:
  // Value number `at` of the N/2 in the order of SplitTables::weights.
  void set_weight(Table& table, std::size_t at, const Gaussian& weight) const {
    const std::size_t column = at % tables_.pairs;
    Word* entry = table.data() + 4 * split_lanes * (column / split_lanes * split_lanes + at / tables_.pairs) +
                  column % split_lanes;
    std::tie(entry[0], entry[split_lanes]) = factor(weight.re);
    std::tie(entry[2 * split_lanes], entry[3 * split_lanes]) = factor(weight.im);
  }

  // w and its quotient, as the kernels take them.
  [[nodiscard]] std::pair<Word, Word> factor(Word w) const {
    const Modulus& p = tables_.modulus;
    switch (kernels_.factor_form) {
      case SplitFactorForm::quotients52:
        return {w, quotient64(w, p) >> 12};
      case SplitFactorForm::quotients64:
        return {w, quotient64(w, p)};
      case SplitFactorForm::doubles:
        break;
    }
    const auto signed_word = [](Word x) { return static_cast<double>(static_cast<std::int64_t>(x)); };
    const double centered = signed_word(w > p.value() / 2 ? w - p.value() : w);
    return {std::bit_cast<Word>(centered), std::bit_cast<Word>(centered / signed_word(p.value()))};
  }

  const SplitKernels& kernels_;
  Table weights_, inverse_weights_;
  Factors first_, inverse_first_;
  Factors twiddles_, inverse_twiddles_;
  SplitTables tables_{};
};

}  // namespace

std::unique_ptr<const GaloisTransform> make_vector_split(std::size_t degree, const Modulus& p, Word psi,
                                                         const SplitKernels& kernels) {
  return std::make_unique<const VectorSplit>(degree, p, psi, kernels);
}

}  // namespace hemera::multiply
