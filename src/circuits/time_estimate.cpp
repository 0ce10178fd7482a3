#include "hemera/circuits/time_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "hemera/runtime/error.hpp"

namespace hemera::circuits {
namespace {

// A transform reads and writes a limb about twice, and computes as long again.
constexpr double transform = 6;
// The time of a product and a sum of a base conversion, over that of reading a limb.
constexpr double conversion = 0.5;

// Moduli up to these bits are computed with alike: by words of 32 bits, by 52-bit products or doubles, by
// 64-bit products.
int arithmetic_of(int bits) { return bits <= 31 ? 0 : (bits <= 50 ? 1 : 2); }

// A table's rows of one operation, degree and arithmetic.
using Kind = std::tuple<poly::Operation, std::size_t, int>;

Kind kind_of(const UnitTime& time) { return {time.operation, time.degree, arithmetic_of(time.bits)}; }

// Tables that were measured before an operation was there, or in a circuit, have rows of those by which the
// interface gives it, or which move about as many bytes.
poly::Operation default_of(poly::Operation operation) {
  switch (operation) {
    case poly::Operation::multiply_matrix:
      return poly::Operation::combine;
    case poly::Operation::multiply_elements:
      return poly::Operation::inner_product;
    case poly::Operation::multiply_add_vector:
      return poly::Operation::combine;
    case poly::Operation::split_parts:
      return poly::Operation::transform;
    case poly::Operation::multiply:
    case poly::Operation::multiply_add:
      return poly::Operation::add;
    case poly::Operation::automorphism:
    case poly::Operation::pack_rounded:
      return poly::Operation::copy;
    default:
      return operation;
  }
}

// Copies of numbers have no degree.
std::size_t degree_of(const poly::LedgerEntry& entry) { return std::max<std::size_t>(entry.degree, 1); }

double mod_up_work(double base, double digits, double extended) {
  return transform * (base + digits * extended) + conversion * base * extended;
}

double division_work(double from, double to) {
  const double dropped = from > to ? from - to : 1;
  return transform * (dropped + to) + 2 * to + conversion * dropped * to;
}

// The time beyond the row at the end of a table: along the line through another one, but neither faster than
// in proportion to work nor, for more work, slower. In proportion where there is no other row.
double beyond(const UnitTime& end, const UnitTime* other, double work) {
  const double proportional = end.seconds * work / end.work;
  if (other == nullptr) return proportional;
  const double slope = (other->seconds - end.seconds) / (other->work - end.work);
  const double line = end.seconds + slope * (work - end.work);
  return std::clamp(line, std::min(end.seconds, proportional), std::max(end.seconds, proportional));
}

// Halves the interval until it is below a part in 10^12 of itself.
template <typename Function>
double root_of(const Function& falling, double low, double high) {
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (falling(middle) > 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double work_of(const poly::LedgerEntry& entry) {
  using poly::Operation;
  const auto limbs = static_cast<double>(entry.base.size()), target = static_cast<double>(entry.target);
  const auto extended = static_cast<double>(entry.extended), digits = static_cast<double>(entry.digits);
  const auto components = static_cast<double>(entry.components), terms = static_cast<double>(entry.terms);
  const auto right = static_cast<double>(entry.right), switched = static_cast<double>(entry.switched);
  const auto factors = static_cast<double>(entry.factors);
  const double keys = 3 * digits * extended;
  const double end = entry.divides ? 2 * division_work(extended, target) : 2 * extended;
  const auto once = [&] {
    switch (entry.operation) {
      case Operation::transform:
      case Operation::split_parts:
      case Operation::embed:
      case Operation::unembed:
      case Operation::sample:
      case Operation::encrypt_zero:
      case Operation::sample_rlwe:
      case Operation::phase:
        return transform * components * std::max(limbs, target);
      case Operation::combine:
        return components * limbs * (terms + 1);
      case Operation::multiply_matrix:
        return components * limbs * (terms * right + 1);
      case Operation::multiply_add_vector:
        return limbs * (terms / 8 + 1);
      case Operation::multiply_elements:
        return components * limbs * (terms + 1);
      case Operation::inner_product:
        return limbs * (terms * (components + right) + components + right - 1);
      case Operation::convert:
      case Operation::scale_and_round:
      case Operation::lift_integers:
        return components * (limbs + target + conversion * limbs * target);
      case Operation::divide_and_round:
        return components * division_work(limbs, target);
      case Operation::mod_up:
        return mod_up_work(limbs, digits, extended);
      case Operation::key_inner_product:
        return keys;
      case Operation::hoisted_products:
        return switched * keys + 3 * factors * extended + 2 * extended;
      case Operation::switch_keys:
        return mod_up_work(limbs, digits, extended) + terms * (keys + end);
      case Operation::multiply_relinearize:
        return 7 * limbs + mod_up_work(limbs, digits, extended) + keys + end;
      case Operation::scaled_product:
      case Operation::lift_operands:
        return transform * 7 * std::max(extended, limbs) + 6 * conversion * limbs * std::max(extended, limbs);
      case Operation::place_slots:
      case Operation::exponentials:
      case Operation::collect_slots:
        return terms;
      default:
        return components * std::max({limbs, target, 1.0});
    }
  };
  return std::max(once() * static_cast<double>(entry.batch), 1e-3);
}

UnitTimes::UnitTimes(std::vector<UnitTime> times, double waiting, double least)
    : times_(std::move(times)), waiting_(waiting), least_(least) {
  if (times_.empty()) throw ParameterError("a table of times without a row; measure some (hemera calibrate)");
  for (const UnitTime& time : times_) {
    if (time.degree != 0 && time.work > 0 && time.seconds > 0 && std::isfinite(time.seconds)) continue;
    throw ParameterError("a table of times has a row of " + std::string(poly::name(time.operation)) +
                         " whose degree, work or seconds are not positive");
  }
  std::sort(times_.begin(), times_.end(), [](const UnitTime& a, const UnitTime& b) {
    return std::pair(kind_of(a), a.work) < std::pair(kind_of(b), b.work);
  });
}

double UnitTimes::of_call(const poly::LedgerEntry& entry) const {
  // The rows of the nearest degree, and of those the nearest arithmetic.
  const auto degree = static_cast<double>(degree_of(entry));
  const auto distance = [&](const UnitTime& row) {
    return std::pair(std::abs(std::log2(static_cast<double>(row.degree) / degree)),
                     std::abs(arithmetic_of(row.bits) - arithmetic_of(entry.bits)));
  };
  const auto nearest_of = [&](poly::Operation operation) {
    const UnitTime* nearest = nullptr;
    for (const UnitTime& row : times_) {
      if (row.operation != operation) continue;
      if (nearest == nullptr || distance(row) < distance(*nearest)) nearest = &row;
    }
    return nearest;
  };
  const UnitTime* nearest = nearest_of(entry.operation);
  if (nearest == nullptr) nearest = nearest_of(default_of(entry.operation));
  if (nearest == nullptr) return 0;
  const auto less = [](const UnitTime& row, const Kind& kind) { return kind_of(row) < kind; };
  const auto begin = std::lower_bound(times_.begin(), times_.end(), kind_of(*nearest), less);
  auto end = begin;
  while (end != times_.end() && kind_of(*end) == kind_of(*nearest)) ++end;

  const double work = work_of(entry) * degree / static_cast<double>(begin->degree);
  const auto above =
      std::lower_bound(begin, end, work, [](const UnitTime& row, double at) { return row.work < at; });
  double seconds = 0;
  if (above == begin) {
    const auto other =
        std::find_if(begin, end, [&](const UnitTime& row) { return row.work >= 2 * begin->work; });
    seconds = beyond(*begin, other == end ? nullptr : &*other, work);
  } else if (above == end) {
    const UnitTime& last = *std::prev(end);
    const auto other = std::find_if(std::make_reverse_iterator(end), std::make_reverse_iterator(begin),
                                    [&](const UnitTime& row) { return 2 * row.work <= last.work; });
    seconds = beyond(last, other == std::make_reverse_iterator(begin) ? nullptr : &*other, work);
  } else {
    const auto below = std::prev(above);
    const double part = (work - below->work) / (above->work - below->work);
    seconds = part * above->seconds + (1 - part) * below->seconds;
  }
  return std::max({seconds - waiting_, seconds / 10, least_});
}

double UnitTimes::seconds(const poly::Ledger::Entries& entries) const {
  double sum = 0;
  for (const auto& [entry, calls] : entries) sum += static_cast<double>(calls) * of_call(entry);
  return sum;
}

std::vector<UnitTime> unit_times(const poly::Ledger::Times& times, std::size_t most) {
  std::map<Kind, std::map<double, std::pair<double, std::size_t>>> kinds;  // sums of seconds, by work
  std::map<Kind, int> bits;
  for (const auto& [entry, seconds] : times) {
    const UnitTime time{entry.operation, degree_of(entry), entry.bits, work_of(entry), seconds};
    auto& [sum, count] = kinds[kind_of(time)][time.work];
    sum += seconds;
    ++count;
    bits[kind_of(time)] = std::max(bits[kind_of(time)], entry.bits);
  }
  std::vector<UnitTime> result;
  for (const auto& [kind, rows] : kinds) {
    // Neighbours share a row where there are more than `most`.
    const std::size_t each = (rows.size() + most - 1) / most;
    auto row = rows.begin();
    while (row != rows.end()) {
      double work = 0, seconds = 0;
      std::size_t count = 0;
      for (std::size_t i = 0; i < each && row != rows.end(); ++i, ++row, ++count) {
        work += row->first;
        seconds += row->second.first / static_cast<double>(row->second.second);
      }
      const auto [operation, degree, arithmetic] = kind;
      result.push_back({operation, degree, bits.at(kind), work / static_cast<double>(count),
                        std::max(seconds / static_cast<double>(count), 1e-9)});
    }
  }
  return result;
}

double waiting_of(const std::vector<UnitTime>& times, const poly::Ledger::Entries& entries, double seconds) {
  double longest = 0;
  for (const UnitTime& time : times) longest = std::max(longest, time.seconds);
  const auto excess = [&](double waiting) { return UnitTimes(times, waiting).seconds(entries) - seconds; };
  return excess(0) <= 0 ? 0 : root_of(excess, 0, longest);
}

double least_of(const std::vector<UnitTime>& times, double waiting, const poly::Ledger::Entries& entries,
                double seconds) {
  const auto missing = [&](double least) {
    return seconds - UnitTimes(times, waiting, least).seconds(entries);
  };
  return missing(0) <= 0 ? 0 : root_of(missing, 0, seconds);
}

}  // namespace hemera::circuits
