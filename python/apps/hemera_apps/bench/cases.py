"""Parameters for comparisons of Hemera and SEAL: equal degree, depth and total modulus."""

from __future__ import annotations

import math
from dataclasses import dataclass

import hemera as hm

# SEAL's default moduli for 128 bits (native/src/seal/util/globals.cpp of SEAL 4): bits of each prime, the
# special one last.
SEAL_PRIME_BITS = {
    8192: [43, 43, 44, 44, 44],
    16384: [48, 48, 48, 49, 49, 49, 49, 49, 49],
    32768: [55, 55, 55, 55, 55, 55, 55, 55, 55, 55, 55, 55, 55, 55, 55, 56],
}
_SECURE_BITS = {8192: 214, 16384: 430, 32768: 868}
_PLAIN_BITS = 20
_SCALE_BITS = 40
_END_BITS = 60  # SEAL's customary first and special primes of CKKS
_FAST_BITS = 49  # Hemera's primes stay below 2^49: fastest on IFMA


@dataclass(frozen=True)
class Case:
    """One scheme at one degree.

    `seal_bits`: the bits of SEAL's primes, the special one last.
    `params`: Hemera's parameters of the same depth, with at most the same total modulus.
    `secure`: Hemera's parameters with 128 bits of security by the 2024 guidelines.
    `plain_modulus`: 0 for CKKS, whose scale is 2^40 in both libraries.
    """

    scheme: str
    n: int
    seal_bits: list[int]
    params: hm.Parameters
    secure: hm.Parameters
    plain_modulus: int
    scale: float


def _split(bits: int, largest: int) -> list[int]:
    """The fewest nearly equal parts of at most `largest` bits that make up `bits`."""
    count = math.ceil(bits / largest)
    return [bits // count + (1 if i < bits % count else 0) for i in range(count)]


def _integer_case(scheme: str, n: int) -> Case:
    kind = hm.bfv.Parameters if scheme == "bfv" else hm.bgv.Parameters
    seal_bits = SEAL_PRIME_BITS[n]
    plain = hm.bfv.Parameters.for_circuit(
        depth=1, plain_bits=_PLAIN_BITS, degree=n, security=None
    ).plain_modulus

    def parameters(primes: list[int], security: int | None) -> hm.Parameters:
        # As SEAL: each prime is a digit of its own, and the special prime is at least as large.
        return kind.from_bits(
            degree=n,
            plain_modulus=plain,
            prime_bits=primes,
            special_bits=[max(primes)],
            digits=len(primes),
            security=security,
        )

    primes = _split(sum(seal_bits[:-1]), _FAST_BITS)
    secure = [_SECURE_BITS[n] // (len(primes) + 1)] * len(primes)
    return Case(scheme, n, seal_bits, parameters(primes, None), parameters(secure, 128), plain, 0.0)


def _ckks_case(n: int) -> Case:
    seal_bits_total = sum(SEAL_PRIME_BITS[n])
    depth = (seal_bits_total - 2 * _END_BITS) // _SCALE_BITS
    seal_bits = [_END_BITS, *[_SCALE_BITS] * depth, _END_BITS]
    last = _split(_END_BITS, _FAST_BITS)

    def parameters(levels: int, security: int | None) -> hm.Parameters:
        return hm.ckks.Parameters.from_bits(
            degree=n,
            prime_bits=[*last, *[_SCALE_BITS] * levels],
            special_bits=[_FAST_BITS],
            scale_bits=_SCALE_BITS,
            last_base=len(last),
            digits=len(last) + levels,
            security=security,
        )

    secure_depth = (_SECURE_BITS[n] - _END_BITS - _FAST_BITS) // _SCALE_BITS
    return Case(
        "ckks", n, seal_bits, parameters(depth, None), parameters(secure_depth, 128), 0, 2.0**_SCALE_BITS
    )


def cases(schemes: list[str], degrees: list[int]) -> list[Case]:
    """The cases of these schemes and degrees, in this order."""
    return [
        _ckks_case(n) if scheme == "ckks" else _integer_case(scheme, n) for scheme in schemes for n in degrees
    ]
