#include "multiparty/messages.hpp"

#include <algorithm>
#include <atomic>

#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::multiparty {
namespace {

constexpr std::uint32_t magic = 0x31504D48;  // "HMP1"

int bits_of(const Plan& plan, MessageKind kind) {
  return kind == MessageKind::upload ? plan.upload_bits() : plan.share_bits();
}

int dropped_by(const Plan& plan, MessageKind kind) {
  return kind == MessageKind::upload ? plan.margin().upload_dropped : plan.margin().share_dropped;
}

std::size_t packed_bytes(const Plan& plan, MessageKind kind) {
  return (plan.request().values * static_cast<std::size_t>(bits_of(plan, kind)) + 7) / 8;
}

// What is before the values. `flooding` and `dropped` are the plan's, which the reader compares with its own.
std::vector<std::byte> head(const Description& description, const Transcript& transcript,
                            const Envelope& envelope) {
  runtime::ByteWriter out;
  out.u32(magic);
  out.u8(static_cast<std::uint8_t>(envelope.kind));
  out.bytes(description.id());
  out.bytes(transcript.digest());
  out.string(envelope.sender);
  out.u32(envelope.piece);
  out.u32(static_cast<std::uint32_t>(description.plan().margin().flooding_log2));
  out.u32(static_cast<std::uint32_t>(dropped_by(description.plan(), envelope.kind)));
  return out.take();
}

// The envelope, and where the values begin.
std::pair<Envelope, std::size_t> open_envelope(const Description& description, const Transcript& transcript,
                                               MessageKind kind, std::span<const std::byte> message) {
  const std::size_t digest_bytes = sizeof(Sha256Digest);
  runtime::ByteReader in(message, "a message of a federation");
  if (in.u32() != magic) in.fail("this is no message of a federation");
  if (in.u8() != static_cast<std::uint8_t>(kind)) in.fail("this is another kind of message");
  const auto is_of = [&](const Sha256Digest& digest) {
    return std::ranges::equal(in.bytes(digest.size()), std::as_bytes(std::span(digest)));
  };
  if (!is_of(description.id())) throw MismatchError("a message is of another federation");
  if (!is_of(transcript.digest())) throw MismatchError("a message is of another list, or another round");
  Envelope envelope{.kind = kind, .sender = in.string(), .piece = in.u32()};
  const Plan& plan = description.plan();
  if (in.u32() != static_cast<std::uint32_t>(plan.margin().flooding_log2) ||
      in.u32() != static_cast<std::uint32_t>(dropped_by(plan, kind))) {
    throw MismatchError("a message is of another plan: its flooding or its dropped bits differ");
  }
  const std::size_t start = in.position();
  const std::size_t packed = packed_bytes(plan, kind);
  if (in.remaining() != packed + digest_bytes) {
    in.fail("it has " + std::to_string(in.remaining()) + " bytes of values and digest, not " +
            std::to_string(packed + digest_bytes));
  }
  const Sha256Digest digest = runtime::sha256(message.first(start + packed));
  static_cast<void>(in.bytes(packed));
  if (!is_of(digest)) in.fail("its digest is wrong: it is damaged");
  return {envelope, start};
}

}  // namespace

MessageWriter::MessageWriter(const Description& description, const Transcript& transcript,
                             const Envelope& envelope)
    : bytes_(head(description, transcript, envelope)),
      start_(bytes_.size()),
      bits_(bits_of(description.plan(), envelope.kind)) {
  bytes_.resize(start_ + packed_bytes(description.plan(), envelope.kind) + sizeof(Sha256Digest));
}

Packer MessageWriter::values(std::size_t first, std::size_t count) {
  const auto bits = static_cast<std::size_t>(bits_);
  return {std::span(bytes_).subspan(start_ + first * bits / 8, (count * bits + 7) / 8), bits_};
}

std::vector<std::byte> MessageWriter::finish() {
  const std::size_t end = bytes_.size() - sizeof(Sha256Digest);
  const Sha256Digest digest = runtime::sha256(std::span(bytes_).first(end));
  std::ranges::copy(std::as_bytes(std::span(digest)), bytes_.begin() + static_cast<std::ptrdiff_t>(end));
  return std::move(bytes_);
}

Envelope read_envelope(const Description& description, const Transcript& transcript, MessageKind kind,
                       std::span<const std::byte> message) {
  return open_envelope(description, transcript, kind, message).first;
}

Message read_message(const Description& description, const Transcript& transcript, MessageKind kind,
                     std::span<const std::byte> bytes) {
  const auto [envelope, start] = open_envelope(description, transcript, kind, bytes);
  const Plan& plan = description.plan();
  const std::uint64_t largest = rounded(plan.modulus() - 1, dropped_by(plan, kind));
  const PackedValues packed(bytes.subspan(start, packed_bytes(plan, kind)), bits_of(plan, kind));
  Message message{envelope, std::vector<std::uint64_t>(plan.request().values)};
  std::atomic<bool> is_below = true;
  for_ranges(message.values.size(), [&](std::size_t first, std::size_t end) {
    std::uint64_t too_large = 0;
    for (std::size_t i = first; i < end; ++i) {
      message.values[i] = packed[i];
      too_large |= static_cast<std::uint64_t>(message.values[i] > largest);
    }
    if (too_large != 0) is_below = false;
  });
  if (!is_below) throw FormatError("a message of a federation has a value that is not below the modulus");
  if (!packed.ends_clean(message.values.size())) {
    throw FormatError("a message of a federation has bits after its last value");
  }
  return message;
}

}  // namespace hemera::multiparty
