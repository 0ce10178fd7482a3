// What every scheme refuses, with a MismatchError that names it: empty objects, those of other contexts and
// of other schemes. One suite for all three.
#include "refusals.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <functional>

#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/bfv.hpp"
#include "hemera/schemes/bgv.hpp"
#include "hemera/schemes/ckks.hpp"
#include "test_device.hpp"

namespace hemera {
namespace {

using rlwe::Ciphertext;
using rlwe::Context;
using rlwe::Plaintext;
using rlwe::PublicKey;
using rlwe::Scheme;
using rlwe::SecretKey;
using ContextPointer = std::shared_ptr<const Context>;

ContextPointer context_of(Scheme scheme, std::size_t depth = 2) {
  if (scheme == Scheme::ckks) {
    return tests::make_context(
        ckks::parameters_for({.depth = depth, .slots = 512, .degree = 1024, .security = std::nullopt}));
  }
  const integer::CircuitRequest request{
      .depth = depth, .plain_modulus = 65537, .slots = 1024, .degree = 1024, .security = std::nullopt};
  return tests::make_context(scheme == Scheme::bfv ? bfv::parameters_for(request)
                                                   : bgv::parameters_for(request));
}

Plaintext encode(const ContextPointer& context) {
  if (context->scheme() == Scheme::ckks) {
    return ckks::Encoder(context).encode(std::vector<std::complex<double>>(512, 1), {});
  }
  return integer::Encoder(context).encode(std::vector<std::int64_t>(1024, 1), {});
}

void decode(const ContextPointer& context, const Plaintext& plaintext) {
  if (context->scheme() == Scheme::ckks) {
    static_cast<void>(ckks::Encoder(context).decode(plaintext));
  } else {
    static_cast<void>(integer::Encoder(context).decode(plaintext));
  }
}

// The scheme's own functions, whatever the scheme of what they are given.
template <typename Key>
Ciphertext encrypt_by(Scheme scheme, const Plaintext& plaintext, const Key& key) {
  if (scheme == Scheme::ckks) return ckks::encrypt(plaintext, key);
  return integer::encrypt(plaintext, key);
}

Plaintext decrypt_by(Scheme scheme, const Ciphertext& ciphertext, const SecretKey& key) {
  if (scheme == Scheme::ckks) return ckks::decrypt(ciphertext, key);
  return integer::decrypt(ciphertext, key);
}

Plaintext share_by(Scheme scheme, const Ciphertext& ciphertext, const SecretKey& key) {
  if (scheme == Scheme::ckks) return ckks::decrypt_for_sharing(ciphertext, key, 0x1p-20, 4);
  return integer::decrypt_for_sharing(ciphertext, key, 4);
}

std::unique_ptr<rlwe::Evaluator> evaluator_by(Scheme scheme, const ContextPointer& context,
                                              rlwe::EvaluationKeys keys = {}) {
  if (scheme == Scheme::ckks) return std::make_unique<ckks::Evaluator>(context, std::move(keys));
  if (scheme == Scheme::bfv) return std::make_unique<bfv::Evaluator>(context, std::move(keys));
  return std::make_unique<bgv::Evaluator>(context, std::move(keys));
}

class Refusals : public ::testing::TestWithParam<Scheme> {
 protected:
  ContextPointer context = context_of(GetParam());
  SecretKey secret = rlwe::generate_secret_key(context);
  rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {.rotations = {1}, .conjugation = true});
  std::unique_ptr<rlwe::Evaluator> evaluator = any_scheme::make_evaluator(context, keys);
  Plaintext plain = encode(context);
  Ciphertext x = any_scheme::encrypt(plain, keys);

  static void refused(const std::function<void()>& operation, const std::string& part) {
    tests::expect_error<MismatchError>(operation, {part});
  }

