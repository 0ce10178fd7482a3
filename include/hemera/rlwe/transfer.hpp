// Objects in another context of the same parameters, for example on another device.
#pragma once

#include "hemera/rlwe/ciphertext.hpp"
#include "hemera/rlwe/keys.hpp"

namespace hemera::rlwe {

/// A copy of the object in `target`. Between CUDA devices it does not pass through the host. Throws
/// MismatchError when the target has other parameters.
Plaintext copy_to(const ContextPointer& target, const Plaintext& source);
Ciphertext copy_to(const ContextPointer& target, const Ciphertext& source);
SecretKey copy_to(const ContextPointer& target, const SecretKey& source);
SwitchingKey copy_to(const ContextPointer& target, const SwitchingKey& source);
EvaluationKeys copy_to(const ContextPointer& target, const EvaluationKeys& source);
/// The same, but each switching key is copied when it is first used in the target, by the thread that uses it
/// (KeyCopies). The source's keys live as long as the result.
EvaluationKeys copied_on_use(const ContextPointer& target, const EvaluationKeys& source);

}  // namespace hemera::rlwe
