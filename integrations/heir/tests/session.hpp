// Both sides of a program.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hemera_heir/hemera_heir.hpp"

namespace hemera::heir {

/// The client's context and keys, and the context that computes, which has evaluation keys alone.
struct Session {
  /// The session of a program: NAME__generate_crypto_context and NAME__configure_crypto_context.
  Session(CryptoContext (*generate)(), CryptoContext (*configure)(CryptoContext, SecretKey))
      : Session(generate(), configure) {}
  Session(CryptoContext context, CryptoContext (*configure)(CryptoContext, SecretKey))
      : client(std::move(context)),
        secret(client.generate_secret_key()),
        key(client.generate_public_key(secret)),
        server(configure(client, secret)) {}
  /// The session of a program that says nothing about its context.
  Session(const Parameters& parameters, const ProgramKeys& keys)
      : client(parameters),
        secret(client.generate_secret_key()),
        key(client.generate_public_key(secret)),
        server(client.with_keys(secret, keys)) {}

  template <typename Number>
  [[nodiscard]] std::vector<Number> decrypted(const Ciphertext& a, std::size_t count) const {
    return client.decode<Number>(client.decrypt(a, secret), count);
  }

  CryptoContext client;
  SecretKey secret;
  PublicKey key;
  CryptoContext server;
};

/// What debug ports of a program saw: its attributes, and the first numbers.
struct Seen {
  std::map<std::string, std::string> attributes;
  std::vector<double> numbers;
};

/// Everything that debug ports of the running test saw.
inline std::vector<Seen>& seen() {
  static std::vector<Seen> ports;
  return ports;
}
inline void note(const CryptoContext& cc, const SecretKey& secret, const Ciphertext& ciphertext,
                 const std::map<std::string, std::string>& attributes) {
  seen().push_back({attributes, cc.decode<double>(cc.decrypt(ciphertext, secret), 8)});
}

}  // namespace hemera::heir

/// The functions that a program with debug ports declares.
#define HEMERA_DEBUG_PORTS(program)                                                          \
  namespace program {                                                                        \
  void __heir_debug(CryptoContext cc, SecretKey secret, Ciphertext ciphertext,               \
                    const std::map<std::string, std::string>& attributes) {                  \
    hemera::heir::note(cc, secret, ciphertext, attributes);                                  \
  }                                                                                          \
  void __heir_debug(CryptoContext cc, SecretKey secret, std::vector<Ciphertext> ciphertexts, \
                    const std::map<std::string, std::string>& attributes) {                  \
    hemera::heir::note(cc, secret, ciphertexts[0], attributes);                              \
  }                                                                                          \
  }

/// The programs, each in a namespace of its own: HEIR gives its functions the names of their sources. They
/// are as they were emitted, so they are not held to the warnings of this project.
#define HEMERA_BEGIN_PROGRAMS                                                       \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wconversion\"") \
      _Pragma("GCC diagnostic ignored \"-Wfloat-conversion\"")                      \
          _Pragma("GCC diagnostic ignored \"-Wshadow\"")                            \
              _Pragma("GCC diagnostic ignored \"-Wsign-compare\"")                  \
                  _Pragma("GCC diagnostic ignored \"-Wsign-conversion\"")           \
                      _Pragma("GCC diagnostic ignored \"-Wunused-parameter\"")      \
                          _Pragma("GCC diagnostic ignored \"-Wunused-variable\"")
#define HEMERA_END_PROGRAMS _Pragma("GCC diagnostic pop")
