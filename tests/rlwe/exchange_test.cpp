// Sums and copies over members, next to sums of the residues on the host.
#include "hemera/rlwe/exchange.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/member_threads.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

using Contexts = std::vector<std::shared_ptr<const Context>>;

struct ExchangeCase {
  std::size_t members;
  BatchShape batch;
  std::size_t level;
  bool has_threads;
};

class Exchange : public ::testing::TestWithParam<ExchangeCase> {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < GetParam().members; ++i) {
      contexts_.push_back(
          tests::make_context(parameters_with({.name = "", .digits = 2, .special_primes = 2}), 1));
      terms_.push_back(encrypted(contexts_.back()));
    }
  }

  [[nodiscard]] static Ciphertext encrypted(const std::shared_ptr<const Context>& context) {
    Metadata meta;
    meta.level = GetParam().level;
    meta.batch = GetParam().batch;
    meta.slots = 1;
    meta.scale = context->scales().level_scale(meta.level);
    meta.largest = 1;
    return encrypt_zero(generate_secret_key(context), meta);
  }
  // Modulo the moduli, row by row, of any members.
  [[nodiscard]] static std::vector<std::uint64_t> sum_of(const std::vector<std::vector<std::uint64_t>>& terms,
                                                         const poly::Poly& like) {
    std::vector<std::uint64_t> sum(terms.front().size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const std::size_t limb = i / like.shape().degree % like.shape().limbs;
      for (const auto& term : terms) sum[i] = (sum[i] + term[i]) % like.base().modulus(limb).value();
    }
    return sum;
  }
  template <typename Term>
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> words_of(const std::vector<Term>& terms) const {
    std::vector<std::vector<std::uint64_t>> words;
    for (const Term& term : terms) words.push_back(host_words(*term.context, term.poly));
    return words;
  }
  [[nodiscard]] ForMembers each() const {
    return GetParam().has_threads ? ForMembers(tests::in_threads) : in_turn;
  }

  Contexts contexts_;
  std::vector<Ciphertext> terms_;
};

INSTANTIATE_TEST_SUITE_P(Members, Exchange,
                         ::testing::Values(ExchangeCase{1, {}, 2, false}, ExchangeCase{2, {}, 2, true},
                                           ExchangeCase{2, {3}, 1, false}, ExchangeCase{3, {2, 2}, 2, true},
                                           ExchangeCase{4, {}, 2, false}, ExchangeCase{5, {}, 0, true}),
                         [](const auto& tested) {
                           const ExchangeCase& own = tested.param;
                           return std::to_string(own.members) + "Members" +
                                  std::to_string(batch_count(own.batch)) + "AtLevel" +
                                  std::to_string(own.level) + (own.has_threads ? "InThreads" : "InTurn");
                         });

TEST_P(Exchange, AllReduceGivesTheSumToAll) {
  const auto expected = sum_of(words_of(terms_), terms_.front().poly);
  all_reduce(terms_, each());
  for (const Ciphertext& term : terms_) {
    EXPECT_EQ(host_words(*term.context, term.poly), expected);
    EXPECT_EQ(term.meta.largest, static_cast<double>(terms_.size()));
    EXPECT_EQ(term.meta.level, GetParam().level);
    EXPECT_EQ(term.seed.has_value(), terms_.size() == 1);
    EXPECT_EQ(term.poly.base(), term.context->base(GetParam().level));
  }
}

TEST_P(Exchange, ReduceGivesTheSumToTheFirst) {
  const auto words = words_of(terms_);
  const auto expected = sum_of(words, terms_.front().poly);
  reduce(terms_, each());
  EXPECT_EQ(host_words(*contexts_.front(), terms_.front().poly), expected);
  for (std::size_t i = 1; i < terms_.size(); ++i) {
    EXPECT_EQ(host_words(*contexts_[i], terms_[i].poly), words[i]);
    EXPECT_EQ(terms_[i].meta.largest, 1);
    EXPECT_TRUE(terms_[i].seed.has_value());
  }
}

