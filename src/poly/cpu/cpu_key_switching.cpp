// ModUp and the inner product with an evaluation key.
#include <algorithm>
#include <bit>
#include <cstring>

#include "hemera/runtime/error.hpp"
#include "poly/cpu/conversion.hpp"
#include "poly/cpu/cpu_backend.hpp"
#include "poly/cpu/parallel.hpp"
#include "poly/cpu/transform_part.hpp"
#include "poly/scratch.hpp"

namespace hemera::poly::cpu {

using Limb = std::uint64_t;

namespace {

void extract(Limb* out, const Limb* in, int shift, int width, std::size_t count, const arith::Modulus& q) {
  const std::uint64_t mask = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  if (mask < q.value()) {
    for (std::size_t i = 0; i < count; ++i) out[i] = (in[i] >> shift) & mask;
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = q.reduce((in[i] >> shift) & mask);
  }
}

// Entry `first` of limb j of every component of polynomial b.
std::vector<Limb*> components_at(const PolyView& out, std::size_t b, std::size_t j, std::size_t first) {
  std::vector<Limb*> pointers(out.shape.components);
  for (std::size_t c = 0; c < pointers.size(); ++c) pointers[c] = out.limb<Limb>(b, c, j) + first;
  return pointers;
}

}  // namespace

// The coefficients from which the digits are extended, and how to extend one limb of one digit.
//
// Rows of scratch, N words each: for an RNS digit the scaled residues of its limbs; for windowed digits the
// plain residues of their modulus, once for consecutive digits of one modulus.
class CpuBackend::DigitExtension {
 public:
  DigitExtension(const CpuBackend& backend, const ModUp& plan, Form form)
      : backend_(backend), plan_(plan), form_(form) {
    const std::size_t digits = plan.digits().size();
    for (std::size_t d = 0; d < digits; ++d) {
      const GadgetDigit& digit = plan.digits()[d];
      const bool windowed = digit.width != 0;
      const bool shared =
          windowed && d > 0 && plan.digits()[d - 1].width != 0 && plan.digits()[d - 1].moduli == digit.moduli;
      first_row_.push_back(shared ? first_row_.back() : rows_.size());
      for (std::size_t i = 0; !shared && i < digit.moduli.size(); ++i) {
        // The base comes first in `extended`, so an own limb has the same position in both.
        rows_.push_back({.limb = plan.own_positions()[d][i], .digit = d, .source = i});
      }
      converters_.emplace_back(backend.kernels_, plan.conversions()[d]);
      std::vector<std::int32_t> targets(plan.extended().size(), -1);
      for (std::size_t j = 0; j < plan.other_positions()[d].size(); ++j) {
        targets[plan.other_positions()[d][j]] = static_cast<std::int32_t>(j);
      }
      targets_.push_back(std::move(targets));
    }
  }

  [[nodiscard]] PolyShape rows_shape(const PolyShape& in) const {
    return {.batch = in.batch, .components = 1, .limbs = rows_.size(), .degree = in.degree};
  }

  void fill_rows(Queue& queue, const PolyView& rows, const ConstPolyView& in) const {
    const std::size_t degree = rows.shape.degree;
    const auto scale = [&](Limb* y, const Limb* x, const Row& row, std::size_t first, std::size_t count) {
      if (plan_.digits()[row.digit].width == 0) {
        converters_[row.digit].scale(y + first, x + first, row.source, count);
      } else if (y != x) {
        std::memcpy(y + first, x + first, count * sizeof(Limb));
      }
    };
    if (form_ == Form::coefficient) {
      for_each_part(queue, rows.shape, 2,
                    [&](std::size_t b, std::size_t, std::size_t r, std::size_t first, std::size_t count) {
                      scale(rows.limb<Limb>(b, 0, r), in.limb<Limb>(b, 0, rows_[r].limb), rows_[r], first,
                            count);
                    });
      return;
    }
    for_each_transform(
        queue, rows.shape, 8,
        [&](std::size_t b, std::size_t, std::size_t r) {
          const Row& row = rows_[r];
          Limb* y = rows.limb<Limb>(b, 0, r);
          backend_.kernels_.inverse_transform(y, in.limb<Limb>(b, 0, row.limb),
                                              backend_.tables(plan_.base(), row.limb));
          scale(y, y, row, 0, degree);
        },
        [&](std::size_t step, std::size_t b, std::size_t, std::size_t r, std::size_t part,
            std::size_t parts) {
          const Row& row = rows_[r];
          const TransformPart divided(backend_.kernels_, backend_.tables(plan_.base(), row.limb), part,
                                      parts);
          Limb* y = rows.limb<Limb>(b, 0, r);
          if (step == 0) return divided.inverse_rows(y, in.limb<Limb>(b, 0, row.limb));
          divided.inverse_columns(y);
          divided.for_each_column_run(
              [&](std::size_t first, std::size_t count) { scale(y, y, row, first, count); });
        });
  }

