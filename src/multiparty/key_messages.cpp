#include "hemera/multiparty/key_messages.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "multiparty/prf.hpp"
#include "multiparty/residues.hpp"
#include "rlwe/fresh_randomness.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/restriction.hpp"

namespace hemera::multiparty {
namespace {

using poly::Form;
using runtime::Secrecy;

constexpr std::uint32_t key_message_magic = 0x31474D48;  // "HMG1"

bool is_product(const rlwe::KeyNeed& need) { return need.role.power == 2; }

void require_role(const rlwe::KeyRole& role) {
  const bool known = role == rlwe::KeyRole::relinearization() ||
                     (role == rlwe::KeyRole::galois(role.galois_element) && role.galois_element != 1);
  if (known) return;
  throw ParameterError(
      "a group makes public, Galois and relinearization keys, not those of bootstraps and of products with "
      "images; refresh by decrypting and encrypting anew, or choose parameters for the whole circuit");
}

// A key's polynomials in sums: [digit, component, limb, N].
poly::Poly zeros(const rlwe::Context& context, std::size_t batch, std::size_t components,
                 const poly::RnsBase& base) {
  poly::Poly sum = context.make_poly(batch, components, base, Form::evaluation);
  context.backend().fill_zero(context.queue(), sum.view());
  return sum;
}

void add_to(const rlwe::Context& context, const poly::PolyView& sum, const poly::ConstPolyView& term,
            const poly::RnsBase& base) {
  context.backend().add(context.queue(), sum, sum, term, base);
}

bool has_default_gadget(const rlwe::Context& context, const rlwe::KeyNeed& need) {
  const rlwe::Parameters& parameters = context.parameters();
  return need.gadget == parameters.default_gadget(parameters.highest_user_level());
}

// "galois", element, or "relin"; and the digest of the gadget where it is not the default one.
Fields name_of(const rlwe::Context& context, const rlwe::KeyNeed& need) {
  Fields name = is_product(need) ? Fields("relin") : Fields("galois").number(need.role.galois_element);
  if (has_default_gadget(context, need)) return name;
  runtime::ByteWriter out;
  out.u64s(need.gadget.base);
  out.u64s(need.gadget.special);
  for (const auto& digit : need.gadget.digits) out.u64s(digit);
  out.u32(static_cast<std::uint32_t>(need.gadget.window_bits));
  return name.digest(runtime::sha256(out.view()));
}

}  // namespace

struct KeyMessages::Sums {
  // A key that is made: what it is called, and the sums of the messages.
  struct Key {
    rlwe::KeyNeed need;
    rlwe::GadgetPointer gadget;
    Fields name;
    poly::Poly first;   // Galois: [digit, 1, limb, N]; relinearization: the h, [digit, 2, limb, N]
    poly::Poly second;  // relinearization: [digit, 1, limb, N]

    [[nodiscard]] const poly::RnsBase& base() const { return gadget->modulus(); }
    [[nodiscard]] poly::Poly& of(int round) { return round == 1 ? first : second; }
  };

  poly::Poly public_key;  // [1, 1, limb, N]
  std::vector<Key> keys;

