#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "hemera/multiparty/dealt_sums.hpp"
#include "hemera/runtime/error.hpp"
#include "multiparty/messages.hpp"

namespace hemera::multiparty {
namespace {

using arith::int128;
using arith::uint128;

double as_double(int128 value) { return static_cast<double>(value); }

// The centred noise of values beside multiples of Delta, which nobody knows before a sum is opened; and sums.
struct Noise {
  double squares = 0;
  double largest = 0;
  double largest_sum = 0;

  void join(const Noise& other) {
    squares += other.squares;
    largest = std::max(largest, other.largest);
    largest_sum = std::max(largest_sum, other.largest_sum);
  }
};

// Honest parties have floodings, and roundings to within half of a step. A sum of squares of so many
// subgaussian values exceeds the bound but for 2^-40 (B. Laurent, P. Massart, 2000).
bool is_plausible(const Noise& noise, const Margin& margin, const Transcript& transcript) {
  if (margin.method == Method::masks) return noise.largest == 0;
  double weights = 0;  // sum of squares
  for (const Contribution& each : transcript.list()) {
    weights += static_cast<double>(each.weight) * static_cast<double>(each.weight);
  }
  const double expected = static_cast<double>(margin.pieces) * (std::exp2(2 * margin.flooding_log2) +
                                                                std::exp2(2 * margin.share_dropped - 2)) +
                          weights * (margin.sigma * margin.sigma + std::exp2(2 * margin.upload_dropped - 2));
  const double nats = 40 * std::log(2.0), values = static_cast<double>(margin.values);
  return noise.largest <= std::exp2(noise_log2(margin)) &&
         noise.squares <= expected * (values + 2 * std::sqrt(values * nats) + 2 * nats);
}

const Contribution& listed(const Transcript& transcript, const Envelope& envelope) {
  const Contribution* found = transcript.find(envelope.sender);
  if (found != nullptr) return *found;
  throw MismatchError("an upload is of '" + envelope.sender + "', who is not on the list");
}

// A damaged message is told as such, before what it says is refused.
template <typename Check>
void checked(std::span<Message> messages, const Check& check) {
  try {
    check();
  } catch (const MismatchError&) {
    require_whole(messages);
    throw;
  }
}

std::size_t checked_piece(const Description& description, const Envelope& envelope) {
  if (envelope.piece < description.access().pieces()) return envelope.piece;
  throw MismatchError("a share is of piece " + std::to_string(envelope.piece) + ", which there is not");
}

// The sums of the pieces' shares, before they are shifted by the dropped bits.
std::unique_ptr<uint128[]> sum_of_shares(const Description& description, const Transcript& transcript,
                                         std::span<const std::span<const std::byte>> shares) {
  std::map<std::size_t, std::size_t> of_piece;  // the number of its first share
  std::vector<Message> terms;
  std::vector<Message> messages = open_messages(description, transcript, MessageKind::share, shares);
  checked(messages, [&] {
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const std::size_t piece = checked_piece(description, messages[i].envelope);
      const auto [first, is_new] = of_piece.try_emplace(piece, i);
      if (is_new) {
        terms.push_back(messages[i]);
      } else if (!std::ranges::equal(shares[first->second], shares[i])) {
        throw MismatchError("two shares of piece " + std::to_string(piece) +
                            " differ: one of its holders sends something else than it should");
      }
    }
    const std::size_t pieces = description.access().pieces();
    if (of_piece.size() != pieces) {
      throw MismatchError("shares of " + std::to_string(of_piece.size()) + " pieces of " +
                          std::to_string(pieces) + " are there; more members must answer");
    }
  });
  const std::size_t values = description.plan().request().values;
  auto sums = std::make_unique_for_overwrite<uint128[]>(values);
  add_messages(std::span(sums.get(), values), std::span(terms),
               largest_value(description.plan(), MessageKind::share), true);
  return sums;
}

}  // namespace

std::string upload_sender(const Description& description, const Transcript& transcript,
                          std::span<const std::byte> message) {
  return listed(transcript, read_envelope(description, transcript, MessageKind::upload, message)).name;
}

