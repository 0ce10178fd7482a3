// Two contexts that differ in one field.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
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

}  // namespace
}  // namespace hemera::interop::openfhe
