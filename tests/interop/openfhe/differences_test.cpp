// What differs between two objects that meet: a context, a ciphertext of a batch, a key, a second call.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <map>
#include <set>

#include "hemera/arith/primes.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "interop/openfhe/ciphertexts.hpp"
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
using ContextPointer = std::shared_ptr<CryptoContext>;
using CiphertextPointer = std::shared_ptr<CiphertextObject>;

// --- Two contexts. ---

struct ContextChange {
  const char* name;
  std::function<void(CryptoContext&)> apply;
  bool is_another;
};

// Every field of a context's structs. Two contexts are others where their objects are: the rest says how to
// set up or use them, or follows from other fields.
const std::vector<ContextChange> context_changes = {
    {"CryptoContext.parameters", [](CryptoContext& c) { static_cast<void>(c); }, false},
    {"CryptoContext.scheme", [](CryptoContext& c) { c.scheme = std::make_shared<SchemeObject>(); }, false},
    {"CryptoContext.scheme_type", [](CryptoContext& c) { c.scheme_type = SchemeType::bgv; }, true},
    {"SchemeObject.type", [](CryptoContext& c) { ++c.scheme->type; }, false},
    {"SchemeObject.fhe", [](CryptoContext& c) { c.scheme->fhe = std::make_shared<FheObject>(); }, false},
    {"SchemeObject.switching",
     [](CryptoContext& c) { c.scheme->switching = std::make_shared<SchemeSwitching>(); }, false},
    {"SchemeObject.features", [](CryptoContext& c) { c.scheme->features |= 32; }, false},
    {"DcrtParameters.order", [](CryptoContext& c) { c.parameters->elements->order *= 2; }, false},
    {"DcrtParameters.degree", [](CryptoContext& c) { c.parameters->elements->degree *= 2; }, true},
    {"DcrtParameters.modulus", [](CryptoContext& c) { ++c.parameters->elements->modulus.bits; }, false},
    {"DcrtParameters.root", [](CryptoContext& c) { ++c.parameters->elements->root.bits; }, false},
    {"DcrtParameters.big_modulus", [](CryptoContext& c) { ++c.parameters->elements->big_modulus.bits; },
     false},
    {"DcrtParameters.big_root", [](CryptoContext& c) { ++c.parameters->elements->big_root.bits; }, false},
    {"DcrtParameters.primes", [](CryptoContext& c) { c.parameters->elements->primes.pop_back(); }, true},
    {"NativeParameters.order", [](CryptoContext& c) { c.parameters->elements->primes[1]->order *= 2; },
     false},
    {"NativeParameters.degree", [](CryptoContext& c) { c.parameters->elements->primes[1]->degree *= 2; },
     false},
    {"NativeParameters.modulus", [](CryptoContext& c) { c.parameters->elements->primes[1]->modulus += 8192; },
     true},
    {"NativeParameters.root", [](CryptoContext& c) { ++c.parameters->elements->primes[1]->root; }, true},
    {"NativeParameters.big_modulus",
     [](CryptoContext& c) { ++c.parameters->elements->primes[1]->big_modulus; }, false},
    {"NativeParameters.big_root", [](CryptoContext& c) { ++c.parameters->elements->primes[1]->big_root; },
     false},
    {"EncodingParameters.plain_modulus", [](CryptoContext& c) { ++c.parameters->encoding->plain_modulus; },
     true},
    {"EncodingParameters.root", [](CryptoContext& c) { ++c.parameters->encoding->root; }, false},
    {"EncodingParameters.big_modulus", [](CryptoContext& c) { ++c.parameters->encoding->big_modulus; },
     false},
    {"EncodingParameters.big_root", [](CryptoContext& c) { ++c.parameters->encoding->big_root; }, false},
    {"EncodingParameters.generator", [](CryptoContext& c) { ++c.parameters->encoding->generator; }, false},
    {"EncodingParameters.batch_size", [](CryptoContext& c) { c.parameters->encoding->batch_size *= 2; },
     false},
    {"CryptoParameters.type", [](CryptoContext& c) { ++c.parameters->type; }, false},
    {"CryptoParameters.elements", [](CryptoContext& c) { static_cast<void>(c); }, false},
    {"CryptoParameters.encoding", [](CryptoContext& c) { static_cast<void>(c); }, false},
    {"CryptoParameters.deviation", [](CryptoContext& c) { c.parameters->deviation += 1; }, true},
    {"CryptoParameters.assurance", [](CryptoContext& c) { c.parameters->assurance += 1; }, false},
    {"CryptoParameters.noise_scale", [](CryptoContext& c) { ++c.parameters->noise_scale; }, true},
    {"CryptoParameters.digit_size", [](CryptoContext& c) { ++c.parameters->digit_size; }, true},
    {"CryptoParameters.noise_estimate", [](CryptoContext& c) { c.parameters->noise_estimate += 1; }, false},
    {"CryptoParameters.depth", [](CryptoContext& c) { ++c.parameters->depth; }, false},
    {"CryptoParameters.additions", [](CryptoContext& c) { ++c.parameters->additions; }, false},
    {"CryptoParameters.key_switches", [](CryptoContext& c) { ++c.parameters->key_switches; }, false},
    {"CryptoParameters.hops", [](CryptoContext& c) { ++c.parameters->hops; }, false},
    {"CryptoParameters.most_relinearized", [](CryptoContext& c) { ++c.parameters->most_relinearized; },
     false},
    {"CryptoParameters.secret", [](CryptoContext& c) { c.parameters->secret = SecretType::sparse; }, true},
    {"CryptoParameters.reencryption_mode", [](CryptoContext& c) { ++c.parameters->reencryption_mode; },
     false},
    {"CryptoParameters.multiparty_mode", [](CryptoContext& c) { ++c.parameters->multiparty_mode; }, false},
    {"CryptoParameters.execution_mode", [](CryptoContext& c) { ++c.parameters->execution_mode; }, false},
    {"CryptoParameters.decryption_noise_mode",
     [](CryptoContext& c) { ++c.parameters->decryption_noise_mode; }, false},
    {"CryptoParameters.security", [](CryptoContext& c) { ++c.parameters->security; }, false},
    {"CryptoParameters.flooding_deviation", [](CryptoContext& c) { c.parameters->flooding_deviation += 1; },
     false},
    {"CryptoParameters.statistical_security",
     [](CryptoContext& c) { c.parameters->statistical_security += 1; }, false},
    {"CryptoParameters.adversarial_queries", [](CryptoContext& c) { c.parameters->adversarial_queries += 1; },
     false},
    {"CryptoParameters.parties", [](CryptoContext& c) { ++c.parameters->parties; }, true},
    {"CryptoParameters.key_switching",
     [](CryptoContext& c) { c.parameters->key_switching = KeySwitching::bv; }, true},
    {"CryptoParameters.scaling", [](CryptoContext& c) { c.parameters->scaling = Scaling::fixed_auto; }, true},
    {"CryptoParameters.encryption",
     [](CryptoContext& c) { c.parameters->encryption = EncryptionType::extended; }, true},
    {"CryptoParameters.multiplication",
     [](CryptoContext& c) { c.parameters->multiplication = MultiplicationType::behz; }, true},
    {"CryptoParameters.digits", [](CryptoContext& c) { ++c.parameters->digits; }, true},
    {"CryptoParameters.auxiliary_bits", [](CryptoContext& c) { --c.parameters->auxiliary_bits; }, true},
    {"CryptoParameters.extra_bits", [](CryptoContext& c) { ++c.parameters->extra_bits; }, true},
    {"CryptoParameters.compression_level", [](CryptoContext& c) { ++c.parameters->compression_level; },
     false},
    {"CryptoParameters.composite_degree", [](CryptoContext& c) { ++c.parameters->composite_degree; }, true},
    {"CryptoParameters.register_bits", [](CryptoContext& c) { c.parameters->register_bits = 32; }, false},
    {"CryptoParameters.data_type",
     [](CryptoContext& c) { c.parameters->data_type = 1 - c.parameters->data_type; }, true},
};

