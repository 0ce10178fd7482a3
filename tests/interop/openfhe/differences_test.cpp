// Contexts that differ in one field; keys of other secrets, levels, special primes and loads.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "hemera/arith/primes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/vectors.hpp"
#include "member_count.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;

// A change of one field of a struct, and whether the context is then another one.
template <typename T>
struct Change {
  const char* field;
  void (*apply)(T&);
  bool is_another;
};

// Every field of a context's structs. Two contexts are others where their objects are: the rest says how to
// set up or use them, or follows from other fields.
const std::vector<Change<CryptoContext>> of_crypto_context = {
    {"parameters", [](auto&) {}, false},
    {"scheme", [](auto& o) { o.scheme = std::make_shared<SchemeObject>(); }, false},
    {"scheme_type", [](auto& o) { o.scheme_type = SchemeType::bgv; }, true},
};
const std::vector<Change<SchemeObject>> of_scheme_object = {
    {"type", [](auto& o) { ++o.type; }, false},
    {"fhe", [](auto& o) { o.fhe = std::make_shared<FheObject>(); }, false},
    {"switching", [](auto& o) { o.switching = std::make_shared<SchemeSwitching>(); }, false},
    {"features", [](auto& o) { o.features |= 32; }, false},
};
const std::vector<Change<DcrtParameters>> of_dcrt_parameters = {
    {"order", [](auto& o) { o.order *= 2; }, false},
    {"degree", [](auto& o) { o.degree *= 2; }, true},
    {"modulus", [](auto& o) { ++o.modulus.bits; }, false},
    {"root", [](auto& o) { ++o.root.bits; }, false},
    {"big_modulus", [](auto& o) { ++o.big_modulus.bits; }, false},
    {"big_root", [](auto& o) { ++o.big_root.bits; }, false},
    {"primes", [](auto& o) { o.primes.pop_back(); }, true},
};
const std::vector<Change<NativeParameters>> of_native_parameters = {
    {"order", [](auto& o) { o.order *= 2; }, false},
    {"degree", [](auto& o) { o.degree *= 2; }, false},
    {"modulus", [](auto& o) { o.modulus += 8192; }, true},
    {"root", [](auto& o) { ++o.root; }, true},
    {"big_modulus", [](auto& o) { ++o.big_modulus; }, false},
    {"big_root", [](auto& o) { ++o.big_root; }, false},
};
const std::vector<Change<EncodingParameters>> of_encoding_parameters = {
    {"plain_modulus", [](auto& o) { ++o.plain_modulus; }, true},
    {"root", [](auto& o) { ++o.root; }, false},
    {"big_modulus", [](auto& o) { ++o.big_modulus; }, false},
    {"big_root", [](auto& o) { ++o.big_root; }, false},
    {"generator", [](auto& o) { ++o.generator; }, false},
    {"batch_size", [](auto& o) { o.batch_size *= 2; }, false},
};
const std::vector<Change<CryptoParameters>> of_crypto_parameters = {
    {"type", [](auto& o) { ++o.type; }, false},
    {"elements", [](auto&) {}, false},
    {"encoding", [](auto&) {}, false},
    {"deviation", [](auto& o) { o.deviation += 1; }, true},
    {"assurance", [](auto& o) { o.assurance += 1; }, false},
    {"noise_scale", [](auto& o) { ++o.noise_scale; }, true},
    {"digit_size", [](auto& o) { ++o.digit_size; }, true},
    {"noise_estimate", [](auto& o) { o.noise_estimate += 1; }, false},
    {"depth", [](auto& o) { ++o.depth; }, false},
    {"additions", [](auto& o) { ++o.additions; }, false},
    {"key_switches", [](auto& o) { ++o.key_switches; }, false},
    {"hops", [](auto& o) { ++o.hops; }, false},
    {"most_relinearized", [](auto& o) { ++o.most_relinearized; }, false},
    {"secret", [](auto& o) { o.secret = SecretType::sparse; }, true},
    {"reencryption_mode", [](auto& o) { ++o.reencryption_mode; }, false},
    {"multiparty_mode", [](auto& o) { ++o.multiparty_mode; }, false},
    {"execution_mode", [](auto& o) { ++o.execution_mode; }, false},
    {"decryption_noise_mode", [](auto& o) { ++o.decryption_noise_mode; }, false},
    {"security", [](auto& o) { ++o.security; }, false},
    {"flooding_deviation", [](auto& o) { o.flooding_deviation += 1; }, false},
    {"statistical_security", [](auto& o) { o.statistical_security += 1; }, false},
    {"adversarial_queries", [](auto& o) { o.adversarial_queries += 1; }, false},
    {"parties", [](auto& o) { ++o.parties; }, true},
    {"key_switching", [](auto& o) { o.key_switching = KeySwitching::bv; }, true},
    {"scaling", [](auto& o) { o.scaling = Scaling::fixed_auto; }, true},
    {"encryption", [](auto& o) { o.encryption = EncryptionType::extended; }, true},
    {"multiplication", [](auto& o) { o.multiplication = MultiplicationType::behz; }, true},
    {"digits", [](auto& o) { ++o.digits; }, true},
    {"auxiliary_bits", [](auto& o) { --o.auxiliary_bits; }, true},
    {"extra_bits", [](auto& o) { ++o.extra_bits; }, true},
    {"compression_level", [](auto& o) { ++o.compression_level; }, false},
    {"composite_degree", [](auto& o) { ++o.composite_degree; }, true},
    {"register_bits", [](auto& o) { o.register_bits = 32; }, false},
    {"data_type", [](auto& o) { o.data_type = 1 - o.data_type; }, true},
};

