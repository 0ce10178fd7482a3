#include <bit>
#include <vector>

#include "multiply/galois_forms.hpp"
#include "multiply/inert_tables.hpp"

namespace hemera::multiply {
namespace {

using arith::Modulus;
using Word = std::uint64_t;

class VectorInert final : public GaloisTransform {
 public:
  VectorInert(std::size_t degree, const Modulus& p, const InertKernels& kernels)
      : kernels_(kernels),
        prime_(make_inert_prime(p, std::countr_zero(2 * degree))),
        twiddles_(prime_, kernels, runtime::make_host_memory()),
        tables_(twiddles_.get(degree / inert_pair)),
        scaled_(tables_.view),
        one_(degree) {
    tables_.view.inverse_length = arith::ShoupFactor(1, p);
    std::vector<Word> one(degree);
    one[0] = 1;
    VectorInert::forward(one_.data(), one.data());
  }

  [[nodiscard]] Form form() const override { return Form::inert; }
  [[nodiscard]] std::size_t degree() const override { return inert_pair * tables_.view.pairs; }
  [[nodiscard]] const Modulus& modulus() const override { return prime_.modulus; }

  void forward(Word* values, const Word* coefficients) const override {
    const std::size_t pairs = tables_.view.pairs;
    kernels_.forward_sweep(values, coefficients, tables_.view, 0, pairs);
    kernels_.forward_block(values, 0, 0, pairs, tables_.view);
  }
  void inverse(Word* coefficients, Word* values) const override {
    const Word* const one = one_.data();
    const Word* const from = values;
    sum_to_coefficients(coefficients, values, &from, &one, 1);
  }
  void sum_of_products(Word* out, const Word* const* a, const Word* const* b,
                       std::size_t terms) const override {
    kernels_.multiply(out, a, b, terms, tables_.view.pairs, tables_.view);
  }

 private:
  // The kernels' product also brings values to the range that their inverse takes, and divides by N/2.
  void sum_to_coefficients(Word* out, Word* values, const Word* const* a, const Word* const* b,
                           std::size_t terms) const override {
    const std::size_t pairs = scaled_.pairs;
    kernels_.multiply(values, a, b, terms, pairs, scaled_);
    kernels_.inverse_block(values, 0, 0, pairs, scaled_);
    kernels_.inverse_sweep(out, values, scaled_, 0, pairs);
  }

  const InertKernels& kernels_;
  InertPrime prime_;
  InertTwiddles twiddles_;
  InertTwiddles::Tables tables_;
  InertTables scaled_;     // tables_ has the factor 1 in place of 2 / N
  std::vector<Word> one_;  // the values of 1
};

}  // namespace

bool has_vector_inert(std::size_t degree, const Modulus& p) {
  return degree >= inert_pair * inert_min_pairs && (p.value() + 1) % (2 * degree) == 0 &&
         p.value() >> 20 != 0 && p.value() >> 48 == 0;
}

std::unique_ptr<const GaloisTransform> make_vector_inert(std::size_t degree, const Modulus& p,
                                                         const InertKernels& kernels) {
  return std::make_unique<const VectorInert>(degree, p, kernels);
}

}  // namespace hemera::multiply
