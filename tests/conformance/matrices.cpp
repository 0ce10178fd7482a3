// Products of matrices of integers and polynomials, and of matrices of residues, by exact integers; overrides
// and the interface's defaults.
#include <algorithm>
#include <vector>

#include "conformance/suite.hpp"
#include "hemera/runtime/error.hpp"
#include "refusals.hpp"

namespace hemera::conformance {
namespace {

using poly::ConstPolyView;
using poly::Form;
using poly::IntegerMatrixView;
using poly::PolyView;
using poly::RnsBase;

// A matrix of integers in the host's memory and a backend's.
class Integers {
 public:
  Integers(Rig& rig, std::size_t rows, std::size_t columns, int bytes, const std::vector<int>& values)
      : rows_(rows), columns_(columns), bytes_(bytes), values_(values) {
    for (const int value : values) {
      host_.push_back(static_cast<std::byte>(value & 0xff));
      if (bytes == 2) host_.push_back(static_cast<std::byte>(value >> 8 & 0xff));
    }
    device_ = runtime::Buffer(rig.backend->memory(), host_.size());
    rig.backend->upload_values(*rig.queue, {device_.data(), host_.size()}, host_);
  }

  [[nodiscard]] IntegerMatrixView view() const {
    return {
        .data = device_.data(), .host = host_.data(), .rows = rows_, .columns = columns_, .bytes = bytes_};
  }
  [[nodiscard]] int at(std::size_t row, std::size_t column) const { return values_[row * columns_ + column]; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }

