// Saving and loading the objects that parties exchange.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "hemera/io/container.hpp"
#include "hemera/io/file.hpp"
#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/key_maker.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/rlwe/parameters.hpp"

namespace hemera::io {

/// How residues are stored. Loading needs none of this.
struct SaveOptions {
  /// 0: no compression; 1 (fastest) to 19 (smallest): zstd over whole words where that is smaller than
  /// packing. It helps for small plaintexts; residues of ciphertexts and keys are random, so that it saves
  /// no more than the unused bits of each word. Never used for secret keys.
  int compression_level = 0;
  /// Each residue in as many bits as its modulus has, instead of 64: 22 % smaller for 50-bit primes.
  bool packed = true;
  /// The seed in place of the uniform half, where there is one: half the size.
  bool seeded = true;
};

/// The keys that a server needs of a client, as a file that clients of any language pass on unread.
struct NeededKeys {
  bool public_key = false;
  std::vector<rlwe::KeyNeed> needs;
};

/// An object as a file's bytes, to memory or to a sink. Throws MismatchError for an object that breaks the
/// rules of its kind (residues not below their moduli, a secret that is not ternary); sinks throw their own
/// errors. The bytes of a secret key are secret: keep them from others, and zero them (runtime::secure_zero)
/// after use.
void save(Sink& sink, const rlwe::Parameters& parameters, const SaveOptions& options = {});
void save(Sink& sink, const rlwe::Plaintext& plaintext, const SaveOptions& options = {});
void save(Sink& sink, const rlwe::Ciphertext& ciphertext, const SaveOptions& options = {});
void save(Sink& sink, const rlwe::SecretKey& key, const SaveOptions& options = {});
void save(Sink& sink, const rlwe::PublicKey& key, const SaveOptions& options = {});
void save(Sink& sink, const rlwe::SwitchingKey& key, const SaveOptions& options = {});
void save(Sink& sink, const rlwe::EvaluationKeys& keys, const SaveOptions& options = {});

/// `parameters`: of the ciphertexts.
void save(Sink& sink, const rlwe::Parameters& parameters, NeededKeys needed);

/// Writes a set of evaluation keys key after key, so that whoever makes them holds one at a time, or one
/// digit of one. Gives the bytes that `save` of the whole set gives.
class KeysWriter {
 public:
  struct Entry {
    rlwe::KeyRole role;
    rlwe::GadgetPointer gadget;
  };

  /// Writes the header, the list of keys, and the public key unless it is null. Throws MismatchError for a
  /// role and gadget that come twice.
  KeysWriter(Sink& sink, rlwe::ContextPointer context, const rlwe::PublicKey* public_key,
             std::vector<Entry> entries, const SaveOptions& options = {});

  /// The switching keys in the order of the file.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// The key of the next entry. Throws MismatchError for another gadget or context.
  void write(const rlwe::SwitchingKey& key);
  /// The same, made digit by digit while it is written.
  void write(const rlwe::KeyMaker& key);
  /// Throws ParameterError if keys are missing.
  void finish() const { writer_.finish(); }

 private:
  void take_turn(const rlwe::Context& context, const rlwe::Gadget& gadget);

  rlwe::ContextPointer context_;
  std::vector<Entry> entries_;
  SaveOptions options_;
  std::size_t next_ = 0;
  Writer writer_;
};

/// Makes keys, one in memory at a time but for those that share randomness, and writes their file. `told`
/// gets the number of switching keys that are written. Throws as rlwe::require_needs, before the first byte.
void write_keys(Sink& sink, const rlwe::SecretKey& secret, const NeededKeys& needed, int least_security,
                const std::function<void(std::size_t)>& told = {});

template <typename Object>
std::vector<std::byte> save(const Object& object, const SaveOptions& options = {}) {
  MemorySink sink;
  save(sink, object, options);
  return sink.take();
}

/// Straight to a file, as a whole or not at all (AtomicFile). Throws FileError.
template <typename Object>
void save_file(const std::filesystem::path& path, const Object& object, const SaveOptions& options = {}) {
  constexpr bool secret = std::is_same_v<Object, rlwe::SecretKey>;
  AtomicFile file(path, secret ? Access::owner_only : Access::usual);
  save(file, object, options);
  file.commit();
}

/// Objects from a file's bytes, into the memory of the context. Everything is checked: the bytes
/// (FormatError), their kind and the parameters that they belong to (MismatchError), every field against the
/// context and every residue against its modulus (FormatError). Throws OutOfMemoryError when the device has
/// no room.
using rlwe::ContextPointer;
rlwe::Parameters load_parameters(std::span<const std::byte> file);
rlwe::Plaintext load_plaintext(const ContextPointer& context, std::span<const std::byte> file);
rlwe::Ciphertext load_ciphertext(const ContextPointer& context, std::span<const std::byte> file);
rlwe::SecretKey load_secret_key(const ContextPointer& context, std::span<const std::byte> file);
rlwe::PublicKey load_public_key(const ContextPointer& context, std::span<const std::byte> file);
rlwe::SwitchingKey load_switching_key(const ContextPointer& context, std::span<const std::byte> file);
rlwe::EvaluationKeys load_evaluation_keys(const ContextPointer& context, std::span<const std::byte> file);
NeededKeys load_needed_keys(const ContextPointer& context, std::span<const std::byte> file);

/// An object of whatever kind the header says, parameters excepted (MismatchError): they come before any
/// context. From a path, the header is read and compared with the context before the rest of the file is.
using AnyObject = std::variant<rlwe::Plaintext, rlwe::Ciphertext, rlwe::SecretKey, rlwe::PublicKey,
                               rlwe::SwitchingKey, rlwe::EvaluationKeys>;
AnyObject load_any(const ContextPointer& context, std::span<const std::byte> file);
AnyObject load_any(const ContextPointer& context, const std::filesystem::path& path);
/// Parameters from a file.
rlwe::Parameters load_parameters(const std::filesystem::path& path);

}  // namespace hemera::io
