// Ciphertexts of OpenFHE and of Hemera.
#pragma once

#include <cstdint>
#include <span>

#include "hemera/interop/openfhe.hpp"
#include "hemera/io/container.hpp"
#include "interop/openfhe/objects.hpp"

namespace hemera::interop::openfhe {

/// A file's part of a ciphertext, which must outlive the view.
CiphertextView view_of(const CiphertextObject& object);

/// A batch of this shape of ciphertexts that agree in everything but their residues (MismatchError).
/// FormatError for metadata that no ciphertext has.
rlwe::Ciphertext to_ciphertext(const rlwe::ContextPointer& context, std::span<const CiphertextView> views,
                               rlwe::BatchShape shape);

Metadata metadata_of(const rlwe::Ciphertext& ciphertext);

/// The residues of one ciphertext, a span a limb of each component.
void download(const rlwe::Ciphertext& ciphertext, std::span<const std::span<std::uint64_t>> limbs);

/// The file of one element of a batch.
void write_ciphertext(io::Sink& sink, const rlwe::Ciphertext& ciphertext, std::size_t element,
                      CryptoObject header, Format format);

}  // namespace hemera::interop::openfhe
