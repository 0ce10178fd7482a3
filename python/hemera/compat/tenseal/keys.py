"""Keys as a context hands them out."""

from __future__ import annotations

from dataclasses import dataclass

import hemera.objects.keys as own


@dataclass(frozen=True)
class SecretKey:
    """Decrypts: `Context.secret_key`."""

    data: own.SecretKey
    """Hemera's key."""


@dataclass(frozen=True)
class PublicKey:
    """Encrypts: `Context.public_key`."""

    data: own.Keys
    """Hemera's key."""


@dataclass(frozen=True)
class RelinKeys:
    """Serve products of ciphertexts: `Context.relin_keys`."""

    data: own.Keys
    """Hemera's key."""


@dataclass(frozen=True)
class GaloisKeys:
    """Serve rotations, and so sums and matrices: `Context.galois_keys`."""

    data: own.Keys
    """Hemera's keys."""
