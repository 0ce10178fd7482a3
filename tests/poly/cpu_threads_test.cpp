// Results of the CPU backend do not depend on the number of threads, whatever its loops divide.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/transform_part.hpp"
#include "poly/ring_support.hpp"

namespace hemera::poly::cpu {
namespace {

using runtime::Workspace;
using Words = std::vector<std::uint64_t>;

TEST(TransformParts, AreTheWholeTransform) {
  std::mt19937_64 generator(3);
  for (const Kernels* kernels : available_kernels()) {
    for (const std::size_t degree : {4096, 8192, 16384, 32768, 65536, 131072}) {
#if defined(HEMERA_TEST_EMULATED)
      if (degree > 16384) break;  // by the kernels of smaller rings
#endif
      for (const int bits : {30, 47, 49, 50, 55, 61}) {
        const LimbTables tables = make_limb_tables(ntt_modulus(degree, bits), degree);
        // Vectors begin on cache lines, as arrays of polynomials do.
        TwiddleTable in(degree), forward(degree), inverse(degree), part_forward(degree), part_inverse(degree);
        for (std::uint64_t& word : in) word = generator() % tables.modulus.value();
        kernels->forward_transform(forward.data(), in.data(), tables);
        kernels->inverse_transform(inverse.data(), in.data(), tables);
        const std::size_t parts = std::size_t{1} << (generator() % 4);
        for (std::size_t p = parts; p-- > 0;) {
          const TransformPart part(*kernels, tables, p, parts);
          part.forward_columns(part_forward.data(), in.data());
          part.inverse_rows(part_inverse.data(), in.data());
        }
        for (std::size_t p = parts; p-- > 0;) {
          const TransformPart part(*kernels, tables, p, parts);
          part.forward_rows(part_forward.data());
          part.inverse_columns(part_inverse.data());
        }
        const std::string name = std::string(kernels->name) + " " + std::to_string(degree) + " " +
                                 std::to_string(bits) + " " + std::to_string(parts);
        ASSERT_EQ(part_forward, forward) << name;
        ASSERT_EQ(part_inverse, inverse) << name;
      }
    }
  }
}

TEST(EvenParts, ShareWorkWithinANinth) {
  EXPECT_EQ(even_parts(16, 16, 8), 1U);
  EXPECT_EQ(even_parts(34, 16, 8), 4U);  // 9 rounds of quarters, where whole ones are 3 of 2.125
  EXPECT_EQ(even_parts(1, 1, 8), 1U);
  EXPECT_EQ(even_parts(1, 64, 8), 8U);
  for (std::size_t count = 1; count < 100; ++count) {
    for (const int threads : {2, 3, 5, 16, 100}) {
      const std::size_t parts = even_parts(count, threads, 1024);
      const auto shares = static_cast<std::size_t>(threads);
      EXPECT_LE(9 * ((count * parts + shares - 1) / shares) * shares, 10 * count * parts);
    }
  }
}

TEST(Threads, AreAsManyAsTheWorkIsWorth) {
  const runtime::ThreadPool pool(16);
  EXPECT_EQ(threads_for(pool, tuning::serial_words), 1);
  EXPECT_EQ(threads_for(pool, tuning::serial_words + 1), 4);
  EXPECT_EQ(threads_for(pool, 9 * tuning::words_per_thread), 9);
  EXPECT_EQ(threads_for(pool, std::size_t{1} << 40), 16);
  EXPECT_EQ(threads_for(runtime::ThreadPool(3), std::size_t{1} << 40), 3);
  EXPECT_EQ(threads_worth(100 * tuning::words_per_thread), 100);
}

// Every operation that is divided among threads, on a backend; all results one after another.
class Operations {
 public:
  Operations(std::shared_ptr<const Ring> ring, const Kernels& kernels, int threads)
      : ring_(std::move(ring)), backend_(ring_, kernels, threads), queue_(backend_.make_queue()) {}

