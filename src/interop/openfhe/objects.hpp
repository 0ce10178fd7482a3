// The contents of OpenFHE's files, field by field, as plain structs. Fields that have no meaning for Hemera
// are kept, so that contexts and headers are written as they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interop/openfhe/archive.hpp"

namespace hemera::interop::openfhe {

/// A prime with its 2N-th root of unity.
struct NativeParameters {
  std::uint32_t order = 0;   // 2N
  std::uint32_t degree = 0;  // N
  std::uint64_t modulus = 0;
  std::uint64_t root = 0;
  std::uint64_t big_modulus = 0;
  std::uint64_t big_root = 0;
};

struct BigInteger {
  std::vector<std::uint64_t> words = {0};  // least significant first
  std::uint32_t bits = 0;
};

/// An RNS base.
struct DcrtParameters {
  std::uint32_t order = 0;
  std::uint32_t degree = 0;
  BigInteger modulus, root, big_modulus, big_root;
  std::vector<std::shared_ptr<NativeParameters>> primes;
};

struct EncodingParameters {
  /// t; for CKKS the bits of the scaling modulus.
  std::uint64_t plain_modulus = 0;
  std::uint64_t root = 0, big_modulus = 0, big_root = 0;
  std::uint32_t generator = 0;
  std::uint32_t batch_size = 0;
};

/// Numbers of OpenFHE's enumerations.
enum class SchemeType : std::uint32_t { ckks = 1, bfv = 2, bgv = 3 };
enum class SecretType : std::int32_t { gaussian = 0, uniform = 1, sparse = 2, sparse_encapsulated = 3 };
enum class KeySwitching : std::int32_t { bv = 1, hybrid = 2 };
enum class Scaling : std::int32_t {
  fixed_manual = 0,
  fixed_auto = 1,
  flexible_auto = 2,
  flexible_auto_ext = 3,
  composite_auto = 4,
  composite_manual = 5,
  no_rescale = 6,
};
enum class EncryptionType : std::int32_t { standard = 0, extended = 1 };
enum class MultiplicationType : std::int32_t { behz = 0, hps = 1, hps_over_q = 2, hps_over_q_leveled = 3 };
enum class PolynomialForm : std::int32_t { evaluation = 0, coefficient = 1 };
enum class EncodingType : std::int32_t { coefficients = 1, packed = 2, ckks_packed = 4 };
/// CKKS values: real numbers, or complex ones.
inline constexpr std::int32_t complex_data = 1;
namespace feature {
inline constexpr std::uint32_t scheme_switching = 128;
}  // namespace feature

struct CryptoParameters {
  /// CKKS, BFV, BGV: SchemeType less 1.
  std::size_t type = 0;
  std::shared_ptr<DcrtParameters> elements;
  std::shared_ptr<EncodingParameters> encoding;
  float deviation = 0;
  float assurance = 0;
  std::uint64_t noise_scale = 1;
  std::uint32_t digit_size = 0;
  double noise_estimate = 0;
  std::uint32_t depth = 0;
  std::uint32_t additions = 0;
  std::uint32_t key_switches = 0;
  std::uint32_t hops = 0;
  std::uint32_t most_relinearized = 2;
  SecretType secret = SecretType::uniform;
  std::int32_t reencryption_mode = 0;
  std::int32_t multiparty_mode = 0;
  std::int32_t execution_mode = 0;
  std::int32_t decryption_noise_mode = 0;
  std::int32_t security = 0;
  double flooding_deviation = 0;
  double statistical_security = 0;
  double adversarial_queries = 0;
  std::uint32_t parties = 1;
  KeySwitching key_switching = KeySwitching::hybrid;
  Scaling scaling = Scaling::flexible_auto;
  EncryptionType encryption = EncryptionType::standard;
  MultiplicationType multiplication = MultiplicationType::hps;
  std::uint32_t digits = 0;
  std::uint32_t auxiliary_bits = 60;
  std::uint32_t extra_bits = 0;
  std::int32_t compression_level = 0;
  std::uint32_t composite_degree = 1;
  std::uint32_t register_bits = 64;
  std::int32_t data_type = 0;
};

/// How bootstrapping was set up for a number of slots.
struct BootstrapSettings {
  std::uint32_t baby_steps_encode = 0, baby_steps_decode = 0;
  std::uint32_t slots = 0;
  std::uint32_t budget_encode = 0, budget_decode = 0;
  /// SlotToCoeff first. 1.4, which always has it last, writes none.
  std::optional<bool> encodes_slots;
};

struct FheObject {
  std::size_t type = 0;
  struct Entry {
    std::uint32_t slots = 0;
    std::shared_ptr<BootstrapSettings> settings;
  };
  std::vector<Entry> settings;
  std::uint32_t correction_factor = 0;
};

/// Schemes to switch between are refused: there is nothing in it.
struct SchemeSwitching {
  std::size_t type = 0;
};

struct SchemeObject {
  std::size_t type = 0;
  std::shared_ptr<FheObject> fhe;
  std::shared_ptr<SchemeSwitching> switching;
  std::uint32_t features = 0;
};

struct CryptoContext {
  std::shared_ptr<CryptoParameters> parameters;
  std::shared_ptr<SchemeObject> scheme;
  SchemeType scheme_type = SchemeType::ckks;
};

struct NativePolynomial {
  std::vector<std::uint64_t> words;
  /// Not 0: the number of words that a file has place for instead.
  std::size_t later = 0;
  std::uint64_t modulus = 0;
  PolynomialForm form = PolynomialForm::evaluation;
  std::shared_ptr<NativeParameters> parameters;
};

struct DcrtPolynomial {
  std::vector<NativePolynomial> limbs;
  PolynomialForm form = PolynomialForm::evaluation;
  std::shared_ptr<DcrtParameters> parameters;
};

/// The beginning of keys and ciphertexts.
struct CryptoObject {
  std::shared_ptr<CryptoContext> context;
  std::string tag;
};

struct CiphertextObject {
  CryptoObject header;
  std::vector<DcrtPolynomial> components;
  std::uint32_t slots = 0;
  std::uint32_t level = 0;
  std::uint32_t hop_level = 0;
  std::uint32_t noise_scale_degree = 1;
  double scaling_factor = 1;
  std::uint64_t scaling_factor_int = 1;
  EncodingType encoding = EncodingType::packed;
  struct Metadata {};
  std::shared_ptr<Metadata> metadata;
};

struct PublicKeyObject {
  CryptoObject header;
  std::vector<DcrtPolynomial> polynomials;  // b, a
};

struct PrivateKeyObject {
  CryptoObject header;
  DcrtPolynomial polynomial;

