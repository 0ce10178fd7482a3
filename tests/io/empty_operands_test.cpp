// Operands that are null, empty, moved from or out of range: each is a typed error, none ends the process.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/circuits/search/encrypted_database.hpp"
#include "hemera/circuits/search/query.hpp"
#include "hemera/hemera.hpp"
#include "hemera/rlwe/exchange.hpp"
#include "hemera/rlwe/hoisting.hpp"
#include "hemera/rlwe/key_maker.hpp"
#include "hemera/rlwe/key_switching.hpp"
#include "hemera/rlwe/transfer.hpp"
#include "hemera/rlwe/turned_product.hpp"
#include "refusals.hpp"
#include "test_device.hpp"

namespace hemera {
namespace {

using rlwe::Ciphertext;
using rlwe::EvaluationKeys;
using rlwe::KeyRole;
using rlwe::Plaintext;
using rlwe::PublicKey;
using rlwe::SecretKey;
using rlwe::SwitchingKey;

using Cases = std::map<std::string, std::function<void()>>;

template <typename... Values>
void use(Values&&...) {}

const SecretKey& empty_secret() {
  static const SecretKey key;
  return key;
}

const Ciphertext& empty_ciphertext() {
  static const Ciphertext ciphertext;
  return ciphertext;
}

struct Session {
  rlwe::ContextPointer context;
  SecretKey secret = rlwe::generate_secret_key(context);
  EvaluationKeys keys = rlwe::generate_keys(secret, {.rotations = {1}, .conjugation = true});
  EvaluationKeys without = rlwe::generate_keys(secret, {.public_key = false});
  Plaintext plain = encoded();
  Ciphertext x = any_scheme::encrypt(plain, secret);
  std::unique_ptr<rlwe::Evaluator> evaluator = any_scheme::make_evaluator(context, keys);

  Plaintext encoded() const {
    if (context->scheme() == rlwe::Scheme::ckks) return ckks::Encoder(context).encode(std::vector{0.5, 0.25});
    return integer::Encoder(context).encode(std::vector<std::int64_t>{1, 2});
  }
};

rlwe::ContextPointer small(const rlwe::Parameters& parameters) {
  return rlwe::Context::make(parameters, {}, {.threads = 1});
}

class EmptyOperands : public ::testing::TestWithParam<const char*> {
 protected:
  static rlwe::Parameters parameters() {
    const std::string scheme = GetParam();
    if (scheme == "ckks")
      return ckks::parameters_for({.depth = 2, .slots = 2, .degree = 1024, .security = {}});
    if (scheme == "bfv") return bfv::parameters_for({.depth = 1, .degree = 1024, .security = {}});
    return bgv::parameters_for({.depth = 1, .degree = 1024, .security = {}});
  }
  Session s{small(parameters())};

