#include "hemera/circuits/linear/transform_grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "circuits/linear/switch_cost.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::circuits {
namespace {

using Complex = std::complex<double>;
using Blocks2 = std::vector<std::vector<MatrixDiagonals>>;
using rlwe::Ciphertext;

constexpr const char* of_grid = "grid of transforms";

// Baby steps of each column and giant steps of each row, when the first `steps` multiples of the stride are
// baby steps; steps by 0 are none.
double cost_of(const Blocks2& blocks, std::size_t stride, std::size_t steps, const SwitchCost& cost) {
  std::vector<std::set<std::size_t>> babies(blocks.front().size());
  double total = 0;
  for (const auto& row : blocks) {
    std::set<std::size_t> giants;
    for (std::size_t column = 0; column < row.size(); ++column) {
      for (const auto& [number, diagonal] : row[column].map()) {
        const std::size_t baby = number % (steps * stride);
        if (baby != 0) babies[column].insert(baby);
        if (number != baby) giants.insert(number - baby);
      }
      total += static_cast<double>(row[column].size()) * cost.diagonal;
    }
    total += static_cast<double>(giants.size()) * cost.giant + cost.result;
  }
  for (const auto& column : babies) total += static_cast<double>(column.size()) * cost.baby + cost.input;
  return total;
}

void require_blocks(const Blocks2& blocks) {
  if (blocks.empty() || blocks.front().empty()) throw ParameterError("a grid of transforms without blocks");
  const std::size_t columns = blocks.front().size();
  std::vector<bool> is_used(columns);
  for (std::size_t row = 0; row < blocks.size(); ++row) {
    if (blocks[row].size() != columns) {
      throw ParameterError("a grid of transforms whose row " + std::to_string(row) + " has " +
                           std::to_string(blocks[row].size()) + " blocks, and the first one " +
                           std::to_string(columns));
    }
    bool is_zero = true;
    for (std::size_t column = 0; column < columns; ++column) {
      if (blocks[row][column].size() == 0) continue;
      is_zero = false;
      is_used[column] = true;
    }
    if (is_zero) throw ParameterError("row " + std::to_string(row) + " of a grid of transforms is zero");
  }
  const auto unused = std::find(is_used.begin(), is_used.end(), false) - is_used.begin();
  if (static_cast<std::size_t>(unused) == columns) return;
  throw ParameterError("column " + std::to_string(unused) + " of a grid of transforms is zero; leave it out");
}

}  // namespace

TransformGrid::TransformGrid(const rlwe::Parameters& parameters, Blocks2 blocks, std::size_t slots,
                             const TransformGridOptions& options)
    : Plan(parameters), rows_(blocks.size()), slots_(slots) {
  LinearTransform::require_options(parameters, slots, {.level = options.level});
  for (auto& row : blocks) {
    for (MatrixDiagonals& block : row) block.drop_zeros();
  }
  require_blocks(blocks);
  columns_ = blocks.front().size();
  const std::size_t level = options.level.value_or(parameters.highest_user_level());
  std::size_t stride = slots;
  for (const auto& row : blocks) {
    for (const MatrixDiagonals& block : row) {
      for (const auto& [number, diagonal] : block.map()) stride = std::gcd(stride, number);
    }
  }
  std::vector<rlwe::GadgetPrimes> gadgets{parameters.default_gadget(level)};
  if (options.own_keys) gadgets = own_gadgets(parameters, level);
  double least = std::numeric_limits<double>::infinity();
  std::size_t steps = 1;
  rlwe::GadgetPrimes gadget;
  for (const rlwe::GadgetPrimes& candidate : gadgets) {
    const SwitchCost cost(parameters, candidate, level);
    for (std::size_t count = 1; count <= slots / stride; count *= 2) {
      const double own = cost_of(blocks, stride, count, cost);
      if (own >= least) continue;
      least = own;
      steps = count;
      gadget = candidate;
    }
  }
  RotationSteps chosen;
  for (std::size_t step = 0; step < steps; ++step) chosen.baby.push_back(step * stride);
  for (std::size_t step = 0; step < slots; step += steps * stride) chosen.giant.push_back(step);
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t column = 0; column < columns_; ++column) {
      MatrixDiagonals& block = blocks[row][column];
      if (block.size() == 0) continue;
      blocks_.push_back({row, column,
                         LinearTransform(parameters, std::move(block), slots,
                                         {.level = level, .gadget = gadget, .steps = chosen})});
    }
  }
  ends_ = blocks_.front().transform.ends();
  rounding_ = blocks_.front().transform.rounding_;
}

