// Encryption with a public key and the phase of a decryption, limb by limb while it is in the cache.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/division_rows.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/sampling.hpp"
#include "poly/cpu/transform_part.hpp"
#include "poly/cpu/tuning.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

namespace {

constexpr std::uint64_t ternary_bound = 1;

// Coefficients of one polynomial of a limb: sum_i rows[i] weights[i] - quotient product - shift.
struct WeightedRows {
  std::vector<std::uint64_t> weights;
  std::uint64_t product = 0;
  std::uint64_t shift = 0;

  // One more row, of integers that are `added` too large to be unsigned.
  void add(std::uint64_t weight, std::uint64_t added, const arith::Modulus& q) {
    weights.push_back(weight);
    shift = q.add(shift, q.multiply(weight, q.reduce(added)));
  }
};

// The quotient of a division without what the kept limbs bring: -delta / D modulo a target modulus.
WeightedRows subtracted(const DivisionRows& rows, std::size_t j) {
  const arith::Modulus& q = rows.plan().target().modulus(j);
  const std::uint64_t inverse = rows.plan().inverse_dropped()[j].operand;
  const auto times = [&](std::uint64_t x) { return q.negate(q.multiply(x, inverse)); };
  WeightedRows result{
      .weights = rows.weights(j), .product = times(rows.product(j)), .shift = times(rows.shift(j))};
  for (std::uint64_t& weight : result.weights) weight = times(weight);
  return result;
}

}  // namespace

// With a division of x = key u + factor e into (E x - delta) / D each limb of the result is
// key (u E / D) + (factor e E - delta) / D: three transforms a limb, as without. delta follows from the
// dropped limbs of x, of which only key u is transformed back.
class CpuBackend::Encryption {
 public:
  struct Arguments {
    const PolyView& out;
    const ConstPolyView& key;
    const RandomStream& stream;
    const ErrorDistribution& distribution;
    std::uint64_t factor;
    const RnsBase& base;
    const Division* division;  // or null
    const ConstPolyView& addend;
  };

  // Takes its scratch. With a workspace that measures nothing else may be called.
  Encryption(const CpuBackend& backend, const Arguments& given, Workspace& workspace)
      : backend_(backend),
        kernels_(backend.kernels_),
        given_(given),
        target_(given.division == nullptr ? given.base : given.division->target()),
        error_bound_(static_cast<std::uint64_t>(given.distribution.bound())),
        degree_(given.out.shape.degree),
        dropped_(given.division == nullptr ? 0 : given.division->dropped().size()),
        drops_(given.out.shape.batch * dropped_),
        limbs_(given.out.shape.batch * target_.size()),
        words_(degree_ * (3 * given.out.shape.batch * tuning::sampling_weight +
                          (drops_ + limbs_) * tuning::encryption_weight)),
        threads_(threads_for(*backend.pool_, words_)),
        parts_(parts_of(drops_)),
        ahead_(parts_ == 1 ? 0 : limbs_ % static_cast<std::size_t>(threads_)),
        errors_(take(workspace, with_limbs(given.out.shape, 1))),
        ternary_(take(workspace, with_components(errors_.shape, 1))),
        u_(take(workspace, {.batch = 1, .components = 1, .limbs = kept_limbs(), .degree = degree_})) {
    if (given.division != nullptr) {
      delta_ = take(workspace, DivisionRows::shape(*given.division, given.out.shape));
    }
    if (workspace.measures()) return;
    if (given.division != nullptr) rows_.emplace(kernels_, *given.division);
    make_terms();
  }

  void run(Queue& queue) {
    if (parts_ > 1) {
      run_together(pool_of(queue));
    } else {
      run_in_turn(queue);
    }
  }

 private:
  // The number of parts into which threads divide each of some transforms.
  [[nodiscard]] std::size_t parts_of(std::size_t count) const {
    return degree_ < tuning::least_divided_degree || count == 0
               ? 1
               : even_parts(count, threads_, tuning::most_transform_parts);
  }

