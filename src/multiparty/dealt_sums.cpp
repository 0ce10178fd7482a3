#include "hemera/multiparty/dealt_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "hemera/poly/backend.hpp"
#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "multiparty/messages.hpp"
#include "multiparty/public_factor.hpp"
#include "rlwe/host_threads.hpp"
#include "rlwe/wide_gaussian.hpp"

namespace hemera::multiparty {
namespace {

using arith::uint128;
using poly::Form;
using runtime::Secrecy;

constexpr std::string_view commitment_label = "hemera federation piece 1";
constexpr std::string_view dealt_label = "hemera federation contributor 1";
constexpr std::string_view secret_label = "hemera federation secret 1";
constexpr std::string_view flooding_label = "hemera federation flooding 1";
// Bytes of polynomials that a device, or a thread, works on at once: whole pieces of a message.
constexpr std::size_t device_batch = std::size_t{1} << 20, thread_batch = std::size_t{1} << 18;
constexpr std::size_t most_polynomials = 32;  // whose seeds are of one kernel of a device

poly::Seed derived(const poly::Seed& key, const runtime::ByteWriter& input) {
  poly::Seed seed;
  runtime::hmac_sha256(seed.bytes, std::as_bytes(std::span(key.bytes)), input.view());
  return seed;
}

// The seed of the dealt secret of a contributor's part in a list.
poly::Seed secret_seed(const poly::Seed& dealt, const Transcript& transcript) {
  runtime::ByteWriter in;
  in.string(secret_label);
  in.bytes(transcript.digest());
  return derived(dealt, in);
}

poly::Seed flooding_seed(const Piece& piece, const Transcript& transcript, std::size_t number,
                         int flooding_log2, const Sha256Digest& factor) {
  runtime::ByteWriter in;
  in.string(flooding_label);
  in.bytes(transcript.digest());
  in.u32(static_cast<std::uint32_t>(number));
  in.u32(static_cast<std::uint32_t>(flooding_log2));
  in.bytes(factor);
  return derived(piece.key(), in);
}

// What a list's contributor has of a piece, or a contributor of its pieces.
struct Dealt {
  poly::Seed seed;
  std::uint64_t weight = 1;
};

// The weighted sum of what dealt seeds give: `count` polynomials from number `first` on, as components. Five
// seeds and the sum so far are the terms of one kernel of a device.
poly::Poly summed(const rlwe::Context& context, std::span<const Dealt> dealt,
                  const poly::Distribution& distribution, Form form, std::size_t first, std::size_t count) {
  constexpr std::size_t at_once = 5;
  const poly::Backend& backend = context.backend();
  const poly::RnsBase& base = context.base(context.top_level());
  auto workspace = context.make_workspace(Secrecy::secret);
  poly::Poly sum = context.make_poly(1, count, base, form, Secrecy::secret);
  poly::Poly drawn = context.make_poly(std::min(at_once, dealt.size()), count, base, form, Secrecy::secret);
  for (std::size_t done = 0; done < dealt.size(); done += at_once) {
    const auto some = dealt.subspan(done, std::min(at_once, dealt.size() - done));
    const poly::PolyView own = drawn.view().batches(0, some.size());
    std::vector<poly::RandomStream> streams;
    std::vector<poly::ConstPolyView> terms(done > 0 ? 1 : 0, sum.view());
    std::vector<std::vector<std::uint64_t>> weights(terms.size(), std::vector<std::uint64_t>(base.size(), 1));
    for (std::size_t i = 0; i < some.size(); ++i) {
      streams.push_back({some[i].seed, static_cast<std::uint32_t>(first)});
      terms.emplace_back(own.batches(i, 1));
      std::vector<std::uint64_t>& residues = weights.emplace_back();
      for (std::size_t j = 0; j < base.size(); ++j) {
        residues.push_back(base.modulus(j).reduce(some[i].weight));
      }
    }
    backend.sample(context.queue(), own, streams, distribution, base, workspace);
    backend.combine(context.queue(), sum.view(), terms, weights, {}, base, workspace);
  }
  return sum;
}

// The sum of dealt secrets, in evaluation form.
poly::Poly summed_secret(const rlwe::Context& context, std::span<const Dealt> dealt) {
  poly::Poly sum = summed(context, dealt, poly::Distribution::ternary(), Form::coefficient, 0, 1);
  context.backend().forward_transform(context.queue(), sum.view(), std::as_const(sum).view(), sum.base());
  sum.set_form(Form::evaluation);
  return sum;
}

// The sum of masks, [1, polynomial, limb, N]: entries in standard order, to which values are added.
poly::Poly summed_masks(const rlwe::Context& context, std::span<const Dealt> dealt, std::size_t first,
                        std::size_t count) {
  return summed(context, dealt, poly::Distribution::uniform(), Form::evaluation, first, count);
}

// Residues modulo one or two primes, [limb, N], as integers modulo their product.
class Lift {
 public:
  explicit Lift(const poly::RnsBase& base)
      : first_(base.modulus(0).value()),
        second_(base.modulus(base.size() - 1).value()),
        multiple_((first_ / second_ + 1) * second_),
        inverse_(inverse(base.modulus(base.size() - 1)), base.modulus(base.size() - 1)) {}
  // y is x where there is one prime: then the step is 0.
  [[nodiscard]] uint128 operator()(std::uint64_t x, std::uint64_t y) const {
    return static_cast<uint128>(first_) * arith::multiply(y + multiple_ - x, inverse_, second_) + x;
  }