 private:
  std::size_t rows_, columns_;
  int bytes_;
  std::vector<int> values_;
  std::vector<std::byte> host_;
  runtime::Buffer device_;
};

enum class Fill : std::uint8_t { random, least, most };

// The least integer of so many bytes and the most, and any between them of which a quarter are an edge.
Integers matrix(Rig& rig, std::size_t rows, std::size_t columns, int bytes, Fill fill) {
  const int most = bytes == 1 ? 127 : 32767;
  const int edges[] = {-most - 1, most, 0, -1, 1, 255 % (most + 1), -256 % (most + 1)};
  std::vector<int> values(rows * columns, fill == Fill::least ? -most - 1 : most);
  if (fill == Fill::random) {
    for (int& value : values) {
      const std::uint64_t bits = rig.generator();
      value = bits % 4 == 0 ? edges[(bits >> 8) % std::size(edges)]
                            : static_cast<int>((bits >> 8) % (2 * most + 2)) - most - 1;
    }
  }
  return {rig, rows, columns, bytes, values};
}

__extension__ using int128 = __int128;

Host product(const Integers& w, const Host& in) {
  Host out(in.base, w.rows(), in.shape.components);
  for (std::size_t r = 0; r < w.rows(); ++r) {
    for (std::size_t c = 0; c < in.shape.components; ++c) {
      for (std::size_t l = 0; l < in.shape.limbs; ++l) {
        const auto q = static_cast<int128>(in.base.modulus(l).value());
        for (std::size_t n = 0; n < in.shape.degree; ++n) {
          int128 sum = 0;
          for (std::size_t j = 0; j < w.columns(); ++j) {
            sum += static_cast<int128>(w.at(r, j)) * static_cast<int128>(in.words[in.index(j, c, l, n)]);
          }
          out.at(r, c, l, n) = static_cast<std::uint64_t>((sum % q + q) % q);
        }
      }
    }
  }
  return out;
}

// Out of place, in scratch that is measured, and by the interface's default.
void check_matrix(Rig& rig, const Integers& w, const Host& in, Form form = Form::evaluation) {
  const Host expected = product(w, in);
  const poly::Poly held = rig.upload(in, form);
  for (const poly::Backend* backend : {rig.backend.get(), rig.defaults.get()}) {
    poly::Poly out = rig.output(in.base, w.rows(), in.shape.components, form);
    rig.with_scratch([&](runtime::Workspace& space) {
      backend->multiply_matrix(*rig.queue, out.view(), held.view(), w.view(), in.base, space);
    });
    ASSERT_TRUE(same(rig.download(out), expected))
        << backend->description() << ": " << w.rows() << " x " << w.columns() << ", " << w.view().bytes
        << " bytes, " << in.shape.components << " components";
  }
}

const std::vector<std::vector<int>>& bases_of_matrices() {
  static const std::vector<std::vector<int>> lists = {{20, 30, 49}, {50, 45, 32}, {60, 52, 61, 55}};
  return lists;
}

TEST_P(BackendTest, MatricesOfIntegersMultiplyRows) {
  struct Extents {
    std::size_t rows, columns, components;
  };
  for (const std::vector<int>& bits : bases_of_matrices()) {
    Rig rig(GetParam(), 1024, bits);
    for (const auto& [rows, columns, components] :
         {Extents{1, 1, 1}, {3, 1, 2}, {1, 127, 1}, {5, 33, 2}, {17, 16, 1}, {9, 130, 1}}) {
      for (const int bytes : {1, 2}) {
        check_matrix(rig, matrix(rig, rows, columns, bytes, Fill::random),
                     rig.random(rig.all(), columns, components));
      }
    }
    check_matrix(rig, matrix(rig, 4, 6, 2, Fill::random), rig.random(rig.all(), 6, 1), Form::coefficient);
  }
}

// More rows and columns than the blocks that kernels work in.
TEST_P(BackendTest, MatricesOfIntegersAreCutIntoBlocks) {
  Rig rig(GetParam(), 1024, {49});
  for (const int bytes : {1, 2}) {
    check_matrix(rig, matrix(rig, 130, 70, bytes, Fill::random), rig.random(rig.all(), 70, 1));
    check_matrix(rig, matrix(rig, 65, 128, bytes, Fill::random), rig.random(rig.all(), 128, 1));
    check_matrix(rig, matrix(rig, 6, GetParam().slow() ? 300 : 1100, bytes, Fill::random),
                 rig.random(rig.all(), GetParam().slow() ? 300 : 1100, 1));
  }
}

// Sums as large as they can be, of either sign; moduli of every arithmetic, and one without transforms.
TEST_P(BackendTest, MatricesOfIntegersAtTheirLimits) {
  const std::size_t many = GetParam().slow() ? 40 : 160;
  Rig rig(GetParam(), 1024, {20, 31, 32, 49, 50, 51, 52, 55, 56, 60, 61}, {65536});
  const RnsBase base = rig.all().united(rig.plaintext(0));
  for (const Fill fill : {Fill::least, Fill::most}) {
    for (const int bytes : {1, 2}) {
      for (const bool largest : {false, true}) {
        for (const std::size_t columns : {std::size_t{7}, many}) {
          Host in(base, columns, 1);
          for (std::size_t i = 0; largest && i < in.words.size(); ++i) {
            in.words[i] = base.modulus(i / 1024 % base.size()).value() - 1;
          }
          check_matrix(rig, matrix(rig, 5, columns, bytes, fill), in);
        }
      }
    }
  }
}

// Products by remainders (on some devices) are taken modulo as few numbers as tell them: here nine, whose
// product is hardly larger than 2^15 q columns / 0.45, and eleven.
TEST_P(BackendTest, MatricesOfTwoBytesAtTheLimitsOfRemainders) {
  for (const auto& [bits, columns] : {std::pair<int, std::size_t>{52, 9}, {61, 13}}) {
    Rig rig(GetParam(), 1024, {bits});
    for (const Fill fill : {Fill::least, Fill::most, Fill::random}) {
      for (const bool largest : {false, true}) {
        Host in = rig.random(rig.all(), columns, 2);
        for (std::size_t i = 0; largest && i < in.words.size(); ++i)
          in.words[i] = rig.all().modulus(0).value() - 1;
        check_matrix(rig, matrix(rig, 3, columns, 2, fill), in);
      }
    }
  }
}

// More columns than sums of 32 bits hold products of bytes: all of them one polynomial, which is there once.
TEST_P(BackendTest, MatricesOfManyColumns) {
  if (GetParam().slow()) GTEST_SKIP() << "70,000 columns";
  constexpr std::size_t rows = 5, columns = 70000;
  Rig rig(GetParam(), 1024, {50, 61, 30});
  Host once = rig.random(rig.all(), 1, 1);
  for (std::size_t l = 0; l < 3; ++l) {
    for (std::size_t n = 0; n < 512; ++n) once.at(0, 0, l, n) = rig.all().modulus(l).value() - 1;
  }
  const poly::Poly held = rig.upload(once);
  ConstPolyView in = held.view();
  in.shape.batch = columns;
  in.batch_stride = 0;
  for (const int bytes : {1, 2}) {
    for (const Fill fill : {Fill::least, Fill::most, Fill::random}) {
      const Integers w = matrix(rig, rows, columns, bytes, fill);
      Host expected(rig.all(), rows, 1);
      for (std::size_t r = 0; r < rows; ++r) {
        int128 sum = 0;
        for (std::size_t j = 0; j < columns; ++j) sum += w.at(r, j);
        for (std::size_t l = 0; l < 3; ++l) {
          const auto q = static_cast<int128>(rig.all().modulus(l).value());
          for (std::size_t n = 0; n < 1024; ++n) {
            const int128 of_entry = sum * static_cast<int128>(once.at(0, 0, l, n));
            expected.at(r, 0, l, n) = static_cast<std::uint64_t>((of_entry % q + q) % q);
          }
        }
      }
      poly::Poly out = rig.output(rig.all(), rows, 1);
      rig.with_scratch([&](runtime::Workspace& space) {
        rig.backend->multiply_matrix(*rig.queue, out.view(), in, w.view(), rig.all(), space);
      });
      ASSERT_TRUE(same(rig.download(out), expected)) << bytes << " bytes";
    }
  }
}

// Parts of arrays: some polynomials, components and limbs of larger ones. What is beside the output stays.
TEST_P(BackendTest, MatricesOfIntegersTakePartsOfArrays) {
  Rig rig(GetParam(), 1024, {50, 60, 30});
  const Host whole = rig.random(rig.all(), 9, 3), before = rig.random(rig.all(), 7, 2);
  const RnsBase base = rig.primes(1, 2);
  const Integers w = matrix(rig, 5, 6, 2, Fill::random);
  Host part(base, 6, 1);
  for (std::size_t j = 0; j < 6; ++j) {
    for (std::size_t l = 0; l < 2; ++l) {
      for (std::size_t n = 0; n < 1024; ++n) part.at(j, 0, l, n) = whole.at(j + 2, 2, l + 1, n);
    }
  }
  const Host of_part = product(w, part);
  Host expected = before;
  for (std::size_t r = 0; r < 5; ++r) {
    for (std::size_t l = 0; l < 2; ++l) {
      for (std::size_t n = 0; n < 1024; ++n) expected.at(r + 1, 1, l + 1, n) = of_part.at(r, 0, l, n);
    }
  }
  const poly::Poly in = rig.upload(whole);
  poly::Poly out = rig.upload(before);
  rig.with_scratch([&](runtime::Workspace& space) {
    rig.backend->multiply_matrix(*rig.queue, out.view().batches(1, 5).components(1, 1).limbs(1, 2),
                                 in.view().batches(2, 6).components(2, 1).limbs(1, 2), w.view(), base, space);
  });
  EXPECT_TRUE(same(rig.download(out), expected));
}

TEST_P(BackendTest, MatricesThatAreNoneAreRefused) {
  Rig rig(GetParam(), 1024, {50});
  const Integers w = matrix(rig, 2, 3, 1, Fill::random);
  const poly::Poly in = rig.upload(rig.random(rig.all(), 3, 1));
  poly::Poly out = rig.output(rig.all(), 2, 1);
  const auto expect_refused = [&](const auto& change, const char* part) {
    IntegerMatrixView view = w.view();
    change(view);
    runtime::Workspace space = runtime::Workspace::measuring();
    tests::expect_error<ParameterError>(
        [&] { rig.backend->multiply_matrix(*rig.queue, out.view(), in.view(), view, rig.all(), space); },
        {part});
  };
  expect_refused([](IntegerMatrixView& view) { view.bytes = 3; }, "3 bytes");
  expect_refused([](IntegerMatrixView& view) { view.bytes = 0; }, "0 bytes");
  expect_refused([](IntegerMatrixView& view) { view.rows = 0; }, "0 rows");
  expect_refused([](IntegerMatrixView& view) { view.columns = 0; }, "0 columns");
  expect_refused([](IntegerMatrixView& view) { view.data = nullptr; }, "backend's memory");
  expect_refused([](IntegerMatrixView& view) { view.host = nullptr; }, "host's");
}

// Coefficients without a row stay as they are. `largest`: the longest sums of either sign.
void check_vector(Rig& rig, std::size_t batch, std::size_t rows, std::size_t columns, Fill fill,
                  bool largest = false) {
  const RnsBase base = rig.all();
  Host in = rig.random(base, 1, 1);
  for (std::size_t i = 0; largest && i < in.words.size(); ++i) {
    in.words[i] = base.modulus(i / in.shape.degree).value() - 1;
  }
  const Integers w = matrix(rig, rows, columns, 1, fill);
  Host expected = rig.random(base, batch, 1);
  poly::Poly out = rig.upload(expected, Form::coefficient);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t l = 0; l < base.size(); ++l) {
      const auto q = static_cast<int128>(base.modulus(l).value());
      std::uint64_t& entry = expected.at(r / in.shape.degree, 0, l, r % in.shape.degree);
      int128 sum = entry;
      for (std::size_t j = 0; j < columns; ++j) {
        sum += static_cast<int128>(w.at(r, j)) * static_cast<int128>(in.at(0, 0, l, j));
      }
      entry = static_cast<std::uint64_t>((sum % q + q) % q);
    }
  }
  const poly::Poly held = rig.upload(in, Form::coefficient);
  rig.backend->multiply_add_vector(*rig.queue, out.view(), w.view(), held.view(), base);
  ASSERT_TRUE(same(rig.download(out), expected)) << rows << " x " << columns << ", batch " << batch;
}