  // --- The whole: limb by limb, or all threads together. ---

  void run_in_turn(Queue& queue) const {
    runtime::ThreadPool& pool = pool_of(queue);
    const SamplingKernels& sampling = *kernels_.sampling;
    sample_integers(pool, sampling, ternary_, given_.stream, Distribution::ternary());
    sample_integers(pool, sampling, errors_, given_.stream, Distribution::error(given_.distribution));
    const PolyShape shape = with_components(given_.out.shape, 1);
    if (rows_) {
      for_each_limb(queue, with_limbs(shape, dropped_), tuning::encryption_weight,
                    [&](std::size_t b, std::size_t, std::size_t i) { drop(b, i); });
      if (completes()) {
        for_each_block(queue, delta_.shape, DivisionRows::block, 2 + rows_->weight(),
                       [&](std::size_t b, std::size_t c, std::size_t first) { complete(b, c, first); });
      }
    }
    for_each_transform(
        queue, shape, tuning::encryption_weight,
        [&](std::size_t b, std::size_t, std::size_t l) { make_limb(b, l); },
        [&](std::size_t step, std::size_t b, std::size_t, std::size_t l, std::size_t part,
            std::size_t parts) {
          const TransformPart divided(kernels_, backend_.tables(target_, l), part, parts);
          transform_u_part(step, b, l, divided);
          for (std::size_t c = 0; c < 2; ++c) finish_part(step, b, c, l, divided);
        });
  }

  // The dropped limbs' transforms are a chain of three steps. Threads that they leave idle draw the errors,
  // of which only the last step knows, and transform u for those limbs that the threads can not share evenly;
  // its other limbs stay with the threads that use them, which zero them while they are in their caches: a
  // third of the time would go to zeroing them from elsewhere.
  void run_together(runtime::ThreadPool& pool) {
    if (limbs_ > ahead_) {
      own_u_ = runtime::Buffer(backend_.memory(), (limbs_ - ahead_) * degree_ * sizeof(Limb));
      own_ = reinterpret_cast<Limb*>(own_u_.data());
    }
    try {
      prepare(pool);
      finish(pool);
    } catch (...) {
      runtime::secure_zero(own_, own_u_.size());
      throw;
    }
  }

  void transform_u(std::size_t b, std::size_t l) const {
    begin_u(b, l, 0, degree_);
    kernels_.forward_transform(u(b, l), u(b, l), backend_.tables(target_, l));
  }
  void transform_u_part(std::size_t step, std::size_t b, std::size_t l, const TransformPart& divided) const {
    divided.forward_step(step, u(b, l),
                         [&](std::size_t first, std::size_t count) { begin_u(b, l, first, count); });
  }
  // One component of a limb of the result, of a transformed limb of u.
  void finish_limb(std::size_t b, std::size_t c, std::size_t l) const {
    Limb* const to = given_.out.limb<Limb>(b, c, l);
    begin(b, c, l, 0, degree_);
    kernels_.forward_transform(to, to, backend_.tables(target_, l));
    end(b, c, l, 0, degree_);
  }
  void make_limb(std::size_t b, std::size_t l) const {
    transform_u(b, l);
    for (std::size_t c = 0; c < 2; ++c) finish_limb(b, c, l);
  }
  void finish_part(std::size_t step, std::size_t b, std::size_t c, std::size_t l,
                   const TransformPart& divided) const {
    divided.forward_step(
        step, given_.out.limb<Limb>(b, c, l),
        [&](std::size_t first, std::size_t count) { begin(b, c, l, first, count); },
        [&](std::size_t first, std::size_t count) { end(b, c, l, first, count); });
  }

