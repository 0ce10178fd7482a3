#include "hemera/rlwe/exchange.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hemera/rlwe/transfer.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/interruption.hpp"
#include "rlwe/peer_copies.hpp"
#include "rlwe/requirements.hpp"
#include "rlwe/sum_metadata.hpp"

namespace hemera::rlwe {
namespace {

using poly::ConstPolyView;
using poly::Form;
using poly::PolyView;

// An array [batch, component, limb, N] of a member.
struct Holder {
  const Context* context;
  const poly::Poly* poly;
};

// Rows [first, first + count).
struct Rows {
  std::size_t first, count;
};

std::size_t rows_in(const poly::PolyShape& shape) { return shape.batch * shape.components * shape.limbs; }

// Rows of a member: as many for each.
Rows part_of(std::size_t rows, std::size_t member, std::size_t members) {
  const std::size_t first = rows * member / members;
  return {first, rows * (member + 1) / members - first};
}

template <typename View>
View rows_of(View view, const Rows& rows) {
  const std::size_t row = poly::stored_bytes(view.word, view.shape.degree);
  return View(view.data + rows.first * row, {1, 1, rows.count, view.shape.degree}, view.word);
}

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

// Room for rows in a member's memory.
runtime::Buffer make_rows(const Context& context, const poly::PolyShape& shape, std::size_t count) {
  return {context.memory(), count * shape.degree * word_bytes};
}

// Its contents.
PolyView rows_in(runtime::Buffer& buffer, std::size_t degree) {
  return {buffer.data(), {1, 1, buffer.size() / degree / word_bytes, degree}, poly::Word::u64};
}
ConstPolyView rows_in(const runtime::Buffer& buffer, std::size_t degree) {
  return {buffer.data(), {1, 1, buffer.size() / degree / word_bytes, degree}, poly::Word::u64};
}

// What `announce` reads, by a view or the data of a buffer, members on the readers' devices may read from now
// on, without waiting for what the calling thread gives later.
template <typename Announce>
void offer_to(std::span<const Context* const> readers, const Context& owner, const Announce& announce) {
  for (const Context* reader : readers) {
    if (const auto beside = aside_for(*reader, owner)) announce();
  }
}

// out = a + b: `rows` of polynomials over `base`, which begin anywhere in a polynomial.
void add_rows(const Context& context, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
              const poly::RnsBase& base, const Rows& rows) {
  const std::size_t limbs = base.size(), row = out.shape.degree * sizeof(std::uint64_t);
  for (std::size_t done = 0; done < rows.count;) {
    const std::size_t limb = (rows.first + done) % limbs, left = rows.count - done;
    const bool whole = limb == 0 && left >= limbs;
    const std::size_t count = whole ? limbs : std::min(limbs - limb, left),
                      polynomials = whole ? left / limbs : 1;
    const poly::PolyShape shape{polynomials, 1, count, out.shape.degree};
    const auto indices = base.indices().subspan(limb, count);
    const auto at = [&](auto view) { return decltype(view)(view.data + done * row, shape, view.word); };
    context.backend().add(context.queue(), at(out), at(a), at(b),
                          {base.ring(), {indices.begin(), indices.end()}});
    done += polynomials * count;
  }
}

// out = a + b, rows of which those of b are a peer's.
void add_peer_rows(const Context& context, const PolyView& out, const ConstPolyView& a, const Holder& peer,
                   const poly::RnsBase& base, const Rows& rows) {
  const auto peers = [&] { return rows_of(peer.poly->view(), rows); };
  {
    const auto beside = aside_for(context, *peer.context);
    const ConstPolyView b = peers();
    if (context.backend().read_from(context.queue(), peer.context->backend(), peer.context->queue(),
                                    [&] { add_rows(context, out, a, b, base, rows); })) {
      return;
    }
  }
  runtime::Buffer copied = make_rows(context, peer.poly->shape(), rows.count);
  copy_between(context, rows_in(copied, out.shape.degree), *peer.context, peers, Form::evaluation);
  add_rows(context, out, a, rows_in(std::as_const(copied), out.shape.degree), base, rows);
}

// Writes into `out` the sum of rows of a member's array and of all its peers'. From its own place on, so that
// no two members read one peer at the same time.
void sum_rows(const PolyView& out, std::span<const Holder> holders, std::size_t member, const Rows& rows) {
  const auto& [context, own] = holders[member];
  ConstPolyView a = rows_of(own->view(), rows);
  for (std::size_t i = 1; i < holders.size(); ++i) {
    add_peer_rows(*context, out, a, holders[(member + i) % holders.size()], own->base(), rows);
    a = out;
  }
}

// A part of the sum on each member, offered to all.
std::vector<runtime::Buffer> parts_of_sum(const std::vector<Holder>& holders, const ForMembers& each) {
  std::vector<const Context*> members;
  for (const Holder& holder : holders) members.push_back(holder.context);
  std::vector<runtime::Buffer> parts(holders.size());
  each(holders.size(), [&](std::size_t member) {
    const auto& [context, poly] = holders[member];
    const poly::PolyShape& shape = poly->shape();
    const Rows rows = part_of(rows_in(shape), member, holders.size());
    if (rows.count == 0) return;
    parts[member] = make_rows(*context, shape, rows.count);
    sum_rows(rows_in(parts[member], shape.degree), holders, member, rows);
    offer_to(members, *context, [&] { static_cast<void>(std::as_const(parts[member]).data()); });
  });
  return parts;
}

// An array for a member, of the shape of another one's.
poly::Poly make_like(const Context& context, const poly::Poly& like) {
  // Contexts of the same parameters number the moduli of their rings alike.
  const auto indices = like.base().indices();
  const poly::RnsBase base(context.backend().ring(), {indices.begin(), indices.end()});
  return context.make_poly(like.shape().batch, like.shape().components, base, like.form());
}

// The array on a member that the parts of all make, its own part being that of `number`.
poly::Poly gathered(std::span<const runtime::Buffer> parts, std::span<const Context* const> members,
                    std::size_t number, const Context& context, const poly::Poly& like) {
  poly::Poly whole = make_like(context, like);
  const PolyView out = whole.view();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // From its own part on, so that no two members ask one for its part at the same time.
    const std::size_t from = (number + i) % parts.size();
    const Rows rows = part_of(rows_in(like.shape()), from, parts.size());
    if (rows.count == 0) continue;
    copy_between(
        context, rows_of(out, rows), *members[from], [&] { return rows_in(parts[from], out.shape.degree); },
        like.form());
  }
  return whole;
}

void require_same_level(const Metadata& a, const Metadata& b, const char* operation) {
  if (a.level == b.level) return;
  throw LevelError(std::string(operation) + ": ciphertexts at levels " + std::to_string(a.level) + " and " +
                   std::to_string(b.level) + "; bring them to one level first");
}

void require_aligned(const Context& context, const Metadata& a, const Metadata& b, const char* operation) {
  if (context.scales().is_aligned(a, b)) return;
  throw ScaleError(std::string(operation) +
                   ": the ciphertexts' scales or correction factors differ; rescale them to one level first");
}

void require_alike(const Ciphertext& a, const Ciphertext& b, const char* operation) {
  require_filled(a, operation);
  require_filled(b, operation);
  require_same_parameters(*a.context, *b.context);
  require_same_level(a.meta, b.meta, operation);
  if (a.meta.encoding != b.meta.encoding || a.size() != b.size() || a.meta.batch != b.meta.batch) {
    throw MismatchError(std::string(operation) + ": ciphertexts of " + std::to_string(a.size()) + " and " +
                        std::to_string(b.size()) + " components with batches " + to_text(a.meta.batch) +
                        " and " + to_text(b.meta.batch) + "; both, and the encodings, must agree");
  }
  require_aligned(*a.context, a.meta, b.meta, operation);
}

void require_alike(const ExtendedCiphertext& a, const ExtendedCiphertext& b, const char* operation) {
  if (!a.poly || !b.poly) throw MismatchError(std::string(operation) + ": a ciphertext is empty");
  require_same_parameters(*a.context, *b.context);
  require_same_level(a.meta, b.meta, operation);
  if (a.gadget->primes() != b.gadget->primes() || a.meta.batch != b.meta.batch) {
    throw MismatchError(std::string(operation) + ": extended ciphertexts with batches " +
                        to_text(a.meta.batch) + " and " + to_text(b.meta.batch) +
                        "; these, and the gadgets, must agree");
  }
  require_aligned(*a.context, a.meta, b.meta, operation);
}

Metadata joined(const Ciphertext& a, const Metadata& sum, const Metadata& b) {
  return sum_metadata(*a.context, sum, b, "add");
}
Metadata joined(const ExtendedCiphertext& a, Metadata sum, const Metadata& b) {
  join_sum(*a.context, sum, b);
  return sum;
}

void forget_seed(Ciphertext& a) { a.seed.reset(); }
void forget_seed(ExtendedCiphertext& /*a*/) {}

Ciphertext sum_on(const Ciphertext& term, const Metadata& meta, poly::Poly poly) {
  return {term.context, meta, std::move(poly), {}};
}
ExtendedCiphertext sum_on(const ExtendedCiphertext& term, const Metadata& meta, poly::Poly poly) {
  return {term.context, term.gadget, meta, std::move(poly)};
}

std::vector<const Context*> pointers_to(std::span<const std::shared_ptr<const Context>> contexts) {
  std::vector<const Context*> pointers;
  for (const auto& context : contexts) pointers.push_back(context.get());
  return pointers;
}

template <typename Term>
std::vector<Holder> holders_of(std::span<const Term> terms) {
  std::vector<Holder> holders;
  for (const Term& term : terms) holders.push_back({term.context.get(), &term.poly});
  return holders;
}

template <typename Term>
void offer_term(const Term& term, std::span<const Context* const> readers) {
  offer_to(readers, *term.context, [&] { static_cast<void>(term.poly.view()); });
}

template <typename Term>
void add_peer(Term& a, const Term& b) {
  require_alike(a, b, "add_from");
  const Rows all{0, rows_in(a.poly.shape())};
  const runtime::Uninterrupted whole;
  const PolyView out = rows_of(a.poly.view(), all);
  add_peer_rows(*a.context, out, out, {b.context.get(), &b.poly}, a.poly.base(), all);
  a.meta = joined(a, a.meta, b.meta);
  forget_seed(a);
}

// The first `results` terms become the sum.
template <typename Term>
void sum_terms(std::span<Term> terms, std::size_t results, const ForMembers& each, const char* operation) {
  std::vector<const Context*> members;
  for (const Term& term : terms) {
    require_alike(terms.front(), term, operation);
    members.push_back(term.context.get());
  }
  if (terms.size() < 2) return;
  // Here, before any member goes on.
  for (const Term& term : terms) offer_term(term, members);
  MemberSum<Term> sum(terms, each, operation);
  std::vector<Term> sums(std::min(results, terms.size()));
  each(sums.size(), [&](std::size_t member) { sums[member] = sum.on(member); });
  std::move(sums.begin(), sums.end(), terms.begin());
}

}  // namespace

