"""Queries and answers of a search for the first k rows."""

from __future__ import annotations

from dataclasses import dataclass

from hemera.errors import FormatError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.search.ranks.settings import TopSettings
from hemera.search.thresholds.messages import (
    Answer,
    read_answer,
    read_query,
    require_blocks,
    require_form,
)

__all__ = ["Query", "unpack_answer", "unpack_query"]


@dataclass(frozen=True)
class Query:
    """An encrypted query."""

    want: str
    x: Ciphertext  # [1]; with "l2" [2]
    k: Ciphertext


def unpack_query(data: bytes, settings: TopSettings, ev: Evaluator) -> Query:
    """A query from its message. FormatError, MismatchError."""
    header, x, k = read_query("top query", data, settings, ev)
    _require_no_count(header["want"])
    require_form(k, (), settings.rank_level, "query")
    return Query(header["want"], x, k)


def unpack_answer(data: bytes, settings: TopSettings, context: Context) -> Answer:
    """An answer from its message. FormatError, MismatchError."""
    _, answer = read_answer("top answer", data, settings, context)
    _require_no_count(answer.want)
    require_blocks(answer, settings.blocks, settings.rows, settings)
    return answer


def _require_no_count(want: str) -> None:
    """FormatError for a message that is of the number of first rows, which is known."""
    if want == "count":
        raise FormatError("the message is damaged: the number of first rows is known")
