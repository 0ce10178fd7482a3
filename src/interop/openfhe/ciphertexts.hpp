// Ciphertexts of OpenFHE and of Hemera.
#pragma once

#include <memory>
#include <span>

#include "hemera/interop/openfhe.hpp"
#include "interop/openfhe/objects.hpp"

namespace hemera::interop::openfhe {

/// A batch of this shape of ciphertexts that agree in everything but their residues (MismatchError).
/// FormatError for metadata that no ciphertext has.
rlwe::Ciphertext to_ciphertext(const std::shared_ptr<const rlwe::Context>& context,
                               std::span<const std::shared_ptr<CiphertextObject>> objects,
                               rlwe::BatchShape shape);

Metadata metadata_of(const rlwe::Ciphertext& ciphertext);

/// One element of a batch.
std::shared_ptr<CiphertextObject> from_ciphertext(const rlwe::Ciphertext& ciphertext, std::size_t element,
                                                  CryptoObject header);

}  // namespace hemera::interop::openfhe