TEST(OpenFheContexts, EveryFieldHasAnEntry) {
  std::map<std::string, std::set<std::string>> fields;
  for (const ContextChange& change : context_changes) {
    const std::string name = change.name;
    fields[name.substr(0, name.find('.'))].insert(name);
  }
  EXPECT_EQ(fields["CryptoContext"].size(), tests::member_count<CryptoContext>());
  EXPECT_EQ(fields["SchemeObject"].size(), tests::member_count<SchemeObject>());
  EXPECT_EQ(fields["DcrtParameters"].size(), tests::member_count<DcrtParameters>());
  EXPECT_EQ(fields["NativeParameters"].size(), tests::member_count<NativeParameters>());
  EXPECT_EQ(fields["EncodingParameters"].size(), tests::member_count<EncodingParameters>());
  EXPECT_EQ(fields["CryptoParameters"].size(), tests::member_count<CryptoParameters>());
}

TEST(OpenFheContexts, AreOneOrOthersByEachField) {
  const ContextPointer original = test::context_of("ckks-flexibleauto");
  for (const ContextChange& change : context_changes) {
    const ContextPointer other = test::copy_of(*original);
    change.apply(*other);
    EXPECT_EQ(is_same_context(*original, *other), !change.is_another) << change.name;
    EXPECT_EQ(is_same_context(*other, *original), !change.is_another) << change.name;
  }
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

// --- Two ciphertexts of a batch. ---

TEST(OpenFheBatches, OfCiphertextsThatDifferInAnyFieldAreRefused) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const Bytes first = test::get("ckks-flexibleauto", "ct_a.bin");
  using Change = std::pair<const char*, std::function<void(CiphertextObject&)>>;
  const std::vector<Change> changes = {
      {"header", [](CiphertextObject& c) { c.header.tag[0] = c.header.tag[0] == '0' ? '1' : '0'; }},
      {"slots", [](CiphertextObject& c) { c.slots /= 2; }},
      {"noise_scale_degree", [](CiphertextObject& c) { c.noise_scale_degree = 2; }},
      {"scaling_factor", [](CiphertextObject& c) { c.scaling_factor *= 1.5; }},
      {"scaling_factor_int", [](CiphertextObject& c) { c.scaling_factor_int = 7; }},
      {"encoding", [](CiphertextObject& c) { c.encoding = EncodingType::packed; }},
      {"components, their number", [](CiphertextObject& c) { c.components.push_back(c.components.front()); }},
      {"components, their form",
       [](CiphertextObject& c) {
         for (DcrtPolynomial& component : c.components) {
           component.form = PolynomialForm::coefficient;
           for (NativePolynomial& limb : component.limbs) limb.form = PolynomialForm::coefficient;
         }
       }},
      {"components, their limbs",
       [](CiphertextObject& c) {
         auto base = std::make_shared<DcrtParameters>(*c.components.front().parameters);
         base->primes.pop_back();
         for (DcrtPolynomial& component : c.components) {
           component.parameters = base;
           component.limbs.pop_back();
         }
         ++c.level;
       }},
  };
  // Limbs tell the level; hops are those of re-encryption, and metadata the user's own, which is refused.
  const std::set<std::string> ignored = {"level", "hop_level", "metadata"};
  std::set<std::string> fields = ignored;
  for (const auto& [name, apply] : changes) {
    const std::string field = name;
    fields.insert(field.substr(0, field.find(',')));
  }
  EXPECT_EQ(fields.size(), tests::member_count<CiphertextObject>());
  for (const auto& [name, apply] : changes) {
    auto object = read_file<CiphertextPointer>(first);
    apply(*object);
    const Bytes second = write_file(object, Format::binary);
    // Either way round: the first one fixes the shape.
    for (const auto& sources : {std::vector<Source>{first, second}, {second, first}}) {
      EXPECT_THROW(static_cast<void>(session.load_ciphertexts(sources)), Error) << name;
    }
  }
  EXPECT_EQ(session.load_ciphertexts(std::vector<Source>{first, first}).meta.batch, rlwe::BatchShape{2});
  auto object = read_file<CiphertextPointer>(first);
  object->level += 1;
  object->hop_level += 1;
  const auto batch = session.load_ciphertexts(std::vector<Source>{first, write_file(object, Format::binary)});
  for (const std::size_t index : {0U, 1U}) {
    EXPECT_EQ(session.dump_ciphertext(rlwe::take(batch, index)), first);
  }
}

