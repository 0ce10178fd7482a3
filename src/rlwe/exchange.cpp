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

// As many for each member.
Rows part_of(std::size_t rows, std::size_t member, std::size_t members) {
  const std::size_t first = rows * member / members;
  return {first, rows * (member + 1) / members - first};
}

template <typename View>
View rows_of(View view, const Rows& rows) {
  const std::size_t row = view.shape.degree * static_cast<std::size_t>(view.word);
  return View(view.data + rows.first * row, {1, 1, rows.count, view.shape.degree}, view.word);
}

// Rows in a member's memory.
class RowBuffer {
 public:
  RowBuffer() = default;
  RowBuffer(const Context& context, const poly::PolyShape& shape, std::size_t count)
      : shape_{1, 1, count, shape.degree},
        buffer_(context.memory(), shape_.words() * sizeof(std::uint64_t)) {}

  [[nodiscard]] PolyView view() { return {buffer_.data(), shape_, poly::Word::u64}; }
  [[nodiscard]] ConstPolyView view() const { return {buffer_.data(), shape_, poly::Word::u64}; }

 private:
  poly::PolyShape shape_;
  runtime::Buffer buffer_;
};

bool on_cpu(const Context& context) {
  return dynamic_cast<const runtime::CpuQueue*>(&context.queue()) != nullptr;
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

// Rows of a peer where a member's kernels read them: on the CPU themselves, else a copy.
class PeerRows {
 public:
  PeerRows(const Context& context, const Holder& peer, const Rows& rows) {
    const auto own = [&] { return rows_of(peer.poly->view(), rows); };
    if (on_cpu(context) && on_cpu(*peer.context)) {
      view_ = own();
      return;
    }
    copied_ = RowBuffer(context, peer.poly->shape(), rows.count);
    copy_between(context, copied_.view(), *peer.context, own, Form::evaluation);
    view_ = std::as_const(copied_).view();
  }

  [[nodiscard]] const ConstPolyView& view() const { return view_; }

 private:
  RowBuffer copied_;
  ConstPolyView view_;
};

// A member's part of the sum.
RowBuffer part_of_sum(std::span<const Holder> holders, std::size_t member) {
  const auto& [context, own_poly] = holders[member];
  const poly::PolyShape& shape = own_poly->shape();
  const Rows own = part_of(rows_in(shape), member, holders.size());
  if (own.count == 0) return {};
  RowBuffer sum(*context, shape, own.count);
  const PolyView out = sum.view();
  ConstPolyView a = rows_of(own_poly->view(), own);
  for (std::size_t other = 0; other < holders.size(); ++other) {
    if (other == member) continue;
    const PeerRows addend(*context, holders[other], own);
    add_rows(*context, out, a, addend.view(), own_poly->base(), own);
    a = out;
  }
  return sum;
}

// The array that the members' parts make, on one of them: of the shape of `like`.
poly::Poly gathered(std::span<const RowBuffer> parts, std::span<const Context* const> members,
                    std::size_t member, const poly::Poly& like) {
  const Context& context = *members[member];
  // Contexts of the same parameters number the moduli of their rings alike.
  const auto indices = like.base().indices();
  const poly::RnsBase base(context.backend().ring(), {indices.begin(), indices.end()});
  poly::Poly whole = context.make_poly(like.shape().batch, like.shape().components, base, like.form());
  const PolyView out = whole.view();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // From its own part on, so that no two members ask one for its part at the same time.
    const std::size_t from = (member + i) % parts.size();
    const Rows rows = part_of(rows_in(like.shape()), from, parts.size());
    if (rows.count == 0) continue;
    copy_between(
        context, rows_of(out, rows), *members[from], [&] { return parts[from].view(); }, like.form());
  }
  return whole;
}