template <typename T, typename Reach>
void expect_others(const std::vector<Change<T>>& changes, const Reach& reach) {
  std::set<std::string> fields;
  const ContextPointer original = test::context_of("ckks-flexibleauto");
  for (const Change<T>& change : changes) {
    fields.insert(change.field);
    const ContextPointer other = test::copy_of(*original);
    change.apply(reach(*other));
    EXPECT_EQ(is_same_context(*original, *other), !change.is_another) << change.field;
    EXPECT_EQ(is_same_context(*other, *original), !change.is_another) << change.field;
  }
  EXPECT_EQ(fields.size(), tests::member_count<T>());
}

TEST(OpenFheContexts, AreOneOrOthersByEachField) {
  expect_others(of_crypto_context, [](auto& c) -> CryptoContext& { return c; });
  expect_others(of_scheme_object, [](auto& c) -> SchemeObject& { return *c.scheme; });
  expect_others(of_dcrt_parameters, [](auto& c) -> DcrtParameters& { return *c.parameters->elements; });
  expect_others(of_native_parameters,
                [](auto& c) -> NativeParameters& { return *c.parameters->elements->primes[1]; });
  expect_others(of_encoding_parameters,
                [](auto& c) -> EncodingParameters& { return *c.parameters->encoding; });
  expect_others(of_crypto_parameters, [](auto& c) -> CryptoParameters& { return *c.parameters; });
}

TEST(OpenFheContexts, ObjectsOfOthersAreRefusedByEveryLoader) {
  const auto ciphertext = read_file<CiphertextPointer>(test::get("ckks-flexibleauto", "ct_a.bin"));
  const auto secret =
      read_file<std::shared_ptr<PrivateKeyObject>>(test::get("ckks-flexibleauto", "secret_key.bin"));
  auto powers = read_file<MultiplicationKeys>(test::get("ckks-flexibleauto", "eval_mult_key.bin"));
  auto automorphisms =
      read_file<AutomorphismKeys>(test::get("ckks-flexibleauto", "eval_automorphism_keys.bin"));
  Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const ContextPointer other = test::copy_of(*ciphertext->header.context);
  ++other->parameters->digits;
  ciphertext->header.context = secret->header.context = other;
  powers.entries[0].keys[0]->header.context = automorphisms.entries[0].keys->list[0].key->header.context =
      other;
  auto written = ciphertext;
  auto written_secret = secret;
  EXPECT_THROW(static_cast<void>(session.load_ciphertext(write_file(written, Format::binary))),
               MismatchError);
  EXPECT_THROW(static_cast<void>(session.load_secret_key(write_file(written_secret, Format::binary))),
               MismatchError);
  const Bytes power_file = write_file(powers, Format::binary);
  EXPECT_THROW(session.load_keys({.relinearization = Source(power_file)}), MismatchError);
  const Bytes automorphism_file = write_file(automorphisms, Format::binary);
  EXPECT_THROW(session.load_keys({.galois = Source(automorphism_file)}), MismatchError);
  EXPECT_TRUE(session.keys().switching.empty());
}