void in_turn(std::size_t count, const std::function<void(std::size_t member)>& work) {
  for (std::size_t member = 0; member < count; ++member) work(member);
}

void add_from(Ciphertext& a, const Ciphertext& b) { add_peer(a, b); }
void add_from(ExtendedCiphertext& a, const ExtendedCiphertext& b) { add_peer(a, b); }

void offer(const Ciphertext& made, std::span<const std::shared_ptr<const Context>> readers) {
  offer_term(made, pointers_to(readers));
}
void offer(const ExtendedCiphertext& made, std::span<const std::shared_ptr<const Context>> readers) {
  offer_term(made, pointers_to(readers));
}

// --- Broadcasts ---

Broadcast::Broadcast(std::span<const std::shared_ptr<const Context>> targets, const Ciphertext& source,
                     const ForMembers& each, std::size_t held)
    : targets_(targets.begin(), targets.end()), source_(&source) {
  require_filled(source, "broadcast");
  for (const ContextPointer target : targets_) require_same_parameters(*target, *source.context);
  for (std::size_t i = held; i < targets.size(); ++i) {
    if (targets_[i] != source.context) others_.push_back(i);
  }
  std::vector<const Context*> readers;
  for (const std::size_t other : others_) readers.push_back(targets_[other].get());
  offer_term(source, readers);
  if (others_.size() < 2) return;
  parts_.resize(others_.size());
  each(targets.size(), [&](std::size_t target) {
    const std::size_t number = number_of(target);
    if (number == others_.size()) return;
    const Context& own = *targets_[target];
    const Rows rows = part_of(rows_in(source.poly.shape()), number, others_.size());
    if (rows.count == 0) return;
    const std::size_t degree = source.poly.shape().degree;
    parts_[number] = make_rows(own, source.poly.shape(), rows.count);
    copy_between(
        own, rows_in(parts_[number], degree), *source.context,
        [&] { return rows_of(source.poly.view(), rows); }, source.poly.form());
    offer_to(readers, own, [&] { static_cast<void>(std::as_const(parts_[number]).data()); });
  });
}

