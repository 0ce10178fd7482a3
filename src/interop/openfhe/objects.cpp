#include "interop/openfhe/objects.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <type_traits>

#include "hemera/poly/ring.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::interop::openfhe {
namespace {

constexpr std::array<std::string_view, 3> parameter_types = {"lbcrypto::CryptoParametersCKKSRNS",
                                                             "lbcrypto::CryptoParametersBFVRNS",
                                                             "lbcrypto::CryptoParametersBGVRNS"};
constexpr std::array<std::string_view, 3> scheme_types = {"lbcrypto::SchemeCKKSRNS", "lbcrypto::SchemeBFVRNS",
                                                          "lbcrypto::SchemeBGVRNS"};
constexpr std::array<std::string_view, 1> fhe_types = {"lbcrypto::FHECKKSRNS"};
constexpr std::array<std::string_view, 1> switching_types = {"lbcrypto::SWITCHCKKSRNS"};
constexpr std::array<std::string_view, 1> key_types = {"lbcrypto::EvalKeyRelinImpl<lbcrypto::DCRTPoly>"};

// Least bytes of elements in the binary encoding.
constexpr std::size_t pointer_bytes = 8;
constexpr std::size_t null_bytes = 4;
constexpr std::size_t native_polynomial_bytes = 4 + 1 + 8 + 8 + 4 + pointer_bytes;
constexpr std::size_t dcrt_polynomial_bytes = 8 + 4 + pointer_bytes;
constexpr std::size_t map_entry_bytes = 8 + 8;

// Far more than any parameters have.
constexpr std::size_t most_primes = 1024;
constexpr std::size_t most_settings = 64;

template <typename Enum>
void enumeration(Archive& archive, const char* name, Enum& value) {
  auto number = static_cast<std::underlying_type_t<Enum>>(value);
  archive.value(name, number);
  value = static_cast<Enum>(number);
}

void native_integer(Archive& archive, const char* name, std::uint64_t& value) {
  archive.begin(name);
  archive.version(Class::native_integer);
  archive.value("v", value);
  archive.end();
}

void big_integer(Archive& archive, const char* name, BigInteger& value) {
  archive.begin(name);
  archive.version(Class::big_integer);
  archive.words("v", value.words);
  archive.value("m", value.bits);
  archive.end();
}

void native_polynomial(Archive& archive, NativePolynomial& object) {
  archive.begin(nullptr);
  archive.version(Class::native_polynomial);
  archive.unique_pointer("v", [&] {
    archive.version(Class::native_vector);
    if (object.later != 0) {
      archive.words_later("v", object.later);
    } else {
      archive.words("v", object.words);
    }
    native_integer(archive, "m", object.modulus);
  });
  enumeration(archive, "f", object.form);
  archive.pointer("p", object.parameters);
  archive.end();
  if (!archive.is_reading()) return;
  if (object.parameters == nullptr || object.parameters->modulus != object.modulus) {
    archive.fail("a polynomial whose modulus is not that of its parameters");
  }
  if (object.words.size() != object.parameters->degree) {
    archive.fail("a polynomial of " + std::to_string(object.words.size()) + " residues of the degree " +
                 std::to_string(object.parameters->degree));
  }
  std::uint64_t wrong = 0;  // without a branch
  for (const std::uint64_t word : object.words) wrong |= static_cast<std::uint64_t>(word >= object.modulus);
  if (wrong != 0) archive.fail("a residue that is not below its modulus " + std::to_string(object.modulus));
}

// The fields of a polynomial, inside of an object that holds it.
void dcrt_polynomial(Archive& archive, const char* name, DcrtPolynomial& object) {
  archive.begin(name);
  archive.version(Class::dcrt_polynomial);
  archive.list("v", object.limbs, native_polynomial_bytes,
               [&](NativePolynomial& limb) { native_polynomial(archive, limb); });
  enumeration(archive, "f", object.form);
  archive.pointer("p", object.parameters);
  archive.end();
  if (!archive.is_reading()) return;
  if (object.form != PolynomialForm::evaluation && object.form != PolynomialForm::coefficient) {
    archive.fail("a polynomial in neither evaluation nor coefficient form");
  }
  if (object.parameters == nullptr || object.limbs.empty() ||
      object.limbs.size() != object.parameters->primes.size()) {
    archive.fail("a polynomial whose limbs are not those of its parameters");
  }
  for (std::size_t i = 0; i < object.limbs.size(); ++i) {
    const NativePolynomial& limb = object.limbs[i];
    const NativeParameters& expected = *object.parameters->primes[i];
    if (limb.form != object.form || limb.modulus != expected.modulus ||
        limb.parameters->root != expected.root || limb.parameters->degree != object.parameters->degree) {
      archive.fail("a limb whose form, modulus or root is not that of its polynomial");
    }
  }
}

void polynomials(Archive& archive, const char* name, std::vector<DcrtPolynomial>& list) {
  archive.list(name, list, dcrt_polynomial_bytes,
               [&](DcrtPolynomial& polynomial) { dcrt_polynomial(archive, nullptr, polynomial); });
}

// The base class of keys and ciphertexts.
void crypto_object(Archive& archive, CryptoObject& object) {
  archive.begin("value0");
  archive.version(Class::crypto_object);
  archive.pointer("cc", object.context);
  archive.value("kt", object.tag);
  archive.end();
  if (archive.is_reading() && object.context == nullptr) archive.fail("an object without a crypto context");
}

void key(Archive& archive, CryptoObject& object) {
  archive.begin("value0");
  archive.version(Class::key);
  crypto_object(archive, object);
  archive.end();
}

}  // namespace

