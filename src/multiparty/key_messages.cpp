#include "hemera/multiparty/key_messages.hpp"

#include <algorithm>
#include <string>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "multiparty/key_sums.hpp"
#include "multiparty/prf.hpp"
#include "multiparty/residues.hpp"
#include "rlwe/key_storage.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::multiparty {
namespace {

using poly::Form;

}  // namespace

KeyMessages::~KeyMessages() = default;

KeyMessages::KeyMessages(rlwe::ContextPointer context, Group group, const Sha256Digest& attempt,
                         std::size_t member, std::vector<Piece> pieces, std::vector<rlwe::KeyNeed> needs)
    : context_(std::move(context)),
      group_(std::move(group)),
      attempt_(attempt),
      pieces_(std::move(pieces)),
      sends_(group_.sent_by(member)) {
  rlwe::require_filled(context_, "KeyMessages");
  group_.require(*context_);
  require_held(group_.access, member, pieces_);
  sums_ = std::make_unique<Sums>(context_, std::move(needs));
}

int KeyMessages::rounds() const { return std::ranges::any_of(sums_->keys, &KeySum::is_product) ? 2 : 1; }

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

  // Calls use(sum, words) for each sum that the message is about, in their order.
  const auto each = [&](runtime::ByteReader from, const auto& use) {
    const auto part = [&](poly::Poly& sum, const poly::RnsBase& base) {
      const poly::PolyShape shape = sum.shape();
      std::vector<std::uint64_t> words(shape.words());
      read_residues(base, from.bytes(residue_bytes(base, shape.batch * shape.components)), words);
      use(sum, words);
    };
    if (round == 1) part(sums_->public_key, context.public_key_base());
    for (KeySum& key : sums_->keys) {
      if (round == 1 || key.is_product()) part(key.of(round), key.base());
    }
    from.expect_end();
  };
  // All is read before anything is added, and again then: a message has gigabytes.
  each(in, [](poly::Poly&, std::span<const std::uint64_t>) {});
  each(in, [&](poly::Poly& sum, std::span<const std::uint64_t> words) {
    const poly::PolyShape shape = sum.shape();
    poly::Poly term = context.make_poly(shape.batch, shape.components, sum.base(), Form::evaluation);
    context.backend().upload(context.queue(), term.view(), words, Form::evaluation);
    context.backend().add(context.queue(), sum.view(), sum.view(), std::as_const(term).view(), sum.base());
    context.queue().synchronize();  // before the words are gone
  });
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
  const auto seeded = [&](const rlwe::Context& own, const poly::Poly& sum, const poly::RandomStream& seed) {
    poly::Poly pairs = own.make_poly(sum.shape().batch, 2, sum.base(), Form::evaluation);
    backend.copy(own.queue(), pairs.view().components(0, 1), sum.view());
    rlwe::expand_uniform_half(own, pairs, seed);
    return pairs;
  };
  const poly::RandomStream of_public = stream(Fields("public key"));
  keys.public_key = std::make_shared<const rlwe::PublicKey>(
      rlwe::PublicKey{context_, seeded(context, sums_->public_key, of_public), of_public});
  for (const KeySum& key : sums_->keys) {
    const rlwe::Context& own = *key.context;
    rlwe::SwitchingKey made{key.context, key.gadget, {}, {}};
    if (key.is_product()) {
      poly::Poly pairs = own.make_poly(key.first.shape().batch, 2, key.base(), Form::evaluation);
      backend.copy(own.queue(), pairs.view().components(0, 1), key.second.view());
      backend.copy(own.queue(), pairs.view().components(1, 1), key.first.view().components(1, 1));
      made.poly = rlwe::stored_key(own, std::move(pairs));
    } else {
      made.seed = stream(key.name);
      made.poly = rlwe::stored_key(own, seeded(own, key.first, *made.seed));
    }
    keys.add(key.need.role, std::make_shared<const rlwe::SwitchingKey>(std::move(made)));
  }
  return keys;
}

}  // namespace hemera::multiparty
