// Metadata that differs in one field: what OpenFHE's files, and its objects in memory, have of it.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/vectors.hpp"
#include "member_count.hpp"
#include "rlwe/metadata_fields.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using rlwe::Ciphertext;

class OpenFheMetadata : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Contexts, OpenFheMetadata, testing::Values("bfv", "bgv", "ckks-flexibleauto"),
                         test::name_of);

TEST_P(OpenFheMetadata, FilesHaveWhatOpenFheHas) {
  const Session session(test::get(GetParam(), "cryptocontext.bin"), tests::device());
  const Bytes file = test::get(GetParam(), "ct_a.bin");
  const Ciphertext a = session.load_ciphertext(file);
  const bool ckks = session.params().scheme() == rlwe::Scheme::ckks;
  const bool bgv = session.params().scheme() == rlwe::Scheme::bgv;
  // The fields of the file's object that each of Hemera's changes.
  const std::map<std::string, std::vector<std::string>> table = {
      {"batch", {}},
      {"level", {"level", "limbs"}},
      {"scale", ckks ? std::vector<std::string>{"scaling_factor"} : std::vector<std::string>{}},
      {"noise_scale_degree", {"noise_scale_degree"}},
      {"correction", bgv ? std::vector<std::string>{"scaling_factor_int"} : std::vector<std::string>{}},
      {"slots", ckks ? std::vector<std::string>{"slots"} : std::vector<std::string>{}},
      {"encoding", ckks ? std::vector<std::string>{} : std::vector<std::string>{"encoding"}},
      {"noise_log2", {}},
      {"largest", {}},
      {"filled", {}},
      {"padding", {}},
      {"is_complex", {}},
      {"spent", {}},
  };
  ASSERT_EQ(table.size(), tests::member_count<rlwe::Metadata>());
  const auto before = read_file<CiphertextPointer>(file);
  for (const rlwe::MetadataField& field : rlwe::metadata_fields()) {
    SCOPED_TRACE(field.name);
    Ciphertext b = a.clone();
    if (field.name == "batch") {
      b = rlwe::stack({&a, &a});
      EXPECT_THROW(static_cast<void>(session.dump_ciphertext(b)), MismatchError);
      for (const Bytes& each : session.dump_ciphertexts(b)) EXPECT_EQ(each, file);
      continue;
    }
    if (field.name == "level") {
      const std::size_t level = a.meta.level - 1;
      rlwe::Metadata meta = a.meta;
      meta.level = level;
      b = rlwe::make_ciphertext(session.context(), meta, 2);
      session.context()->backend().fill_zero(session.context()->queue(), b.poly.view());
    } else if (field.name == "slots" && ckks) {
      b.meta.slots /= 2;
    } else {
      field.change(b.meta);
    }
    if (field.name == "scale" && !ckks) b.meta.scale = 1;
    if (field.name == "correction" && !bgv) b.meta.correction = 1;
    for (const Format format : {Format::binary, Format::json}) {
      const auto after = read_file<CiphertextPointer>(session.dump_ciphertext(b, format));
      std::vector<std::string> changed;
      const auto compare = [&](const char* name, const auto& x, const auto& y) {
        if (x != y) changed.emplace_back(name);
      };
      compare("header", after->header.tag, before->header.tag);
      compare("slots", after->slots, before->slots);
      compare("level", after->level, before->level);
      compare("limbs", after->components[0].limbs.size(), before->components[0].limbs.size());
      compare("hop_level", after->hop_level, before->hop_level);
      compare("noise_scale_degree", after->noise_scale_degree, before->noise_scale_degree);
      compare("scaling_factor", after->scaling_factor, before->scaling_factor);
      compare("scaling_factor_int", after->scaling_factor_int, before->scaling_factor_int);
      compare("encoding", after->encoding, before->encoding);
      EXPECT_EQ(changed, table.at(field.name));
      const Ciphertext again = session.load_ciphertext(session.dump_ciphertext(b, format));
      EXPECT_EQ(again.meta.level, b.meta.level);
      EXPECT_EQ(again.meta.noise_scale_degree, b.meta.noise_scale_degree);
      EXPECT_EQ(again.meta.scale, b.meta.scale);
      EXPECT_EQ(again.meta.correction, b.meta.correction);
      EXPECT_EQ(ckks ? again.meta.slots : 0, ckks ? b.meta.slots : 0);
      EXPECT_EQ(again.meta.encoding, ckks ? a.meta.encoding : b.meta.encoding);
    }
    // In memory: the same fields.
    const Metadata told = session.metadata(b);
    const auto object = read_file<CiphertextPointer>(session.dump_ciphertext(b));
    EXPECT_EQ(told.level, object->level);
    EXPECT_EQ(told.noise_scale_degree, static_cast<int>(object->noise_scale_degree));
    EXPECT_EQ(told.scaling_factor, object->scaling_factor);
    EXPECT_EQ(told.scaling_factor_int, object->scaling_factor_int);
    EXPECT_EQ(told.slots, object->slots);
    const Ciphertext taken = session.import_ciphertext(view_of(*object));
    EXPECT_EQ(session.dump_ciphertext(taken), session.dump_ciphertext(b));
  }
}

