// Sizes of objects inside of others, and ends of compressed streams: each is what it says, to the byte; and
// the generator of seeds.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "interop/seal/blake2b.hpp"
#include "interop/seal/generator.hpp"
#include "interop/seal/objects.hpp"
#include "interop/seal/samples.hpp"
#include "interop/seal/vectors.hpp"

namespace hemera::interop::seal::test {
namespace {

using Bytes = std::vector<std::byte>;

// Where headers of 16 bytes stand in the content: magic number, header's size, SEAL 4, not compressed.
std::vector<std::size_t> inner_headers(const Bytes& bytes) {
  std::vector<std::size_t> found;
  const std::byte begin[] = {std::byte{0x5E}, std::byte{0xA1}, std::byte{16}, std::byte{4}};
  for (auto at = bytes.begin();;) {
    at = std::search(at, bytes.end(), std::begin(begin), std::end(begin));
    if (at == bytes.end()) return found;
    const auto zero = [&](std::ptrdiff_t i) { return at[i] == std::byte{0}; };
    if (bytes.end() - at >= 16 && zero(5) && zero(6) && zero(7) && zero(15)) {
      found.push_back(static_cast<std::size_t>(at - bytes.begin()));
    }
    ++at;
  }
}

std::uint64_t word_at(const Bytes& bytes, std::size_t at) {
  std::uint64_t word = 0;
  for (std::size_t i = 8; i-- > 0;) word = word << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
  return word;
}

Bytes with_word(Bytes bytes, std::size_t at, std::uint64_t word) {
  for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::byte>(word >> (8 * i) & 0xFF);
  return bytes;
}

class SealContainer : public ::testing::TestWithParam<const char*> {
 protected:
  SealContainer() : vectors(GetParam()) {
    const Session& session = vectors.session();
    const auto add = [&](const std::string& name, Bytes file, auto load) {
      samples.push_back({name, content(file), [load](std::span<const std::byte> bytes) {
                           load(bytes);
                           return Bytes{};
                         }});
    };
    add("parameters", vectors.file(vectors.names("parms.").front()),
        [this](const Source& file) { return load_parameters(file, vectors.options()); });
    for (const std::string& name : {vectors.names("ct_a.").front(), std::string("ct_b.seal")}) {
      add(name, vectors.file(name), [&session](const Source& file) { return session.load_ciphertext(file); });
    }
    add("plaintext", vectors.file("plaintext_m.seal"),
        [&session](const Source& file) { return session.load_plaintext(file); });
    add("secret key", vectors.file("secret_key.seal"),
        [&session](const Source& file) { return session.load_secret_key(file); });
    add("public key", vectors.file(vectors.names("public_key.").front()),
        [this](const Source& file) { vectors.session().load_keys({.public_key = file}); });
    add("relinearization keys", vectors.file(vectors.names("relin_keys.").front()),
        [this](const Source& file) { vectors.session().load_keys({.relinearization = file}); });
    const rlwe::EvaluationKeys turns = rlwe::generate_keys(
        vectors.secret(), {.public_key = false, .relinearization = false, .rotations = {1}});
    add("Galois keys", *session.dump_keys(turns, Compression::none).galois,
        [this](const Source& file) { vectors.session().load_keys({.galois = file}); });
  }

  Vectors vectors;
  std::vector<Sample> samples;  // with contents for files
};

INSTANTIATE_TEST_SUITE_P(, SealContainer, ::testing::ValuesIn(schemes),
                         [](const auto& test) { return std::string(test.param); });

// Larger and smaller by a byte or by much, at each object inside: moduli, arrays, seeds, digits of keys.
TEST_P(SealContainer, SizesOfInnerObjectsAreThoseOfTheirContent) {
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name);
    EXPECT_NO_THROW(sample.reload(stored(sample.file)));
    const auto headers = inner_headers(sample.file);
    ASSERT_FALSE(headers.empty());
    // The first and the last ones of many alike.
    for (std::size_t i = 0; i < headers.size(); ++i) {
      if (i >= 2 && i + 3 < headers.size()) continue;
      const std::uint64_t size = word_at(sample.file, headers[i] + 8);
      for (const std::uint64_t wrong :
           {size + 1, size + 8, size - 1, size - 8, std::uint64_t{0}, ~std::uint64_t{0}}) {
        EXPECT_THROW(sample.reload(stored(with_word(sample.file, headers[i] + 8, wrong))), FormatError)
            << i << ": " << wrong << " for " << size;
        EXPECT_THROW(describe(stored(with_word(sample.file, headers[i] + 8, wrong))), FormatError)
            << i << ": " << wrong << " for " << size;
      }
    }
  }
}

// An object inside is a plain SEAL 4 object: each byte of its header but the minor version is looked at.
TEST_P(SealContainer, HeadersOfInnerObjectsAreChecked) {
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name);
    const auto headers = inner_headers(sample.file);
    for (const std::size_t header : {headers.front(), headers.back()}) {
      for (std::size_t at = 0; at < 8; ++at) {
        Bytes changed = sample.file;
        changed[header + at] ^= std::byte{1};
        if (at == 4) {
          EXPECT_NO_THROW(sample.reload(stored(changed)));
        } else {
          EXPECT_THROW(sample.reload(stored(changed)), FormatError) << header << " " << at;
        }
      }
    }
  }
}

