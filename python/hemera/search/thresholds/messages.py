"""Queries and answers of searches that compare scores: with thresholds, or with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.search import wire
from hemera.search.any_settings import AnySettings
from hemera.search.requests import require_settings
from hemera.search.thresholds.circuit import Want
from hemera.search.thresholds.settings import ThresholdSettings

__all__ = [
    "Answer",
    "Query",
    "pack_answer",
    "pack_ciphertexts",
    "pack_query",
    "read_answer",
    "read_query",
    "require_blocks",
    "require_form",
    "require_want",
    "take_ciphertexts",
    "unpack_answer",
    "unpack_query",
]

_FIELDS: dict[str, type] = {"settings": str, "want": str}
"""Fields of queries, and with the next ones those of answers."""
_ANSWER_FIELDS: dict[str, type] = {"query": str, "index_version": int}
MOST_THRESHOLDS = 4096
"""The most thresholds of one query."""


def require_want(want: str, settings: ThresholdSettings) -> None:
    """ParameterError for a result that the index does not have."""
    if want not in get_args(Want):
        raise ParameterError(f"a query wants one of {', '.join(get_args(Want))}, not {want!r}")
    if want == "payloads" and settings.payload == 0:
        raise ParameterError("the rows of this index have no payloads; give payloads= when it is made")


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


# --- Queries. ---


@dataclass(frozen=True)
class Query:
    """An encrypted query with thresholds."""

    want: Want
    x: Ciphertext  # [1]; with "l2" [2]
    thresholds: Ciphertext  # [ciphertext]


def pack_query(kind: str, settings: AnySettings, want: str, *parts: Ciphertext, **fields: int) -> bytes:
    """The message of a query of this kind, with fields of its own."""
    header = {"settings": settings.digest, "want": want, **fields}
    return wire.pack(kind, header, *pack_ciphertexts(parts))


def read_query(
    kind: str, data: bytes, settings: ThresholdSettings, ev: Evaluator, **fields: type
) -> tuple[dict[str, Any], Ciphertext, Ciphertext]:
    """The header of a query of this kind, which wants what the index has, its numbers, and the ciphertext
    that these are compared with. FormatError, MismatchError."""
    header, body = wire.unpack(kind, data, {**_FIELDS, **fields})
    require_settings(header["settings"], settings, "query")
    _require_sent_want(header["want"], settings)
    (x, compared), rest = take_ciphertexts(body, 2, ev, "query")
    if len(rest):
        raise FormatError(f"the query of a search has {len(rest)} bytes after its ciphertexts")
    require_form(x, (1 + settings.entries - settings.dims,), settings.top, "query")
    return header, x, compared


def unpack_query(data: bytes, settings: ThresholdSettings, ev: Evaluator) -> Query:
    """A query with thresholds from its message. FormatError, MismatchError."""
    header, x, thresholds = read_query("threshold query", data, settings, ev, thresholds=int)
    want, count = header["want"], header["thresholds"]
    if not 1 <= count <= (MOST_THRESHOLDS if want == "count" else 1):
        raise FormatError(f"a query of {count} thresholds for the {want} of rows")
    require_form(thresholds, (-(-count // settings.layout.copies),), settings.top - 1, "query")
    return Query(want, x, thresholds)


# --- Answers. ---


@dataclass(frozen=True)
class Answer:
    """Encrypted results."""

    name: str
    """The name of the query."""
    want: str
    ids: NDArray[np.int64]
    """[places of rows]: of each block one after the other; -1: there is none."""
    results: list[Ciphertext]
    """The mask [blocks], and of payloads also these, [blocks, ciphertexts]; or the counts [ciphertexts]."""


def pack_answer(
    kind: str, header: dict[str, Any], ids: NDArray[np.int64], results: Sequence[Ciphertext]
) -> bytes:
    """The message of an answer of this kind."""
    return wire.pack(kind, header, *pack_ciphertexts(results), ids.astype("<i8").tobytes())


def read_answer(
    kind: str, data: bytes, settings: ThresholdSettings, context: Context, **fields: type
) -> tuple[dict[str, Any], Answer]:
    """The header of an answer of this kind, and its results in the slots of the settings. FormatError,
    MismatchError."""
    header, body = wire.unpack(kind, data, {**_FIELDS, **_ANSWER_FIELDS, **fields})
    require_settings(header["settings"], settings, "answer")
    want = header["want"]
    _require_sent_want(want, settings)
    results, rest = take_ciphertexts(body, 2 if want == "payloads" else 1, context, "answer")
    if len(rest) % 8 or any(x.slots != settings.layout.slots for x in results):
        raise FormatError("the ciphertexts of the answer, or its ids, have other shapes")
    return header, Answer(header["query"], want, np.frombuffer(rest, "<i8").astype(np.int64), results)


def require_blocks(answer: Answer, blocks: int, rows: int, settings: ThresholdSettings) -> None:
    """FormatError unless an answer has results of so many blocks, and ids of so many rows."""
    shapes = [(blocks,), (blocks, settings.payloads)]
    if len(answer.ids) != rows or any(
        x.shape != shape for x, shape in zip(answer.results, shapes, strict=False)
    ):
        raise FormatError("the ciphertexts of the answer, or its ids, have other shapes")


def unpack_answer(data: bytes, settings: ThresholdSettings, context: Context) -> Answer:
    """An answer to a query with thresholds from its message. FormatError, MismatchError."""
    header, answer = read_answer("threshold answer", data, settings, context, blocks=int)
    blocks = header["blocks"]
    if blocks < 0 or (blocks == 0) != (answer.want == "count"):
        raise FormatError(f"an answer of the {answer.want!r} of {blocks} blocks")
    if answer.want != "count":
        require_blocks(answer, blocks, blocks * settings.rows, settings)
    elif answer.results[0].ndim != 1 or len(answer.ids):
        raise FormatError("the ciphertexts of the counts have other shapes")
    return answer


def _require_sent_want(want: str, settings: ThresholdSettings) -> None:
    """FormatError in the place of `require_want`'s error: of a message."""
    try:
        require_want(want, settings)
    except ParameterError as error:
        raise FormatError(f"the message is damaged: {error}") from None
