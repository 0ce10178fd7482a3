// Parts of polynomials by their coefficients, and residues in fewer bytes.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "conformance/suite.hpp"
#include "hemera/arith/primes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::conformance {
namespace {

using poly::Form;
using poly::PolyView;
using poly::RnsBase;

std::span<std::byte> bytes_of(runtime::Buffer& buffer) { return {buffer.data(), buffer.size()}; }
std::span<const std::byte> bytes_of(const runtime::Buffer& buffer) { return {buffer.data(), buffer.size()}; }

// Random polynomials by their coefficients: part u has the coefficients u, u + d, ... at multiples of d.
void check_parts(Rig& rig, std::size_t parts, std::size_t batch, std::size_t components) {
  const RnsBase base = rig.all();
  const std::size_t degree = base.ring()->degree(), entries = degree / parts;
  const Host in = rig.random(base, batch, components);
  const poly::Poly values = rig.upload(rig.transformed(in, Form::coefficient, Form::evaluation));
  poly::Poly out(rig.backend->memory(), parts * components, batch, base, Form::evaluation,
                 runtime::Secrecy::open, entries);
  rig.backend->split_parts(*rig.queue, out.view(), values.view(), base);
  // Stored values repeated are those of the whole polynomial.
  poly::Poly whole = rig.output(base, parts * components, batch);
  rig.backend->copy(*rig.queue, whole.view(), out.view());
  const Host found = rig.transformed(rig.download(whole), Form::evaluation, Form::coefficient);
  Host expected(base, parts * components, batch);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t c = 0; c < components; ++c) {
      for (std::size_t l = 0; l < base.size(); ++l) {
        for (std::size_t n = 0; n < degree; ++n) {
          expected.at(c * parts + n % parts, b, l, n / parts * parts) = in.at(b, c, l, n);
        }
      }
    }
  }
  ASSERT_TRUE(same(found, expected)) << parts << " parts of " << batch << " x " << components;
}

TEST_P(BackendTest, PolynomialsAreSplitInParts) {
  for (const std::vector<int>& bits : {std::vector{20, 30, 49}, {50, 60, 61}}) {
    Rig rig(GetParam(), 1024, bits);
    for (const std::size_t parts : {2, 4, 8, 16}) check_parts(rig, parts, 3, 2);
    check_parts(rig, 8, 1, 1);
    check_parts(rig, 2, 1, 3);
  }
}

// In larger rings the runs of values that belong together are longer than rows of kernels.
TEST_P(BackendTest, LargeRingsAreSplitInParts) {
  for (const std::size_t degree : {2048, 8192, 16384, 32768, 65536}) {
    if (GetParam().brief() && degree > 32768) break;
    Rig rig(GetParam(), degree, {50});
    check_parts(rig, degree / poly::min_entries, 1, 1);
    if (!GetParam().brief() && degree <= 8192) check_parts(rig, degree / poly::min_entries / 2, 2, 1);
  }
}

TEST_P(BackendTest, PartsThatDoNotFitAreRefused) {
  const arith::Modulus few(12289);
  Rig rig(GetParam(), 1024, {50}, {}, {{few, arith::minimal_primitive_root(256, few), 128}});
  const RnsBase base = rig.all();
  const auto split_over = [&](const RnsBase& over, std::size_t batch, std::size_t components,
                              std::size_t entries) {
    const poly::Poly in = rig.output(over, 2, 2);
    poly::Poly out(rig.backend->memory(), batch, components, over, Form::evaluation, runtime::Secrecy::open,
                   entries);
    rig.backend->split_parts(*rig.queue, out.view(), in.view(), over);
  };
  const auto split = [&](std::size_t batch, std::size_t components, std::size_t entries) {
    split_over(base, batch, components, entries);
  };
  split(8, 2, 256);
  EXPECT_THROW(split_over(rig.choose({1}), 8, 2, 256), ParameterError);
  EXPECT_THROW(split(4, 2, 256), MismatchError);
  EXPECT_THROW(split(8, 1, 256), MismatchError);
  EXPECT_THROW(split(2, 2, 1024), MismatchError);
}

TEST_P(BackendTest, ResiduesArePacked) {
  Rig rig(GetParam(), 1024, {20, 48, 50, 61});
  const Host in = rig.random(rig.all(), 2, 3);
  const poly::Poly held = rig.upload(in, Form::coefficient);
  for (const int width : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (const int dropped : {0, 1, 16, 40, 60}) {
      runtime::Buffer packed(rig.backend->memory(), in.words.size() * static_cast<std::size_t>(width));
      rig.backend->pack_rounded(*rig.queue, bytes_of(packed), held.view(), dropped, width);
      std::vector<std::byte> found(packed.size());
      rig.backend->download_values(*rig.queue, found, bytes_of(packed));
      rig.queue->synchronize();
      for (std::size_t i = 0; i < in.words.size(); ++i) {
        // Half of what is dropped is added by its own bit: the number is cut off there, and rounds up.
        const std::uint64_t word = in.words[i];
        const std::uint64_t rounded = dropped == 0 ? word : (word >> dropped) + (word >> (dropped - 1) & 1);
        for (std::size_t byte = 0; byte < static_cast<std::size_t>(width); ++byte) {
          ASSERT_EQ(std::to_integer<unsigned>(found[i * static_cast<std::size_t>(width) + byte]),
                    rounded >> 8 * byte & 255)
              << word << " without " << dropped << " bits in " << width << " bytes, byte " << byte;
        }
      }
    }
  }
}

