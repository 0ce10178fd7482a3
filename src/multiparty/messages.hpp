// The bytes of uploads and shares: an envelope, packed values, a digest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hemera/multiparty/federation.hpp"
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

/// Writes a message: several threads its values, one what is around them.
class MessageWriter {
 public:
  MessageWriter(const Description& description, const Transcript& transcript, const Envelope& envelope);
  /// Takes the values from `first` on, `count` of the plan's; `first` is a multiple of 8.
  [[nodiscard]] Packer values(std::size_t first, std::size_t count);
  /// The whole message, when all values are written.
  [[nodiscard]] std::vector<std::byte> finish();

 private:
  std::vector<std::byte> bytes_;
  std::size_t start_;
  int bits_;
};

/// A message that is whole, and of this federation and list. Throws FormatError and MismatchError otherwise.
Envelope read_envelope(const Description& description, const Transcript& transcript, MessageKind kind,
                       std::span<const std::byte> message);
struct Message {
  Envelope envelope;
  std::vector<std::uint64_t> values;
};
/// The same, and its values, in order: all are below their bound.
Message read_message(const Description& description, const Transcript& transcript, MessageKind kind,
                     std::span<const std::byte> bytes);

/// Calls body(first, end) for ranges of so many values, in several threads.
template <typename Body>
void for_ranges(std::size_t values, const Body& body) {
  constexpr std::size_t each = std::size_t{1} << 14;
  runtime::in_threads((values + each - 1) / each, 4,
                      [&](std::size_t i) { body(i * each, std::min(values, (i + 1) * each)); });
}

}  // namespace hemera::multiparty
