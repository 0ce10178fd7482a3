"""Queries and answers of a search with thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.search import wire
from hemera.search.thresholds.circuit import Want
from hemera.search.thresholds.settings import ThresholdSettings

__all__ = ["Answer", "Query", "pack_ciphertexts", "require_settings", "require_want", "take_ciphertexts"]

_QUERY_FIELDS: dict[str, type] = {"settings": str, "want": str, "thresholds": int}
_ANSWER_FIELDS: dict[str, type] = {
    "settings": str,
    "query": str,
    "index_version": int,
    "want": str,
    "blocks": int,
}
WANTS = ("mask", "count", "payloads")
MOST_THRESHOLDS = 4096
"""Of one query."""


def require_want(want: str, settings: ThresholdSettings) -> None:
    """ParameterError for a result that the index does not have."""
    if want not in WANTS:
        raise ParameterError(f"a query wants one of {', '.join(WANTS)}, not {want!r}")
    if want == "payloads" and settings.payload == 0:
        raise ParameterError("the rows of this index have no payloads; give payloads= when it is made")


def require_settings(digest: str, settings: ThresholdSettings, what: str) -> None:
    """MismatchError unless a message is for these settings."""
    if digest != settings.digest:
        raise MismatchError(
            f"the {what} is for an index of other settings than these, of {settings.dims} numbers and a "
            f"margin of {settings.margin:g}; make it with a client of this index's settings"
        )


def pack_ciphertexts(parts: Sequence[Ciphertext]) -> list[bytes]:
    """Ciphertexts as parts of a message, each behind its length."""
    packed = []
    for part in parts:
        data = part.to_bytes()
        packed += [len(data).to_bytes(8, "little"), data]
    return packed


def take_ciphertexts(
    body: memoryview, count: int, source: Context | Evaluator, what: str
) -> tuple[list[Ciphertext], memoryview]:
    """So many ciphertexts from the beginning of a message's body, and the rest of it. FormatError,
    MismatchError."""
    found = []
    for _ in range(count):
        length = int.from_bytes(body[:8], "little")
        if len(body) < 8 or length > len(body) - 8:
            raise FormatError(f"the {what} of a search lacks ciphertexts")
        loaded = source.load(bytes(body[8 : 8 + length]))
        if not isinstance(loaded, Ciphertext):
            raise FormatError(f"the {what} of a search has a {type(loaded).__name__} for a ciphertext")
        found.append(loaded)
        body = body[8 + length :]
    return found, body


def require_form(x: Ciphertext, shape: tuple[int, ...], level: int, what: str) -> None:
    """MismatchError unless a ciphertext has this shape, and is fresh at this level."""
    like = x.context.encode(np.zeros(x.context.params.max_slots), level=level)
    is_fresh = (x.size, x.scale, x.slots, x.level) == (2, like.scale, like.slots, level)
    if x.shape != shape or not is_fresh:
        raise MismatchError(
            f"the {what} of a search is {x!r}, where one of shape {shape} at level {level} is needed"
        )


@dataclass(frozen=True)
class Query:
    """An encrypted query."""

    want: Want
    x: Ciphertext  # [1]; with "l2" [2]
    thresholds: Ciphertext  # [ciphertext]

    @classmethod
    def unpack(cls, data: bytes, settings: ThresholdSettings, ev: Evaluator) -> Query:
        """From its message. FormatError, MismatchError."""
        header, body = wire.unpack("threshold query", data, _QUERY_FIELDS)
        require_settings(header["settings"], settings, "query")
        want, count = header["want"], header["thresholds"]
        try:
            require_want(want, settings)
        except ParameterError as error:
            raise FormatError(f"the query is damaged: {error}") from None
        most = MOST_THRESHOLDS if want == "count" else 1
        if not 1 <= count <= most:
            raise FormatError(f"a query of {count} thresholds for the {want} of rows")
        (x, thresholds), rest = take_ciphertexts(body, 2, ev, "query")
        if len(rest):
            raise FormatError(f"the query of a search has {len(rest)} bytes after its ciphertexts")
        batch = -(-count // settings.layout.copies)
        require_form(x, (1 + settings.entries - settings.dims,), settings.top, "query")
        require_form(thresholds, (batch,), settings.top - 1, "query")
        return cls(want, x, thresholds)


@dataclass(frozen=True)
class Answer:
    """Encrypted results."""

    name: str
    """Of the query."""
    want: str
    ids: NDArray[np.int64]
    """[blocks, rows]: of the places of rows; -1: there is none."""
    results: list[Ciphertext]
    """The mask [blocks], and of payloads also these, [blocks, ciphertexts]; or the counts [ciphertexts]."""

    @classmethod
    def unpack(cls, data: bytes, settings: ThresholdSettings, context: Context) -> Answer:
        """From its message. FormatError, MismatchError."""
        header, body = wire.unpack("threshold answer", data, _ANSWER_FIELDS)
        require_settings(header["settings"], settings, "answer")
        want, blocks = header["want"], header["blocks"]
        if want not in WANTS or blocks < 0 or (blocks == 0) != (want == "count"):
            raise FormatError(f"an answer of the {want!r} of {blocks} blocks")
        results, rest = take_ciphertexts(body, 2 if want == "payloads" else 1, context, "answer")
        if len(rest) != 8 * blocks * settings.rows:
            raise FormatError(f"the answer has {len(rest)} bytes of ids for {blocks} blocks")
        ids = np.frombuffer(rest, "<i8").astype(np.int64).reshape(blocks, settings.rows)
        shapes = [(blocks,), (blocks, settings.payloads)]
        is_right = all(x.slots == settings.layout.slots for x in results)
        if want == "count":
            is_right = is_right and results[0].ndim == 1
        else:
            is_right = is_right and all(x.shape == shape for x, shape in zip(results, shapes, strict=False))
        if not is_right:
            raise FormatError("the ciphertexts of the answer have other shapes")
        return cls(header["query"], want, ids, results)


def pack_answer(header: dict[str, Any], ids: NDArray[np.int64], results: Sequence[Ciphertext]) -> bytes:
    """The message of an answer."""
    return wire.pack("threshold answer", header, *pack_ciphertexts(results), ids.astype("<i8").tobytes())
