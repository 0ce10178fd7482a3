// The keys of a bootstrap within a limit of uploaded bytes.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "circuits/bootstrap/bootstrap_matrices.hpp"
#include "circuits/bootstrap/eval_mod.hpp"
#include "circuits/bootstrap/owed_turns.hpp"
#include "circuits/circuit_gadgets.hpp"
#include "circuits/linear/switch_cost.hpp"
#include "hemera/circuits/bootstrap/bootstrap.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

// The time of a limb's transform over that of a limb that is read, on GPUs, where products are fused.
constexpr double transform = 8;
// The time that an extension takes whatever its size.
constexpr double launch = 400;

// From the fastest to that of the fewest keys.
constexpr MatrixKeys matrix_ways[] = {{},
                                      {.hoisted = 8, .has_short_prime = true},
                                      {.hoisted = 4, .has_short_prime = true},
                                      {.hoisted = 2, .has_short_prime = true},
                                      {.hoisted = 1, .has_short_prime = true},
                                      {.hoisted = 1, .one_key = true, .has_short_prime = true}};

// Keys by number, each once, with their bytes.
class KeyTable {
 public:
  explicit KeyTable(std::size_t degree) : degree_(degree) {}
  std::size_t number_of(const KeyNeed& need) {
    const auto [found, is_new] = numbers_.try_emplace({need.role, need.gadget}, numbers_.size());
    if (is_new) {
      uploaded.push_back(upload_bytes(degree_, std::span(&need, 1)));
      held.push_back(key_bytes(degree_, std::span(&need, 1)));
    }
    return found->second;
  }
  std::vector<std::size_t> uploaded, held;

 private:
  std::size_t degree_;
  std::map<std::pair<rlwe::KeyRole, rlwe::GadgetPrimes>, std::size_t> numbers_;
};

// A way of taking a matrix, or all products: its keys, and its time in words of memory traffic.
struct Way {
  MatrixKeys matrix = {};
  std::vector<SharedKey> products = {};
  std::vector<std::size_t> keys = {};
  double time = 0;
  std::size_t uploaded = 0;
};

double switch_time(double digits, double base, double special, double switches, double extensions) {
  const double extended = base + special;
  return switches * 2 * digits * extended + extensions * (transform * (digits + 1) * extended + launch);
}

// Ways that are slower than another one and upload no less are left out.
void add_way(std::vector<Way>& ways, Way way) {
  const auto is_worse = [](const Way& one, const Way& other) {
    return other.uploaded <= one.uploaded && other.time <= one.time;
  };
  if (std::any_of(ways.begin(), ways.end(), [&](const Way& other) { return is_worse(way, other); })) return;
  std::erase_if(ways, [&](const Way& one) { return is_worse(one, way); });
  ways.push_back(std::move(way));
}

std::vector<Way> ways_of(const LinearTransform& matrix, bool has_few, KeyTable& table) {
  std::vector<Way> ways;
  for (const MatrixKeys& keys : matrix_ways) {
    if (keys.hoisted != 0 && !has_few) break;
    const LinearTransform own = by_keys(matrix, keys);
    const rlwe::GadgetPrimes& gadget = own.gadget();
    const LinearTransform::Turns turns = own.turns();
    Way way{.matrix = keys,
            .time = switch_time(static_cast<double>(rlwe::key_digits(gadget)),
                                static_cast<double>(gadget.base.size()),
                                static_cast<double>(gadget.special.size()),
                                static_cast<double>(turns.switches), static_cast<double>(turns.extensions))};
    for (const std::size_t rotation : own.rotations()) {
      const auto element = own.parameters().galois_element(static_cast<std::int64_t>(rotation));
      way.keys.push_back(table.number_of({rlwe::KeyRole::galois(element), gadget}));
      way.uploaded += table.uploaded[way.keys.back()];
    }
    add_way(ways, std::move(way));
  }
  return ways;
}

