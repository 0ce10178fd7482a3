"""Files of requests and answers that name the model they are for (docs/serving.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from hemera import _core

__all__ = ["MAGIC", "model_of", "named", "opened"]

MAGIC = b"\x89HEMREQ\n"
_DIGEST, _CHECK = 32, 8
_HEAD = len(MAGIC) + _DIGEST + _CHECK


def named(file: bytes, digest: str) -> bytes:
    """A file with the digest of its model, 64 hexadecimal digits, before it: 48 bytes more."""
    head = MAGIC + bytes.fromhex(digest)
    return head + _check_of(head) + file


def model_of(data: bytes) -> tuple[str | None, bytes]:
    """The digest that stands before a file, and the file; None before a file that names no model.

    Raises:
        FormatError: if the digest is damaged.
    """
    if data[: len(MAGIC)] != MAGIC:
        return None, data
    head = data[: _HEAD - _CHECK]
    if len(data) < _HEAD or data[len(head) : _HEAD] != _check_of(head):
        raise _core.FormatError("the name of the model before the file is damaged")
    return head[len(MAGIC) :].hex(), data[_HEAD:]


def opened(files: Mapping[str, bytes]) -> tuple[dict[str, bytes], set[str]]:
    """Files without the digests before them, and these digests. FormatError as `model_of`."""
    found = {name: model_of(data) for name, data in files.items()}
    digests = {digest for digest, _ in found.values() if digest is not None}
    return {name: file for name, (_, file) in found.items()}, digests


def _check_of(head: bytes) -> bytes:
    return hashlib.sha256(head).digest()[:_CHECK]
