// Switching keys, and plaintexts of circuits, in the words and in the memory that their context stores them
// in.
#pragma once

#include <functional>
#include <memory>

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/context.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// The key's polynomial, made in the device's memory, in Context::key_word and Context::key_memory: itself,
/// or a copy.
poly::Poly stored_key(const Context& context, poly::Poly key);

/// The words in which keys of this role and gadget are used: Context::key_word or matrix_key_word.
poly::Word stored_word(const Context& context, const KeyRole& role, const GadgetPrimes& gadget);

/// The key in these words: itself, or a copy.
std::shared_ptr<const SwitchingKey> stored_for(const KeyRole& role, std::shared_ptr<const SwitchingKey> key);

/// A plaintext that a circuit keeps, made in the device's memory, in Context::key_memory: itself, or a copy.
Plaintext stored_plaintext(Plaintext plaintext);

/// Calls use(view) with the key's polynomial in words of 64 bits: itself, or a copy in the device's memory.
void with_wide_words(const Context& context, const poly::Poly& key,
                     const std::function<void(const poly::ConstPolyView&)>& use);

}  // namespace hemera::rlwe
