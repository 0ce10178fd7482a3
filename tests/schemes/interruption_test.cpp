// Operations that are told to end early, at each point where they ask.
#include "hemera/runtime/interruption.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "hemera/io/objects.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "scalar_of.hpp"
#include "test_device.hpp"

namespace hemera {
namespace {

using rlwe::Ciphertext;
using rlwe::Scheme;

int questions_left = 0;

class Interruption : public ::testing::TestWithParam<Scheme> {
 protected:
  static rlwe::Parameters parameters() {
    switch (GetParam()) {
      case Scheme::bfv:
        return bfv::parameters_for({.depth = 2});
      case Scheme::bgv:
        return bgv::parameters_for({.depth = 2});
      case Scheme::ckks:
        return ckks::parameters_for({.depth = 2});
    }
    return ckks::parameters_for({});
  }

  rlwe::Plaintext encoded(std::size_t objects) const {
    if (GetParam() == Scheme::ckks) {
      return ckks::Encoder(context).encode(std::vector<std::complex<double>>(8 * objects, 3), {objects});
    }
    return integer::Encoder(context).encode(std::vector<std::int64_t>(8 * objects, 3), {objects});
  }

  // Calls `work` with interruptions at its first question, its second, ... until it asks no more. Returns how
  // often it was interrupted.
  template <typename Work>
  static int interrupt_everywhere(Work work) {
    for (int point = 0;; ++point) {
      questions_left = point;
      runtime::set_interrupt_check([] { return questions_left-- == 0; }, std::chrono::milliseconds(0));
      const bool done = work();
      runtime::set_interrupt_check(nullptr);
      if (done) return point;
    }
  }

  bool on_cpu() const { return context->memory()->device().kind == runtime::Device::Kind::cpu; }

  std::shared_ptr<const rlwe::Context> context = tests::make_context(parameters());
  rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {});
  std::unique_ptr<const rlwe::Evaluator> evaluator =
      any_scheme::make_evaluator(context, keys, rlwe::Relinearization::lazy);
};

TEST_P(Interruption, ChangesInPlaceAreDoneOrNot) {
  const rlwe::Evaluator& e = *evaluator;
  const rlwe::Plaintext plain = encoded(2);
  const rlwe::Plaintext one = encoded(1);
  const Ciphertext x = any_scheme::encrypt(plain, secret);
  const Ciphertext single = any_scheme::encrypt(one, secret);
  const Ciphertext product = e.multiply(x, x);
  const Ciphertext single_product = e.multiply(single, single);
  const std::vector<std::function<void(Ciphertext&)>> changes = {
      [&](Ciphertext& a) { e.add_inplace(a, x); },
      [&](Ciphertext& a) { e.subtract_inplace(a, x); },
      [&](Ciphertext& a) { e.add_inplace(a, product); },
      [&](Ciphertext& a) { e.negate_inplace(a); },
      [&](Ciphertext& a) { e.add_plain_inplace(a, plain); },
      [&](Ciphertext& a) { e.subtract_plain_inplace(a, plain); },
      [&](Ciphertext& a) { e.add_scalar_inplace(a, 2); },
      [&](Ciphertext& a) {
        e.add_scalar_inplace(a, scalar_of(e, {2, 1}, 2));
      },
      [&](Ciphertext& a) { e.multiply_scalar_inplace(a, 2); },
      [&](Ciphertext& a) { e.multiply_scalar_inplace(a, scalar_of(e, 1.5, 3)); },
      [&](Ciphertext& a) {
        e.multiply_scalar_inplace(a, scalar_of(e, {1.5, 1}, 3));
      },
      [&](Ciphertext& a) { e.relinearize_inplace(a); },
      [&](Ciphertext& a) { e.rescale_inplace(a); },
      [&](Ciphertext& a) { e.drop_to_level_inplace(a, 0); },
      [&](Ciphertext& a) { e.lower_to_level_inplace(a, 0); }};
  int interruptions = 0;
  for (const Ciphertext* given : {&x, &product, &single, &single_product}) {
    const auto before = io::save(*given);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      Ciphertext expected = given->clone();
      try {
        changes[i](expected);
      } catch (const Error&) {
        continue;  // not of this scheme and scale
      }
      const auto after = io::save(expected);
      interruptions += interrupt_everywhere([&, a = given->clone()]() mutable {
        try {
          changes[i](a);
        } catch (const runtime::Interrupted&) {
          runtime::set_interrupt_check(nullptr);
          EXPECT_EQ(io::save(a), before) << i;
          return false;
        }
        runtime::set_interrupt_check(nullptr);
        EXPECT_EQ(io::save(a), after) << i;
        return true;
      });
    }
  }
  EXPECT_TRUE(interruptions > 50 || !on_cpu()) << interruptions;
}

TEST_P(Interruption, OperationsGoOnAfterwards) {
  const rlwe::Evaluator& e = *evaluator;
  const rlwe::Plaintext plain = encoded(2);
  const Ciphertext x = any_scheme::encrypt(plain, secret);
  Ciphertext y = e.multiply(x, x);
  e.relinearize_inplace(y);
  const auto expected = io::save(y);
  const auto completes = [](const auto& work) {
    try {
      work();
    } catch (const runtime::Interrupted&) {
      return false;
    }
    return true;
  };
  int interruptions = interrupt_everywhere([&] {
    return completes([&] {
      Ciphertext product = e.multiply(x, x);
      e.relinearize_inplace(product);
    });
  });
  interruptions += interrupt_everywhere(
      [&] { return completes([&] { return rlwe::generate_keys(rlwe::generate_secret_key(context), {}); }); });
  interruptions += interrupt_everywhere(
      [&] { return completes([&] { return any_scheme::encrypt(plain, *keys.public_key); }); });
  interruptions +=
      interrupt_everywhere([&] { return completes([&] { return any_scheme::decrypt(x, secret); }); });
  EXPECT_TRUE(interruptions > 20 || !on_cpu()) << interruptions;
  Ciphertext again = e.multiply(x, x);
  e.relinearize_inplace(again);
  EXPECT_EQ(io::save(again), expected);
}

INSTANTIATE_TEST_SUITE_P(Schemes, Interruption, ::testing::Values(Scheme::bfv, Scheme::bgv, Scheme::ckks),
                         [](const auto& scheme) { return rlwe::name(scheme.param); });

}  // namespace
}  // namespace hemera
