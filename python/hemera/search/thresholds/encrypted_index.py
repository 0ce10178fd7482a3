"""The index with thresholds whose rows the server can not read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FormatError
from hemera.inputs.arguments import in_own_words, require_type
from hemera.inputs.fields import Kind, Whole
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.search import wire
from hemera.search.requests import new_ids, require_ids, require_settings
from hemera.search.thresholds.base import GONE, BaseThresholdIndex, Block
from hemera.search.thresholds.messages import pack_ciphertexts, require_form, take_ciphertexts
from hemera.search.thresholds.settings import ThresholdSettings

__all__ = ["EncryptedThresholdIndex", "pack_rows"]

_ROWS_FIELDS: dict[str, Kind] = {"settings": dict, "count": Whole(1), "has_ids": bool}


@in_own_words
class EncryptedThresholdIndex(BaseThresholdIndex):
    """An encrypted database of vectors, and of payloads, that are compared with encrypted thresholds. All is
    encrypted under the secret key of its owner, who asks: `ThresholdClient.owning` and `encrypt`.

    Args:
        rows: from `ThresholdClient.encrypt`.
        device: the device of the database, as for `hemera.Context`.
        threads: the number of threads of the CPU; None: as many as the process may run on.

    Raises:
        DeviceError: if there is no such device.
        FormatError: if the rows are damaged, or their settings are of a clear index.
        OutOfMemoryError: if the device has no room.
    """

    kind: ClassVar[str] = "encrypted threshold index"
    _file_fields: ClassVar[dict[str, Kind]] = {"blocks": Whole()}

    def __init__(self, rows: bytes, *, device: str = "cpu", threads: int | None = None) -> None:
        require_type(rows, bytes, "EncryptedThresholdIndex", "the bytes of ThresholdClient.encrypt")
        header, _ = wire.unpack("threshold rows", rows, _ROWS_FIELDS)
        self._open(_settings_of(header), device, threads)
        self.add(rows)

    def add(self, rows: bytes) -> NDArray[np.int64]:
        """Add encrypted rows after the others, in blocks of their own.

        Args:
            rows: from the `encrypt` of a client with these settings.

        Returns:
            The ids of the rows.

        Raises:
            FormatError: if they are damaged.
            MismatchError: if they are of other settings or another owner.
            OutOfMemoryError: if the device has no room. The index is unchanged.
            ParameterError: if an id is there already.
        """
        settings = self._settings
        header, body = wire.unpack("threshold rows", rows, _ROWS_FIELDS)
        require_settings(_settings_of(header).digest, settings, "message of rows")
        count = header["count"]
        size = 8 * count * header["has_ids"]
        if len(body) < size:
            raise FormatError(f"the message of {count} rows has {len(body)} bytes")
        blocks = -(-count // settings.rows)
        parts = _blocks_of(body[size:], blocks, settings, self._context)
        with self._lock:
            ids = np.frombuffer(body[:size], "<i8") if header["has_ids"] else None
            named = new_ids(ids, count, self.ids, self._next_id)
            places = np.full((blocks, settings.rows), GONE)
            places.reshape(-1)[:count] = named
            self._blocks = self._blocks + [
                Block(of_block, columns, payloads)
                for of_block, (columns, payloads) in zip(places, parts, strict=True)
            ]
            self._changed(named)
        return named

    def _row_squares(self) -> tuple[float, float]:
        return 1.0, 1.0  # of the largest rows: the server knows no others

    def _contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        parts = [block.ids.astype("<i8").tobytes() for block in self._blocks]
        for block in self._blocks:
            parts += pack_ciphertexts([*block.columns, *block.payloads])
        return {"blocks": len(self._blocks)}, parts

    @classmethod
    def _memory_of(cls, settings: ThresholdSettings, header: dict[str, Any]) -> int:
        return 8 * int(header["blocks"]) * settings.rows  # ciphertexts take what they have in the file

    def _fill(self, header: dict[str, Any], body: memoryview) -> None:
        settings, blocks = self._settings, header["blocks"]
        _require_owner(settings)
        size = 8 * blocks * settings.rows
        if len(body) < size:
            raise FormatError(f"the index of {blocks} blocks has {len(body)} bytes")
        ids = np.frombuffer(body[:size], "<i8").astype(np.int64).reshape(blocks, settings.rows)
        require_ids(ids[ids != GONE], self._next_id)
        parts = _blocks_of(body[size:], blocks, settings, self._context)
        self._blocks = [
            Block(of_block, columns, payloads)
            for of_block, (columns, payloads) in zip(ids, parts, strict=True)
        ]


def pack_rows(
    settings: ThresholdSettings,
    count: int,
    ids: NDArray[np.int64] | None,
    blocks: Sequence[Sequence[Ciphertext]],
) -> bytes:
    """The message of encrypted rows: of each block its columns, then its payloads."""
    header = {"settings": settings.to_fields(), "count": count, "has_ids": ids is not None}
    parts = [] if ids is None else [ids.astype("<i8").tobytes()]
    for block in blocks:
        parts += pack_ciphertexts(block)
    return wire.pack("threshold rows", header, *parts)


def _settings_of(header: dict[str, Any]) -> ThresholdSettings:
    settings = ThresholdSettings.from_fields(header["settings"])
    _require_owner(settings)
    return settings


def _require_owner(settings: ThresholdSettings) -> None:
    if not settings.owner:
        raise FormatError("these rows have the settings of a clear index")


def _blocks_of(
    body: memoryview, blocks: int, settings: ThresholdSettings, context: Context
) -> list[tuple[list[Ciphertext], list[Ciphertext]]]:
    """The columns and payloads of each block. FormatError, MismatchError."""
    columns = settings.columns
    found = []
    for _ in range(blocks):
        of_block, body = take_ciphertexts(body, columns + settings.payloads, context, "message of rows")
        for number, each in enumerate(of_block):
            require_form(each, (), settings.top if number < columns else 1, "message of rows")
        found.append((of_block[:columns], of_block[columns:]))
    if len(body):
        raise FormatError(f"the message of rows has {len(body)} bytes after its ciphertexts")
    return found