// All ways of sharing keys among levels that follow each other; each level's own first.
std::vector<Way> product_ways(const FunctionPlan& plan, double parts, KeyTable& table) {
  const rlwe::Parameters& parameters = plan.parameters();
  std::map<std::size_t, double> products;  // by level
  for (const FunctionStep& step : plan.steps()) {
    if (!step.products.empty()) products[step.level] += parts;
  }
  std::vector<std::size_t> levels;
  for (const auto& [level, count] : products) levels.push_back(level);
  // The fastest and smallest ways of the first levels, from those of fewer.
  std::vector<std::vector<Way>> ways(levels.size() + 1);
  ways[0].emplace_back();
  for (std::size_t end = 1; end <= levels.size(); ++end) {
    for (std::size_t begin = end; begin-- > 0;) {
      const std::set<std::size_t> group(levels.begin() + static_cast<std::ptrdiff_t>(begin),
                                        levels.begin() + static_cast<std::ptrdiff_t>(end));
      const bool is_own = group.size() == 1;
      const auto gadgets = is_own
                               ? std::vector{product_gadget(parameters, *group.begin(), most_special_primes)}
                               : common_product_gadgets(parameters, group);
      for (const rlwe::GadgetPrimes& gadget : gadgets) {
        const std::size_t key = table.number_of({rlwe::KeyRole::relinearization(), gadget});
        double time = 0;
        for (const std::size_t level : group) {
          const SwitchSize size = product_switch_size(parameters, gadget, level);
          const double limbs = static_cast<double>(parameters.literal().levels[level].size());
          time += products.at(level) * switch_time(static_cast<double>(size.digits), limbs,
                                                   static_cast<double>(size.special), 1, 1);
        }
        for (const Way& before : ways[begin]) {
          Way way = before;
          if (!is_own) way.products.push_back({group, gadget});
          way.keys.push_back(key);
          way.time += time;
          way.uploaded += table.uploaded[key];
          add_way(ways[end], std::move(way));
        }
      }
    }
  }
  return ways.back();
}

constexpr std::size_t no_bytes = std::numeric_limits<std::size_t>::max();

// Ways by base and matrix, and then of products.
using Rows = std::vector<std::vector<std::vector<Way>>>;

struct Choice {
  std::size_t base = 0;
  std::vector<std::size_t> ways = {};
  std::size_t uploaded = no_bytes;  // of none
  double time = std::numeric_limits<double>::infinity();
};

struct Limits {
  std::size_t uploaded, held;
};

// The fastest choice that fits, and with `is_smallest` the smallest: all ways of one matrix after the other,
// the last one's first, but for those that the keys so far leave no room for.
class Search {
 public:
  Search(const KeyTable& table, const Limits& limits, bool is_smallest)
      : table_(table), limits_(limits), is_smallest_(is_smallest), uses_(table.uploaded.size()) {}

  /// `others`: keys of all choices.
  Choice best(const Rows& rows, const std::set<std::size_t>& others) {
    take(others);
    for (std::size_t base = 0; base < rows.size(); ++base) {
      at_.assign(rows[base].size(), 0);
      try_ways(base, rows[base], rows[base].size());
    }
    return best_;
  }

 private:
  void try_ways(std::size_t base, const std::vector<std::vector<Way>>& row, std::size_t left) {
    if (uploaded_ > limits_.uploaded || held_ > limits_.held) return;
    if (is_smallest_ && uploaded_ > best_.uploaded) return;
    if (left == 0) return compare(base, row);
    for (std::size_t way = 0; way < row[left - 1].size(); ++way) {
      at_[left - 1] = way;
      take(row[left - 1][way].keys);
      try_ways(base, row, left - 1);
      for (const std::size_t key : row[left - 1][way].keys) {
        if (--uses_[key] != 0) continue;
        uploaded_ -= table_.uploaded[key];
        held_ -= table_.held[key];
      }
    }
  }
  void compare(std::size_t base, const std::vector<std::vector<Way>>& row) {
    double time = 0;
    for (std::size_t i = 0; i < row.size(); ++i) time += row[i][at_[i]].time;
    const auto order = [&](double own_time, std::size_t own_bytes) {
      const auto bytes = static_cast<double>(own_bytes);
      return is_smallest_ ? std::pair(bytes, own_time) : std::pair(own_time, bytes);
    };
    if (order(time, uploaded_) < order(best_.time, best_.uploaded)) {
      best_ = {.base = base, .ways = at_, .uploaded = uploaded_, .time = time};
    }
  }
  template <typename Keys>
  void take(const Keys& keys) {
    for (const std::size_t key : keys) {
      if (uses_[key]++ != 0) continue;
      uploaded_ += table_.uploaded[key];
      held_ += table_.held[key];
    }
  }

