#include "io/polynomials.hpp"

#include <string>
#include <vector>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
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

ResidueLayout layout_of(const rlwe::Gadget& gadget, std::size_t components, bool packed) {
  const poly::RnsBase& base = gadget.modulus();
  return {.word = base.word(),
          .form = poly::Form::evaluation,
          .packed = packed,
          .degree = base.ring()->degree(),
          .batch = gadget.digits().size(),
          .components = components,
          .moduli = base.values()};
}

// The components of the writer's layout, from element `first` of its batch on.
void fill(ResidueWriter& writer, std::size_t first, const rlwe::Context& context,
          const poly::ConstPolyView& polynomials) {
  const ResidueLayout& layout = writer.layout();
  const std::size_t first_row = first * layout.components * layout.moduli.size();
  context.backend().download_rows(
      context.queue(), polynomials.components(0, layout.components), layout.form,
      [&](std::size_t row, std::span<const std::uint64_t> rows) { writer.rows(first_row + row, rows); });
}

void fill(std::span<std::byte> section, const ResidueLayout& layout, const rlwe::Context& context,
          const poly::Poly& poly) {
  ResidueWriter writer(section, layout);
  fill(writer, 0, context, poly.view());
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

// Component after component: the whole content, in addition to the residues, would be as much memory again.
void upload_compressed(ResidueStream& stream, const rlwe::Context& context, const poly::PolyView& out) {
  const ResidueLayout& layout = stream.layout();
  std::vector<std::uint64_t> residues(layout.moduli.size() * layout.degree);
  for (std::size_t element = 0; element < layout.batch; ++element) {
    for (std::size_t component = 0; component < layout.components; ++component) {
      for (std::size_t limb = 0; limb < layout.moduli.size(); ++limb) {
        stream.next(std::span(residues).subspan(limb * layout.degree, layout.degree));
      }
      context.backend().upload(context.queue(), out.batches(element, 1).components(component, 1), residues,
                               layout.form);
    }
  }
  stream.expect_end();
}

}  // namespace

std::size_t section_bytes(const rlwe::Gadget& gadget, std::size_t components, const SaveOptions& options) {
  return layout_of(gadget, components, options.packed).section_bytes();
}

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

void write_digits(Writer& writer, const rlwe::KeyMaker& key, std::size_t components,
                  const SaveOptions& options) {
  const rlwe::Context& context = *key.context();
  // One block of memory serves for keys of all gadgets.
  poly::Poly room = context.make_poly(1, 2, context.key_base(), poly::Form::evaluation);
  const poly::PolyView digit = room.view().limbs(0, key.gadget()->modulus().size());
  const ResidueLayout layout = layout_of(*key.gadget(), components, options.packed);
  writer.section(residues_tag, layout.section_bytes(), [&](std::span<std::byte> section) {
    ResidueWriter out(section, layout);
    for (std::size_t number = 0; number < layout.batch; ++number) {
      key.make(digit, number);
      fill(out, number, context, digit);
    }
  });
}

poly::Poly read_polynomials(const Section& section, const rlwe::Context& context,
                            const ExpectedResidues& expected, const std::optional<poly::RandomStream>& seed) {
  ResidueStream stream(section);
  const ResidueLayout& layout = stream.layout();
  require(layout, expected);
  if (seed && layout.batch > (std::uint64_t{1} << 32) - seed->first_polynomial) {
    throw FormatError("the stream of the seed ends before the " + std::to_string(layout.batch) +
                      " elements do");
  }

  poly::Poly poly = context.make_poly(layout.batch, layout.components + (seed ? 1U : 0U), expected.base,
                                      expected.form, runtime::Secrecy::open, layout.degree);
  const poly::PolyView given = poly.view().components(0, layout.components);
  if (section.compressed) {
    upload_compressed(stream, context, given);
  } else {
    const ResidueReader reader(section.stored);
    context.backend().upload_rows(
        context.queue(), given, layout.form,
        [&](std::size_t first, std::span<std::uint64_t> rows) { reader.rows(first, rows); });
  }
  if (seed) rlwe::expand_uniform_half(context, poly, *seed);
  return poly;
}

}  // namespace hemera::io