std::size_t Broadcast::number_of(std::size_t target) const {
  return static_cast<std::size_t>(std::find(others_.begin(), others_.end(), target) - others_.begin());
}

Ciphertext Broadcast::on(std::size_t target) const {
  const std::size_t number = number_of(target);
  if (parts_.empty() || number == others_.size()) return copy_to(targets_[target], *source_);
  std::vector<const Context*> members;
  for (const std::size_t other : others_) members.push_back(targets_[other].get());
  return {targets_[target], source_->meta,
          gathered(parts_, members, number, *targets_[target], source_->poly), source_->seed};
}

std::vector<Ciphertext> broadcast(std::span<const std::shared_ptr<const Context>> targets,
                                  const Ciphertext& source, const ForMembers& each) {
  const Broadcast copies(targets, source, each);
  std::vector<Ciphertext> results(targets.size());
  each(targets.size(), [&](std::size_t i) { results[i] = copies.on(i); });
  return results;
}

// --- Sums ---

template <typename Term>
MemberSum<Term>::MemberSum(std::span<Term> terms, const ForMembers& each, const char* operation)
    : terms_(terms) {
  for (const Term& term : terms) require_alike(terms.front(), term, operation);
  meta_ = terms.front().meta;
  for (const Term& term : terms.subspan(1)) meta_ = joined(terms.front(), meta_, term.meta);
  if (terms.size() < 3) return;
  parts_ = parts_of_sum(holders_of(std::span<const Term>(terms)), each);
}