  const KeyTable& table_;
  Limits limits_;
  bool is_smallest_;
  std::vector<std::size_t> uses_;  // [key]
  std::size_t uploaded_ = 0, held_ = 0;
  std::vector<std::size_t> at_;  // [matrix]
  Choice best_;
};

}  // namespace

std::string Bootstrap::title() const {
  std::string text = "the plan of a bootstrap of " + std::to_string(slots_) + " slots";
  if (upload_limit_ != 0) {
    text +=
        " with an upload_limit of " + std::to_string(upload_limit_) + " bytes, which has keys of its own,";
  }
  return text;
}

std::vector<LinearTransform*> Bootstrap::all_matrices() {
  std::vector<LinearTransform*> matrices;
  for (auto* row : {&to_coefficients_, &to_slots_, &join_}) {
    for (LinearTransform& matrix : *row) matrices.push_back(&matrix);
  }
  return matrices;
}

// Turns of slots go through everything between matrices: ModRaise and the trace, for they are automorphisms,
// and EvalMod, which takes each slot alone. So a bootstrap of slots that are turned to the left by what all
// its matrices owe is that of the slots themselves. Where that is all slots, nobody pays; else the first
// matrix does, and of several ciphertexts at once the sum's.
std::vector<LinearTransform> Bootstrap::owing_matrices() const {
  const bool is_same = joins_parts_ && !gives_parts() && !to_coefficients_.empty() && !to_slots_.empty();
  if (!is_same) return {};
  const bool is_first = order_ == BootstrapOrder::slots_first && together_ == 1;
  std::vector<LinearTransform> to_coefficients = to_coefficients_, to_slots = to_slots_, join = join_;
  std::vector<LinearTransform*> turned;  // in their order
  std::vector<const MatrixDiagonals*> diagonals;
  const auto add = [&](LinearTransform& matrix) {
    turned.push_back(&matrix);
    diagonals.push_back(&matrix.diagonals());
  };
  std::vector<std::size_t> low;
  for (std::size_t i = 0; i < to_coefficients.size() && is_first; ++i) add(to_coefficients[i]);
  for (LinearTransform& matrix : to_slots) add(matrix);
  if (is_first && join.empty()) low = balanced_numbers(diagonals, slots_);
  const bool is_balanced = !low.empty();
  if (!is_balanced) {
    if (is_first) turned.erase(turned.begin());
    diagonals.clear();
    for (const LinearTransform* matrix : turned) diagonals.push_back(&matrix->diagonals());
    low = lowest_numbers(diagonals, raised_slots());
  }
  std::size_t owed = 0;
  const auto owe = [&](LinearTransform& matrix, std::size_t period, std::size_t from) {
    OwingMatrix own = owing(matrix.diagonals(), matrix.slots(), period, from, owed);
    matrix = by_keys(matrix, std::move(own.diagonals));
    owed = own.owed;
  };
  for (std::size_t i = 0; i < turned.size(); ++i) owe(*turned[i], raised_slots(), low[i]);
  if (together_ > 1) {
    if (join.empty()) return {};
    join.front() = by_keys(join.front(), paying(join.front().diagonals(), join.front().slots(), owed));
  } else if (!is_balanced) {
    // Merged parts stay turned as they are joined.
    for (LinearTransform& matrix : join) {
      const MatrixDiagonals* only = &matrix.diagonals();
      owe(matrix, matrix.slots(), lowest_numbers(std::span(&only, 1), matrix.slots()).front());
    }
    LinearTransform& first = to_coefficients.front();
    first = by_keys(first, paying(first.diagonals(), first.slots(), owed));
  }
  std::vector<LinearTransform> result;
  for (auto* row : {&to_coefficients, &to_slots, &join}) {
    for (LinearTransform& matrix : *row) result.push_back(std::move(matrix));
  }
  return result;
}

