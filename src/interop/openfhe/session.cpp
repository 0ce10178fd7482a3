#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/client.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"

namespace hemera::interop::openfhe {
namespace {

Opening open_source(const Source& source) {
  AnyFile file = read_any_file(source.bytes());
  return open_file(file);
}

KeyPrimes key_primes_of(const FurtherPrimes& given) {
  const auto rooted = [](const std::vector<RootedPrime>& list) {
    RootedPrimes primes;
    for (const RootedPrime& each : list) {
      NativeParameters& prime = primes.emplace_back();
      prime.modulus = each.prime;
      prime.root = each.root;
    }
    return primes;
  };
  KeyPrimes primes{.special = {}, .auxiliary = rooted(given.auxiliary)};
  if (!given.special.empty()) primes.special = rooted(given.special);
  return primes;
}

Session::ContextMaker on_device(runtime::Device device, rlwe::ContextOptions options) {
  options.long_rotations = rlwe::LongRotations::openfhe;
  return [device, options = std::move(options)](const rlwe::Parameters& parameters) {
    return rlwe::Context::make(parameters, device, options);
  };
}

using SharedKey = std::shared_ptr<const rlwe::SwitchingKey>;

SharedKey to_key(const rlwe::ContextPointer& context, const Client& client, const SwitchingKeyView& key) {
  return std::make_shared<const rlwe::SwitchingKey>(
      to_switching_key(context, *client.context->parameters, key));
}

SharedKey imported(const rlwe::ContextPointer& context, const Client& client, const SwitchingKeyView& key) {
  for (const PolynomialView& half : key.a) require_reduced(half);
  for (const PolynomialView& half : key.b) require_reduced(half);
  return to_key(context, client, key);
}

// The one of a role's keys that OpenFHE has. To the sparse secret it needs a part of the moduli alone: the
// highest.
SharedKey key_to_write(const rlwe::Context& context, const rlwe::EvaluationKeys& keys,
                       const rlwe::KeyRole& role) {
  if (role == rlwe::KeyRole{.to = rlwe::ephemeral_secret}) {
    SharedKey highest;
    for (const auto& [gadget, key] : keys.switching.at(role)) {
      if (highest == nullptr || key->level() > highest->level()) highest = key;
    }
    return highest;
  }
  auto key = keys.find(role, context.gadget(context.top_level())->primes());
  if (key == nullptr) {
    throw MismatchError(
        "dump_keys: a key has a gadget of its own or serves lower levels alone, and OpenFHE's have its "
        "context's digits over all moduli; generate it without galois_level");
  }
  return key;
}

}  // namespace

rlwe::Parameters load_parameters(const Source& source) {
  const Opening opening = open_source(source);
  return parameters_of(*opening.context, opening.primes);
}

Session::Session(const Source& source, runtime::Device device, rlwe::ContextOptions options)
    : Session(source, on_device(device, std::move(options))) {}

Session::Session(const Source& crypto_context, const std::string& key_tag, const FurtherPrimes& primes,
                 runtime::Device device, rlwe::ContextOptions options)
    : make_context_(on_device(device, std::move(options))) {
  open({read_file<std::shared_ptr<CryptoContext>>(crypto_context.bytes()), key_tag, key_primes_of(primes)});
}

Session::Session(const Source& source, ContextMaker make_context) : make_context_(std::move(make_context)) {
  open(open_source(source));
}

Session::Session(const Source& source, rlwe::ContextPointer context)
    : Session(source, [context = std::move(context)](const rlwe::Parameters& parameters) {
        if (parameters == context->parameters()) return context;
        throw MismatchError(
            "a session needs a context of the parameters that load_parameters gives for its file; keys of "
            "other special primes need one for the file of a key");
      }) {}

void Session::open(Opening opening) {
  client_ = std::make_unique<Client>();
  client_->context = std::move(opening.context);
  client_->primes = std::move(opening.primes);
  if (opening.tag) client_->take_tag(*opening.tag, "open");
  context_ = make_context_(parameters_of(*client_->context, client_->primes));
  if (context_->long_rotations() != rlwe::LongRotations::openfhe) {
    throw MismatchError("a session with OpenFHE needs a context with LongRotations::openfhe");
  }
  keys_.context = context_;
}

Session::~Session() = default;

std::shared_ptr<const rlwe::Evaluator> Session::evaluator() const {
  return any_scheme::make_evaluator(context_, keys_);
}

KeyPrimes Session::with_primes_of(const KeyPrimes& told) const {
  KeyPrimes wanted = client_->primes;
  if (client_->is_bound() || client_->context->parameters->key_switching != KeySwitching::hybrid) {
    return wanted;
  }
  const auto moduli = [](const RootedPrimes& list) {
    std::vector<std::uint64_t> result;
    for (const NativeParameters& prime : list) result.push_back(prime.modulus);
    return result;
  };
  const rlwe::ParametersLiteral& own = context_->parameters().literal();
  if (keys_.switching.empty() && told.special && moduli(*told.special) != own.special_primes) {
    wanted.special = told.special;
  }
  for (const NativeParameters& prime : told.auxiliary) {
    const bool is_known =
        std::find(own.key_primes.begin(), own.key_primes.end(), prime.modulus) != own.key_primes.end();
    if (!is_known) wanted.auxiliary.push_back(prime);
  }
  return wanted;
}

rlwe::EvaluationKeys Session::keys_in(const rlwe::ContextPointer& context) const {
  if (context == context_) return keys_;
  rlwe::EvaluationKeys moved{.context = context, .public_key = nullptr, .switching = {}};
  const CryptoObject header{client_->context, ""};
  if (keys_.public_key != nullptr) {
    const auto object = from_public_key(*keys_.public_key, header);
    moved.public_key = std::make_shared<const rlwe::PublicKey>(to_public_key(context, *object));
  }
  BaseParameters parameters(*client_->context);
  for (const auto& [role, keys] : keys_.switching) {
    for (const auto& [gadget, key] : keys) {
      const auto object = from_switching_key(*key, header, parameters);
      moved.add(role, to_key(context, *client_, view_of(*object)));
    }
  }
  return moved;
}

const rlwe::EvaluationKeys& Session::load_keys(const KeySources& sources) {
  // All or nothing: what may throw comes before what changes the session.
  Arrivals arrivals(*client_, "load_keys");
  std::shared_ptr<PublicKeyObject> public_key;
  MultiplicationKeys powers;
  AutomorphismKeys automorphisms;
  KeyPrimes primes;
  const auto take = [&](std::optional<Opening> opening) {
    if (!opening) return;
    arrivals.require_context(*opening->context);
    if (opening->primes.special) primes.special = std::move(opening->primes.special);
    if (!opening->primes.auxiliary.empty()) primes.auxiliary = std::move(opening->primes.auxiliary);
  };
  if (sources.public_key) {
    public_key = read_file<std::shared_ptr<PublicKeyObject>>(sources.public_key->bytes());
    arrivals.require(public_key->header);
  }
  if (sources.relinearization) {
    powers = read_file<MultiplicationKeys>(sources.relinearization->bytes());
    take(open_keys(powers));
  }
  if (sources.galois) {
    automorphisms = read_file<AutomorphismKeys>(sources.galois->bytes());
    take(open_keys(automorphisms));
  }
  for (const MultiplicationKeys::Entry& entry : powers.entries) arrivals.require_tag(entry.tag);
  for (const AutomorphismKeys::Entry& entry : automorphisms.entries) arrivals.require_tag(entry.tag);
  primes = with_primes_of(primes);
  const rlwe::Parameters parameters = parameters_of(*client_->context, primes);
  const bool stays = parameters == context_->parameters();
  const rlwe::ContextPointer context = stays ? context_ : make_context_(parameters);
  rlwe::EvaluationKeys all = keys_in(context);
  if (public_key != nullptr) {
    all.public_key = std::make_shared<const rlwe::PublicKey>(to_public_key(context, *public_key));
  }
  const auto add = [&](const rlwe::KeyRole& role, std::shared_ptr<EvaluationKeyObject>& object) {
    arrivals.require_context(*object->header.context);
    all.add(role, to_key(context, *client_, view_of(*object)));
    object.reset();
  };
  for (MultiplicationKeys::Entry& entry : powers.entries) {
    std::uint32_t power = 2;
    for (std::shared_ptr<EvaluationKeyObject>& key : entry.keys) add({.power = power++}, key);
  }
  for (AutomorphismKeys::Entry& entry : automorphisms.entries) {
    for (AutomorphismKeys::Key& key : entry.keys->list) add(role_of(key.index, context->degree()), key.key);
  }
  arrivals.settle();
  if (context != context_) {
    client_->primes = std::move(primes);
    client_->forget_bootstrappers();
    context_ = context;
  }
  keys_ = std::move(all);
  return keys_;
}

std::vector<std::byte> Session::dump_context(Format format) const {
  std::shared_ptr<CryptoContext> object = client_->context;
  return write_file(object, format);
}

KeyFiles Session::dump_keys(const rlwe::EvaluationKeys& keys, Format format) const {
  require_own(*context_, keys, "dump_keys");
  const CryptoObject header = client_->header();
  KeyFiles files;
  if (keys.public_key != nullptr) {
    auto object = from_public_key(*keys.public_key, header);
    files.public_key = write_file(object, format);
  }
  // OpenFHE holds one key for each purpose, of its one gadget. Powers of s follow each other.
  BaseParameters parameters(*header.context);
  std::map<std::uint32_t, std::shared_ptr<EvaluationKeyObject>> powers;
  AutomorphismKeys::Keys automorphisms;
  for (const auto& [role, of_role] : keys.switching) {
    if (of_role.empty()) continue;
    const auto index = index_of(role, context_->degree());
    const bool is_power = role == rlwe::KeyRole{.power = role.power} && role.power >= 2;
    if (!index && !is_power) {
      throw MismatchError("dump_keys: a key between secrets that OpenFHE has no place for");
    }
    auto object = from_switching_key(*key_to_write(*context_, keys, role), header, parameters);
    if (is_power) {
      powers[role.power] = std::move(object);
    } else {
      automorphisms.list.push_back({*index, std::move(object)});
    }
  }
  if (!powers.empty()) {
    MultiplicationKeys file;
    file.entries.push_back({header.tag, {}});
    for (auto& [power, key] : powers) {
      if (power != file.entries[0].keys.size() + 2) {
        throw MismatchError("dump_keys: OpenFHE holds relinearization keys of s^2, s^3, ... without a gap");
      }
      file.entries[0].keys.push_back(std::move(key));
    }
    files.relinearization = write_file(file, format);
  }
  if (!automorphisms.list.empty()) {
    AutomorphismKeys file;
    file.entries.push_back({header.tag, std::make_shared<AutomorphismKeys::Keys>(std::move(automorphisms))});
    files.galois = write_file(file, format);
  }
  return files;
}

void Session::import_relinearization(std::span<const SwitchingKeyView> powers) {
  rlwe::EvaluationKeys all = keys_;
  std::uint32_t power = 2;
  for (const SwitchingKeyView& key : powers) all.add({.power = power++}, imported(context_, *client_, key));
  keys_ = std::move(all);
}

void Session::import_galois(const std::map<std::uint32_t, SwitchingKeyView>& keys) {
  rlwe::EvaluationKeys all = keys_;
  for (const auto& [index, key] : keys) {
    all.add(role_of(index, context_->degree()), imported(context_, *client_, key));
  }
  keys_ = std::move(all);
}

}  // namespace hemera::interop::openfhe
