#include "interop/openfhe/ciphertexts.hpp"

#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/binary_archive.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/parameters.hpp"
#include "interop/openfhe/polynomials.hpp"

namespace hemera::interop::openfhe {
namespace {

// The highest degree, as Hemera's own files have it.
constexpr std::uint32_t highest_degree = 255;
constexpr double largest_scale = 0x1p1000;
// A scale that is rounded by no more than integer factors of a scale's size is the level's.
constexpr double scale_rounding = 0x1p-16;

[[noreturn]] void refuse_ciphertext(const std::string& problem) {
  throw FormatError("OpenFHE ciphertext: " + problem);
}

rlwe::Encoding encoding_of(std::int32_t number, const rlwe::Parameters& parameters) {
  const auto encoding = static_cast<EncodingType>(number);
  const bool ckks = parameters.scheme() == rlwe::Scheme::ckks;
  if (ckks && encoding == EncodingType::ckks_packed) return rlwe::Encoding::slots;
  const bool packs = parameters.has_slots() && !parameters.has_fewer_slots();
  if (!ckks && encoding == EncodingType::packed && packs) return rlwe::Encoding::slots;
  if (!ckks && encoding == EncodingType::coefficients) return rlwe::Encoding::coefficients;
  refuse_ciphertext("encoding " + std::to_string(number) + " is none that Hemera has of its scheme");
}

rlwe::Metadata to_metadata(const CiphertextView& view, const rlwe::Parameters& parameters) {
  const bool ckks = parameters.scheme() == rlwe::Scheme::ckks;
  const std::size_t limbs = view.components.front().limbs.size();
  rlwe::Metadata meta;
  if (limbs < least_limbs(parameters)) {
    refuse_ciphertext("it has " + std::to_string(limbs) +
                      " moduli, which its plaintext modulus does not fit under");
  }
  meta.level = limbs - least_limbs(parameters);
  if (view.noise_scale_degree > highest_degree) {
    refuse_ciphertext("a noise-scale degree of " + std::to_string(view.noise_scale_degree));
  }
  meta.noise_scale_degree = static_cast<int>(view.noise_scale_degree);
  meta.encoding = encoding_of(view.encoding, parameters);
  if (ckks) {
    if (!(view.scaling_factor > 0 && view.scaling_factor <= largest_scale)) {
      refuse_ciphertext("a scaling factor of " + std::to_string(view.scaling_factor));
    }
    if (!std::has_single_bit(view.slots) || view.slots > parameters.max_slots()) {
      refuse_ciphertext(std::to_string(view.slots) + " slots, which is no power of two up to " +
                        std::to_string(parameters.max_slots()));
    }
    meta.scale = view.scaling_factor;
    meta.slots = view.slots;
  } else {
    meta.slots = parameters.degree();
    meta.noise_log2 = rlwe::unknown_noise;
  }
  if (parameters.scheme() == rlwe::Scheme::bgv) {
    const std::uint64_t t = parameters.plain_modulus();
    if (view.scaling_factor_int >= t || std::gcd(view.scaling_factor_int, t) != 1) {
      refuse_ciphertext("the scaling factor " + std::to_string(view.scaling_factor_int) +
                        " is no unit modulo " + std::to_string(t));
    }
    meta.correction = view.scaling_factor_int;
  }
  return meta;
}

void require_same_shape(const CiphertextView& a, const CiphertextView& b) {
  if (a.components.size() != b.components.size() ||
      a.components.front().limbs.size() != b.components.front().limbs.size() ||
      a.components.front().is_evaluation != b.components.front().is_evaluation ||
      a.noise_scale_degree != b.noise_scale_degree || a.scaling_factor != b.scaling_factor ||
      a.scaling_factor_int != b.scaling_factor_int || a.slots != b.slots || a.encoding != b.encoding) {
    throw MismatchError(
        "load_ciphertext: the ciphertexts of a batch differ in level, size, degree, scaling factor, slots or "
        "encoding; load them one by one");
  }
}

// A product of BFV that is not relinearized: OpenFHE leaves it in coefficient form, and adds no two forms.
bool is_in_coefficients(const rlwe::Ciphertext& ciphertext) {
  return ciphertext.context->scheme() == rlwe::Scheme::bfv && ciphertext.size() > 2;
}

// One element of a batch in the form that OpenFHE has it in; empty if that is the ciphertext's own.
poly::Poly transformed(const rlwe::Ciphertext& ciphertext, std::size_t element) {
  if (!is_in_coefficients(ciphertext)) return {};
  const rlwe::Context& context = *ciphertext.context;
  const poly::RnsBase& base = ciphertext.poly.base();
  poly::Poly result = context.make_poly(1, ciphertext.size(), base, poly::Form::coefficient);
  context.backend().inverse_transform(context.queue(), result.view(),
                                      ciphertext.poly.view().batches(element, 1), base);
  return result;
}

}  // namespace

CiphertextView view_of(const CiphertextObject& object) {
  CiphertextView view{.key_tag = object.header.tag,
                      .noise_scale_degree = object.noise_scale_degree,
                      .scaling_factor = object.scaling_factor,
                      .scaling_factor_int = object.scaling_factor_int,
                      .slots = object.slots,
                      .encoding = static_cast<std::int32_t>(object.encoding),
                      .components = {}};
  for (const DcrtPolynomial& component : object.components) view.components.push_back(view_of(component));
  return view;
}

rlwe::Ciphertext to_ciphertext(const rlwe::ContextPointer& context, std::span<const CiphertextView> views,
                               rlwe::BatchShape shape) {
  const CiphertextView& first = views.front();
  if (first.components.size() < 2) {
    refuse_ciphertext("it has " + std::to_string(first.components.size()) + " components, not 2 or more");
  }
  const std::size_t moduli = base_of(*context, first.components.front()).size();
  if (moduli > context->chain().all().size()) {
    refuse_ciphertext("it has " + std::to_string(moduli) +
                      " moduli, and ciphertexts of its context at most " +
                      std::to_string(context->chain().all().size()));
  }
  rlwe::Metadata meta = to_metadata(first, context->parameters());
  meta.batch = std::move(shape);
  rlwe::Ciphertext result = rlwe::make_ciphertext(context, std::move(meta), first.components.size());
  const poly::RnsBase& base = context->base(result.meta.level);
  const bool is_evaluation = first.components.front().is_evaluation;
  for (std::size_t i = 0; i < views.size(); ++i) {
    require_same_shape(first, views[i]);
    for (const PolynomialView& component : views[i].components) {
      if (component.is_evaluation != is_evaluation || base_of(*context, component) != base) {
        refuse_ciphertext("its components differ in form or moduli, or have not the moduli of a level");
      }
    }
    upload(*context, result.poly, i, views[i].components);
  }
  if (!is_evaluation) {
    const poly::PolyView view = result.poly.view();
    context->backend().forward_transform(context->queue(), view, view, base);
  }
  return result;
}

Metadata metadata_of(const rlwe::Ciphertext& ciphertext) {
  const rlwe::Context& context = *ciphertext.context;
  const rlwe::Metadata& meta = ciphertext.meta;
  const rlwe::RescalingPolicy& policy = context.scales().policy();
  if (meta.encoding == rlwe::Encoding::slots && context.parameters().has_fewer_slots()) {
    throw MismatchError("dump_ciphertext: OpenFHE has no slots of the plaintext modulus " +
                        std::to_string(context.parameters().plain_modulus()) +
                        " in this ring; encode in coefficients");
  }
  Metadata result{.level = context.top_level() - meta.level,
                  .noise_scale_degree = meta.noise_scale_degree,
                  .scaling_factor = meta.scale,
                  .scaling_factor_int = meta.correction,
                  .components = ciphertext.size(),
                  .limbs = ciphertext.poly.base().size(),
                  .is_evaluation = !is_in_coefficients(ciphertext)};
  if (context.scheme() == rlwe::Scheme::ckks) {
    result.slots = meta.slots;
    // Alignment multiplies by integers, whose rounding OpenFHE's scales do not show.
    const rlwe::LevelScale& level = policy.scales[meta.level];
    const double exact = meta.noise_scale_degree == 1   ? level.scale
                         : meta.noise_scale_degree == 2 ? level.product_scale
                                                        : double{meta.scale};
    if (std::abs(meta.scale / exact - 1) < scale_rounding) result.scaling_factor = exact;
  }
  return result;
}

void download(const rlwe::Ciphertext& ciphertext, std::span<const std::span<std::uint64_t>> limbs) {
  const rlwe::Context& context = *ciphertext.context;
  const poly::Poly other = transformed(ciphertext, 0);
  const std::size_t count = ciphertext.poly.base().size();
  for (std::size_t c = 0; c < ciphertext.size(); ++c) {
    download(context, other ? other : ciphertext.poly, 0, c, limbs.subspan(c * count, count));
  }
  context.queue().synchronize();
}

void write_ciphertext(io::Sink& sink, const rlwe::Ciphertext& ciphertext, std::size_t element,
                      CryptoObject header, Format format) {
  const rlwe::Context& context = *ciphertext.context;
  const Metadata metadata = metadata_of(ciphertext);
  auto object = std::make_shared<CiphertextObject>();
  object->header = std::move(header);
  object->slots = static_cast<std::uint32_t>(metadata.slots);
  object->level = static_cast<std::uint32_t>(metadata.level);
  object->noise_scale_degree = static_cast<std::uint32_t>(metadata.noise_scale_degree);
  object->scaling_factor = metadata.scaling_factor;
  object->scaling_factor_int = metadata.scaling_factor_int;
  object->encoding = context.scheme() == rlwe::Scheme::ckks              ? EncodingType::ckks_packed
                     : ciphertext.meta.encoding == rlwe::Encoding::slots ? EncodingType::packed
                                                                         : EncodingType::coefficients;
  object->metadata = std::make_shared<CiphertextObject::Metadata>();
  BaseParameters parameters(*object->header.context);
  const poly::Poly other = transformed(ciphertext, element);
  const poly::Poly& array = other ? other : ciphertext.poly;
  const std::size_t row = other ? 0 : element;
  for (std::size_t c = 0; c < ciphertext.size(); ++c) {
    object->components.push_back(format == Format::binary ? without_residues(context, array, parameters)
                                                          : download(context, array, row, c, parameters));
  }
  if (format == Format::json) {
    context.queue().synchronize();
    sink.write(write_file(object, format));
    return;
  }
  // Rows go from the device to their places in the file.
  write_binary(sink, object, [&](std::span<const std::span<std::byte>> places) {
    const std::size_t degree = context.degree();
    context.backend().download_rows(context.queue(), array.view().batches(row, 1), array.form(),
                                    [&](std::size_t first, std::span<const std::uint64_t> rows) {
                                      for (std::size_t i = 0; i < rows.size() / degree; ++i) {
                                        store_words(places[first + i], rows.subspan(i * degree, degree));
                                      }
                                    });
  });
}

}  // namespace hemera::interop::openfhe
