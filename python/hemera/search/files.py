"""Files of indexes, recognised by what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hemera.errors import FormatError
from hemera.inputs.source import Source, read_bytes
from hemera.search import wire
from hemera.search.any_index import MOST_BYTES, AnyIndex
from hemera.search.any_settings import AnySettings
from hemera.search.encrypted_index import EncryptedIndex
from hemera.search.index import Index
from hemera.search.ranks import TopIndex
from hemera.search.thresholds import EncryptedThresholdIndex, ThresholdIndex

__all__ = ["load", "settings_of"]

_KINDS: Mapping[str, type[AnyIndex[Any]]] = {
    each.kind: each for each in (Index, EncryptedIndex, ThresholdIndex, EncryptedThresholdIndex, TopIndex)
}
"""The classes by the kinds of their files."""


def load(
    source: Source, *, device: str = "cpu", threads: int | None = None, limit: int = MOST_BYTES
) -> AnyIndex[Any]:
    """The index of a file or its bytes, of any kind: an `Index`, an `EncryptedIndex`, a `ThresholdIndex`, an
    `EncryptedThresholdIndex` or a `TopIndex`.

    Args:
        source: the path of a file that `save` wrote, or its bytes.
        device: the device of the database, as for `hemera.Context`.
        threads: the number of threads of the CPU; None: as many as the process may run on.
        limit: bytes of memory that its rows may take, or 128 times the file's bytes, if that is more.

    Raises:
        FormatError: if it is damaged, no index, or would take more memory than the limit.
        FileError: if the file can not be read.
        DeviceError, OutOfMemoryError: as for an index.
    """
    data = read_bytes(source)
    return _KINDS[_kind_of(data)].load(data, device=device, threads=threads, limit=limit)


def settings_of(source: Source) -> AnySettings:
    """The settings of the index in a file, or its bytes, whose checksum is right. FormatError, FileError."""
    data = read_bytes(source)
    kind = _kind_of(data)
    header, _ = wire.unpack_any(kind, data)
    if not isinstance(header.get("settings"), dict):
        raise FormatError("the header of the index has no settings")
    return _KINDS[kind].settings_type.from_fields(header["settings"])


def _kind_of(data: bytes) -> str:
    kind = wire.kind_of(data)
    if kind not in _KINDS:
        raise FormatError(f"this is the {kind!r} of a search, where an index is needed (index.save(path))")
    return kind
