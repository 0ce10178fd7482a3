// Two contexts that differ in one field.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hemera::interop::openfhe
