#include "interop/openfhe/client.hpp"

#include <algorithm>
#include <utility>

#include "hemera/runtime/error.hpp"
#include "interop/openfhe/keys.hpp"

namespace hemera::interop::openfhe {
namespace {

bool has(const RootedPrimes& primes, std::uint64_t modulus) {
  return std::any_of(primes.begin(), primes.end(),
                     [&](const auto& known) { return known.modulus == modulus; });
}

// The primes of a switching key that its context does not have.
RootedPrimes further_primes(const EvaluationKeyObject& key) {
  RootedPrimes further;
  if (key.a.empty()) return further;
  const auto& own = key.header.context->parameters->elements->primes;
  for (const auto& prime : key.a.front().parameters->primes) {
    const bool is_own = std::any_of(own.begin(), own.end(),
                                    [&](const auto& known) { return known->modulus == prime->modulus; });
    if (!is_own && !has(further, prime->modulus)) further.push_back(*prime);
  }
  return further;
}

struct Opener {
  Opening operator()(std::shared_ptr<CryptoContext>& object) const { return {object, {}, {}}; }
  template <typename T>
  Opening operator()(std::shared_ptr<T>& object) const {
    return {object->header.context, object->header.tag, {}};
  }
  Opening operator()(MultiplicationKeys& object) const { return opened(open_keys(object)); }
  Opening operator()(AutomorphismKeys& object) const { return opened(open_keys(object)); }
  static Opening opened(std::optional<Opening> opening) {
    if (!opening) throw FormatError("OpenFHE archive: a map without keys, which has no context");
    return std::move(*opening);
  }
};

void compare_tags(const std::string& known, const std::string& tag, const char* operation) {
  if (known == tag) return;
  throw MismatchError(std::string(operation) + ": the object has the key tag '" + tag.substr(0, 64) +
                      "', the session's key pair '" + known.substr(0, 64) +
                      "'; a session is for one key pair, so open another for this object");
}

}  // namespace

void Client::require_context(const CryptoContext& other, const char* operation) const {
  if (is_same_context(*context, other)) return;
  throw MismatchError(
      std::string(operation) +
      ": the object belongs to another crypto context than the session; open a session for it");
}

void Client::take_tag(const std::string& tag, const char* operation) {
  const std::lock_guard lock(mutex_);
  if (!tag_) tag_ = tag;
  compare_tags(*tag_, tag, operation);
}

std::optional<std::string> Client::known_tag() const {
  const std::lock_guard lock(mutex_);
  return tag_;
}

void Arrivals::require(const CryptoObject& header) {
  require_context(*header.context);
  require_tag(header.tag);
}

void Arrivals::require_tag(const std::string& tag) {
  if (!tag_) tag_ = tag;
  compare_tags(*tag_, tag, operation_);
}

void Arrivals::settle() {
  if (tag_) client_.take_tag(*tag_, operation_);
}

std::string Client::tag() const {
  if (auto known = known_tag()) return std::move(*known);
  throw MismatchError(
      "the session knows no key tag yet, by which OpenFHE finds the keys of an object; open it from an "
      "object of the "
      "client, or load one first");
}

const FheObject* Client::bootstrapping() const {
  return context->scheme_type == SchemeType::ckks ? context->scheme->fhe.get() : nullptr;
}

std::shared_ptr<const Bootstrapper> Client::bootstrapper(const rlwe::EvaluationKeys& keys,
                                                         std::size_t slots) {
  const std::lock_guard lock(mutex_);
  const auto suffices = [&](const Bootstrapper& bootstrapper) {
    const auto& needed = bootstrapper.needed_keys();
    return std::all_of(needed.begin(), needed.end(),
                       [&](const circuits::KeyNeed& need) { return keys.has(need.role); });
  };
  const auto known = bootstrappers_.find(slots);
  if (known != bootstrappers_.end() && suffices(*known->second)) return known->second;
  const FheObject* const fhe = bootstrapping();
  const BootstrapSettings* settings = nullptr;
  for (std::size_t i = 0; fhe != nullptr && settings == nullptr && i < fhe->settings.size(); ++i) {
    const FheObject::Entry& entry = fhe->settings[i];
    if (entry.settings != nullptr && entry.slots == slots && entry.settings->slots == slots) {
      settings = entry.settings.get();
    }
  }
  if (settings == nullptr) {
    throw ParameterError(
        "bootstrap: the session's crypto context was not set up for bootstrapping " + std::to_string(slots) +
        " slots; call EvalBootstrapSetup for them, and open the session from a file written after it");
  }
  std::shared_ptr<const Bootstrapper> made;
  for (const GiantSteps steps : {GiantSteps::own_keys, GiantSteps::one_key}) {
    auto candidate = std::make_shared<const Bootstrapper>(keys.context, *context, *settings,
                                                          fhe->correction_factor, steps);
    if (suffices(*candidate)) return bootstrappers_[slots] = std::move(candidate);
    if (made == nullptr) made = std::move(candidate);  // its error names the missing part
  }
  return made;
}

std::map<std::size_t, std::size_t> Client::bootstrap_input_levels() const {
  std::map<std::size_t, std::size_t> levels;
  const FheObject* const fhe = bootstrapping();
  if (fhe == nullptr) return levels;
  for (const FheObject::Entry& entry : fhe->settings) {
    if (entry.settings == nullptr || entry.slots != entry.settings->slots) continue;
    // SlotToCoeff takes those of its budget, else one is for the input's scale.
    levels[entry.slots] = entry.settings->encodes_slots.value_or(false) ? entry.settings->budget_decode : 1;
  }
  return levels;
}

void require_own(const rlwe::Context& session, const rlwe::Context& object, const char* operation) {
  if (session.parameters() == object.parameters()) return;
  throw MismatchError(std::string(operation) + ": the object belongs to parameters " +
                      object.parameters().short_fingerprint() + ", not to " +
                      session.parameters().short_fingerprint() + " of this session");
}

Opening open_file(AnyFile& file) { return std::visit(Opener{}, file); }

std::optional<Opening> open_keys(const MultiplicationKeys& file) {
  for (const MultiplicationKeys::Entry& entry : file.entries) {
    if (entry.keys.empty()) continue;
    const EvaluationKeyObject& key = *entry.keys.front();
    return Opening{key.header.context, entry.tag, {.special = further_primes(key), .auxiliary = {}}};
  }
  return {};
}

std::optional<Opening> open_keys(const AutomorphismKeys& file) {
  for (const AutomorphismKeys::Entry& entry : file.entries) {
    // The key to the encapsulated secret has other primes than all others.
    const AutomorphismKeys::Key* to_sparse = nullptr;
    const AutomorphismKeys::Key* usual = nullptr;
    for (const AutomorphismKeys::Key& key : entry.keys->list) {
      const std::size_t degree = key.key->header.context->parameters->elements->degree;
      const bool is_to_sparse = is_to_sparse_secret(key.index, degree);
      (is_to_sparse ? to_sparse : usual) = &key;
    }
    const AutomorphismKeys::Key* const any = usual != nullptr ? usual : to_sparse;
    if (any == nullptr) continue;
    Opening opening{any->key->header.context, entry.tag, {}};
    if (usual != nullptr) opening.primes.special = further_primes(*usual->key);
    if (to_sparse != nullptr && usual != nullptr) {
      for (const NativeParameters& prime : further_primes(*to_sparse->key)) {
        if (!has(*opening.primes.special, prime.modulus)) opening.primes.auxiliary.push_back(prime);
      }
    }
    return opening;
  }
  return {};
}

}  // namespace hemera::interop::openfhe
