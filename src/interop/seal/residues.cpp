#include "interop/seal/residues.hpp"

#include <span>
#include <string>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::interop::seal {
namespace {

void require_below(std::span<const std::uint64_t> words, std::uint64_t modulus) {
  // Without a branch, as they may be a secret's. The modulus is below 2^63.
  std::uint64_t above = 0;
  for (const std::uint64_t word : words) above |= (modulus - 1 - word) | word;
  if (above >> 63 != 0) {
    throw FormatError("an object of SEAL has a residue that is not below its modulus " +
                      std::to_string(modulus));
  }
}

// One component.
void upload(std::span<const std::uint64_t> words, const rlwe::Context& context, const poly::PolyView& out,
            const poly::RnsBase& base, poly::Form form) {
  const std::size_t degree = context.degree();
  for (std::size_t limb = 0; limb < base.size(); ++limb) {
    require_below(words.subspan(limb * degree, degree), base.modulus(limb).value());
  }
  context.backend().upload(context.queue(), out, words, form);
}

}  // namespace

void read_residues(Reader& in, const rlwe::Context& context, const poly::PolyView& out,
                   const poly::RnsBase& base, poly::Form form) {
  std::vector<std::uint64_t> words(context.degree() * base.size());
  const runtime::ZeroedAtEnd wiped{std::span(words)};
  for (std::size_t component = 0; component < out.shape.components; ++component) {
    in.words(words);
    upload(words, context, out.components(component, 1), base, form);
  }
}

void take_residues(std::span<const std::uint64_t> words, const rlwe::Context& context,
                   const poly::PolyView& out, const poly::RnsBase& base, poly::Form form) {
  const std::size_t count = context.degree() * base.size();
  for (std::size_t component = 0; component < out.shape.components; ++component) {
    upload(words.subspan(component * count, count), context, out.components(component, 1), base, form);
  }
}

void give_residues(std::span<std::uint64_t> words, const rlwe::Context& context,
                   const poly::ConstPolyView& in, const poly::RnsBase& base, poly::Form form) {
  const std::size_t count = context.degree() * base.size();
  for (std::size_t component = 0; component < in.shape.components; ++component) {
    context.backend().download(context.queue(), words.subspan(component * count, count),
                               in.components(component, 1), form);
  }
  context.queue().synchronize();
}

void expand_residues(const rlwe::Context& context, const poly::PolyView& out, const poly::RnsBase& base,
                     poly::Form form, const Seed& seed) {
  std::vector<std::uint64_t> words(context.degree() * base.size());
  expand(seed, base.values(), words);
  context.backend().upload(context.queue(), out, words, form);
}

void write_residues(Writer& out, const rlwe::Context& context, const poly::ConstPolyView& in,
                    const poly::RnsBase& base, poly::Form form) {
  std::vector<std::uint64_t> words(context.degree() * base.size());
  const runtime::ZeroedAtEnd wiped{std::span(words)};
  for (std::size_t component = 0; component < in.shape.components; ++component) {
    context.backend().download(context.queue(), words, in.components(component, 1), form);
    context.queue().synchronize();
    out.words(words);
  }
}

void read_coefficients(Reader& in, const rlwe::Context& context, const poly::PolyView& out,
                       const poly::RnsBase& base, std::size_t count) {
  std::vector<std::uint64_t> words(context.degree());
  const runtime::ZeroedAtEnd wiped{std::span(words)};
  in.words(std::span(words).first(count));
  upload(words, context, out, base, poly::Form::coefficient);
}

void write_coefficients(Writer& out, const rlwe::Context& context, const poly::ConstPolyView& in,
                        const poly::RnsBase& base, std::size_t count) {
  std::vector<std::uint64_t> words(context.degree() * base.size());
  const runtime::ZeroedAtEnd wiped{std::span(words)};
  context.backend().download(context.queue(), words, in, poly::Form::coefficient);
  context.queue().synchronize();
  out.words(std::span(words).first(count));
}

}  // namespace hemera::interop::seal