TEST(OpenFheKeys, LimbsOfASecretKeyAreOfOneSecret) {
  const Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  const Bytes file = test::get("bgv", "secret_key.bin");
  const rlwe::SecretKey other = rlwe::generate_secret_key(session.context());
  const auto foreign = from_secret_key(other, {test::context_of("bgv"), ""});
  for (std::size_t limb = 0; limb < foreign->polynomial.limbs.size(); ++limb) {
    auto object = read_file<std::shared_ptr<PrivateKeyObject>>(file);
    object->polynomial.limbs[limb].words = foreign->polynomial.limbs[limb].words;
    EXPECT_THROW(static_cast<void>(session.load_secret_key(write_file(object, Format::binary))), FormatError)
        << limb;
  }
}

TEST(OpenFheKeys, AutomorphismIndicesAreOddAndBelowTwiceTheDegree) {
  const std::size_t degree = 4096;
  for (const std::uint32_t index : {0U, 2U, 8186U, 8193U, 8195U, 16383U, 8192U, 4294967295U}) {
    EXPECT_THROW(static_cast<void>(role_of(index, degree)), FormatError) << index;
  }
  EXPECT_EQ(role_of(5, degree), rlwe::KeyRole::galois(5));
  EXPECT_EQ(role_of(8191, degree), rlwe::KeyRole::galois(8191));
  EXPECT_EQ(role_of(8190, degree), (rlwe::KeyRole{.from = rlwe::ephemeral_secret}));
  EXPECT_EQ(role_of(8188, degree), (rlwe::KeyRole{.to = rlwe::ephemeral_secret}));
  for (const std::uint32_t index : {1U, 5U, 8191U, 8190U, 8188U}) {
    EXPECT_EQ(index_of(role_of(index, degree), degree), index);
  }
  auto file = read_file<AutomorphismKeys>(test::get("ckks-flexibleauto", "eval_automorphism_keys.bin"));
  file.entries[0].keys->list[0].index = 8193;
  const Bytes written = write_file(file, Format::binary);
  Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  EXPECT_THROW(session.load_keys({.galois = Source(written)}), FormatError);
}

TEST(OpenFheKeys, OfSeveralLevelsAreWrittenForTheHighest) {
  Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  auto secret_object = read_file<std::shared_ptr<PrivateKeyObject>>(test::get("bgv", "secret_key.bin"));
  const rlwe::SecretKey secret = session.load_secret_key(write_file(secret_object, Format::binary));
  const auto context = session.context();
  rlwe::EvaluationKeys keys{.context = context, .public_key = nullptr, .switching = {}};
  for (const std::size_t level : {std::size_t{0}, context->top_level()}) {
    keys.add(rlwe::KeyRole::relinearization(),
             std::make_shared<const rlwe::SwitchingKey>(rlwe::generate_relinearization_key(secret, level)));
    keys.add(rlwe::KeyRole::galois(5),
             std::make_shared<const rlwe::SwitchingKey>(rlwe::generate_galois_key(secret, 5, level)));
  }
  ASSERT_EQ(keys.switching.begin()->second.size(), 2U);
  session.load_keys(session.dump_keys(keys).sources());
  for (const auto& [role, of_role] : session.keys().switching) {
    ASSERT_EQ(of_role.size(), 1U);
    EXPECT_EQ(of_role.begin()->second->level(), context->top_level());
  }
  const rlwe::Ciphertext a = session.load_ciphertext(test::get("bgv", "ct_a.bin"));
  ASSERT_EQ(a.meta.level, context->top_level());
  EXPECT_NO_THROW(static_cast<void>(session.evaluator()->rotate(session.evaluator()->square(a), 1)));
}