// All ways, of which there are some hundred thousands. What the plan needs beside matrices and products is
// found by a count of the smallest: keys that matrices have by themselves may serve other steps as well.
void Bootstrap::fit_upload(std::size_t limit, std::size_t memory_limit) {
  const std::size_t degree = parameters().degree();
  const std::size_t most_held = memory_limit == 0 ? no_bytes : memory_limit;
  if (upload_bytes(degree, needed_keys()) <= limit && cost().key_bytes <= most_held) return;
  const std::vector<LinearTransform*> matrices = all_matrices();
  std::vector<std::vector<LinearTransform>> bases(1);
  for (const LinearTransform* matrix : matrices) bases.front().push_back(*matrix);
  if (auto owed = owing_matrices(); !owed.empty()) bases.push_back(std::move(owed));
  KeyTable table(degree);
  Rows rows(bases.size());
  for (std::size_t base = 0; base < bases.size(); ++base) {
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      rows[base].push_back(ways_of(bases[base][i], i < matrices.size() - join_.size(), table));
    }
    if (!eval_mod_) continue;
    rows[base].push_back(product_ways(eval_mod_->plan(), real_ || merges_parts_ ? 1 : 2, table));
  }
  std::set<std::size_t> others;
  for (const auto& step : trace_) {
    for (const std::size_t rotation : step) {
      const auto element = parameters().galois_element(static_cast<std::int64_t>(rotation));
      others.insert(table.number_of({rlwe::KeyRole::galois(element), top_gadget_}));
    }
  }
  const std::shared_ptr<const EvalMod> eval_mod = eval_mod_;
  // Makes it the plan, and adds the keys that it needs beyond to the others: whether there were some.
  const auto take = [&](const Choice& choice) {
    std::vector<SharedKey> products;
    std::set<std::size_t> known = others;
    for (std::size_t i = 0; i < choice.ways.size(); ++i) {
      const Way& way = rows[choice.base][i][choice.ways[i]];
      known.insert(way.keys.begin(), way.keys.end());
      if (i == matrices.size()) {
        products = way.products;
        continue;
      }
      *matrices[i] = by_keys(bases[choice.base][i], way.matrix);
    }
    if (eval_mod)
      eval_mod_ = std::make_shared<const EvalMod>(eval_mod->with_shared_keys(std::move(products)));
    count_again();
    bool has_more = false;
    for (const KeyNeed& need : needed_keys()) {
      const std::size_t key = table.number_of(need);
      if (known.contains(key)) continue;
      others.insert(key);
      has_more = true;
    }
    return has_more;
  };
  Choice smallest;
  do {
    smallest = Search(table, {no_bytes, most_held}, true).best(rows, others);
  } while (smallest.uploaded != no_bytes && take(smallest));
  const std::string keys = "the keys of a bootstrap of " + std::to_string(slots_) + " slots ";
  if (smallest.uploaded == no_bytes) {
    throw OutOfMemoryError(keys + "have no way to take at most " + std::to_string(memory_limit) +
                           " bytes of memory; allow for more, or use fewer slots");
  }
  if (smallest.uploaded > limit) {
    const std::string within =
        memory_limit == 0 ? "" : " within " + std::to_string(memory_limit) + " bytes of memory";
    throw ParameterError(keys + "are at least " + std::to_string(smallest.uploaded) + " bytes to upload" +
                         within + ", more than their limit of " + std::to_string(limit) +
                         "; allow for more, or use fewer slots");
  }
  while (true) {
    const Choice best = Search(table, {limit, most_held}, false).best(rows, others);
    // Keys beyond may be those of a plan that was tried before.
    if (best.uploaded == no_bytes) {
      take(smallest);
      return;
    }
    if (!take(best)) return;
  }
}

}  // namespace hemera::circuits