TEST_P(BackendTest, BytesMultiplyVectors) {
  for (const std::vector<int>& bits : bases_of_matrices()) {
    Rig rig(GetParam(), 1024, bits);
    check_vector(rig, 1, 1, 16, Fill::random);
    check_vector(rig, 1, 1024, 48, Fill::random);
    check_vector(rig, 3, 2049, 128, Fill::random);
    check_vector(rig, 2, 1500, 768, Fill::random);
    check_vector(rig, 4, 130, 1008, Fill::random);
    for (const Fill fill : {Fill::least, Fill::most}) check_vector(rig, 1, 70, 1024, fill, true);
  }
}

// More columns than a block of a kernel has at a time, and sums that just fit.
TEST_P(BackendTest, BytesMultiplyLongVectors) {
  if (GetParam().slow()) {
    Rig rig(GetParam(), 4096, {48});
    return check_vector(rig, 1, 40, 4096 - 16, Fill::random);
  }
  Rig rig(GetParam(), 65536, {48, 61});
  check_vector(rig, 1, 33, 65536, Fill::least, true);
  check_vector(rig, 1, 3, 2064, Fill::random);
}

TEST_P(BackendTest, VectorsThatDoNotFitBytesAreRefused) {
  Rig rig(GetParam(), 1024, {50});
  const Integers w = matrix(rig, 1024, 32, 1, Fill::random);
  const poly::Poly in = rig.upload(rig.random(rig.all(), 1, 1), Form::coefficient);
  poly::Poly out = rig.output(rig.all(), 1, 1, Form::coefficient);
  const auto expect_refused = [&](const auto& change, const char* part) {
    IntegerMatrixView view = w.view();
    change(view);
    tests::expect_error<ParameterError>(
        [&] { rig.backend->multiply_add_vector(*rig.queue, out.view(), view, in.view(), rig.all()); },
        {part});
  };
  expect_refused([](IntegerMatrixView& view) { view.bytes = 2; }, "2 bytes");
  expect_refused([](IntegerMatrixView& view) { view.columns = 24; }, "24 columns");
  expect_refused([](IntegerMatrixView& view) { view.columns = 1040; }, "up to 1024");
  expect_refused([](IntegerMatrixView& view) { view.columns = 0; }, "0 columns");
  expect_refused([](IntegerMatrixView& view) { view.rows = 0; }, "0 rows");
  expect_refused([](IntegerMatrixView& view) { view.rows = 1025; }, "1025 rows");
  expect_refused([](IntegerMatrixView& view) { view.data = nullptr; }, "backend's memory");
}