// OpenFHE's keys have one gadget, over all moduli. A key of lower levels alone, or of other digits, has the
// right role and the wrong limbs.
TEST(OpenFheKeys, WithoutOneOfAllLevelsAreRefused) {
  Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  const rlwe::SecretKey secret = session.load_secret_key(test::get("bgv", "secret_key.bin"));
  const auto context = session.context();
  const std::size_t top = context->top_level();
  ASSERT_GT(top, 0U);
  rlwe::GadgetPrimes other = context->gadget(top)->primes();
  ASSERT_GT(other.base.size(), 1U);
  // Another split into digits: in two, or in one for each prime.
  const std::size_t usual = other.digits.size();
  other.digits.clear();
  for (const std::uint64_t prime : other.base) {
    if (usual == other.base.size() && !other.digits.empty() && other.digits.back().size() < 2) {
      other.digits.back().push_back(prime);
    } else {
      other.digits.push_back({prime});
    }
  }
  ASSERT_NE(other, context->gadget(top)->primes());
  std::vector<std::shared_ptr<const rlwe::SwitchingKey>> made;
  const auto make = [&](const auto& gadget_or_level) {
    return std::make_shared<const rlwe::SwitchingKey>(
        rlwe::generate_switching_key(secret, secret, gadget_or_level));
  };
  for (std::size_t level = 0; level < top; ++level) made.push_back(make(level));
  made.push_back(make(context->gadget(other)));
  const auto key = make(top);
  const std::vector<rlwe::KeyRole> roles = {
      {.power = 2}, {.galois_element = 5}, {.galois_element = 8191}, {.from = rlwe::ephemeral_secret}};
  for (const rlwe::KeyRole& role : roles) {
    rlwe::EvaluationKeys all{.context = context, .public_key = nullptr, .switching = {}};
    for (const auto& wrong : made) {
      rlwe::EvaluationKeys keys{.context = context, .public_key = nullptr, .switching = {}};
      keys.add(role, wrong);
      EXPECT_THROW(static_cast<void>(session.dump_keys(keys)), MismatchError) << wrong->level();
      all.add(role, wrong);
    }
    EXPECT_THROW(static_cast<void>(session.dump_keys(all)), MismatchError);
    // Beside one of all levels they are left out.
    all.add(role, key);
    rlwe::EvaluationKeys only{.context = context, .public_key = nullptr, .switching = {}};
    only.add(role, key);
    const KeyFiles written = session.dump_keys(all), alone = session.dump_keys(only);
    EXPECT_EQ(written.relinearization, alone.relinearization);
    EXPECT_EQ(written.galois, alone.galois);
  }
  // Among good ones, at the first and the last place.
  for (const rlwe::KeyRole& role : {roles.front(), roles.back()}) {
    rlwe::EvaluationKeys keys{.context = context, .public_key = nullptr, .switching = {}};
    for (const rlwe::KeyRole& each : roles) {
      if (each != role) keys.add(each, key);
    }
    keys.add(role, made.front());
    EXPECT_THROW(static_cast<void>(session.dump_keys(keys)), MismatchError);
  }
  EXPECT_THROW(static_cast<void>(session.dump_keys(
                   rlwe::generate_keys(secret, {.rotations = {1}, .galois_level = top - 1}))),
               MismatchError);
  EXPECT_NO_THROW(static_cast<void>(
      session.dump_keys(rlwe::generate_keys(secret, {.rotations = {1}, .galois_level = top}))));
  // The key to the sparse secret has a part of the moduli.
  rlwe::EvaluationKeys sparse{.context = context, .public_key = nullptr, .switching = {}};
  sparse.add({.to = rlwe::ephemeral_secret}, made.front());
  EXPECT_TRUE(session.dump_keys(sparse).galois.has_value());
}

