#include "multiparty/messages.hpp"

#include <algorithm>
#include <utility>

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

Message open_message(std::string name, const Description& description, const Transcript& transcript,
                     MessageKind kind, std::span<const std::byte> message) {
  runtime::ByteReader in(message, name);
  if (in.u32() != magic) in.fail("this is no message of a federation");
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
          .values = PackedValues(packed, bits_of(plan, kind))};
}

std::string name_of(std::size_t number, std::size_t count) {
  return count == 1
             ? "a message of a federation"
             : "message " + std::to_string(number + 1) + " of " + std::to_string(count) + " of a federation";
}

}  // namespace

MessageWriter::MessageWriter(const Description& description, const Transcript& transcript,
                             const Envelope& envelope)
    : bytes_(head(description, transcript, envelope)),
      start_(bytes_.size()),
      bits_(static_cast<std::size_t>(bits_of(description.plan(), envelope.kind))) {
  bytes_.resize(start_ + packed_bytes(description.plan(), envelope.kind) + sizeof(Sha256Digest));
  written_.emplace(0, start_);
  hashed_ = std::async(std::launch::async, [this] { hash(); });
}

// Unless all values were written, something failed.
MessageWriter::~MessageWriter() {
  {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
  }
  changed_.notify_one();
}

std::pair<std::size_t, std::size_t> MessageWriter::place(std::size_t first, std::size_t count) const {
  return {start_ + first * bits_ / 8, (count * bits_ + 7) / 8};
}

Packer MessageWriter::values(std::size_t first, std::size_t count) {
  const auto [begin, size] = place(first, count);
  return {std::span(bytes_).subspan(begin, size), static_cast<int>(bits_)};
}

void MessageWriter::written(std::size_t first, std::size_t count) {
  const auto [begin, size] = place(first, count);
  {
    const std::lock_guard lock(mutex_);
    written_.emplace(begin, begin + size);
  }
  changed_.notify_one();
}

void MessageWriter::hash() {
  for (std::size_t at = 0, end = bytes_.size() - sizeof(Sha256Digest); at < end;) {
    std::size_t next = at;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return given_up_ || written_.contains(at); });
      if (given_up_) return;
      for (; written_.contains(next); next = written_.at(next)) {
      }
    }
    hash_.update(std::span(bytes_).subspan(at, next - at));
    at = next;
  }
}

std::vector<std::byte> MessageWriter::finish() {
  hashed_.get();
  const Sha256Digest digest = hash_.finish();
  std::ranges::copy(std::as_bytes(std::span(digest)), bytes_.end() - sizeof(Sha256Digest));
  return std::move(bytes_);
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

void require_whole(std::span<const Message> messages) {
  for (const Message& message : messages) {
    runtime::Sha256 hash;
    hash.update(message.head);
    hash.update(message.packed);
    message.compare(hash.finish());
  }
}

void Message::compare(const Sha256Digest& of_bytes) const {
  if (std::ranges::equal(digest, std::as_bytes(std::span(of_bytes)))) return;
  throw FormatError(name + ": its digest is wrong: it is damaged");
}

std::uint64_t largest_value(const Plan& plan, MessageKind kind) {
  return rounded(plan.modulus() - 1, dropped_by(plan, kind));
}

}  // namespace hemera::multiparty
