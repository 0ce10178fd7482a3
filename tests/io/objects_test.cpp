#include "hemera/io/objects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "hemera/io/describe.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "io/allocation_guard.hpp"
#include "io/metadata.hpp"
#include "io/reseal.hpp"
#include "io/samples.hpp"
#include "refusals.hpp"
#include "rlwe/metadata_fields.hpp"
#include "test_device.hpp"

namespace hemera::io {
namespace {

using rlwe::Scheme;
using test::Samples;

class ObjectsTest : public testing::TestWithParam<test::FormatCase> {
 protected:
  void SetUp() override { samples_ = test::make_samples(GetParam(), 50); }

  Samples samples_;
};

INSTANTIATE_TEST_SUITE_P(Schemes, ObjectsTest, testing::ValuesIn(test::format_cases()),
                         [](const auto& tested) { return test::name(tested.param); });

void expect_equal(const rlwe::Metadata& a, const rlwe::Metadata& b) {
  EXPECT_EQ(rlwe::differing_fields(a, b), std::set<std::string>{});
}

void expect_equal(const poly::Poly& a, const rlwe::Context& of_a, const poly::Poly& b,
                  const rlwe::Context& of_b) {
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_EQ(a.form(), b.form());
  EXPECT_EQ(a.base().values(), b.base().values());
  EXPECT_EQ(test::words(of_a, a), test::words(of_b, b));
}

void expect_equal(const rlwe::SwitchingKey& a, const rlwe::SwitchingKey& b) {
  EXPECT_EQ(a.gadget->primes(), b.gadget->primes());
  expect_equal(a.poly, *a.context, b.poly, *b.context);
}

void expect_equal(const rlwe::Ciphertext& a, const rlwe::Ciphertext& b) {
  expect_equal(a.meta, b.meta);
  expect_equal(a.poly, *a.context, b.poly, *b.context);
}

TEST_P(ObjectsTest, EveryObjectRoundTripsIntoAnotherContextOfTheSameParameters) {
  const auto other = test::context_of(GetParam(), 50);
  const Samples& s = samples_;
  for (const bool seeded : {true, false}) {
    for (const bool packed : {true, false}) {
      for (const int level : {0, 3}) {
        const SaveOptions options{.compression_level = level, .packed = packed, .seeded = seeded};
        EXPECT_EQ(load_parameters(save(s.context->parameters(), options)), s.context->parameters());

        const auto plaintext = load_plaintext(other, save(s.plaintext, options));
        expect_equal(plaintext.meta, s.plaintext.meta);
        expect_equal(plaintext.poly, *other, s.plaintext.poly, *s.context);

        const auto ciphertext = load_ciphertext(other, save(s.ciphertext, options));
        expect_equal(ciphertext, s.ciphertext);
        EXPECT_EQ(ciphertext.context, other);
        EXPECT_FALSE(ciphertext.seed.has_value());
        const auto from_seed = load_ciphertext(other, save(s.seeded, options));
        expect_equal(from_seed, s.seeded);
        EXPECT_EQ(from_seed.seed.has_value(), seeded);

        const auto secret = load_secret_key(other, save(s.secret, options));
        expect_equal(secret.poly, *other, s.secret.poly, *s.context);
        EXPECT_EQ(secret.poly.secrecy(), runtime::Secrecy::secret);

        const auto public_key = load_public_key(other, save(s.public_key, options));
        expect_equal(public_key.poly, *other, s.public_key.poly, *s.context);
        EXPECT_EQ(public_key.seed.has_value(), seeded);
        expect_equal(load_switching_key(other, save(s.switching, options)), s.switching);

        const auto keys = load_evaluation_keys(other, save(s.keys, options));
        expect_equal(keys.public_key->poly, *other, s.keys.public_key->poly, *s.context);
        ASSERT_EQ(keys.switching.size(), s.keys.switching.size());
        for (const auto& [role, of_role] : s.keys.switching) {
          ASSERT_EQ(keys.switching.at(role).size(), of_role.size());
          for (const auto& [gadget, key] : of_role) expect_equal(*keys.switching.at(role).at(gadget), *key);
        }
      }
    }
  }
}

TEST_P(ObjectsTest, UnknownNoiseIsSaved) {
  rlwe::Ciphertext ciphertext = samples_.ciphertext.clone();
  ciphertext.meta.noise_log2 = rlwe::unknown_noise;
  const auto file = save(ciphertext);
  EXPECT_EQ(load_ciphertext(samples_.context, file).meta.noise_log2, rlwe::unknown_noise);
  EXPECT_EQ(read_header(file).version, GetParam().version);
}

TEST_P(ObjectsTest, ASetMayHoldAnyKeys) {
  rlwe::EvaluationKeys keys = samples_.keys;
  keys.public_key.reset();
  auto loaded = load_evaluation_keys(samples_.context, save(keys));
  EXPECT_EQ(loaded.public_key, nullptr);
  EXPECT_TRUE(loaded.has(rlwe::KeyRole::relinearization()));
  keys.switching.clear();
  loaded = load_evaluation_keys(samples_.context, save(keys));
  EXPECT_TRUE(loaded.switching.empty());
}

TEST_P(ObjectsTest, KeysThatAreWrittenOneByOneGiveTheFileOfTheSet) {
  const rlwe::EvaluationKeys& keys = samples_.keys;
  std::vector<KeysWriter::Entry> entries;
  std::vector<std::shared_ptr<const rlwe::SwitchingKey>> in_order;
  for (const auto& [role, of_role] : keys.switching) {
    for (const auto& [gadget, key] : of_role) {
      entries.insert(entries.begin(), {role, key->gadget});  // the writer puts them in order
      in_order.push_back(key);
    }
  }
  ASSERT_GE(entries.size(), 2U);
  MemorySink sink;
  KeysWriter writer(sink, samples_.context, keys.public_key.get(), entries);
  ASSERT_EQ(writer.entries().size(), in_order.size());
  // One that the list does not announce, by its gadget, is refused; an announced one may still follow.
  const auto other = rlwe::generate_relinearization_key(samples_.secret, 0);
  if (other.gadget->primes() != writer.entries()[0].gadget->primes()) {
    EXPECT_THROW(writer.write(other), MismatchError);
  }
  for (const auto& key : in_order) {
    EXPECT_THROW(writer.finish(), ParameterError);
    writer.write(*key);
  }
  writer.finish();
  EXPECT_THROW(writer.write(*in_order.back()), MismatchError);
  EXPECT_EQ(sink.take(), save(keys));
  entries.push_back(entries.front());
  EXPECT_THROW(KeysWriter(sink, samples_.context, nullptr, entries), MismatchError);
}

// Digit by digit: the bytes of the whole key, in memory for less than two of its six digits.
TEST_P(ObjectsTest, AKeyInTheMakingIsWrittenAsTheWholeKey) {
  auto literal = samples_.context->parameters().literal();
  literal.window_bits = 20;
  literal.digits.clear();
  const auto context = tests::make_context(rlwe::Parameters(literal), 1);
  const auto role = rlwe::KeyRole::galois(5);
  const rlwe::KeyMaker maker(rlwe::generate_secret_key(context), role, context->gadget(1));
  ASSERT_EQ(maker.digits(), 6U);
  const std::size_t digit_bytes = maker.key().poly.bytes() / maker.digits();
  for (const SaveOptions& options : {SaveOptions{}, SaveOptions{.packed = false},
                                     SaveOptions{.seeded = false}, SaveOptions{.compression_level = 1}}) {
    const auto written = [&](const auto& key) {
      MemorySink sink;
      KeysWriter writer(sink, context, nullptr, {{role, maker.gadget()}}, options);
      writer.write(key);
      writer.finish();
      return sink.take();
    };
    context->memory()->reset_peak();
    const std::size_t before = context->memory()->peak();
    const auto made = written(maker);
    if (options.compression_level == 0) {
      EXPECT_LT(context->memory()->peak() - before, 2 * digit_bytes);
    }
    EXPECT_EQ(made, written(maker.key()));
  }
}

TEST_P(ObjectsTest, ACiphertextOfThreeComponentsRoundTrips) {
  rlwe::Ciphertext product = rlwe::make_ciphertext(samples_.context, samples_.ciphertext.meta, 3);
  runtime::Workspace none;
  samples_.context->backend().sample(samples_.context->queue(), product.poly.view(),
                                     poly::RandomStream{poly::Seed::fresh(), 0},
                                     poly::Distribution::uniform(), product.poly.base(), none);
  expect_equal(load_ciphertext(samples_.context, save(product)), product);
}

TEST_P(ObjectsTest, ASwitchingKeyOfWindowsRoundTrips) {
  auto literal = samples_.context->parameters().literal();
  literal.window_bits = 20;
  literal.digits.clear();
  const auto context = tests::make_context(rlwe::Parameters(literal), 1);
  const auto secret = rlwe::generate_secret_key(context);
  for (const std::size_t level : {0, 1}) {
    const auto key = rlwe::generate_relinearization_key(secret, level);
    EXPECT_EQ(key.poly.shape().batch, 3 * (level + 1));
    expect_equal(load_switching_key(context, save(key)), key);
  }
}

TEST_P(ObjectsTest, SizesAreThoseOfThePackedResidues) {
  constexpr std::size_t limb = 1024 * 50 / 8;
  const auto size = [](const auto& object, const SaveOptions& options = {}) {
    return save(object, options).size();
  };
  const auto near = [](std::size_t actual, std::size_t residues) {
    return actual >= residues && actual < residues + 400;
  };
  EXPECT_TRUE(near(size(samples_.ciphertext), 2 * 2 * limb));
  EXPECT_TRUE(near(size(samples_.seeded), 2 * limb));
  EXPECT_TRUE(near(size(samples_.seeded, {.seeded = false}), 2 * 2 * limb));
  EXPECT_TRUE(near(size(samples_.ciphertext, {.packed = false}), 2 * 2 * 1024 * 8));
  // Version 1: a ternary secret; two primes and a special one; one digit over a prime and a special one.
  // Version 2: a Gaussian secret; a prime and a special one; five windows of 11 bits.
  const bool first = GetParam().version == first_format;
  EXPECT_TRUE(near(size(samples_.secret), first ? 1024 / 4 : 1024));
  EXPECT_TRUE(near(size(samples_.public_key), (first ? 3 : 2) * limb));
  EXPECT_TRUE(near(size(samples_.switching), (first ? 1 : 5) * 2 * limb));
}

// A plaintext that is stored by one period is stored so in files, which version 1 can not.
TEST_P(ObjectsTest, PeriodsAreSavedOnce) {
  if (GetParam().scheme != rlwe::Scheme::ckks) return;
  const rlwe::Context& context = *samples_.context;
  const ckks::Encoder encoder(samples_.context);
  const std::vector<std::complex<double>> values(2 * 64, {0.5, -0.25});
  const auto encode = [&](std::size_t slots) {
    return encoder.encode_over(context.base(0), std::span(values).first(2 * slots), {2}, 0, 0x1p20,
                               ckks::Stored::one_period);
  };
  for (const std::size_t slots : {1, 64}) {
    const rlwe::Plaintext plaintext = encode(slots);
    for (const SaveOptions& options :
         {SaveOptions{}, SaveOptions{.packed = false}, SaveOptions{.compression_level = 3}}) {
      const auto file = save(plaintext, options);
      EXPECT_EQ(read_header(file).version, second_format);
      EXPECT_LT(file.size(), 2 * 128 * 8 * context.base(0).size() + 400);
      const auto loaded = load_plaintext(samples_.context, file);
      expect_equal(loaded.meta, plaintext.meta);
      expect_equal(loaded.poly, context, plaintext.poly, context);
    }
  }
  // As many entries as the slots' period has, and no others.
  rlwe::Plaintext plaintext = encode(64);
  plaintext.meta.slots = 128;
  EXPECT_THROW(static_cast<void>(load_plaintext(samples_.context, save(plaintext))), FormatError);
}

TEST_P(ObjectsTest, ZerosCompress) {
  rlwe::Plaintext& plaintext = samples_.plaintext;
  samples_.context->backend().fill_zero(samples_.context->queue(), plaintext.poly.view());
  const auto file = save(plaintext, {.compression_level = 3});
  EXPECT_LT(file.size(), 2 * 1024 * 8 / Reader::expansion_limit + 400);
  expect_equal(load_plaintext(samples_.context, file).poly, *samples_.context, plaintext.poly,
               *samples_.context);
  EXPECT_THROW(save(plaintext, {.compression_level = 20}), ParameterError);
}

TEST_P(ObjectsTest, CompressedResiduesAreLoadedIntoTheirPlace) {
  // Every limb has a value of its own.
  rlwe::Ciphertext& x = samples_.ciphertext;
  x.meta.batch = {2, 3};
  x.meta.noise_scale_degree = GetParam().version == first_format ? 1 : 3;
  x.seed.reset();
  const poly::RnsBase base = samples_.context->base(x.meta.level);
  x.poly = samples_.context->make_poly(6, 2, base, poly::Form::evaluation);
  std::vector<std::uint64_t> residues(x.poly.shape().words());
  for (std::size_t i = 0; i < residues.size(); ++i) residues[i] = i / 1024 + i % 3;
  samples_.context->backend().upload(samples_.context->queue(), x.poly.view(), residues, x.poly.form());
  const auto file = save(x, {.compression_level = 3});
  EXPECT_TRUE(ciphertext_extents(file).compressed);
  EXPECT_EQ(test::words(*samples_.context, load_ciphertext(samples_.context, file).poly), residues);
}

TEST_P(ObjectsTest, CompressedResiduesTakeNoMemoryTwice) {
  rlwe::Metadata meta = samples_.seeded.meta;
  meta.batch = {100};
  rlwe::Ciphertext x = rlwe::encrypt_zero(samples_.secret, meta);
  x.meta.noise_log2 = std::max(x.meta.noise_log2, rlwe::least_noise_log2(*samples_.context));
  samples_.context->backend().fill_zero(samples_.context->queue(), x.poly.view().components(0, 1));
  const auto file = save(x, {.compression_level = 3});
  const CiphertextExtents extents = ciphertext_extents(file);
  EXPECT_EQ(extents.batch, meta.batch);
  EXPECT_EQ(extents.components, 2U);
  EXPECT_TRUE(extents.compressed);
  // Half of them are in the file, 64 times as small.
  EXPECT_EQ(extents.bytes, x.poly.shape().words() * sizeof(std::uint64_t));
  EXPECT_GT(extents.bytes, 2 * 60 * file.size());
  std::optional<rlwe::Ciphertext> loaded;
  {
    const test::AllocationGuard guard;  // which does not see the residues' own memory
    loaded = load_ciphertext(samples_.context, file);
    EXPECT_LT(guard.total(), extents.bytes / 20);
  }
  expect_equal(*loaded, x);
}

TEST_P(ObjectsTest, ExtentsNeedNoResidues) {
  for (const rlwe::Ciphertext* x : {&samples_.ciphertext, &samples_.seeded}) {
    const auto file = save(*x);
    const CiphertextExtents extents = ciphertext_extents(file);
    EXPECT_EQ(extents.batch, x->meta.batch);
    EXPECT_EQ(extents.components, 2U);
    EXPECT_EQ(extents.bytes, x->poly.shape().words() * sizeof(std::uint64_t));
    EXPECT_FALSE(extents.compressed);
    EXPECT_THROW(static_cast<void>(ciphertext_extents(std::span(file).first(file.size() - 1))), FormatError);
  }
  EXPECT_THROW(static_cast<void>(ciphertext_extents(save(samples_.plaintext))), MismatchError);
  EXPECT_THROW(static_cast<void>(ciphertext_extents(save(samples_.secret))), MismatchError);
}

TEST_P(ObjectsTest, OtherParametersAndOtherKindsAreMismatches) {
  const auto other = test::context_of(GetParam(), 49);
  const auto file = save(samples_.ciphertext);
  tests::expect_error<MismatchError>(
      [&] { return load_ciphertext(other, file); },
      {samples_.context->parameters().short_fingerprint(), other->parameters().short_fingerprint()});
  EXPECT_THROW(static_cast<void>(load_plaintext(samples_.context, file)), MismatchError);
  EXPECT_THROW(static_cast<void>(load_secret_key(samples_.context, file)), MismatchError);
  EXPECT_THROW(static_cast<void>(load_parameters(file)), MismatchError);
}

TEST_P(ObjectsTest, ObjectsThatBreakTheirRulesAreNotSaved) {
  rlwe::Ciphertext broken = samples_.ciphertext.clone();
  broken.meta.slots = 0;
  EXPECT_THROW(static_cast<void>(save(broken)), MismatchError);
  broken = samples_.ciphertext.clone();
  broken.poly.set_form(poly::Form::coefficient);
  EXPECT_THROW(static_cast<void>(save(broken)), MismatchError);
  // A uniform polynomial is no ternary secret.
  const rlwe::Context& context = *samples_.context;
  runtime::Workspace none;
  context.backend().sample(context.queue(), samples_.secret.poly.view(),
                           poly::RandomStream{poly::Seed::fresh(), 0}, poly::Distribution::uniform(),
                           context.key_base(), none);
  EXPECT_THROW(static_cast<void>(save(samples_.secret)), MismatchError);
}

TEST_P(ObjectsTest, ASecretOfFixedWeightMustHaveIt) {
  auto literal = samples_.context->parameters().literal();
  literal.secret = {.weight = 64};
  const auto context = tests::make_context(rlwe::Parameters(literal), 1);
  const auto file = save(rlwe::generate_secret_key(context));
  EXPECT_NO_THROW(static_cast<void>(load_secret_key(context, file)));
  // One coefficient more becomes 1, or one of those that are not 0 becomes 0.
  for (const bool more : {true, false}) {
    auto damaged = file;
    for (std::size_t at = file.size() - 1024 / 4;; ++at) {
      ASSERT_LT(at, file.size());
      const auto byte = std::to_integer<unsigned>(file[at]);
      if (((byte & 3U) == 0) != more) continue;
      damaged[at] = static_cast<std::byte>((byte & ~3U) | (more ? 1U : 0U));
      break;
    }
    test::reseal(damaged);
    SCOPED_TRACE(more ? "above the weight" : "below");
    tests::expect_error<FormatError>([&] { return load_secret_key(context, damaged); }, {"Hamming weight"});
  }
}

TEST_P(ObjectsTest, BatchesHaveNoMoreAxesThanArrayLibraries) {
  const auto axes = [](std::size_t count) { return rlwe::BatchShape(count, 1); };
  rlwe::Ciphertext ciphertext = samples_.ciphertext.clone();
  rlwe::reshape_inplace(ciphertext, axes(rlwe::most_batch_axes));
  EXPECT_EQ(load_ciphertext(samples_.context, save(ciphertext)).meta.batch, ciphertext.meta.batch);
  EXPECT_THROW(rlwe::reshape_inplace(ciphertext, axes(rlwe::most_batch_axes + 1)), ParameterError);
  EXPECT_THROW(static_cast<void>(rlwe::stack({&ciphertext, &ciphertext})), ParameterError);
  EXPECT_THROW(static_cast<void>(rlwe::gather(ciphertext, std::vector<std::size_t>{0}, axes(70))),
               ParameterError);
  // Further axes in a file.
  auto file = save(ciphertext);
  const std::size_t first = Header::bytes + Section::header_bytes;
  const std::size_t bytes = test::load(file, Header::bytes + 8, 8);
  // The declared largest value; filled slots, padding and type; the spent budget.
  const std::size_t after = (GetParam().version == first_format ? 0 : sizeof(double)) +
                            (GetParam().version >= third_format ? sizeof(std::uint64_t) + 2 : 0) +
                            (GetParam().version == fourth_format ? 1 : 0);
  const std::size_t end = first + bytes - after;
  test::store(file, end - 8 * rlwe::most_batch_axes - 4, rlwe::most_batch_axes + 1, 4);
  file.insert(file.begin() + static_cast<std::ptrdiff_t>(end), {std::byte{1}, {}, {}, {}, {}, {}, {}, {}});
  test::store(file, Header::bytes + 8, bytes + 8, 8);
  test::store(file, Header::bytes + 16, bytes + 8, 8);
  test::reseal(file);
  tests::expect_error<FormatError>([&] { return load_ciphertext(samples_.context, file); }, {"33 axes"});
  EXPECT_THROW(static_cast<void>(describe(file)), FormatError);
}

// Objects of any kind: what the header says is loaded.
TEST_P(ObjectsTest, ObjectsOfAnyKindLoadByTheirHeader) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("hemera-any-" + test::name(GetParam()) +
                     std::to_string(::testing::UnitTest::GetInstance()->random_seed()));
  for (const auto& sample : test::sample_files(samples_)) {
    SCOPED_TRACE(sample.name);
    save_file(path, std::span<const std::byte>(sample.file));
    if (sample.name == "parameters") {
      EXPECT_THROW(static_cast<void>(load_any(samples_.context, sample.file)), MismatchError);
      EXPECT_THROW(static_cast<void>(load_any(samples_.context, path)), MismatchError);
      EXPECT_EQ(load_parameters(path), samples_.context->parameters());
      continue;
    }
    const auto saved = [](const AnyObject& object) {
      return std::visit([](const auto& loaded) { return save(loaded); }, object);
    };
    EXPECT_EQ(saved(load_any(samples_.context, sample.file)), sample.reload(sample.file));
    EXPECT_EQ(saved(load_any(samples_.context, path)), sample.reload(sample.file));
    EXPECT_EQ(describe(path).kind, describe(sample.file).kind);
  }
  std::filesystem::remove(path);
}

// A file of which only the header is there: what does not belong is refused without the rest.
TEST_P(ObjectsTest, TheHeaderAloneRefusesWhatDoesNotBelong) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("hemera-header-" + test::name(GetParam()) +
                     std::to_string(::testing::UnitTest::GetInstance()->random_seed()));
  const auto header_of = [&](const auto& object) {
    std::vector<std::byte> file = save(object);
    file.resize(Header::bytes);
    save_file(path, std::span<const std::byte>(file));
    return file;
  };
  const auto file = header_of(samples_.ciphertext);
  const auto other = test::context_of(GetParam(), 45);
  EXPECT_THROW(static_cast<void>(load_any(other, file)), MismatchError);
  EXPECT_THROW(static_cast<void>(load_any(other, path)), MismatchError);
  EXPECT_THROW(static_cast<void>(load_parameters(path)), MismatchError);
  EXPECT_THROW(static_cast<void>(load_any(samples_.context, path)), FormatError);
  header_of(samples_.context->parameters());
  EXPECT_THROW(static_cast<void>(load_any(samples_.context, path)), MismatchError);
  std::filesystem::remove(path);
}

