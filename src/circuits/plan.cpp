#include "hemera/circuits/plan.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "circuits/circuit_gadgets.hpp"
#include "circuits/rehearsal.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/rlwe/needed_keys.hpp"
#include "hemera/runtime/error.hpp"
#include "rlwe/key_storage.hpp"

namespace hemera::circuits {
Work& Work::operator+=(const Work& other) {
  mod_ups += other.mod_ups;
  key_products += other.key_products;
  divisions += other.divisions;
  products += other.products;
  return *this;
}

Work Cost::total_work() const {
  Work total;
  for (const auto& [at, own] : work) total += own;
  return total;
}

namespace {

std::size_t key_words(std::size_t degree, const KeyNeed& need) {
  return rlwe::key_digits(need.gadget) * 2 * (need.gadget.base.size() + need.gadget.special.size()) * degree;
}

}  // namespace

std::size_t key_bytes(std::size_t degree, std::span<const KeyNeed> needs) {
  std::size_t words = 0;
  for (const KeyNeed& need : needs) words += key_words(degree, need);
  return words * sizeof(std::uint64_t);
}

std::size_t upload_bytes(std::size_t degree, std::span<const KeyNeed> needs) {
  std::size_t bits = 0;
  for (const KeyNeed& need : needs) {
    std::size_t own = 0;
    for (const auto* primes : {&need.gadget.base, &need.gadget.special}) {
      for (const std::uint64_t prime : *primes) own += static_cast<std::size_t>(std::bit_width(prime - 1));
    }
    bits += rlwe::key_digits(need.gadget) * own * degree;
  }
  return bits / 8;
}

std::map<std::uint64_t, std::size_t> rotation_steps(const rlwe::Parameters& parameters,
                                                    std::span<const KeyNeed> needs) {
  std::set<std::uint64_t> wanted;
  for (const KeyNeed& need : needs) wanted.insert(need.role.galois_element);
  std::map<std::uint64_t, std::size_t> steps;
  const std::uint64_t generator = parameters.galois_element(1), order = 2 * parameters.degree();
  std::uint64_t element = 1;  // which keys that are of no rotation have, and rotations by N/2
  for (std::size_t step = 1; step < parameters.degree() / 2; ++step) {
    element = element * generator % order;
    if (wanted.contains(element)) steps.emplace(element, step);
  }
  return steps;
}

rlwe::GadgetPrimes own_gadget(const rlwe::Parameters& parameters, std::uint32_t power, std::size_t level,
                              std::size_t special) {
  return power == 2 ? product_gadget(parameters, level, special)
                    : rotation_gadget(parameters, level, special);
}

std::optional<std::size_t> own_special_primes(const rlwe::Parameters& parameters, const KeyNeed& need,
                                              std::size_t level) {
  if (need.gadget == parameters.default_gadget(level)) return std::nullopt;
  for (std::size_t special = 1; special <= most_special_primes; ++special) {
    if (need.gadget == own_gadget(parameters, need.role.power, level, special)) return special;
  }
  throw ParameterError("a key of a circuit's own gadget, which its level does not tell");
}

std::shared_ptr<const rlwe::SwitchingKey> require_key(const rlwe::EvaluationKeys& keys, const KeyNeed& need,
                                                      const std::string& plan) {
  if (auto found = keys.find(need.role, need.gadget)) return found;
  throw MissingKeyError("a key of " + plan + " is not there; " +
                        Message(WayOut::keys_of_plan, "make keys for the plan"));
}

void require_parameters(const rlwe::Context& context, const rlwe::Parameters& plan, const char* operation) {
  if (context.parameters() == plan) return;
  throw MismatchError(std::string(operation) +
                      ": the plan was made for other parameters than the context's, " +
                      context.parameters().short_fingerprint() + "; make it for these");
}

void require_room(const rlwe::Context& context, std::size_t bytes, const std::string& what,
                  const std::string& ways_out) {
  const std::size_t room = context.memory()->available();
  if (bytes <= room) return;
  throw OutOfMemoryError(what + ": " + std::to_string(bytes) + " bytes are needed, and " +
                         context.memory()->device().name() + " has " + std::to_string(room) + " left" +
                         ways_out +
                         "; use fewer slots, a smaller batch, a mode with fewer keys, or more memory");
}

namespace {

// Wherever they are.
std::size_t stored_key_bytes(const rlwe::Context& context, std::span<const KeyNeed> needs) {
  std::size_t bytes = 0;
  for (const KeyNeed& need : needs) {
    const rlwe::Context& own =
        rlwe::is_of_circuit(need.role) && context.parameters().has_circuit() ? *context.circuit() : context;
    bytes += poly::stored_bytes(rlwe::stored_word(own, rlwe::role_in_circuit(need.role), need.gadget),
                                key_words(context.degree(), need));
  }
  return bytes;
}

// Bytes in the device's memory.
std::size_t device_key_bytes(const rlwe::Context& context, std::span<const KeyNeed> needs) {
  return context.keys_on_host() ? 0 : stored_key_bytes(context, needs);
}

std::size_t stored_plaintext_bytes(const rlwe::Context& context, const Cost& cost) {
  return context.keys_on_host() ? 0 : cost.plaintext_bytes;
}

// What a GPU's context would need that stores keys elsewhere or in fewer bytes: for the error of one with too
// little room. `plaintexts`, `workspace`: their bytes.
std::string smaller_contexts(const rlwe::Context& context, std::size_t plaintexts, std::size_t workspace,
                             std::span<const KeyNeed> needs) {
  std::string ways;
  if (context.backend().device().kind != runtime::Device::Kind::cuda || needs.empty()) return ways;
  if (context.keys_on_host()) return ways;
  if (context.key_word() == poly::Word::u64 && poly::fits(context.key_base(), poly::Word::u50)) {
    ways += "; with packed storage " +
            std::to_string(plaintexts + workspace +
                           poly::stored_bytes(poly::Word::u50,
                                              key_bytes(context.degree(), needs) / sizeof(std::uint64_t))) +
            " bytes would do";
  }
  return ways + "; with keys on the host " + std::to_string(workspace) + " bytes of the device, and " +
         std::to_string(plaintexts + stored_key_bytes(context, needs)) + " of the host's memory";
}

bool only_counts(const rlwe::Context& context) {
  return context.backend().device().kind == runtime::Device::Kind::ledger;
}

}  // namespace

Plan::Plan(const rlwe::Parameters& parameters) : parameters_(parameters) {}

const Plan::Counted& Plan::counted() const {
  std::call_once(counted_->once, [&] { count(*counted_); });
  return *counted_;
}

void Plan::count(Counted& result) const {
  const rlwe::ScalePolicy scales(parameters_);
  Rehearsal rehearsal{
      .bind =
          [&](const auto& context) {
            result.context = context.get();
            return bound(context);
          },
      .inputs = {},
      .choice = [&](const rlwe::KeyRole& role, std::size_t at) { return gadget_of(role, at); },
  };
  for (const Input& input : inputs()) {
    rlwe::Metadata& meta = rehearsal.inputs.emplace_back();
    meta.batch = input.batch;
    meta.level = input.level.value_or(level());
    meta.scale = input.level ? scales.level_scale(meta.level) : ends_.scale;
    meta.slots = input.slots;
  }
  struct Forget {
    Counted& result;
    ~Forget() { result.context = nullptr; }
  } const forget{result};
  RehearsedRun run = rehearse(parameters_, rehearsal);
  result.cost = std::move(run.cost);
  result.needs = std::move(run.needs);
}

void Plan::take_user_levels(std::optional<std::size_t> level, std::size_t depth, const std::string& circuit) {
  const std::size_t lowest = parameters_.lowest_user_level(), highest = parameters_.highest_user_level();
  ends_.level = level.value_or(highest);
  if (ends_.level > highest || ends_.level < lowest + depth) {
    throw LevelError(circuit + " of depth " + std::to_string(depth) + " can not start at level " +
                     std::to_string(ends_.level) + ": the user's levels are " + std::to_string(lowest) +
                     " to " + std::to_string(highest) + "; use parameters of more depth");
  }
  const rlwe::ScalePolicy scales(parameters_);
  ends_.result_level = ends_.level - depth;
  ends_.scale = scales.level_scale(ends_.level);
  ends_.result_scale = scales.level_scale(ends_.result_level);
}

std::optional<rlwe::GadgetPrimes> Plan::gadget_of(const rlwe::KeyRole& /*role*/,
                                                  std::size_t /*level*/) const {
  return std::nullopt;
}

const Cost& Plan::cost() const { return counted().cost; }

const std::vector<KeyNeed>& Plan::needed_keys() const { return counted().needs; }

ExpectedError Plan::expected_error(std::optional<double> input_error) const {
  return error_from(input_error.value_or(rounding_ / ends_.scale));
}

std::size_t Plan::memory_bytes(std::size_t batch) const {
  return cost().key_bytes + cost().plaintext_bytes + batch * cost().workspace_bytes;
}

void Plan::require_memory(const rlwe::Context& context, std::size_t batch) const {
  require_parameters(context, "memory of a plan");
  const std::size_t workspace = batch * cost().workspace_bytes;
  require_room(context,
               device_key_bytes(context, needed_keys()) + stored_plaintext_bytes(context, cost()) + workspace,
               "keys, plaintexts and workspace of a plan",
               smaller_contexts(context, cost().plaintext_bytes, workspace, needed_keys()));
}

rlwe::EvaluationKeys Plan::generate_keys(const rlwe::SecretKey& secret) const {
  require_parameters(*secret.context, "keys of a plan");
  require_room(*secret.context, device_key_bytes(*secret.context, needed_keys()), "keys of a plan",
               smaller_contexts(*secret.context, 0, 0, needed_keys()));
  return rlwe::generate_needed_keys(secret, needed_keys());
}

void Plan::require_parameters(const rlwe::Context& context, const char* operation) const {
  circuits::require_parameters(context, parameters_, operation);
}

void Plan::require_binding(const rlwe::Context& context, const char* operation) const {
  require_parameters(context, operation);
  if (only_counts(context)) return;
  require_room(context, stored_plaintext_bytes(context, cost()) + cost().workspace_bytes, operation);
}

void Plan::require_workspace(const rlwe::Context& context, std::size_t batch, const char* operation) const {
  if (only_counts(context)) return;
  require_room(context, batch * cost().workspace_bytes, operation);
}

void Plan::require_keys(const rlwe::Context& context, const rlwe::EvaluationKeys& keys,
                        const std::string& plan) const {
  if (counted_->context == &context) return;  // its own count finds them
  for (const KeyNeed& need : needed_keys()) require_key(keys, need, plan);
}

}  // namespace hemera::circuits
