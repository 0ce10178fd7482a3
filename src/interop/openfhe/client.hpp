// The client of a session: the crypto context as its files have it, and the tag of its keys.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "interop/openfhe/bootstrap.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/parameters.hpp"
#include "rlwe/requirements.hpp"

namespace hemera::interop::openfhe {

struct Client {
  std::shared_ptr<CryptoContext> context;
  /// The primes of the keys so far.
  KeyPrimes primes;

  /// From now on, objects of the session's context are in others' hands.
  void bind() { is_bound_ = true; }
  [[nodiscard]] bool is_bound() const { return is_bound_; }
  /// MismatchError unless it is this context.
  void require_context(const CryptoContext& other, const char* operation) const;
  /// The key pair's tag, which the first one is taken for; MismatchError for another one.
  void take_tag(const std::string& tag, const char* operation);
  /// Empty if there is none yet.
  [[nodiscard]] std::optional<std::string> known_tag() const;
  /// MismatchError if there is none yet.
  [[nodiscard]] std::string tag() const;
  /// The beginning of an object of this client.
  [[nodiscard]] CryptoObject header() const { return {context, tag()}; }
  /// The bootstrapper of ciphertexts of `slots` slots with these keys, made at the first use of it that has
  /// all of its keys. ParameterError without settings for them.
  std::shared_ptr<const Bootstrapper> bootstrapper(const rlwe::EvaluationKeys& keys, std::size_t slots);
  /// For each number of slots that the context was set up for, the lowest level that bootstraps take.
  [[nodiscard]] std::map<std::size_t, std::size_t> bootstrap_input_levels() const;

  void forget_bootstrappers() { bootstrappers_.clear(); }

 private:
  // Null without it, and for schemes that have none, whatever their files hold.
  [[nodiscard]] const FheObject* bootstrapping() const;

  mutable std::mutex mutex_;
  std::atomic<bool> is_bound_ = false;
  std::optional<std::string> tag_;
  std::map<std::size_t, std::shared_ptr<const Bootstrapper>> bootstrappers_;
};

/// The objects of one call, before anything can fail: all are of the session's context and of one key pair,
/// the session's or, where it knows none yet, that of the first of them.
class Arrivals {
 public:
  Arrivals(Client& client, const char* operation)
      : client_(client), operation_(operation), tag_(client.known_tag()) {}

  /// MismatchError for an object of another context or key pair.
  void require(const CryptoObject& header);
  void require_context(const CryptoContext& context) const { client_.require_context(context, operation_); }
  void require_tag(const std::string& tag);
  /// Makes their key pair the session's. Throws MismatchError if another thread has given it another one
  /// meanwhile.
  void settle();
  /// The same for what the caller gets, which binds the session to its context.
  template <typename Object>
  [[nodiscard]] Object handed_out(Object object) {
    settle();
    client_.bind();
    return object;
  }

 private:
  Client& client_;
  const char* operation_;
  std::optional<std::string> tag_;
};

/// Throws MismatchError unless the object's context has the session's parameters.
void require_own(const rlwe::Context& session, const rlwe::Context& object, const char* operation);
template <typename Object>
void require_own(const rlwe::Context& session, const Object& object, const char* operation) {
  rlwe::require_filled(object, operation);
  require_own(session, *object.context, operation);
}

/// The context in a file, the tag of its objects if it has any, and the primes of its keys.
struct Opening {
  std::shared_ptr<CryptoContext> context;
  std::optional<std::string> tag;
  KeyPrimes primes;
};
Opening open_file(AnyFile& file);
/// The same of maps of keys; empty for one without keys.
std::optional<Opening> open_keys(const MultiplicationKeys& file);
std::optional<Opening> open_keys(const AutomorphismKeys& file);

}  // namespace hemera::interop::openfhe
