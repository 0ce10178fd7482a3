// The uniform polynomials that SEAL writes as a seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hemera::interop::seal {

/// SEAL's generators, as files number them.
enum class GeneratorKind : std::uint8_t { blake2xb = 1, shake256 = 2 };
inline constexpr std::size_t seed_bytes = 64;

/// A seed as files have it: public.
struct Seed {
  GeneratorKind kind = GeneratorKind::blake2xb;
  std::array<std::byte, seed_bytes> bytes{};
};

/// Residues [limb, N], one limb a modulus, as SEAL draws them (docs/clients-seal.md): 64-bit words of the
/// stream, in which those that would not be uniform are replaced by later ones, modulo the limb's modulus.
/// Throws DeviceError when the system's OpenSSL refuses to compute SHAKE-256.
void expand(const Seed& seed, std::span<const std::uint64_t> moduli, std::span<std::uint64_t> residues);

}  // namespace hemera::interop::seal
