// Messages are hashed and added range by range, while a range of all of them is in a cache.
#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/sha256.hpp"
#include "multiparty/messages.hpp"
#include "runtime/in_threads.hpp"

namespace hemera::multiparty {
namespace {

// The work of one call, of which threads take a step at a time. A message is hashed from its first range to
// its last, by whichever thread is free; a range that all messages have been hashed up to is added. A thread
// that finds neither adds the last range that is left, so nobody waits for another.
template <typename Word>
class Addition {
 public:
  Addition(std::vector<Word>& sums, std::span<const Message> terms, std::uint64_t largest)
      : sums_(sums),
        terms_(terms),
        largest_(largest),
        ranges_((sums.size() + range_values - 1) / range_values),
        end_(ranges_),
        hashes_(terms.size()),
        hashed_(terms.size()),
        hashed_up_to_(ranges_),
        is_too_large_(terms.size()) {
    for (std::size_t k = 0; k < terms.size(); ++k) free_.push_back(k);
  }

  // All of it. Throws unless all messages are what they should be.
  void run() {
    constexpr std::size_t thread_bytes = std::size_t{1} << 17;
    const std::size_t bytes = terms_.size() * terms_.front().packed.size();
    runtime::in_threads(bytes / thread_bytes + 1, 1, [&](std::size_t) { take_steps(); });
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      terms_[k].compare(hashes_[k].finish());
      if (!terms_[k].values.ends_clean(sums_.size())) {
        throw FormatError(terms_[k].name + " has bits after its last value");
      }
      if (is_too_large_[k]) throw FormatError(terms_[k].name + " has a value that is not below the modulus");
    }
  }

  // Takes back what was added, when all threads have ended.
  void undo() {
    for (std::size_t range = 0; range < ranges_; ++range) {
      if (range < begin_ || range >= end_) add(range, true);
    }
  }

 private:
  enum class Kind : std::uint8_t { none, hash, add };
  struct Step {
    Kind kind;
    std::size_t number;  // of a message, or a range
  };

  void take_steps() {
    for (Step step = next(); step.kind != Kind::none; step = next()) {
      if (step.kind == Kind::hash) {
        hash(step.number);
      } else {
        add(step.number, false);
      }
    }
  }

  Step next() {
    const std::lock_guard lock(mutex_);
    if (begin_ < std::min(ready_, end_)) return {Kind::add, begin_++};
    if (!free_.empty()) {
      const std::size_t k = free_.front();
      free_.pop_front();
      return {Kind::hash, k};
    }
    if (begin_ < end_) return {Kind::add, --end_};
    return {Kind::none, 0};
  }

  void hash(std::size_t k) {
    const Message& term = terms_[k];
    const std::size_t range = hashed_[k]++, bytes = term.values.bytes_of(range_values);
    if (range == 0) hashes_[k].update(term.head);
    const std::span<const std::byte> rest = term.packed.subspan(range * bytes);
    const bool is_last = range + 1 == ranges_;
    hashes_[k].update(is_last ? rest : rest.first(bytes));
    const std::lock_guard lock(mutex_);
    if (!is_last) free_.push_back(k);
    if (++hashed_up_to_[range] == terms_.size()) ready_ = range + 1;
  }

  // Adds a range of all messages, or takes it back.
  void add(std::size_t range, bool subtracts) {
    constexpr std::size_t block = 1024;
    std::array<std::uint64_t, block> values;
    const std::size_t end = std::min(sums_.size(), (range + 1) * range_values);
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      const Word weight = subtracts ? Word{0} - terms_[k].weight : Word{terms_[k].weight};
      std::uint64_t too_large = 0;
      for (std::size_t first = range * range_values; first < end; first += block) {
        const std::size_t count = std::min(block, end - first);
        terms_[k].values.read(first, std::span(values).first(count));
        if (largest_ >> 63 == 0) {  // and values: the top bit of the difference is its sign
          for (std::size_t i = 0; i < count; ++i) too_large |= largest_ - values[i];
        } else {
          for (std::size_t i = 0; i < count; ++i) too_large |= std::uint64_t{values[i] > largest_} << 63;
        }
        if (weight == 1) {
          for (std::size_t i = 0; i < count; ++i) sums_[first + i] += values[i];
        } else {
          for (std::size_t i = 0; i < count; ++i) sums_[first + i] += weight * values[i];
        }
      }
      if (too_large >> 63 != 0) is_too_large_[k] = true;
    }
  }

  std::vector<Word>& sums_;
  std::span<const Message> terms_;
  std::uint64_t largest_;
  std::size_t ranges_;
  std::mutex mutex_;                                // of the six that follow
  std::size_t begin_ = 0, end_;                     // ranges that nobody has taken to add
  std::size_t ready_ = 0;                           // ranges that all messages are hashed up to
  std::deque<std::size_t> free_;                    // messages with ranges left that nobody hashes
  std::vector<runtime::Sha256> hashes_;             // of a message: of who has taken it
  std::vector<std::size_t> hashed_, hashed_up_to_;  // ranges of a message, messages of a range
  std::vector<std::atomic<bool>> is_too_large_;
};

}  // namespace

template <typename Word>
void add_messages(std::vector<Word>& sums, std::span<const Message> terms, std::uint64_t largest) {
  if (terms.empty()) return;
  Addition addition(sums, terms, largest);
  try {
    addition.run();
  } catch (...) {
    addition.undo();
    throw;
  }
}

template void add_messages(std::vector<std::uint64_t>& sums, std::span<const Message> terms,
                           std::uint64_t largest);
template void add_messages(std::vector<arith::uint128>& sums, std::span<const Message> terms,
                           std::uint64_t largest);

}  // namespace hemera::multiparty
