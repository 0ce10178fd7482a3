#include "io/residues.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "hemera/runtime/error.hpp"
#include "io/allocation_guard.hpp"
#include "io/bit_packing.hpp"
#include "io/compression.hpp"
#include "refusals.hpp"

namespace hemera::io {
namespace {

// A set of bits read one by one: the definition in docs/file-format.md.
std::uint64_t bits_at(std::span<const std::byte> data, std::size_t first, unsigned count) {
  std::uint64_t value = 0;
  for (unsigned b = 0; b < count; ++b) {
    const std::size_t bit = first + b;
    const auto one = (std::to_integer<std::uint64_t>(data[bit / 8]) >> (bit % 8)) & 1;
    value |= one << b;
  }
  return value;
}

TEST(BitPacking, EveryWidthFollowsTheDefinitionAndRoundTrips) {
  std::mt19937_64 random(1);
  for (unsigned width = 1; width <= 64; ++width) {
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
    std::vector<std::uint64_t> values(128);
    for (std::uint64_t& value : values) value = random() % 8 == 0 ? mask : random() & mask;
    std::vector<std::byte> packed(values.size() / 8 * width);
    pack_bits(values, width, packed);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(bits_at(packed, i * width, width), values[i]) << width << " " << i;
    }
    std::vector<std::uint64_t> back(values.size());
    EXPECT_EQ(unpack_bits(packed, width, mask, back), std::ranges::find(values, mask) == values.end());
    EXPECT_EQ(back, values);
  }
}

TEST(BitPacking, ALimitIsSeenAtEveryPlace) {
  constexpr std::uint64_t limit = 1000003;
  const unsigned width = residue_bits(limit);
  std::vector<std::uint64_t> values(64, limit - 1);
  std::vector<std::byte> packed(8 * width);
  std::vector<std::uint64_t> back(64);
  pack_bits(values, width, packed);
  EXPECT_TRUE(unpack_bits(packed, width, limit, back));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = limit;
    pack_bits(values, width, packed);
    EXPECT_FALSE(unpack_bits(packed, width, limit, back)) << i;
    values[i] = 0;
  }
}

TEST(BitPacking, WidthsOfModuli) {
  EXPECT_EQ(residue_bits(2), 1U);
  EXPECT_EQ(residue_bits(3), 2U);
  EXPECT_EQ(residue_bits(1024), 10U);
  EXPECT_EQ(residue_bits(1025), 11U);
  EXPECT_EQ(residue_bits((std::uint64_t{1} << 50) - 27), 50U);
}

ResidueLayout a_layout(bool packed, poly::Word word) {
  ResidueLayout layout;
  layout.word = word;
  layout.form = poly::Form::evaluation;
  layout.packed = packed;
  layout.degree = 1024;
  layout.batch = 3;
  layout.components = 2;
  layout.moduli = word == poly::Word::u64 ? std::vector<std::uint64_t>{(std::uint64_t{1} << 50) - 27, 2,
                                                                       (std::uint64_t{1} << 61) - 1}
                                          : std::vector<std::uint64_t>{(std::uint64_t{1} << 32) - 5, 65537};
  return layout;
}

std::vector<std::uint64_t> random_element(const ResidueLayout& layout, std::mt19937_64& random) {
  std::vector<std::uint64_t> out;
  for (std::size_t component = 0; component < layout.components; ++component) {
    for (const std::uint64_t modulus : layout.moduli) {
      for (std::size_t i = 0; i < layout.degree; ++i) {
        out.push_back(i == 0 ? modulus - 1 : random() % modulus);
      }
    }
  }
  return out;
}

// The section of these elements, one for each of the batch.
std::vector<std::byte> section_with(const ResidueLayout& layout,
                                    std::span<const std::vector<std::uint64_t>> elements) {
  std::vector<std::byte> section(layout.section_bytes());
  ResidueWriter writer(section, layout);
  const std::size_t rows = layout.components * layout.moduli.size();
  for (std::size_t b = 0; b < layout.batch; ++b) writer.rows(b * rows, elements[b]);
  return section;
}

Section section_of(std::span<const std::byte> data) {
  Section section;
  section.tag = residues_tag;
  section.raw_bytes = data.size();
  section.stored = data;
  return section;
}

