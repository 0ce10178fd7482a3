// Exponentials of residues, against products with monomials by the definition of the ring.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "conformance/suite.hpp"
#include "hemera/runtime/error.hpp"
#include "poly/exponential_arithmetic.hpp"

namespace hemera::conformance {
namespace {

using poly::ExponentialLayout;
using poly::Form;
using Complex = std::complex<double>;

// Slots in the backend's memory, with garbage in them.
struct Rows {
  Rows(Rig& rig, std::size_t batch, std::size_t slots)
      : buffer(rig.backend->memory(), batch * slots * sizeof(Complex)),
        view{reinterpret_cast<Complex*>(buffer.data()), batch, slots} {
    const std::vector<Complex> garbage(batch * slots, 12345);
    rig.backend->upload_values(*rig.queue, view.bytes(), std::as_bytes(std::span(garbage)));
  }
  [[nodiscard]] std::vector<Complex> values(Rig& rig) const {
    std::vector<Complex> result(view.batch * view.slots);
    rig.backend->download_values(*rig.queue, std::as_writable_bytes(std::span(result)), view.bytes());
    rig.queue->synchronize();
    return result;
  }
  runtime::Buffer buffer;
  poly::SlotView view;
};

Complex expected(std::uint64_t residue, std::uint64_t q) {
  const long double angle =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(residue) / static_cast<long double>(q);
  return {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
}

// X^shift a, coefficient by coefficient.
std::vector<std::uint64_t> turned(const std::vector<std::uint64_t>& a, std::size_t shift, std::uint64_t q) {
  std::vector<std::uint64_t> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::size_t to = i + shift;
    if (to < a.size()) {
      result[to] = a[i];
    } else {
      result[to - a.size()] = a[i] == 0 ? 0 : q - a[i];
    }
  }
  return result;
}

std::size_t reversed_bits(std::size_t value, std::size_t count) {
  std::size_t result = 0;
  for (; count > 1; count /= 2, value /= 2) result = 2 * result + value % 2;
  return result;
}

TEST_P(BackendTest, ExponentialsAreThoseOfShiftedCoefficients) {
  struct Case {
    std::size_t degree;
    int bits;
    ExponentialLayout layout;
    std::size_t slots, batch;
  };
  const std::vector<Case> cases = {
      {1024, 50, {16, 16, 32, 32, 1, 1}, 512, 1},   {1024, 58, {16, 8, 8, 16, 4, 8}, 512, 2},
      {1024, 30, {2, 1, 64, 4, 4, 4}, 512, 3},      {2048, 45, {1, 1, 4, 128, 64, 4}, 1024, 2},
      {1024, 45, {512, 512, 1, 2, 1, 512}, 512, 1}, {2048, 45, {4, 2, 16, 8, 2, 1}, 512, 1}};
  for (const auto& [degree, bits, layout, slots, batch] : cases) {
    SCOPED_TRACE(std::to_string(degree) + ", " + std::to_string(layout.values) + " values");
    Rig rig(GetParam(), degree, {bits});
    const poly::RnsBase base = rig.all();
    const std::uint64_t q = base.modulus(0).value();
    const Host given = rig.random(base, batch, 2);
    const poly::Poly in = rig.upload(given, Form::coefficient);
    const Rows out(rig, batch * layout.rows(), slots);
    rig.backend->exponentials(*rig.queue, out.view, in.view(), layout, base);
    const std::vector<Complex> found = out.values(rig);
    std::vector<Complex> same_bits(found.size()), wanted(found.size());
    for (std::size_t b = 0; b < batch; ++b) {
      std::vector<std::uint64_t> parts[2];
      for (std::size_t c = 0; c < 2; ++c) {
        for (std::size_t n = 0; n < degree; ++n) parts[c].push_back(given.at(b, c, 0, n));
      }
      for (std::size_t k = 0; k < layout.blocks; ++k) {
        for (std::size_t i = 0; i < layout.length; ++i) {
          const auto product = turned(parts[1], layout.stride * (k * layout.length + i), q);
          const std::size_t row = b * layout.rows() + i / layout.places, place = i % layout.places;
          for (std::size_t j = 0; j < layout.values; ++j) {
            const std::size_t number =
                reversed_bits(j % layout.row, layout.row) + j / layout.row * layout.row;
            const std::size_t position = number * (degree / 2 / layout.row);
            const std::uint64_t t = (product[position] + (k == 0 ? parts[0][position] : 0)) % q;
            const std::size_t at = row * slots + j + layout.values * (k + layout.blocks * place);
            wanted[at] = expected(t, q);
            const poly::UnitNumber number_of_t = poly::exponential(t, q);
            same_bits[at] = {number_of_t.real, number_of_t.imaginary};
          }
        }
      }
    }
    double error = 0;
    for (std::size_t i = 0; i < found.size(); ++i) error = std::max(error, std::abs(found[i] - wanted[i]));
    EXPECT_LT(error, 0x1p-51);
    EXPECT_EQ(found, same_bits);
  }
}

TEST_P(BackendTest, ExponentialsOfEachEighthOfATurn) {
  for (const std::uint64_t q : {std::uint64_t{65537}, (std::uint64_t{1} << 58) - 27, std::uint64_t{3}}) {
    std::vector<std::uint64_t> residues = {0, 1, q - 1, q / 2, q / 2 + 1};
    for (std::uint64_t k = 1; k < 32; ++k) {
      const auto near =
          static_cast<std::uint64_t>(static_cast<long double>(q) * static_cast<long double>(k) / 32);
      for (const std::uint64_t r : {near, near + 1}) residues.push_back(r % q);
    }
    for (const std::uint64_t r : residues) {
      const poly::UnitNumber number = poly::exponential(r, q);
      EXPECT_LT(std::abs(Complex(number.real, number.imaginary) - expected(r, q)), 0x1p-51)
          << r << " of " << q;
    }
  }
}

}  // namespace
}  // namespace hemera::conformance