TEST(OpenFheBatches, KeepTheFactorsOfCiphertextsInMemory) {
  const ContextPointer context = test::context_of("bgv");
  const auto object = read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"));
  const Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  CiphertextView view = view_of(*object);
  const std::uint64_t t = context->parameters->encoding->plain_modulus;
  view.scaling_factor_int = t - 2;
  EXPECT_EQ(session.metadata(session.import_ciphertext(view)).scaling_factor_int, t - 2);
  for (const std::uint64_t factor : {std::uint64_t{0}, t, t + 1}) {
    view.scaling_factor_int = factor;
    EXPECT_THROW(static_cast<void>(session.import_ciphertext(view)), FormatError) << factor;
  }
}

// --- Results. ---

// Level and degree fix the factor: what alignment rounds is OpenFHE's exactly.
TEST(OpenFheResults, HaveTheFactorOfTheirLevelToTheBit) {
  Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  const Bytes relinearization = test::get("ckks-flexibleauto", "eval_mult_key.bin");
  session.load_keys({.relinearization = Source(relinearization)});
  const auto evaluator = session.evaluator();
  const rlwe::Ciphertext a = session.load_ciphertext(test::get("ckks-flexibleauto", "ct_a.bin"));
  const rlwe::Ciphertext b = session.load_ciphertext(test::get("ckks-flexibleauto", "ct_b.bin"));
  const auto stated = read_file<CiphertextPointer>(test::get("ckks-flexibleauto", "mul_aba.bin"));
  const rlwe::Ciphertext product = evaluator->multiply(evaluator->multiply(a, b), a);
  const Metadata metadata = session.metadata(product);
  EXPECT_EQ(metadata.scaling_factor, stated->scaling_factor);
  EXPECT_EQ(metadata.level, stated->level);
  // One that is aligned for a sum: the top level's, two levels lower.
  const rlwe::Ciphertext sum = evaluator->add(evaluator->rescale(product), a);
  const auto& scales = session.params().rescaling().scales;
  EXPECT_EQ(session.metadata(sum).scaling_factor, scales[sum.meta.level].scale);
  // A factor of its own is not rounded to that.
  rlwe::Ciphertext other = a.clone();
  other.meta.scale *= 1 + 1e-4;
  EXPECT_EQ(session.metadata(other).scaling_factor, other.meta.scale);
}

