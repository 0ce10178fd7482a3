// The bytes of uploads and shares: an envelope, packed values, a digest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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

/// Values of a piece, which a message's digest is of, and of a range of `for_ranges`.
inline constexpr std::size_t piece_values = std::size_t{1} << 14;

/// The digest of a message. Version 2: SHA-256 of SHA-256 of the head and of each piece_values values' bytes,
/// one behind the other, which threads compute in any order. Version 1: SHA-256 of all of it.
class MessageDigest {
 public:
  MessageDigest(int version, std::span<const std::byte> head, std::span<const std::byte> values, int bits);

  [[nodiscard]] std::size_t pieces() const { return pieces_.size() - 1; }
  /// Hashes a piece, by any thread.
  void hash(std::size_t piece);
  /// When all pieces are hashed.
  [[nodiscard]] Sha256Digest finish();

 private:
  int version_;
  std::span<const std::byte> head_, values_;
  std::size_t piece_bytes_;
  std::vector<Sha256Digest> pieces_;  // behind that of the head
};

/// Writes a message into memory of its caller: several threads its values, which they hash piece by piece.
class MessageWriter {
 public:
  /// Throws MismatchError unless `out` has `message_bytes`.
  MessageWriter(const Description& description, const Transcript& transcript, const Envelope& envelope,
                std::span<std::byte> out);

  /// Takes the values from `first` on, `count` of the plan's; `first` is a multiple of piece_values.
  [[nodiscard]] Packer values(std::size_t first, std::size_t count);
  /// These values are written: whole pieces, but for the last one of all.
  void written(std::size_t first, std::size_t count);
  /// The digest, when all values are written.
  void finish();

 private:
  std::optional<MessageDigest> digest_;
  std::span<std::byte> out_;
  std::span<std::byte> values_;
  std::size_t bits_;
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

  MessageDigest computed;

  /// Throws FormatError unless the digest is the one that was computed.
  void compare();
};
/// The bytes of a message, its digest included.
std::size_t message_bytes(const Description& description, const Envelope& envelope);
/// Messages of this federation and list, by their envelopes: digests are not compared. Throws FormatError and
/// MismatchError otherwise.
std::vector<Message> open_messages(const Description& description, const Transcript& transcript,
                                   MessageKind kind, std::span<const std::span<const std::byte>> messages);
/// Hashes all pieces in threads. Throws FormatError unless each digest is right.
void require_whole(std::span<Message> messages);
/// The envelope of one whole message.
Envelope read_envelope(const Description& description, const Transcript& transcript, MessageKind kind,
                       std::span<const std::byte> message);

/// Adds weighted values of messages to sums, modulo the word, and compares their digests: threads, at most
/// 16, read a piece of all messages once. Throws FormatError for a damaged message, for a value above
/// `largest`, or if bits after the last value are not 0: the sums are then as before. `are_new`: the sums are
/// nothing yet, and stay so where it throws.
template <typename Word>
void add_messages(std::span<Word> sums, std::span<Message> terms, std::uint64_t largest, bool are_new);
/// The largest value of a message.
std::uint64_t largest_value(const Plan& plan, MessageKind kind);

/// Calls body(first, end) for ranges of piece_values values, in several threads.
template <typename Body>
void for_ranges(std::size_t values, const Body& body) {
  runtime::in_threads((values + piece_values - 1) / piece_values, 4, [&](std::size_t i) {
    body(i * piece_values, std::min(values, (i + 1) * piece_values));
  });
}

}  // namespace hemera::multiparty
