#include "hemera/multiparty/opening.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/noise.hpp"
#include "hemera/rlwe/scheme_traits.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encryption.hpp"
#include "multiparty/prf.hpp"
#include "multiparty/public_factor.hpp"
#include "multiparty/residues.hpp"
#include "rlwe/fresh_randomness.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/wide_gaussian.hpp"
#include "schemes/integer/rules.hpp"

namespace hemera::multiparty {
namespace {

using poly::Form;
using runtime::Secrecy;

constexpr std::uint32_t share_magic = 0x31534D48;  // "HMS1"

// What an opening of a ciphertext needs, after all checks that need no secret.
struct Asked {
  const rlwe::Context& context;
  const poly::RnsBase& base;
  std::size_t batch;
  std::uint64_t factor;  // of errors: t of BGV
  int flooding_log2;
  double opened_log2;  // the noise of what is opened
};

double room_log2(const rlwe::Context& context, const rlwe::Metadata& meta) {
  const double modulus = context.base(meta.level).log2();
  if (context.scheme() != rlwe::Scheme::ckks) {
    return modulus - integer::rules_of(context.scheme()).room_log2(context.parameters().plain_modulus());
  }
  // A slot is a sum of 2 n coefficients times roots of unity, and is to be off by less than a half.
  const double slot = std::log2(meta.scale) - 1 - 0.5 * std::log2(2.0 * static_cast<double>(meta.slots));
  return std::min(slot, modulus - 3);
}

Asked asked(const rlwe::ContextPointer& shared, const Group& group, const rlwe::Ciphertext& ciphertext,
            double noise_log2) {
  rlwe::require_filled(ciphertext, "open");
  rlwe::require_same_context(*ciphertext.context, *shared, "open");
  if (ciphertext.size() != 2) {
    throw LevelError("open: a ciphertext of size " + std::to_string(ciphertext.size()) +
                     "; relinearize it before it is opened");
  }
  const rlwe::Context& context = *shared;
  const std::uint64_t factor = rlwe::error_factor(context.parameters());
  const double errors = rlwe::error_noise_log2(noise_log2, factor);
  const int flooding = rlwe::flooding_log2(group.openings, context.degree(), errors);
  const double factor_log2 = std::log2(static_cast<double>(factor));
  rlwe::require_flooding(group.openings, context.degree(), errors, flooding,
                         room_log2(context, ciphertext.meta) - factor_log2);
  return {context,
          context.base(ciphertext.meta.level),
          ciphertext.poly.shape().batch,
          factor,
          flooding,
          factor_log2 + rlwe::opened_noise_log2(group.openings, context.degree(), errors, flooding)};
}

// A copy of c1 of its own, named by what it is.
PublicFactor c1_of(const rlwe::Context& context, const rlwe::Ciphertext& ciphertext) {
  return {context, ciphertext.poly.view().components(1, 1), context.base(ciphertext.meta.level)};
}

// d_T in evaluation form, [batch, 1, limb, N], and the names of the polynomials.
struct Answer {
  poly::Poly poly;
  std::vector<Sha256Digest> names;
};

Answer answer(const Asked& of, const rlwe::Ciphertext& ciphertext, const Piece& piece) {
  const rlwe::Context& context = of.context;
  const poly::Backend& backend = context.backend();
  runtime::Queue& queue = context.queue();
  const PublicFactor c1 = c1_of(context, ciphertext);
  std::vector<poly::Seed> seeds;
  for (const Sha256Digest& name : c1.digests()) {
    const Fields fields = Fields("opening").digest(name).number(static_cast<std::uint64_t>(of.flooding_log2));
    seeds.push_back(prf(piece.key(), fields));
  }
  poly::Poly noise = context.make_poly(of.batch, 1, of.base, Form::coefficient, Secrecy::secret);
  rlwe::WideGaussian(std::exp2(of.flooding_log2)).sample(context, noise.view(), seeds, of.base);
  const poly::PolyView flooding = noise.view();
  if (of.factor != 1) {
    std::vector<std::uint64_t> scalars;
    for (std::size_t j = 0; j < of.base.size(); ++j) scalars.push_back(of.base.modulus(j).reduce(of.factor));
    backend.multiply_scalar(queue, flooding, flooding, scalars, of.base);
  }
  backend.forward_transform(queue, flooding, flooding, of.base);
  const poly::Poly secret = secret_of(context, piece, of.base);
  poly::Poly sum = context.make_poly(of.batch, 1, of.base, Form::evaluation, Secrecy::secret);
  c1.multiply(sum.view(), secret.view(), Form::evaluation);
  c1.require_unchanged();
  backend.add(queue, sum.view(), sum.view(), flooding, of.base);
  return {std::move(sum), c1.digests()};
}

Sha256Digest digest_of(std::span<const Sha256Digest> names) {
  runtime::ByteWriter all;
  for (const Sha256Digest& name : names) all.bytes(name);
  return runtime::sha256(all.view());
}

std::vector<std::byte> share_head(const Asked& of, const Group& group, std::span<const Sha256Digest> names,
                                  std::size_t piece) {
  runtime::ByteWriter out;
  out.u32(share_magic);
  out.bytes(group.id);
  out.bytes(digest_of(names));
  out.u32(static_cast<std::uint32_t>(of.flooding_log2));
  out.u32(static_cast<std::uint32_t>(piece));
  return out.take();
}

// One computation of a share, from the piece's key and the ciphertext on.
std::vector<std::byte> computed_share(const Asked& of, const Group& group, const rlwe::Ciphertext& ciphertext,
                                      const Piece& piece) {
  const Answer made = answer(of, ciphertext, piece);
  std::vector<std::byte> share = share_head(of, group, made.names, piece.number());
  append_residues(of.context, made.poly.view(), of.base, share);
  const Sha256Digest digest = runtime::sha256(share);
  runtime::append_bytes(share, std::as_bytes(std::span(digest)));
  return share;
}

// The piece of a share, and its residues.
std::pair<std::size_t, std::span<const std::byte>> read_head(const Asked& of, const Group& group,
                                                             std::span<const Sha256Digest> names,
                                                             std::span<const std::byte> share) {
  runtime::ByteReader in(share, "a share of an opening");
  if (in.u32() != share_magic) in.fail("this is no share of an opening");
  const auto is_of = [&](const Sha256Digest& digest) {
    return std::ranges::equal(in.bytes(digest.size()), std::as_bytes(std::span(digest)));
  };
  if (!is_of(group.id)) throw MismatchError("a share is of another group");
  if (!is_of(digest_of(names))) throw MismatchError("a share is of another ciphertext");
  if (in.u32() != static_cast<std::uint32_t>(of.flooding_log2)) {
    throw MismatchError("a share has another flooding: its sender has another bound on the noise");
  }
  const std::size_t piece = in.u32();
  if (piece >= group.access.pieces()) {
    throw MismatchError("a share is of piece " + std::to_string(piece) + ", which there is not");
  }
  const std::span<const std::byte> residues = in.bytes(residue_bytes(of.base, of.batch));
  const Sha256Digest digest = runtime::sha256(share.first(in.position()));
  if (!is_of(digest)) in.fail("its digest is wrong: it is damaged");
  in.expect_end();
  return {piece, residues};
}

void require_all(const Group& group, std::size_t count) {
  if (count == group.access.pieces()) return;
  throw MismatchError("shares of " + std::to_string(count) + " pieces of " +
                      std::to_string(group.access.pieces()) + " are there; more members must answer");
}

// The digest of a key, and that no value of it is 0: under a key of zeros all could read the share.
Sha256Digest checked_key(const rlwe::Context& context, const rlwe::PublicKey& key) {
  const HostWords words(context, key.poly.view(), Form::evaluation);
  if (std::ranges::find(words.all(), std::uint64_t{0}) != words.all().end()) {
    throw MismatchError("the key of a receiver has a zero among its values: it would not hide a result");
  }
  return runtime::sha256(std::as_bytes(words.all()));
}

}  // namespace

Opening::Opening(rlwe::ContextPointer context, Group group, std::size_t member, std::vector<Piece> pieces,
                 Note note)
    : context_(std::move(context)),
      group_(std::move(group)),
      pieces_(std::move(pieces)),
      note_(std::move(note)) {
  rlwe::require_filled(context_, "Opening");
  group_.require(*context_);
  require_held(group_.access, member, pieces_);
}

const Piece& Opening::held(std::size_t piece) const {
  const auto found = std::ranges::find(pieces_, piece, &Piece::number);
  if (found == pieces_.end()) {
    throw ParameterError("this member does not hold piece " + std::to_string(piece));
  }
  return *found;
}

void Opening::note(const rlwe::Ciphertext& ciphertext) {
  const PublicFactor c1 = c1_of(*context_, ciphertext);
  for (const Sha256Digest& name : c1.digests()) {
    if (note_(name) <= group_.openings.count) continue;
    throw NoiseError("the group's " + std::to_string(group_.openings.count) +
                     " openings are used up, for which its flooding is planned; make keys of a new group "
                     "with more");
  }
}

std::vector<std::byte> Opening::share(const rlwe::Ciphertext& ciphertext, double noise_log2,
                                      std::size_t piece) {
  const Piece& mine = held(piece);
  const Asked of = asked(context_, group_, ciphertext, noise_log2);
  note(ciphertext);
  std::vector<std::byte> made = computed_share(of, group_, ciphertext, mine);
  if (made != computed_share(of, group_, ciphertext, mine)) {
    throw DeviceError(
        "two computations of a share differ: a fault of the machine, or another writer of the "
        "ciphertext; nothing was sent");
  }
  return made;
}

rlwe::Ciphertext Opening::share_for(const rlwe::Ciphertext& ciphertext, double noise_log2, std::size_t piece,
                                    const rlwe::PublicKey& receiver) {
  const Piece& mine = held(piece);
  const Asked of = asked(context_, group_, ciphertext, noise_log2);
  rlwe::require_filled(receiver, "open");
  rlwe::require_same_context(*receiver.context, *context_, "open");
  const Sha256Digest key = checked_key(*context_, receiver);
  note(ciphertext);
  const Answer made = answer(of, ciphertext, mine);
  const Answer again = answer(of, ciphertext, mine);
  // The receiver alone may read it.
  const HostWords words(*context_, made.poly.view(), Form::evaluation);
  const runtime::ZeroedAtEnd zeroed{words.all()};
  if (made.names != again.names || !words.equal(*context_, again.poly.view(), Form::evaluation)) {
    throw DeviceError(
        "two computations of a share differ: a fault of the machine, or another writer of the "
        "ciphertext; nothing was sent");
  }
  const Fields fields = Fields("receiver")
                            .digest(digest_of(made.names))
                            .number(static_cast<std::uint64_t>(of.flooding_log2))
                            .digest(key);
  rlwe::Metadata meta = ciphertext.meta;
  meta.spent = false;
  rlwe::Ciphertext share = rlwe::encrypt_zero(receiver, meta, {prf(mine.key(), fields), 0}, made.poly.view());
  if (!rlwe::traits(context_->scheme()).bounds_noise) share.meta.noise_log2 = 0;
  return share;
}

std::size_t share_piece(const rlwe::ContextPointer& context, const Group& group,
                        const rlwe::Ciphertext& ciphertext, double noise_log2,
                        std::span<const std::byte> share) {
  const Asked of = asked(context, group, ciphertext, noise_log2);
  const auto [piece, residues] = read_head(of, group, c1_of(*context, ciphertext).digests(), share);
  std::vector<std::uint64_t> words(of.batch * of.base.size() * of.context.degree());
  read_residues(of.base, residues, words);
  return piece;
}

rlwe::Plaintext opened(const rlwe::ContextPointer& context, const Group& group,
                       const rlwe::Ciphertext& ciphertext, double noise_log2,
                       std::span<const std::span<const std::byte>> shares) {
  const Asked of = asked(context, group, ciphertext, noise_log2);
  const std::vector<Sha256Digest> names = c1_of(*context, ciphertext).digests();
  std::map<std::size_t, std::span<const std::byte>> of_piece;
  for (const std::span<const std::byte> share : shares) {
    const auto [piece, residues] = read_head(of, group, names, share);
    const auto [first, is_new] = of_piece.try_emplace(piece, residues);
    if (!is_new && !std::ranges::equal(first->second, residues)) {
      throw MismatchError("two shares of piece " + std::to_string(piece) +
                          " differ: one of its holders sends something else than it should");
    }
  }
  require_all(group, of_piece.size());
  const poly::Backend& backend = context->backend();
  runtime::Queue& queue = context->queue();
  poly::Poly phase = context->make_poly(of.batch, 1, of.base, Form::evaluation, Secrecy::secret);
  backend.copy(queue, phase.view(), ciphertext.poly.view().components(0, 1));
  poly::Poly term = context->make_poly(of.batch, 1, of.base, Form::evaluation, Secrecy::secret);
  std::vector<std::uint64_t> words(term.shape().words());
  for (const auto& [piece, residues] : of_piece) {
    read_residues(of.base, residues, words);
    backend.upload(queue, term.view(), words, Form::evaluation);
    backend.add(queue, phase.view(), phase.view(), std::as_const(term).view(), of.base);
  }
  if (context->scheme() == rlwe::Scheme::ckks) return {context, ciphertext.meta, std::move(phase)};
  backend.inverse_transform(queue, phase.view(), phase.view(), of.base);
  phase.set_form(Form::coefficient);
  return integer::read_phase(context, ciphertext.meta, phase);
}

rlwe::Ciphertext opened_for(const rlwe::ContextPointer& context, const Group& group,
                            const rlwe::Ciphertext& ciphertext, double noise_log2,
                            std::span<const rlwe::Ciphertext* const> shares) {
  const Asked of = asked(context, group, ciphertext, noise_log2);
  rlwe::require_each(shares, "open");
  require_all(group, shares.size());
  rlwe::Metadata meta = ciphertext.meta;
  // The receiver's encryptions come on top, with a bound for 2^-40.
  const double tail = std::log2(rlwe::tail_factor(context->degree(), -group.openings.failure_bits) /
                                rlwe::tail_factor(context->degree()));
  const double fresh = tail + rlwe::fresh_noise_log2(*context, meta.level, context->public_key_base()) +
                       std::log2(static_cast<double>(of.factor) * static_cast<double>(shares.size()));
  const double noise = rlwe::add_log2(of.opened_log2, fresh);
  if (!(noise <= room_log2(*context, meta))) {
    throw NoiseError("opening for a receiver leaves noise of up to 2^" + std::to_string(noise) +
                     ", for which there is no room");
  }
  meta.noise_log2 = rlwe::traits(context->scheme()).bounds_noise ? noise : 0;
  rlwe::Ciphertext sum = rlwe::make_ciphertext(context, meta, 2);
  const poly::Backend& backend = context->backend();
  runtime::Queue& queue = context->queue();
  backend.copy(queue, sum.poly.view().components(0, 1), ciphertext.poly.view().components(0, 1));
  backend.fill_zero(queue, sum.poly.view().components(1, 1));
  for (const rlwe::Ciphertext* share : shares) {
    rlwe::require_same_context(*share->context, *context, "open");
    if (share->meta.level != meta.level || share->poly.shape() != sum.poly.shape()) {
      throw MismatchError("a share is of a ciphertext of another level or shape");
    }
    backend.add(queue, sum.poly.view(), sum.poly.view(), share->poly.view(), of.base);
  }
  return sum;
}

}  // namespace hemera::multiparty
