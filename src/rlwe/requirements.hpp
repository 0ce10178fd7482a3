// The checks of operations on their operands, before they touch them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/runtime/error.hpp"

namespace hemera::rlwe {

/// Throws MismatchError for an object that holds nothing: one that was moved from, or never made.
void require_filled(const Plaintext& plaintext, const char* operation);
void require_filled(const Ciphertext& ciphertext, const char* operation);
void require_filled(const PublicKey& key, const char* operation);
void require_filled(const SecretKey& key, const char* operation);
void require_filled(const EvaluationKeys& keys, const char* operation);
void require_filled(const SwitchingKey& key, const char* operation);
void require_filled(const ContextPointer& context, const char* operation);

/// Throws MismatchError, with its number, for an operand that a null pointer stands for.
[[noreturn]] void throw_null_operand(std::size_t number, const char* operation);
/// Throws MismatchError for operands that are null or hold nothing.
template <typename Object>
void require_each(std::span<const Object* const> operands, const char* operation) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr) throw_null_operand(i, operation);
    require_filled(*operands[i], operation);
  }
}

/// The same for a ciphertext that holds nothing or has another size than 2.
void require_size_two(const Ciphertext& ciphertext, const char* operation);

/// Throws MismatchError unless the context is for the scheme.
void require_scheme(const Context& context, Scheme scheme, const char* operation);

/// Throws LevelError for a level above the context's top.
void require_level(const Context& context, std::size_t level, const char* operation);

/// Throws SecurityError unless a key of this gadget that ends at a secret of this distribution is as strong
/// as the parameters ask for.
void require_security(const Context& context, const Gadget& gadget, const SecretDistribution& secret);

/// Throws ParameterError unless this can be the gadget of the key to an ephemeral secret of this weight: over
/// one or two ciphertext primes and at most one special one; SecurityError as require_security.
void require_narrow(const Context& context, const Gadget& narrow, std::size_t weight);

/// The end of every error about a missing key: the way out.
Message missing_key_way_out(const EvaluationKeys& keys);

/// Throws MismatchError unless the plaintext is there and belongs to the context.
void require_plaintext(const Context& context, const Plaintext& plaintext, const char* operation);

/// The numbers of Plaintext::doubtful, where the backend finds them.
std::span<const std::int64_t> doubts(const Plaintext& plaintext);
/// The elements of a batch of `count` whose numbers, equally many of each, in the host's memory, are not all
/// 0; ascending.
std::vector<std::size_t> doubtful_elements(std::span<const std::int64_t> doubts, std::size_t count);
/// Throws NoiseError, which names them, if there are such elements of a batch.
void require_certain(std::span<const std::size_t> doubtful, const BatchShape& batch);
/// A text for the error of a decryption: "rows 3, 17 and 5 more of 100: ", with an index for each axis of the
/// batch; empty for a batch without axes.
std::string elements_text(std::span<const std::size_t> elements, const BatchShape& batch);
/// The end of that error: that the other rows are right, if there are any.
Message other_rows_way_out(std::span<const std::size_t> doubtful, const BatchShape& batch);
/// The same for a plaintext that goes where it has no such numbers. Waits for the queue if there are any.
void require_certain(const Plaintext& plaintext);

}  // namespace hemera::rlwe
