// The calls of a backend: every operation with its extents, without the values.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "hemera/poly/ring.hpp"

namespace hemera::poly {

class Backend;

/// The operations of Backend that touch residues or slots.
enum class Operation : std::uint8_t {
  upload,
  download,
  pack_rounded,
  copy,
  fill_zero,
  transform,
  add,
  subtract,
  multiply,
  multiply_add,
  negate,
  multiply_scalar,
  add_scalar,
  combine,
  multiply_matrix,
  multiply_elements,
  multiply_add_vector,
  split_parts,
  inner_product,
  automorphism,
  convert,
  scale_and_round,
  divide_and_round,
  mod_up,
  key_inner_product,
  hoisted_products,
  switch_keys,
  multiply_relinearize,
  scaled_product,
  lift_operands,
  sample,
  encrypt_zero,
  phase,
  sample_rlwe,
  embed,
  unembed,
  place_slots,
  collect_slots,
  place_integers,
  collect_integers,
  lift_integers,
  exponentials,
};

/// "switch_keys", for people.
const char* name(Operation operation);
/// The operation of that name; empty if there is none.
std::optional<Operation> operation_named(std::string_view name);

/// One kind of call: what its work depends on.
struct LedgerEntry {
  Operation operation = Operation::copy;
  std::size_t degree = 0;
  /// Bits of the largest modulus of `base`; 0 without one.
  int bits = 0;
  /// Ring moduli of the input: of a key switch those of the level, of a division those of its source.
  std::vector<std::uint32_t> base = {};
  /// Limbs of the output; 0 for numbers that are no residues.
  std::size_t target = 0;
  /// Limbs of the extended digits, and how many digits there are; 0 where no key is used.
  std::size_t extended = 0;
  std::size_t digits = 0;
  /// Batch and components of the output. With an inner product: components of its left factors, and of its
  /// right ones. With multiply_matrix `right` is the bytes of an integer.
  std::size_t batch = 1;
  std::size_t components = 1;
  std::size_t right = 0;
  /// Terms that are summed, or keys that switch one input.
  std::size_t terms = 1;
  /// For hoisted_products: terms that a key switches, and products with factors. For combine: terms with a
  /// factor other than 1.
  std::size_t switched = 0;
  std::size_t factors = 0;
  /// Whether the operation ends in a division.
  bool divides = false;

  friend auto operator<=>(const LedgerEntry&, const LedgerEntry&) = default;
};

/// Entries and how often each was noted. Used from any threads.
class Ledger {
 public:
  using Entries = std::map<LedgerEntry, std::size_t>;
  /// Seconds of one call.
  using Times = std::map<LedgerEntry, double>;

  void note(const LedgerEntry& entry);
  void note_time(const LedgerEntry& entry, double seconds);
  [[nodiscard]] Entries entries() const;
  /// Mean times, or the least, of the entries whose calls were timed; forgets them.
  [[nodiscard]] Times take_times(bool least);
  /// Forgets all entries.
  void clear();

 private:
  mutable std::mutex mutex_;
  Entries entries_;
  struct Taken {
    double sum = 0;  // seconds
    double least = std::numeric_limits<double>::infinity();
    std::size_t calls = 0;
  };
  std::map<LedgerEntry, Taken> times_;
};

/// A backend that notes each operation and computes nothing. Its memory hands out addresses without memory
/// behind them, and counts what lives and the peak; scratch is what the CPU backend with this many threads
/// takes. Reading values back throws DeviceError.
std::shared_ptr<const Backend> make_ledger_backend(std::shared_ptr<const Ring> ring,
                                                   std::shared_ptr<Ledger> ledger, int threads = 0);

/// `backend`, and each operation that it is given is noted before it runs. `timed`: each is waited for, and
/// its time is noted as well.
std::shared_ptr<const Backend> make_counted_backend(std::shared_ptr<const Backend> backend,
                                                    std::shared_ptr<Ledger> ledger, bool timed = false);

}  // namespace hemera::poly