PrivateKeyObject::~PrivateKeyObject() {
  for (NativePolynomial& limb : polynomial.limbs) {
    runtime::secure_zero(limb.words.data(), limb.words.size() * sizeof(std::uint64_t));
  }
}

void visit(Archive& archive, NativeParameters& object) {
  archive.version(Class::native_parameters);
  archive.begin("value0");
  archive.version(Class::native_element_parameters);
  archive.value("co", object.order);
  archive.value("rd", object.degree);
  native_integer(archive, "cm", object.modulus);
  native_integer(archive, "ru", object.root);
  native_integer(archive, "bm", object.big_modulus);
  native_integer(archive, "br", object.big_root);
  archive.end();
  // Polynomials are then large, and their descriptions small compared with them.
  if (archive.is_reading() && (!std::has_single_bit(object.degree) || object.degree < poly::min_degree ||
                               object.degree > poly::max_degree || object.order != 2 * object.degree)) {
    archive.fail("a ring of degree " + std::to_string(object.degree) +
                 ", which is no power of two in [2^10, 2^17]");
  }
}

void visit(Archive& archive, DcrtParameters& object) {
  archive.version(Class::dcrt_parameters);
  archive.begin("value0");
  archive.version(Class::big_element_parameters);
  archive.value("co", object.order);
  archive.value("rd", object.degree);
  big_integer(archive, "cm", object.modulus);
  big_integer(archive, "ru", object.root);
  big_integer(archive, "bm", object.big_modulus);
  big_integer(archive, "br", object.big_root);
  archive.end();
  archive.list("p", object.primes, pointer_bytes, [&](std::shared_ptr<NativeParameters>& prime) {
    archive.pointer(nullptr, prime);
    if (prime == nullptr) archive.fail("parameters without one of their primes");
    if (object.primes.size() > most_primes) archive.fail("a base of too many primes");
  });
}

void visit(Archive& archive, EncodingParameters& object) {
  archive.version(Class::encoding_parameters);
  archive.value("m", object.plain_modulus);
  native_integer(archive, "ru", object.root);
  native_integer(archive, "bm", object.big_modulus);
  native_integer(archive, "bru", object.big_root);
  archive.value("g", object.generator);
  archive.value("bs", object.batch_size);
}

