#include "multiparty/residues.hpp"

#include <bit>
#include <cstdint>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "multiparty/packing.hpp"

namespace hemera::multiparty {
namespace {

int bits_of(const poly::RnsBase& base, std::size_t limb) {
  return static_cast<int>(std::bit_width(base.modulus(limb).value() - 1));
}

// N is a multiple of 8: rows end with a byte.
std::size_t row_bytes(const poly::RnsBase& base, std::size_t limb) {
  return base.ring()->degree() / 8 * static_cast<std::size_t>(bits_of(base, limb));
}

}  // namespace

std::size_t residue_bytes(const poly::RnsBase& base, std::size_t polynomials) {
  std::size_t bytes = 0;
  for (std::size_t limb = 0; limb < base.size(); ++limb) bytes += row_bytes(base, limb);
  return polynomials * bytes;
}

void append_residues(const rlwe::Context& context, const poly::ConstPolyView& from, const poly::RnsBase& base,
                     std::vector<std::byte>& to) {
  std::vector<std::uint64_t> words(from.shape.words());
  context.backend().download(context.queue(), words, from, poly::Form::evaluation);
  context.queue().synchronize();
  const std::size_t degree = base.ring()->degree(), limbs = base.size();
  std::size_t at = to.size();
  to.resize(at + residue_bytes(base, words.size() / (degree * limbs)));
  for (std::size_t row = 0; row * degree < words.size(); ++row) {
    const std::size_t limb = row % limbs;
    const std::span<std::byte> whole(to);
    Packer packed(whole.subspan(at, row_bytes(base, limb)), bits_of(base, limb));
    for (const std::uint64_t word : std::span(words).subspan(row * degree, degree)) packed.put(word);
    at += packed.finish();
  }
}

void read_residues(const poly::RnsBase& base, std::span<const std::byte> from, std::span<std::uint64_t> out) {
  const std::size_t degree = base.ring()->degree(), limbs = base.size();
  std::size_t at = 0;
  for (std::size_t row = 0; row * degree < out.size(); ++row) {
    const std::size_t limb = row % limbs;
    const std::size_t bytes = row_bytes(base, limb);
    const PackedValues packed(from.subspan(at, bytes), bits_of(base, limb));
    at += bytes;
    const std::uint64_t modulus = base.modulus(limb).value();
    std::uint64_t too_large = 0;
    for (std::size_t i = 0; i < degree; ++i) {
      const std::uint64_t word = out[row * degree + i] = packed[i];
      too_large |= static_cast<std::uint64_t>(word >= modulus);
    }
    if (too_large != 0) throw FormatError("a message of a group has a residue that is not below its modulus");
  }
}

}  // namespace hemera::multiparty