// Every residue at its edges; or all of them as large as can be, or farthest from multiples of the prime.
enum class Residues : std::uint8_t { edges, largest, halves };

void check_elements(Rig& rig, std::size_t rows, std::size_t terms, std::size_t columns, Residues residues,
                    std::size_t entries = 1024) {
  const RnsBase base = rig.all();
  Host a = rig.random(base, rows, terms, entries), b = rig.random(base, terms, columns);
  for (Host* host : {&a, &b}) {
    for (std::size_t i = 0; residues != Residues::edges && i < host->words.size(); ++i) {
      const std::uint64_t q = base.modulus(i / host->shape.degree % base.size()).value();
      host->words[i] = residues == Residues::largest ? q - 1 : q / 2;
    }
  }
  Host expected(base, rows, columns);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t l = 0; l < base.size(); ++l) {
        const std::uint64_t q = base.modulus(l).value();
        for (std::size_t n = 0; n < 1024; ++n) {
          arith::uint128 sum = 0;
          for (std::size_t j = 0; j < terms; ++j) {
            sum =
                (sum + static_cast<arith::uint128>(a.at(r, j, l, n / (1024 / entries))) * b.at(j, c, l, n)) %
                q;
          }
          expected.at(r, c, l, n) = static_cast<std::uint64_t>(sum);
        }
      }
    }
  }
  const poly::Poly left = rig.upload(a), right = rig.upload(b);
  for (const poly::Backend* backend : {rig.backend.get(), rig.defaults.get()}) {
    poly::Poly out = rig.output(base, rows, columns);
    rig.with_scratch([&](runtime::Workspace& space) {
      backend->multiply_elements(*rig.queue, out.view(), left.view(), right.view(), base, space);
    });
    ASSERT_TRUE(same(rig.download(out), expected))
        << backend->description() << ": " << rows << " x " << terms << " x " << columns << ", " << entries;
  }
}

