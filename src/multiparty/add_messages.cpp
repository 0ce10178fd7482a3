// Messages are hashed and added piece by piece, while a piece of all messages is in a cache.
#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "hemera/runtime/error.hpp"
#include "multiparty/messages.hpp"

namespace hemera::multiparty {
namespace {

// The work of one call.
template <typename Word>
class Addition {
 public:
  Addition(std::span<Word> sums, std::span<Message> terms, std::uint64_t largest, bool are_new)
      : sums_(sums),
        terms_(terms),
        largest_(largest),
        are_new_(are_new),
        is_added_(terms.front().computed.pieces()),
        is_too_large_(terms.size()) {}

  // All of it. Throws unless all messages are what they should be.
  void run() {
    runtime::in_threads(is_added_.size(), 1, [&](std::size_t piece) {
      for (Message& term : terms_) term.computed.hash(piece);
      add(piece, false);
      is_added_[piece] = true;
    });
    runtime::in_threads(terms_.size(), 1, [&](std::size_t k) {
      terms_[k].compare();
      if (!terms_[k].values.ends_clean(sums_.size())) {
        throw FormatError(terms_[k].name + " has bits after its last value");
      }
      if (is_too_large_[k]) throw FormatError(terms_[k].name + " has a value that is not below the modulus");
    });
  }

  // Takes back what was added, when all threads have ended.
  void undo() {
    if (are_new_) return;
    for (std::size_t piece = 0; piece < is_added_.size(); ++piece) {
      if (is_added_[piece]) add(piece, true);
    }
  }

 private:
  // Adds a piece of all messages, or takes it back.
  void add(std::size_t piece, bool subtracts) {
    constexpr std::size_t block = 1024;
    std::array<std::uint64_t, block> values;
    const std::size_t end = std::min(sums_.size(), (piece + 1) * piece_values);
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      const Word weight = subtracts ? Word{0} - terms_[k].weight : Word{terms_[k].weight};
      std::uint64_t too_large = 0;
      for (std::size_t first = piece * piece_values; first < end; first += block) {
        const std::size_t count = std::min(block, end - first);
        terms_[k].values.read(first, std::span(values).first(count));
        if (largest_ >> 63 == 0) {  // and values: the top bit of the difference is its sign
          for (std::size_t i = 0; i < count; ++i) too_large |= largest_ - values[i];
        } else {
          for (std::size_t i = 0; i < count; ++i) too_large |= std::uint64_t{values[i] > largest_} << 63;
        }
        if (are_new_ && k == 0) {
          for (std::size_t i = 0; i < count; ++i) sums_[first + i] = weight * values[i];
        } else if (weight == 1) {
          for (std::size_t i = 0; i < count; ++i) sums_[first + i] += values[i];
        } else {
          for (std::size_t i = 0; i < count; ++i) sums_[first + i] += weight * values[i];
        }
      }
      if (too_large >> 63 != 0) is_too_large_[k] = true;
    }
  }

  std::span<Word> sums_;
  std::span<Message> terms_;
  std::uint64_t largest_;
  bool are_new_;
  std::vector<std::atomic<bool>> is_added_;  // [piece]
  std::vector<std::atomic<bool>> is_too_large_;
};

}  // namespace

template <typename Word>
void add_messages(std::span<Word> sums, std::span<Message> terms, std::uint64_t largest, bool are_new) {
  if (terms.empty()) return;
  Addition addition(sums, terms, largest, are_new);
  try {
    addition.run();
  } catch (...) {
    addition.undo();
    throw;
  }
}

template void add_messages(std::span<std::uint64_t> sums, std::span<Message> terms, std::uint64_t largest,
                           bool are_new);
template void add_messages(std::span<arith::uint128> sums, std::span<Message> terms, std::uint64_t largest,
                           bool are_new);

}  // namespace hemera::multiparty