  /// Whether limb j of digit d is a limb of the input as it stands.
  [[nodiscard]] bool is_input(std::size_t d, std::size_t j) const {
    return form_ == Form::evaluation && plan_.digits()[d].width == 0 && targets_[d][j] < 0;
  }

  /// Limb j of digit d of polynomial b, evaluation form. The conversion writes what the transform then finds
  /// in the second-level cache; the rows come from the third level again for every limb, which is fast
  /// enough.
  void extend(Limb* out, const ConstPolyView& rows, const ConstPolyView& in, std::size_t b, std::size_t d,
              std::size_t j) const {
    const std::size_t degree = in.shape.degree;
    const GadgetDigit& digit = plan_.digits()[d];
    if (is_input(d, j)) {
      std::memcpy(out, in.limb<Limb>(b, 0, j), degree * sizeof(Limb));
      return;
    }
    const Limb* coefficients = out;
    if (digit.width != 0) {
      extract(out, rows.limb<Limb>(b, 0, first_row_[d]), digit.shift, digit.width, degree,
              plan_.extended().modulus(j));
    } else if (targets_[d][j] < 0) {
      coefficients = in.limb<Limb>(b, 0, j);
    } else if (digit.moduli.size() == 1 &&
               transforms_sums(backend_.kernels_, plan_.extended().modulus(j),
                               plan_.conversions()[d].source().modulus(0).value())) {
      const auto target = static_cast<std::size_t>(targets_[d][j]);
      backend_.kernels_.forward_transform_of_sum(out, rows.limb<Limb>(b, 0, first_row_[d]), nullptr, {},
                                                 converters_[d].negative_shift(target),
                                                 backend_.tables(plan_.extended(), j));
      return;
    } else {
      std::vector<const Limb*> y(digit.moduli.size());
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = rows.limb<Limb>(b, 0, first_row_[d] + i);
      converters_[d].convert(out, y.data(), nullptr, static_cast<std::size_t>(targets_[d][j]), degree);
    }
    backend_.kernels_.forward_transform(out, coefficients, backend_.tables(plan_.extended(), j));
  }

 private:
  struct Row {
    std::size_t limb;    // position in the base
    std::size_t digit;   // that it is made for
    std::size_t source;  // position in the digit's moduli
  };

  const CpuBackend& backend_;
  const ModUp& plan_;
  Form form_;
  std::vector<Row> rows_;
  std::vector<std::size_t> first_row_;  // [digit]
  std::vector<Converter> converters_;   // [digit]
  std::vector<std::vector<std::int32_t>>
      targets_;  // [digit][limb of extended]: its conversion's target, or -1
};

void CpuBackend::do_mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan,
                           Form form, const Division* down, Workspace& workspace) const {
  if (down != nullptr) return Backend::do_mod_up(queue, out, in, plan, form, down, workspace);
  const Workspace::Frame frame(workspace);
  const DigitExtension extension(*this, plan, form);
  const PolyView rows = take(workspace, extension.rows_shape(in.shape));
  if (workspace.measures()) return;
  extension.fill_rows(queue, rows, in);
  for_each_limb(queue, out.shape, 8, [&](std::size_t b, std::size_t d, std::size_t j) {
    extension.extend(out.limb<Limb>(b, d, j), rows, in, b, d, j);
  });
}

void CpuBackend::do_extract_window(Queue& queue, const PolyView& out, const ConstPolyView& in, int shift,
                                   int width, const RnsBase& base) const {
  for_each_part(queue, out.shape, 1,
                [&](std::size_t b, std::size_t c, std::size_t j, std::size_t first, std::size_t entries) {
                  extract(out.limb<Limb>(b, c, j) + first, in.limb<Limb>(b, c, 0) + first, shift, width,
                          entries, base.modulus(j));
                });
}

void CpuBackend::do_key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                                      const ConstPolyView& key, const ModUp& plan) const {
  const std::size_t count = plan.digits().size();
  PolyShape shape = out.shape;  // all components at once
  shape.components = 1;
  for_each_part(queue, shape, 4 * count,
                [&](std::size_t b, std::size_t, std::size_t j, std::size_t first, std::size_t entries) {
                  std::vector<const Limb*> from(count);
                  for (std::size_t d = 0; d < count; ++d) from[d] = digits.limb<Limb>(b, d, j);
                  key_inner_product_part(components_at(out, b, j, first), from, key, plan, j, first, entries);
                });
}

