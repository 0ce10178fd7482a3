// Damaged files of every kind of object.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "hemera/arith/primes.hpp"
#include "hemera/io/describe.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/runtime/error.hpp"
#include "io/allocation_guard.hpp"
#include "io/corruption.hpp"
#include "io/metadata.hpp"
#include "io/reseal.hpp"
#include "io/residues.hpp"
#include "io/samples.hpp"
#include "refusals.hpp"

namespace hemera::io {
namespace {

using rlwe::Scheme;
using test::SampleFile;

// Primes of 25 bits: small files, so that many fit into a short test.
class DamageTest : public testing::TestWithParam<test::FormatCase> {
 protected:
  void SetUp() override { samples_ = test::make_samples(GetParam(), 25); }

  test::Samples samples_;
};

INSTANTIATE_TEST_SUITE_P(Schemes, DamageTest, testing::ValuesIn(test::format_cases()),
                         [](const auto& tested) { return test::name(tested.param); });

TEST_P(DamageTest, EveryTruncationIsAFormatError) {
  for (const SampleFile& sample : test::sample_files(samples_)) {
    // Ends of large files differ only in the cut section: every length of small ones, then every 97th.
    for (std::size_t size = 0; size < sample.file.size(); size += size < 10000 ? 1 : 97) {
      ASSERT_THROW(sample.reload(std::span(sample.file).first(size)), FormatError)
          << sample.name << " " << size;
    }
  }
}

TEST_P(DamageTest, EveryRandomCorruptionIsAFormatErrorWithoutLargeAllocations) {
  std::mt19937_64 random(static_cast<unsigned>(GetParam().scheme));
  for (const SaveOptions& options : {SaveOptions{}, SaveOptions{.compression_level = 1, .packed = false}}) {
    for (const SampleFile& sample : test::sample_files(samples_, options)) {
      for (int round = 0; round < 1000; ++round) {
        auto file = sample.file;
        const std::string what = test::corrupt(file, random);
        const test::AllocationGuard guard;
        ASSERT_THROW(sample.reload(file), FormatError) << sample.name << ": " << what;
        ASSERT_LT(guard.total(), file.size() + 8192) << sample.name << ": " << what;
      }
    }
  }
}

// Keys come from a file one by one.
TEST_P(DamageTest, KeysOnADiskAreCheckedOneByOne) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("hemera-damage-" + test::name(GetParam()) +
                     std::to_string(::testing::UnitTest::GetInstance()->random_seed()));
  const auto load = [&](std::span<const std::byte> file) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    out.close();
    return save(std::get<rlwe::EvaluationKeys>(load_any(samples_.context, path)));
  };
  auto file = save(samples_.keys);
  EXPECT_EQ(load(file), file);
  for (std::size_t size = 0; size < file.size(); size += size < 200 ? 1 : file.size() / 50) {
    ASSERT_THROW(static_cast<void>(load(std::span(file).first(size))), FormatError) << size;
  }
  ASSERT_THROW(static_cast<void>(load(std::span(file).first(file.size() - 1))), FormatError);
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    auto damaged = file;
    const std::string what = test::corrupt(damaged, random);
    ASSERT_THROW(static_cast<void>(load(damaged)), FormatError) << what;
  }
  file.push_back(std::byte{0});
  EXPECT_THROW(static_cast<void>(load(file)), FormatError);
  std::filesystem::remove(path);
}

// A ciphertext's file with the noise bound of another one: loading lifts a bound below a fresh ciphertext's.
std::vector<std::byte> with_noise_bound_of(std::span<const std::byte> other, std::vector<std::byte> file) {
  if (read_header(file).kind != Kind::ciphertext || other.size() != file.size()) return file;
  constexpr std::size_t fields = Header::bytes + Section::header_bytes;
  const bool is_seeded = file[fields + 3] != std::byte{0};
  const std::size_t noise = fields + (is_seeded ? 72 : 32);
  std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(noise), 8,
              file.begin() + static_cast<std::ptrdiff_t>(noise));
  test::reseal(file);
  return file;
}