 private:
  [[nodiscard]] std::uint64_t inverse(const arith::Modulus& second) const {
    return second.power(second.reduce(first_), second_ - 2);
  }

  std::uint64_t first_;
  std::uint64_t second_;
  std::uint64_t multiple_;  // of the second, at least the first
  arith::ShoupFactor inverse_;
};

void require_context(const rlwe::Context& context, const Description& description) {
  if (context.parameters() == description.plan().parameters()) return;
  throw MismatchError("the context has other parameters than the federation; make it of the plan's");
}

// Some consecutive polynomials of a round.
struct Batch {
  std::size_t number, first, count;
};
// Batches that begin while two threads of 16 sum the secrets: with more of them all would wait for the last.
constexpr std::size_t most_ahead = 14;

// Calls prepare(i) for i below `prepared` and, at the same time, begin(batch) for the first batches, at most
// most_ahead; then work(batch) for all batches of a round. The context's threads share them; on a device the
// process's, each with its stream: some hash and pack what others compute. Threads that are in a loop copy by
// themselves.
template <typename Prepare, typename Begin, typename Work>
void for_polynomials(const rlwe::Context& context, const Plan& plan, std::size_t prepared,
                     const Prepare& prepare, const Begin& begin, const Work& work) {
  runtime::ThreadPool* threads = rlwe::host_threads(context);
  const std::size_t bytes = threads == nullptr ? device_batch : thread_batch;
  const std::size_t most =
      std::clamp<std::size_t>(bytes / (2 * plan.request().degree * 8), 1, most_polynomials);
  const std::size_t batches = (plan.polynomials() + most - 1) / most;
  const auto run = [&](std::size_t part, std::size_t i) {
    if (part == 0) return prepare(i);
    const Batch batch{i, i * most, std::min(most, plan.polynomials() - i * most)};
    return part == 1 ? begin(batch) : work(batch);
  };
  const std::array<runtime::LoopPart, 3> parts = {
      {{prepared, 0}, {std::min(batches, most_ahead), 0}, {batches, 2}}};
  if (threads == nullptr) threads = &runtime::host_pool();
  if (context.ledger() == nullptr) return threads->parallel_for_parts(parts, run);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (std::size_t i = 0; i < parts[part].count; ++i) run(part, i);
  }
}

// Writes what `value` makes of each of the residues, [polynomial, limb, N]: of its number in the round, and
// the residues as an integer modulo Q. Those after the last value of the round are left out.
template <typename Value>
void write_values(const Plan& plan, const poly::RnsBase& base, std::span<const std::uint64_t> residues,
                  std::size_t first, MessageWriter& message, const Value& value) {
  const Lift lift(base);
  const std::size_t degree = plan.request().degree, limbs = base.size();
  const std::size_t end = std::min(first * degree + residues.size() / limbs, plan.request().values);
  std::size_t number = first * degree;
  Packer packed = message.values(number, end - number);
  for (const std::uint64_t* x = residues.data(); number < end; x += limbs * degree) {  // [limb, N]
    const std::uint64_t* y = x + (limbs - 1) * degree;
    const std::size_t count = std::min(degree, end - number);
    for (std::size_t i = 0; i < count; ++i) packed.put(value(number + i, lift(x[i], y[i])));
    number += count;
  }
  packed.finish();
  message.written(first * degree, end - first * degree);
}

void require_values(const Plan& plan, std::span<const std::int64_t> values) {
  if (values.size() != plan.request().values) {
    throw MismatchError("an upload of this federation has " + std::to_string(plan.request().values) +
                        " values, not " + std::to_string(values.size()));
  }
  const std::int64_t largest = (std::int64_t{1} << (plan.request().value_bits - 1)) - 1;
  if (std::ranges::any_of(values, [largest](std::int64_t v) { return v > largest || v < -largest; })) {
    throw RangeError("a value of an upload exceeds " + std::to_string(largest) +
                     " in magnitude; clip values before they are uploaded");
  }
}

}  // namespace

