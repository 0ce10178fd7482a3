"""Parameters by the sizes of their primes, as TenSEAL's contexts name them, and as SEAL's files hold them."""

from __future__ import annotations

import enum
import math
import struct
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hemera import _core, bfv, ckks
from hemera.compat.tenseal.context_file import ContextFile
from hemera.errors import FormatError, ParameterError, SecurityError, SecurityWarning
from hemera.parameters import Parameters, max_log_modulus

_SEAL_LIMITS = {1024: 27, 2048: 54, 4096: 109, 8192: 218, 16384: 438, 32768: 881}
"""The most bits of all primes that SEAL takes for 128 bits of security: the table of
homomorphicencryption.org (2018), which is a few bits wider than Hemera's of 2024."""
_LEAST_RANGE_BITS = 4
"""The least bits of the last level above its scale."""

_MAGIC, _HEADER_BYTES, _MAJOR, _MINOR = 0xA15E, 16, 4, 3
"""The beginning of SEAL's files. TenSEAL 0.3.18 has SEAL 4.3, which loads files of its own version alone."""
_SCHEME_NUMBERS = {"bfv": 1, "ckks": 2}


class SCHEME_TYPE(enum.Enum):  # noqa: N801, as TenSEAL names it
    """The scheme of a context."""

    NONE = 0
    BFV = 1
    CKKS = 2


@dataclass(frozen=True)
class Found:
    """Parameters in both forms."""

    params: Parameters
    seal: bytes
    """SEAL's `EncryptionParameters` of the same primes."""

    @property
    def scale(self) -> float | None:
        """CKKS: the scale of the top level."""
        return self.params.scale if isinstance(self.params, ckks.Parameters) else None

    def session(self, context: _core.Context) -> _core.SealSession:
        """SEAL's files in this context of `params`."""
        return _core.SealSession(context, self.seal, self.scale, None if self.scale else "slots")


def from_sizes(scheme: Literal["bfv", "ckks"], degree: int, plain_modulus: int, bits: Sequence[int]) -> Found:
    """Parameters with primes of these bits, the special prime of key-switching last.

    Args:
        scheme: of the context.
        degree: N, a power of two from 1024 to 32768.
        plain_modulus: t of BFV; CKKS ignores it.
        bits: of the primes; none for BFV: as many as 128 bits of security allow.

    Raises:
        ParameterError: if there are no such parameters.
        SecurityError: if SEAL refuses them too, as less secure than 128 bits.

    Warns:
        SecurityWarning: if SEAL takes them, but they have less than 128 bits by Hemera's table.
    """
    if degree not in _SEAL_LIMITS:
        raise ParameterError(f"poly_modulus_degree is a power of two from 1024 to 32768, not {degree!r}")
    sizes = list(bits) or _usual_sizes(scheme, degree)
    if len(sizes) < 2:
        raise ParameterError(
            f"coeff_mod_bit_sizes={sizes} has no prime for the switching of keys: append one, as large as "
            "the largest"
        )
    limit = _SEAL_LIMITS[degree]
    if sum(sizes) > limit:
        raise SecurityError(
            f"coeff_mod_bit_sizes={sizes} are {sum(sizes)} bits, and poly_modulus_degree={degree} allows "
            f"{limit}: take a larger degree, or fewer bits"
        )
    below = bfv.Parameters.from_bits(
        degree=degree,
        plain_modulus=plain_modulus if scheme == "bfv" else 2,
        prime_bits=sizes[:-1],
        special_bits=sizes[-1:],
        security=None,
    )
    if scheme == "bfv":
        primes = [*below.primes[-1], *below.special_primes]
        return from_seal(_seal_file(scheme, degree, primes, plain_modulus), None)
    scale_bits = _usual_scale_bits(sizes[:-1])
    around = ckks.Parameters.from_bits(
        degree=degree, prime_bits=sizes[:-1], special_bits=sizes[-1:], scale_bits=scale_bits, security=None
    )
    # Primes on both sides of the scale keep it. All of them below, as SEAL's, are within its limit.
    chosen: Parameters = around if around.log_modulus < limit else below
    primes = [*chosen.primes[-1], *chosen.special_primes]
    scale = around.scale if chosen is around else settled_scale(2.0**scale_bits, below.primes[-1])
    return from_seal(_seal_file(scheme, degree, primes, 0), scale)