// With fitting checksums damage may go unseen in places where all values are good (residues, a scale), but
// nothing else than a typed error may come of it.
TEST_P(DamageTest, CorruptionWithFittingChecksumsIsATypedErrorOrLoads) {
  std::mt19937_64 random(100 + static_cast<unsigned>(GetParam().scheme));
  for (const SaveOptions& options : {SaveOptions{}, SaveOptions{.compression_level = 1, .packed = false}}) {
    for (const SampleFile& sample : test::sample_files(samples_, options)) {
      int refused = 0;
      for (int round = 0; round < 300; ++round) {
        auto file = sample.file;
        const std::string what = test::corrupt(file, random);
        test::reseal(file);
        try {
          const auto again = sample.reload(file);
          EXPECT_EQ(sample.reload(again), again) << sample.name << ": " << what;
          // One encoding: but for zstd, whose frames are its own business.
          if (options.compression_level == 0) {
            EXPECT_EQ(again, with_noise_bound_of(again, file)) << sample.name << ": " << what;
          }
        } catch (const FormatError&) {
          ++refused;
        } catch (const MismatchError&) {  // the header names another kind or other parameters
          ++refused;
        }
        try {
          static_cast<void>(describe(file));
        } catch (const FormatError&) {
        }
      }
      EXPECT_GT(refused, 50) << sample.name;
    }
  }
}

// Sets a field of the first section to a bad value, with fitting checksums.
struct BadField {
  std::size_t offset;
  std::size_t bytes;
  std::uint64_t value;
  const char* message;
};

void expect_refused(const SampleFile& sample, const std::vector<BadField>& fields) {
  for (const BadField& field : fields) {
    auto file = sample.file;
    test::store(file, Header::bytes + Section::header_bytes + field.offset, field.value, field.bytes);
    test::reseal(file);
    SCOPED_TRACE(sample.name + " with " + std::to_string(field.value) + " at " +
                 std::to_string(field.offset));
    tests::expect_error<FormatError>([&] { sample.reload(file); }, {field.message});
  }
}

// Offsets are those of version 1.
class FirstFormatFields : public DamageTest {};

INSTANTIATE_TEST_SUITE_P(Schemes, FirstFormatFields,
                         testing::Values(test::FormatCase{Scheme::bfv, first_format},
                                         test::FormatCase{Scheme::bgv, first_format},
                                         test::FormatCase{Scheme::ckks, first_format}),
                         [](const auto& tested) { return test::name(tested.param); });

