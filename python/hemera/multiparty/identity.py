"""A party's identity: who signs what lies in a shared folder, and for whom keys are sealed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

from hemera._extras import how_to_install
from hemera._files import write_atomically
from hemera.errors import FormatError, ParameterError
from hemera.multiparty.party import Party
from hemera.multiparty.shared import Shared, write

__all__ = ["Identity", "Unsigned", "signed_by"]

try:
    from cryptography.exceptions import InvalidSignature, InvalidTag
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.hpke import (
        AEAD,
        KDF,
        KEM,
        MLKEM768X25519PrivateKey,
        MLKEM768X25519PublicKey,
        Suite,
    )

    _problem: str | None = None
except ImportError as error:
    _problem = str(error)

SIGNED, SEALED = b"hemera federation signature 1\0", b"hemera federation key 1\0"
SIGNATURE = 64
PRIVATE = (32, 64, 32)
"""Bytes of the seeds of Ed25519, ML-KEM-768 and X25519."""
PUBLIC = (32, 1184, 32)
"""Bytes of their public keys."""


def _split(data: bytes, sizes: tuple[int, ...]) -> list[bytes]:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [data[end - size : end] for end, size in zip(ends, sizes, strict=True)]


class Unsigned:
    """Files of a shared folder without signatures: whoever can write to it can be anybody."""

    def write(self, path: Shared, data: bytes, *, replace: bool = True) -> None:
        write(path, data, replace=replace)

    def read(self, path: Shared, by: Collection[str]) -> bytes:  # noqa: ARG002
        return path.read_bytes()


class Identity:
    """Signs by Ed25519; seals by HPKE (RFC 9180) with ML-KEM-768 and X25519, HKDF-SHA-256, ChaCha20-Poly1305.

    - `party`: the party's own folder, whose file `identity` has the private keys.
    - `known`: a folder of the public identities that this party trusts, `NAME.identity`. Its own is written
      there. Whoever can put files there can be anybody: carry them by hand, or compare fingerprints.
    - `federation`: its id, which all that is signed and sealed is bound to.

    Raises:
        ParameterError: without the package `cryptography`.
        FormatError: where the party's own file is damaged.
    """

    def __init__(self, party: Path, name: str, known: Path, federation: bytes) -> None:
        if _problem is not None:
            raise ParameterError(f"identities need cryptography ({_problem}): {how_to_install('sealing')}")
        self.name, self._known, self._federation = name, known, federation
        path = party / "identity"
        if not path.exists():
            drawn = (Ed25519PrivateKey.generate(), MLKEM768PrivateKey.generate(), X25519PrivateKey.generate())
            write_atomically(path, b"".join(each.private_bytes_raw() for each in drawn), replace=False)
        data = path.read_bytes()
        if len(data) != sum(PRIVATE):
            raise FormatError(f"{path} has {len(data)} bytes, not {sum(PRIVATE)}: bring back a copy of it")
        signing, mlkem, x25519 = _split(data, PRIVATE)
        self._signing = Ed25519PrivateKey.from_private_bytes(signing)
        parts = MLKEM768PrivateKey.from_seed_bytes(mlkem), X25519PrivateKey.from_private_bytes(x25519)
        self._opening = MLKEM768X25519PrivateKey(*parts)
        self._suite = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
        public = [each.public_key().public_bytes_raw() for each in (self._signing, *parts)]
        own = known / f"{name}.identity"
        if not own.exists():
            write_atomically(own, b"".join(public), replace=False)
        if own.read_bytes() != b"".join(public):
            raise FormatError(f"{own} is another's identity than that of {party}")

    def fingerprint(self, name: str) -> str:
        """32 hexadecimal digits to compare by another channel; empty where there is no identity."""
        found = self._public(name)
        return "" if found is None else hashlib.sha256(b"".join(found)).hexdigest()[:32]

    def _public(self, name: str) -> list[bytes] | None:
        """The public keys of a party that this one trusts."""
        path = self._known / f"{name}.identity"
        if not path.exists():
            return None
        data = path.read_bytes()
        return _split(data, PUBLIC) if len(data) == sum(PUBLIC) else None

    # --- Signatures.
    def _what(self, path: Shared, data: bytes) -> bytes:
        """What is signed: a file's place in the shared folder of this federation, and its bytes."""
        place = "/".join(path.parts[-2:]).encode()
        return SIGNED + self._federation + hashlib.sha256(place).digest() + hashlib.sha256(data).digest()

    def write(self, path: Shared, data: bytes, *, replace: bool = True) -> None:
        """Write a file with the signature of this party: data, name, a byte of its length, signature."""
        name = self.name.encode()
        signature = self._signing.sign(self._what(path, data))
        write(path, data + name + bytes([len(name)]) + signature, replace=replace)

    def read(self, path: Shared, by: Collection[str]) -> bytes:
        """The bytes of a file that one of these parties signed.

        Raises:
            FormatError: where none of them did.
        """
        whole = path.read_bytes()
        size = whole[-SIGNATURE - 1] if len(whole) > SIGNATURE else 0
        end = len(whole) - SIGNATURE - 1 - size
        if end >= 0:
            data, name = whole[:end], whole[end : end + size].decode(errors="replace")
            found = self._public(name) if name in by else None
            if found is not None and self._is_signed(found[0], whole[-SIGNATURE:], self._what(path, data)):
                return data
        raise FormatError(f"{path} is not signed by {' or '.join(sorted(by))}")

    @staticmethod
    def _is_signed(key: bytes, signature: bytes, what: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, what)
        except (InvalidSignature, ValueError):
            return False
        return True

    # --- Seals.
    def sealed(self, to: str, place: str, key: bytes) -> bytes | None:
        """A key for another party alone; None where its identity is not known."""
        found = self._public(to)
        if found is None:
            return None
        parts = MLKEM768PublicKey.from_public_bytes(found[1]), X25519PublicKey.from_public_bytes(found[2])
        info = SEALED + self._federation + place.encode()
        data: bytes = self._suite.encrypt(key, MLKEM768X25519PublicKey(*parts), info=info)
        return data

    def unsealed(self, place: str, data: bytes) -> bytes:
        """A key that was sealed for this party in this place. FormatError for any other."""
        try:
            key: bytes = self._suite.decrypt(
                data, self._opening, info=SEALED + self._federation + place.encode()
            )
        except (InvalidTag, ValueError):
            raise FormatError(f"{place} is not sealed for {self.name}") from None
        return key


def signed_by(party: Party, known: Path | None, federation: bytes) -> Identity | Unsigned:
    """What a party writes and reads a shared folder with: nothing is signed where no identities are given."""
    if known is None:
        return Unsigned()
    if party.secrets is not None:
        raise ParameterError(
            "keys are sealed for identities, or lie in a folder of secrets: give one of both"
        )
    return Identity(party.folder, party.name, known, federation)