template <typename Term>
Term MemberSum<Term>::on(std::size_t member) {
  if (terms_.size() == 1) return std::move(terms_.front());
  const Term& own = terms_[member];
  const std::vector<Holder> holders = holders_of(std::span<const Term>(terms_));
  if (parts_.empty()) {
    poly::Poly sum = make_like(*own.context, own.poly);
    const Rows all{0, rows_in(sum.shape())};
    sum_rows(rows_of(sum.view(), all), holders, member, all);
    return sum_on(own, meta_, std::move(sum));
  }
  std::vector<const Context*> members;
  for (const Holder& holder : holders) members.push_back(holder.context);
  return sum_on(own, meta_, gathered(parts_, members, member, *own.context, own.poly));
}

template class MemberSum<Ciphertext>;
template class MemberSum<ExtendedCiphertext>;

void all_reduce(std::span<Ciphertext> terms, const ForMembers& each) {
  sum_terms(terms, terms.size(), each, "all_reduce");
}
void all_reduce(std::span<ExtendedCiphertext> terms, const ForMembers& each) {
  sum_terms(terms, terms.size(), each, "all_reduce");
}

void reduce(std::span<Ciphertext> terms, const ForMembers& each) { sum_terms(terms, 1, each, "reduce"); }
void reduce(std::span<ExtendedCiphertext> terms, const ForMembers& each) {
  sum_terms(terms, 1, each, "reduce");
}

}  // namespace hemera::rlwe
