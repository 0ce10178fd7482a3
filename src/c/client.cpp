#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "c/buffer.hpp"
#include "c/handles.hpp"
#include "hemera/io/objects.hpp"
#include "hemera/rlwe/security.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"
#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"

namespace hemera::c {
namespace {

void require_security(const std::optional<rlwe::Security>& found, int least, const char* what) {
  rlwe::require_security_class(least == 0 ? std::nullopt : std::optional(least));
  if (found && !rlwe::has_bits(*found, least)) {
    throw SecurityError(std::string(what) + " have a security of " + rlwe::name(*found) +
                        " bits, and at least " + std::to_string(least) +
                        " were asked for; use others, or ask for less");
  }
}

// Empty: the highest of the user's.
std::optional<std::size_t> level_of(std::uint32_t level) {
  return level == HEMERA_HIGHEST_LEVEL ? std::nullopt : std::optional<std::size_t>(level);
}

// A single one has no batch axis.
rlwe::BatchShape batch_of(std::size_t rows) {
  return rows == 0 ? rlwe::BatchShape{} : rlwe::BatchShape{rows};
}

// Rows times count numbers. Throws ParameterError where there are none or too many for the address space.
template <typename Number>
std::span<const Number> numbers_of(const Number* values, std::size_t rows, std::size_t count) {
  const std::size_t factor = rows == 0 ? 1 : rows;
  if (count == 0 || factor > SIZE_MAX / sizeof(Number) / count) {
    throw ParameterError("rows of " + std::to_string(count) +
                         " numbers; a row has from 1 to the number of slots");
  }
  return {values, factor * count};
}

const rlwe::ContextPointer& context_of(const hemera_secret_key* secret, const hemera_keys* keys) {
  if ((secret == nullptr) == (keys == nullptr)) {
    throw ParameterError("encryption takes either a secret key or a public one; pass null for the other");
  }
  return secret != nullptr ? secret->key.context : keys->keys.context;
}

// Levels of circuits have larger moduli than the parameters' class of security is for.
rlwe::Ciphertext encrypted(const rlwe::Plaintext& plaintext, const hemera_secret_key* secret,
                           const hemera_keys* keys) {
  if (secret != nullptr) {
    const rlwe::Parameters& parameters = plaintext.context->parameters();
    const rlwe::GadgetPrimes modulus{.base = plaintext.context->base(plaintext.meta.level).values()};
    require_security(parameters.security(modulus), secret->least_security, "ciphertexts of this level");
  }
  return secret != nullptr ? any_scheme::encrypt(plaintext, secret->key)
                           : any_scheme::encrypt(plaintext, keys->keys);
}

std::uint64_t element_of(const hemera_need& need, const rlwe::Context& context) {
  if (need.kind == HEMERA_ROTATION) return context.galois_element(need.steps);
  if (need.kind == HEMERA_CONJUGATION) return context.conjugation_element();
  if (need.steps < 1 || need.steps % 2 == 0 ||
      static_cast<std::uint64_t>(need.steps) >= 2 * context.degree()) {
    throw ParameterError("an automorphism X -> X^" + std::to_string(need.steps) +
                         "; k is odd, from 1 to 2 N - 1");
  }
  return static_cast<std::uint64_t>(need.steps);
}

// Bytes to the caller's function.
class CallerSink final : public io::Sink {
 public:
  CallerSink(hemera_write function, void* user) : write_(function), user_(user) {}

  void write(std::span<const std::byte> data) override {
    if (write_(user_, data.data(), data.size()) != 0) throw Stopped();
  }

 private:
  hemera_write write_;
  void* user_;
};

io::NeededKeys needed_keys(const rlwe::Context& context, std::span<const hemera_need> needs) {
  io::NeededKeys needed;
  for (const hemera_need& need : needs) {
    if (need.kind == HEMERA_PUBLIC_KEY) {
      if (needed.public_key) throw MismatchError("a set has one public key; ask for it once");
      needed.public_key = true;
      continue;
    }
    if (need.kind > HEMERA_AUTOMORPHISM) {
      throw ParameterError("a key of kind " + std::to_string(need.kind) +
                           ", which this interface does not have");
    }
    const rlwe::KeyRole role = need.kind == HEMERA_RELINEARIZATION
                                   ? rlwe::KeyRole::relinearization()
                                   : rlwe::KeyRole::galois(element_of(need, context));
    if (role == rlwe::KeyRole{}) {
      throw ParameterError("a rotation by " + std::to_string(need.steps) +
                           " steps needs no key; leave it out");
    }
    const std::size_t level = level_of(need.level).value_or(context.parameters().highest_user_level());
    needed.needs.push_back({role, context.gadget(level)->primes()});
  }
  return needed;
}

io::NeededKeys needed_keys(const hemera_secret_key* key, const void* file, std::size_t bytes) {
  return io::load_needed_keys(key->key.context, bytes_of(file, bytes));
}

void give_keys(const hemera_secret_key* key, const io::NeededKeys& needed, hemera_write write, void* user) {
  CallerSink sink(write, user);
  io::write_keys(sink, key->key, needed, key->least_security);
}

void give_keys(const hemera_secret_key* key, const io::NeededKeys& needed, hemera_buffer* file) {
  io::MemorySink sink;
  io::write_keys(sink, key->key, needed, key->least_security);
  give_bytes(file, sink.take());
}

}  // namespace
}  // namespace hemera::c