  // Every operation that takes a ciphertext.
  [[nodiscard]] std::vector<std::function<void(Ciphertext&)>> operations() {
    const auto& e = *evaluator;
    return {[&](Ciphertext& a) { return e.add(a, x); },
            [&](Ciphertext& a) { return e.add(x, a); },
            [&](Ciphertext& a) { return e.subtract(x, a); },
            [&](Ciphertext& a) { e.add_inplace(a, x); },
            [&](Ciphertext& a) { e.subtract_inplace(a, x); },
            [&](Ciphertext& a) { e.negate_inplace(a); },
            [&](Ciphertext& a) { return e.negate(a); },
            [&](Ciphertext& a) {
              const Ciphertext* terms[] = {&x, &a};
              static_cast<void>(e.add_many(terms));
            },
            [&](Ciphertext& a) { e.add_plain_inplace(a, plain); },
            [&](Ciphertext& a) { e.subtract_plain_inplace(a, plain); },
            [&](Ciphertext& a) { return e.multiply_plain(a, plain); },
            [&](Ciphertext& a) { e.add_scalar_inplace(a, 2); },
            [&](Ciphertext& a) { e.multiply_scalar_inplace(a, 2); },
            [&](Ciphertext& a) { return e.multiply(a, x); },
            [&](Ciphertext& a) { return e.multiply(x, a); },
            [&](Ciphertext& a) { return e.square(a); },
            [&](Ciphertext& a) { return e.power(a, 3); },
            [&](Ciphertext& a) {
              const Ciphertext* factors[] = {&x, &a};
              static_cast<void>(e.multiply_many(factors));
            },
            [&](Ciphertext& a) {
              const Ciphertext* factors[] = {&x, &a};
              static_cast<void>(e.dot(factors, factors));
            },
            [&](Ciphertext& a) { e.relinearize_inplace(a); },
            [&](Ciphertext& a) { return e.rescale(a); },
            [&](Ciphertext& a) { e.drop_to_level_inplace(a, 0); },
            [&](Ciphertext& a) { e.lower_to_level_inplace(a, 0); },
            [&](Ciphertext& a) { return e.shrink(a); },
            [&](Ciphertext& a) { return e.rotate(a, 1); },
            [&](Ciphertext& a) { return e.rotation_plan(1, a); },
            [&](Ciphertext& a) {
              const std::int64_t steps[] = {1};
              static_cast<void>(e.rotate_hoisted(a, steps));
            },
            [&](Ciphertext& a) { return e.conjugate(a); },
            [&](Ciphertext& a) { return e.sum_slots(a); },
            [&](Ciphertext& a) { return decrypt_by(GetParam(), a, secret); },
            [&](Ciphertext& a) { return share_by(GetParam(), a, secret); },
            [&](Ciphertext& a) { return any_scheme::decrypt(a, secret); }};
  }
};

TEST_P(Refusals, EmptyCiphertexts) {
  Ciphertext nothing;
  Ciphertext moved = x.clone();
  const Ciphertext taken = std::move(moved);
  for (const auto& operation : operations()) {
    refused([&] { operation(nothing); }, "is empty");
    refused([&] { operation(moved); }, "is empty");
  }
  refused([&] { return nothing.clone(); }, "is empty");
  refused([&] { return rlwe::slice(nothing, 0, 1); }, "is empty");
  refused([&] { return rlwe::stack({&x, &nothing}); }, "is empty");
  refused([&] { return rlwe::stack({&nothing}); }, "is empty");
  refused([&] { return rlwe::gather(nothing, std::vector<std::size_t>{0}, {}); }, "is empty");
  refused([&] { rlwe::reshape_inplace(nothing, {1}); }, "is empty");
  refused([&] { return any_scheme::guaranteed_noise_budget(nothing); }, "is empty");
}

TEST_P(Refusals, EmptyPlaintextsAndKeys) {
  const Plaintext nothing;
  Ciphertext y = x.clone();
  refused([&] { decode(context, nothing); }, "plaintext is empty");
  refused([&] { evaluator->add_plain_inplace(y, nothing); }, "plaintext is empty");
  refused([&] { evaluator->subtract_plain_inplace(y, nothing); }, "plaintext is empty");
  refused([&] { return evaluator->multiply_plain(y, nothing); }, "plaintext is empty");
  refused([&] { return encrypt_by(GetParam(), nothing, secret); }, "plaintext is empty");
  refused([&] { return encrypt_by(GetParam(), nothing, *keys.public_key); }, "plaintext is empty");
  refused([&] { return any_scheme::encrypt(plain, SecretKey{}); }, "secret key is empty");
  refused([&] { return encrypt_by(GetParam(), plain, SecretKey{}); }, "secret key is empty");
  refused([&] { return encrypt_by(GetParam(), plain, PublicKey{}); }, "public key is empty");
  refused([&] { return decrypt_by(GetParam(), x, SecretKey{}); }, "secret key is empty");
  refused([&] { return any_scheme::decrypt(x, SecretKey{}); }, "secret key is empty");
  refused([&] { return share_by(GetParam(), x, SecretKey{}); }, "secret key is empty");
  refused([&] { return evaluator_by(GetParam(), nullptr); }, "context is null");
}

TEST_P(Refusals, ObjectsOfOtherContexts) {
  // Contexts of equal parameters, and of others.
  for (const ContextPointer& other : {context_of(GetParam()), context_of(GetParam(), 1)}) {
    const SecretKey other_secret = rlwe::generate_secret_key(other);
    Ciphertext y = any_scheme::encrypt(encode(other), other_secret);
    const Ciphertext before = y.clone();
    for (const auto& operation : operations()) refused([&] { operation(y); }, "contexts");
    EXPECT_EQ(y.meta.level, before.meta.level);
    const Plaintext foreign = encode(other);
    Ciphertext own = x.clone();
    refused([&] { evaluator->add_plain_inplace(own, foreign); }, "contexts");
    refused([&] { evaluator->subtract_plain_inplace(own, foreign); }, "contexts");
    refused([&] { return evaluator->multiply_plain(own, foreign); }, "contexts");
    refused([&] { decode(context, foreign); }, "contexts");
    refused([&] { return encrypt_by(GetParam(), foreign, secret); }, "contexts");
    refused([&] { return evaluator_by(GetParam(), other, keys); }, "contexts");
  }
}

TEST_P(Refusals, ContextsOfOtherSchemes) {
  for (const Scheme scheme : {Scheme::bfv, Scheme::bgv, Scheme::ckks}) {
    if (scheme == GetParam()) continue;
    const ContextPointer other = context_of(scheme);
    const SecretKey other_secret = rlwe::generate_secret_key(other);
    const Ciphertext y = any_scheme::encrypt(encode(other), other_secret);
    refused([&] { return evaluator_by(GetParam(), other); }, rlwe::name(scheme));
    // Functions of BFV and BGV are the same.
    if (scheme != Scheme::ckks && GetParam() != Scheme::ckks) continue;
    refused([&] { return encrypt_by(GetParam(), encode(other), other_secret); }, rlwe::name(scheme));
    refused([&] { return decrypt_by(GetParam(), y, other_secret); }, rlwe::name(scheme));
    refused([&] { return share_by(GetParam(), y, other_secret); }, rlwe::name(scheme));
  }
}

// A refused operation leaves its operand as it was.
TEST_P(Refusals, ARefusedSumChangesNothing) {
  const std::size_t thrice[] = {0, 0, 0};
  const Ciphertext three = rlwe::gather(x, thrice, {3});
  Ciphertext y = evaluator->multiply(three, three);
  const Plaintext batch_of_two = [&] {
    const std::size_t twice[] = {0, 0};
    if (GetParam() != Scheme::ckks) return rlwe::gather(plain, twice, {2});
    // The product waits for its rescale, which a plaintext of the level below asks for.
    const std::size_t level = y.meta.level - 1;
    return rlwe::gather(ckks::Encoder(context).encode(std::vector<std::complex<double>>(512, 1), {}, level,
                                                      context->scales().level_scale(level)),
                        twice, {2});
  }();
  const Ciphertext before = y.clone();
  refused([&] { evaluator->add_plain_inplace(y, batch_of_two); }, "{2}");
  refused([&] { evaluator->subtract_plain_inplace(y, batch_of_two); }, "{2}");
  EXPECT_EQ(y.meta.level, before.meta.level);
  EXPECT_EQ(y.meta.scale, before.meta.scale);
  EXPECT_EQ(y.meta.noise_scale_degree, before.meta.noise_scale_degree);
  EXPECT_EQ(y.meta.noise_log2, before.meta.noise_log2);
  EXPECT_EQ(y.poly.shape(), before.poly.shape());
}

INSTANTIATE_TEST_SUITE_P(Schemes, Refusals, ::testing::Values(Scheme::bfv, Scheme::bgv, Scheme::ckks),
                         [](const auto& each) { return rlwe::name(each.param); });

}  // namespace
}  // namespace hemera
