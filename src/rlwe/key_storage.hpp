// Switching keys, and plaintexts of circuits, in the words and in the memory that their context stores them
// in.
#pragma once

#include <functional>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// The key's polynomial, made in the device's memory, in Context::key_word and Context::key_memory: itself,
/// or a copy.
poly::Poly stored_key(const Context& context, poly::Poly key);

/// A plaintext that a circuit keeps, made in the device's memory, in Context::key_memory: itself, or a copy.
Plaintext stored_plaintext(Plaintext plaintext);

/// Calls use(view) with the key's polynomial in words of 64 bits: itself, or a copy in the device's memory.
void with_wide_words(const Context& context, const poly::Poly& key,
                     const std::function<void(const poly::ConstPolyView&)>& use);

}  // namespace hemera::rlwe