std::vector<std::size_t> TransformGrid::rotations() const {
  std::set<std::size_t> rotations;
  for (const Block& block : blocks_) {
    const auto own = block.transform.rotations();
    rotations.insert(own.begin(), own.end());
  }
  return {rotations.begin(), rotations.end()};
}

std::vector<Plan::Input> TransformGrid::inputs() const {
  return std::vector<Input>(columns_, Input{.slots = slots_});
}

Plan::Evaluation TransformGrid::bound(const rlwe::ContextPointer& context) const {
  return [prepared = std::make_shared<PreparedTransformGrid>(context, *this)](
             const ckks::Evaluator& evaluator, auto inputs) {
    static_cast<void>((*prepared)(evaluator, inputs));
  };
}

ExpectedError TransformGrid::error_from(double input_error) const {
  // A row is rounded once.
  const double rounded = std::pow(rounding_ / ends_.result_scale, 2);
  std::vector<double> means(rows_, rounded), worsts(rows_, rounded);
  for (const Block& block : blocks_) {
    const ExpectedError own = block.transform.expected_error(input_error);
    means[block.row] += own.mean * own.mean - rounded;
    worsts[block.row] += own.worst * own.worst - rounded;
  }
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(rows_);
  return {.mean = std::sqrt(mean), .worst = std::sqrt(*std::max_element(worsts.begin(), worsts.end()))};
}

std::vector<std::vector<Complex>> TransformGrid::evaluate_clear(
    std::span<const std::vector<Complex>> vectors) const {
  if (vectors.size() != columns_) {
    throw ParameterError("a grid of transforms of " + std::to_string(columns_) + " vectors was given " +
                         std::to_string(vectors.size()));
  }
  std::vector<std::vector<Complex>> results(rows_, std::vector<Complex>(slots_));
  for (const Block& block : blocks_) {
    const auto product = block.transform.evaluate_clear(vectors[block.column]);
    for (std::size_t k = 0; k < slots_; ++k) results[block.row][k] += product[k];
  }
  return results;
}

TransformGrid TransformGrid::part(const TransformShare& share) const {
  TransformGrid result = *this;
  result.rows_ = (rows_ + share.members - 1 - share.member) / share.members;
  std::erase_if(result.blocks_,
                [&](const Block& block) { return block.row % share.members != share.member; });
  for (Block& block : result.blocks_) block.row /= share.members;
  return result;
}

PreparedTransformGrid::PreparedTransformGrid(rlwe::ContextPointer context, const TransformGrid& plan,
                                             const TransformShare& share)
    : context_(std::move(context)), plan_(plan.part(share)), rotations_(plan.rotations()) {
  plan_.require_binding(*context_, of_grid);
  for (const TransformGrid::Block& block : plan_.blocks_) blocks_.emplace_back(context_, block.transform);
}

// Sums in the order of rows and giant steps; of one column, or of all.
std::vector<PreparedTransformGrid::Sum> PreparedTransformGrid::sums_of(
    std::optional<std::size_t> column) const {
  std::set<Sum> sums;
  for (const TransformGrid::Block& block : plan_.blocks_) {
    if (column && block.column != *column) continue;
    for (const auto& [giant, group] : block.transform.groups_) sums.insert({block.row, giant});
  }
  return {sums.begin(), sums.end()};
}

rlwe::ExtendedSums PreparedTransformGrid::inner_sums(std::size_t column, const Ciphertext& x,
                                                     const PreparedLinearTransform::RotationKeys& keys,
                                                     std::span<const Sum> wanted) const {
  std::map<std::size_t, rlwe::HoistedTerm> babies;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const TransformGrid::Block& block = plan_.blocks_[i];
    if (block.column != column) continue;
    for (const auto& [giant, group] : block.transform.groups_) {
      const auto place = std::lower_bound(wanted.begin(), wanted.end(), Sum{block.row, giant});
      for (const auto& [baby, number] : group) {
        rlwe::HoistedTerm& term = babies[baby];
        if (term.factors.empty()) {
          term = {.key = baby == 0 ? nullptr : keys.of.at(baby).get(),
                  .galois_element = context_->galois_element(static_cast<std::int64_t>(baby)),
                  .factors = {}};
          term.factors.resize(wanted.size());
        }
        term.factors[static_cast<std::size_t>(place - wanted.begin())] = &blocks_[i].plaintexts_.at(number);
      }
    }
  }
  std::vector<rlwe::HoistedTerm> terms;
  for (auto& [baby, term] : babies) terms.push_back(std::move(term));
  return rlwe::hoisted_products(x, keys.gadget, terms, wanted.size());
}