TEST_P(FirstFormatFields, OutOfRangeAreFormatErrors) {
  const auto files = test::sample_files(samples_);
  const bool ckks = GetParam().scheme == Scheme::ckks;
  const bool bgv = GetParam().scheme == Scheme::bgv;
  constexpr std::uint64_t not_a_number = 0x7FF8000000000000;
  constexpr std::uint64_t infinity = 0x7FF0000000000000;
  // META without a seed: scheme 0, encoding 1, noise-scale degree 2, seeded 3, level 4, scale 8, correction
  // 16, slots 24, noise 32, batch 40.
  std::vector<BadField> fields = {{0, 1, 0, "unknown scheme"},
                                  {0, 1, 4, "unknown scheme"},
                                  {1, 1, 2, "yes-or-no"},
                                  {2, 1, 0, "noise-scale degree"},
                                  {2, 1, 3, "noise-scale degree"},
                                  {3, 1, 2, "yes-or-no"},
                                  {4, 4, 2, "above the top level"},
                                  {4, 4, 0xFFFFFFFF, "above the top level"},
                                  {4, 4, 0, "moduli of the residues"},
                                  {8, 8, 0, "a scale of"},
                                  {8, 8, not_a_number, "a scale of"},
                                  {8, 8, infinity, "a scale of"},
                                  {16, 8, 0, "correction factor"},
                                  {16, 8, 12289, "correction factor"},
                                  {24, 8, 0, "values"},
                                  {24, 8, 1025, "values"},
                                  {32, 8, not_a_number, "noise bound"},
                                  {40, 4, 1, "can not fit"},
                                  {40, 4, 0xFFFFFFFF, "can not fit"}};
  if (ckks) {
    fields.insert(fields.end(), {{1, 1, 1, "slot encoding"}, {24, 8, 300, "values"}});
  } else {
    fields.insert(fields.end(), {{2, 1, 2, "noise-scale degree"}, {8, 8, 0x4000000000000000, "a scale of"}});
  }
  if (!bgv) fields.push_back({16, 8, 2, "correction factor"});
  expect_refused(files[2], fields);
  // META with a seed of 40 bytes from byte 4 on; the batch (2, 1) from byte 80 on.
  expect_refused(files[3], {{4, 4, 2, "sampling rule"},
                            {8, 4, 0xFFFFFFFF, "stream of the seed"},
                            {84, 8, 0, "extent of 0"},
                            {84, 8, 3, "3"},
                            {92, 8, ~std::uint64_t{0}, "extent of"}});
  expect_refused(files[4], {{0, 1, 9, "unknown scheme"}, {1, 4, 1, "level"}, {5, 1, 1, "ends too early"}});
  expect_refused(files[5], {{1, 4, 1, "a public key with a level"}});
  // PARA: BFV's multiplication and the rescaling are the last two bytes.
  if (GetParam().scheme == Scheme::bfv) {
    const std::size_t end = files[0].file.size() - Header::bytes - Section::header_bytes;
    expect_refused(files[0], {{end - 2, 1, 0, "not encoded as they are saved"}});
  }
  expect_refused(files[6], {{1, 4, 2, "above the top level"}, {1, 4, 1, "moduli of the residues"}});
  // KEYS: public key 0, relinearization key 1, count 2, elements 5 and 2047 from 6 on.
  expect_refused(files[7], {{0, 1, 0, "lists 3 keys"},
                            {1, 1, 2, "yes-or-no"},
                            {6, 8, 1, "Galois elements"},
                            {6, 8, 6, "Galois elements"},
                            {6, 8, 2047, "Galois elements"},
                            {14, 8, 2049, "not below 2N"}});
}

// Offsets are those of version 3: in META without a seed and with a single object the filled slots are at 52,
// the padding at 60 and the type at 61.
class ThirdFormatFields : public DamageTest {};

INSTANTIATE_TEST_SUITE_P(Schemes, ThirdFormatFields,
                         testing::Values(test::FormatCase{Scheme::bfv, third_format},
                                         test::FormatCase{Scheme::bgv, third_format},
                                         test::FormatCase{Scheme::ckks, third_format}),
                         [](const auto& tested) { return test::name(tested.param); });

TEST_P(ThirdFormatFields, OutOfRangeAreFormatErrors) {
  const auto files = test::sample_files(samples_);
  const bool ckks = GetParam().scheme == Scheme::ckks;
  std::vector<BadField> fields = {{60, 1, 4, "filled up in way 4"},
                                  {61, 1, 2, "yes-or-no"},
                                  {52, 8, ~std::uint64_t{0}, "does not allow"}};
  if (ckks) {
    fields.insert(
        fields.end(),
        {{52, 8, 512, "does not allow"}, {52, 8, 0, "does not allow"}, {60, 1, 2, "filled up in way 2"}});
  } else {
    fields.insert(fields.end(), {{52, 8, 1000, "does not allow"},
                                 {61, 1, 1, "does not allow"},
                                 {60, 1, 0, "belongs into version 2"},
                                 {24, 8, 1024, "all of its 1024 slots hold values"}});
  }
  expect_refused(files[2], fields);
}

// Offsets are those of version 4: the spent budget is at 62.
class FourthFormatFields : public DamageTest {};