  // Limbs of u, in evaluation form, that the workspace holds: together the dropped ones and those that are
  // ahead, else first the dropped ones and then those of the result, of which one thread needs one.
  [[nodiscard]] std::size_t kept_limbs() const {
    if (parts_ > 1) return drops_ + ahead_;
    return one_limb() ? 1 : std::max(drops_, limbs_);
  }
  [[nodiscard]] bool one_limb() const { return backend_.pool_->threads() == 1; }
  [[nodiscard]] Limb* dropped_u(std::size_t b, std::size_t i) const {
    return u_.limb<Limb>(0, 0, one_limb() ? 0 : b * dropped_ + i);
  }
  [[nodiscard]] Limb* u(std::size_t b, std::size_t l) const {
    const std::size_t i = b * target_.size() + l;
    if (parts_ == 1) return u_.limb<Limb>(0, 0, one_limb() ? 0 : i);
    const std::size_t own = limbs_ - ahead_;
    return i < own ? own_ + i * degree_ : u_.limb<Limb>(0, 0, drops_ + i - own);
  }
  [[nodiscard]] std::uint64_t scaled(std::size_t l) const {
    return given_.division == nullptr ? 1 : given_.division->scaled_inverse()[l].operand;
  }

  void make_terms() {
    // If only one limb is dropped, y - factor e is one row of the sums, in place of two. Only while it has at
    // most 52 bits: sums of wider rows can take longer.
    constexpr std::uint64_t largest = std::uint64_t{1} << 52;
    error_shift_ = given_.factor * error_bound_;
    folds_ = dropped_ == 1 && !given_.division->multiplies() && given_.factor >> 32 == 0 &&
             error_bound_ <= (std::uint64_t{1} << 40) / given_.factor &&
             rows_->bound() + 2 * error_shift_ <= largest;
    bound_ = folds_ ? rows_->bound() + 2 * error_shift_
                    : std::max(rows_ ? rows_->bound() : 0, 2 * error_bound_ + 1);
    terms_.resize(target_.size());
    for (std::size_t l = 0; l < terms_.size(); ++l) {
      const arith::Modulus& q = target_.modulus(l);
      if (rows_) terms_[l] = subtracted(*rows_, l);
      if (folds_) {
        terms_[l].shift =
            q.add(terms_[l].shift, q.multiply(terms_[l].weights.front(), q.reduce(error_shift_)));
      } else {
        terms_[l].add(q.multiply(q.reduce(given_.factor), scaled(l)), error_bound_, q);
      }
    }
  }

  // All but the limbs of the result.
  void prepare(runtime::ThreadPool& pool) const {
    const std::size_t batch = given_.out.shape.batch;
    const std::size_t drops = drops_ * parts_;
    const std::size_t first_limbs =
        std::min(ahead_, std::max(drops, static_cast<std::size_t>(threads_)) - drops);
    const std::size_t range = std::max(sampled_range, degree_ / 16);
    const std::size_t ranges = degree_ / range;
    const std::size_t blocks = completes() ? degree_ / DivisionRows::block : 0;
    enum : std::size_t { ternary, first_step, first_u, second_step, errors, other_u, third_step, other_rows };
    const std::array<runtime::LoopPart, 8> order = {{
        {.count = batch * ranges, .after = 0},
        {.count = drops, .after = first_step},
        {.count = first_limbs, .after = first_step},
        {.count = drops, .after = first_u},
        {.count = 2 * batch * ranges, .after = 0},
        {.count = ahead_ - first_limbs, .after = first_step},
        {.count = drops, .after = other_u},
        {.count = 2 * batch * blocks, .after = other_rows},
    }};
    const SamplingKernels& sampling = *kernels_.sampling;
    const auto error_distribution = Distribution::error(given_.distribution);
    const auto drop_parts = [&](std::size_t step, std::size_t i) {
      drop_part(step, i / parts_ / dropped_, i / parts_ % dropped_, i % parts_, parts_);
    };
    const auto transform = [&](std::size_t i) {
      i += limbs_ - ahead_;
      transform_u(i / target_.size(), i % target_.size());
    };
    pool.parallel_for_parts(
        order,
        [&](std::size_t part, std::size_t i) {
          switch (part) {
            case ternary:
              return sample_integers(sampling, ternary_, i / ranges, i % ranges * range, range, given_.stream,
                                     Distribution::ternary());
            case first_step:
              return drop_parts(0, i);
            case first_u:
              return transform(i);
            case second_step:
              return drop_parts(1, i);
            case errors:
              return sample_integers(sampling, errors_, i / ranges, i % ranges * range, range, given_.stream,
                                     error_distribution);
            case other_u:
              return transform(first_limbs + i);
            case third_step:
              return drop_parts(2, i);
            default:
              return complete(i / blocks / 2, i / blocks % 2, i % blocks * DivisionRows::block);
          }
        },
        threads_worth(words_));
  }

