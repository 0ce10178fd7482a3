// The bytes of uploads and shares: an envelope, packed values, a digest.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/multiparty/federation.hpp"
#include "hemera/runtime/sha256.hpp"
#include "multiparty/packing.hpp"
#include "runtime/in_threads.hpp"

namespace hemera::multiparty {

enum class MessageKind : std::uint8_t { upload = 1, share = 2 };

/// What stands before the values. `sender`: a contributor's name, empty for a share. `piece`: of a share.
struct Envelope {
  MessageKind kind = MessageKind::upload;
  std::string sender;
  std::uint32_t piece = 0;
};

/// An integer modulo Q without its low bits, rounded: floor((x + 2^(dropped - 1)) / 2^dropped).
inline std::uint64_t rounded(arith::uint128 x, int dropped) {
  return static_cast<std::uint64_t>((x + ((static_cast<arith::uint128>(1) << dropped) >> 1)) >> dropped);
}

/// Writes a message: several threads its values, while another one hashes those that are there.
class MessageWriter {
 public:
  MessageWriter(const Description& description, const Transcript& transcript, const Envelope& envelope);
  ~MessageWriter();
  MessageWriter(const MessageWriter&) = delete;
  MessageWriter& operator=(const MessageWriter&) = delete;

  /// Takes the values from `first` on, `count` of the plan's; `first` is a multiple of 8.
  [[nodiscard]] Packer values(std::size_t first, std::size_t count);
  /// These values are written.
  void written(std::size_t first, std::size_t count);
  /// The whole message, when all values are written.
  [[nodiscard]] std::vector<std::byte> finish();

 private:
  // The bytes of values: their first, and how many.
  [[nodiscard]] std::pair<std::size_t, std::size_t> place(std::size_t first, std::size_t count) const;
  void hash();

  std::vector<std::byte> bytes_;
  std::size_t start_;
  std::size_t bits_;
  runtime::Sha256 hash_;
  std::mutex mutex_;                            // of the three that follow
  std::map<std::size_t, std::size_t> written_;  // ends of bytes, by where they begin
  bool given_up_ = false;
  std::condition_variable changed_;
  std::future<void> hashed_;  // last: its thread ends first
};

/// A message whose bytes are the caller's, and by how much its values are multiplied.
struct Message {
  std::string name;  ///< in errors: its number, from 1, where there are several
  Envelope envelope;
  std::span<const std::byte> head;    ///< before the values
  std::span<const std::byte> packed;  ///< values
  std::span<const std::byte> digest;  ///< of both, as it says
  PackedValues values;
  std::uint64_t weight = 1;

  /// Throws FormatError unless the digest is this one.
  void compare(const Sha256Digest& of_bytes) const;
};
/// Messages of this federation and list, by their envelopes: digests are not compared. Throws FormatError and
/// MismatchError otherwise.
std::vector<Message> open_messages(const Description& description, const Transcript& transcript,
                                   MessageKind kind, std::span<const std::span<const std::byte>> messages);
/// Throws FormatError unless each digest is right.
void require_whole(std::span<const Message> messages);
/// The envelope of one whole message.
Envelope read_envelope(const Description& description, const Transcript& transcript, MessageKind kind,
                       std::span<const std::byte> message);

/// Adds weighted values of messages to sums, modulo the word, and compares their digests: threads, at most
/// 16, read a range of all messages once. Throws FormatError for a damaged message, for a value above
/// `largest`, or if bits after the last value are not 0: the sums are then as before.
template <typename Word>
void add_messages(std::vector<Word>& sums, std::span<const Message> terms, std::uint64_t largest);
/// The largest value of a message.
std::uint64_t largest_value(const Plan& plan, MessageKind kind);

/// Values of a range of `for_ranges`.
inline constexpr std::size_t range_values = std::size_t{1} << 14;
/// Calls body(first, end) for ranges of so many values, in several threads.
template <typename Body>
void for_ranges(std::size_t values, const Body& body) {
  runtime::in_threads((values + range_values - 1) / range_values, 4, [&](std::size_t i) {
    body(i * range_values, std::min(values, (i + 1) * range_values));
  });
}

}  // namespace hemera::multiparty