// --- Keys. ---

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
  using rlwe::KeyRole;
  for (const KeyRole& role :
       {KeyRole{.power = 2}, KeyRole{.galois_element = 5, .from = 1}, KeyRole{.galois_element = 5, .to = 1},
        KeyRole{.from = 1, .to = 1}, KeyRole{.from = 2}, KeyRole{.to = 2}, KeyRole{.power = 2, .from = 1}}) {
    EXPECT_FALSE(index_of(role, degree)) << role.power << " " << role.from << " " << role.to;
  }
  auto file = read_file<AutomorphismKeys>(test::get("ckks-flexibleauto", "eval_automorphism_keys.bin"));
  file.entries[0].keys->list[0].index = 8193;
  const Bytes written = write_file(file, Format::binary);
  Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  EXPECT_THROW(session.load_keys({.galois = Source(written)}), FormatError);
}

TEST(OpenFheKeys, OfSeveralLoadsAreAllThere) {
  const Bytes relinearization = test::get("ckks-flexibleauto", "eval_mult_key.bin");
  const Bytes galois = test::get("ckks-flexibleauto", "eval_automorphism_keys.bin");
  const rlwe::KeyRole power = rlwe::KeyRole::relinearization(), turn = rlwe::KeyRole::galois(5);
  for (const bool is_galois_first : {false, true}) {
    Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
    session.load_keys(is_galois_first ? KeySources{.galois = Source(galois)}
                                      : KeySources{.relinearization = Source(relinearization)});
    EXPECT_EQ(session.keys().has(turn), is_galois_first);
    session.load_keys(is_galois_first ? KeySources{.relinearization = Source(relinearization)}
                                      : KeySources{.galois = Source(galois)});
    EXPECT_TRUE(session.keys().has(power) && session.keys().has(turn));
    const std::size_t count = session.keys().switching.size();
    // A failure leaves them.
    EXPECT_THROW(session.load_keys({.relinearization = Source(galois)}), FormatError);
    EXPECT_TRUE(session.keys().has(power) && session.keys().has(turn));
    // A third call with a key that is there already.
    session.load_keys({.galois = Source(galois)});
    EXPECT_EQ(session.keys().switching.size(), count);
  }
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

// --- Special primes. ---

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

// The scales of a context of depth 1 with FLEXIBLEAUTOEXT, whose one rescale is the first: OpenFHE takes the
// scaling modulus for the level below.
TEST(OpenFheScales, OfTwoModuliWithAnExtraOne) {
  const ContextPointer context = test::copy_of(*test::context_of("ckks-flexibleauto"));
  context->parameters->scaling = Scaling::flexible_auto_ext;
  context->parameters->elements->primes.resize(2);
  const double bits = static_cast<double>(context->parameters->encoding->plain_modulus);
  const auto top = static_cast<double>(context->parameters->elements->primes[1]->modulus);
  const rlwe::Parameters parameters = parameters_of(*context);
  const auto& scales = parameters.rescaling().scales;
  ASSERT_EQ(scales.size(), 2U);
  EXPECT_EQ(scales[1].scale, top);
  EXPECT_EQ(scales[0].scale, std::exp2(bits));
  EXPECT_EQ(scales[1].product_scale, top * std::exp2(bits));
  context->parameters->elements->primes.resize(1);
  EXPECT_THROW(static_cast<void>(parameters_of(*context)), FormatError);
}

// --- Rotations. ---

// OpenFHE's automorphism: 5^k, from N/2 steps on -(5^k); powers of 5 below by repeated products.
TEST(OpenFheRotations, AreOpenFhesAutomorphisms) {
  const auto index_by_formula = [](std::int64_t steps, std::uint64_t order) {
    std::uint64_t inverse = 1;
    while (inverse * 5 % order != 1) inverse += 2;
    const std::uint64_t generator = steps < 0 ? inverse : 5;
    const auto count = static_cast<std::uint64_t>(std::abs(steps));
    std::uint64_t index = count < order / 4 ? 1 : order - 1;
    for (std::uint64_t i = count < order / 4 ? 0 : order / 4; i < count; ++i)
      index = index * generator % order;
    return index;
  };
  for (const char* const folder : {"bfv", "bgv", "ckks-flexibleauto"}) {
    const Session session(test::get(folder, "cryptocontext.bin"), tests::device());
    const bool is_ckks = session.params().scheme() == rlwe::Scheme::ckks;
    const auto degree = static_cast<std::int64_t>(session.context()->degree());
    const auto order = static_cast<std::uint64_t>(2 * degree);
    for (const std::int64_t steps :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, degree / 2 - 1, degree / 2, degree / 2 + 1,
          -degree / 2, 1 - degree / 2, -degree / 2 - 7, degree, degree + 3, -degree, 2 * degree - 1,
          1 - 2 * degree, 3 * degree}) {
      std::uint64_t wanted = index_by_formula(steps, order);
      if (is_ckks) {
        wanted = session.params().galois_element(steps);
        if (steps == 2 * degree - 1) wanted = order - 1;
      }
      EXPECT_EQ(session.context()->galois_element(steps), wanted) << folder << " " << steps;
      EXPECT_EQ(session.context()->is_long_rotation(steps), wanted != session.params().galois_element(steps))
          << folder << " " << steps;
    }
  }
}

