// Whole files: what is in one, and bytes to objects and back.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "hemera/interop/openfhe.hpp"
#include "hemera/io/container.hpp"
#include "interop/openfhe/objects.hpp"

namespace hemera::interop::openfhe {

using AnyFile = std::variant<std::shared_ptr<CryptoContext>, std::shared_ptr<CiphertextObject>,
                             std::shared_ptr<PublicKeyObject>, std::shared_ptr<PrivateKeyObject>,
                             MultiplicationKeys, AutomorphismKeys>;

/// The format by the first bytes; FormatError if like neither.
Format format_of(std::span<const std::byte> file);

/// The name of the kind, for describe.
const char* kind_of(const AnyFile& file);

/// A file of a known kind; every byte must belong to it. FormatError, which names the kind, for another one.
template <typename T>
T read_file(std::span<const std::byte> file);

/// A file of any kind. Files do not name their kind, so each is tried.
AnyFile read_any_file(std::span<const std::byte> file);

/// The inverse. It changes nothing in the object.
template <typename T>
std::vector<std::byte> write_file(T& object, Format format);

/// The same for an object whose residues come later: `write_later(places)` writes them, a place a limb.
using WriteLater = std::function<void(std::span<const std::span<std::byte>> places)>;
template <typename T>
void write_binary(io::Sink& sink, T& object, const WriteLater& write_later);

}  // namespace hemera::interop::openfhe