INSTANTIATE_TEST_SUITE_P(Schemes, FourthFormatFields,
                         testing::Values(test::FormatCase{Scheme::bfv, fourth_format},
                                         test::FormatCase{Scheme::bgv, fourth_format}),
                         [](const auto& tested) { return test::name(tested.param); });

TEST_P(FourthFormatFields, OutOfRangeAreFormatErrors) {
  const auto files = test::sample_files(samples_);
  expect_refused(files[2], {{62, 1, 0, "not spent"}, {62, 1, 2, "yes-or-no"}});
}

// The primes of a public key: a list from byte 1 on, of which each is one of the parameters' and stands once.
TEST_P(DamageTest, PrimesOfAPublicKeyAreThoseOfTheParametersAndDistinct) {
  if (GetParam().version == first_format) return;  // they are not in the file
  constexpr std::size_t first_prime = Header::bytes + Section::header_bytes + 5;
  int seen = 0;
  for (const SampleFile& sample : test::sample_files(samples_)) {
    const Header header = read_header(sample.file);
    if (header.kind != Kind::public_key || header.version == first_format) continue;
    ++seen;
    const std::uint64_t second = test::load(sample.file, first_prime + 8, 8);
    expect_refused(sample, {{5, 8, second, "or one twice"}, {5, 8, second + 2, "do not have"}});
    KeyFields fields;
    fields.scheme = GetParam().scheme;
    runtime::ByteWriter out;
    fields.write(out, second_format);
    MemorySink sink;
    Writer writer(sink, second_format, Kind::public_key, header.fingerprint, 2);
    writer.section(key_tag, out.view());
    writer.section(residues_tag, {});
    writer.finish();
    EXPECT_THROW(sample.reload(sink.take()), FormatError);
  }
  EXPECT_EQ(seen, 1);
}

// The file with a seed among the fields of its first section, and nothing else changed.
template <typename Fields>
std::vector<std::byte> with_seed(const SampleFile& sample, Tag tag) {
  Reader reader(sample.file);
  const Header& header = reader.header();
  auto fields = Fields::read(reader.next(tag).payload().bytes(), header.version);
  fields.seed = poly::RandomStream{poly::Seed::fresh(), 0};
  runtime::ByteWriter out;
  fields.write(out, header.version);
  MemorySink sink;
  Writer writer(sink, header.version, header.kind, header.fingerprint, 2);
  writer.section(tag, out.view());
  writer.section(residues_tag, reader.next(residues_tag).payload().bytes());
  writer.finish();
  return sink.take();
}

// Plaintexts and secret keys are not made of a seed.
TEST_P(DamageTest, ASeedWhereNoneBelongsIsAFormatError) {
  int seen = 0;
  for (const SampleFile& sample : test::sample_files(samples_)) {
    const Kind kind = read_header(sample.file).kind;
    if (kind == Kind::plaintext) {
      EXPECT_THROW(sample.reload(with_seed<MessageFields>(sample, message_tag)), FormatError);
    } else if (kind == Kind::secret_key) {
      EXPECT_THROW(sample.reload(with_seed<KeyFields>(sample, key_tag)), FormatError);
    } else {
      continue;
    }
    ++seen;
  }
  EXPECT_EQ(seen, 2);
}

using Bytes = std::vector<std::byte>;

// The payloads of a file's sections, of these tags.
std::vector<Bytes> payloads(const Bytes& file, const std::vector<Tag>& tags) {
  Reader reader(file);
  std::vector<Bytes> result;
  for (const Tag& tag : tags) {
    const Payload payload = reader.next(tag).payload();
    result.emplace_back(payload.bytes().begin(), payload.bytes().end());
  }
  return result;
}

Bytes file_of(const Header& header, const std::vector<Tag>& tags, const std::vector<Bytes>& payloads) {
  MemorySink sink;
  Writer writer(sink, header.version, header.kind, header.fingerprint,
                static_cast<std::uint32_t>(tags.size()));
  for (std::size_t i = 0; i < tags.size(); ++i) writer.section(tags[i], payloads[i]);
  writer.finish();
  return sink.take();
}

