// Damaged files of every kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "interop/seal/samples.hpp"
#include "interop/seal/vectors.hpp"
#include "io/allocation_guard.hpp"
#include "io/corruption.hpp"

namespace hemera::interop::seal::test {
namespace {

class SealDamage : public ::testing::TestWithParam<const char*> {
 protected:
  SealDamage() : vectors(GetParam()) {
    vectors.load_keys();
    const Session& session = vectors.session();
    const auto compression = Compression::none;
    const auto add = [&](const std::string& name, std::vector<std::byte> file, auto reload) {
      samples.push_back({name, std::move(file), reload});
    };
    add("parameters", vectors.file(vectors.names("parms.").back()), [this](std::span<const std::byte> file) {
      const Session again(file, hemera::runtime::Device{}, vectors.options());
      return content(again.dump_context(compression));
    });
    const auto ciphertext = [&session](std::span<const std::byte> file) {
      return content(session.dump_ciphertext(session.load_ciphertext(file), compression));
    };
    for (const std::string& name : vectors.names("ct_")) add(name, vectors.file(name), ciphertext);
    add("plaintext", vectors.file("plaintext_m.seal"), [&session](std::span<const std::byte> file) {
      return content(session.dump_plaintext(session.load_plaintext(file), compression));
    });
    add("secret key", vectors.file("secret_key.seal"), [&session](std::span<const std::byte> file) {
      return content(session.dump_secret_key(session.load_secret_key(file), compression));
    });
    for (const std::string begin : {"public_key.", "relin_keys.", "galois_keys."}) {
      for (const std::string& name : vectors.names(begin)) {
        add(name, vectors.file(name), [this, begin](std::span<const std::byte> file) {
          Session keys(vectors.session().dump_context(), vectors.session().context(), vectors.options());
          if (begin == "public_key.") keys.load_keys({.public_key = file});
          if (begin == "relin_keys.") keys.load_keys({.relinearization = file});
          if (begin == "galois_keys.") keys.load_keys({.galois = file});
          const KeyFiles files = keys.dump_keys(keys.keys(), compression);
          return content(files.public_key        ? *files.public_key
                         : files.relinearization ? *files.relinearization
                         : files.galois          ? *files.galois
                                                 : stored({}));
        });
      }
    }
    // Both generators, and the words as they are, which compressed streams keep from most damage.
    std::vector<Sample> plain;
    for (const Sample& sample : samples) {
      plain.push_back({sample.name + ", stored", stored(content(sample.file)), sample.reload});
    }
    samples.insert(samples.end(), plain.begin(), plain.end());
  }

