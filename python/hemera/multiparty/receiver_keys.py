"""Receivers' public keys, as members find them in the shared folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from hemera.errors import FormatError
from hemera.multiparty.identity import Identity, Unsigned
from hemera.multiparty.shared import Shared
from hemera.objects.context import Context
from hemera.objects.keys import Keys


def key_of(
    folder: Shared, shared: Identity | Unsigned, context: Context, name: str
) -> tuple[Keys, bytes] | None:
    """A receiver's public key, and its digest; None where it has given none.

    Raises:
        FormatError: for a file that is none.
        MismatchError: for a key of other parameters.
    """
    try:
        data = shared.read(folder / "receivers" / name, {name})
    except (FileNotFoundError, FormatError):
        return None
    found = context.load(data)
    if not isinstance(found, Keys) or not found.has_public_key:
        raise FormatError(f"what {name} wrote is no public key")
    return found, hashlib.sha256(data).digest()


def digests_of(
    folder: Shared, shared: Identity | Unsigned, context: Context, names: Iterable[str]
) -> dict[str, bytes]:
    """The digests of the keys that are there, by their receivers."""
    found = {name: key_of(folder, shared, context, name) for name in names}
    return {name: each[1] for name, each in found.items() if each is not None}