// Every set of keys has one file.
TEST(Damage, KeysOfOneRoleInAnotherOrderAreAFormatError) {
  const auto context = test::small_context(Scheme::ckks, 40);
  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  rlwe::EvaluationKeys keys = rlwe::generate_keys(secret, {.public_key = false, .relinearization = false});
  for (const std::size_t level : {0U, 1U}) {
    keys.add(rlwe::KeyRole::relinearization(),
             std::make_shared<const rlwe::SwitchingKey>(rlwe::generate_relinearization_key(secret, level)));
  }
  const Bytes file = save(keys);
  const std::vector<Tag> tags = {key_list_tag, key_tag, residues_tag, key_tag, residues_tag};
  auto parts = payloads(file, tags);
  EXPECT_NO_THROW(static_cast<void>(load_evaluation_keys(context, file_of(read_header(file), tags, parts))));
  std::swap(parts[1], parts[3]);
  std::swap(parts[2], parts[4]);
  EXPECT_THROW(static_cast<void>(load_evaluation_keys(context, file_of(read_header(file), tags, parts))),
               FormatError);
}

// In version 1 a key has a level: the highest that its gadget serves, where default gadgets of two are one.
TEST(Damage, AKeyOfALowerLevelThanItServesIsAFormatError) {
  rlwe::ParametersLiteral literal = test::small_parameters(Scheme::ckks, 40).literal();
  const auto primes = arith::primes_below(std::uint64_t{1} << 40, 2 * literal.degree, 4);
  literal.levels = {{primes[0]}, {primes[1], primes[2]}, {primes[0], primes[1], primes[2]}};
  literal.special_primes = {primes[3]};
  literal.digits.clear();
  literal.roots.clear();
  const auto context = tests::make_context(rlwe::Parameters(literal), 1);
  ASSERT_EQ(context->gadget(1), context->gadget(2));
  const Bytes file = save(rlwe::generate_relinearization_key(rlwe::generate_secret_key(context), 1));
  ASSERT_EQ(read_header(file).version, first_format);
  const std::vector<Tag> tags = {key_tag, residues_tag};
  auto parts = payloads(file, tags);
  KeyFields fields = KeyFields::read(parts[0], first_format);
  EXPECT_EQ(fields.level, 2U);
  for (const std::size_t level : {2U, 1U}) {
    fields.level = level;
    runtime::ByteWriter out;
    fields.write(out, first_format);
    parts[0].assign(out.view().begin(), out.view().end());
    const Bytes changed = file_of(read_header(file), tags, parts);
    if (level == 2) {
      EXPECT_NO_THROW(static_cast<void>(load_switching_key(context, changed)));
    } else {
      EXPECT_THROW(static_cast<void>(load_switching_key(context, changed)), FormatError);
    }
  }
}

TEST_P(DamageTest, AResidueAtItsModulusIsAFormatError) {
  // In words: the last residue of each file but the parameters and the (packed) secret key.
  const auto files = test::sample_files(samples_, {.packed = false});
  for (const std::size_t index : {1, 2, 3, 5, 6, 7}) {
    auto file = files[index].file;
    test::store(file, file.size() - 8, (std::uint64_t{1} << 25) - 1, 8);
    test::reseal(file);
    SCOPED_TRACE(files[index].name);
    tests::expect_error<FormatError>([&] { files[index].reload(file); }, {"not below its modulus"});
    EXPECT_THROW(static_cast<void>(describe(file)), FormatError) << files[index].name;
  }
  auto secret = save(samples_.secret);
  secret.back() |= GetParam().version == first_format ? std::byte{0xC0} : std::byte{0xFF};
  test::reseal(secret);
  EXPECT_THROW(static_cast<void>(load_secret_key(samples_.context, secret)), FormatError);
}

