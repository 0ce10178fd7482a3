// The RESI section: an array of residue polynomials [batch, component, limb, N] that describes itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hemera/io/container.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::io {

inline constexpr Tag residues_tag{"RESI"};

/// Extents, moduli and storage of an array of residues. Evaluation form is in standard order.
struct ResidueLayout {
  poly::Word word = poly::Word::u64;
  poly::Form form = poly::Form::coefficient;
  /// Each residue in the bits of its modulus, instead of in a word.
  bool packed = true;
  std::size_t degree = 0;
  std::size_t batch = 0;
  std::size_t components = 0;
  std::vector<std::uint64_t> moduli;  // one a limb

  /// Residues of one element of the batch.
  [[nodiscard]] std::size_t element_words() const { return components * moduli.size() * degree; }
  /// Bytes of one element of the batch, and of the whole section.
  [[nodiscard]] std::size_t element_bytes() const;
  [[nodiscard]] std::size_t section_bytes() const;
  [[nodiscard]] std::size_t limb_bytes(std::size_t limb) const;

  friend bool operator==(const ResidueLayout&, const ResidueLayout&) = default;
};

/// Writes a RESI section into memory of its size. Does not own the bytes.
class ResidueWriter {
 public:
  /// Writes the layout. Throws ParameterError for one that no file may have, MismatchError unless `section`
  /// has section_bytes().
  ResidueWriter(std::span<std::byte> section, ResidueLayout layout);

  [[nodiscard]] const ResidueLayout& layout() const { return layout_; }
  /// Rows of N residues, one a limb, from row `first` of the array [batch, component, limb] on; in any order,
  /// and from any threads at once. The section is whole when all are written. Throws MismatchError for a
  /// residue that is not below its modulus: a file with it would not load.
  void rows(std::size_t first, std::span<const std::uint64_t> residues);

 private:
  ResidueLayout layout_;
  std::span<std::byte> residues_;
  std::vector<std::size_t> limb_begin_;
};

/// Reads a RESI section: the layout and every size are checked on construction, before anything is allocated
/// for the residues. FormatError for all that is wrong. Does not own the bytes.
class ResidueReader {
 public:
  explicit ResidueReader(std::span<const std::byte> section);

  [[nodiscard]] const ResidueLayout& layout() const { return layout_; }
  /// Rows of N residues, one a limb, from row `first` of the array [batch, component, limb] on, from any
  /// threads at once. Throws FormatError for a residue that is not below its modulus.
  void rows(std::size_t first, std::span<std::uint64_t> out) const;

 private:
  ResidueLayout layout_;
  std::span<const std::byte> data_;
  std::vector<std::size_t> limb_begin_;
};

/// Reads a RESI section limb after limb, in memory for one limb, whatever the section expands to. The layout
/// and every size are checked on construction. FormatError for all that is wrong. Does not own the bytes.
class ResidueStream {
 public:
  explicit ResidueStream(const Section& section);
  ~ResidueStream();
  ResidueStream(const ResidueStream&) = delete;
  ResidueStream& operator=(const ResidueStream&) = delete;

  [[nodiscard]] const ResidueLayout& layout() const { return layout_; }
  /// The N residues of the next limb of the array [batch, component, limb]. Throws FormatError for a residue
  /// that is not below its modulus, and after the last limb.
  void next(std::span<std::uint64_t> out);
  /// Throws FormatError where bytes follow the last limb. To be called after it.
  void expect_end();

 private:
  struct Bytes;

  std::unique_ptr<Bytes> bytes_;
  ResidueLayout layout_;
  std::size_t row_ = 0;
};

/// The layout of a RESI section, with every size and every residue checked. FormatError for all that is
/// wrong. Takes memory for one limb, whatever the section expands to.
ResidueLayout check_residues(const Section& section);

}  // namespace hemera::io