  Words run() {
    const RnsBase all = base({0, 1, 2, 3, 4, 5, 6});
    const RnsBase lower = base({0, 1, 2, 3, 4});
    const RnsBase special = base({5, 6});
    Poly two = random(all, 2, 2);
    Poly one = random(all, 2, 1);
    const Poly other = random(all, 2, 2);

    transform(two);
    Poly out(memory(), 2, 2, all, Form::evaluation);
    backend_.add(*queue_, out.view(), two.view(), other.view(), all);
    keep(out);
    backend_.multiply(*queue_, out.view(), two.view(), other.view(), all);
    keep(out);
    Poly three(memory(), 2, 3, all, Form::evaluation);
    const ConstPolyView left[] = {two.view(), other.view()}, right[] = {other.view(), two.view()};
    backend_.inner_product(*queue_, three.view(), {left, 1}, {right, 1}, all);
    keep(three);
    backend_.inner_product(*queue_, three.view(), left, right, all);
    keep(three);
    for (const Form form : {Form::coefficient, Form::evaluation}) {
      backend_.automorphism(*queue_, out.view(), two.view(), 25, form, all);
      keep(out);
    }

    Poly converted(memory(), 2, 1, special, Form::coefficient);
    const Poly small = random(lower, 2, 1);
    backend_.convert(*queue_, converted.view(), small.view(),
                     BaseConversion(lower, special, BaseConversion::Kind::exact));
    keep(converted);
    for (const std::size_t dropped : {std::size_t{1}, std::size_t{2}}) {
      const RnsBase target = dropped == 2 ? lower : base({0, 1, 2, 3, 4, 5});
      const Division division(all, target);
      for (const Form form : {Form::coefficient, Form::evaluation}) {
        Poly quotient(memory(), 2, 2, target, form);
        with_workspace([&](Workspace& workspace) {
          backend_.divide_and_round(*queue_, quotient.view(), other.view(), division, form, workspace);
        });
        keep(quotient);
      }
    }

    std::vector<GadgetDigit> digits;
    for (std::uint32_t i = 0; i < 5; ++i) digits.push_back({i, base({i}), 0, 0});
    const ModUp up(lower, special, digits, all);
    const Poly key = random(all, 5, 2);
    const Division down(up.extended(), lower);
    for (const std::size_t batch : {std::size_t{1}, std::size_t{2}}) {
      Poly switched(memory(), batch, 2, lower, Form::evaluation);
      const KeySwitch one_key{.out = switched.view(), .key = key.view()};
      with_workspace([&](Workspace& workspace) {
        backend_.switch_keys(*queue_, {&one_key, 1}, small.view().batches(0, batch), up, &down, {},
                             workspace);
      });
      keep(switched);
    }
    Poly extended(memory(), 2, 5, up.extended(), Form::evaluation);
    with_workspace([&](Workspace& workspace) {
      backend_.mod_up(*queue_, extended.view(), small.view(), up, Form::coefficient, workspace);
    });
    keep(extended);
    Poly products(memory(), 2, 2, up.extended(), Form::evaluation);
    backend_.key_inner_product(*queue_, products.view(), extended.view(), key.view(), up);
    keep(products);

    RandomStream stream;
    stream.seed.bytes.fill(7);
    for (const Distribution& distribution : {Distribution::uniform(), Distribution::ternary()}) {
      with_workspace([&](Workspace& workspace) {
        backend_.sample(*queue_, out.view(), stream, distribution, all, workspace);
      });
      keep(out);
    }

    for (const std::size_t dropped : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      const RnsBase target = dropped == 0   ? all
                             : dropped == 1 ? base({0, 1, 2, 3, 4, 5})
                                            : base({0, 1, 2, 3, 4});
      const std::optional<Division> division =
          dropped == 0 ? std::nullopt : std::make_optional<Division>(all, target);
      for (const std::size_t batch : {std::size_t{1}, std::size_t{2}}) {
        Poly encrypted(memory(), batch, 2, target, Form::evaluation);
        with_workspace([&](Workspace& workspace) {
          backend_.encrypt_zero(*queue_, encrypted.view(), two.view().batches(0, 1), stream,
                                ErrorDistribution(3.19), 65537, all, division ? &*division : nullptr, {},
                                workspace);
        });
        keep(encrypted);
      }
    }

    std::vector<std::complex<double>> slots(ring_->degree());
    for (auto& slot : slots) slot = {static_cast<double>(generator_() % 1000) - 500, 0.25};
    const SlotView view{slots.data(), 2, ring_->degree() / 2};
    with_workspace(
        [&](Workspace& workspace) { backend_.embed(*queue_, one.view(), view, 0x1p40, 5, all, workspace); });
    keep(one);
    with_workspace([&](Workspace& workspace) {
      backend_.unembed(*queue_, view, one.view(), 0x1p40, 5, all, workspace);
    });
    const auto* bytes = reinterpret_cast<const std::uint64_t*>(slots.data());
    kept_.insert(kept_.end(), bytes, bytes + 2 * slots.size());
    return std::move(kept_);
  }