TEST(OpenFheSpecialPrimes, StayOpenUntilTheFirstKey) {
  test::OtherClient client = test::newer_client();
  const Bytes context = write_file(client.context, Format::binary);
  // What a file of keys tells is in its parameters.
  for (const Bytes* const file : {&client.relinearization, &client.galois}) {
    const bool is_galois = file == &client.galois;
    const rlwe::Parameters parameters = load_parameters(*file);
    EXPECT_EQ(parameters.literal().special_primes, client.special);
    EXPECT_EQ(parameters.literal().key_primes, is_galois ? client.auxiliary : std::vector<std::uint64_t>{});
    EXPECT_TRUE(Session(*file, tests::device()).params() == parameters);
    const auto own =
        rlwe::Context::make(parameters, tests::device(), {.long_rotations = rlwe::LongRotations::openfhe});
    Session session(*file, own);
    session.load_keys(is_galois ? KeySources{.galois = Source(*file)}
                                : KeySources{.relinearization = Source(*file)});
    EXPECT_EQ(session.context(), own);
  }
  for (const Bytes& file : {context, client.public_key, client.secret, client.ciphertext}) {
    EXPECT_TRUE(load_parameters(file) == parameters_of(*client.context));
  }
  const auto expect_works = [&](Session& session) {
    EXPECT_EQ(session.params().literal().special_primes, client.special);
    EXPECT_EQ(session.params().literal().key_primes, client.auxiliary);
    const rlwe::SecretKey secret = session.load_secret_key(client.secret);
    const rlwe::Ciphertext x = session.load_ciphertext(client.ciphertext);
    const auto evaluator = session.evaluator();
    const rlwe::Ciphertext y = evaluator->rotate(evaluator->square(x), 1);
    const auto values = ckks::Encoder(session.context()).decode(ckks::decrypt(y, secret));
    for (const auto& value : values) ASSERT_NEAR(value.real(), 0.25, 1e-3);
    EXPECT_EQ(session.keys().switching.size(), 4U);
  };
  {
    SCOPED_TRACE("all keys at once");
    Session session(context, tests::device());
    EXPECT_NE(session.params().literal().special_primes, client.special);
    session.load_keys({.relinearization = Source(client.relinearization), .galois = Source(client.galois)});
    expect_works(session);
  }
  {
    SCOPED_TRACE("one kind after the other: the first ones move to the second context");
    Session session(context, tests::device());
    session.load_keys({.public_key = Source(client.public_key)});
    const auto first = session.context();
    session.load_keys({.relinearization = Source(client.relinearization)});
    EXPECT_EQ(session.params().literal().special_primes, client.special);
    session.load_keys({.galois = Source(client.galois)});
    // Once more: nothing else is told.
    const auto last = session.context();
    EXPECT_NE(last, first);
    session.load_keys({.galois = Source(client.galois)});
    EXPECT_EQ(session.context(), last);
    ASSERT_NE(session.keys().public_key, nullptr);
    EXPECT_EQ(session.keys().public_key->context, last);
    EXPECT_EQ(session.dump_keys(session.keys()).public_key, client.public_key);
    expect_works(session);
  }
  {
    SCOPED_TRACE("opened from the automorphism keys, of which that to the sparse secret stands first");
    Session session(client.galois, tests::device());
    session.load_keys({.relinearization = Source(client.relinearization), .galois = Source(client.galois)});
    expect_works(session);
  }
  {
    SCOPED_TRACE("a ciphertext before: the context is fixed");
    Session session(context, tests::device());
    static_cast<void>(session.load_ciphertext(client.ciphertext));
    EXPECT_THROW(session.load_keys({.relinearization = Source(client.relinearization)}), MismatchError);
    EXPECT_TRUE(session.keys().switching.empty());
  }
  {
    SCOPED_TRACE("a context of the caller's");
    const auto own = rlwe::Context::make(load_parameters(context), tests::device(),
                                         {.long_rotations = rlwe::LongRotations::openfhe});
    Session session(context, own);
    EXPECT_THROW(session.load_keys({.relinearization = Source(client.relinearization)}), MismatchError);
    EXPECT_EQ(session.context(), own);
    EXPECT_THROW(Session(context, rlwe::Context::make(load_parameters(context), tests::device())),
                 MismatchError);
  }
}

// As many as the largest digit needs, whose bits may be one more than words of 60.
TEST(OpenFheSpecialPrimes, AreAsManyAsTheLargestDigitNeeds) {
  const auto special_of = [](const std::vector<std::size_t>& bits, std::uint32_t digits) {
    const ContextPointer context = test::copy_of(*test::context_of("bfv"));
    auto& primes = context->parameters->elements->primes;
    std::vector<std::uint64_t> taken;
    for (const std::size_t each : bits) {
      taken.push_back(arith::primes_below(std::uint64_t{1} << each, 2 * 4096, 1, taken).front());
    }
    primes.clear();
    for (const NativeParameters& prime : test::rooted(taken, 4096))
      primes.push_back(std::make_shared<NativeParameters>(prime));
    context->parameters->digits = digits;
    context->parameters->auxiliary_bits = 60;
    context->parameters->key_switching = KeySwitching::hybrid;
    return parameters_of(*context).literal().special_primes.size();
  };
  EXPECT_EQ(special_of({60, 60}, 1), 2U);
  EXPECT_EQ(special_of({41, 40, 40}, 1), 3U);  // 121 bits
  EXPECT_EQ(special_of({40, 40, 40}, 1), 2U);  // 120
  EXPECT_EQ(special_of({41, 40, 40, 30}, 2), 2U);
  EXPECT_EQ(special_of({31, 30}, 1), 2U);  // 61
  EXPECT_EQ(special_of({31, 29}, 1), 1U);  // 60
}

}  // namespace
}  // namespace hemera::interop::openfhe
