"""Queries and answers of searches that compare scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FormatError, MismatchError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator

Want = Literal["mask", "count", "payloads"]
GONE = -1
"""A mark in the place of the id of a row that was removed, or that there is not yet."""


@dataclass(frozen=True)
class Matches:
    """The rows above a threshold, or the first ones."""

    ids: NDArray[np.int64]
    """[matches], in the index's order."""
    doubtful: NDArray[np.int64]
    """Ids of rows, matches or not, that are known to lie within the margin. Such rows may be missing here."""
    payloads: NDArray[np.float64] | None = None
    """[matches, numbers], if they were asked for. Payloads of doubtful matches are not right."""

    def __len__(self) -> int:
        return len(self.ids)


class Query(NamedTuple):
    """An encrypted query: x of shape [1], with "l2" [2]; and the thresholds, or k, which are compared."""

    want: str
    x: Ciphertext
    compared: Sequence[Ciphertext]


class Answer(NamedTuple):
    """Encrypted results to the query of a name: the mask [blocks], and of payloads also these, [blocks,
    ciphertexts]; or the counts [ciphertexts]. With the ids of places of rows, of each block one after the
    other."""

    name: str
    want: str
    ids: NDArray[np.int64]
    results: list[Ciphertext]


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