  // The limbs of the result: the parts of those that are divided begin before the others, and so nobody waits
  // for them.
  void finish(runtime::ThreadPool& pool) const {
    const std::size_t own = limbs_ - ahead_;
    const std::size_t parts = parts_of(2 * ahead_);
    const std::size_t divided = 2 * ahead_ * parts;
    const auto at = [&](std::size_t i, const auto& body) { body(i / target_.size(), i % target_.size()); };
    const std::array<runtime::LoopPart, 3> order = {{
        {.count = divided, .after = 0},
        {.count = own, .after = 0},
        {.count = parts == 1 ? 0 : divided, .after = 1},
    }};
    pool.parallel_for_parts(
        order,
        [&](std::size_t number, std::size_t i) {
          if (number == 1) {
            return at(i, [&](std::size_t b, std::size_t l) {
              make_limb(b, l);
              runtime::secure_zero(u(b, l), degree_ * sizeof(Limb));
            });
          }
          at(own + i / parts / 2, [&](std::size_t b, std::size_t l) {
            const std::size_t c = i / parts % 2;
            if (parts == 1) return finish_limb(b, c, l);
            finish_part(number / 2, b, c, l,
                        TransformPart(kernels_, backend_.tables(target_, l), i % parts, parts));
          });
        },
        threads_worth(words_));
  }

  void write_ternary(Limb* to, std::uint64_t weight, std::size_t b, std::size_t first, std::size_t count,
                     const arith::Modulus& q) const {
    const Limb* const from = ternary_.limb<Limb>(b, 0, 0) + first;
    kernels_.weighted_sum(to + first, &from, &weight, 1, 2 * ternary_bound + 1, nullptr, 0, weight, count, q);
  }
  void begin_u(std::size_t b, std::size_t l, std::size_t first, std::size_t count) const {
    write_ternary(u(b, l), scaled(l), b, first, count, target_.modulus(l));
  }

  // --- What is dropped: x = key u transformed back, and factor e. ---