TEST(OpenFheRotations, ByHalfTheRingAndMoreExchangeTheRows) {
  Session session(test::get("bfv", "cryptocontext.bin"), tests::device());
  const rlwe::SecretKey secret = session.load_secret_key(test::get("bfv", "secret_key.bin"));
  const rlwe::Ciphertext x = session.load_ciphertext(test::get("bfv", "ct_a.bin"));
  const integer::Encoder encoder(session.context());
  const auto degree = static_cast<std::int64_t>(session.context()->degree());
  const std::int64_t half = degree / 2;
  std::vector<std::int64_t> values(static_cast<std::size_t>(degree));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  const rlwe::Ciphertext own = any_scheme::encrypt(encoder.encode(values, {}), secret);
  const auto expect_turned = [&](const rlwe::Ciphertext& y, std::int64_t steps, bool exchanged) {
    const auto found = encoder.decode(any_scheme::decrypt(y, secret), false);
    for (std::int64_t i = 0; i < degree; ++i) {
      const std::int64_t row = (i / half + (exchanged ? 1 : 0)) % 2;
      const std::int64_t column = ((i % half + steps) % half + half) % half;
      ASSERT_EQ(found[static_cast<std::size_t>(i)], row * half + column) << steps << " " << i;
    }
  };
  const auto evaluator_of = [&](std::vector<std::int64_t> rotations) {
    return any_scheme::make_evaluator(session.context(),
                                      rlwe::generate_keys(secret, {.rotations = std::move(rotations)}));
  };
  const std::vector<std::int64_t> steps = {half + 1, -half - 3, degree + 2, half};
  const auto all = evaluator_of(steps);
  const auto many = all->rotate_hoisted(own, steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(all->rotation_plan(steps[i], own), std::vector<std::int64_t>{steps[i]});
    expect_turned(all->rotate(own, steps[i]), steps[i], true);
    expect_turned(many[i], steps[i], true);
  }
  // Without a key of its own: within the rows, and the exchange of N/2 steps.
  const auto parts = evaluator_of({1, half});
  expect_turned(parts->rotate(own, half + 1), 1, true);
  expect_turned(parts->rotate(own, degree), 0, true);
  expect_turned(parts->rotate(own, 1), 1, false);
  // The key of the same steps within the rows is none for it.
  EXPECT_THROW(static_cast<void>(evaluator_of({1})->rotate(own, half + 1)), MissingKeyError);
  EXPECT_THROW(static_cast<void>(evaluator_of({half + 1})->rotate(own, 1)), MissingKeyError);
  EXPECT_THROW(static_cast<void>(evaluator_of({1})->rotate(own, half)), MissingKeyError);
  static_cast<void>(x);
}