void visit(Archive& archive, CryptoParameters& object) {
  archive.version(for_scheme(Class::scheme_parameters, object.type));
  archive.begin("value0");
  archive.version(Class::rns_parameters);
  archive.begin("value0");
  archive.version(Class::rlwe_parameters);
  archive.begin("value0");
  archive.version(Class::base_parameters);
  archive.pointer("elp", object.elements);
  archive.pointer("enp", object.encoding);
  archive.end();
  archive.value("dp", object.deviation);
  archive.value("am", object.assurance);
  archive.value("ns", object.noise_scale);
  archive.value("rw", object.digit_size);
  archive.value("nest", object.noise_estimate);
  archive.value("muld", object.depth);
  archive.value("addc", object.additions);
  archive.value("kswc", object.key_switches);
  archive.value("phops", object.hops);
  archive.value("md", object.most_relinearized);
  enumeration(archive, "mo", object.secret);
  archive.value("pmo", object.reencryption_mode);
  archive.value("mmo", object.multiparty_mode);
  archive.value("exm", object.execution_mode);
  archive.value("dnm", object.decryption_noise_mode);
  archive.value("slv", object.security);
  archive.value("fdp", object.flooding_deviation);
  archive.value("ss", object.statistical_security);
  archive.value("aq", object.adversarial_queries);
  archive.value("tp", object.parties);
  archive.end();
  enumeration(archive, "ks", object.key_switching);
  enumeration(archive, "rs", object.scaling);
  enumeration(archive, "encs", object.encryption);
  enumeration(archive, "muls", object.multiplication);
  archive.value("dnum", object.digits);
  archive.value("ab", object.auxiliary_bits);
  archive.value("eb", object.extra_bits);
  archive.value("ccl", object.compression_level);
  archive.value("cd", object.composite_degree);
  archive.value("rws", object.register_bits);
  archive.value("cdt", object.data_type);
  archive.end();
}

void visit(Archive& archive, BootstrapSettings& object) {
  archive.value("dim1_Enc", object.baby_steps_encode);
  archive.value("dim1_Dec", object.baby_steps_decode);
  archive.value("slots", object.slots);
  archive.value("lEnc", object.budget_encode);
  archive.value("lDec", object.budget_decode);
  archive.value("BTSlotsEncoding", object.encodes_slots);
}

void visit(Archive& archive, FheObject& object) {
  // Two base classes without fields.
  archive.begin("value0");
  archive.begin("value0");
  archive.end();
  archive.end();
  archive.list("paramMap", object.settings, null_bytes + null_bytes, [&](FheObject::Entry& entry) {
    archive.begin(nullptr);
    archive.value("key", entry.slots);
    archive.pointer("value", entry.settings);
    archive.end();
    if (object.settings.size() > most_settings) archive.fail("bootstrapping for too many numbers of slots");
  });
  archive.value("corFactor", object.correction_factor);
}

void visit(Archive& archive, SchemeSwitching& /*object*/) {
  archive.refuse("a context for scheme switching, which Hemera does not have");
}

void visit(Archive& archive, SchemeObject& object) {
  archive.version(for_scheme(Class::scheme, object.type));
  archive.begin("value0");
  archive.version(Class::rns_scheme);
  archive.begin("value0");
  archive.version(Class::base_scheme);
  archive.pointer("fhe", object.fhe, fhe_types);
  archive.pointer("schswitch", object.switching, switching_types);
  archive.value("enabled", object.features);
  archive.end();
  archive.end();
}

void visit(Archive& archive, CryptoContext& object) {
  archive.version(Class::crypto_context);
  archive.pointer("cc", object.parameters, parameter_types);
  archive.pointer("kt", object.scheme, scheme_types);
  enumeration(archive, "si", object.scheme_type);
  if (!archive.is_reading()) return;
  if (object.parameters == nullptr || object.scheme == nullptr || object.parameters->elements == nullptr ||
      object.parameters->encoding == nullptr) {
    archive.fail("a crypto context without parameters or scheme");
  }
  if (object.scheme->type != object.parameters->type ||
      static_cast<std::size_t>(object.scheme_type) != object.parameters->type + 1) {
    archive.fail("a crypto context whose parameters and scheme are not of one scheme");
  }
}