  Vectors vectors;
  std::vector<Sample> samples;
};

INSTANTIATE_TEST_SUITE_P(, SealDamage, ::testing::ValuesIn(schemes),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(SealDamage, EveryTruncationIsAFormatError) {
  for (const Sample& sample : samples) {
    for (std::size_t size = 0; size < sample.file.size(); size += size < 300 ? 1 : 997) {
      ASSERT_THROW(sample.reload(std::span(sample.file).first(size)), FormatError)
          << sample.name << " " << size;
    }
  }
}

// As if the writer had known no better.
TEST_P(SealDamage, EveryTruncationWithAFittingSizeIsAFormatError) {
  for (const Sample& sample : samples) {
    const std::size_t stride = std::max<std::size_t>(997, sample.file.size() / 40);
    for (std::size_t size = 16; size < sample.file.size(); size += size < 150 ? 1 : stride) {
      auto file = sample.file;
      file.resize(size);
      reseal(file);
      ASSERT_THROW(sample.reload(file), FormatError) << sample.name << " " << size;
    }
    auto file = sample.file;
    file.push_back(std::byte{0});
    ASSERT_THROW(sample.reload(file), FormatError) << sample.name;
    reseal(file);
    ASSERT_THROW(sample.reload(file), FormatError) << sample.name;
  }
}

TEST_P(SealDamage, CorruptionIsAnErrorOrAWellFormedObject) {
  std::mt19937_64 random(static_cast<unsigned>(GetParam()[1]));
  int refused = 0;
  for (const Sample& sample : samples) {
    if (sample.name.rfind("parameters", 0) == 0) continue;  // damaged ones may be large ones
    for (int round = 0; round < 60; ++round) {
      auto file = sample.file;
      const std::string what = io::test::corrupt(file, random);
      reseal(file);
      try {
        const auto written = sample.reload(file);
        // What loaded is whole: it is written, and is the same when it is read again.
        ASSERT_EQ(sample.reload(stored(written)), written) << sample.name << ": " << what;
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 20);
}

// The first bytes hold all sizes.
TEST_P(SealDamage, EveryByteOfTheFieldsMayBeWrong) {
  std::mt19937_64 random(static_cast<unsigned>(GetParam()[2]));
  for (const Sample& sample : samples) {
    if (sample.name.find("stored") == std::string::npos || sample.file.size() > 300'000) continue;
    if (sample.name.rfind("parameters", 0) == 0) continue;
    for (std::size_t at = 0; at < 130; ++at) {
      auto file = sample.file;
      file[at] ^= static_cast<std::byte>(1U << (random() % 8));
      const io::test::AllocationGuard guard;
      try {
        static_cast<void>(sample.reload(file));
      } catch (const Error&) {
      }
      EXPECT_LT(guard.total(), (std::size_t{64} << 20) + 3 * file.size()) << sample.name << " " << at;
    }
  }
}

TEST_P(SealDamage, ResiduesAreCheckedAgainstTheirModuli) {
  for (const Sample& sample : samples) {
    if (sample.name.find("stored") == std::string::npos || sample.name.rfind("parameters", 0) == 0) continue;
    auto file = sample.file;
    // Residues in every kind; seeds stand in the middle and at the end.
    std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(file.size() / 8 * 3), 24, std::byte{0xFF});
    EXPECT_THROW(sample.reload(file), FormatError) << sample.name;
  }
}

// A file of a thousandth of its content: reading stops where the fields say so.
TEST_P(SealDamage, ContentIsNotUnpackedBeyondTheFields) {
  constexpr std::size_t bytes = std::size_t{32} << 20;
  for (const Compression compression : {Compression::zlib, Compression::zstd}) {
    std::vector<std::byte> bomb;
    {
      Writer out(4);
      out.expect(bytes);
      out.bytes(std::vector<std::byte>(bytes));
      bomb = out.finish(compression);
    }
    ASSERT_LT(bomb.size(), std::size_t{1} << 16);
    for (const Sample& sample : samples) {
      const io::test::AllocationGuard guard;
      EXPECT_THROW(sample.reload(bomb), Error) << sample.name;
      EXPECT_LT(guard.total(), std::size_t{1} << 20) << sample.name;
    }
    const io::test::AllocationGuard guard;
    EXPECT_THROW(describe(bomb), FormatError);
    EXPECT_LT(guard.total(), std::size_t{1} << 20);
  }
}

TEST(SealHeader, SaysWhatItCanNotRead) {
  const Vectors vectors("bfv");
  const auto file = vectors.file("parms.none.seal");
  const auto changed = [&](std::size_t at, unsigned value) {
    auto copy = file;
    copy[at] = static_cast<std::byte>(value);
    return copy;
  };
  EXPECT_NO_THROW(load_parameters(changed(4, 0)));             // an older minor version
  EXPECT_THROW(load_parameters(changed(3, 3)), FormatError);   // SEAL 3
  EXPECT_THROW(load_parameters(changed(0, 0)), FormatError);   // magic
  EXPECT_THROW(load_parameters(changed(2, 17)), FormatError);  // size of the header
  EXPECT_THROW(load_parameters(changed(5, 3)), FormatError);   // compression
  EXPECT_THROW(load_parameters(changed(6, 1)), FormatError);   // reserved
  EXPECT_THROW(load_parameters(changed(16, 4)), FormatError);  // scheme
  EXPECT_THROW(load_parameters(changed(17, 1)), FormatError);  // degree
  EXPECT_THROW(load_parameters(file, {.scale = 2}), ParameterError);
  EXPECT_THROW(load_parameters(Vectors("ckks").file("parms.zstd.seal")), ParameterError);
}

// Objects are written in the minor version of the session's parameters, whose SEAL need not read newer ones.
TEST(SealHeader, FilesHaveTheVersionOfTheParameters) {
  const Vectors vectors("bgv");
  auto parms = content(vectors.file("parms.zstd.seal"));
  auto file = stored(parms);
  file[4] = std::byte{1};
  const Session session(file);
  EXPECT_EQ(std::to_integer<int>(session.dump_context()[4]), 1);
  const rlwe::Ciphertext a = session.load_ciphertext(vectors.file("ct_b.seal"));
  EXPECT_EQ(std::to_integer<int>(session.dump_ciphertext(a)[4]), 1);
  EXPECT_TRUE(session.metadata(a).is_ntt_form);

  // SEAL 4.0 has BGV in coefficient form.
  file[4] = std::byte{0};
  const Session oldest(file, session.context());
  EXPECT_FALSE(oldest.metadata(a).is_ntt_form);
  const auto again = session.load_ciphertext(oldest.dump_ciphertext(a));
  EXPECT_EQ(content(session.dump_ciphertext(again)), content(session.dump_ciphertext(a)));
}

// A file with one word of its array changed.
std::vector<std::byte> with_word(std::vector<std::byte> file, std::size_t from_end, std::uint64_t word) {
  for (std::size_t i = 0; i < 8; ++i) {
    file[file.size() - 8 * from_end + i] = static_cast<std::byte>(word >> (8 * i) & 0xFF);
  }
  return file;
}

TEST(SealResidues, AreBelowTheirModuli) {
  const Vectors vectors("bgv");
  const auto file = stored(content(vectors.file("ct_b.seal")));
  constexpr std::uint64_t last_modulus = 68719230977;
  const Session& session = vectors.session();
  EXPECT_NO_THROW(static_cast<void>(session.load_ciphertext(with_word(file, 1, last_modulus - 1))));
  for (const std::uint64_t word :
       {last_modulus, last_modulus + 1, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    EXPECT_THROW(static_cast<void>(session.load_ciphertext(with_word(file, 1, word))), FormatError) << word;
  }
}

// A secret that is none: one whose values are all in range, but not of one ternary polynomial.
TEST(SealSecret, IsTernaryAndTheSameInEveryLimb) {
  const Vectors vectors("bfv");
  const Session& session = vectors.session();
  const auto file = stored(content(vectors.file("secret_key.seal")));
  EXPECT_NO_THROW(static_cast<void>(session.load_secret_key(file)));
  EXPECT_THROW(static_cast<void>(session.load_secret_key(with_word(file, 1, 5))), FormatError);
  // The last limb is that of another ternary secret: all zeros, or the same times -1.
  constexpr std::size_t limb = 4096;
  constexpr std::uint64_t last_modulus = 137438822401;
  auto zero = file;
  auto negative = file;
  for (std::size_t i = 1; i <= limb; ++i) {
    std::uint64_t word = 0;
    for (std::size_t byte = 8; byte-- > 0;) {
      word = word << 8 | std::to_integer<std::uint64_t>(file[file.size() - 8 * i + byte]);
    }
    zero = with_word(std::move(zero), i, 0);
    negative = with_word(std::move(negative), i, word == 0 ? 0 : last_modulus - word);
  }
  EXPECT_THROW(static_cast<void>(session.load_secret_key(zero)), FormatError);
  EXPECT_THROW(static_cast<void>(session.load_secret_key(negative)), FormatError);
}

}  // namespace
}  // namespace hemera::interop::seal::test