// zlib's checksum is the last 4 bytes, Zstandard's frames have their own end: nothing is missing or too much.
TEST_P(SealContainer, CompressedStreamsEndWithTheirObjects) {
  for (const Sample& sample : samples) {
    for (const Compression compression : {Compression::zlib, Compression::zstd}) {
      SCOPED_TRACE(sample.name + " " + std::to_string(static_cast<int>(compression)));
      Writer out(4);
      out.bytes(sample.file);
      const Bytes file = out.finish(compression);
      EXPECT_NO_THROW(sample.reload(file));
      const auto refused = [&](Bytes changed, const std::string& what) {
        reseal(changed);
        EXPECT_THROW(sample.reload(changed), FormatError) << what;
        if (sample.file.size() < 250'000) {
          EXPECT_THROW(describe(changed), FormatError) << what;
        }
      };
      for (const std::size_t missing : {1U, 3U, 4U, 5U}) {
        refused(Bytes(file.begin(), file.end() - static_cast<std::ptrdiff_t>(missing)),
                std::to_string(missing) + " bytes are missing");
      }
      for (const std::size_t more : {1U, 5000U}) {
        Bytes longer = file;
        longer.resize(file.size() + more, std::byte{0});
        refused(longer, std::to_string(more) + " zeros follow");
      }
      Bytes twice = file;
      twice.insert(twice.end(), file.begin() + Header::bytes, file.end());
      refused(twice, "the stream stands there twice");
      // The content goes on inside of the stream.
      Writer longer(4);
      longer.bytes(sample.file);
      longer.u8(0);
      refused(longer.finish(compression), "a byte more");
      // And it ends before the object does.
      Writer shorter(4);
      shorter.bytes(std::span(sample.file).first(sample.file.size() - 1));
      refused(shorter.finish(compression), "a byte less");
      if (compression == Compression::zstd) continue;
      for (std::size_t byte = 1; byte <= 4; ++byte) {
        Bytes damaged = file;
        damaged[file.size() - byte] ^= std::byte{1};
        refused(damaged, "the checksum is another");
      }
    }
  }
}

// What zlib itself writes at every level, and reads.
TEST(SealStreams, AreThoseOfZlib) {
  const Bytes inside = content(Vectors("bfv").file("plaintext_m.seal"));
  const Vectors vectors("bfv");
  const Bytes expected = content(
      vectors.session().dump_plaintext(vectors.session().load_plaintext(stored(inside)), Compression::none));
  for (int level = 0; level <= 9; ++level) {
    Bytes packed(compressBound(inside.size()));
    uLongf size = packed.size();
    ASSERT_EQ(compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                        reinterpret_cast<const Bytef*>(inside.data()), inside.size(), level),
              Z_OK);
    Bytes file = stored(std::span(packed).first(size));
    file[5] = std::byte{1};
    EXPECT_EQ(content(vectors.session().dump_plaintext(vectors.session().load_plaintext(file))), expected)
        << level;
  }
  for (const Compression compression : {Compression::none, Compression::zlib, Compression::zstd}) {
    const Bytes file =
        vectors.session().dump_plaintext(vectors.session().load_plaintext(stored(inside)), compression);
    EXPECT_EQ(word_at(file, 8), file.size());
    if (compression != Compression::zlib) continue;
    Bytes unpacked(expected.size() + 1);
    uLongf size = unpacked.size();
    ASSERT_EQ(
        uncompress(reinterpret_cast<Bytef*>(unpacked.data()), &size,
                   reinterpret_cast<const Bytef*>(file.data() + Header::bytes), file.size() - Header::bytes),
        Z_OK);
    unpacked.resize(size);
    EXPECT_EQ(unpacked, expected);
  }
}

// --- SEAL's limits: the last number that is taken, and the first that is not. ---

Bytes parameters_of(std::uint64_t degree, std::size_t moduli, int scheme = 1) {
  EncryptionParameters parameters{SchemeNumber::bfv, degree, std::vector<std::uint64_t>(moduli, 65537), 257};
  Writer out(4);
  write_parameters(out, parameters);
  Bytes file = out.finish(Compression::none);
  file[16] = static_cast<std::byte>(scheme);
  return file;
}