TEST_P(BackendTest, ElementsAreMatrices) {
  struct Extents {
    std::size_t rows, terms, columns;
  };
  for (const std::vector<int>& bits : bases_of_matrices()) {
    Rig rig(GetParam(), 1024, bits);
    for (const auto& [rows, terms, columns] :
         {Extents{1, 1, 1}, {3, 2, 1}, {1, 5, 3}, {2, 33, 2}, {5, 4, 4}, {4, 7, 9}, {7, 16, 6}, {2, 9, 17}}) {
      check_elements(rig, rows, terms, columns, Residues::edges);
    }
  }
}

// Left factors that are stored by fewer entries.
TEST_P(BackendTest, ElementsOfPartsAreMatrices) {
  for (const std::vector<int>& bits : bases_of_matrices()) {
    Rig rig(GetParam(), 1024, bits);
    for (const std::size_t entries : {64, 256, 512}) {
      check_elements(rig, 1, 1, 1, Residues::edges, entries);
      check_elements(rig, 9, 5, 2, Residues::edges, entries);
      check_elements(rig, 3, 4, 7, Residues::edges, entries);
    }
    check_elements(rig, 2, 129, 2, Residues::largest, 128);
    check_elements(rig, 2, 67, 1, Residues::largest, 128);
  }
}

