#include "hemera/multiparty/federation.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::multiparty {
namespace {

constexpr std::size_t longest_name = 128;
constexpr std::string_view description_label = "hemera federation 1";
constexpr std::string_view transcript_label = "hemera federation list 1";
constexpr std::string_view public_label = "hemera federation public 1";

void require_name(const std::string& name) {
  if (name.empty() || name.size() > longest_name) {
    throw ParameterError("a party's name has 1 to " + std::to_string(longest_name) + " bytes, not " +
                         std::to_string(name.size()));
  }
}

Sha256Digest id_of(const Access& access, const Plan& plan, const std::vector<std::string>& members,
                   const Sha256Digest& layout, const Sha256Digest& nonce, int messages) {
  const PlanRequest& request = plan.request();
  const Margin& margin = plan.margin();
  runtime::ByteWriter out;
  out.string(description_label);
  out.bytes(plan.parameters().fingerprint());
  out.u64(access.threshold());
  out.u64(members.size());
  for (const std::string& name : members) out.string(name);
  out.u64(request.values);
  out.i64(request.value_bits);
  out.u64(request.contributors);
  out.u64(request.weight);
  out.u64(request.rounds);
  out.i64(request.opening_bits);
  out.i64(margin.flooding_log2);
  out.i64(margin.sum_bits);
  out.i64(margin.upload_dropped);
  out.i64(margin.share_dropped);
  if (request.method == Method::masks) out.string("masks");
  if (request.failure_bits != 40) out.i64(request.failure_bits);
  if (messages != 1) {
    out.string("messages");
    out.i64(messages);
  }
  out.bytes(layout);
  out.bytes(nonce);
  return runtime::sha256(out.view());
}

Sha256Digest read_digest(runtime::ByteReader& in) {
  Sha256Digest digest;
  std::ranges::copy(in.bytes(digest.size()), std::as_writable_bytes(std::span(digest)).begin());
  return digest;
}

}  // namespace

Description::Description(const Access& access, const Plan& plan, std::vector<std::string> members,
                         const Sha256Digest& layout, const Sha256Digest& nonce, int messages)
    : access_(access),
      plan_(plan),
      members_(std::move(members)),
      messages_(messages),
      id_(id_of(access_, plan_, members_, layout, nonce, messages)) {
  if (messages < 1 || messages > newest_messages) {
    throw ParameterError("messages of a federation are of version 1 to " + std::to_string(newest_messages) +
                         ", not " + std::to_string(messages) + "; take a newer Hemera for newer ones");
  }
  std::ranges::for_each(members_, require_name);
  if (std::set(members_.begin(), members_.end()).size() != members_.size()) {
    throw ParameterError("two members of a committee have one name; give each its own");
  }
  if (members_.size() != access_.members()) {
    throw MismatchError("a committee of " + std::to_string(access_.members()) + " has " +
                        std::to_string(members_.size()) + " names; name each member");
  }
  if (plan_.request().pieces != access_.pieces()) {
    throw MismatchError("the plan is for " + std::to_string(plan_.request().pieces) +
                        " pieces, and the committee has " + std::to_string(access_.pieces()) +
                        "; make the plan for this committee");
  }
}

Transcript::Transcript(const Description& description, std::uint64_t round, std::uint32_t attempt,
                       std::vector<Contribution> list)
    : round_(round), attempt_(attempt), list_(std::move(list)) {
  const PlanRequest& request = description.plan().request();
  if (round_ >= request.rounds) {
    throw ParameterError("round " + std::to_string(round_) + " is not one of the " +
                         std::to_string(request.rounds) + " rounds that the flooding is planned for");
  }
  if (list_.empty() || list_.size() > request.contributors) {
    throw ParameterError("a list has 1 to " + std::to_string(request.contributors) + " contributors, not " +
                         std::to_string(list_.size()));
  }
  for (std::size_t i = 0; i < list_.size(); ++i) {
    require_name(list_[i].name);
    if (i > 0 && !(list_[i - 1].name < list_[i].name)) {
      throw ParameterError("a list names each contributor once, in ascending order: '" + list_[i - 1].name +
                           "' is before '" + list_[i].name + "'");
    }
    if (list_[i].weight < 1 || list_[i].weight > request.weight) {
      throw ParameterError("the weight of '" + list_[i].name + "' is " + std::to_string(list_[i].weight) +
                           ", not from 1 to " + std::to_string(request.weight));
    }
  }
  runtime::ByteWriter out;
  out.string(transcript_label);
  out.bytes(description.id());
  out.u64(round_);
  out.u32(attempt_);
  out.u32(static_cast<std::uint32_t>(list_.size()));
  for (const Contribution& each : list_) {
    out.string(each.name);
    out.u64(each.weight);
    out.bytes(each.nonce);
  }
  bytes_ = out.take();
  digest_ = runtime::sha256(bytes_);
}

Transcript Transcript::read(const Description& description, std::span<const std::byte> bytes) {
  runtime::ByteReader in(bytes, "the list of a round");
  if (in.string() != transcript_label) in.fail("this is no list of a federation's round");
  if (read_digest(in) != description.id()) {
    throw MismatchError("the list of a round is of another federation");
  }
  const std::uint64_t round = in.u64();
  const std::uint32_t attempt = in.u32();
  std::vector<Contribution> list(in.count(4 + 1 + 8 + sizeof(Sha256Digest)));
  for (Contribution& each : list) {
    each.name = in.string();
    each.weight = in.u64();
    each.nonce = read_digest(in);
  }
  in.expect_end();
  return {description, round, attempt, std::move(list)};
}

const Contribution* Transcript::find(const std::string& name) const {
  const auto found = std::ranges::find(list_, name, &Contribution::name);
  return found == list_.end() ? nullptr : &*found;
}

std::uint64_t Transcript::weight_sum() const {
  std::uint64_t sum = 0;
  for (const Contribution& each : list_) sum += each.weight;
  return sum;
}

poly::Seed Transcript::public_seed() const {
  runtime::ByteWriter in;
  in.string(public_label);
  in.bytes(digest_);
  poly::Seed seed;
  seed.bytes = runtime::sha256(in.view());
  return seed;
}

}  // namespace hemera::multiparty