Piece Piece::fresh(std::size_t number) { return {number, poly::Seed::fresh()}; }

Sha256Digest Piece::commitment(const Description& description) const {
  runtime::ByteWriter in;
  in.string(commitment_label);
  in.bytes(description.id());
  in.u32(static_cast<std::uint32_t>(number_));
  return derived(key_, in).bytes;
}

poly::Seed Piece::dealt(const Description& description, const std::string& contributor) const {
  runtime::ByteWriter in;
  in.string(dealt_label);
  in.bytes(description.id());
  in.string(contributor);
  return derived(key_, in);
}

std::size_t upload_bytes(const Description& description, const std::string& name) {
  return message_bytes(description, {.kind = MessageKind::upload, .sender = name});
}

void upload(const rlwe::ContextPointer& context, const Description& description, const Transcript& transcript,
            const std::string& name, std::span<const poly::Seed> dealt, std::span<const std::int64_t> values,
            std::span<std::byte> out) {
  require_context(*context, description);
  const Plan& plan = description.plan();
  require_values(plan, values);
  if (transcript.find(name) == nullptr) {
    throw MismatchError("'" + name + "' is not on the list of round " + std::to_string(transcript.round()));
  }
  if (dealt.size() != plan.request().pieces) {
    throw MismatchError("'" + name + "' has parts of " + std::to_string(dealt.size()) + " pieces, not of " +
                        std::to_string(plan.request().pieces) + "; members hand them out");
  }
  std::vector<Dealt> seeds;
  for (const poly::Seed& part : dealt) seeds.push_back({secret_seed(part, transcript)});
  const bool is_masked = plan.request().method == Method::masks;
  poly::Poly secret;
  const poly::Seed errors = poly::Seed::fresh();
  const uint128 modulus = plan.modulus(), delta = plan.delta();
  MessageWriter message(description, transcript, {.kind = MessageKind::upload, .sender = name}, out);
  const auto prepare = [&](std::size_t) { secret = summed_secret(*context, seeds); };
  const auto begin = [](const Batch&) {};
  for_polynomials(*context, plan, is_masked ? 0 : 1, prepare, begin, [&](const Batch& batch) {
    const poly::Poly b = is_masked ? summed_masks(*context, seeds, batch.first, batch.count)
                                   : upload_of_zeros(*context, transcript.public_seed(), secret, errors,
                                                     batch.first, batch.count);
    const HostWords residues(*context, b.view(), b.form());
    const runtime::ZeroedAtEnd zeroed{residues.all()};
    write_values(plan, b.base(), residues.all(), batch.first, message, [&](std::size_t i, uint128 x) {
      const std::int64_t m = values[i];
      const uint128 scaled = delta * static_cast<std::uint64_t>(m < 0 ? -m : m);  // below Q / 2
      x += m < 0 ? modulus - scaled : scaled;
      return rounded(x >= modulus ? x - modulus : x, plan.margin().upload_dropped);
    });
  });
  message.finish();
}

namespace {

// One computation of a share: all that it has is derived from the piece's key.
class ShareComputation {
 public:
  // What all batches need.
  void prepare(const rlwe::Context& context, const Description& description, const Transcript& transcript,
               const Piece& piece) {
    for (const Contribution& each : transcript.list()) {
      dealt_.push_back({secret_seed(piece.dealt(description, each.name), transcript), each.weight});
    }
    const Margin& margin = description.plan().margin();
    if (margin.method == Method::masks) return;
    flooding_.emplace(std::exp2(margin.flooding_log2));
    secret_ = summed_secret(context, dealt_);
  }

  // The share of public polynomials from number `first` on, before it is rounded.
  [[nodiscard]] poly::Poly flooded(const rlwe::Context& context, const Margin& margin,
                                   const Transcript& transcript, const Piece& piece, std::size_t first,
                                   const PublicFactor& rho) const {
    const poly::RnsBase& base = secret_.base();
    std::vector<poly::Seed> seeds;
    for (const Sha256Digest& digest : rho.digests()) {
      seeds.push_back(flooding_seed(piece, transcript, first + seeds.size(), margin.flooding_log2, digest));
    }
    poly::Poly answer = context.make_poly(seeds.size(), 1, base, Form::coefficient, Secrecy::secret);
    rho.multiply(answer.view(), secret_.view());
    flooding_->sample(context, answer.view(), seeds, base, true);
    return answer;
  }
  // With Method::masks.
  [[nodiscard]] poly::Poly masked(const rlwe::Context& context, std::size_t first, std::size_t count) const {
    poly::Poly masks = summed_masks(context, dealt_, first, count);
    context.backend().negate(context.queue(), masks.view(), std::as_const(masks).view(), masks.base());
    return masks;
  }