TEST_P(Exchange, AddFromAddsOneTermAfterTheOther) {
  const auto expected = sum_of(words_of(terms_), terms_.front().poly);
  for (std::size_t i = 1; i < terms_.size(); ++i) add_from(terms_.front(), terms_[i]);
  EXPECT_EQ(host_words(*contexts_.front(), terms_.front().poly), expected);
  EXPECT_EQ(terms_.front().meta.largest, static_cast<double>(terms_.size()));
}

TEST_P(Exchange, BroadcastCopiesToAll) {
  const Ciphertext& source = terms_.back();
  const auto expected = host_words(*source.context, source.poly);
  const std::vector<Ciphertext> copies = broadcast(contexts_, source, each());
  ASSERT_EQ(copies.size(), contexts_.size());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    EXPECT_EQ(copies[i].context, contexts_[i]);
    EXPECT_EQ(host_words(*contexts_[i], copies[i].poly), expected);
    EXPECT_EQ(copies[i].meta.batch, GetParam().batch);
    EXPECT_EQ(copies[i].seed.has_value(), source.seed.has_value());
    EXPECT_EQ(copies[i].poly.base(), contexts_[i]->base(GetParam().level));
  }
}

TEST_P(Exchange, ExtendedCiphertextsAreSummedOverAllPrimes) {
  std::vector<ExtendedCiphertext> terms;
  for (const Ciphertext& term : terms_) {
    terms.push_back(extend(term, term.context->gadget(term.context->top_level())));
    // Extended ciphertexts are zero modulo the special primes; a switch fills them.
    const auto secret = generate_secret_key(term.context);
    const auto key = generate_galois_key(secret, term.context->galois_element(1), terms.back().gadget);
    terms.back() = switch_extended(terms.back(), key, term.context->galois_element(1));
  }
  if (terms.size() > 1) {
    const auto words = words_of(terms);
    add_from(terms[0], terms[1]);
    EXPECT_EQ(host_words(*contexts_[0], terms[0].poly), sum_of({words[0], words[1]}, terms[0].poly));
  }
  const auto expected = sum_of(words_of(terms), terms.front().poly);
  all_reduce(terms, each());
  for (const ExtendedCiphertext& term : terms) {
    EXPECT_EQ(host_words(*term.context, term.poly), expected);
    EXPECT_EQ(term.poly.base(), term.gadget->mod_up(GetParam().level).extended());
  }
}

// Members that do not fit are refused before anything changes.
class ExchangeErrors : public ::testing::Test {
 protected:
  [[nodiscard]] static Ciphertext encrypted(const std::shared_ptr<const Context>& context, std::size_t level,
                                            const BatchShape& batch, double scale) {
    Metadata meta;
    meta.level = level;
    meta.batch = batch;
    meta.slots = 1;
    meta.scale = scale;
    return encrypt_zero(generate_secret_key(context), meta);
  }
  template <typename Error>
  void expect_refused(Ciphertext other) const {
    std::vector<Ciphertext> terms;
    terms.push_back(encrypted(context_, 2, {}, 0x1p40));
    terms.push_back(std::move(other));
    const auto before = host_words(*context_, terms.front().poly);
    EXPECT_THROW(all_reduce(terms), Error);
    EXPECT_THROW(reduce(terms), Error);
    EXPECT_THROW(add_from(terms[0], terms[1]), Error);
    EXPECT_EQ(host_words(*context_, terms.front().poly), before);
    EXPECT_TRUE(terms.front().seed.has_value());
  }

  std::shared_ptr<const Context> context_ = tests::make_context(parameters_with({.name = ""}), 1);
  std::shared_ptr<const Context> other_ = tests::make_context(parameters_with({.name = ""}), 1);
};

TEST_F(ExchangeErrors, NameWhatClashes) {
  expect_refused<LevelError>(encrypted(other_, 1, {}, 0x1p40));
  expect_refused<MismatchError>(encrypted(other_, 2, {2}, 0x1p40));
  expect_refused<ScaleError>(encrypted(other_, 2, {}, 0x1p41));
  expect_refused<MismatchError>({});
  const auto strange = tests::make_context(parameters_with({.name = "", .special_primes = 2}), 1);
  const Ciphertext x = encrypted(strange, 2, {}, 0x1p40);
  expect_refused<MismatchError>(encrypted(strange, 2, {}, 0x1p40));
  const std::vector<std::shared_ptr<const Context>> targets{context_, other_};
  EXPECT_THROW(static_cast<void>(broadcast(targets, x)), MismatchError);
  EXPECT_THROW(static_cast<void>(broadcast(targets, {})), MismatchError);
  Ciphertext coefficients = encrypted(other_, 2, {}, 0x1p40);
  coefficients.meta.encoding = Encoding::coefficients;
  expect_refused<MismatchError>(std::move(coefficients));
}