  static void refuse(const Cases& cases) {
    for (const auto& [name, call] : cases) {
      SCOPED_TRACE(name);
      try {
        call();
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_GT(std::string(error.what()).size(), 20U) << error.what();
      }
    }
  }
};

TEST_P(EmptyOperands, OfKeys) {
  const rlwe::ContextPointer none;
  SecretKey moved_from = rlwe::generate_secret_key(s.context);
  const SecretKey taken = std::move(moved_from);
  Cases cases;
  const std::map<std::string, const SecretKey*> secrets{{"SecretKey{}", &empty_secret()},
                                                        {"moved from", &moved_from}};
  for (const auto& [name, key] : secrets) {
    const SecretKey& empty = *key;
    cases["generate_keys of " + name] = [&] { use(rlwe::generate_keys(empty, {})); };
    cases["generate_public_key of " + name] = [&] { use(rlwe::generate_public_key(empty)); };
    cases["generate_relinearization_key of " + name] = [&] {
      use(rlwe::generate_relinearization_key(empty, 0));
    };
    cases["generate_galois_key of " + name] = [&] { use(rlwe::generate_galois_key(empty, 3, 0)); };
    cases["generate_switching_key from " + name] = [&] {
      use(rlwe::generate_switching_key(empty, s.secret, 0));
    };
    cases["generate_switching_key to " + name] = [&] {
      use(rlwe::generate_switching_key(s.secret, empty, 0));
    };
    cases["generate_encapsulation_keys of " + name] = [&] {
      use(rlwe::generate_encapsulation_keys(empty, 32, s.context->gadget(0), s.context->gadget(0)));
    };
    cases["KeyMaker of " + name] = [&] {
      use(rlwe::KeyMaker(empty, rlwe::KeyRole::turned_product(3), s.context->gadget(0)));
    };
    cases["encrypt with " + name] = [&] { use(any_scheme::encrypt(s.plain, empty)); };
    cases["decrypt with " + name] = [&] { use(any_scheme::decrypt(s.x, empty)); };
    cases["save " + name] = [&] { use(io::save(empty)); };
    cases["copy " + name] = [&] { use(rlwe::copy_to(s.context, empty)); };
  }
  cases["generate_secret_key of no context"] = [&] { use(rlwe::generate_secret_key(none)); };
  cases["a gadget that is null"] = [&] { use(rlwe::generate_switching_key(s.secret, s.secret, nullptr)); };
  cases["Galois element 2"] = [&] { use(rlwe::generate_galois_key(s.secret, 2, 0)); };
  cases["Galois element 2^60 + 1"] = [&] { use(rlwe::generate_galois_key(s.secret, (1ULL << 60) + 1, 0)); };
  cases["a key of level 99"] = [&] { use(rlwe::generate_relinearization_key(s.secret, 99)); };
  cases["keys of level 99"] = [&] {
    use(rlwe::generate_keys(s.secret, {.rotations = {1}, .galois_level = 99}));
  };
  cases["*keys.public_key of none"] = [&] { use(*s.without.public_key); };
  cases["keys.public_key->seed of none"] = [&] { use(s.without.public_key->seed); };
  cases["encrypt with *public_key of none"] = [&] {
    use(any_scheme::encrypt(s.plain, *s.without.public_key));
  };
  cases["encrypt with keys without one"] = [&] { use(any_scheme::encrypt(s.plain, s.without)); };
  cases["encrypt with EvaluationKeys{}"] = [&] { use(any_scheme::encrypt(s.plain, EvaluationKeys{})); };
  cases["encrypt with PublicKey{}"] = [&] { use(any_scheme::encrypt(s.plain, PublicKey{})); };
  cases["security of PublicKey{}"] = [&] { use(PublicKey{}.security()); };
  cases["security of SwitchingKey{}"] = [&] { use(SwitchingKey{}.security()); };
  cases["level of SwitchingKey{}"] = [&] { use(SwitchingKey{}.level()); };
  cases["add a null key"] = [&] { s.keys.add(KeyRole::relinearization(), nullptr); };
  cases["add an empty key"] = [&] {
    s.keys.add(KeyRole::relinearization(), std::make_shared<const SwitchingKey>());
  };
  cases["merge EvaluationKeys{}"] = [&] { s.keys.merge(EvaluationKeys{}); };
  cases["merge into EvaluationKeys{}"] = [&] { EvaluationKeys{}.merge(s.keys); };
  cases["copy EvaluationKeys{}"] = [&] { use(rlwe::copy_to(s.context, EvaluationKeys{})); };
  cases["copy keys to no context"] = [&] { use(rlwe::copy_to(none, s.keys)); };
  cases["copy keys on use to no context"] = [&] { use(rlwe::copied_on_use(none, s.keys)); };
  cases["copy SwitchingKey{}"] = [&] { use(rlwe::copy_to(s.context, SwitchingKey{})); };
  cases["keys of the circuit of EvaluationKeys{}"] = [&] { use(rlwe::circuit_keys(EvaluationKeys{})); };
  cases["secret of no circuit"] = [&] { use(rlwe::circuit_secret_key(SecretKey{})); };
  refuse(cases);
  EXPECT_NO_THROW(use(any_scheme::encrypt(s.plain, s.keys)));
}

TEST_P(EmptyOperands, OfFiles) {
  const rlwe::ContextPointer none;
  const std::vector<std::byte> file = io::save(s.x), keys = io::save(s.keys), secret = io::save(s.secret),
                               plain = io::save(s.plain);
  refuse({
      {"ciphertext to no context", [&] { use(io::load_ciphertext(none, file)); }},
      {"plaintext to no context", [&] { use(io::load_plaintext(none, plain)); }},
      {"secret key to no context", [&] { use(io::load_secret_key(none, secret)); }},
      {"public key to no context", [&] { use(io::load_public_key(none, file)); }},
      {"switching key to no context", [&] { use(io::load_switching_key(none, file)); }},
      {"keys to no context", [&] { use(io::load_evaluation_keys(none, keys)); }},
      {"anything to no context", [&] { use(io::load_any(none, file)); }},
      {"no bytes", [&] { use(io::load_ciphertext(s.context, {})); }},
      {"save Ciphertext{}", [&] { use(io::save(Ciphertext{})); }},
      {"save Plaintext{}", [&] { use(io::save(Plaintext{})); }},
      {"save PublicKey{}", [&] { use(io::save(PublicKey{})); }},
      {"save SwitchingKey{}", [&] { use(io::save(SwitchingKey{})); }},
      {"save EvaluationKeys{}", [&] { use(io::save(EvaluationKeys{})); }},
  });
  // The cause, and not one that follows from it.
  for (const auto& save : Cases{{"ciphertext", [] { use(io::save(Ciphertext{})); }},
                                {"secret key", [] { use(io::save(SecretKey{})); }}}) {
    EXPECT_NE(tests::refusal<MismatchError>([&] {
                save.second();
                return 0;
              }).find("the " + save.first + " is empty"),
              std::string::npos);
  }
}

// What an evaluator refuses of empty ones is in schemes/refusals_test.cpp.
TEST_P(EmptyOperands, OfCiphertexts) {
  const rlwe::ContextPointer none;
  Ciphertext moved_from = s.x.clone();
  const Ciphertext taken = std::move(moved_from);
  const Plaintext no_plain;
  const rlwe::Evaluator& e = *s.evaluator;
  Cases cases;
  for (const auto& [name, key] : std::map<std::string, const Ciphertext*>{
           {"Ciphertext{}", &empty_ciphertext()}, {"moved from", &moved_from}}) {
    const Ciphertext& empty = *key;
    cases["take " + name] = [&] { use(rlwe::take(empty, 0)); };
    cases["concatenate " + name] = [&] { use(rlwe::concatenate({&empty})); };
    cases["copy " + name] = [&] { use(rlwe::copy_to(s.context, empty)); };
    cases["budget of " + name] = [&] { use(any_scheme::noise_budget(empty, s.secret)); };
    cases["notice " + name] = [&] {
      Ciphertext own;
      own.meta = empty.meta;
      use(any_scheme::notice_spent_budget(own));
    };
    cases["apply_galois of " + name] = [&] { use(rlwe::apply_galois(empty, 3, SwitchingKey{})); };
    cases["decompose " + name] = [&] { use(rlwe::decompose(empty, s.context->gadget(0))); };
    cases["extend " + name] = [&] { use(rlwe::extend(empty, s.context->gadget(0))); };
    cases["broadcast " + name] = [&] {
      use(rlwe::broadcast(std::array<std::shared_ptr<const rlwe::Context>, 1>{s.context}, empty));
    };
  }
  const Ciphertext* null = nullptr;
  const Plaintext* null_plain = nullptr;
  const auto keys_of = [&](const SwitchingKey* key) { return std::array{key}; };
  cases["stack of null"] = [&] { use(rlwe::stack({nullptr})); };
  cases["stack of x and null"] = [&] { use(rlwe::stack({&s.x, nullptr})); };
  cases["concatenate null"] = [&] { use(rlwe::concatenate({nullptr})); };
  cases["stack of nothing"] = [&] { use(rlwe::stack({})); };
  cases["add_many of null"] = [&] { use(e.add_many(std::array{null})); };
  cases["add_many of x and null"] = [&] {
    use(e.add_many(std::array{static_cast<const Ciphertext*>(&s.x), null}));
  };
  cases["add_many of nothing"] = [&] { use(e.add_many({})); };
  cases["multiply_many of null"] = [&] { use(e.multiply_many(std::array{null})); };
  cases["multiply_many of x and null"] = [&] {
    use(e.multiply_many(std::array{static_cast<const Ciphertext*>(&s.x), null}));
  };
  cases["dot of null"] = [&] { use(e.dot(std::array{null}, std::span<const Ciphertext* const>(&null, 1))); };
  cases["dot with null"] = [&] {
    const std::array one{static_cast<const Ciphertext*>(&s.x)};
    use(e.dot(one, std::span<const Plaintext* const>(&null_plain, 1)));
  };
  cases["dot with Plaintext{}"] = [&] {
    const std::array one{static_cast<const Ciphertext*>(&s.x)};
    const Plaintext* empty = &no_plain;
    use(e.dot(one, std::span<const Plaintext* const>(&empty, 1)));
  };
  cases["add_plain of Plaintext{}"] = [&] { use(e.add_plain(s.x, no_plain)); };
  cases["multiply_plain of Plaintext{}"] = [&] { use(e.multiply_plain(s.x, no_plain)); };
  cases["encrypt Plaintext{}"] = [&] { use(any_scheme::encrypt(no_plain, s.secret)); };
  cases["copy Plaintext{}"] = [&] { use(rlwe::copy_to(s.context, no_plain)); };
  cases["gather Plaintext{}"] = [&] { use(rlwe::gather(no_plain, std::vector<std::size_t>{0}, {1})); };
  cases["copy to no context"] = [&] { use(rlwe::copy_to(none, s.x)); };
  cases["broadcast to no context"] = [&] {
    use(rlwe::broadcast(std::array<std::shared_ptr<const rlwe::Context>, 1>{}, s.x));
  };
  cases["make_ciphertext of no context"] = [&] { use(rlwe::make_ciphertext(none, {}, 2)); };
  cases["reencrypt by SwitchingKey{}"] = [&] { use(e.reencrypt(s.x, SwitchingKey{})); };
  cases["apply_galois by SwitchingKey{}"] = [&] { use(rlwe::apply_galois(s.x, 3, SwitchingKey{})); };
  cases["apply_galois_hoisted by null"] = [&] {
    use(rlwe::apply_galois_hoisted(s.x, std::array<std::uint64_t, 1>{3}, keys_of(nullptr)));
  };
  cases["decompose for no gadget"] = [&] { use(rlwe::decompose(s.x, nullptr)); };
  cases["extend for no gadget"] = [&] { use(rlwe::extend(s.x, nullptr)); };
  cases["switch Digits{}"] = [&] { use(rlwe::switch_extended(rlwe::Digits{}, SwitchingKey{})); };
  cases["divide ExtendedCiphertext{}"] = [&] { use(rlwe::mod_down(rlwe::ExtendedCiphertext{})); };
  cases["multiply_turned without keys"] = [&] {
    use(rlwe::multiply_turned(s.context, s.x.poly.view(), s.x.meta, 3, {}));
  };
  cases["an evaluator of no context"] = [&] { use(any_scheme::make_evaluator(none, s.keys)); };
  cases["slice beyond"] = [&] {
    const Ciphertext two = rlwe::stack({&s.x, &s.x});
    use(rlwe::slice(two, 1, 2));
  };
  cases["take beyond"] = [&] { use(rlwe::take(rlwe::stack({&s.x, &s.x}), 2)); };
  cases["gather beyond"] = [&] { use(rlwe::gather(s.x, std::vector<std::size_t>{1}, {1})); };
  refuse(cases);
  tests::expect_error<MismatchError>([&] { return rlwe::stack({&s.x, nullptr}); }, {"operand 1", "null"});
}

TEST_P(EmptyOperands, OfLevels) {
  const rlwe::Context& context = *s.context;
  const std::size_t top = context.top_level();
  const rlwe::Evaluator& e = *s.evaluator;
  for (const std::size_t beyond : {top + 1, std::size_t{99}, ~std::size_t{0}}) {
    SCOPED_TRACE(beyond);
    refuse({{"base", [&] { use(context.base(beyond)); }},
            {"base of the chain", [&] { use(context.chain().base(beyond)); }},
            {"ratio", [&] { use(context.chain().ratio(beyond)); }},
            {"rescale", [&] { use(context.rescale(beyond)); }},
            {"rescale of a multiple", [&] { use(context.rescale(beyond, 2.0)); }},
            {"modulus of parameters", [&] { use(context.parameters().log_modulus(beyond)); }},
            {"ratio of parameters", [&] { use(context.parameters().ratio(beyond)); }},
            {"primes of parameters", [&] { use(context.parameters().primes_up_to(beyond)); }},
            {"gadget of parameters", [&] { use(context.parameters().default_gadget(beyond)); }},
            {"descent", [&] { use(context.descent(beyond, 0)); }},
            {"decryption", [&] { use(context.decryption(beyond)); }},
            {"gadget", [&] { use(context.gadget(beyond)); }},
            {"encryption", [&] { use(context.encryption_division(beyond, context.key_base())); }},
            {"drop",
             [&] {
               Ciphertext y = s.x.clone();
               e.drop_to_level_inplace(y, beyond);
             }},
            {"lower", [&] { use(e.lower_to_level(s.x, beyond)); }}});
  }
  refuse({{"rescale of level 0", [&] { use(context.rescale(0)); }},
          {"rescale of a multiple at level 0", [&] { use(context.rescale(0, 2.0)); }},
          {"ratio of level 0", [&] { use(context.chain().ratio(0)); }},
          {"ratio of parameters at level 0", [&] { use(context.parameters().ratio(0)); }},
          {"base of no chain", [&] { use(poly::ModulusChain().base(0)); }}});
  // The last ones that are there.
  EXPECT_NO_THROW(use(context.base(top)));
  EXPECT_NO_THROW(use(context.base(0)));
  if (top > 0) {
    EXPECT_NO_THROW(use(context.rescale(top)));
    EXPECT_NO_THROW(use(context.chain().ratio(1)));
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, EmptyOperands, ::testing::Values("ckks", "bfv", "bgv"));

}  // namespace
}  // namespace hemera
