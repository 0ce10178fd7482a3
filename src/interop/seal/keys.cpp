#include "interop/seal/keys.hpp"

#include <algorithm>
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/seal/residues.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::interop::seal {
namespace {

using poly::Form;
using rlwe::KeyRole;

const char* const relinearization_name = "relinearization keys of SEAL";
const char* const galois_name = "Galois keys of SEAL";
constexpr std::uint64_t first_power = 2;  // that the first place of relinearization keys switches
constexpr std::uint64_t highest_power = most_components - 1;

// Throws unless the secret's coefficients are -1, 0 or 1, the same in every limb; without a branch on them.
void require_ternary(Reader& in, const rlwe::Context& context, const poly::Poly& secret) {
  const poly::RnsBase& base = secret.base();
  const std::size_t degree = context.degree();
  poly::Poly coefficients = context.make_poly(1, 1, base, Form::coefficient, runtime::Secrecy::secret);
  context.backend().inverse_transform(context.queue(), coefficients.view(), secret.view(), base);
  std::vector<std::uint64_t> words(degree * base.size());
  const runtime::ZeroedAtEnd wiped{std::span(words)};
  context.backend().download(context.queue(), words, std::as_const(coefficients).view(), Form::coefficient);
  context.queue().synchronize();
  std::uint64_t wrong = 0;
  for (std::size_t limb = 0; limb < base.size(); ++limb) {
    const std::uint64_t modulus = base.modulus(limb).value();
    for (std::size_t i = 0; i < degree; ++i) {
      const std::uint64_t first = words[i];
      const std::uint64_t word = words[limb * degree + i];
      const std::uint64_t last = base.modulus(0).value() - 1;
      wrong |= static_cast<std::uint64_t>(!((word == 0) & (first == 0)) & !((word == 1) & (first == 1)) &
                                          !((word == modulus - 1) & (first == last)));
    }
  }
  if (wrong != 0) in.fail("its coefficients are not -1, 0 and 1");
}

}  // namespace

void Keys::require_id(const ParmsId& id, const char* what) const {
  if (id == client_.levels.key_id()) return;
  if (client_.levels.find(id)) {
    throw MismatchError(std::string(what) + " is at a level of data; it is no key but a message");
  }
  throw MismatchError(std::string(what) +
                      " has a parms_id of other encryption parameters than this session's");
}

CiphertextFields Keys::pair_fields() const {
  return {.id = client_.levels.key_id(),
          .is_evaluation = true,
          .size = 2,
          .degree = client_.parameters.degree,
          .moduli = client_.parameters.moduli.size()};
}

void Keys::require_pair(const CiphertextFields& fields, const char* what) const {
  require_id(fields.id, what);
  if (!fields.is_evaluation || fields.size != 2 || fields.degree != client_.parameters.degree ||
      fields.moduli != client_.parameters.moduli.size() || fields.scale != 1 || fields.correction != 1) {
    throw FormatError(std::string(what) + ": the fields are not those of a key of its parameters");
  }
}

void Keys::read_pair(Reader& in, const poly::PolyView& out, const char* what) const {
  Reader::Nested words;
  const CiphertextFields fields = read_ciphertext(in, words);
  require_pair(fields, what);
  const poly::RnsBase& base = context_->key_base();
  read_residues(in, *context_, out.components(0, fields.is_seeded ? 1 : 2), base, Form::evaluation);
  const auto seed = end_ciphertext(in, fields, words);
  if (seed) expand_residues(*context_, out.components(1, 1), base, Form::evaluation, *seed);
}

void Keys::write_pair(Writer& out, const poly::ConstPolyView& in) const {
  write_ciphertext(out, pair_fields());
  write_residues(out, *context_, in, context_->key_base(), Form::evaluation);
}

rlwe::SecretKey Keys::load_secret_key(std::span<const std::byte> file) const {
  Reader in(file, "a secret key of SEAL");
  Reader::Nested words;
  const PlaintextFields fields = read_plaintext(in, words);
  if (!fields.is_evaluation()) {
    throw MismatchError("the source holds a plaintext, which load_plaintext takes, and no secret key");
  }
  require_id(fields.id, "the secret key");
  const poly::RnsBase& base = context_->key_base();
  if (fields.count != client_.parameters.degree * base.size() || fields.scale != 1) {
    in.fail("the fields are not those of a secret key of its parameters");
  }
  rlwe::SecretKey key{context_, context_->make_poly(1, 1, base, Form::evaluation, runtime::Secrecy::secret)};
  read_residues(in, *context_, key.poly.view(), base, Form::evaluation);
  in.end_nested(words);
  in.expect_end();
  require_ternary(in, *context_, key.poly);
  return key;
}

rlwe::PublicKey Keys::load_public_key(std::span<const std::byte> file) const {
  Reader in(file, "a public key of SEAL");
  rlwe::PublicKey key{context_, context_->make_poly(1, 2, context_->key_base(), Form::evaluation),
                      std::nullopt};
  read_pair(in, key.poly.view(), "the public key");
  in.expect_end();
  return key;
}

rlwe::GadgetPointer Keys::gadget() const { return context_->gadget(context_->top_level()); }

void Keys::require_length(std::uint64_t length, const char* what) const {
  if (length <= client_.parameters.degree) return;
  throw FormatError(std::string(what) + ": there are " + std::to_string(length) +
                    " places for keys, more than the degree " + std::to_string(client_.parameters.degree));
}

void Keys::load_places(std::span<const std::byte> file, const char* what, bool may_be_empty,
                       const std::function<void(std::uint64_t place, poly::Poly key)>& take) const {
  Reader in(file, what);
  ParmsId id;
  in.bytes(id);
  require_id(id, what);
  const std::uint64_t length = in.u64();
  require_length(length, what);
  for (std::uint64_t place = 0; place < length; ++place) {
    const std::uint64_t count = in.u64();
    if (count == 0 && may_be_empty) continue;
    poly::Poly key = make_key(count, what);
    for (std::size_t digit = 0; digit < count; ++digit) {
      const Reader::Nested nested = in.begin_nested();
      read_pair(in, key.view().batches(digit, 1), what);
      in.end_nested(nested);
    }
    take(place, std::move(key));
  }
  in.expect_end();
}

std::vector<std::byte> Keys::dump_places(std::span<const Place> places, std::uint64_t length,
                                         Compression compression) const {
  const CiphertextFields fields = pair_fields();
  const std::size_t digits = client_.levels.most();
  Writer out(client_.minor_version);
  out.expect(sizeof(ParmsId) + 8 * (length + 1) + places.size() * digits * ciphertext_bytes(fields));
  out.bytes(client_.levels.key_id());
  out.u64(length);
  auto next = places.begin();
  for (std::uint64_t place = 0; place < length; ++place) {
    if (next == places.end() || next->number != place) {
      out.u64(0);
      continue;
    }
    out.u64(digits);
    const poly::Poly turned_key = next->element == 1 ? poly::Poly() : turned(next->key->poly, next->element);
    const poly::Poly& key = next->element == 1 ? next->key->poly : turned_key;
    for (std::size_t digit = 0; digit < digits; ++digit) {
      out.nested_header(ciphertext_bytes(fields));
      write_pair(out, key.view().batches(digit, 1));
    }
    ++next;
  }
  return out.finish(compression);
}

poly::Poly Keys::turned(const poly::Poly& key, std::uint64_t element) const {
  const poly::PolyShape& shape = key.shape();
  poly::Poly result = context_->make_poly(shape.batch, shape.components, key.base(), Form::evaluation);
  rlwe::with_wide_words(*context_, key, [&](const poly::ConstPolyView& view) {
    context_->backend().automorphism(context_->queue(), result.view(), view, element, Form::evaluation,
                                     key.base());
  });
  return result;
}

poly::Poly Keys::make_key(std::uint64_t digits, const char* what) const {
  const std::size_t primes = client_.levels.most();
  if (client_.parameters.moduli.size() < 2) {
    throw FormatError(std::string(what) + ": encryption parameters of one prime have no keys that switch");
  }
  if (digits != primes) {
    throw FormatError(std::string(what) + ": a key of " + std::to_string(digits) +
                      " digits, where there are " + std::to_string(primes) + " data primes" +
                      (digits == 0 ? "; are these Galois keys?" : ""));
  }
  return context_->make_poly(digits, 2, gadget()->modulus(), Form::evaluation);
}

void Keys::add_relinearization(std::uint64_t place, poly::Poly key, rlwe::EvaluationKeys& keys) const {
  // The first place is that of s^2; SEAL fills them up to the last.
  if (place + first_power > highest_power) {
    throw FormatError(std::string(relinearization_name) +
                      ": there are more than products need; are these Galois keys?");
  }
  keys.add({.power = static_cast<std::uint32_t>(place + first_power)},
           std::make_shared<const rlwe::SwitchingKey>(rlwe::SwitchingKey{
               context_, gadget(), rlwe::stored_key(*context_, std::move(key)), std::nullopt}));
}

// SEAL's key of an element g goes from s(X^g) to s, as SEAL applies X -> X^g before it switches. Under X ->
// X^(1/g) it is the key from s to s(X^(1/g)) that is applied before the automorphism.
void Keys::add_galois(std::uint64_t place, const poly::Poly& key, rlwe::EvaluationKeys& keys) const {
  if (place == 0) {
    throw FormatError(std::string(galois_name) + ": place 0 has a key; are these relinearization keys?");
  }
  const std::uint64_t element = 2 * place + 1;
  keys.add(
      KeyRole::galois(element),
      std::make_shared<const rlwe::SwitchingKey>(rlwe::SwitchingKey{
          context_, gadget(), rlwe::stored_key(*context_, turned(key, inverse(element))), std::nullopt}));
}

void Keys::load_relinearization(std::span<const std::byte> file, rlwe::EvaluationKeys& keys) const {
  // SEAL makes the keys of s^2, s^3, ... up to the last place.
  load_places(file, relinearization_name, false,
              [&](std::uint64_t place, poly::Poly key) { add_relinearization(place, std::move(key), keys); });
}

void Keys::load_galois(std::span<const std::byte> file, rlwe::EvaluationKeys& keys) const {
  load_places(file, galois_name, true,
              [&](std::uint64_t place, const poly::Poly& key) { add_galois(place, key, keys); });
}

poly::Poly Keys::take_key(const std::vector<CiphertextView>& digits, const char* what) const {
  poly::Poly key = make_key(digits.size(), what);
  const poly::RnsBase& base = context_->key_base();
  for (std::size_t digit = 0; digit < digits.size(); ++digit) {
    const CiphertextView& view = digits[digit];
    require_pair({.id = view.parms_id,
                  .is_evaluation = view.is_ntt_form,
                  .size = view.size,
                  .degree = client_.parameters.degree,
                  .moduli = view.coeff_modulus_count,
                  .scale = view.scale,
                  .correction = view.correction_factor},
                 what);
    if (view.words.size() != 2 * base.size() * context_->degree()) {
      throw FormatError(std::string(what) + ": the number of words does not fit the size");
    }
    take_residues(view.words, *context_, key.view().batches(digit, 1), base, Form::evaluation);
  }
  return key;
}

void Keys::take_relinearization(const KeyPlaces& places, rlwe::EvaluationKeys& keys) const {
  require_length(places.size(), relinearization_name);
  for (std::size_t place = 0; place < places.size(); ++place) {
    add_relinearization(place, take_key(places[place], relinearization_name), keys);
  }
}

void Keys::take_galois(const KeyPlaces& places, rlwe::EvaluationKeys& keys) const {
  require_length(places.size(), galois_name);
  for (std::size_t place = 0; place < places.size(); ++place) {
    if (!places[place].empty()) add_galois(place, take_key(places[place], galois_name), keys);
  }
}

// Modulo 2N.
std::uint64_t Keys::inverse(std::uint64_t element) const {
  // Newton's iteration modulo 2^64: x is correct modulo 8, and each step doubles the bits.
  std::uint64_t x = element;
  for (int step = 0; step < 5; ++step) x *= 2 - element * x;
  return x & (2 * client_.parameters.degree - 1);
}

const rlwe::SwitchingKey& Keys::find(const rlwe::EvaluationKeys& keys, const KeyRole& role) const {
  const auto key = keys.find(role, gadget()->primes());
  if (key == nullptr) {
    throw MismatchError(
        "dump_keys: a key has a gadget of its own or serves lower levels alone, and SEAL's have one digit "
        "for each "
        "data prime, at all levels; generate it without galois_level");
  }
  return *key;
}

std::vector<std::byte> Keys::dump(const rlwe::SecretKey& key, Compression compression) const {
  rlwe::require_filled(key, "dump_secret_key");
  rlwe::require_same_context(*key.context, *context_, "dump_secret_key");
  const PlaintextFields fields{.id = client_.levels.key_id(),
                               .count = client_.parameters.degree * context_->key_base().size()};
  Writer out(client_.minor_version);
  out.expect(sizeof(ParmsId) + 4 * 8 + Header::bytes + 8 * fields.count);
  write_plaintext(out, fields);
  write_residues(out, *context_, key.poly.view(), context_->key_base(), Form::evaluation);
  return out.finish(compression);
}

std::vector<std::byte> Keys::dump(const rlwe::PublicKey& key, Compression compression) const {
  rlwe::require_filled(key, "dump_keys");
  rlwe::require_same_context(*key.context, *context_, "dump_keys");
  if (key.poly.base() != context_->key_base()) {
    throw MismatchError("dump_keys: the public key lacks primes that SEAL's have");
  }
  Writer out(client_.minor_version);
  out.expect(ciphertext_bytes(pair_fields()));
  write_pair(out, key.poly.view());
  return out.finish(compression);
}

void Keys::require_places(const rlwe::EvaluationKeys& keys) {
  for (const auto& [role, of_role] : keys.switching) {
    if (role.galois_element != 1 && role == KeyRole::galois(role.galois_element)) continue;
    if (role != KeyRole{.power = role.power} || role.power < first_power || role.power > highest_power) {
      throw MismatchError("dump_keys: a key of a power or between secrets that SEAL has no place for");
    }
    if (role.power > first_power && !keys.has({.power = role.power - 1})) {
      throw MismatchError("dump_keys: SEAL holds relinearization keys of s^2, s^3, ... without a gap");
    }
  }
}

std::optional<std::vector<std::byte>> Keys::dump_relinearization(const rlwe::EvaluationKeys& keys,
                                                                 Compression compression) const {
  std::vector<Place> places;
  for (std::uint32_t power = first_power; keys.has({.power = power}); ++power) {
    places.push_back({.number = power - first_power, .key = &find(keys, {.power = power})});
  }
  if (places.empty()) return std::nullopt;
  return dump_places(places, places.size(), compression);
}

std::optional<std::vector<std::byte>> Keys::dump_galois(const rlwe::EvaluationKeys& keys,
                                                        Compression compression) const {
  std::vector<Place> places;
  for (const std::uint64_t element : keys.galois_elements()) {
    places.push_back(
        {.number = element / 2, .key = &find(keys, KeyRole::galois(element)), .element = element});
  }
  if (places.empty()) return std::nullopt;
  // SEAL leaves room for every element.
  return dump_places(places, client_.parameters.degree, compression);
}

}  // namespace hemera::interop::seal