// As many rows, and columns with the runs that share a left factor, as fill tiles of tensor cores.
TEST_P(BackendTest, ElementsThatShareLeftFactors) {
  for (const std::vector<int>& bits : {std::vector{20, 49, 50}, std::vector{50, 60}}) {
    Rig rig(GetParam(), 1024, bits);
    check_elements(rig, 40, 19, 4, Residues::edges, 64);
    check_elements(rig, 33, 32, 4, Residues::halves, 64);
    if (GetParam().slow()) continue;
    check_elements(rig, 65, 8, 9, Residues::edges, 64);
    check_elements(rig, 64, 3, 16, Residues::edges, 128);
  }
}

// More terms than lazy sums hold.
TEST_P(BackendTest, ElementsOfManyTerms) {
  for (const int bits : {20, 31, 49, 50, 51, 52, 55, 56, 60, 61}) {
    Rig rig(GetParam(), 1024, {bits});
    for (const std::size_t terms : {31, 57, 129}) check_elements(rig, 1, terms, 2, Residues::largest);
    check_elements(rig, 2, 67, 5, Residues::largest);
    // Many rows share no terms.
    if (bits == 50 || bits == 61) check_elements(rig, 30, 129, 1, Residues::largest);
    if (GetParam().slow() || bits % 10 != 0) continue;
    for (const std::size_t columns : {1, 2, 6}) check_elements(rig, 2, 300, columns, Residues::edges);
    check_elements(rig, 2, 67, 1, Residues::largest);
  }
}

// Rows that are the one before, some terms later.
TEST_P(BackendTest, ElementsThatSlide) {
  constexpr std::size_t rows = 32, turns = 8;
  for (const std::vector<int>& bits : {std::vector{49, 50}, std::vector{60}}) {
    Rig rig(GetParam(), 1024, bits);
    const RnsBase base = rig.all();
    for (const std::size_t step : {1, 2, 3, 4}) {
      const Host a = rig.random(base, rows + turns - 1, step), b = rig.random(base, turns * step, 2);
      Host expected(base, rows, 2);
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < 2; ++c) {
          for (std::size_t l = 0; l < base.size(); ++l) {
            for (std::size_t n = 0; n < 1024; ++n) {
              arith::uint128 sum = 0;
              for (std::size_t j = 0; j < turns * step; ++j) {
                sum += static_cast<arith::uint128>(a.at(r + j / step, j % step, l, n)) * b.at(j, c, l, n) %
                       base.modulus(l).value();
              }
              expected.at(r, c, l, n) = static_cast<std::uint64_t>(sum % base.modulus(l).value());
            }
          }
        }
      }
      const poly::Poly left = rig.upload(a), right = rig.upload(b);
      poly::ConstPolyView sliding = left.view().batches(0, rows);
      sliding.shape.components = turns * step;
      sliding.batch_stride = step * sliding.component_stride;
      poly::Poly out = rig.output(base, rows, 2);
      rig.with_scratch([&](runtime::Workspace& space) {
        rig.backend->multiply_elements(*rig.queue, out.view(), sliding, right.view(), base, space);
      });
      ASSERT_TRUE(same(rig.download(out), expected)) << step;
    }
  }
}

// More terms of 50 bits than 64 bits hold halves' products of: -1 times -1 each.
TEST_P(BackendTest, ElementsOfThousandsOfTerms) {
  if (GetParam().slow()) GTEST_SKIP() << "takes minutes in the emulation";
  constexpr std::size_t rows = 32, terms = 8200, entries = 64;
  Rig rig(GetParam(), 1024, {50});
  const RnsBase base = rig.all();
  const std::uint64_t q = base.modulus(0).value();
  Host a(base, rows, terms, entries), b(base, terms, 1), expected(base, rows, 1);
  std::fill(a.words.begin(), a.words.end(), q - 1);
  std::fill(b.words.begin(), b.words.end(), q - 1);
  std::fill(expected.words.begin(), expected.words.end(), terms);
  const poly::Poly left = rig.upload(a), right = rig.upload(b);
  poly::Poly out = rig.output(base, rows, 1);
  rig.with_scratch([&](runtime::Workspace& space) {
    rig.backend->multiply_elements(*rig.queue, out.view(), left.view(), right.view(), base, space);
  });
  EXPECT_TRUE(same(rig.download(out), expected));
}

}  // namespace
}  // namespace hemera::conformance
