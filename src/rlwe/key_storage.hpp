// Switching keys in the words that their context stores them in.
#pragma once

#include <functional>

#include "hemera/rlwe/context.hpp"

namespace hemera::rlwe {

/// The key's polynomial in Context::key_word: itself, or a copy.
poly::Poly stored_key(const Context& context, poly::Poly key);

/// Calls use(view) with the key's polynomial in words of 64 bits: itself, or a copy.
void with_wide_words(const Context& context, const poly::Poly& key,
                     const std::function<void(const poly::ConstPolyView&)>& use);

}  // namespace hemera::rlwe
