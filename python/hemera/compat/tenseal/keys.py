"""Keys as a context hands them out."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import hemera.objects.keys as own
from hemera.errors import MissingKeyError


class ENCRYPTION_TYPE(enum.Enum):  # noqa: N801, as TenSEAL names it
    """The key that encrypts: the public key, or the secret key."""

    ASYMMETRIC = 0
    SYMMETRIC = 1


class NoKeyError(MissingKeyError, ValueError):
    """A key that the context does not hold, as the ValueError that TenSEAL raises."""


@dataclass(frozen=True)
class SecretKey:
    """Decrypts: `Context.secret_key`."""

    data: own.SecretKey
    """Hemera's key."""


@dataclass(frozen=True)
class _Keys:
    data: own.Keys
    """Hemera's keys."""


class PublicKey(_Keys):
    """Encrypts: `Context.public_key`."""


class RelinKeys(_Keys):
    """Serve products of ciphertexts: `Context.relin_keys`."""


class GaloisKeys(_Keys):
    """Serve rotations, and so sums and matrices: `Context.galois_keys`."""


def require_secret(key: object) -> own.SecretKey:
    """Hemera's key of a `SecretKey`. TypeError if it is none."""
    if not isinstance(key, SecretKey):
        raise TypeError(f"incorrect type: {type(key)} != SecretKey")
    return key.data


def galois_steps(degree: int) -> list[int]:
    """The rotations of SEAL's Galois keys: by powers of two to both sides; half a turn is one of both."""
    powers = [1 << bit for bit in range((degree // 2 - 1).bit_length())]
    return [*powers, *(-step for step in powers[:-1])]
