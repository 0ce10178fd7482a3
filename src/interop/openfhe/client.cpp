#include "interop/openfhe/client.hpp"

#include <algorithm>
#include <utility>

#include "hemera/runtime/error.hpp"

namespace hemera::interop::openfhe {
namespace {

// The primes of a switching key that its context does not have: P.
std::optional<RootedPrimes> special_primes_of(const EvaluationKeyObject& key) {
  if (key.a.empty()) return {};
  const auto& own = key.header.context->parameters->elements->primes;
  RootedPrimes special;
  for (const auto& prime : key.a.front().parameters->primes) {
    const bool is_own = std::any_of(own.begin(), own.end(),
                                    [&](const auto& known) { return known->modulus == prime->modulus; });
    if (!is_own) special.push_back(*prime);
  }
  return special;
}

Opening open_key(const EvaluationKeyObject& key, const std::string& tag) {
  return {key.header.context, tag, special_primes_of(key)};
}

struct Opener {
  Opening operator()(std::shared_ptr<CryptoContext>& object) const { return {object, {}, {}}; }
  template <typename T>
  Opening operator()(std::shared_ptr<T>& object) const {
    return {object->header.context, object->header.tag, {}};
  }
  Opening operator()(MultiplicationKeys& object) const {
    if (object.entries.empty() || object.entries.front().keys.empty()) refuse();
    return open_key(*object.entries.front().keys.front(), object.entries.front().tag);
  }
  Opening operator()(AutomorphismKeys& object) const {
    if (object.entries.empty() || object.entries.front().keys->list.empty()) refuse();
    // A key between other secrets may have fewer primes.
    const auto& list = object.entries.front().keys->list;
    const auto largest = std::max_element(list.begin(), list.end(), [](const auto& a, const auto& b) {
      const auto limbs = [](const auto& key) { return key.key->a.empty() ? 0 : key.key->a[0].limbs.size(); };
      return limbs(a) < limbs(b);
    });
    return open_key(*largest->key, object.entries.front().tag);
  }
  [[noreturn]] static void refuse() {
    throw FormatError("OpenFHE archive: a map without keys, which tells no context");
  }
};

}  // namespace

void Client::require_context(const CryptoContext& other, const char* operation) const {
  if (is_same_context(*context, other)) return;
  throw MismatchError(
      std::string(operation) +
      ": the object belongs to another crypto context than the session; open a session for it");
}

void Client::require_tag(const std::string& tag, const char* operation) {
  const std::lock_guard lock(mutex_);
  if (!tag_) tag_ = tag;
  if (*tag_ == tag) return;
  throw MismatchError(std::string(operation) + ": the object has the key tag '" + tag.substr(0, 64) +
                      "', the session's key pair '" + *tag_ +
                      "'; a session is for one key pair, so open another for this object");
}

void Client::require(const CryptoObject& header, const char* operation) {
  require_context(*header.context, operation);
  require_tag(header.tag, operation);
}

std::string Client::tag() const {
  const std::lock_guard lock(mutex_);
  if (tag_) return *tag_;
  throw MismatchError(
      "the session knows no key tag yet, by which OpenFHE finds the keys of an object; open it from an "
      "object of the "
      "client, or load one first");
}

std::shared_ptr<const Bootstrapper> Client::bootstrapper(const std::shared_ptr<const rlwe::Context>& own,
                                                         std::size_t slots) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Bootstrapper>& known = bootstrappers_[slots];
  if (known != nullptr) return known;
  if (const FheObject* const fhe = context->scheme->fhe.get()) {
    for (const FheObject::Entry& entry : fhe->settings) {
      if (entry.settings == nullptr || entry.slots != slots || entry.settings->slots != slots) continue;
      return known =
                 std::make_shared<const Bootstrapper>(own, *context, *entry.settings, fhe->correction_factor);
    }
  }
  throw ParameterError(
      "bootstrap: the session's crypto context was not set up for bootstrapping " + std::to_string(slots) +
      " slots; call EvalBootstrapSetup for them, and open the session from a file written after it");
}

std::map<std::size_t, std::size_t> Client::bootstrap_input_levels() const {
  std::map<std::size_t, std::size_t> levels;
  const FheObject* const fhe = context->scheme->fhe.get();
  if (fhe == nullptr) return levels;
  for (const FheObject::Entry& entry : fhe->settings) {
    if (entry.settings == nullptr || entry.slots != entry.settings->slots) continue;
    // SlotToCoeff takes those of its budget, else one is for the input's scale.
    levels[entry.slots] = entry.settings->encodes_slots ? entry.settings->budget_decode : 1;
  }
  return levels;
}

Opening open_file(AnyFile& file) { return std::visit(Opener{}, file); }

}  // namespace hemera::interop::openfhe