// BGV's factors go with every degree, 1 and 0 among them.
TEST(OpenFheMetadata, IntegerFactorsGoWithEveryDegree) {
  const Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  for (const std::uint32_t degree : {0U, 1U, 2U, 3U}) {
    auto object = read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"));
    object->noise_scale_degree = degree;
    object->scaling_factor_int = 12345;
    const Ciphertext x = session.load_ciphertext(write_file(object, Format::binary));
    EXPECT_EQ(x.meta.correction, 12345U) << degree;
    EXPECT_EQ(x.meta.noise_scale_degree, static_cast<int>(degree));
    EXPECT_EQ(session.metadata(x).scaling_factor_int, 12345U) << degree;
  }
}

// OpenFHE counts levels from the top by the dropped moduli, however many the plaintext modulus needs.
TEST(OpenFheMetadata, LevelsCountDroppedModuliWhereSeveralAreNeeded) {
  const ContextPointer context = test::context_of("bfv");
  context->parameters->encoding->plain_modulus = (std::uint64_t{1} << 59) + 1;
  test::set_primes(*context,
                   test::primes_of_bits({50, 50, 50, 50, 50}, 2 * context->parameters->elements->degree));
  auto file = context;
  const Session session(write_file(file, Format::binary), "tag", {}, tests::device());
  ASSERT_EQ(session.params().literal().levels.front().size(), 2U);
  ASSERT_EQ(session.context()->top_level(), 3U);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(session.context());
  for (std::size_t level = 0; level <= 3; ++level) {
    const Ciphertext x = rlwe::encrypt_zero(
        secret,
        {.level = level, .slots = session.context()->degree(), .encoding = rlwe::Encoding::coefficients});
    EXPECT_EQ(session.metadata(x).level, 3 - level);
    EXPECT_EQ(session.metadata(x).limbs, 2 + level);
    const auto object = read_file<CiphertextPointer>(session.dump_ciphertext(x));
    EXPECT_EQ(object->level, 3 - level);
    EXPECT_EQ(session.load_ciphertext(session.dump_ciphertext(x)).meta.level, level);
  }
}

// EvalMultNoRelin of BFV leaves coefficients, that of the others the evaluations.
TEST_P(OpenFheMetadata, ProductsOfThreeComponentsHaveOpenFhesForm) {
  const Session session(test::get(GetParam(), "cryptocontext.bin"), tests::device());
  const bool bfv = session.params().scheme() == rlwe::Scheme::bfv;
  const Ciphertext a = session.load_ciphertext(test::get(GetParam(), "ct_a.bin"));
  const auto lazy =
      any_scheme::make_evaluator(session.context(), session.keys(), rlwe::Relinearization::lazy);
  const Ciphertext product = lazy->multiply(a, session.load_ciphertext(test::get(GetParam(), "ct_b.bin")));
  ASSERT_EQ(product.size(), 3U);
  EXPECT_EQ(session.metadata(a).is_evaluation, true);
  EXPECT_EQ(session.metadata(product).is_evaluation, !bfv);
  const auto object = read_file<CiphertextPointer>(session.dump_ciphertext(product));
  std::vector<std::vector<std::uint64_t>> words(3 * object->components[0].limbs.size(),
                                                std::vector<std::uint64_t>(session.context()->degree()));
  session.export_ciphertext(product, std::vector<std::span<std::uint64_t>>(words.begin(), words.end()));
  std::size_t next = 0;
  for (const DcrtPolynomial& component : object->components) {
    EXPECT_EQ(component.form, bfv ? PolynomialForm::coefficient : PolynomialForm::evaluation);
    for (const NativePolynomial& limb : component.limbs) EXPECT_EQ(limb.words, words[next++]);
  }
  // In a file with another one beside it each element has its own rows.
  const Ciphertext square = lazy->multiply(a, a);
  const auto files = session.dump_ciphertexts(rlwe::stack({&square, &product}));
  EXPECT_EQ(files.at(0), session.dump_ciphertext(square));
  EXPECT_EQ(files.at(1), session.dump_ciphertext(product));
  EXPECT_NE(files[0], files[1]);
  // Spans are for one ciphertext.
  EXPECT_THROW(session.export_ciphertext(rlwe::stack({&square, &product}),
                                         std::vector<std::span<std::uint64_t>>(words.begin(), words.end())),
               MismatchError);
}

TEST(OpenFheMetadata, FactorsThatAreNoNumbersHaveNoJson) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), tests::device());
  Ciphertext x = session.load_ciphertext(test::get("ckks-flexibleauto", "ct_a.bin"));
  for (const double scale : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    x.meta.scale = scale;
    EXPECT_THROW(static_cast<void>(session.dump_ciphertext(x, Format::json)), MismatchError);
  }
}

TEST(OpenFheMetadata, EmptyObjectsAreRefused) {
  const Session session(test::get("ckks-flexibleauto", "cryptocontext.bin"), "tag", {}, tests::device());
  io::MemorySink sink;
  EXPECT_THROW(static_cast<void>(session.dump_ciphertext({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_ciphertexts({})), MismatchError);
  EXPECT_THROW(session.dump_ciphertext(sink, {}), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_keys({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session.dump_secret_key({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session.metadata({})), MismatchError);
  EXPECT_THROW(static_cast<void>(session.bootstrap({})), MismatchError);
  EXPECT_THROW(session.export_ciphertext({}, {}), MismatchError);
}

}  // namespace
}  // namespace hemera::interop::openfhe
