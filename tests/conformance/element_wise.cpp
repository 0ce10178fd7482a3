// Copies and element-wise operations: out[i] = f(a[i], b[i]) mod q with 128-bit integers as the oracle.
#include <algorithm>
#include <atomic>
#include <thread>

#include "conformance/suite.hpp"
#include "hemera/arith/modulus.hpp"

namespace hemera::conformance {
namespace {

using arith::uint128;
using poly::ConstPolyView;
using poly::Form;
using poly::PolyView;
using poly::RnsBase;

using Function = std::function<std::uint64_t(std::uint64_t a, std::uint64_t b, std::uint64_t q)>;
using Operation = std::function<void(Rig& rig, const PolyView& out, const ConstPolyView& a,
                                     const ConstPolyView& b, const RnsBase& base)>;

Host apply(const Host& a, const Host& b, std::size_t batch, std::size_t components,
           const Function& function) {
  Host result(a.base, batch, components);
  for (std::size_t i = 0; i < batch; ++i) {
    for (std::size_t c = 0; c < components; ++c) {
      for (std::size_t l = 0; l < result.shape.limbs; ++l) {
        const std::uint64_t q = a.base.modulus(l).value();
        for (std::size_t n = 0; n < result.shape.degree; ++n) {
          result.at(i, c, l, n) = function(a.at(i, c, l, n), b.at(i, c, l, n), q);
        }
      }
    }
  }
  return result;
}

// Operands that broadcast in batch or components, then both ways of working in place.
void check_operation(const BackendCase& backend_case, const Operation& operation, const Function& function) {
  struct Extents {
    std::size_t batch, components;
  };
  const std::vector<std::pair<Extents, Extents>> operands = {
      {{1, 1}, {1, 1}}, {{3, 2}, {3, 2}}, {{3, 2}, {1, 2}}, {{1, 3}, {3, 1}}, {{3, 3}, {1, 1}},
  };
  // Several blocks of threads for a limb, and (not emulated) more than caches hold.
  for (const std::size_t degree :
       {std::size_t{1} << 10, std::size_t{1} << (backend_case.emulated ? 12 : 15)}) {
    for (const std::vector<int>& bits : bases_of_bits()) {
      if (degree > 1024 && bits.size() < 6) continue;  // the mixed base has all sizes
      Rig rig(backend_case, degree, bits, {2, 65536, 65537});
      for (const RnsBase& base : {rig.all(), rig.plaintext(0), rig.plaintext(1), rig.plaintext(2)}) {
        for (const auto& [left, right] : operands) {
          if (degree > 1024 && left.batch + right.batch == 2) continue;
          const std::size_t batch = std::max(left.batch, right.batch);
          const std::size_t components = std::max(left.components, right.components);
          const Host a = rig.random(base, left.batch, left.components);
          const Host b = rig.random(base, right.batch, right.components);
          const Host expected = apply(a, b, batch, components, function);
          poly::Poly device_a = rig.upload(a);
          poly::Poly device_b = rig.upload(b);
          poly::Poly out = rig.output(base, batch, components);
          operation(rig, out.view(), std::as_const(device_a).view(), std::as_const(device_b).view(), base);
          ASSERT_TRUE(same(rig.download(out), expected)) << degree << " " << bits[0];
          if (a.shape == expected.shape) {
            operation(rig, device_a.view(), std::as_const(device_a).view(), std::as_const(device_b).view(),
                      base);
            ASSERT_TRUE(same(rig.download(device_a), expected));
            device_a = rig.upload(a);
          }
          if (b.shape == expected.shape) {
            operation(rig, device_b.view(), std::as_const(device_a).view(), std::as_const(device_b).view(),
                      base);
            ASSERT_TRUE(same(rig.download(device_b), expected));
          }
        }
      }
    }
  }
}

std::uint64_t sum_mod(std::uint64_t a, std::uint64_t b, std::uint64_t q) { return (a + b) % q; }
std::uint64_t difference_mod(std::uint64_t a, std::uint64_t b, std::uint64_t q) { return (a + q - b) % q; }
std::uint64_t product_mod(std::uint64_t a, std::uint64_t b, std::uint64_t q) {
  return static_cast<std::uint64_t>(static_cast<uint128>(a) * b % q);
}

using OfTwo = decltype(&poly::Backend::add);
Operation by(OfTwo of_two) {
  return [of_two](Rig& rig, auto& out, auto& a, auto& b, auto& base) {
    ((*rig.backend).*of_two)(*rig.queue, out, a, b, base);
  };
}

TEST_P(BackendTest, AddIsAdditionModuloQ) { check_operation(GetParam(), by(&poly::Backend::add), sum_mod); }

TEST_P(BackendTest, SubtractIsSubtractionModuloQ) {
  check_operation(GetParam(), by(&poly::Backend::subtract), difference_mod);
}

TEST_P(BackendTest, MultiplyIsMultiplicationModuloQ) {
  check_operation(GetParam(), by(&poly::Backend::multiply), product_mod);
}

TEST_P(BackendTest, NegateIsNegationModuloQ) {
  check_operation(
      GetParam(),
      [](Rig& rig, auto& out, auto& a, auto&, auto& base) { rig.backend->negate(*rig.queue, out, a, base); },
      [](std::uint64_t a, std::uint64_t, std::uint64_t q) { return (q - a) % q; });
}

TEST_P(BackendTest, MultiplyAddAccumulates) {
  for (const std::vector<int>& bits : bases_of_bits()) {
    Rig rig(GetParam(), 1024, bits);
    const RnsBase base = rig.all();
    for (const std::size_t key_batch : {1, 3}) {
      const Host start = rig.random(base, 3, 2);
      const Host a = rig.random(base, 3, 1);
      const Host b = rig.random(base, key_batch, 2);
      const Host expected = apply(apply(a, b, 3, 2, product_mod), start, 3, 2, sum_mod);
      poly::Poly out = rig.upload(start);
      rig.backend->multiply_add(*rig.queue, out.view(), rig.upload(a).view(), rig.upload(b).view(), base);
      ASSERT_TRUE(same(rig.download(out), expected));
    }
  }
}

TEST_P(BackendTest, ScalarsActLimbByLimb) {
  for (const std::vector<int>& bits : bases_of_bits()) {
    Rig rig(GetParam(), 1024, bits);
    const RnsBase base = rig.all();
    const Host a = rig.random(base, 3, 2);
    for (const bool largest : {false, true}) {
      std::vector<std::uint64_t> scalars = rig.random(base, 1, 1).residues(0, 0, 5);
      for (std::size_t l = 0; largest && l < base.size(); ++l) scalars[l] = base.modulus(l).value() - 1;
      Host products(base, 3, 2), everywhere(base, 3, 2), constant = a;
      for (std::size_t i = 0; i < a.words.size(); ++i) {
        const std::size_t l = i / 1024 % base.size();
        const std::uint64_t q = base.modulus(l).value();
        products.words[i] = product_mod(a.words[i], scalars[l], q);
        everywhere.words[i] = sum_mod(a.words[i], scalars[l], q);
        if (i % 1024 == 0) constant.words[i] = everywhere.words[i];
      }
      const poly::Poly device = rig.upload(a);
      poly::Poly out = rig.output(base, 3, 2);
      rig.backend->multiply_scalar(*rig.queue, out.view(), device.view(), scalars, base);
      EXPECT_TRUE(same(rig.download(out), products));
      rig.backend->add_scalar(*rig.queue, out.view(), device.view(), scalars, Form::evaluation, base);
      EXPECT_TRUE(same(rig.download(out), everywhere));
      poly::Poly coefficients = rig.upload(a, Form::coefficient);
      rig.backend->add_scalar(*rig.queue, coefficients.view(), coefficients.view(), scalars,
                              Form::coefficient, base);
      EXPECT_TRUE(same(rig.download(coefficients), constant));
    }
  }
}

TEST_P(BackendTest, CopyBroadcastsAndZeroFills) {
  Rig rig(GetParam(), 1024, {60, 30, 50});
  const Host a = rig.random(rig.all(), 1, 2);
  poly::Poly out = rig.output(rig.all(), 3, 2);
  rig.backend->copy(*rig.queue, out.view(), rig.upload(a).view());
  EXPECT_TRUE(same(rig.download(out),
                   apply(a, a, 3, 2, [](std::uint64_t x, std::uint64_t, std::uint64_t) { return x; })));
  // Only the middle limb of the middle polynomial.
  Host expected = rig.download(out);
  for (std::size_t n = 0; n < 1024; ++n) expected.at(1, 1, 1, n) = 0;
  rig.backend->fill_zero(*rig.queue, out.view().batches(1, 1).components(1, 1).limbs(1, 1));
  EXPECT_TRUE(same(rig.download(out), expected));
}

// A part of an array goes to the host and comes from there, in either form, and what is beside it stays.
TEST_P(BackendTest, HostCopiesTakePartsOfArrays) {
  Rig rig(GetParam(), 1024, {60, 30, 50});
  const Host whole = rig.random(rig.all(), 2, 2);
  const RnsBase base = rig.primes(1, 1);
  for (const Form form : {Form::evaluation, Form::coefficient}) {
    poly::Poly array = rig.upload(whole, form);
    struct Extent {
      std::size_t first_row, rows, first, count;
    };
    for (const auto& [first_row, rows, first, count] :
         {Extent{0, 2, 1, 1}, {0, 2, 0, 2}, {1, 1, 0, 2}, {1, 1, 1, 1}}) {
      const auto part_of = [first_row = first_row, rows = rows, first = first,
                            count = count](const auto& view) {
        return view.batches(first_row, rows).components(first, count).limbs(1, 1);
      };
      Host part(base, rows, count);
      rig.backend->download(*rig.queue, part.words, part_of(std::as_const(array).view()), form);
      rig.queue->synchronize();
      Host expected = whole;
      for (std::size_t b = 0; b < rows; ++b) {
        for (std::size_t c = 0; c < count; ++c) {
          for (std::size_t n = 0; n < 1024; ++n) {
            ASSERT_EQ(part.at(b, c, 0, n), whole.at(first_row + b, first + c, 1, n));
            part.at(b, c, 0, n) = n;
            expected.at(first_row + b, first + c, 1, n) = n;
          }
        }
      }
      rig.backend->upload(*rig.queue, part_of(array.view()), part.words, form);
      EXPECT_TRUE(same(rig.download(array), expected));
      rig.backend->upload(*rig.queue, array.view(), whole.words, form);
    }
  }
}

// Arrays that are copied in several parts, while other threads copy as well: each row once, and in its place.
TEST_P(BackendTest, LargeArraysGoRowByRow) {
  const Rig rig(GetParam(), 4096, {60, 30, 50});
  const RnsBase base = rig.all();
  const auto travel = [&](std::uint64_t salt) {
    const auto queue = rig.backend->make_thread_queue();
    constexpr std::size_t rows = 65 * 2 * 3, degree = 4096;
    poly::Poly array(rig.backend->memory(), 65, 2, base, Form::coefficient);
    const auto value = [salt](std::size_t row, std::size_t n) { return (row << 16) + (n << 2) + salt; };
    std::vector<std::atomic<int>> made(rows), taken(rows), wrong(rows);
    rig.backend->upload_rows(*queue, array.view(), Form::coefficient,
                             [&](std::size_t first, std::span<std::uint64_t> words) {
                               for (std::size_t i = 0; i < words.size(); ++i) {
                                 if (i % degree == 0) ++made[first + i / degree];
                                 words[i] = value(first + i / degree, i % degree);
                               }
                             });
    rig.backend->download_rows(*queue, std::as_const(array).view(), Form::coefficient,
                               [&](std::size_t first, std::span<const std::uint64_t> words) {
                                 for (std::size_t i = 0; i < words.size(); ++i) {
                                   const std::size_t row = first + i / degree;
                                   if (i % degree == 0) ++taken[row];
                                   if (words[i] != value(row, i % degree)) ++wrong[row];
                                 }
                               });
    for (std::size_t row = 0; row < rows; ++row) {
      ASSERT_EQ(made[row], 1) << row;
      ASSERT_EQ(taken[row], 1) << row;
      ASSERT_EQ(wrong[row], 0) << row;
    }
    std::vector<std::uint64_t> whole(array.shape().words());
    rig.backend->download(*queue, whole, std::as_const(array).view(), Form::coefficient);
    queue->synchronize();
    for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(whole[i], value(i / degree, i % degree));
    // Values, as they are.
    runtime::Buffer bytes(rig.backend->memory(), whole.size() * 8 - 5);
    const auto given = std::as_bytes(std::span(whole)).first(bytes.size());
    rig.backend->upload_values(*queue, {bytes.data(), bytes.size()}, given);
    std::vector<std::byte> back(bytes.size());
    rig.backend->download_values(*queue, back, {std::as_const(bytes).data(), bytes.size()});
    queue->synchronize();
    ASSERT_TRUE(std::equal(back.begin(), back.end(), given.begin()));
  };
  travel(0);
  std::vector<std::thread> threads;
  for (std::uint64_t salt = 1; salt <= (GetParam().brief() ? 2 : 6); ++salt) {
    threads.emplace_back([&travel, salt] { travel(salt); });
  }
  for (std::thread& thread : threads) thread.join();
}

// Values of polynomials in X^(N/n), stored by one of each run: as if all N entries were there.
TEST_P(BackendTest, FewerEntriesStandForRunsOfEqualValues) {
  const std::vector<std::pair<OfTwo, Function>> operations = {{&poly::Backend::add, sum_mod},
                                                              {&poly::Backend::subtract, difference_mod},
                                                              {&poly::Backend::multiply, product_mod}};
  const auto repeated = [](const Host& stored) {
    Host whole(stored.base, stored.shape.batch, stored.shape.components);
    const std::size_t run = whole.shape.degree / stored.shape.degree;
    for (std::size_t i = 0; i < whole.words.size(); ++i) whole.words[i] = stored.words[i / run];
    return whole;
  };
  for (const std::size_t degree : {std::size_t{1} << 10, std::size_t{1} << 15}) {
    const bool large = degree > 1 << 10;
    for (const std::size_t entries : {std::size_t{64}, std::size_t{128}, degree / 2}) {
      if (large && entries == 128) continue;
      SCOPED_TRACE(std::to_string(entries) + " of " + std::to_string(degree));
      Rig rig(GetParam(), degree, {60, 30, 50});
      const RnsBase base = rig.all();
      const Host a = rig.random(base, 3, 2);
      const Host stored = rig.random(base, 3, 1, entries);
      const Host b = repeated(stored);
      const poly::Poly device_a = rig.upload(a);
      const poly::Poly device_b = rig.upload(stored);
      EXPECT_TRUE(same(rig.download(device_b), stored));

      poly::Poly whole = rig.output(base, 3, 1);
      rig.backend->copy(*rig.queue, whole.view(), device_b.view());
      EXPECT_TRUE(same(rig.download(whole), b));
      for (const poly::Poly* from : {&device_b, static_cast<const poly::Poly*>(&whole)}) {
        poly::Poly again = rig.upload(rig.random(base, 3, 1, entries));
        rig.backend->copy(*rig.queue, again.view(), from->view());
        EXPECT_TRUE(same(rig.download(again), stored));
      }
      poly::Poly moved = rig.upload(rig.random(base, 3, 1, entries));
      rig.backend->copy_from(*rig.queue, moved.view(), *rig.backend, *rig.queue, device_b.view(),
                             Form::evaluation);
      EXPECT_TRUE(same(rig.download(moved), stored));

      poly::Poly out = rig.output(base, 3, 2);
      for (const auto& [operation, function] : operations) {
        ((*rig.backend).*operation)(*rig.queue, out.view(), device_a.view(), device_b.view(), base);
        EXPECT_TRUE(same(rig.download(out), apply(a, b, 3, 2, function)));
      }
      const Host once = apply(a, b, 3, 2, product_mod);
      rig.backend->multiply_add(*rig.queue, out.view(), device_a.view(), device_b.view(), base);
      EXPECT_TRUE(same(rig.download(out), apply(once, once, 3, 2, sum_mod)));
      const ConstPolyView left = device_a.view(), right = device_b.view();
      rig.backend->inner_product(*rig.queue, out.view(), std::vector{left, left, left},
                                 std::vector{right, ConstPolyView(whole.view()), right}, base);
      EXPECT_TRUE(same(rig.download(out), apply(apply(once, once, 3, 2, sum_mod), once, 3, 2, sum_mod)));
      std::vector<std::uint64_t> added;
      Host constant(base, 1, 2);
      for (std::size_t l = 0; l < base.size(); ++l) {
        added.push_back(base.modulus(l).value() - 1);
        for (std::size_t n = 0; n < degree; ++n) constant.at(0, 0, l, n) = added.back();
      }
      rig.backend->inner_product(*rig.queue, out.view(), std::vector{left, left}, std::vector{right, right},
                                 base, added);
      EXPECT_TRUE(same(rig.download(out), apply(apply(once, once, 3, 2, sum_mod), constant, 3, 2, sum_mod)));
      // Several sums of the same factors: by kernels of 8, 4, 2 and 1, and of more terms than one launch has.
      for (const auto& [sums, terms] : {std::pair{2, 3}, {15, 2}, {3, 33}}) {
        if (large && terms == 33) continue;  // launches are cut by terms, whatever the ring
        std::vector<Host> lefts, rights;
        std::vector<poly::Poly> held, outputs;
        std::vector<ConstPolyView> of_a, of_b;
        std::vector<poly::PolyView> to;
        for (int i = 0; i < terms; ++i) lefts.push_back(rig.random(base, i == 1 ? 1 : 3, 2));
        for (int i = 0; i < sums * terms; ++i) rights.push_back(rig.random(base, 1, 1, entries));
        held.reserve(lefts.size() + rights.size());
        for (const Host& host : lefts)
          of_a.push_back(std::as_const(held.emplace_back(rig.upload(host))).view());
        for (const Host& host : rights)
          of_b.push_back(std::as_const(held.emplace_back(rig.upload(host))).view());
        for (int r = 0; r < sums; ++r) outputs.push_back(rig.output(base, 3, 2));
        for (poly::Poly& output : outputs) to.push_back(output.view());
        rig.backend->inner_products(*rig.queue, to, of_a, of_b, base);
        for (int r = 0; r < sums; ++r) {
          Host expected = apply(lefts[0], repeated(rights[r * terms]), 3, 2, product_mod);
          for (int i = 1; i < terms; ++i) {
            expected = apply(expected, apply(lefts[i], repeated(rights[r * terms + i]), 3, 2, product_mod), 3,
                             2, sum_mod);
          }
          EXPECT_TRUE(same(rig.download(outputs[r]), expected)) << sums << " sums, number " << r;
        }
      }
      // A part of one array to a part of another.
      rig.backend->subtract(*rig.queue, out.view().batches(1, 1).limbs(1, 2), left.batches(1, 1).limbs(1, 2),
                            right.batches(2, 1).limbs(1, 2), rig.primes(1, 2));
      const Host found = rig.download(out);
      for (std::size_t l = 1; l < 3; ++l) {
        const std::uint64_t q = base.modulus(l).value();
        for (std::size_t n = 0; n < degree; n += degree / 64 - 1) {
          ASSERT_EQ(found.at(1, 1, l, n), difference_mod(a.at(1, 1, l, n), b.at(2, 0, l, n), q)) << n;
        }
      }
    }
  }
}

// A strided part of an array as output and input: the neighbours stay as they are.
TEST_P(BackendTest, ViewsOfPartsTouchNothingElse) {
  Rig rig(GetParam(), 1024, {60, 30, 50, 45});
  const Host a = rig.random(rig.all(), 3, 2);
  const Host b = rig.random(rig.all(), 3, 2);
  Host expected = b;
  const RnsBase part = rig.primes(1, 2);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t l = 1; l < 3; ++l) {
      const std::uint64_t q = rig.all().modulus(l).value();
      for (std::size_t n = 0; n < 1024; ++n)
        expected.at(i, 1, l, n) = (a.at(i, 0, l, n) + b.at(i, 1, l, n)) % q;
    }
  }
  const poly::Poly device_a = rig.upload(a);
  poly::Poly device_b = rig.upload(b);
  const PolyView out = device_b.view().components(1, 1).limbs(1, 2);
  rig.backend->add(*rig.queue, out, device_a.view().components(0, 1).limbs(1, 2), out, part);
  EXPECT_TRUE(same(rig.download(device_b), expected));
}

}  // namespace
}  // namespace hemera::conformance