  PrivateKeyObject() = default;
  PrivateKeyObject(PrivateKeyObject&&) = default;
  PrivateKeyObject& operator=(PrivateKeyObject&&) = default;
  PrivateKeyObject(const PrivateKeyObject&) = delete;
  PrivateKeyObject& operator=(const PrivateKeyObject&) = delete;
  /// Zeroes the words.
  ~PrivateKeyObject();
};

/// One polynomial a digit in each half.
struct EvaluationKeyObject {
  std::size_t type = 0;
  CryptoObject header;
  std::vector<DcrtPolynomial> a, b;
};

/// The keys that switch s^2, s^3, ..., by key tag.
struct MultiplicationKeys {
  struct Entry {
    std::string tag;
    std::vector<std::shared_ptr<EvaluationKeyObject>> keys;
  };
  std::vector<Entry> entries;
};

/// Keys by key tag and automorphism index.
struct AutomorphismKeys {
  struct Key {
    std::uint32_t index = 0;
    std::shared_ptr<EvaluationKeyObject> key;
  };
  struct Keys {
    std::vector<Key> list;
  };
  struct Entry {
    std::string tag;
    std::shared_ptr<Keys> keys;
  };
  std::vector<Entry> entries;
};

void visit(Archive& archive, NativeParameters& object);
void visit(Archive& archive, DcrtParameters& object);
void visit(Archive& archive, EncodingParameters& object);
void visit(Archive& archive, CryptoParameters& object);
void visit(Archive& archive, BootstrapSettings& object);
void visit(Archive& archive, FheObject& object);
void visit(Archive& archive, SchemeSwitching& object);
void visit(Archive& archive, SchemeObject& object);
void visit(Archive& archive, CryptoContext& object);
void visit(Archive& archive, CiphertextObject& object);
void visit(Archive& archive, PublicKeyObject& object);
void visit(Archive& archive, PrivateKeyObject& object);
void visit(Archive& archive, EvaluationKeyObject& object);

/// Whole files: one object, or a map. Readers check what the classes promise each other: residues below their
/// moduli, as many as the degree, limbs over the primes of their base, keys of a map once each.
void visit_file(Archive& archive, std::shared_ptr<CryptoContext>& object);
void visit_file(Archive& archive, std::shared_ptr<CiphertextObject>& object);
void visit_file(Archive& archive, std::shared_ptr<PublicKeyObject>& object);
void visit_file(Archive& archive, std::shared_ptr<PrivateKeyObject>& object);
void visit_file(Archive& archive, MultiplicationKeys& object);
void visit_file(Archive& archive, AutomorphismKeys& object);

}  // namespace hemera::interop::openfhe
