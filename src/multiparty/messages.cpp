#include "multiparty/messages.hpp"

#include <algorithm>
#include <array>
#include <atomic>
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

// A message with an envelope of this federation and list, whose digest is not compared yet.
struct Opened {
  Message message;
  std::span<const std::byte> hashed;
  std::span<const std::byte> digest;
};

Opened open_message(const std::string& name, const Description& description, const Transcript& transcript,
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
  const std::size_t packed = packed_bytes(plan, kind);
  if (in.remaining() != packed + sizeof(Sha256Digest)) {
    in.fail("it has " + std::to_string(in.remaining()) + " bytes of values and digest, not " +
            std::to_string(packed + sizeof(Sha256Digest)));
  }
  const PackedValues values(in.bytes(packed), bits_of(plan, kind));
  return {{std::move(envelope), values}, message.first(in.position()), in.bytes(sizeof(Sha256Digest))};
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
      bits_(bits_of(description.plan(), envelope.kind)) {
  bytes_.resize(start_ + packed_bytes(description.plan(), envelope.kind) + sizeof(Sha256Digest));
}

Packer MessageWriter::values(std::size_t first, std::size_t count) {
  const auto bits = static_cast<std::size_t>(bits_);
  return {std::span(bytes_).subspan(start_ + first * bits / 8, (count * bits + 7) / 8), bits_};
}

std::vector<std::byte> MessageWriter::finish() && {
  const std::size_t end = bytes_.size() - sizeof(Sha256Digest);
  const Sha256Digest digest = runtime::sha256(std::span(bytes_).first(end));
  std::ranges::copy(std::as_bytes(std::span(digest)), bytes_.begin() + static_cast<std::ptrdiff_t>(end));
  return std::move(bytes_);
}

bool MessageWriter::is_of(std::span<const std::byte> message) const {
  const std::size_t end = bytes_.size() - sizeof(Sha256Digest);
  return std::ranges::equal(message.first(end), std::span(bytes_).first(end));
}

Envelope read_envelope(const Description& description, const Transcript& transcript, MessageKind kind,
                       std::span<const std::byte> message) {
  return read_messages(description, transcript, kind, std::span(&message, 1)).front().envelope;
}

std::vector<Message> read_messages(const Description& description, const Transcript& transcript,
                                   MessageKind kind, std::span<const std::span<const std::byte>> messages) {
  const std::size_t count = messages.size();
  std::vector<Opened> opened;
  for (std::size_t i = 0; i < count; ++i) {
    opened.push_back(open_message(name_of(i, count), description, transcript, kind, messages[i]));
  }
  std::vector<char> is_whole(count);
  constexpr std::size_t thread_bytes = std::size_t{1} << 17;
  runtime::in_threads(count, thread_bytes / packed_bytes(description.plan(), kind) + 1, [&](std::size_t i) {
    const Sha256Digest digest = runtime::sha256(opened[i].hashed);
    is_whole[i] = std::ranges::equal(opened[i].digest, std::as_bytes(std::span(digest)));
  });
  std::vector<Message> read;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_whole[i]) throw FormatError(name_of(i, count) + ": its digest is wrong: it is damaged");
    read.push_back(std::move(opened[i].message));
  }
  return read;
}

std::uint64_t largest_value(const Plan& plan, MessageKind kind) {
  return rounded(plan.modulus() - 1, dropped_by(plan, kind));
}

template <typename Word>
void add_values(std::vector<Word>& sums, std::span<const Message> terms, std::uint64_t largest) {
  const std::size_t ranges = (sums.size() + range_values - 1) / range_values;
  std::vector<std::atomic<bool>> is_too_large(terms.size());
  std::vector<char> is_added(ranges);
  // A range of all messages stays in a cache.
  const auto add = [&](std::size_t range, bool subtracts) {
    constexpr std::size_t block = 1024;
    std::array<std::uint64_t, block> values;
    const std::size_t end = std::min(sums.size(), (range + 1) * range_values);
    for (std::size_t k = 0; k < terms.size(); ++k) {
      const Word weight = subtracts ? Word{0} - terms[k].weight : Word{terms[k].weight};
      std::uint64_t too_large = 0;
      for (std::size_t first = range * range_values; first < end; first += block) {
        const std::size_t count = std::min(block, end - first);
        terms[k].values.read(first, std::span(values).first(count));
        if (largest >> 63 == 0) {  // and values: the top bit of the difference is its sign
          for (std::size_t i = 0; i < count; ++i) too_large |= largest - values[i];
        } else {
          for (std::size_t i = 0; i < count; ++i) too_large |= std::uint64_t{values[i] > largest} << 63;
        }
        if (weight == 1) {
          for (std::size_t i = 0; i < count; ++i) sums[first + i] += values[i];
        } else {
          for (std::size_t i = 0; i < count; ++i) sums[first + i] += weight * values[i];
        }
      }
      if (too_large >> 63 != 0) is_too_large[k] = true;
    }
    is_added[range] = 1;
  };
  try {
    for (std::size_t k = 0; k < terms.size(); ++k) {
      if (terms[k].values.ends_clean(sums.size())) continue;
      throw FormatError(name_of(k, terms.size()) + " has bits after its last value");
    }
    runtime::in_threads(ranges, 4 / (terms.size() + 1) + 1, [&](std::size_t range) { add(range, false); });
    for (std::size_t k = 0; k < terms.size(); ++k) {
      if (!is_too_large[k]) continue;
      throw FormatError(name_of(k, terms.size()) + " has a value that is not below the modulus");
    }
  } catch (...) {
    for (std::size_t range = 0; range < ranges; ++range) {
      if (is_added[range] != 0) add(range, true);
    }
    throw;
  }
}

template void add_values(std::vector<std::uint64_t>& sums, std::span<const Message> terms,
                         std::uint64_t largest);
template void add_values(std::vector<arith::uint128>& sums, std::span<const Message> terms,
                         std::uint64_t largest);

}  // namespace hemera::multiparty
