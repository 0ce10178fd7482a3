// What a session knows of its client: the crypto context as its files have it, and the tag of its keys.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "interop/openfhe/bootstrap.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/parameters.hpp"

namespace hemera::interop::openfhe {

struct Client {
  std::shared_ptr<CryptoContext> context;

  /// MismatchError unless the object is of this context and key pair; the first tag is taken for the pair's.
  void require(const CryptoObject& header, const char* operation);
  /// The same for the tag alone.
  void require_tag(const std::string& tag, const char* operation);
  void require_context(const CryptoContext& other, const char* operation) const;
  /// MismatchError if there is none yet.
  [[nodiscard]] std::string tag() const;
  /// What an object of this client begins with.
  [[nodiscard]] CryptoObject header() const { return {context, tag()}; }
  /// What bootstraps ciphertexts of so many slots, made at its first use. ParameterError without settings for
  /// them.
  std::shared_ptr<const Bootstrapper> bootstrapper(const std::shared_ptr<const rlwe::Context>& own,
                                                   std::size_t slots);
  /// For each number of slots that the context was set up for, the lowest level that bootstraps take.
  [[nodiscard]] std::map<std::size_t, std::size_t> bootstrap_input_levels() const;

 private:
  mutable std::mutex mutex_;
  std::optional<std::string> tag_;
  std::map<std::size_t, std::shared_ptr<const Bootstrapper>> bootstrappers_;
};

/// The context in a file, the tag of its objects if it has any, and the special primes of its keys.
struct Opening {
  std::shared_ptr<CryptoContext> context;
  std::optional<std::string> tag;
  std::optional<RootedPrimes> special;
};
Opening open_file(AnyFile& file);

}  // namespace hemera::interop::openfhe