  void begin_dropped(std::size_t b, std::size_t i, std::size_t first, std::size_t count) const {
    write_ternary(dropped_u(b, i), rows_->factor(i).operand, b, first, count,
                  given_.division->dropped().modulus(i));
  }
  void multiply_dropped(std::size_t b, std::size_t i, std::size_t first, std::size_t count) const {
    for (std::size_t c = 0; c < 2; ++c) {
      kernels_.multiply(delta_.limb<Limb>(b, c, i) + first,
                        given_.key.limb<Limb>(0, c, given_.division->dropped_positions()[i]) + first,
                        dropped_u(b, i) + first, count, given_.division->dropped().modulus(i));
    }
  }
  void add_errors(std::size_t b, std::size_t i, std::size_t first, std::size_t count) const {
    const arith::Modulus& d = given_.division->dropped().modulus(i);
    WeightedRows terms{.weights = {}, .shift = d.negate(rows_->center(i))};
    terms.add(d.multiply(d.reduce(given_.factor), rows_->factor(i).operand), error_bound_, d);
    for (std::size_t c = 0; c < 2; ++c) {
      const Limb* const from = errors_.limb<Limb>(b, c, 0) + first;
      Limb* const term = dropped_u(b, i) + first;  // u is not needed any more
      Limb* const to = delta_.limb<Limb>(b, c, i) + first;
      kernels_.weighted_sum(term, &from, terms.weights.data(), 1, 2 * error_bound_ + 1, nullptr, 0,
                            terms.shift, count, d);
      kernels_.add(to, to, term, count, d);
    }
  }
  void drop(std::size_t b, std::size_t i) const {
    const LimbTables& own = backend_.tables(given_.division->dropped(), i);
    begin_dropped(b, i, 0, degree_);
    kernels_.forward_transform(dropped_u(b, i), dropped_u(b, i), own);
    multiply_dropped(b, i, 0, degree_);
    for (std::size_t c = 0; c < 2; ++c) {
      kernels_.inverse_transform(delta_.limb<Limb>(b, c, i), delta_.limb<Limb>(b, c, i), own);
    }
    add_errors(b, i, 0, degree_);
  }
  void drop_part(std::size_t step, std::size_t b, std::size_t i, std::size_t part, std::size_t parts) const {
    const TransformPart divided(kernels_, backend_.tables(given_.division->dropped(), i), part, parts);
    const std::array sums = {delta_.limb<Limb>(b, 0, i), delta_.limb<Limb>(b, 1, i)};
    if (step < 2) {
      divided.forward_step(
          step, dropped_u(b, i),
          [&](std::size_t first, std::size_t count) { begin_dropped(b, i, first, count); },
          [&](std::size_t first, std::size_t count) { multiply_dropped(b, i, first, count); });
    }
    if (step == 1) {
      for (Limb* const sum : sums) divided.inverse_rows(sum, sum);
    } else if (step == 2) {
      for (Limb* const sum : sums) divided.inverse_columns(sum);
      divided.for_each_column_run(
          [&](std::size_t first, std::size_t count) { add_errors(b, i, first, count); });
    }
  }

  // Whether something is left to do when all dropped limbs are there, and it, for a block.
  [[nodiscard]] bool completes() const { return folds_ || rows_->completes(); }
  void complete(std::size_t b, std::size_t c, std::size_t first) const {
    if (rows_->completes()) rows_->complete(delta_, b, c, first);
    if (!folds_) return;
    Limb* const y = delta_.limb<Limb>(b, c, 0) + first;
    const Limb* const error = errors_.limb<Limb>(b, c, 0) + first;
    // Both are below 2^32: products that every instruction set has vectors for.
    const auto scale = static_cast<std::uint32_t>(given_.factor);
    for (std::size_t i = 0; i < DivisionRows::block; ++i) {
      y[i] += 2 * error_shift_ - std::uint64_t{scale} * static_cast<std::uint32_t>(error[i]);
    }
  }

  // --- The limbs of the result. ---

  void begin(std::size_t b, std::size_t c, std::size_t l, std::size_t first, std::size_t count) const {
    std::vector<const Limb*> from;
    if (rows_) from = rows_->summed_rows(delta_, b, c, first);
    if (!folds_) from.push_back(errors_.limb<Limb>(b, c, 0) + first);
    kernels_.weighted_sum(given_.out.limb<Limb>(b, c, l) + first, from.data(), terms_[l].weights.data(),
                          from.size(), bound_, rows_ ? rows_->quotient_row(delta_, b, c, first) : nullptr,
                          terms_[l].product, terms_[l].shift, count, target_.modulus(l));
  }
  void end(std::size_t b, std::size_t c, std::size_t l, std::size_t first, std::size_t count) const {
    // In a limb that the division adds u is 0, whatever it multiplies.
    const std::int32_t kept =
        given_.division == nullptr ? static_cast<std::int32_t>(l) : given_.division->kept_positions()[l];
    const auto position = static_cast<std::size_t>(std::max(kept, 0));
    Limb* const to = given_.out.limb<Limb>(b, c, l) + first;
    const arith::Modulus& q = target_.modulus(l);
    kernels_.multiply_add(to, given_.key.limb<Limb>(0, c, position) + first, u(b, l) + first, to, count, q);
    if (c == 0 && given_.addend.data != nullptr) {
      kernels_.add(to, to, given_.addend.limb<Limb>(b, 0, l) + first, count, q);
    }
  }