std::string field(const Description& description, const std::string& name) {
  for (const auto& [key, value] : description.fields) {
    if (key == name) return value;
  }
  return "missing";
}

TEST_P(ObjectsTest, DescriptionsNeedNoContext) {
  for (const auto& sample : test::sample_files(samples_)) {
    const Description description = describe(sample.file);
    EXPECT_EQ(description.kind, sample.name == "seeded ciphertext" ? "ciphertext" : sample.name);
    EXPECT_EQ(description.version, test::version_of(GetParam(), sample.name)) << sample.name;
    EXPECT_EQ(description.fingerprint, runtime::to_hex(samples_.context->parameters().fingerprint()));
    EXPECT_EQ(description.bytes, sample.file.size());
    EXPECT_EQ(field(description, "scheme"), rlwe::name(GetParam().scheme)) << sample.name;
    EXPECT_EQ(field(description, "degree"), "1024") << sample.name;
    std::uint64_t bytes = Header::bytes;
    for (const auto& section : description.sections) bytes += Section::header_bytes + section.stored_bytes;
    EXPECT_EQ(bytes, sample.file.size()) << sample.name;
  }
  const Description ciphertext = describe(save(samples_.seeded));
  EXPECT_EQ(field(ciphertext, "batch"), "{2, 1}");
  EXPECT_EQ(field(ciphertext, "level"), "0");
  EXPECT_EQ(field(ciphertext, "components"), "2");
  EXPECT_EQ(field(ciphertext, "seeded"), "yes");
  EXPECT_EQ(field(ciphertext, "array"), "2 x 1 x 1 x 1024");
  EXPECT_EQ(field(ciphertext, "scale"), GetParam().scheme == Scheme::ckks ? "2^40" : "missing");
  EXPECT_EQ(field(ciphertext, "correction factor"), GetParam().scheme == Scheme::bgv ? "77" : "missing");
  const Description keys = describe(save(samples_.keys));
  EXPECT_EQ(field(keys, "public key"), "yes");
  EXPECT_EQ(field(keys, "Galois keys"), "2");
  EXPECT_EQ(field(keys, "Galois elements"), "5, 2047");
  const bool first = GetParam().version == first_format;
  EXPECT_EQ(field(keys, "keys between other secrets"), first ? "missing" : "2");
  EXPECT_EQ(field(keys, "seeded keys"), first ? "4 of 4" : "7 of 7");
}

