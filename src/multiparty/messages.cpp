#include "multiparty/messages.hpp"

#include <algorithm>
#include <utility>

#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::multiparty {
namespace {

constexpr std::uint32_t magic_0 = 0x30504D48;  // "HMP0": the last byte is the version, a digit

std::uint32_t magic_of(int version) { return magic_0 + (static_cast<std::uint32_t>(version) << 24); }

// The version of a message, if it is one.
void require_version(const std::string& name, std::uint32_t magic, int version, runtime::ByteReader& in) {
  if (magic == magic_of(version)) return;
  const std::uint32_t found = (magic - magic_0) >> 24;
  if (magic - (found << 24) != magic_0 || found < 1 || found > 9)
    in.fail("this is no message of a federation");
  if (found > newest_messages) {
    in.fail("it is of version " + std::to_string(found) + " of messages; take a newer Hemera");
  }
  throw MismatchError(name + " is of version " + std::to_string(found) +
                      ", and messages of this federation are of version " + std::to_string(version) +
                      ": its sender joined with other terms");
}

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
  out.u32(magic_of(description.messages()));
  out.u8(static_cast<std::uint8_t>(envelope.kind));
  out.bytes(description.id());
  out.bytes(transcript.digest());
  out.string(envelope.sender);
  out.u32(envelope.piece);
  out.u32(static_cast<std::uint32_t>(description.plan().margin().flooding_log2));
  out.u32(static_cast<std::uint32_t>(dropped_by(description.plan(), envelope.kind)));
  return out.take();
}

Message open_message(std::string name, const Description& description, const Transcript& transcript,
                     MessageKind kind, std::span<const std::byte> message) {
  runtime::ByteReader in(message, name);
  require_version(name, in.u32(), description.messages(), in);
  if (in.u8() != static_cast<std::uint8_t>(kind)) in.fail("this is another kind of message");
  const auto is_of = [&](const Sha256Digest& digest) {
    return std::ranges::equal(in.bytes(digest.size()), std::as_bytes(std::span(digest)));
  };
  if (!is_of(description.id())) throw MismatchError(name + " is of another federation");
  if (!is_of(transcript.digest())) throw MismatchError(name + " is of another list, or another round");
  Envelope envelope{.kind = kind, .sender = in.string(), .piece = in.u32()};
  const Plan& plan = description.plan();
  if (in.u32() != static_cast<std::uint32_t>(plan.margin().flooding_log2) ||
      in.u32() != static_cast<std::uint32_t>(dropped_by(plan, kind))) {
    throw MismatchError(name + " is of another plan: its flooding or its dropped bits differ");
  }
  const std::size_t size = packed_bytes(plan, kind);
  if (in.remaining() != size + sizeof(Sha256Digest)) {
    in.fail("it has " + std::to_string(in.remaining()) + " bytes of values and digest, not " +
            std::to_string(size + sizeof(Sha256Digest)));
  }
  const std::span<const std::byte> head = message.first(in.position()), packed = in.bytes(size);
  return {.name = std::move(name),
          .envelope = std::move(envelope),
          .head = head,
          .packed = packed,
          .digest = in.bytes(sizeof(Sha256Digest)),
          .values = PackedValues(packed, bits_of(plan, kind)),
          .computed = MessageDigest(description.messages(), head, packed, bits_of(plan, kind))};
}

std::string name_of(std::size_t number, std::size_t count) {
  return count == 1
             ? "a message of a federation"
             : "message " + std::to_string(number + 1) + " of " + std::to_string(count) + " of a federation";
}

}  // namespace

MessageDigest::MessageDigest(int version, std::span<const std::byte> head, std::span<const std::byte> values,
                             int bits)
    : version_(version),
      head_(head),
      values_(values),
      piece_bytes_(piece_values / 8 * static_cast<std::size_t>(bits)),
      pieces_(1 + (values.size() + piece_bytes_ - 1) / piece_bytes_) {}

void MessageDigest::hash(std::size_t piece) {
  if (version_ == 1) return;
  const std::span<const std::byte> rest = values_.subspan(piece * piece_bytes_);
  pieces_[1 + piece] = runtime::sha256(rest.first(std::min(piece_bytes_, rest.size())));
}

Sha256Digest MessageDigest::finish() {
  if (version_ > 1) {
    pieces_.front() = runtime::sha256(head_);
    return runtime::sha256(std::as_bytes(std::span(pieces_)));
  }
  runtime::Sha256 whole;
  whole.update(head_);
  whole.update(values_);
  return whole.finish();
}

std::size_t message_bytes(const Description& description, const Envelope& envelope) {
  constexpr std::size_t fixed = 4 + 1 + 2 * sizeof(Sha256Digest) + 4 + 4 + 4 + 4;
  return fixed + envelope.sender.size() + packed_bytes(description.plan(), envelope.kind) +
         sizeof(Sha256Digest);
}

MessageWriter::MessageWriter(const Description& description, const Transcript& transcript,
                             const Envelope& envelope, std::span<std::byte> out)
    : out_(out), bits_(static_cast<std::size_t>(bits_of(description.plan(), envelope.kind))) {
  if (out.size() != message_bytes(description, envelope)) {
    throw MismatchError("a message of " + std::to_string(message_bytes(description, envelope)) +
                        " bytes is to be written to " + std::to_string(out.size()));
  }
  const std::vector<std::byte> before = head(description, transcript, envelope);
  std::ranges::copy(before, out.begin());
  values_ = out.subspan(before.size(), packed_bytes(description.plan(), envelope.kind));
  digest_.emplace(description.messages(), out.first(before.size()), values_, static_cast<int>(bits_));
}

Packer MessageWriter::values(std::size_t first, std::size_t count) {
  return {values_.subspan(first * bits_ / 8, (count * bits_ + 7) / 8), static_cast<int>(bits_)};
}

void MessageWriter::written(std::size_t first, std::size_t count) {
  for (std::size_t value = first; value < first + count; value += piece_values) {
    digest_->hash(value / piece_values);
  }
}

void MessageWriter::finish() {
  const Sha256Digest digest = digest_->finish();
  std::ranges::copy(std::as_bytes(std::span(digest)), out_.end() - sizeof(Sha256Digest));
}

Envelope read_envelope(const Description& description, const Transcript& transcript, MessageKind kind,
                       std::span<const std::byte> message) {
  std::vector<Message> opened = open_messages(description, transcript, kind, std::span(&message, 1));
  require_whole(opened);
  return std::move(opened.front().envelope);
}

std::vector<Message> open_messages(const Description& description, const Transcript& transcript,
                                   MessageKind kind, std::span<const std::span<const std::byte>> messages) {
  std::vector<Message> opened;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    opened.push_back(open_message(name_of(i, messages.size()), description, transcript, kind, messages[i]));
  }
  return opened;
}

void require_whole(std::span<Message> messages) {
  if (messages.empty()) return;
  const std::size_t pieces = messages.front().computed.pieces();
  runtime::in_threads(messages.size() * pieces, 2,
                      [&](std::size_t i) { messages[i / pieces].computed.hash(i % pieces); });
  runtime::in_threads(messages.size(), 1, [&](std::size_t k) { messages[k].compare(); });
}

void Message::compare() {
  const Sha256Digest found = computed.finish();
  if (std::ranges::equal(digest, std::as_bytes(std::span(found)))) return;
  throw FormatError(name + ": its digest is wrong: it is damaged");
}

std::uint64_t largest_value(const Plan& plan, MessageKind kind) {
  return rounded(plan.modulus() - 1, dropped_by(plan, kind));
}

}  // namespace hemera::multiparty