std::vector<Ciphertext> PreparedTransformGrid::operator()(const ckks::Evaluator& evaluator,
                                                          std::span<const Ciphertext* const> vectors) const {
  rlwe::require_same_context(*context_, *evaluator.context(), of_grid);
  if (vectors.size() != plan_.columns_) {
    throw MismatchError("grid of transforms: it takes " + std::to_string(plan_.columns_) + " vectors, not " +
                        std::to_string(vectors.size()));
  }
  rlwe::require_each(vectors, of_grid);
  const PreparedLinearTransform::RotationKeys keys =
      blocks_.front().keys_among(evaluator.keys(), rotations_, plan_.rotations());
  const poly::Backend& backend = context_->backend();
  const std::vector<Sum> all = sums_of({});
  std::optional<rlwe::Metadata> aligned;
  std::optional<rlwe::ExtendedSums> total;
  std::vector<bool> is_filled(all.size());
  std::vector<double> largest;
  std::size_t batch = 1;
  bool is_complex = false;
  for (std::size_t column = 0; column < plan_.columns_; ++column) {
    Ciphertext storage;
    const Ciphertext& x = blocks_.front().input(evaluator, *vectors[column], storage);
    if (x.meta.batch != vectors.front()->meta.batch) {
      throw MismatchError("grid of transforms: vectors are batches of different shapes");
    }
    largest.push_back(x.meta.largest);
    is_complex = is_complex || x.meta.is_complex;
    if (!aligned) aligned = x.meta;
    if (!context_->scales().is_aligned(*aligned, x.meta)) {
      throw ScaleError("grid of transforms: vectors have different scales; rescale them first");
    }
    const std::vector<Sum> own = sums_of(column);
    if (own.empty()) continue;  // a column of other members' rows
    rlwe::ExtendedSums sums = inner_sums(column, x, keys, own);
    if (plan_.columns_ == 1) {
      batch = sums.poly.shape().batch / own.size();
      total = std::move(sums);
      break;
    }
    batch = sums.poly.shape().batch / own.size();
    if (!total) {
      total = rlwe::ExtendedSums{
          sums.context, sums.gadget, std::vector<rlwe::Metadata>(all.size(), sums.meta.front()),
          context_->make_poly(all.size() * batch, 2, sums.poly.base(), poly::Form::evaluation)};
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto place =
          static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), own[i]) - all.begin());
      const poly::PolyView out = total->poly.view().batches(place * batch, batch);
      const poly::ConstPolyView in = std::as_const(sums.poly).view().batches(i * batch, batch);
      if (is_filled[place]) {
        backend.add(context_->queue(), out, out, in, sums.poly.base());
      } else {
        backend.copy(context_->queue(), out, in);
      }
      is_filled[place] = true;
    }
  }
  std::vector<Ciphertext> results;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t end = first;
    std::vector<rlwe::Turn> turns;
    for (; end < all.size() && all[end].row == all[first].row; ++end) {
      const std::size_t giant = all[end].giant;
      turns.push_back({.key = giant == 0 ? nullptr : keys.of.at(giant).get(),
                       .galois_element = context_->galois_element(static_cast<std::int64_t>(giant))});
    }
    rlwe::ExtendedSums part{
        total->context,
        total->gadget,
        {total->meta.begin() + static_cast<std::ptrdiff_t>(first),
         total->meta.begin() + static_cast<std::ptrdiff_t>(end)},
        context_->make_poly((end - first) * batch, 2, total->poly.base(), poly::Form::evaluation)};
    backend.copy(context_->queue(), part.poly.view(),
                 std::as_const(total->poly).view().batches(first * batch, (end - first) * batch));
    Ciphertext result = rlwe::mod_down_rescaled(rlwe::turned_sum(part, turns));
    result.meta.filled = 0;
    result.meta.padding = rlwe::Padding::zeros;
    result.meta.is_complex = is_complex;
    result.meta.largest = 0;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (plan_.blocks_[i].row != results.size()) continue;
      result.meta.largest += rlwe::largest_product(largest[plan_.blocks_[i].column], blocks_[i].largest_row_);
      result.meta.is_complex = result.meta.is_complex || blocks_[i].is_complex_;
    }
    results.push_back(std::move(result));
    first = end;
  }
  return results;
}

}  // namespace hemera::circuits