TEST_P(DamageTest, ParametersOfTooManyPrimesAreRefusedAtOnce) {
  // Well-formed and with fitting checksums: 30,000 NTT primes would take minutes to check.
  runtime::ByteWriter out;
  out.u8(static_cast<std::uint8_t>(GetParam().scheme));
  out.u64(1024);
  out.u32(1);
  out.u64s(std::vector<std::uint64_t>(257, 12289));
  out.u64s({});
  MemorySink sink;
  Writer writer(sink, GetParam().version, Kind::parameters, {}, 1);
  writer.section(Tag("PARA"), out.view());
  tests::expect_error<FormatError>([&] { return load_parameters(sink.take()); },
                                   {"more than the format's 256 primes"});
}

TEST(Damage, TheLargestParametersTakeLittleMemory) {
  rlwe::ParametersLiteral literal;
  literal.scheme = Scheme::ckks;
  literal.degree = std::size_t{1} << 17;
  literal.scale = 0x1p40;
  literal.security.reset();
  auto primes = arith::primes_below(std::uint64_t{1} << 58, 2 * literal.degree, 257);
  literal.special_primes = {primes.back()};
  primes.pop_back();
  const auto file_of = [&] { return save(rlwe::Parameters(literal)); };
  literal.levels = {primes};
  EXPECT_THROW(static_cast<void>(file_of()), MismatchError);
  literal.levels[0].pop_back();
  const auto file = file_of();
  const test::AllocationGuard guard;
  EXPECT_EQ(load_parameters(file).degree(), literal.degree);
  EXPECT_LT(guard.total(), (std::size_t{64} << 20) + 3 * file.size());
}

TEST_P(DamageTest, FieldsAreNoWayToTakeMemory) {
  // Compressed fields of the format's largest size are the most that is taken for them.
  const std::vector<std::byte> zeros(std::size_t{32} << 20);
  const std::vector<std::pair<Kind, Tag>> first_sections = {
      {Kind::parameters, Tag("PARA")},     {Kind::plaintext, Tag("META")},
      {Kind::ciphertext, Tag("META")},     {Kind::secret_key, Tag("KEYM")},
      {Kind::public_key, Tag("KEYM")},     {Kind::switching_key, Tag("KEYM")},
      {Kind::evaluation_keys, Tag("KEYS")}};
  for (const auto& [kind, tag] : first_sections) {
    MemorySink sink;
    Writer writer(sink, GetParam().version, kind, samples_.context->parameters().fingerprint(), 1);
    writer.section(tag, zeros, 3);
    const auto file = sink.take();
    ASSERT_LT(file.size(), zeros.size() / 32);
    const test::AllocationGuard guard;
    EXPECT_THROW(static_cast<void>(describe(file)), FormatError) << name(kind);
    if (kind == Kind::parameters) {
      EXPECT_THROW(static_cast<void>(load_parameters(file)), FormatError);
    } else {
      EXPECT_THROW(static_cast<void>(load_any(samples_.context, file)), FormatError) << name(kind);
    }
    EXPECT_LT(guard.largest(), std::size_t{1} << 16) << name(kind);
  }
}

TEST_P(DamageTest, ParametersThatAreInvalidAreAFormatError) {
  auto file = save(samples_.context->parameters());
  const std::size_t degree = Header::bytes + Section::header_bytes + 1;
  test::store(file, degree, 2048, 8);  // the primes are 1 modulo 2048 only by chance modulo 4096
  test::reseal(file);
  EXPECT_THROW(static_cast<void>(load_parameters(file)), FormatError);
  // Valid, but not those of the header.
  auto other = save(test::context_of(GetParam(), 26)->parameters());
  std::copy_n(save(samples_.context->parameters()).begin() + 16, 32, other.begin() + 16);
  test::reseal(other);
  EXPECT_THROW(static_cast<void>(load_parameters(other)), FormatError);
  EXPECT_THROW(static_cast<void>(describe(other)), FormatError);
}

}  // namespace
}  // namespace hemera::io
