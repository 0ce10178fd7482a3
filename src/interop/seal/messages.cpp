#include "interop/seal/messages.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "interop/seal/residues.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"
#include "schemes/integer/plaintext.hpp"

namespace hemera::interop::seal {
namespace {

using poly::Form;

[[noreturn]] void refuse(const std::string& problem) { throw FormatError("an object of SEAL: " + problem); }

void check_scale(SchemeNumber scheme, double scale) {
  if (scheme == SchemeNumber::ckks ? !(scale > 0 && std::isnormal(scale)) : scale != 1) {
    refuse("the scale " + std::to_string(scale) + " is none of the scheme");
  }
}

void require_slots_of_seal(const rlwe::Context& context, const rlwe::Metadata& meta, const char* operation) {
  if (meta.encoding != rlwe::Encoding::slots || !context.parameters().has_fewer_slots()) return;
  throw MismatchError(std::string(operation) + ": SEAL has no slots of the plaintext modulus " +
                      std::to_string(context.parameters().plain_modulus()) +
                      " in this ring; encode in coefficients");
}

}  // namespace

std::size_t Messages::level_of(const ParmsId& id, const char* what) const {
  if (const auto level = client_.levels.find(id)) return *level;
  if (id == client_.levels.key_id()) {
    throw MismatchError(std::string(what) + " is at the level of keys; load it as a key");
  }
  throw MismatchError(std::string(what) +
                      " has a parms_id of other encryption parameters than this session's");
}

rlwe::Metadata Messages::check(const CiphertextFields& fields) const {
  rlwe::Metadata meta;
  meta.level = level_of(fields.id, "the ciphertext");
  if (fields.degree != client_.parameters.degree || fields.moduli != client_.levels.fewest() + meta.level) {
    refuse("the degree or the number of moduli is not that of its parms_id");
  }
  const SchemeNumber scheme = client_.parameters.scheme;
  check_scale(scheme, fields.scale);
  const std::uint64_t t = client_.parameters.plain_modulus;
  if (scheme == SchemeNumber::bgv ? fields.correction >= t || std::gcd(fields.correction, t) != 1
                                  : fields.correction != 1) {
    refuse("the correction factor " + std::to_string(fields.correction) + " is none of the scheme");
  }
  meta.scale = fields.scale;
  meta.correction = fields.correction;
  meta.slots = client_.values;
  meta.encoding = client_.encoding;
  if (scheme != SchemeNumber::ckks) meta.noise_log2 = rlwe::unknown_noise;
  return meta;
}

void Messages::require_usual_form(const CiphertextFields& fields) const {
  if (client_.parameters.scheme == SchemeNumber::bgv || fields.is_evaluation == client_.is_evaluation())
    return;
  throw MismatchError(fields.is_evaluation
                          ? "the ciphertext of BFV is in NTT form; the client brings it back "
                            "by transform_from_ntt before it saves"
                          : "the ciphertext of CKKS is not in NTT form");
}

void Messages::read_words(Reader& in, const CiphertextFields& fields, const Reader::Nested& words,
                          const poly::PolyView& out, const poly::RnsBase& base) const {
  const Form form = fields.is_evaluation ? Form::evaluation : Form::coefficient;
  read_residues(in, *context_, out.components(0, fields.is_seeded ? 1 : fields.size), base, form);
  const auto seed = end_ciphertext(in, fields, words);
  in.expect_end();
  if (seed) expand_residues(*context_, out.components(1, 1), base, form, *seed);
  if (form == Form::coefficient) context_->backend().forward_transform(context_->queue(), out, out, base);
}

rlwe::Ciphertext Messages::load(std::span<const Source> files, rlwe::BatchShape shape) const {
  rlwe::Ciphertext result;
  for (std::size_t i = 0; i < files.size(); ++i) {
    Reader in(files[i].bytes(), "a ciphertext of SEAL");
    Reader::Nested words;
    const CiphertextFields fields = read_ciphertext(in, words);
    rlwe::Metadata meta = check(fields);
    require_usual_form(fields);
    if (i == 0) {
      meta.batch = shape;
      result = rlwe::make_ciphertext(context_, std::move(meta), fields.size);
    } else if (meta.level != result.meta.level || fields.size != result.size() ||
               meta.scale != result.meta.scale || meta.correction != result.meta.correction) {
      throw MismatchError(
          "load_ciphertexts: ciphertext " + std::to_string(i) +
          " has another level, size, scale or correction factor than the first; a batch has one "
          "of each");
    }
    read_words(in, fields, words, result.poly.view().batches(i, 1), context_->base(result.meta.level));
  }
  return result;
}

rlwe::Metadata Messages::check(const PlaintextFields& fields) const {
  if (is_ckks() != fields.is_evaluation()) {
    throw MismatchError(
        is_ckks() ? "the plaintext has no parms_id, so it is not of CKKS"
                  : "the plaintext is in NTT form, or of another scheme; the client saves it before "
                    "transform_to_ntt");
  }
  rlwe::Metadata meta;
  meta.slots = client_.values;
  meta.encoding = client_.encoding;
  meta.scale = fields.scale;
  meta.level = is_ckks() ? level_of(fields.id, "the plaintext") : context_->top_level();
  check_scale(client_.parameters.scheme, fields.scale);
  const std::uint64_t degree = client_.parameters.degree;
  if (is_ckks() ? fields.count != degree * context_->base(meta.level).size() : fields.count > degree) {
    refuse("the number of coefficients is not that of its parameters");
  }
  if (!is_ckks() && meta.encoding == rlwe::Encoding::coefficients && fields.count != 0)
    meta.slots = fields.count;
  return meta;
}

rlwe::Plaintext Messages::load_plaintext(std::span<const std::byte> file) const {
  Reader in(file, "a plaintext of SEAL");
  Reader::Nested words;
  const PlaintextFields fields = read_plaintext(in, words);
  rlwe::Metadata meta = check(fields);
  const poly::RnsBase& base = is_ckks() ? context_->base(meta.level) : context_->plain_base();
  const Form form = is_ckks() ? Form::evaluation : Form::coefficient;
  poly::Poly poly = context_->make_poly(1, 1, base, form, secrecy());
  if (is_ckks()) {
    read_residues(in, *context_, poly.view(), base, form);
  } else {
    read_coefficients(in, *context_, poly.view(), base, fields.count);
  }
  in.end_nested(words);
  in.expect_end();
  return {context_, std::move(meta), std::move(poly)};
}

rlwe::Ciphertext Messages::take(const CiphertextView& view) const {
  if (view.size < 2 || view.size > most_components) {
    refuse("a ciphertext has 2 to 16 components, not " + std::to_string(view.size));
  }
  rlwe::Ciphertext result = rlwe::make_ciphertext(context_,
                                                  check({.id = view.parms_id,
                                                         .is_evaluation = view.is_ntt_form,
                                                         .size = view.size,
                                                         .degree = client_.parameters.degree,
                                                         .moduli = view.coeff_modulus_count,
                                                         .scale = view.scale,
                                                         .correction = view.correction_factor}),
                                                  view.size);
  const poly::RnsBase& base = context_->base(result.meta.level);
  if (view.words.size() != view.size * base.size() * context_->degree()) {
    refuse("the number of words does not fit the size");
  }
  const Form form = view.is_ntt_form ? Form::evaluation : Form::coefficient;
  const poly::PolyView out = result.poly.view();
  take_residues(view.words, *context_, out, base, form);
  if (form == Form::coefficient) context_->backend().forward_transform(context_->queue(), out, out, base);
  return result;
}

poly::Poly Messages::message(const PlaintextView& view) const {
  const poly::RnsBase& base = context_->base(level_of(view.parms_id, "the plaintext"));
  if (view.words.size() != base.size() * context_->degree()) {
    refuse("the number of coefficients is not that of its parameters");
  }
  poly::Poly lifted = context_->make_poly(1, 1, base, Form::evaluation, secrecy());
  take_residues(view.words, *context_, lifted.view(), base, Form::evaluation);
  context_->backend().inverse_transform(context_->queue(), lifted.view(), lifted.view(), base);
  poly::Poly result = context_->make_poly(1, 1, context_->plain_base(), Form::coefficient, secrecy());
  context_->backend().convert(context_->queue(), result.view(), std::as_const(lifted).view(),
                              context_->exact_conversion(base, context_->plain_base()));
  return result;
}

rlwe::Plaintext Messages::take(const PlaintextView& view, std::optional<std::size_t> level) const {
  if (level) {
    rlwe::require_level(*context_, *level, "import_plaintext");
    if (is_ckks()) throw MismatchError("import_plaintext: a plaintext of CKKS has its level already");
  }
  const PlaintextFields fields{.id = view.parms_id, .count = view.words.size(), .scale = view.scale};
  rlwe::Plaintext result{context_, {}, {}};
  if (!is_ckks() && fields.is_evaluation()) {
    result.meta = check({.count = context_->degree(), .scale = view.scale});
    result.poly = message(view);
  } else {
    result.meta = check(fields);
    const poly::RnsBase& base = is_ckks() ? context_->base(result.meta.level) : context_->plain_base();
    const Form form = is_ckks() ? Form::evaluation : Form::coefficient;
    result.poly = context_->make_poly(1, 1, base, form, secrecy());
    std::vector<std::uint64_t> words(base.size() * context_->degree());
    const runtime::ZeroedAtEnd wiped{std::span(words)};
    std::copy(view.words.begin(), view.words.end(), words.begin());
    take_residues(words, *context_, result.poly.view(), base, form);
  }
  if (level) {
    const poly::ConstPolyView message = result.poly.view();
    result.lifted = std::make_shared<const rlwe::Plaintext::Lifted>(rlwe::Plaintext::Lifted{
        *level, integer::place_factors(*context_, std::span(&message, 1), *level, secrecy())});
  }
  return result;
}

void Messages::with_residues(const rlwe::Ciphertext& ciphertext, std::size_t index, Form form,
                             const std::function<void(const poly::ConstPolyView&)>& use) const {
  const poly::ConstPolyView view = ciphertext.poly.view().batches(index, 1);
  if (form == Form::evaluation) return use(view);
  const poly::RnsBase& base = context_->base(ciphertext.meta.level);
  poly::Poly coefficients = context_->make_poly(1, ciphertext.size(), base, Form::coefficient);
  context_->backend().inverse_transform(context_->queue(), coefficients.view(), view, base);
  use(std::as_const(coefficients).view());
}

void Messages::give(const rlwe::Ciphertext& ciphertext, std::span<std::uint64_t> words, Form form) const {
  const CiphertextFields fields = this->fields(ciphertext);
  if (words.size() != fields.size * fields.moduli * fields.degree || ciphertext.poly.shape().batch != 1) {
    throw MismatchError("export_ciphertext: there is room for " + std::to_string(words.size()) +
                        " words, which is not what one ciphertext of this size has");
  }
  with_residues(ciphertext, 0, form, [&](const poly::ConstPolyView& view) {
    give_residues(words, *context_, view, context_->base(ciphertext.meta.level), form);
  });
}

CiphertextFields Messages::fields(const rlwe::Ciphertext& ciphertext) const {
  rlwe::require_filled(ciphertext, "dump_ciphertext");
  rlwe::require_same_context(*ciphertext.context, *context_, "dump_ciphertext");
  if (ciphertext.size() < 2 || ciphertext.size() > most_components) {
    throw MismatchError("dump_ciphertext: SEAL holds ciphertexts of 2 to 16 components, and this one has " +
                        std::to_string(ciphertext.size()));
  }
  require_slots_of_seal(*context_, ciphertext.meta, "dump_ciphertext");
  return {.id = client_.levels.id(ciphertext.meta.level),
          .is_evaluation = client_.is_evaluation(),
          .size = ciphertext.size(),
          .degree = client_.parameters.degree,
          .moduli = client_.levels.fewest() + ciphertext.meta.level,
          .scale = ciphertext.meta.scale,
          .correction = ciphertext.meta.correction};
}

std::vector<std::byte> Messages::dump(const rlwe::Ciphertext& ciphertext, std::size_t index,
                                      Compression compression) const {
  const CiphertextFields fields = this->fields(ciphertext);
  Writer out(client_.minor_version);
  out.expect(ciphertext_bytes(fields));
  write_ciphertext(out, fields);
  const Form form = fields.is_evaluation ? Form::evaluation : Form::coefficient;
  with_residues(ciphertext, index, form, [&](const poly::ConstPolyView& view) {
    write_residues(out, *context_, view, context_->base(ciphertext.meta.level), form);
  });
  return out.finish(compression);
}

std::vector<std::byte> Messages::dump(const rlwe::Plaintext& plaintext, std::size_t index,
                                      Compression compression) const {
  rlwe::require_plaintext(*context_, plaintext, "dump_plaintext");
  require_slots_of_seal(*context_, plaintext.meta, "dump_plaintext");
  rlwe::require_certain(plaintext);
  Writer out(client_.minor_version);
  const rlwe::Metadata& meta = plaintext.meta;
  const std::uint64_t degree = client_.parameters.degree;
  if (!is_ckks()) {
    const std::uint64_t count = meta.encoding == rlwe::Encoding::coefficients ? meta.slots : degree;
    write_plaintext(out, {.id = {}, .count = count});
    write_coefficients(out, *context_, plaintext.poly.view().batches(index, 1), context_->plain_base(),
                       count);
    return out.finish(compression);
  }
  const poly::RnsBase& base = context_->base(meta.level);
  write_plaintext(out,
                  {.id = client_.levels.id(meta.level), .count = degree * base.size(), .scale = meta.scale});
  rlwe::with_all_entries(*context_, plaintext.poly, [&](const poly::ConstPolyView& view) {
    write_residues(out, *context_, view.batches(index, 1), base, Form::evaluation);
  });
  return out.finish(compression);
}

}  // namespace hemera::interop::seal