void visit(Archive& archive, CiphertextObject& object) {
  archive.version(Class::ciphertext);
  crypto_object(archive, object.header);
  polynomials(archive, "v", object.components);
  archive.value("sl", object.slots);
  archive.value("l", object.level);
  archive.value("t", object.hop_level);
  archive.value("d", object.noise_scale_degree);
  archive.value("s", object.scaling_factor);
  native_integer(archive, "si", object.scaling_factor_int);
  enumeration(archive, "e", object.encoding);
  archive.plain_pointer("m", object.metadata, [&](CiphertextObject::Metadata&) {
    std::vector<char> none;
    archive.list("data", none, 1,
                 [&](char&) { archive.refuse("a ciphertext with metadata of the user's own"); });
  });
}

void visit(Archive& archive, PublicKeyObject& object) {
  archive.version(Class::public_key);
  key(archive, object.header);
  polynomials(archive, "h", object.polynomials);
}

void visit(Archive& archive, PrivateKeyObject& object) {
  archive.version(Class::private_key);
  key(archive, object.header);
  dcrt_polynomial(archive, "s", object.polynomial);
}

void visit(Archive& archive, EvaluationKeyObject& object) {
  archive.version(Class::relinearization_key);
  archive.begin("value0");
  archive.version(Class::evaluation_key);
  key(archive, object.header);
  archive.end();
  polynomials(archive, "ak", object.a);
  polynomials(archive, "bk", object.b);
}

namespace {

template <typename T>
void whole_object(Archive& archive, std::shared_ptr<T>& object) {
  archive.pointer("value0", object);
  if (object == nullptr) archive.fail("a file with nothing in it");
}

void evaluation_key(Archive& archive, const char* name, std::shared_ptr<EvaluationKeyObject>& key) {
  archive.pointer(name, key, key_types);
  if (key == nullptr) archive.fail("a map without one of its keys");
}

// std::map has every key once.
template <typename Entry, typename Key>
void require_distinct(Archive& archive, const std::vector<Entry>& entries, Key Entry::*key) {
  if (!archive.is_reading()) return;
  std::vector<Key> keys;
  for (const Entry& entry : entries) keys.push_back(entry.*key);
  std::sort(keys.begin(), keys.end());
  if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) {
    archive.fail("a map with two entries of one key");
  }
}

}  // namespace

void visit_file(Archive& archive, std::shared_ptr<CryptoContext>& object) { whole_object(archive, object); }
void visit_file(Archive& archive, std::shared_ptr<CiphertextObject>& object) {
  whole_object(archive, object);
}
void visit_file(Archive& archive, std::shared_ptr<PublicKeyObject>& object) { whole_object(archive, object); }
void visit_file(Archive& archive, std::shared_ptr<PrivateKeyObject>& object) {
  whole_object(archive, object);
}

void visit_file(Archive& archive, MultiplicationKeys& object) {
  archive.list("value0", object.entries, map_entry_bytes, [&](MultiplicationKeys::Entry& entry) {
    archive.begin(nullptr);
    archive.value("key", entry.tag);
    archive.list("value", entry.keys, pointer_bytes,
                 [&](std::shared_ptr<EvaluationKeyObject>& key) { evaluation_key(archive, nullptr, key); });
    archive.end();
  });
  require_distinct(archive, object.entries, &MultiplicationKeys::Entry::tag);
}

void visit_file(Archive& archive, AutomorphismKeys& object) {
  archive.list("value0", object.entries, 8 + 4, [&](AutomorphismKeys::Entry& entry) {
    archive.begin(nullptr);
    archive.value("key", entry.tag);
    archive.plain_pointer("value", entry.keys, [&](AutomorphismKeys::Keys& keys) {
      archive.list("data", keys.list, 4 + pointer_bytes, [&](AutomorphismKeys::Key& key) {
        archive.begin(nullptr);
        archive.value("key", key.index);
        evaluation_key(archive, "value", key.key);
        archive.end();
      });
      require_distinct(archive, keys.list, &AutomorphismKeys::Key::index);
    });
    archive.end();
    if (entry.keys == nullptr) archive.fail("a map without its keys");
  });
  require_distinct(archive, object.entries, &AutomorphismKeys::Entry::tag);
}

}  // namespace hemera::interop::openfhe