// What follows the parts, which are arrays of their own: nobody reads an array that another one writes, so no
// copy waits for one of other rows.
std::vector<poly::Poly> gathered_on(std::size_t results, std::span<const RowBuffer> parts,
                                    std::span<const Context* const> members, const poly::Poly& like,
                                    const ForMembers& each) {
  std::vector<poly::Poly> whole(results);
  each(results, [&](std::size_t member) { whole[member] = gathered(parts, members, member, like); });
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

void join(Ciphertext& a, const Metadata& b) { a.meta = sum_metadata(*a.context, a.meta, b, "add"); }
void join(ExtendedCiphertext& a, const Metadata& b) { join_sum(*a.context, a.meta, b); }

void forget_seed(Ciphertext& a) { a.seed.reset(); }
void forget_seed(ExtendedCiphertext& /*a*/) {}

template <typename Term>
void add_peer(Term& a, const Term& b) {
  require_alike(a, b, "add_from");
  const Context& context = *a.context;
  const Rows all{0, rows_in(a.poly.shape())};
  const PeerRows addend(context, {b.context.get(), &b.poly}, all);
  const runtime::Uninterrupted whole;
  const PolyView out = rows_of(a.poly.view(), all);
  add_rows(context, out, out, addend.view(), a.poly.base(), all);
  join(a, b.meta);
  forget_seed(a);
}

template <typename Term>
void sum_terms(std::span<Term> terms, std::size_t results, const ForMembers& each, const char* operation) {
  std::vector<Holder> holders;
  std::vector<const Context*> members;
  for (const Term& term : terms) {
    require_alike(terms.front(), term, operation);
    holders.push_back({term.context.get(), &term.poly});
    members.push_back(term.context.get());
  }
  if (terms.size() < 2) return;
  std::vector<RowBuffer> parts(terms.size());
  each(terms.size(), [&](std::size_t member) { parts[member] = part_of_sum(holders, member); });
  std::vector<poly::Poly> sums =
      gathered_on(std::min(results, terms.size()), parts, members, terms.front().poly, each);
  for (const Term& term : terms.subspan(1)) join(terms.front(), term.meta);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    terms[i].meta = terms.front().meta;
    terms[i].poly = std::move(sums[i]);
    forget_seed(terms[i]);
  }
}

}  // namespace

void in_turn(std::size_t count, const std::function<void(std::size_t member)>& work) {
  for (std::size_t member = 0; member < count; ++member) work(member);
}

void add_from(Ciphertext& a, const Ciphertext& b) { add_peer(a, b); }
void add_from(ExtendedCiphertext& a, const ExtendedCiphertext& b) { add_peer(a, b); }

std::vector<Ciphertext> broadcast(std::span<const std::shared_ptr<const Context>> targets,
                                  const Ciphertext& source, const ForMembers& each) {
  require_filled(source, "broadcast");
  for (const auto& target : targets) require_same_parameters(*target, *source.context);
  const auto is_other = [&](const auto& target) { return target != source.context; };
  const auto others = static_cast<std::size_t>(std::count_if(targets.begin(), targets.end(), is_other));
  std::vector<Ciphertext> results(targets.size());
  if (others < 2) {
    each(targets.size(), [&](std::size_t i) { results[i] = copy_to(targets[i], source); });
    return results;
  }
  std::vector<const Context*> members;
  for (const auto& target : targets) members.push_back(target.get());
  std::vector<RowBuffer> parts(targets.size());
  each(targets.size(), [&](std::size_t member) {
    const Rows rows = part_of(rows_in(source.poly.shape()), member, targets.size());
    if (rows.count == 0) return;
    parts[member] = RowBuffer(*targets[member], source.poly.shape(), rows.count);
    copy_between(
        *targets[member], parts[member].view(), *source.context,
        [&] { return rows_of(source.poly.view(), rows); }, source.poly.form());
  });
  std::vector<poly::Poly> whole = gathered_on(targets.size(), parts, members, source.poly, each);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    results[i] = {targets[i], source.meta, std::move(whole[i]), source.seed};
  }
  return results;
}

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