TEST(Residues, CompressedOnesAreCheckedInLittleMemory) {
  ResidueLayout layout = a_layout(false, poly::Word::u64);
  layout.batch = 400;
  const std::vector<std::byte> raw =
      section_with(layout, std::vector(layout.batch, std::vector<std::uint64_t>(layout.element_words())));
  ASSERT_GT(raw.size(), std::size_t{10} << 20);
  const auto section_from = [&](const std::vector<std::byte>& frames, std::size_t raw_bytes) {
    Section section = section_of(frames);
    section.compressed = true;
    section.raw_bytes = raw_bytes;
    return section;
  };
  const auto frames = compress(raw, 3, Reader::expansion_limit);
  {
    const test::AllocationGuard guard;
    EXPECT_EQ(check_residues(section_from(frames, raw.size())), layout);
    EXPECT_LT(guard.total(), std::size_t{1} << 16);
  }
  // The last residue, other sizes than announced, cut frames.
  std::vector<std::byte> bad(raw.begin(), raw.end());
  bad.back() = std::byte{0xFF};
  EXPECT_THROW(
      static_cast<void>(check_residues(section_from(compress(bad, 3, Reader::expansion_limit), raw.size()))),
      FormatError);
  auto longer = bad = std::vector<std::byte>(raw.begin(), raw.end());
  longer.push_back(std::byte{0});
  bad.pop_back();
  for (const auto& other : {longer, bad}) {
    const auto compressed = compress(other, 3, Reader::expansion_limit);
    EXPECT_THROW(static_cast<void>(check_residues(section_from(compressed, raw.size()))), FormatError);
    EXPECT_THROW(static_cast<void>(check_residues(section_from(compressed, other.size()))), FormatError);
  }
  auto cut = frames;
  cut.resize(cut.size() / 2);
  EXPECT_THROW(static_cast<void>(check_residues(section_from(cut, raw.size()))), FormatError);
  for (const std::size_t bytes : {0, 3, 23, 24, 30}) {
    const auto head = std::vector<std::byte>(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_THROW(static_cast<void>(check_residues(section_of(head))), FormatError) << bytes;
  }
}

TEST(Residues, RoundTripInEveryStorage) {
  std::mt19937_64 random(2);
  for (const bool packed : {false, true}) {
    for (const poly::Word word : {poly::Word::u32, poly::Word::u64}) {
      const ResidueLayout layout = a_layout(packed, word);
      std::vector<std::vector<std::uint64_t>> elements;
      for (std::size_t b = 0; b < layout.batch; ++b) elements.push_back(random_element(layout, random));
      std::vector<std::byte> section = section_with(layout, elements);
      const std::size_t rows = layout.components * layout.moduli.size();
      std::size_t bits = 0;
      for (const std::uint64_t modulus : layout.moduli) {
        bits += packed ? residue_bits(modulus) : 8 * static_cast<unsigned>(word);
      }
      EXPECT_EQ(section.size(), 24 + 8 * layout.moduli.size() + 3 * 2 * 1024 * bits / 8);
      const ResidueReader reader(section);
      EXPECT_EQ(reader.layout(), layout);
      EXPECT_EQ(check_residues(section_of(section)), layout);
      std::vector<std::uint64_t> back(layout.element_words());
      for (const std::size_t b : {2, 0, 1}) {
        reader.rows(b * rows, back);
        EXPECT_EQ(back, elements[b]);
      }
      EXPECT_THROW(reader.rows(3 * rows, back), MismatchError);
      EXPECT_THROW(reader.rows(2 * rows + 1, back), MismatchError);
      EXPECT_THROW(reader.rows(0, std::span(back).first(8)), MismatchError);

      // Rows in any parts and order.
      std::vector<std::byte> again(section.size());
      ResidueWriter writer(again, layout);
      for (std::size_t row = layout.batch * rows; row-- > 0;) {
        writer.rows(row, std::span(elements[row / rows]).subspan(row % rows * 1024, 1024));
      }
      EXPECT_EQ(again, section);
      EXPECT_THROW(writer.rows(2 * rows + 1, elements[0]), MismatchError);
      EXPECT_THROW(writer.rows(0, std::span(elements[0]).first(8)), MismatchError);
      EXPECT_THROW(ResidueWriter(std::span(again).first(again.size() - 1), layout), MismatchError);
    }
  }
}

TEST(Residues, AResidueThatIsNotBelowItsModulusIsNeitherWrittenNorRead) {
  std::mt19937_64 random(3);
  const ResidueLayout layout = a_layout(false, poly::Word::u64);
  auto element = random_element(layout, random);
  const std::vector<std::byte> section = section_with(layout, std::vector(layout.batch, element));
  const std::size_t rows = layout.components * layout.moduli.size();
  const std::size_t data = section.size() - layout.batch * layout.element_bytes();
  for (std::size_t limb = 0; limb < layout.moduli.size(); ++limb) {
    auto unused = section;
    ResidueWriter refusing(unused, layout);
    for (const std::uint64_t wrong : {layout.moduli[limb], std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
      auto bad = element;
      bad[limb * 1024 + 77] = wrong;
      EXPECT_THROW(refusing.rows(0, bad), MismatchError) << wrong;
    }
    // The same residue in the section's bytes, in the last element.
    auto damaged = section;
    const std::size_t at = data + 2 * layout.element_bytes() + 8 * (limb * 1024 + 77);
    for (unsigned i = 0; i < 8; ++i) {
      damaged[at + i] = static_cast<std::byte>((layout.moduli[limb] >> (8 * i)) & 0xFF);
    }
    const ResidueReader reader(damaged);
    std::vector<std::uint64_t> back(layout.element_words());
    EXPECT_NO_THROW(reader.rows(rows, back));
    EXPECT_EQ(tests::refusal<FormatError>([&] { reader.rows(2 * rows, back); }),
              "a residue in element 2, component 0, limb " + std::to_string(limb) +
                  " is not below its modulus " + std::to_string(layout.moduli[limb]));
    EXPECT_THROW(static_cast<void>(check_residues(section_of(damaged))), FormatError);
  }
}

TEST(Residues, LayoutsOutOfRangeAreRefusedBeforeAnyAllocation) {
  std::mt19937_64 random(4);
  const ResidueLayout layout = a_layout(true, poly::Word::u64);
  const std::vector<std::byte> good =
      section_with(layout, std::vector(layout.batch, random_element(layout, random)));
  struct Change {
    std::size_t at;
    std::size_t bytes;
    std::uint64_t value;
  };
  const std::uint64_t huge = ~std::uint64_t{0};
  const std::array<Change, 20> changes = {{{0, 1, 5},
                                           {0, 1, 4},
                                           {1, 1, 2},
                                           {2, 1, 2},
                                           {2, 1, 0},
                                           {3, 1, 1},
                                           {4, 4, 512},
                                           {4, 4, 2048},
                                           {4, 4, 1025},
                                           {4, 4, 1 << 18},
                                           {8, 8, 0},
                                           {8, 8, 2},
                                           {8, 8, huge},
                                           {8, 8, std::uint64_t{1} << 50},
                                           {16, 4, 0},
                                           {16, 4, huge},
                                           {20, 4, 0},
                                           {20, 4, huge},
                                           {24, 8, std::uint64_t{1} << 61},
                                           {24, 8, 1}}};
  for (const Change& change : changes) {
    auto section = good;
    for (unsigned i = 0; i < change.bytes; ++i) {
      section[change.at + i] = static_cast<std::byte>((change.value >> (8 * i)) & 0xFF);
    }
    const test::AllocationGuard guard;
    EXPECT_THROW(ResidueReader{section}, FormatError) << change.at << " " << change.value;
    EXPECT_LT(guard.total(), 4096U) << change.at << " " << change.value;
  }
  for (std::size_t size = 0; size < 60; ++size) {
    EXPECT_THROW(ResidueReader{std::span(good).first(size)}, FormatError) << size;
  }
  EXPECT_THROW(ResidueReader{std::span(good).first(good.size() - 1)}, FormatError);
  ResidueLayout bad = layout;
  bad.degree = 100;
  EXPECT_THROW(ResidueWriter({}, bad), ParameterError);
  bad = layout;
  bad.moduli.clear();
  EXPECT_THROW(ResidueWriter({}, bad), ParameterError);
  bad = layout;
  bad.batch = std::size_t{1} << 60;
  EXPECT_THROW(ResidueWriter({}, bad), ParameterError);
}

}  // namespace
}  // namespace hemera::io