using namespace hemera;

hemera_status hemera_context_open(const void* file, size_t bytes, int32_t least_security, int32_t threads,
                                  hemera_context** context) {
  HEMERA_C_RESULT(context);
  HEMERA_C_REQUIRE(file);
  return c::guarded([&] {
    rlwe::Parameters parameters = io::load_parameters(c::bytes_of(file, bytes));
    c::require_security(parameters.security(), least_security, "these parameters");
    c::give(context, rlwe::Context::make(std::move(parameters), {}, {.threads = threads}), least_security);
  });
}

void hemera_context_free(hemera_context* context) { delete context; }

hemera_status hemera_context_describe(const hemera_context* context, hemera_description* description,
                                      size_t bytes) {
  HEMERA_C_REQUIRE(context);
  HEMERA_C_REQUIRE(description);
  return c::guarded([&] {
    if (bytes > sizeof(hemera_description)) {
      throw ParameterError("a description of " + std::to_string(bytes) + " bytes; this library knows " +
                           std::to_string(sizeof(hemera_description)));
    }
    const rlwe::Parameters& parameters = context->context->parameters();
    const hemera_description found{.scheme = static_cast<int32_t>(parameters.scheme()),
                                   .security_bits = rlwe::bits(parameters.security()),
                                   .degree = parameters.degree(),
                                   .slots = parameters.max_slots(),
                                   .levels = parameters.levels(),
                                   .plain_modulus = parameters.plain_modulus()};
    std::memcpy(description, &found, bytes);
  });
}

hemera_status hemera_secret_key_generate(const hemera_context* context, hemera_secret_key** key) {
  HEMERA_C_RESULT(key);
  HEMERA_C_REQUIRE(context);
  return c::guarded(
      [&] { c::give(key, rlwe::generate_secret_key(context->context), context->least_security); });
}

hemera_status hemera_secret_key_load(const hemera_context* context, const void* file, size_t bytes,
                                     hemera_secret_key** key) {
  HEMERA_C_RESULT(key);
  HEMERA_C_REQUIRE(context);
  HEMERA_C_REQUIRE(file);
  return c::guarded([&] {
    c::give(key, io::load_secret_key(context->context, c::bytes_of(file, bytes)), context->least_security);
  });
}

hemera_status hemera_secret_key_save(const hemera_secret_key* key, hemera_buffer* file) {
  HEMERA_C_RESULT(file);
  HEMERA_C_REQUIRE(key);
  return c::guarded([&] {
    std::vector<std::byte> bytes = io::save(key->key);
    const c::ZeroAtEnd zeroed(bytes);
    c::give_bytes(file, bytes);
  });
}

void hemera_secret_key_free(hemera_secret_key* key) { delete key; }

hemera_status hemera_keys_generate(const hemera_secret_key* key, const hemera_need* needs, size_t count,
                                   hemera_write write, void* user) {
  HEMERA_C_REQUIRE(key);
  HEMERA_C_REQUIRE(needs);
  HEMERA_C_REQUIRE(write);
  return c::guarded([&] {
    c::give_keys(key, c::needed_keys(*key->key.context, {needs, count}), write, user);
  });
}

hemera_status hemera_keys_file(const hemera_secret_key* key, const hemera_need* needs, size_t count,
                               hemera_buffer* file) {
  HEMERA_C_RESULT(file);
  HEMERA_C_REQUIRE(key);
  HEMERA_C_REQUIRE(needs);
  return c::guarded([&] { c::give_keys(key, c::needed_keys(*key->key.context, {needs, count}), file); });
}

hemera_status hemera_needed_keys_generate(const hemera_secret_key* key, const void* needed, size_t bytes,
                                          hemera_write write, void* user) {
  HEMERA_C_REQUIRE(key);
  HEMERA_C_REQUIRE(needed);
  HEMERA_C_REQUIRE(write);
  return c::guarded([&] { c::give_keys(key, c::needed_keys(key, needed, bytes), write, user); });
}

hemera_status hemera_needed_keys_file(const hemera_secret_key* key, const void* needed, size_t bytes,
                                      hemera_buffer* file) {
  HEMERA_C_RESULT(file);
  HEMERA_C_REQUIRE(key);
  HEMERA_C_REQUIRE(needed);
  return c::guarded([&] { c::give_keys(key, c::needed_keys(key, needed, bytes), file); });
}