 private:
  [[nodiscard]] const std::shared_ptr<runtime::Memory>& memory() const { return backend_.memory(); }
  [[nodiscard]] RnsBase base(const std::vector<std::uint32_t>& indices) const { return {ring_, indices}; }

  Poly random(const RnsBase& over, std::size_t batch, std::size_t components) {
    Poly poly(memory(), batch, components, over, Form::evaluation);
    for (std::size_t i = 0; i < batch * components * over.size(); ++i) {
      auto* limb = reinterpret_cast<std::uint64_t*>(poly.view().data) + i * ring_->degree();
      for (std::size_t n = 0; n < ring_->degree(); ++n) {
        limb[n] = generator_() % over.modulus(i % over.size()).value();
      }
    }
    return poly;
  }

  void transform(Poly& poly) {
    backend_.inverse_transform(*queue_, poly.view(), poly.view(), poly.base());
    keep(poly);
    backend_.forward_transform(*queue_, poly.view(), poly.view(), poly.base());
    keep(poly);
  }

  void with_workspace(const std::function<void(Workspace&)>& operation) {
    Workspace measuring = Workspace::measuring();
    operation(measuring);
    Workspace workspace(memory(), measuring.peak());
    operation(workspace);
  }

  void keep(const Poly& poly) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(poly.view().data);
    kept_.insert(kept_.end(), words, words + poly.shape().words());
  }

  std::shared_ptr<const Ring> ring_;
  CpuBackend backend_;
  std::unique_ptr<runtime::Queue> queue_;
  std::mt19937_64 generator_{11};
  Words kept_;
};

TEST(Threads, DoNotChangeABit) {
  for (const Kernels* kernels : available_kernels()) {
    for (const std::vector<int>& bits :
         {std::vector<int>{50, 49, 45, 30, 50, 50, 49}, {55, 61, 50, 60, 40, 58, 61}}) {
      const auto ring = make_ring(8192, bits);
      const Words expected = Operations(ring, *kernels, 1).run();
      for (const int threads : {2, 3, 16}) {
        EXPECT_TRUE(Operations(ring, *kernels, threads).run() == expected)
            << kernels->name << " with " << threads << " threads";
      }
    }
  }
}

// Limbs of u that stay with one thread each are not in the workspace: the loop leaves them zero.
TEST(Threads, ZeroWhatAnEncryptionKeepsOfItsSecret) {
  const auto ring = make_ring(8192, {50, 50, 50, 50, 50});
  const CpuBackend backend(ring, *available_kernels().back(), 2);
  const auto queue = backend.make_queue();
  const RnsBase all(ring, {0, 1, 2, 3, 4});
  const RnsBase target(ring, {0, 1, 2, 3});
  const Division division(all, target);
  Poly key(backend.memory(), 1, 2, all, Form::evaluation);
  std::fill_n(reinterpret_cast<std::uint64_t*>(key.view().data), key.shape().words(), 3);
  Poly out(backend.memory(), 1, 2, target, Form::evaluation);
  const auto encrypt = [&](Workspace& workspace) {
    backend.encrypt_zero(*queue, out.view(), std::as_const(key).view(), RandomStream{},
                         ErrorDistribution(3.19), 1, all, &division, {}, workspace);
  };
  Workspace measuring = Workspace::measuring();
  encrypt(measuring);
  Workspace workspace(backend.memory(), measuring.peak());
  // The pool gives back the block that it got last: four limbs that two threads share evenly.
  const std::size_t words = 4 * ring->degree();
  {
    runtime::Buffer block(backend.memory(), words * sizeof(std::uint64_t));
    std::fill_n(reinterpret_cast<std::uint64_t*>(block.data()), words, 1);
  }
  encrypt(workspace);
  runtime::Buffer block(backend.memory(), words * sizeof(std::uint64_t));
  const auto* left = reinterpret_cast<const std::uint64_t*>(block.data());
  EXPECT_EQ(std::count(left, left + words, 0), static_cast<std::ptrdiff_t>(words));
}

}  // namespace
}  // namespace hemera::poly::cpu
