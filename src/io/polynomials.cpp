#include "io/polynomials.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/queue.hpp"
#include "io/compression.hpp"

namespace hemera::io {
namespace {

ResidueLayout layout_of(const poly::Poly& poly, std::size_t components, bool packed) {
  ResidueLayout layout;
  layout.word = poly.base().word();
  layout.form = poly.form();
  layout.packed = packed;
  layout.degree = poly.shape().degree;
  layout.batch = poly.shape().batch;
  layout.components = components;
  layout.moduli = poly.base().values();
  return layout;
}

// Residues on their way between an object and a file: from the processor's memory few enough that they stay
// in a core's cache, from a device as many as make a good copy.
constexpr std::size_t cached_words = std::size_t{1} << 15;
constexpr std::size_t copied_words = std::size_t{1} << 21;

// Calls body(first row, view of the rows, host memory for them) for all rows of the first components, in
// parts of a component; on the context's threads, where it has some.
template <typename View, typename Body>
void for_each_part(const rlwe::Context& context, const View& view, const Body& body) {
  const poly::PolyShape& shape = view.shape;
  auto* const cpu = dynamic_cast<runtime::CpuQueue*>(&context.queue());
  const std::size_t wanted = (cpu != nullptr ? cached_words : copied_words) / shape.degree;
  const std::size_t limbs = std::clamp<std::size_t>(wanted, 1, shape.limbs);
  const std::size_t parts = (shape.limbs + limbs - 1) / limbs;
  const std::size_t count = shape.batch * shape.components * parts;
  std::vector<std::vector<std::uint64_t>> host(
      cpu != nullptr ? std::min<std::size_t>(count, cpu->pool().threads()) : 1);
  const auto part = [&](std::size_t index, std::size_t slot) {
    const std::size_t polynomial = index / parts;
    const std::size_t first = index % parts * limbs;
    const std::size_t size = std::min(limbs, shape.limbs - first);
    host[slot].resize(limbs * shape.degree);
    body(polynomial * shape.limbs + first,
         view.batches(polynomial / shape.components, 1)
             .components(polynomial % shape.components, 1)
             .limbs(first, size),
         std::span(host[slot]).first(size * shape.degree));
  };
  constexpr std::size_t words_worth_waking_for = std::size_t{1} << 16;
  if (cpu != nullptr && shape.words() >= words_worth_waking_for) {
    cpu->pool().parallel_for_slots(count, part);
  } else {
    for (std::size_t index = 0; index < count; ++index) part(index, 0);
  }
}

// All rows, by way of the host.
void fill(std::span<std::byte> section, const ResidueLayout& layout, const rlwe::Context& context,
          const poly::Poly& poly) {
  ResidueWriter writer(section, layout);
  for_each_part(context, poly.view().components(0, layout.components),
                [&](std::size_t row, const poly::ConstPolyView& view, std::span<std::uint64_t> host) {
                  context.backend().download(context.queue(), host, view, poly.form());
                  context.queue().synchronize();
                  writer.rows(row, host);
                });
}

std::string text(poly::Form form) { return form == poly::Form::evaluation ? "evaluation" : "coefficient"; }

void require(const ResidueLayout& layout, const ExpectedResidues& expected) {
  if (layout.degree != expected.base.ring()->degree() && layout.degree != expected.fewer_entries) {
    throw FormatError("polynomials of degree " + std::to_string(layout.degree) +
                      " where the parameters have " + std::to_string(expected.base.ring()->degree()));
  }
  if (layout.moduli != expected.base.values()) {
    throw FormatError("the moduli of the residues are not those of the object's level");
  }
  if (layout.form != expected.form) {
    throw FormatError("residues in " + text(layout.form) + " form where the object has " +
                      text(expected.form) + " form");
  }
  if (layout.word != expected.base.word()) {
    throw FormatError("residues in words of " + std::to_string(static_cast<int>(layout.word)) +
                      " bytes where the base has " + std::to_string(static_cast<int>(expected.base.word())));
  }
  if (layout.batch != expected.batch) {
    throw FormatError("an array of " + std::to_string(layout.batch) + " elements where the object has " +
                      std::to_string(expected.batch));
  }
  const bool fits = expected.components ? layout.components == *expected.components : layout.components >= 2;
  if (!fits) {
    throw FormatError("an array of " + std::to_string(layout.components) +
                      " components where the object has " +
                      (expected.components ? std::to_string(*expected.components) : "at least 2"));
  }
}

}  // namespace

std::size_t section_bytes(const poly::Poly& poly, std::size_t components, const SaveOptions& options) {
  return layout_of(poly, components, options.packed).section_bytes();
}

void write_polynomials(Writer& writer, const rlwe::Context& context, const poly::Poly& poly,
                       std::size_t components, const SaveOptions& options) {
  if (options.compression_level != 0) {
    const ResidueLayout layout = layout_of(poly, components, false);
    std::vector<std::byte> words(layout.section_bytes());
    fill(words, layout, context, poly);
    const auto frames = compress(words, options.compression_level, Reader::expansion_limit);
    if (frames.size() < section_bytes(poly, components, options)) {
      writer.compressed_section(residues_tag, frames, words.size());
      return;
    }
  }
  const ResidueLayout layout = layout_of(poly, components, options.packed);
  writer.section(residues_tag, layout.section_bytes(),
                 [&](std::span<std::byte> section) { fill(section, layout, context, poly); });
}

poly::Poly read_polynomials(const Section& section, const rlwe::Context& context,
                            const ExpectedResidues& expected, const std::optional<poly::RandomStream>& seed) {
  const Payload payload = section.payload();
  const ResidueReader reader(payload.bytes());
  const ResidueLayout& layout = reader.layout();
  require_not_both(layout, section);
  require(layout, expected);
  if (seed && layout.batch > (std::uint64_t{1} << 32) - seed->first_polynomial) {
    throw FormatError("the stream of the seed ends before the " + std::to_string(layout.batch) +
                      " elements do");
  }

  poly::Poly poly = context.make_poly(layout.batch, layout.components + (seed ? 1U : 0U), expected.base,
                                      expected.form, runtime::Secrecy::open, layout.degree);
  const poly::PolyView view = poly.view();
  for_each_part(context, view.components(0, layout.components),
                [&](std::size_t row, const poly::PolyView& part, std::span<std::uint64_t> host) {
                  reader.rows(row, host);
                  context.backend().upload(context.queue(), part, host, layout.form);
                  context.queue().synchronize();
                });
  if (seed) {
    rlwe::expand_uniform_half(context, poly, *seed);
  }
  return poly;
}

}  // namespace hemera::io
