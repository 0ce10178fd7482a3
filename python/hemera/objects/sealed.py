"""Secret keys in custody: their files encrypted under a passphrase, or under a key of a KMS or an HSM.

Envelope encryption: a file has a key of its own for AES-256-GCM (NIST SP 800-38D), which the passphrase gives
by scrypt (RFC 7914), or which is drawn and wrapped by whoever keeps the outer key. The claim is that of these
two: who has the file without the passphrase, or without the keeper's help, learns its length, and what is
changed in it, the header included, is noticed. Each key encrypts one message, so that its nonce is 0.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from typing import Any

from hemera._extras import how_to_install
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.fields import damaged, read_json

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    _problem: str | None = None
except ImportError as error:
    _problem = str(error)

MAGIC = b"hemera sealed secret key 1\0"
_KEY = 32
_NONCE = bytes(12)
_COST = {"n": 1 << 17, "r": 8, "p": 1}
"""OWASP's recommendation of 2023: 128 MiB and a third of a second."""
_MOST_MEMORY = 1 << 30
_MOST_HEADER = 1 << 20
Way = str | Callable[[bytes], bytes]
"""A passphrase, or a function of a keeper of keys."""


def require_way(way: Way, operation: str) -> None:
    """TypeError, which does not show what was given, for what is neither a passphrase nor a function."""
    if not isinstance(way, str) and not callable(way):
        raise TypeError(f"{operation} takes a passphrase as text, or a function, not {type(way).__name__}")


def sealed(secret: bytes, wrap: Way) -> bytes:
    """The sealed file of a secret key's file.

    Raises:
        ParameterError: without the package `cryptography`, for an empty passphrase, and for a function that
            gives the key back as it is, or no bytes.
    """
    _require_cryptography()
    header: dict[str, Any] = {}
    if isinstance(wrap, str):
        salt = secrets.token_bytes(16)
        key = _of_passphrase(wrap, salt, **_COST)
        header["scrypt"] = {**_COST, "salt": base64.b64encode(salt).decode()}
    else:
        key = bytearray(secrets.token_bytes(_KEY))
        wrapped = wrap(bytes(key))
        if not isinstance(wrapped, (bytes, bytearray)) or bytes(key) in bytes(wrapped):
            raise ParameterError(
                "seal: wrap= is to give bytes that hide the key which it gets: the answer of a KMS or HSM"
            )
        header["wrapped"] = base64.b64encode(wrapped).decode()
    told = json.dumps(header).encode()
    bound = MAGIC + len(told).to_bytes(4, "little") + told
    try:
        return bound + bytes(AESGCM(key).encrypt(_NONCE, secret, bound))
    finally:
        key[:] = bytes(_KEY)


def unsealed(data: bytes, unwrap: Way) -> bytes:
    """The file of the secret key.

    Raises:
        FormatError: for what is no sealed file, a damaged one, and for another passphrase or key.
        MismatchError: for a passphrase where a keeper's function is needed, and the other way around.
        ParameterError: without the package `cryptography`.
    """
    _require_cryptography()
    begin = len(MAGIC) + 4
    size = int.from_bytes(data[len(MAGIC) : begin], "little")
    if not data.startswith(MAGIC) or size > _MOST_HEADER or len(data) < begin + size:
        raise FormatError("this is no sealed secret key, or a part of it is missing")
    with damaged("the header of a sealed secret key"):
        header = read_json(data[begin : begin + size], "the header of a sealed secret key is no JSON")
        if not isinstance(header, dict):
            raise FormatError("a sealed secret key has a header with names")
        cost = header.get("scrypt")
        if cost is not None:
            salt = base64.b64decode(cost["salt"], validate=True)
            n, r, p = (int(cost[name]) for name in "nrp")
            if min(n, r, p) < 1 or n & (n - 1) or n < 2 or p > 16 or 128 * n * r > _MOST_MEMORY:
                raise FormatError("the sealed file asks for more memory than passphrases need")
        else:
            wrapped = base64.b64decode(header["wrapped"], validate=True)
    if (cost is None) == isinstance(unwrap, str):
        kept = "a passphrase" if cost is not None else "a key that a KMS or HSM keeps"
        raise MismatchError(f"the secret key is sealed under {kept}: give unseal that passphrase or function")
    if isinstance(unwrap, str):
        key = _of_passphrase(unwrap, salt, n=n, r=r, p=p)
    else:
        key = bytearray(unwrap(wrapped))
    if len(key) != _KEY:
        raise FormatError(f"the unwrapped key has {len(key)} bytes, not {_KEY}: another function wrapped it")
    try:
        return bytes(AESGCM(key).decrypt(_NONCE, data[begin + size :], data[: begin + size]))
    except InvalidTag:
        raise FormatError(
            "the sealed secret key does not open: the passphrase or key is another, or the file was changed"
        ) from None
    finally:
        key[:] = bytes(_KEY)


def _require_cryptography() -> None:
    if _problem is not None:
        raise ParameterError(f"sealed keys need cryptography ({_problem}): {how_to_install('sealing')}")


def _of_passphrase(passphrase: str, salt: bytes, *, n: int, r: int, p: int) -> bytearray:
    if not passphrase:
        raise ParameterError("an empty passphrase seals nothing")
    most = 128 * r * (n + p + 2) + (1 << 20)
    return bytearray(hashlib.scrypt(passphrase.encode(), salt=salt, n=n, r=r, p=p, maxmem=most, dklen=_KEY))