void CpuBackend::key_inner_product_part(std::span<Limb* const> out, const std::vector<const Limb*>& digits,
                                        const ConstPolyView& key, const ModUp& plan, std::size_t j,
                                        std::size_t first, std::size_t entries) const {
  const std::size_t count = digits.size();
  const auto key_limb = [&](std::size_t d, std::size_t c) {
    return key.limb<Limb>(plan.digits()[d].key_digit, c, plan.key_positions()[j]);
  };
  std::vector<const Limb*> from(count), factors(count);
  if (out.size() == 2 && kernels_.inner_product_pair != nullptr) {
    std::vector<const Limb*> factors1(count);
    for (std::size_t d = 0; d < count; ++d) {
      from[d] = digits[d] + first;
      factors[d] = key_limb(d, 0) + first;
      factors1[d] = key_limb(d, 1) + first;
    }
    kernels_.inner_product_pair(out[0], out[1], from.data(), factors.data(), factors1.data(), count, entries,
                                plan.extended().modulus(j));
    return;
  }
  // In blocks, so that the digits are in the first-level cache for all components but the first.
  constexpr std::size_t block = 1024;
  static_assert(min_degree % block == 0);
  for (std::size_t done = 0; done < entries; done += block) {
    for (std::size_t d = 0; d < count; ++d) from[d] = digits[d] + first + done;
    for (std::size_t c = 0; c < out.size(); ++c) {
      for (std::size_t d = 0; d < count; ++d) factors[d] = key_limb(d, c) + first + done;
      kernels_.inner_product(out[c] + done, from.data(), factors.data(), count, block,
                             plan.extended().modulus(j));
    }
  }
}

// A unit is one extended limb of one polynomial; polynomials of the batch come one after the other, so that a
// key limb is read from memory once. The digits of each unit are extended, then they are multiplied by the
// key. A thread takes unit after unit, and waits for no other; but where units are too few to be shared
// evenly, threads share both steps of each, and so that none waits long, the digits of the next units are
// extended before the products of a unit.
void CpuBackend::do_mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                         const ConstPolyView& key, const ModUp& plan,
                                         Workspace& workspace) const {
  const Workspace::Frame frame(workspace);
  const DigitExtension extension(*this, plan, Form::evaluation);
  const PolyView rows = take(workspace, extension.rows_shape(in.shape));
  const std::size_t count = plan.digits().size();
  const std::size_t degree = in.shape.degree;
  const std::size_t batch = out.shape.batch;
  const std::size_t units = batch * plan.extended().size();
  const std::size_t words = units * count * degree * 8;
  const int threads = threads_for(pool_of(queue), words);
  const bool whole = even_parts(units, threads, 2) == 1;
  // Digits of this many units are extended ahead, and are there at a time.
  const std::size_t round = (static_cast<std::size_t>(threads) + count - 1) / count;
  const std::size_t ahead = std::min(units, round + 1);
  const std::size_t held = std::min(units, whole ? static_cast<std::size_t>(threads) : 2 * round + 1);
  std::vector<Limb*> scratch(held);
  for (Limb*& unit : scratch) unit = reinterpret_cast<Limb*>(workspace.take(count * degree * sizeof(Limb)));
  if (workspace.measures()) return;
  extension.fill_rows(queue, rows, in);

  const auto extend = [&](std::size_t unit, std::size_t d, std::size_t place) {
    const std::size_t j = unit / batch;
    if (extension.is_input(d, j)) return;
    extension.extend(scratch[place] + d * degree, rows, in, unit % batch, d, j);
  };
  const auto multiply = [&](std::size_t unit, std::size_t place, std::size_t first, std::size_t entries) {
    const std::size_t j = unit / batch;
    std::vector<const Limb*> digits(count);
    for (std::size_t d = 0; d < count; ++d) {
      digits[d] = extension.is_input(d, j) ? in.limb<Limb>(unit % batch, 0, j) : scratch[place] + d * degree;
    }
    key_inner_product_part(components_at(out, unit % batch, j, first), digits, key, plan, j, first, entries);
  };
  if (whole) {
    pool_of(queue).parallel_for_slots(
        units,
        [&](std::size_t unit, std::size_t slot) {
          for (std::size_t d = 0; d < count; ++d) extend(unit, d, slot);
          multiply(unit, slot, 0, degree);
        },
        threads_worth(words));
    return;
  }

  struct Step {
    std::size_t unit;
    bool extends;
  };
  std::vector<Step> steps;
  std::vector<runtime::LoopPart> parts;
  std::vector<std::size_t> extended(units), multiplied(units);  // the parts after them
  const std::size_t columns =
      std::max(min_degree, degree / static_cast<std::size_t>(std::bit_ceil(static_cast<unsigned>(threads))));
  const auto add_extension = [&](std::size_t unit) {
    steps.push_back({unit, true});
    parts.push_back({.count = count, .after = unit < held ? 0 : multiplied[unit - held]});
    extended[unit] = parts.size();
  };
  for (std::size_t unit = 0; unit < ahead; ++unit) add_extension(unit);
  for (std::size_t unit = 0; unit < units; ++unit) {
    steps.push_back({unit, false});
    parts.push_back({.count = degree / columns, .after = extended[unit]});
    multiplied[unit] = parts.size();
    if (unit + ahead < units) add_extension(unit + ahead);
  }
  pool_of(queue).parallel_for_parts(
      parts,
      [&](std::size_t part, std::size_t i) {
        const Step& step = steps[part];
        if (step.extends) {
          extend(step.unit, i, step.unit % held);
        } else {
          multiply(step.unit, step.unit % held, i * columns, columns);
        }
      },
      threads_worth(words));
}

}  // namespace hemera::poly::cpu