// --- What a file is, said where it is not what was asked for. ---

template <typename Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

TEST(OpenFheFiles, OfAnotherKindSayTheirs) {
  Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  const Bytes key = test::get("bgv", "secret_key.bin"), ciphertext = test::get("bgv", "ct_a.bin"),
              powers = test::get("bgv", "eval_mult_key.bin");
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(refusal([&] { static_cast<void>(session.load_ciphertext(key)); }),
                  "a secret key, not a ciphertext"));
  EXPECT_TRUE(has(refusal([&] { static_cast<void>(session.load_secret_key(ciphertext)); }),
                  "a ciphertext, not a secret key"));
  EXPECT_TRUE(has(refusal([&] { session.load_keys({.galois = Source(powers)}); }),
                  "relinearization keys, not Galois keys"));
  EXPECT_TRUE(has(refusal([&] { session.load_keys({.public_key = Source(powers)}); }),
                  "relinearization keys, not a public key"));
  // Damage is no kind; what is older than what is read may look like it.
  const std::string cut =
      refusal([&] { static_cast<void>(session.load_ciphertext(std::span(ciphertext).first(900))); });
  EXPECT_TRUE(has(cut, "no room for") && has(cut, "1.4 to 1.6")) << cut;
  Bytes flagged = ciphertext;
  flagged[0] = std::byte{0};
  EXPECT_TRUE(has(refusal([&] { static_cast<void>(session.load_ciphertext(flagged)); }), "big-endian"));
}

TEST(OpenFheFiles, TellTagsThatAreNoText) {
  auto object = read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"));
  object->header.tag = "a\xff\n";
  const auto found = describe(write_file(object, Format::binary));
  ASSERT_TRUE(found);
  const auto tag = std::find_if(found->fields.begin(), found->fields.end(),
                                [](const auto& field) { return field.first == "key tag"; });
  ASSERT_NE(tag, found->fields.end());
  EXPECT_EQ(tag->second, "a\\xff\\x0a");
}

}  // namespace
}  // namespace hemera::interop::openfhe
