// What comes from memory is what comes from a file.
#include <gtest/gtest.h>

#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

// The primes of a key that its context does not have.
std::vector<RootedPrime> special_primes(const EvaluationKeyObject& key) {
  std::vector<RootedPrime> primes;
  const auto& all = key.a.front().parameters->primes;
  const std::size_t own = key.header.context->parameters->elements->primes.size();
  for (std::size_t i = own; i < all.size(); ++i) primes.push_back({all[i]->modulus, all[i]->root});
  return primes;
}

class OpenFheInMemory : public testing::TestWithParam<std::string> {
 protected:
  OpenFheInMemory()
      : powers(read_file<MultiplicationKeys>(test::get(GetParam(), "eval_mult_key.bin"))),
        x(read_file<std::shared_ptr<CiphertextObject>>(test::get(GetParam(), "ct_a.bin"))),
        session(test::get(GetParam(), "cryptocontext.bin"), x->header.tag, {.special = special_primes(key())},
                tests::device()) {}

  [[nodiscard]] const EvaluationKeyObject& key() const { return *powers.entries.front().keys.front(); }

  MultiplicationKeys powers;
  std::shared_ptr<CiphertextObject> x;
  Session session;
};

INSTANTIATE_TEST_SUITE_P(Contexts, OpenFheInMemory, testing::Values("bfv", "bgv", "ckks-flexibleauto"),
                         test::name_of);

TEST_P(OpenFheInMemory, CiphertextsPassBothWays) {
  const CiphertextView view = view_of(*x);
  const rlwe::Ciphertext ciphertext = session.import_ciphertext(view);
  EXPECT_EQ(session.dump_ciphertext(ciphertext), test::get(GetParam(), "ct_a.bin"));
  const Metadata metadata = session.metadata(ciphertext);
  EXPECT_TRUE(metadata.is_evaluation);
  std::vector<std::vector<std::uint64_t>> words(metadata.components * metadata.limbs,
                                                std::vector<std::uint64_t>(session.context()->degree()));
  const std::vector<std::span<std::uint64_t>> limbs(words.begin(), words.end());
  session.export_ciphertext(ciphertext, limbs);
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(words[i], x->components[i / metadata.limbs].limbs[i % metadata.limbs].words);
  }
  EXPECT_THROW(session.export_ciphertext(ciphertext, std::span(limbs).first(1)), MismatchError);
}

TEST_P(OpenFheInMemory, KeysAreThoseOfAFile) {
  const SwitchingKeyView view = view_of(key());
  session.import_relinearization(std::span(&view, 1));
  Session other(test::get(GetParam(), "eval_mult_key.bin"));
  other.load_keys({.relinearization = Source(test::get(GetParam(), "eval_mult_key.bin"))});
  EXPECT_TRUE(session.params() == other.params());
  EXPECT_EQ(session.dump_keys(session.keys()).relinearization, other.dump_keys(other.keys()).relinearization);
  session.import_galois({{5, view}});
  EXPECT_TRUE(session.keys().has(rlwe::KeyRole::galois(5)));
}

TEST(OpenFheMemory, OtherSpecialPrimesAreTaken) {
  const auto keys = read_file<MultiplicationKeys>(test::get("bgv", "eval_mult_key.bin"));
  auto primes = special_primes(*keys.entries.front().keys.front());
  ASSERT_GE(primes.size(), 2U);
  const auto context = test::get("bgv", "cryptocontext.bin");
  const Session by_rule(context, "tag", {});
  EXPECT_TRUE(Session(context, "tag", {.special = primes}).params() == by_rule.params());
  std::swap(primes[0], primes[1]);
  EXPECT_FALSE(Session(context, "tag", {.special = primes}).params() == by_rule.params());
}

TEST_P(OpenFheInMemory, WhatIsNoneIsRefused) {
  CiphertextView stranger = view_of(*x);
  stranger.key_tag += "'s neighbour";
  EXPECT_THROW(static_cast<void>(session.import_ciphertext(stranger)), MismatchError);
  CiphertextView empty = view_of(*x);
  empty.components.clear();
  EXPECT_THROW(static_cast<void>(session.import_ciphertext(empty)), FormatError);
  CiphertextView shorter = view_of(*x);
  for (PolynomialView& component : shorter.components) {
    for (LimbView& limb : component.limbs) limb.words = limb.words.first(8);
  }
  EXPECT_THROW(static_cast<void>(session.import_ciphertext(shorter)), MismatchError);
  std::uint64_t& word = x->components[1].limbs[0].words[3];
  word += x->components[1].limbs[0].modulus;
  EXPECT_THROW(static_cast<void>(session.import_ciphertext(view_of(*x))), FormatError);
  SwitchingKeyView uneven = view_of(key());
  uneven.b.pop_back();
  EXPECT_THROW(session.import_relinearization(std::span(&uneven, 1)), FormatError);
  EXPECT_THROW(session.import_galois({{4, view_of(key())}}), FormatError);
}

}  // namespace
}  // namespace hemera::interop::openfhe