  const CpuBackend& backend_;
  const Kernels& kernels_;
  const Arguments given_;
  const RnsBase& target_;
  std::uint64_t error_bound_;
  std::size_t degree_;
  std::size_t dropped_;
  std::size_t drops_, limbs_;  // dropped limbs and those of the result, of the whole batch
  std::size_t words_;
  int threads_;
  std::size_t parts_;          // of each dropped limb's transforms; 1: not together
  std::size_t ahead_;          // the last limbs, of which u is transformed beside the dropped ones
  PolyView errors_, ternary_;  // coefficients, shifted to unsigned
  PolyView u_, delta_;
  runtime::Buffer own_u_;  // zero, or being used
  Limb* own_ = nullptr;
  std::optional<DivisionRows> rows_;
  bool folds_ = false;
  std::uint64_t error_shift_ = 0;
  std::uint64_t bound_ = 0;
  std::vector<WeightedRows> terms_;  // [limb of the target]
};

void CpuBackend::do_encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                                 const RandomStream& stream, const ErrorDistribution& distribution,
                                 std::uint64_t factor, const RnsBase& base, const Division* division,
                                 const ConstPolyView& addend, Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  Encryption encryption(*this,
                        {.out = out,
                         .key = key,
                         .stream = stream,
                         .distribution = distribution,
                         .factor = factor,
                         .base = base,
                         .division = division,
                         .addend = addend},
                        workspace);
  if (!workspace.measures()) encryption.run(queue);
}

// Horner's rule; of three components and more in blocks that stay in a near cache.
void CpuBackend::do_phase(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const ConstPolyView& secret, Form form, const RnsBase& base) const {
  constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);
  const std::size_t components = in.shape.components;
  const auto sum = [&](std::size_t b, std::size_t l, std::size_t first, std::size_t count) {
    const std::size_t size = components > 2 ? std::min(block, count) : count;
    for (const std::size_t end = first + count; first < end; first += size) {
      Limb* const to = out.limb<Limb>(b, 0, l) + first;
      const Limb* higher = in.limb<Limb>(b, components - 1, l) + first;
      if (components == 1) std::copy_n(higher, size, to);
      for (std::size_t c = components - 1; c-- > 0; higher = to) {
        kernels_.multiply_add(to, higher, secret.limb<Limb>(0, 0, l) + first, in.limb<Limb>(b, c, l) + first,
                              size, base.modulus(l));
      }
    }
  };
  if (form == Form::evaluation) {
    for_each_part(queue, out.shape, components,
                  [&](std::size_t b, std::size_t, std::size_t l, std::size_t first, std::size_t count) {
                    sum(b, l, first, count);
                  });
    return;
  }
  for_each_transform(
      queue, out.shape, 8 + 2 * components,
      [&](std::size_t b, std::size_t, std::size_t l) {
        sum(b, l, 0, out.shape.degree);
        kernels_.inverse_transform(out.limb<Limb>(b, 0, l), out.limb<Limb>(b, 0, l), tables(base, l));
      },
      [&](std::size_t step, std::size_t b, std::size_t, std::size_t l, std::size_t part, std::size_t parts) {
        const TransformPart divided(kernels_, tables(base, l), part, parts);
        Limb* const to = out.limb<Limb>(b, 0, l);
        if (step == 1) return divided.inverse_columns(to);
        divided.for_rows([&](std::size_t first, std::size_t count) { sum(b, l, first, count); });
        divided.inverse_rows(to, to);
      });
}

}  // namespace hemera::poly::cpu