def from_seal(data: bytes, scale: float | None) -> Found:
    """Parameters of SEAL's `EncryptionParameters`, with Hemera's rules for levels and scales.

    Args:
        data: SEAL's file.
        scale: CKKS: of the top level; BFV: None.

    Raises:
        FormatError: if the bytes are damaged or hold something else.
        ParameterError: if Hemera has no such parameters.

    Warns:
        SecurityWarning: if they have less than 128 bits by Hemera's table.
    """
    native = _core.seal_parameters(data, scale, None if scale is not None else "slots")
    if native.scheme.name not in _SCHEME_NUMBERS:
        raise FormatError(
            f"TenSEAL has the schemes BFV and CKKS, and these parameters are of {native.scheme}"
        )
    kind = ckks.Parameters if native.scheme.name == "ckks" else bfv.Parameters
    params = kind._wrap(native).with_rescaling("automatic")
    most = max_log_modulus(params.degree, 128)
    if most is None or params.log_modulus > most:
        warnings.warn(
            f"N={params.degree} with {params.log_modulus:.1f} bits of primes has 128 bits of security by the "
            f"table of 2018, as SEAL asks, and not by that of 2024, which ends at {most} (docs/security.md)",
            SecurityWarning,
            stacklevel=5,
        )
    return Found(params, data)


def settled_scale(scale: float, primes: Sequence[int]) -> float:
    """The top level's scale for which the last level has about `scale`: S_l = sqrt(S_(l-1) q_l), which halves
    each deviation of a prime (docs/levels.md).

    Args:
        scale: wanted, above 1.
        primes: of the ciphertexts, the last level's first.
    """
    for prime in primes[1:]:
        scale = math.sqrt(scale * prime)
    return scale


def ciphertext_primes(data: bytes) -> list[int]:
    """The ciphertext primes of SEAL's parameters of CKKS, the last level's first."""
    # The scale does not matter here.
    return [int(prime) for prime in ckks.Parameters._wrap(_core.seal_parameters(data, 2.0, None)).primes[-1]]


def _usual_sizes(scheme: str, degree: int) -> list[int]:
    if scheme == "ckks":
        raise ParameterError("CKKS takes coeff_mod_bit_sizes, such as [60, 40, 40, 60]")
    bits = max_log_modulus(degree, 128)
    assert bits is not None
    count = max(2, math.ceil(bits / 55) + (bits < 110))
    return [bits // count + (index >= count - bits % count) for index in range(count)]


def _usual_scale_bits(sizes: Sequence[int]) -> float:
    """The scale bits that products keep: the bits of the primes above the last level's."""
    first, *others = sizes
    if not others:
        return first / 2
    return max(2.0, min(sum(others) / len(others), first - _LEAST_RANGE_BITS))


def _seal_file(scheme: str, degree: int, primes: Sequence[int], plain_modulus: int) -> bytes:
    """`EncryptionParameters::save` without compression."""
    moduli = b"".join(_framed(struct.pack("<Q", modulus)) for modulus in [*primes, plain_modulus])
    return _framed(struct.pack("<BQQ", _SCHEME_NUMBERS[scheme], degree, len(primes)) + moduli)


def _framed(payload: bytes) -> bytes:
    """An object of SEAL with its header."""
    size = _HEADER_BYTES + len(payload)
    return struct.pack("<HBBBBHQ", _MAGIC, _HEADER_BYTES, _MAJOR, _MINOR, 0, 0, size) + payload


def top_scale(file: ContextFile) -> float | None:
    """The scale of the top level for parameters from a file; None: they are no CKKS parameters."""
    described = _core.describe_seal(file.parameters, None)
    if described is None or ("scheme", "CKKS") not in described[2]:
        return None
    if file.top_scale is not None:
        return file.top_scale
    primes = ciphertext_primes(file.parameters)
    return settled_scale(file.scale or float(primes[-1]), primes)