 private:
  std::vector<Dealt> dealt_;
  std::optional<rlwe::WideGaussian> flooding_;
  poly::Poly secret_;
};

}  // namespace

Member::Member(rlwe::ContextPointer context, const Description& description, std::size_t number,
               std::vector<Piece> pieces, Ledger ledger)
    : context_(std::move(context)),
      description_(description),
      pieces_(std::move(pieces)),
      ledger_(std::move(ledger)) {
  require_context(*context_, description_);
  std::vector<std::size_t> numbers;
  for (const Piece& piece : pieces_) numbers.push_back(piece.number());
  if (numbers != description_.access().held_by(number)) {
    throw MismatchError("member " + std::to_string(number) + " has not the pieces that it holds, in order");
  }
}

void Member::answer_once(const Transcript& transcript) {
  const std::lock_guard lock(mutex_);
  const auto known = answered_.find(transcript.round());
  std::optional<Sha256Digest> before;
  if (known != answered_.end()) before = known->second;
  const std::optional<Sha256Digest> kept = ledger_.answered(transcript.round());
  for (const auto& digest : {before, kept}) {
    if (digest && *digest != transcript.digest()) {
      throw MismatchError("round " + std::to_string(transcript.round()) +
                          " was answered for another list; two lists of one round would open the "
                          "contributors in which they differ: start another round");
    }
  }
  if (!kept) ledger_.note(transcript.round(), transcript.digest());
  answered_.insert_or_assign(transcript.round(), transcript.digest());
}

std::size_t Member::share_bytes() const { return message_bytes(description_, {.kind = MessageKind::share}); }

void Member::share(const Transcript& transcript, std::size_t piece, std::span<std::byte> out) {
  const auto mine = std::ranges::find(pieces_, piece, &Piece::number);
  if (mine == pieces_.end()) {
    throw ParameterError("this member does not hold piece " + std::to_string(piece));
  }
  // The list is of this federation: its digest says so.
  static_cast<void>(Transcript::read(description_, transcript.bytes()));
  MessageWriter message(description_, transcript,
                        {.kind = MessageKind::share, .piece = static_cast<std::uint32_t>(piece)}, out);
  answer_once(transcript);
  const Plan& plan = description_.plan();
  const Margin& margin = plan.margin();
  require_margin(margin);
  const bool is_masked = margin.method == Method::masks;
  const poly::Seed seed = transcript.public_seed();
  std::array<ShareComputation, 2> computations;
  std::array<std::optional<PublicFactor>, most_ahead> ahead;
  const auto prepare = [&](std::size_t i) {
    computations[i].prepare(*context_, description_, transcript, *mine);
  };
  const auto begin = [&](const Batch& batch) {
    if (!is_masked) ahead[batch.number].emplace(*context_, seed, batch.first, batch.count);
  };
  const auto computed = [&](const ShareComputation& computation, const Batch& batch,
                            const PublicFactor& rho) {
    return computation.flooded(*context_, margin, transcript, *mine, batch.first, rho);
  };
  for_polynomials(*context_, plan, computations.size(), prepare, begin, [&](const Batch& batch) {
    poly::Poly once, twice;
    if (is_masked) {
      once = computations[0].masked(*context_, batch.first, batch.count);
      twice = computations[1].masked(*context_, batch.first, batch.count);
    } else {
      // The device has both products and floodings before the host waits for anything.
      const PublicFactor rho = batch.number < ahead.size()
                                   ? *std::exchange(ahead[batch.number], std::nullopt)
                                   : PublicFactor(*context_, seed, batch.first, batch.count);
      const PublicFactor again = rho.redrawn(seed, batch.first);
      once = computed(computations[0], batch, rho);
      twice = computed(computations[1], batch, again);
      again.require_unchanged();
    }
    const HostWords residues(*context_, once.view(), once.form());
    const runtime::ZeroedAtEnd zeroed{residues.all()};
    if (!residues.equal(*context_, twice.view(), twice.form())) {
      throw DeviceError("two computations of a share differ: a fault of the machine; nothing was sent");
    }
    write_values(plan, once.base(), residues.all(), batch.first, message,
                 [&](std::size_t, uint128 x) { return rounded(x, margin.share_dropped); });
  });
  message.finish();
}

}  // namespace hemera::multiparty
