// How long circuits take on a device: the calls of its backend, by a table of measured times.
#pragma once

#include <cstddef>
#include <vector>

#include "hemera/poly/ledger.hpp"

namespace hemera::circuits {

/// The measured time of one call.
struct UnitTime {
  poly::Operation operation = poly::Operation::copy;
  std::size_t degree = 0;
  /// Bits of the largest modulus.
  int bits = 0;
  /// work_of the call.
  double work = 0;
  double seconds = 0;
};

/// Limbs that a call reads, writes and transforms, weighed by what they cost: one number, by which calls of
/// the same operation are compared.
double work_of(const poly::LedgerEntry& entry);

/// Times of a device. Immutable.
class UnitTimes {
 public:
  /// `waiting`: seconds that a call takes longer when it is timed alone than among others, on devices that
  /// begin one call before the last one ends. `least`: seconds of the shortest calls among others, whose time
  /// is that of the program which makes them. Throws ParameterError without times, and for times, degrees or
  /// work that are not positive.
  explicit UnitTimes(std::vector<UnitTime> times, double waiting = 0, double least = 0);

  /// The table, ordered.
  [[nodiscard]] const std::vector<UnitTime>& times() const { return times_; }
  [[nodiscard]] double waiting() const { return waiting_; }

  /// Seconds of all calls. Between two rows of an operation and a degree time is linear in work; beyond them
  /// too, between none that grows with it and one in proportion. Other degrees and moduli take the nearest
  /// rows. Calls of an operation that the table does not have take no time.
  [[nodiscard]] double seconds(const poly::Ledger::Entries& entries) const;

 private:
  [[nodiscard]] double of_call(const poly::LedgerEntry& entry) const;

  std::vector<UnitTime> times_;
  double waiting_, least_;
};

/// The rows of a ledger whose calls were timed: for each operation, degree and arithmetic at most `most` of
/// them, spread from the least work to the most.
std::vector<UnitTime> unit_times(const poly::Ledger::Times& times, std::size_t most = 24);

/// The `waiting` of a table with which it gives `seconds` for a run, from its entries; 0 where the calls
/// alone take less.
double waiting_of(const std::vector<UnitTime>& times, const poly::Ledger::Entries& entries, double seconds);
/// The `least` of a table with which it gives `seconds` for a run of short calls; 0 where these take longer.
double least_of(const std::vector<UnitTime>& times, double waiting, const poly::Ledger::Entries& entries,
                double seconds);

}  // namespace hemera::circuits