TEST_F(ExchangeErrors, OfExtendedCiphertexts) {
  const auto extended = [](const std::shared_ptr<const Context>& context, std::size_t level,
                           std::size_t gadget_level) {
    return extend(encrypted(context, level, {}, 0x1p40), context->gadget(gadget_level));
  };
  std::vector<ExtendedCiphertext> terms;
  terms.push_back(extended(context_, 1, 2));
  terms.push_back(extended(other_, 2, 2));
  EXPECT_THROW(all_reduce(terms), LevelError);
  EXPECT_THROW(add_from(terms[0], terms[1]), LevelError);
  terms[1] = extended(other_, 1, 1);
  ASSERT_NE(terms[0].gadget->primes(), terms[1].gadget->primes());
  EXPECT_THROW(reduce(terms), MismatchError);
  EXPECT_THROW(add_from(terms[0], terms[1]), MismatchError);
  terms[1] = {};
  EXPECT_THROW(reduce(terms), MismatchError);
  const auto strange =
      tests::make_context(parameters_with({.name = "", .digits = 2, .special_primes = 1}), 1);
  terms[1] = extended(strange, 1, 2);
  EXPECT_THROW(reduce(terms), MismatchError);
}

// A member without room ends the call, and no term has changed. Two members exchange once, three twice.
TEST_F(ExchangeErrors, LeaveTermsAsTheyWere) {
  for (const std::size_t members : {2, 3}) {
    std::vector<Ciphertext> terms;
    terms.push_back(encrypted(context_, 2, {}, 0x1p40));
    while (terms.size() < members) terms.push_back(encrypted(other_, 2, {}, 0x1p40));
    const auto before = host_words(*context_, terms.front().poly);
    std::size_t calls = 0;
    const ForMembers failing = [&](std::size_t count, const std::function<void(std::size_t)>& work) {
      in_turn(count, work);
      if (++calls == members - 1) throw OutOfMemoryError("a member has no room");
    };
    EXPECT_THROW(all_reduce(terms, failing), OutOfMemoryError);
    EXPECT_EQ(calls, members - 1);
    EXPECT_EQ(host_words(*context_, terms.front().poly), before);
    EXPECT_EQ(terms.back().seed.has_value(), true);
  }
}

// The steps by themselves: members that have a copy get none, and terms stay as they are.
TEST_P(Exchange, StepsGiveWhatTheWholeGives) {
  const auto words = words_of(terms_);
  const auto expected = sum_of(words, terms_.front().poly);
  for (const Ciphertext& term : terms_) offer(term, contexts_);
  for (std::size_t held = 0; held < contexts_.size(); ++held) {
    const Broadcast copies(contexts_, terms_.front(), each(), held);
    for (std::size_t i = held; i < contexts_.size(); ++i) {
      const Ciphertext copy = copies.on(i);
      EXPECT_EQ(copy.context, contexts_[i]);
      EXPECT_EQ(host_words(*contexts_[i], copy.poly), words.front());
      EXPECT_EQ(copy.meta.level, GetParam().level);
    }
  }
  MemberSum<Ciphertext> sum(terms_, each(), "sum");
  if (terms_.size() == 1) {
    EXPECT_EQ(host_words(*contexts_.front(), sum.on(0).poly), expected);
    return;
  }
  for (std::size_t i = contexts_.size(); i-- > 0;) {
    const Ciphertext own = sum.on(i);
    EXPECT_EQ(own.context, contexts_[i]);
    EXPECT_EQ(host_words(*contexts_[i], own.poly), expected);
    EXPECT_EQ(own.meta.largest, static_cast<double>(terms_.size()));
    EXPECT_FALSE(own.seed.has_value());
  }
  EXPECT_EQ(words_of(terms_), words);
}

}  // namespace
}  // namespace hemera::rlwe