// Version 6 is of CKKS's scales above 2^60, and of what doubles leave of them.
TEST(ScalesBeyondDoubles, AreReadFromTheirVersionAlone) {
  const auto section = [](rlwe::Scheme scheme, double scale, double rest) {
    MessageFields fields{scheme, {}, {}};
    fields.meta.slots = 1;
    fields.meta.scale = rlwe::Scale(arith::TwoDoubles{scale, rest});
    runtime::ByteWriter out;
    fields.write(out, sixth_format);
    return std::vector<std::byte>(out.view().begin(), out.view().end());
  };
  const auto right = section(rlwe::Scheme::ckks, 0x1.8p80, -0x1p26);
  const MessageFields found = MessageFields::read(right, sixth_format);
  EXPECT_EQ(double{found.meta.scale}, 0x1.8p80);
  EXPECT_EQ(found.meta.scale.rest(), -0x1p26);
  EXPECT_EQ(found.version(), sixth_format);
  EXPECT_THROW(static_cast<void>(MessageFields::read(right, fourth_format)), FormatError);
  for (const auto& [scheme, scale, rest] :
       {std::tuple(rlwe::Scheme::ckks, 0x1p80, 0.0), std::tuple(rlwe::Scheme::ckks, 0x1p80, 0x1p41),
        std::tuple(rlwe::Scheme::ckks, 0x1p80, std::nan("")), std::tuple(rlwe::Scheme::ckks, 0x1p60, 0x1p6),
        std::tuple(rlwe::Scheme::bfv, 1.0, 0x1p-60)}) {
    EXPECT_THROW(static_cast<void>(MessageFields::read(section(scheme, scale, rest), sixth_format)),
                 FormatError)
        << scale << " " << rest;
  }
}

}  // namespace
}  // namespace hemera::io
