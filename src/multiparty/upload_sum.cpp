#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "hemera/multiparty/dealt_sums.hpp"
#include "hemera/runtime/error.hpp"
#include "multiparty/messages.hpp"

namespace hemera::multiparty {
namespace {

using arith::int128;
using arith::uint128;

double as_double(int128 value) { return static_cast<double>(value); }

// The centred noise of values beside multiples of Delta: nobody knows it before a sum is opened.
class NoiseCheck {
 public:
  NoiseCheck(const Margin& margin, const Transcript& transcript)
      : largest_(margin.method == Method::masks ? 0 : std::exp2(noise_log2(margin))),
        values_(static_cast<double>(margin.values)) {
    double weights = 0;  // sum of squares
    for (const Contribution& each : transcript.list()) {
      weights += static_cast<double>(each.weight) * static_cast<double>(each.weight);
    }
    if (margin.method == Method::masks) return;  // there is none
    // Honest parties have floodings, and roundings to within half of a step.
    expected_ = static_cast<double>(margin.pieces) *
                    (std::exp2(2 * margin.flooding_log2) + std::exp2(2 * margin.share_dropped - 2)) +
                weights * (margin.sigma * margin.sigma + std::exp2(2 * margin.upload_dropped - 2));
  }
  void add(double noise) {
    squares_ += noise * noise;
    is_large_ = is_large_ || std::abs(noise) > largest_;
  }
  // A sum of squares of so many subgaussian values exceeds this but for 2^-40 (B. Laurent, P. Massart, 2000).
  [[nodiscard]] bool is_plausible() const {
    const double nats = 40 * std::log(2.0);
    return !is_large_ && squares_ <= expected_ * (values_ + 2 * std::sqrt(values_ * nats) + 2 * nats);
  }

 private:
  double largest_;
  double values_;
  double expected_ = 0;
  double squares_ = 0;
  bool is_large_ = false;
};

const Contribution& listed(const Transcript& transcript, const Envelope& envelope) {
  const Contribution* found = transcript.find(envelope.sender);
  if (found != nullptr) return *found;
  throw MismatchError("an upload is of '" + envelope.sender + "', who is not on the list");
}

std::size_t checked_piece(const Description& description, const Envelope& envelope) {
  if (envelope.piece < description.access().pieces()) return envelope.piece;
  throw MismatchError("a share is of piece " + std::to_string(envelope.piece) + ", which there is not");
}

void add_times(std::vector<uint128>& sums, std::span<const std::uint64_t> values, std::uint64_t weight) {
  for_ranges(sums.size(), [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) sums[i] += static_cast<uint128>(weight) * values[i];
  });
}

// The sums of the pieces' shares, before they are shifted by the dropped bits.
std::vector<uint128> sum_of_shares(const Description& description, const Transcript& transcript,
                                   std::span<const std::span<const std::byte>> shares) {
  std::map<std::size_t, std::span<const std::byte>> of_piece;
  std::vector<uint128> sums(description.plan().request().values);
  for (const std::span<const std::byte> share : shares) {
    const Message message = read_message(description, transcript, MessageKind::share, share);
    const std::size_t piece = checked_piece(description, message.envelope);
    const auto [first, is_new] = of_piece.try_emplace(piece, share);
    if (is_new) {
      add_times(sums, message.values, 1);
    } else if (!std::ranges::equal(first->second, share)) {
      throw MismatchError("two shares of piece " + std::to_string(piece) +
                          " differ: one of its holders sends something else than it should");
    }
  }
  const std::size_t pieces = description.access().pieces();
  if (of_piece.size() != pieces) {
    throw MismatchError("shares of " + std::to_string(of_piece.size()) + " pieces of " +
                        std::to_string(pieces) + " are there; more members must answer");
  }
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
    : description_(description), transcript_(transcript), sums_(description.plan().request().values) {}

std::string UploadSum::add(std::span<const std::byte> message) {
  const Message upload = read_message(description_, transcript_, MessageKind::upload, message);
  const Contribution& of = listed(transcript_, upload.envelope);
  if (added_.contains(of.name)) {
    throw MismatchError("the upload of '" + of.name + "' is in the sum already");
  }
  add_times(sums_, upload.values, of.weight);
  added_.insert(of.name);
  return of.name;
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
  const std::vector<uint128> shared = sum_of_shares(description_, transcript_, shares);
  const uint128 modulus = plan.modulus();
  const auto delta = static_cast<int128>(plan.delta());
  const double largest =
      static_cast<double>(transcript_.weight_sum()) * (std::exp2(margin.value_bits - 1) - 1);
  NoiseCheck noise(margin, transcript_);
  bool is_in_range = true;
  std::vector<std::int64_t> result(sums_.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const uint128 uploads = (sums_[i] << margin.upload_dropped) % modulus;
    const uint128 phase = (uploads + (shared[i] << margin.share_dropped) % modulus) % modulus;
    const int128 centred = phase > modulus / 2 ? static_cast<int128>(phase) - static_cast<int128>(modulus)
                                               : static_cast<int128>(phase);
    const int128 half = centred < 0 ? -(delta / 2) : delta / 2;
    const int128 sum = (centred + half) / delta;
    noise.add(as_double(centred - sum * delta));
    is_in_range = is_in_range && std::abs(as_double(sum)) <= largest;
    result[i] = static_cast<std::int64_t>(sum);
  }
  if (!is_in_range || !noise.is_plausible()) {
    throw NoiseError("what was opened for round " + std::to_string(transcript_.round()) +
                     " is no sum of values in their range: a contributor or a member sent something else "
                     "than it should; open another round without it");
  }
  return result;
}

}  // namespace hemera::multiparty