  [[nodiscard]] std::size_t bytes(const rlwe::Context& context, int round) {
    std::size_t all = round == 1 ? residue_bytes(context.public_key_base(), 1) : 0;
    for (Key& key : keys) {
      if (round == 1 || is_product(key.need)) {
        const poly::PolyShape& shape = key.of(round).shape();
        all += residue_bytes(key.base(), shape.batch * shape.components);
      }
    }
    return all;
  }
};

KeyMessages::~KeyMessages() = default;

KeyMessages::KeyMessages(rlwe::ContextPointer context, Group group, const Sha256Digest& attempt,
                         std::size_t member, std::vector<Piece> pieces, std::vector<rlwe::KeyNeed> needs)
    : context_(std::move(context)),
      group_(std::move(group)),
      attempt_(attempt),
      pieces_(std::move(pieces)),
      sends_(group_.sent_by(member)),
      sums_(std::make_unique<Sums>()) {
  rlwe::require_filled(context_, "KeyMessages");
  group_.require(*context_);
  require_held(group_.access, member, pieces_);
  sums_->public_key = zeros(*context_, 1, 1, context_->public_key_base());
  std::ranges::sort(needs, [](const rlwe::KeyNeed& a, const rlwe::KeyNeed& b) {
    return std::tie(a.role, a.gadget) < std::tie(b.role, b.gadget);
  });
  for (std::size_t i = 0; i < needs.size(); ++i) {
    require_role(needs[i].role);
    if (i > 0 && needs[i] == needs[i - 1]) throw ParameterError("a group's keys have one need twice");
    rlwe::GadgetPointer gadget = context_->gadget(needs[i].gadget);
    rlwe::require_security(*context_, *gadget, context_->parameters().literal().secret);
    const std::size_t digits = gadget->digits().size();
    Sums::Key key{needs[i], gadget, name_of(*context_, needs[i]), {}, {}};
    key.first = zeros(*context_, digits, is_product(needs[i]) ? 2 : 1, gadget->modulus());
    if (is_product(needs[i])) key.second = zeros(*context_, digits, 1, gadget->modulus());
    sums_->keys.push_back(std::move(key));
  }
}

int KeyMessages::rounds() const {
  return std::ranges::any_of(sums_->keys, [](const Sums::Key& key) { return is_product(key.need); }) ? 2 : 1;
}

const Piece& KeyMessages::own(std::size_t piece) const {
  const auto found = std::ranges::find(pieces_, piece, &Piece::number);
  if (found == pieces_.end() || std::ranges::find(sends_, piece) == sends_.end()) {
    throw ParameterError("this member does not send messages of piece " + std::to_string(piece));
  }
  return *found;
}

void KeyMessages::require_round(int round) const {
  if (round < 1 || round > rounds()) {
    throw ParameterError("there is no round " + std::to_string(round) + " of these keys");
  }
  if (round == 2 && !has_all(added_, 1)) {
    throw MismatchError("round 2 answers the sums of round 1, whose messages are not all there");
  }
}

bool KeyMessages::has_all(const std::map<At, Sha256Digest>& of, int round) const {
  for (std::size_t piece = 0; piece < group_.access.pieces(); ++piece) {
    if (!of.contains({round, piece})) return false;
  }
  return true;
}

Sha256Digest KeyMessages::digest(int round, std::size_t piece) {
  require_round(round);
  const Piece& mine = own(piece);
  const At at{round, piece};
  if (!messages_.contains(at)) {
    std::vector<std::byte> message = computed(round, mine);
    digests_[at] = runtime::sha256(message);
    messages_[at] = std::move(message);
    add(round, piece, messages_[at]);
  }
  return digests_[at];
}

void KeyMessages::accept_digest(int round, std::size_t piece, const Sha256Digest& digest) {
  require_round(round);
  if (piece >= group_.access.pieces()) {
    throw ParameterError("there is no piece " + std::to_string(piece));
  }
  if (std::ranges::find(sends_, piece) != sends_.end() && !messages_.contains({round, piece})) {
    throw MismatchError("a digest of this member's own message came before it was made");
  }
  const auto [known, is_new] = digests_.try_emplace({round, piece}, digest);
  if (!is_new && known->second != digest) {
    throw MismatchError("piece " + std::to_string(piece) + " has two messages in round " +
                        std::to_string(round) +
                        ": whoever sends it says two things; start another attempt without it");
  }
}

std::vector<std::size_t> KeyMessages::false_digests(int round) const {
  require_round(round);
  if (!has_all(digests_, round)) throw MismatchError("digests are compared when those of all are there");
  std::vector<std::size_t> found;
  for (const Piece& piece : pieces_) {
    if (std::ranges::find(sends_, piece.number()) != sends_.end()) continue;
    const Sha256Digest digest = runtime::sha256(computed(round, piece));
    if (digest != digests_.at({round, piece.number()})) found.push_back(piece.number());
  }
  return found;
}

const std::vector<std::byte>& KeyMessages::message(int round, std::size_t piece) {
  static_cast<void>(digest(round, piece));
  if (!has_all(digests_, round)) {
    throw MismatchError("digests of all messages of round " + std::to_string(round) +
                        " come before the first message: whoever speaks last could choose its own");
  }
  return messages_.at({round, piece});
}

void KeyMessages::accept(int round, std::size_t piece, std::span<const std::byte> message) {
  require_round(round);
  const At at{round, piece};
  if (!has_all(digests_, round)) {
    throw MismatchError("a message of round " + std::to_string(round) + " came before all digests");
  }
  if (!digests_.contains(at) || runtime::sha256(message) != digests_.at(at)) {
    throw MismatchError("a message of piece " + std::to_string(piece) +
                        " has another digest than was said before: it is damaged, or another one");
  }
  if (added_.contains(at)) {
    if (messages_.contains(at)) return;  // this member's own
    throw MismatchError("the message of piece " + std::to_string(piece) + " in round " +
                        std::to_string(round) + " was added before");
  }
  add(round, piece, message);
}

std::vector<std::byte> KeyMessages::computed(int round, const Piece& piece) const {
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const poly::Seed& key = piece.key();
  runtime::ByteWriter head;
  head.u32(key_message_magic);
  head.u8(static_cast<std::uint8_t>(round));
  head.bytes(group_.id);
  head.bytes(attempt_);
  head.u32(static_cast<std::uint32_t>(piece.number()));
  std::vector<std::byte> message = head.take();
  message.reserve(message.size() + sums_->bytes(context, round));
  const poly::Poly secret = secret_of(context, piece, context.key_base());
  // PRF(key, label, name of the key, attempt): its own stream for each part of each key.
  const auto fields = [&](std::string_view label, const Fields& name) {
    return Fields(label).fields(name).digest(attempt_);
  };
  const auto crs = [&](const Fields& name) { return prf(group_.id, fields("hemera crs", name)); };

  if (round == 1) {
    const Fields name("public key");
    const poly::RnsBase& base = context.public_key_base();
    poly::Poly pair = context.make_poly(1, 2, base, Form::evaluation, Secrecy::secret);
    const poly::RandomStream errors{prf(key, fields("errors", name)), 0}, uniform{crs(name), 0};
    rlwe::sample_rlwe(context, pair.view(), secret, base, {.errors = errors, .uniform = uniform});
    append_residues(context, std::as_const(pair).view().components(0, 1), base, message);
  }
  for (Sums::Key& each : sums_->keys) {
    const poly::RnsBase& base = each.base();
    const std::size_t digits = each.first.shape().batch;
    const auto terms = rlwe::gadget_terms(*each.gadget);
    // -a `to` + e + w s_T, or without the w s_T.
    const auto sampled = [&](const poly::Poly& to, const Fields& errors_of, bool has_terms) {
      const poly::RandomStream errors{prf(key, errors_of), 0}, uniform{crs(each.name), 0};
      poly::Poly pairs = context.make_poly(digits, 2, base, Form::evaluation, Secrecy::secret);
      rlwe::with_restricted(context, secret, base, [&](const poly::ConstPolyView& s) {
        rlwe::sample_rlwe(
            context, pairs.view(), to, base, {.errors = errors, .uniform = uniform},
            has_terms ? s : poly::ConstPolyView{},
            has_terms ? std::span<const poly::GadgetTerm>(terms) : std::span<const poly::GadgetTerm>{});
      });
      return pairs;
    };
    if (!is_product(each.need)) {
      if (round == 2) continue;
      poly::Poly image = context.make_poly(1, 1, secret.base(), Form::evaluation, Secrecy::secret);
      const std::uint64_t inverse = arith::inverse(each.need.role.galois_element, 2 * context.degree());
      backend.automorphism(queue, image.view(), secret.view(), inverse, Form::evaluation, secret.base());
      const poly::Poly pairs = sampled(image, fields("errors", each.name), true);
      append_residues(context, pairs.view().components(0, 1), base, message);
      continue;
    }
    // The key's name says no more than these words, but for another gadget.
    const auto of_attempt = [&](Fields words) {
      if (!has_default_gadget(context, each.need)) words.fields(each.name);
      return words.digest(attempt_);
    };
    const auto errors_of = [&](std::string_view part) { return of_attempt(Fields("errors").text(part)); };
    const poly::Poly u = ternary_of(context, prf(key, of_attempt(Fields("relin u"))), context.key_base());
    if (round == 1) {
      poly::Poly negative = context.make_poly(1, 1, secret.base(), Form::evaluation, Secrecy::secret);
      backend.negate(queue, negative.view(), secret.view(), secret.base());
      poly::Poly h = context.make_poly(digits, 2, base, Form::evaluation, Secrecy::secret);
      const poly::Poly h0 = sampled(u, errors_of("relin 0"), true);
      const poly::Poly h1 = sampled(negative, errors_of("relin 1"), false);
      backend.copy(queue, h.view().components(0, 1), h0.view().components(0, 1));
      backend.copy(queue, h.view().components(1, 1), h1.view().components(0, 1));
      append_residues(context, std::as_const(h).view(), base, message);
      continue;
    }
    // h0 s_T + h1 (u_T - s_T) + e2, e2 of the sums that are multiplied.
    std::vector<std::uint64_t> words(each.first.shape().words());
    backend.download(queue, words, std::as_const(each.first).view(), Form::evaluation);
    queue.synchronize();
    const Fields of_errors = errors_of("relin 2").digest(runtime::sha256(std::as_bytes(std::span(words))));
    poly::Poly y = context.make_poly(digits, 1, base, Form::coefficient, Secrecy::secret);
    auto workspace = context.make_workspace(Secrecy::secret);
    backend.sample(queue, y.view(), {prf(key, of_errors), 0},
                   poly::Distribution::error(context.error_distribution()), base, workspace);
    if (const std::uint64_t factor = rlwe::error_factor(context.parameters()); factor != 1) {
      std::vector<std::uint64_t> scalars;
      for (std::size_t j = 0; j < base.size(); ++j) scalars.push_back(base.modulus(j).reduce(factor));
      backend.multiply_scalar(queue, y.view(), std::as_const(y).view(), scalars, base);
    }
    backend.forward_transform(queue, y.view(), std::as_const(y).view(), base);
    y.set_form(Form::evaluation);
    poly::Poly rest = context.make_poly(1, 1, secret.base(), Form::evaluation, Secrecy::secret);
    backend.subtract(queue, rest.view(), u.view(), secret.view(), secret.base());
    const poly::ConstPolyView h = std::as_const(each.first).view();
    rlwe::with_restricted(context, secret, base, [&](const poly::ConstPolyView& s) {
      backend.multiply_add(queue, y.view(), h.components(0, 1), s, base);
    });
    rlwe::with_restricted(context, rest, base, [&](const poly::ConstPolyView& s) {
      backend.multiply_add(queue, y.view(), h.components(1, 1), s, base);
    });
    append_residues(context, std::as_const(y).view(), base, message);
  }
  return message;
}

void KeyMessages::add(int round, std::size_t piece, std::span<const std::byte> message) {
  const rlwe::Context& context = *context_;
  runtime::ByteReader in(message, "a message of a group");
  if (in.u32() != key_message_magic) in.fail("this is no message of a group");
  if (in.u8() != round) throw MismatchError("a message is of another round");
  const auto is_of = [&](const Sha256Digest& digest) {
    return std::ranges::equal(in.bytes(digest.size()), std::as_bytes(std::span(digest)));
  };
  if (!is_of(group_.id)) throw MismatchError("a message is of another group");
  if (!is_of(attempt_)) throw MismatchError("a message is of another attempt");
  if (in.u32() != piece) throw MismatchError("a message is of another piece");
  if (in.remaining() != sums_->bytes(context, round)) in.fail("it has another size than its keys");

  // All is read before anything is added.
  struct Part {
    poly::PolyView sum;
    const poly::RnsBase& base;
    poly::Poly term;
  };
  std::vector<Part> parts;
  const auto read = [&](poly::Poly& sum, const poly::RnsBase& base) {
    const poly::PolyShape shape = sum.shape();
    std::vector<std::uint64_t> words(shape.words());
    read_residues(base, in.bytes(residue_bytes(base, shape.batch * shape.components)), words);
    poly::Poly term = context.make_poly(shape.batch, shape.components, base, Form::evaluation);
    context.backend().upload(context.queue(), term.view(), words, Form::evaluation);
    parts.push_back({sum.view(), base, std::move(term)});
  };
  if (round == 1) read(sums_->public_key, context.public_key_base());
  for (Sums::Key& key : sums_->keys) {
    if (round == 1 || is_product(key.need)) read(key.of(round), key.base());
  }
  in.expect_end();
  for (const Part& part : parts) add_to(context, part.sum, part.term.view(), part.base);
  context.queue().synchronize();
  added_[{round, piece}] = digests_.at({round, piece});
}

rlwe::EvaluationKeys KeyMessages::keys() const {
  for (int round = 1; round <= rounds(); ++round) {
    if (!has_all(added_, round)) {
      throw MismatchError("messages of round " + std::to_string(round) + " are not all there");
    }
  }
  const rlwe::Context& context = *context_;
  const poly::Backend& backend = context.backend();
  rlwe::EvaluationKeys keys;
  keys.context = context_;
  const auto stream = [&](const Fields& name) {
    return poly::RandomStream{prf(group_.id, Fields("hemera crs").fields(name).digest(attempt_)), 0};
  };
  const auto seeded = [&](const poly::Poly& sum, const poly::RandomStream& seed) {
    poly::Poly pairs = context.make_poly(sum.shape().batch, 2, sum.base(), Form::evaluation);
    backend.copy(context.queue(), pairs.view().components(0, 1), sum.view());
    rlwe::expand_uniform_half(context, pairs, seed);
    return pairs;
  };
  const poly::RandomStream of_public = stream(Fields("public key"));
  keys.public_key = std::make_shared<const rlwe::PublicKey>(
      rlwe::PublicKey{context_, seeded(sums_->public_key, of_public), of_public});
  for (const Sums::Key& key : sums_->keys) {
    rlwe::SwitchingKey made{context_, key.gadget, {}, {}};
    if (is_product(key.need)) {
      poly::Poly pairs = context.make_poly(key.first.shape().batch, 2, key.base(), Form::evaluation);
      backend.copy(context.queue(), pairs.view().components(0, 1), key.second.view());
      backend.copy(context.queue(), pairs.view().components(1, 1), key.first.view().components(1, 1));
      made.poly = rlwe::stored_key(context, std::move(pairs));
    } else {
      made.seed = stream(key.name);
      made.poly = rlwe::stored_key(context, seeded(key.first, *made.seed));
    }
    keys.add(key.need.role, std::make_shared<const rlwe::SwitchingKey>(std::move(made)));
  }
  return keys;
}

}  // namespace hemera::multiparty