// Some polynomials, components and limbs of larger arrays.
TEST_P(BackendTest, PartsOfArraysArePacked) {
  Rig rig(GetParam(), 1024, {50, 48, 60});
  const Host in = rig.random(rig.all(), 4, 3);
  const poly::Poly held = rig.upload(in, Form::coefficient);
  runtime::Buffer packed(rig.backend->memory(), std::size_t{2} * 2 * 2 * 1024 * 8);
  rig.backend->pack_rounded(*rig.queue, bytes_of(packed),
                            held.view().batches(1, 2).components(1, 2).limbs(1, 2), 0, 8);
  std::vector<std::uint64_t> found(packed.size() / 8);
  rig.backend->download_values(*rig.queue, std::as_writable_bytes(std::span(found)), bytes_of(packed));
  rig.queue->synchronize();
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i], in.at(1 + i / 4096, 1 + i / 2048 % 2, 1 + i / 1024 % 2, i % 1024)) << i;
  }
}

// Bytes of any number in pieces of any size: each once, as the operations before `end` leave them.
TEST_P(BackendTest, PiecesAreTakenOnceEach) {
  Rig rig(GetParam(), 1024, {50});
  const Host in = rig.random(rig.all(), 300, 1);  // 2.4 MB
  const poly::Poly held = rig.upload(in, Form::coefficient);
  for (const auto& [polynomials, piece] : {std::pair<std::size_t, std::size_t>{300, 65536},
                                           {300, 1 << 20},
                                           {300, 100'001},
                                           {7, 8},
                                           {1, 65536},
                                           {1, 1}}) {
    const std::size_t size = polynomials * 8192;
    runtime::Buffer made(rig.backend->memory(), size);
    std::vector<std::byte> found(size);
    std::vector<std::atomic<int>> taken((size + piece - 1) / piece);
    std::size_t done = 0;
    rig.backend->download_pieces(*rig.queue, bytes_of(std::as_const(made)),
                                 {.bytes = piece,
                                  .make =
                                      [&](std::size_t end) {
                                        ASSERT_LE(end, size);
                                        const std::size_t count = (end + 8191) / 8192 - done;
                                        if (count == 0) return;
                                        rig.backend->pack_rounded(
                                            *rig.queue, bytes_of(made).subspan(done * 8192, count * 8192),
                                            held.view().batches(done, count), 0, 8);
                                        done += count;
                                      },
                                  .take =
                                      [&](std::size_t first, std::span<const std::byte> bytes) {
                                        ASSERT_EQ(first % piece, 0U);
                                        ASSERT_EQ(bytes.size(), std::min(piece, size - first));
                                        ++taken[first / piece];
                                        std::copy(bytes.begin(), bytes.end(), found.data() + first);
                                      }});
    EXPECT_EQ(done, polynomials);
    EXPECT_TRUE(std::all_of(taken.begin(), taken.end(), [](const auto& count) { return count == 1; }));
    EXPECT_EQ(std::memcmp(found.data(), in.words.data(), size), 0)
        << polynomials << " in pieces of " << piece;
  }
  const auto fails = [&](std::size_t piece, bool makes) {
    runtime::Buffer bytes(rig.backend->memory(), 100);
    rig.backend->download_pieces(
        *rig.queue, bytes_of(std::as_const(bytes)),
        {.bytes = piece,
         .make =
             [&](std::size_t) {
               if (!makes) throw FormatError("make");
             },
         .take = [](std::size_t, std::span<const std::byte>) { throw RangeError("take"); }});
  };
  EXPECT_THROW(fails(0, true), ParameterError);
  EXPECT_THROW(fails((1 << 20) + 1, true), ParameterError);
  EXPECT_THROW(fails(10, false), FormatError);
  EXPECT_THROW(fails(10, true), RangeError);
}

TEST_P(BackendTest, PackingThatDoesNotFitIsRefused) {
  Rig rig(GetParam(), 1024, {50});
  const poly::Poly held = rig.upload(rig.random(rig.all(), 1, 1), Form::coefficient);
  runtime::Buffer packed(rig.backend->memory(), 1024 * 9);
  const auto pack = [&](std::size_t first, std::size_t bytes, int dropped, int width) {
    rig.backend->pack_rounded(*rig.queue, bytes_of(packed).subspan(first, bytes), held.view(), dropped,
                              width);
  };
  pack(0, 4096, 3, 4);
  pack(8, 4096, 3, 4);
  EXPECT_THROW(pack(0, 4095, 3, 4), MismatchError);
  EXPECT_THROW(pack(4, 4096, 3, 4), MismatchError);
  EXPECT_THROW(pack(0, 4096, -1, 4), ParameterError);
  EXPECT_THROW(pack(0, 4096, 61, 4), ParameterError);
  EXPECT_THROW(pack(0, 9216, 3, 9), ParameterError);
  EXPECT_THROW(pack(0, 0, 3, 0), ParameterError);
}

}  // namespace
}  // namespace hemera::conformance
