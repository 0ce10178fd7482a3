"""Queries and answers of a search for the first k rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FormatError, ParameterError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.search import wire
from hemera.search.ranks.settings import TopSettings
from hemera.search.thresholds.messages import (
    pack_ciphertexts,
    require_form,
    require_settings,
    require_want,
    take_ciphertexts,
)

__all__ = ["Answer", "Query", "pack_answer", "pack_query"]

_QUERY_FIELDS: dict[str, type] = {"settings": str, "want": str}
_ANSWER_FIELDS: dict[str, type] = {"settings": str, "query": str, "index_version": int, "want": str}


def pack_query(settings: TopSettings, want: str, x: Ciphertext, k: Ciphertext) -> bytes:
    """The message of a query."""
    return wire.pack("top query", {"settings": settings.digest, "want": want}, *pack_ciphertexts([x, k]))


@dataclass(frozen=True)
class Query:
    """An encrypted query."""

    want: str
    x: Ciphertext  # [1]; with "l2" [2]
    k: Ciphertext

    @classmethod
    def unpack(cls, data: bytes, settings: TopSettings, ev: Evaluator) -> Query:
        """From its message. FormatError, MismatchError."""
        header, body = wire.unpack("top query", data, _QUERY_FIELDS)
        require_settings(header["settings"], settings, "query")
        _require_want(header["want"], settings)
        (x, k), rest = take_ciphertexts(body, 2, ev, "query")
        if len(rest):
            raise FormatError(f"the query of a search has {len(rest)} bytes after its ciphertexts")
        require_form(x, (1 + settings.entries - settings.dims,), settings.top, "query")
        require_form(k, (), settings.rank_level, "query")
        return cls(header["want"], x, k)


@dataclass(frozen=True)
class Answer:
    """Encrypted results."""

    name: str
    """Of the query."""
    want: str
    ids: NDArray[np.int64]
    """[rows]: of the places of rows; -1: there is none."""
    results: list[Ciphertext]
    """The mask [blocks], and of payloads also these, [blocks, ciphertexts]."""

    @classmethod
    def unpack(cls, data: bytes, settings: TopSettings, context: Context) -> Answer:
        """From its message. FormatError, MismatchError."""
        header, body = wire.unpack("top answer", data, _ANSWER_FIELDS)
        require_settings(header["settings"], settings, "answer")
        _require_want(header["want"], settings)
        count = 2 if header["want"] == "payloads" else 1
        results, rest = take_ciphertexts(body, count, context, "answer")
        shapes = [(settings.blocks,), (settings.blocks, settings.payloads)][:count]
        slots = settings.layout.slots
        if len(rest) != 8 * settings.rows or any(
            x.shape != shape or x.slots != slots for x, shape in zip(results, shapes, strict=True)
        ):
            raise FormatError("the ciphertexts of the answer, or its ids, have other shapes")
        ids = np.frombuffer(rest, "<i8").astype(np.int64)
        return cls(header["query"], header["want"], ids, results)


def pack_answer(
    settings: TopSettings,
    name: str,
    version: int,
    want: str,
    ids: NDArray[np.int64],
    results: Sequence[Ciphertext],
) -> bytes:
    """The message of an answer to the query of this name."""
    header = {"settings": settings.digest, "query": name, "index_version": version, "want": want}
    return wire.pack("top answer", header, *pack_ciphertexts(results), ids.astype("<i8").tobytes())


def _require_want(want: str, settings: TopSettings) -> None:
    try:
        if want == "count":
            raise ParameterError("the number of first rows is known")
        require_want(want, settings)
    except ParameterError as error:
        raise FormatError(f"the message is damaged: {error}") from None