hemera_status hemera_keys_load(const hemera_context* context, const void* file, size_t bytes,
                               hemera_keys** keys) {
  HEMERA_C_RESULT(keys);
  HEMERA_C_REQUIRE(context);
  HEMERA_C_REQUIRE(file);
  return c::guarded([&] {
    rlwe::EvaluationKeys loaded = io::load_evaluation_keys(context->context, c::bytes_of(file, bytes));
    c::require_security(loaded.security(), context->least_security, "these keys");
    c::give(keys, std::move(loaded));
  });
}

void hemera_keys_free(hemera_keys* keys) { delete keys; }

hemera_status hemera_encrypt_doubles(const hemera_secret_key* secret, const hemera_keys* keys,
                                     const double* values, size_t rows, size_t count, uint32_t level,
                                     hemera_ciphertext** ciphertext) {
  HEMERA_C_RESULT(ciphertext);
  HEMERA_C_REQUIRE(values);
  return c::guarded([&] {
    const rlwe::ContextPointer& context = c::context_of(secret, keys);
    const auto numbers = c::numbers_of(values, rows, count);
    const rlwe::Plaintext plaintext = ckks::Encoder(context).encode(
        {.doubles = numbers, .count = count}, std::bit_ceil(count), c::batch_of(rows), c::level_of(level));
    c::give(ciphertext, c::encrypted(plaintext, secret, keys));
  });
}

hemera_status hemera_encrypt_integers(const hemera_secret_key* secret, const hemera_keys* keys,
                                      const int64_t* values, size_t rows, size_t count, uint32_t level,
                                      hemera_ciphertext** ciphertext) {
  HEMERA_C_RESULT(ciphertext);
  HEMERA_C_REQUIRE(values);
  return c::guarded([&] {
    const rlwe::ContextPointer& context = c::context_of(secret, keys);
    const auto numbers = c::numbers_of(values, rows, count);
    const rlwe::Plaintext plaintext = integer::Encoder(context).encode(
        numbers, c::batch_of(rows), rlwe::Encoding::slots, c::level_of(level));
    c::give(ciphertext, c::encrypted(plaintext, secret, keys));
  });
}

hemera_status hemera_decrypt_doubles(const hemera_secret_key* secret, const hemera_ciphertext* ciphertext,
                                     hemera_buffer* values) {
  HEMERA_C_RESULT(values);
  HEMERA_C_REQUIRE(secret);
  HEMERA_C_REQUIRE(ciphertext);
  return c::guarded([&] {
    const rlwe::Plaintext plaintext = any_scheme::decrypt(ciphertext->ciphertext, secret->key);
    std::vector<double> numbers = ckks::Encoder(secret->key.context).decode_real(plaintext);
    const c::ZeroAtEnd zeroed(numbers);
    c::give_bytes(values, std::as_bytes(std::span(numbers)));
  });
}

hemera_status hemera_decrypt_integers(const hemera_secret_key* secret, const hemera_ciphertext* ciphertext,
                                      hemera_buffer* values) {
  HEMERA_C_RESULT(values);
  HEMERA_C_REQUIRE(secret);
  HEMERA_C_REQUIRE(ciphertext);
  return c::guarded([&] {
    const rlwe::Plaintext plaintext = any_scheme::decrypt(ciphertext->ciphertext, secret->key);
    std::vector<std::int64_t> numbers = integer::Encoder(secret->key.context).decode(plaintext);
    const c::ZeroAtEnd zeroed(numbers);
    c::give_bytes(values, std::as_bytes(std::span(numbers)));
  });
}

hemera_status hemera_ciphertext_load(const hemera_context* context, const void* file, size_t bytes,
                                     hemera_ciphertext** ciphertext) {
  HEMERA_C_RESULT(ciphertext);
  HEMERA_C_REQUIRE(context);
  HEMERA_C_REQUIRE(file);
  return c::guarded(
      [&] { c::give(ciphertext, io::load_ciphertext(context->context, c::bytes_of(file, bytes))); });
}

hemera_status hemera_ciphertext_save(const hemera_ciphertext* ciphertext, hemera_buffer* file) {
  HEMERA_C_RESULT(file);
  HEMERA_C_REQUIRE(ciphertext);
  return c::guarded([&] { c::give_bytes(file, io::save(ciphertext->ciphertext)); });
}

hemera_status hemera_ciphertext_describe(const hemera_ciphertext* ciphertext, size_t* rows, size_t* slots,
                                         size_t* level) {
  HEMERA_C_REQUIRE(ciphertext);
  const rlwe::Metadata& meta = ciphertext->ciphertext.meta;
  if (rows != nullptr) *rows = rlwe::batch_count(meta.batch);
  if (slots != nullptr) *slots = meta.slots;
  if (level != nullptr) *level = meta.level;
  return HEMERA_OK;
}

void hemera_ciphertext_free(hemera_ciphertext* ciphertext) { delete ciphertext; }