TEST(SealLimits, OfParameters) {
  const auto degree_of = [](const Bytes& file) { return describe(file)->fields.at(1).second; };
  for (std::uint64_t degree = 1; degree <= std::uint64_t{1} << 17; degree *= 2) {
    EXPECT_EQ(degree_of(parameters_of(degree, 2)), std::to_string(degree));
  }
  for (const std::uint64_t degree :
       {std::uint64_t{0}, std::uint64_t{3}, (std::uint64_t{1} << 17) - 1, (std::uint64_t{1} << 17) + 1,
        std::uint64_t{1} << 18, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    EXPECT_THROW(describe(parameters_of(degree, 2)), FormatError) << degree;
    EXPECT_THROW(load_parameters(parameters_of(degree, 2)), FormatError) << degree;
  }
  for (const std::size_t count : {1U, 2U, 255U, 256U}) {
    EXPECT_EQ(describe(parameters_of(1024, count))->kind, "encryption parameters") << count;
  }
  for (const std::size_t count : {0U, 257U}) {
    EXPECT_THROW(describe(parameters_of(1024, count)), FormatError) << count;
  }
  for (const int scheme : {1, 2, 3}) {
    EXPECT_NO_THROW(describe(parameters_of(1024, 2, scheme)));
  }
  for (const int scheme : {0, 4, 255}) {
    EXPECT_THROW(describe(parameters_of(1024, 2, scheme)), FormatError) << scheme;
  }
}

// Parameters of degree 2^17, the largest of SEAL and Hemera.
TEST(SealLimits, ParametersOfTheLargestDegreeLoad) {
  const EncryptionParameters parameters{
      SchemeNumber::ckks, std::uint64_t{1} << 17, {1152921504606584833, 1152921504598720513}, 0};
  Writer out(4);
  write_parameters(out, parameters);
  const rlwe::Parameters found = load_parameters(out.finish(Compression::none), {.scale = 0x1p40});
  EXPECT_EQ(found.degree(), std::size_t{1} << 17);
  EXPECT_EQ(found.literal().levels, (std::vector<std::vector<std::uint64_t>>{{1152921504606584833}}));
}

TEST(SealLimits, OfCiphertexts) {
  const auto file_of = [](std::uint64_t size, std::uint64_t degree, std::uint64_t moduli, std::size_t words) {
    const CiphertextFields fields{.id = {}, .size = size, .degree = degree, .moduli = moduli};
    Writer out(4);
    write_ciphertext(out, fields);
    out.words(std::vector<std::uint64_t>(words));
    return out.finish(Compression::none);
  };
  for (const std::uint64_t size : {2U, 3U, 15U, 16U}) {
    const auto found = describe(file_of(size, 8, 3, size * 24));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->fields.at(1).second, std::to_string(size));
  }
  for (const std::uint64_t size : {0U, 1U, 17U}) {
    EXPECT_THROW(describe(file_of(size, 8, 3, size * 24)), FormatError) << size;
  }
  EXPECT_EQ(describe(file_of(2, 1, 256, 512))->fields.at(4).second, "256");
  EXPECT_THROW(describe(file_of(2, 1, 257, 514)), FormatError);
  EXPECT_THROW(describe(file_of(2, 1024, 0, 0)), FormatError);
  EXPECT_EQ(describe(file_of(2, std::uint64_t{1} << 17, 1, std::size_t{1} << 18))->fields.at(3).second,
            "131072");
  EXPECT_THROW(describe(file_of(2, (std::uint64_t{1} << 17) + 1, 1, (std::size_t{1} << 18) + 2)),
               FormatError);
}

std::vector<std::byte> hash(const std::string& message, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  blake2b(out, std::as_bytes(std::span(message.data(), message.size())));
  return out;
}

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

// RFC 7693, appendix A, and the lengths around a block (the digests of Python's hashlib).
TEST(SealBlake2b, DigestsAreKnown) {
  EXPECT_EQ(hex(hash("abc", 64)),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
            "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
  EXPECT_EQ(hex(hash("", 32)), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(hex(hash(std::string(128, 'x'), 32)),
            "164ffb7089bae6f5a62fb0795e751dc9e88eac92e1a5b2fafe93a25abf2d9c3b");
  EXPECT_EQ(hex(hash(std::string(129, 'x'), 32)),
            "03b0758fa71d249c846c2304a2b9996e6ae66ffa7e5528f9e612e089a360fc8d");
}

// SHAKE-256 with a modulus that refuses a ninth of all words, and one that refuses hardly any; from an
// independent program. (Blake2xb: the vectors hold seeds beside what SEAL made of them.)
TEST(SealSeeds, WordsThatAreNotUniformAreReplaced) {
  Seed seed{.kind = GeneratorKind::shake256};
  for (std::size_t i = 0; i < seed.bytes.size(); ++i) seed.bytes[i] = static_cast<std::byte>(i);
  const std::vector<std::uint64_t> moduli{2049638230412172402, 65537};
  std::vector<std::uint64_t> words(1200);
  expand(seed, moduli, words);
  EXPECT_EQ(words[0], 0x14f57a747a59da32U);
  EXPECT_EQ(words[599], 0x961ecc003498517U);
  EXPECT_EQ(words[600], 0xd9bbU);
  EXPECT_EQ(words[1199], 0x9d79U);
  EXPECT_EQ(std::accumulate(words.begin(), words.end(), std::uint64_t{0}), 0xdfcd331cf8cd786eU);
}

}  // namespace
}  // namespace hemera::interop::seal::test
