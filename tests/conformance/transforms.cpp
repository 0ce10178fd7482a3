// Transforms, products of polynomials and automorphisms against their definitions.
#include "conformance/suite.hpp"
#include "hemera/arith/modulus.hpp"

namespace hemera::conformance {
namespace {

using arith::uint128;
using poly::Form;
using poly::RnsBase;

std::uint64_t multiply(std::uint64_t a, std::uint64_t b, std::uint64_t q) {
  return static_cast<std::uint64_t>(static_cast<uint128>(a) * b % q);
}

std::uint64_t power(std::uint64_t x, std::uint64_t exponent, std::uint64_t q) {
  std::uint64_t result = 1 % q;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent % 2 == 1) result = multiply(result, x, q);
    x = multiply(x, x, q);
  }
  return result;
}

// The value of one limb at root^(2 reverse_bits(i) + 1), by Horner's rule.
std::uint64_t value_at(const Host& coefficients, std::size_t b, std::size_t c, std::size_t l, std::size_t i) {
  const poly::Ring& ring = *coefficients.base.ring();
  const poly::RingModulus& modulus = ring[coefficients.base.index(l)];
  const std::uint64_t q = modulus.modulus.value();
  std::size_t reversed = 0;
  for (int bit = 0; bit < ring.log_degree(); ++bit) {
    if ((i >> bit) % 2 == 1) reversed += ring.degree() >> (bit + 1);
  }
  const std::uint64_t point = power(modulus.root, 2 * reversed + 1, q);
  std::uint64_t value = 0;
  for (std::size_t n = ring.degree(); n-- > 0;) {
    value =
        static_cast<std::uint64_t>((static_cast<uint128>(value) * point + coefficients.at(b, c, l, n)) % q);
  }
  return value;
}

TEST_P(BackendTest, ForwardTransformEvaluatesAtOddPowersOfTheRoot) {
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 15, std::size_t{1} << 17}) {
    for (const std::vector<int>& bits : bases_of_bits()) {
      if (degree > 1024 && bits.size() < 6) continue;
      Rig rig(GetParam(), degree, bits);
      const Host coefficients = rig.random(rig.all(), 1, 1);
      const Host values = rig.transformed(coefficients, Form::coefficient, Form::evaluation);
      const std::size_t step = degree / 16;
      for (std::size_t l = 0; l < rig.all().size(); ++l) {
        for (std::size_t i = 0; i < degree; i += step) {
          // One point of each sixteenth, at another offset each time.
          const std::size_t point = i + (i / step * 2654435761U) % step;
          ASSERT_EQ(values.at(0, 0, l, point), value_at(coefficients, 0, 0, l, point))
              << degree << " limb " << l;
        }
      }
    }
  }
}

TEST_P(BackendTest, ForwardTransformOfOneLimbAtEveryPoint) {
  for (const int bits : {30, 50, 61}) {
    Rig rig(GetParam(), 1024, {bits});
    const Host coefficients = rig.random(rig.all(), 1, 1);
    const Host values = rig.transformed(coefficients, Form::coefficient, Form::evaluation);
    for (std::size_t i = 0; i < 1024; ++i)
      ASSERT_EQ(values.at(0, 0, 0, i), value_at(coefficients, 0, 0, 0, i));
  }
}

TEST_P(BackendTest, InverseTransformUndoesForwardTransform) {
  for (std::size_t degree = 1024; degree <= std::size_t{1} << 17; degree *= 2) {
    for (const std::vector<int>& bits : bases_of_bits()) {
      if (degree > 1024 && bits.size() < 6) continue;
      Rig rig(GetParam(), degree, bits);
      Host a = rig.random(rig.all(), degree > 4096 ? 1 : 3, 2);
      for (const bool maximal : {false, true}) {
        for (std::size_t l = 0; maximal && l < a.shape.limbs; ++l) {
          const auto first = a.words.begin() + static_cast<std::ptrdiff_t>(l * degree);
          std::fill(first, first + static_cast<std::ptrdiff_t>(degree), a.base.modulus(l).value() - 1);
        }
        const poly::Poly in = rig.upload(a, Form::coefficient);
        poly::Poly values = rig.output(a.base, a.shape.batch, 2);
        poly::Poly back = rig.output(a.base, a.shape.batch, 2, Form::coefficient);
        rig.backend->forward_transform(*rig.queue, values.view(), in.view(), a.base);
        rig.backend->inverse_transform(*rig.queue, back.view(), values.view(), a.base);
        ASSERT_TRUE(same(rig.download(in), a)) << "the input changed";
        ASSERT_TRUE(same(rig.download(back), a)) << degree;
        rig.backend->inverse_transform(*rig.queue, values.view(), values.view(), a.base);
        values.set_form(Form::coefficient);
        ASSERT_TRUE(same(rig.download(values), a)) << "in place, " << degree;
      }
    }
  }
}

