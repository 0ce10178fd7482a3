// Two objects that differ in one field: of Metadata (what is joined), of KeyRole and GadgetPrimes (sets of
// keys), of ParametersLiteral (who exchanges objects), and in their context.
#include <gtest/gtest.h>

#include <map>

#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "member_count.hpp"
#include "rlwe/metadata_fields.hpp"
#include "rlwe/rlwe_support.hpp"
#include "test_device.hpp"

namespace hemera::rlwe {
namespace {

using Change = std::function<void(ParametersLiteral&)>;

Parameters changed(const Parameters& parameters, const Change& change) {
  ParametersLiteral literal = parameters.literal();
  change(literal);
  return Parameters(std::move(literal));
}

class SecondOperandTest : public ::testing::Test {
 protected:
  Parameters parameters_ = parameters_with({.name = "", .digits = 2, .special_primes = 2});
  std::shared_ptr<const Context> context_ = tests::make_context(parameters_);
  SecretKey secret_ = generate_secret_key(context_);

  [[nodiscard]] Ciphertext zeros(const Metadata& meta) const { return encrypt_zero(secret_, meta); }
  [[nodiscard]] std::shared_ptr<const SwitchingKey> key(std::size_t level) const {
    return std::make_shared<const SwitchingKey>(generate_relinearization_key(secret_, level));
  }
};

TEST_F(SecondOperandTest, EveryFieldOfMetadataHasAnEntry) {
  EXPECT_EQ(metadata_fields().size(), tests::member_count<Metadata>())
      << "a field was added to Metadata: give it an entry in metadata_fields.hpp, and in the tables below";
}

// Stacks and concatenations: what must be equal, and what becomes the larger of both.
TEST_F(SecondOperandTest, JoinsTakeWhatFitsAndRefuseTheRest) {
  enum class Outcome { refused, larger, rows };
  struct Entry {
    Outcome stacked, joined;
  };
  const std::map<std::string, Entry> table = {
      {"batch", {Outcome::refused, Outcome::refused}},
      {"level", {Outcome::refused, Outcome::refused}},
      {"scale", {Outcome::refused, Outcome::refused}},
      {"noise_scale_degree", {Outcome::refused, Outcome::refused}},
      {"correction", {Outcome::refused, Outcome::refused}},
      {"slots", {Outcome::refused, Outcome::refused}},
      {"encoding", {Outcome::refused, Outcome::refused}},
      {"noise_log2", {Outcome::larger, Outcome::larger}},
      {"largest", {Outcome::larger, Outcome::larger}},
      {"filled", {Outcome::larger, Outcome::larger}},
      {"padding", {Outcome::larger, Outcome::larger}},
      {"is_complex", {Outcome::larger, Outcome::larger}},
      {"spent", {Outcome::larger, Outcome::larger}},
  };
  const Metadata base{.batch = {2, 3}, .level = 1, .scale = 0x1p40, .slots = 8, .largest = 2, .filled = 5};
  for (const MetadataField& field : metadata_fields()) {
    SCOPED_TRACE(field.name);
    const Entry& entry = table.at(field.name);
    Metadata other = base;
    field.change(other);
    const Ciphertext a = zeros(base);
    Ciphertext b = zeros(other);
    // Encryption makes its own bound.
    b.meta.noise_log2 = other.noise_log2;
    const auto join = [](bool stacked, const Ciphertext& x, const Ciphertext& y) {
      return stacked ? stack({&x, &y}) : concatenate({&x, &y});
    };
    for (const bool stacked : {true, false}) {
      const Outcome outcome = stacked ? entry.stacked : entry.joined;
      for (const bool first : {true, false}) {
        const Ciphertext &x = first ? a : b, &y = first ? b : a;
        if (outcome == Outcome::refused) {
          EXPECT_THROW(static_cast<void>(join(stacked, x, y)), MismatchError) << stacked << first;
          continue;
        }
        const Ciphertext whole = join(stacked, x, y);
        EXPECT_EQ(whole.meta.batch, (stacked ? BatchShape{2, 2, 3} : BatchShape{4, 3}));
        EXPECT_EQ(whole.meta.noise_log2, std::max(a.meta.noise_log2, b.meta.noise_log2));
        EXPECT_EQ(whole.meta.largest, std::max(base.largest, other.largest));
        EXPECT_EQ(whole.meta.filled, std::max(base.filled, other.filled));
        // Zeros of one and what is no zero of the other: not known.
        EXPECT_EQ(whole.meta.padding, other.padding);
        EXPECT_EQ(whole.meta.is_complex, other.is_complex);
        EXPECT_EQ(whole.meta.spent, other.spent);
        auto words = host_words(*context_, x.poly);
        const auto more = host_words(*context_, y.poly);
        words.insert(words.end(), more.begin(), more.end());
        EXPECT_EQ(host_words(*context_, whole.poly), words);
      }
    }
  }
}

TEST_F(SecondOperandTest, RowsMayDifferInNumberWhereTheyAreJoined) {
  const Metadata one{.batch = {1, 3}, .level = 1, .scale = 0x1p40, .slots = 8};
  Metadata two = one, longer = one, flat = one;
  two.batch = {2, 3};
  longer.batch = {1, 3, 1};
  flat.batch = {3};
  const Ciphertext a = zeros(one), b = zeros(two);
  EXPECT_EQ(concatenate({&a, &b}).meta.batch, (BatchShape{3, 3}));
  for (const Metadata& other : {longer, flat}) {
    const Ciphertext c = zeros(other);
    EXPECT_THROW(static_cast<void>(concatenate({&a, &c})), MismatchError);
    EXPECT_THROW(static_cast<void>(stack({&a, &c})), MismatchError);
  }
}

TEST_F(SecondOperandTest, PartsOfAnotherSizeOrContextAreRefused) {
  const Metadata meta{.batch = {2}, .level = 1, .scale = 0x1p40, .slots = 8};
  const Ciphertext a = zeros(meta), longer = make_ciphertext(context_, meta, 3);
  const auto other = tests::make_context(parameters_);
  const Ciphertext foreign = encrypt_zero(generate_secret_key(other), meta);
  for (const Ciphertext* b : {&longer, &foreign}) {
    EXPECT_THROW(static_cast<void>(concatenate({&a, b})), MismatchError);
    EXPECT_THROW(static_cast<void>(stack({&a, b})), MismatchError);
    EXPECT_THROW(static_cast<void>(stack({b, &a})), MismatchError);
  }
}

// --- Keys ---

TEST_F(SecondOperandTest, KeysOfRolesThatDifferInAFieldAreTwo) {
  const KeyRole base{.power = 2, .galois_element = 5, .from = 2, .to = 3};
  std::vector<std::pair<std::string, KeyRole>> roles(4, {"", base});
  roles[0] = {"power", base};
  roles[0].second.power = 1;
  roles[1] = {"galois_element", base};
  roles[1].second.galois_element = 25;
  roles[2] = {"from", base};
  roles[2].second.from = 4;
  roles[3] = {"to", base};
  roles[3].second.to = 4;
  ASSERT_EQ(roles.size(), tests::member_count<KeyRole>());
  const auto first = key(1), second = key(1);
  for (const auto& [name, role] : roles) {
    SCOPED_TRACE(name);
    EXPECT_NE(role, base);
    EXPECT_TRUE((role < base) != (base < role));
    EvaluationKeys keys{.context = context_, .public_key = nullptr, .switching = {}};
    keys.add(base, first);
    EXPECT_FALSE(keys.has(role));
    EXPECT_EQ(keys.find(role, 1), nullptr);
    EXPECT_EQ(keys.find(role, first->gadget->primes()), nullptr);
    EvaluationKeys others{.context = context_, .public_key = nullptr, .switching = {}};
    others.add(role, second);
    keys.merge(others);
    EXPECT_EQ(keys.find(base, 1), first);
    EXPECT_EQ(keys.find(role, 1), second);
  }
}

TEST_F(SecondOperandTest, KeysOfGadgetsThatDifferInAFieldAreTwo) {
  const GadgetPrimes base = parameters_.default_gadget(1);
  std::map<std::string, GadgetPrimes> gadgets;
  const auto with = [&](const char* name, const auto& change) {
    gadgets[name] = base;
    change(gadgets[name]);
  };
  with("base", [&](GadgetPrimes& g) { g = parameters_.default_gadget(2); });
  with("special", [](GadgetPrimes& g) { g.special.pop_back(); });
  with("digits", [](GadgetPrimes& g) {
    g.digits.clear();
    for (const std::uint64_t prime : g.base) g.digits.push_back({prime});
  });
  with("window_bits", [](GadgetPrimes& g) {
    g.digits.clear();
    for (const std::uint64_t prime : g.base) g.digits.push_back({prime});
    g.window_bits = 20;
  });
  ASSERT_EQ(gadgets.size(), tests::member_count<GadgetPrimes>());
  const KeyRole role = KeyRole::relinearization();
  const auto first = key(1);
  ASSERT_EQ(first->gadget->primes(), base);
  for (const auto& [name, gadget] : gadgets) {
    SCOPED_TRACE(name);
    const auto second =
        std::make_shared<const SwitchingKey>(generate_relinearization_key(secret_, context_->gadget(gadget)));
    EvaluationKeys keys{.context = context_, .public_key = nullptr, .switching = {}};
    keys.add(role, first);
    EXPECT_EQ(keys.find(role, gadget), nullptr);
    keys.add(role, second);
    EXPECT_EQ(keys.find(role, base), first);
    EXPECT_EQ(keys.find(role, gadget), second);
    EXPECT_EQ(keys.memory_bytes(), first->poly.bytes() + second->poly.bytes());
  }
}

// A client that makes its keys again gives them once more: the second ones count.
TEST_F(SecondOperandTest, ALaterKeyOfTheSameRoleAndGadgetCounts) {
  const SecretKey renewed = generate_secret_key(context_);
  const KeyRole role = KeyRole::relinearization();
  const auto old_key = key(1);
  const auto new_key = std::make_shared<const SwitchingKey>(generate_relinearization_key(renewed, 1));
  EvaluationKeys keys{.context = context_, .public_key = nullptr, .switching = {}};
  keys.add(role, old_key);
  keys.add(role, new_key);
  EXPECT_EQ(keys.find(role, 1), new_key);
  EXPECT_EQ(keys.find(role, old_key->gadget->primes()), new_key);
  EXPECT_EQ(keys.memory_bytes(), new_key->poly.bytes());
}

TEST_F(SecondOperandTest, KeysOfAnotherContextAreRefused) {
  const auto other = tests::make_context(parameters_);
  const SecretKey foreign = generate_secret_key(other);
  EvaluationKeys keys = generate_keys(secret_, {});
  EXPECT_THROW(keys.merge(generate_keys(foreign, {})), MismatchError);
  EXPECT_THROW(keys.add(KeyRole::relinearization(),
                        std::make_shared<const SwitchingKey>(generate_relinearization_key(foreign, 1))),
               MismatchError);
  EXPECT_THROW(static_cast<void>(generate_switching_key(secret_, foreign, 1)), MismatchError);
  EXPECT_THROW(static_cast<void>(generate_switching_key(secret_, secret_, other->gadget(1))), MismatchError);
  EXPECT_THROW(ckks::Evaluator(context_, generate_keys(foreign, {})), MismatchError);
}

// Values of few slots repeat, so rotations by a period more are the same.
TEST_F(SecondOperandTest, AKeyOfAnEqualRotationServes) {
  const ckks::Encoder encoder(context_);
  std::vector<std::complex<double>> values(8), turned;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 8;
  for (std::size_t i = 0; i < values.size(); ++i) turned.push_back(values[(i + 1) % values.size()]);
  for (const std::int64_t own : {1, 9, 505, -7}) {
    SCOPED_TRACE(own);
    const EvaluationKeys keys = generate_keys(secret_, {.rotations = {own}});
    const ckks::Evaluator evaluator(context_, keys);
    const Ciphertext x = ckks::encrypt(encoder.encode(values, {}), secret_);
    ASSERT_EQ(evaluator.rotation_plan(1, x).size(), 1U);
    for (const std::int64_t steps : {1, 9, -7}) {
      const auto found = encoder.decode(ckks::decrypt(evaluator.rotate(x, steps), secret_));
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_LT(std::abs(found[i] - turned[i]), 1e-6);
    }
    EXPECT_THROW(static_cast<void>(evaluator.rotate(x, 2)), MissingKeyError);
  }
}

// --- Parameters ---

// Two contexts exchange objects if the parameters' fingerprints are equal: which fields it covers.
TEST_F(SecondOperandTest, TheFingerprintTellsWhatObjectsDependOn) {
  struct Entry {
    std::string field;
    bool covered;
    Change change;
  };
  const auto other_prime = [&](int bits) {
    return arith::primes_below(std::uint64_t{1} << bits, 2 * parameters_.degree(), 1).front();
  };
  const auto to_bgv = [](ParametersLiteral& p) {
    p.scheme = Scheme::bgv;
    p.plain_modulus = 65537;
    p.scale = 0;
    p.rescaling.reset();
    p.range_bits = 0;
  };
  const Parameters bgv = changed(parameters_, to_bgv);
  const Parameters bfv = changed(bgv, [](ParametersLiteral& p) { p.scheme = Scheme::bfv; });
  const std::vector<Entry> table = {
      {"scheme", true, to_bgv},
      {"degree", true,
       [](ParametersLiteral& p) {
         p = parameters_with({.name = "", .digits = 2, .special_primes = 2}).literal();
         p.degree /= 1;
         const auto primes = arith::primes_below(std::uint64_t{1} << 45, 4096, 4);
         p.levels = {{primes[0]}, {primes[0], primes[1]}};
         p.special_primes = arith::primes_below(std::uint64_t{1} << 50, 4096, 2);
         p.degree = 2048;
         p.digits.clear();
         p.roots.clear();
       }},
      {"levels", true, [](ParametersLiteral& p) { p.levels.erase(p.levels.begin()); }},
      {"purposes", false,
       [](ParametersLiteral& p) {
         p.purposes.assign(p.levels.size(), LevelPurpose::user);
         p.purposes.back() = LevelPurpose::eval_mod;
       }},
      {"special_primes", true,
       [](ParametersLiteral& p) { std::swap(p.special_primes[0], p.special_primes[1]); }},
      {"digits", true, [](ParametersLiteral& p) { std::swap(p.digits[0], p.digits[1]); }},
      {"window_bits", true,
       [](ParametersLiteral& p) {
         p.digits.clear();
         for (const std::uint64_t prime : p.levels.back()) p.digits.push_back({prime});
         p.window_bits = 20;
       }},
      {"key_primes", true, [&](ParametersLiteral& p) { p.key_primes = {other_prime(52)}; }},
      {"roots", true,
       [](ParametersLiteral& p) {
         // Another primitive root: the cube of the first.
         auto& [modulus, root] = *p.roots.begin();
         root = arith::Modulus(modulus).power(root, 3);
       }},
      {"plain_modulus", true, {}},
      {"scale", true, [](ParametersLiteral& p) { p.scale *= 2; }},
      {"range_bits", false, [](ParametersLiteral& p) { p.range_bits -= 1; }},
      {"largest", false, [](ParametersLiteral& p) { p.largest = 4; }},
      {"galois_generator", true, [](ParametersLiteral& p) { p.galois_generator = 3; }},
      {"secret", true, [](ParametersLiteral& p) { p.secret.weight = 64; }},
      {"sigma", true, [](ParametersLiteral& p) { p.sigma = 3.2; }},
      {"bfv_multiplication", false, {}},
      {"rescaling", false, [](ParametersLiteral& p) { p.rescaling = RescalingPolicy::manual(Scheme::ckks); }},
      {"security", false, {}},
  };
  EXPECT_EQ(table.size(), tests::member_count<ParametersLiteral>());
  for (const Entry& entry : table) {
    if (!entry.change) continue;
    SCOPED_TRACE(entry.field);
    const Parameters other = changed(parameters_, entry.change);
    EXPECT_EQ(other == parameters_, !entry.covered);
  }
  EXPECT_NE(bgv, bfv);
  EXPECT_NE(bgv, changed(bgv, [](ParametersLiteral& p) {
              p.plain_modulus = 114689;
              p.roots.clear();
            }));
  EXPECT_EQ(bfv, changed(bfv, [](ParametersLiteral& p) { p.bfv_multiplication = BfvMultiplication::behz; }));
}

}  // namespace
}  // namespace hemera::rlwe
