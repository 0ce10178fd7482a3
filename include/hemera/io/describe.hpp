// Descriptions of files, for people: no context needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hemera::io {

struct SectionDescription {
  std::string tag;
  std::uint64_t stored_bytes = 0;
  std::uint64_t raw_bytes = 0;
  bool compressed = false;
};

struct Description {
  /// "ciphertext", "secret key", ...
  std::string kind;
  unsigned version = 0;
  /// 64 hexadecimal digits.
  std::string fingerprint;
  std::uint64_t bytes = 0;
  std::vector<SectionDescription> sections;
  /// Names and values in a sensible order: "scheme", "level", "scale", ... as the kind has them. Nothing
  /// secret.
  std::vector<std::pair<std::string, std::string>> fields;
};

/// Checks a whole file as loading does, as far as that needs no context (checksums, sizes, every residue
/// against the modulus that the file gives), and describes it. Throws FormatError, which names the fault.
Description describe(std::span<const std::byte> file);
Description describe(const std::filesystem::path& path);

/// The memory that loading a ciphertext's file takes.
struct CiphertextExtents {
  /// The shape of the batch; empty: a single ciphertext.
  std::vector<std::size_t> batch;
  /// Components, with that of a seed.
  std::size_t components = 0;
  /// Bytes of all residues, as words of 8 bytes.
  std::uint64_t bytes = 0;
  /// Whether the residues are compressed in the file.
  bool compressed = false;
};

/// Reads a ciphertext's extents and none of its residues; takes memory for the fields alone. Throws
/// MismatchError for a file of another kind, FormatError where checksums, fields or sizes do not fit.
CiphertextExtents ciphertext_extents(std::span<const std::byte> file);

}  // namespace hemera::io