TEST_P(BackendTest, ProductOfValuesIsNegacyclicConvolution) {
  for (const std::vector<int>& bits : bases_of_bits()) {
    Rig rig(GetParam(), 1024, {bits.back()});
    const Host a = rig.random(rig.all(), 1, 1);
    const Host b = rig.random(rig.all(), 1, 1);
    const std::uint64_t q = rig.all().modulus(0).value();
    Host expected(rig.all(), 1, 1);
    for (std::size_t i = 0; i < 1024; ++i) {
      for (std::size_t j = 0; j < 1024; ++j) {
        const std::uint64_t product = multiply(a.at(0, 0, 0, i), b.at(0, 0, 0, j), q);
        std::uint64_t& sum = expected.at(0, 0, 0, (i + j) % 1024);
        sum = (i + j < 1024 ? sum + product : sum + q - product) % q;
      }
    }
    poly::Poly product = rig.upload(rig.transformed(a, Form::coefficient, Form::evaluation));
    const poly::Poly other = rig.upload(rig.transformed(b, Form::coefficient, Form::evaluation));
    rig.backend->multiply(*rig.queue, product.view(), product.view(), other.view(), rig.all());
    rig.backend->inverse_transform(*rig.queue, product.view(), product.view(), rig.all());
    product.set_form(Form::coefficient);
    ASSERT_TRUE(same(rig.download(product), expected));
  }
}

TEST_P(BackendTest, TensorProductSumsOverPairsOfComponents) {
  for (const std::vector<int>& bits : bases_of_bits()) {
    Rig rig(GetParam(), 1024, bits);
    for (std::size_t left = 1; left <= 3; ++left) {
      for (std::size_t right = 1; right <= 3; ++right) {
        for (const std::size_t right_batch : {1, 3}) {
          const Host a = rig.random(rig.all(), 3, left);
          const Host b = rig.random(rig.all(), right_batch, right);
          Host expected(rig.all(), 3, left + right - 1);
          for (std::size_t k = 0; k < 3; ++k) {
            for (std::size_t i = 0; i < left; ++i) {
              for (std::size_t j = 0; j < right; ++j) {
                for (std::size_t l = 0; l < a.shape.limbs; ++l) {
                  const std::uint64_t q = rig.all().modulus(l).value();
                  for (std::size_t n = 0; n < 1024; ++n) {
                    std::uint64_t& sum = expected.at(k, i + j, l, n);
                    sum = (sum + multiply(a.at(k, i, l, n), b.at(k, j, l, n), q)) % q;
                  }
                }
              }
            }
          }
          poly::Poly out = rig.output(rig.all(), 3, left + right - 1);
          const poly::Poly device_a = rig.upload(a), device_b = rig.upload(b);
          const poly::ConstPolyView view_a = device_a.view(), view_b = device_b.view();
          rig.backend->inner_product(*rig.queue, out.view(), std::span(&view_a, 1), std::span(&view_b, 1),
                                     rig.all());
          ASSERT_TRUE(same(rig.download(out), expected)) << left << " x " << right;
        }
      }
    }
  }
}

TEST_P(BackendTest, AutomorphismMovesMonomials) {
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 15}) {
    Rig rig(GetParam(), degree, {60, 30, 50});
    const std::size_t batch = degree == 1024 ? 3 : 1;
    const Host a = rig.random(rig.all(), batch, 2);
    const Host values = rig.transformed(a, Form::coefficient, Form::evaluation);
    const poly::Poly device = rig.upload(a, Form::coefficient);
    const poly::Poly device_values = rig.upload(values);
    for (const std::uint64_t element :
         {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{5}, std::uint64_t{3125},
          2 * std::uint64_t{degree} - 1, std::uint64_t{degree} + 1}) {
      const std::uint64_t g = element % (2 * degree);
      Host expected(rig.all(), batch, 2);
      for (std::size_t n = 0; n < degree; ++n) {
        const std::size_t exponent = n * g % (2 * degree);
        for (std::size_t row = 0; row < batch * 2 * 3; ++row) {
          const std::uint64_t q = rig.all().modulus(row % 3).value();
          const std::uint64_t x = a.words[row * degree + n];
          expected.words[row * degree + exponent % degree] = exponent < degree ? x : (q - x) % q;
        }
      }
      poly::Poly out = rig.output(rig.all(), batch, 2, Form::coefficient);
      rig.backend->automorphism(*rig.queue, out.view(), device.view(), g, Form::coefficient, rig.all());
      ASSERT_TRUE(same(rig.download(out), expected)) << "coefficient form, g = " << g;
      poly::Poly out_values = rig.output(rig.all(), batch, 2);
      rig.backend->automorphism(*rig.queue, out_values.view(), device_values.view(), g, Form::evaluation,
                                rig.all());
      rig.backend->inverse_transform(*rig.queue, out_values.view(), out_values.view(), rig.all());
      out_values.set_form(Form::coefficient);
      ASSERT_TRUE(same(rig.download(out_values), expected)) << "evaluation form, g = " << g;
    }
  }
}

}  // namespace
}  // namespace hemera::conformance