std::size_t share_piece(const Description& description, const Transcript& transcript,
                        std::span<const std::byte> message) {
  return checked_piece(description, read_envelope(description, transcript, MessageKind::share, message));
}

UploadSum::UploadSum(const Description& description, const Transcript& transcript)
    : description_(description), transcript_(transcript) {
  const Plan& plan = description.plan();
  const std::size_t values = plan.request().values;
  const int bits = plan.upload_bits() + static_cast<int>(std::bit_width(transcript.weight_sum()));
  if (bits <= 64) {
    sums_ = std::make_unique_for_overwrite<std::uint64_t[]>(values);
  } else {
    sums_ = std::make_unique_for_overwrite<uint128[]>(values);
  }
}

std::vector<std::string> UploadSum::add(std::span<const std::span<const std::byte>> messages) {
  std::vector<Message> uploads = open_messages(description_, transcript_, MessageKind::upload, messages);
  std::set<std::string> added = added_;
  std::vector<std::string> names;
  checked(uploads, [&] {
    for (Message& upload : uploads) {
      const Contribution& of = listed(transcript_, upload.envelope);
      if (!added.insert(of.name).second) {
        throw MismatchError("the upload of '" + of.name + "' is in the sum already");
      }
      names.push_back(of.name);
      upload.weight = of.weight;
    }
  });
  const std::uint64_t largest = largest_value(description_.plan(), MessageKind::upload);
  const std::size_t values = description_.plan().request().values;
  std::visit(
      [&](auto& sums) {
        add_messages(std::span(sums.get(), values), std::span(uploads), largest, added_.empty());
      },
      sums_);
  added_ = std::move(added);
  return names;
}

std::vector<std::string> UploadSum::missing() const {
  std::vector<std::string> names;
  for (const Contribution& each : transcript_.list()) {
    if (!added_.contains(each.name)) names.push_back(each.name);
  }
  return names;
}

std::vector<std::int64_t> UploadSum::open(std::span<const std::span<const std::byte>> shares) const {
  const Plan& plan = description_.plan();
  const Margin& margin = plan.margin();
  require_margin(margin);
  if (const auto names = missing(); !names.empty()) {
    throw MismatchError("the upload of '" + names.front() + "' and " + std::to_string(names.size() - 1) +
                        " more are missing; a list without them is another attempt");
  }
  const std::unique_ptr<uint128[]> shared = sum_of_shares(description_, transcript_, shares);
  const uint128 modulus = plan.modulus();
  const auto delta = static_cast<int128>(plan.delta());
  const double largest =
      static_cast<double>(transcript_.weight_sum()) * (std::exp2(margin.value_bits - 1) - 1);
  std::vector<std::int64_t> result(plan.request().values);
  std::vector<Noise> noises((result.size() + piece_values - 1) / piece_values);
  const auto open_range = [&](const auto& sums, std::size_t first, std::size_t end) {
    Noise& noise = noises[first / piece_values];
    for (std::size_t i = first; i < end; ++i) {
      const uint128 uploads = (static_cast<uint128>(sums[i]) << margin.upload_dropped) % modulus;
      const uint128 phase = (uploads + (shared[i] << margin.share_dropped) % modulus) % modulus;
      const int128 centred = phase > modulus / 2 ? static_cast<int128>(phase) - static_cast<int128>(modulus)
                                                 : static_cast<int128>(phase);
      const int128 half = centred < 0 ? -(delta / 2) : delta / 2;
      const int128 sum = (centred + half) / delta;
      const double off = as_double(centred - sum * delta);
      noise.join({off * off, std::abs(off), std::abs(as_double(sum))});
      result[i] = static_cast<std::int64_t>(sum);
    }
  };
  for_ranges(result.size(), [&](std::size_t first, std::size_t end) {
    std::visit([&](const auto& sums) { open_range(sums, first, end); }, sums_);
  });
  Noise noise;
  for (const Noise& each : noises) noise.join(each);
  if (noise.largest_sum > largest || !is_plausible(noise, margin, transcript_)) {
    throw NoiseError("what was opened for round " + std::to_string(transcript_.round()) +
                     " is no sum of values in their range: a contributor or a member sent something else "
                     "than it should; open another round without it");
  }
  return result;
}

}  // namespace hemera::multiparty
