"""The common part of messages of all indexes: names, ids, keys."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import FormatError, MismatchError, MissingKeyError, ParameterError
from hemera.inputs.arguments import require_type
from hemera.inputs.fields import Kind, Whole
from hemera.inputs.plain import plain_array
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.objects.keys import Keys
from hemera.search import wire
from hemera.search.settings import Settings

Header = Callable[[str], dict[str, Any]]
"""The fields that the headers of all answers have, to the query of a name."""
IDS = 1 << 62
"""Ids are below it."""
Want = Literal["mask", "count", "payloads"]
GONE = -1
"""A mark in the place of the id of a row that was removed, or that there is not yet."""
_ROWS_FIELDS: dict[str, Kind] = {"settings": dict, "count": Whole(1), "has_ids": bool}


class Given(NamedTuple):
    """Rows that are to be added: their number, ids, and what their storage has made of them."""

    number: int
    ids: ArrayLike | None
    data: Any


class Sent(NamedTuple):
    """A message with encrypted rows: their ids if it has some, and the ciphertexts."""

    settings: Settings
    number: int
    ids: NDArray[np.int64] | None
    body: memoryview


class Group(NamedTuple):
    """Messages that are answered together: their places in the order of all, their names, the keys of each
    client, or an evaluator with those of the only one, and the queries as a program has read them."""

    places: Sequence[int]
    names: Sequence[str]
    keys: Any
    queries: Sequence[Any]


def name_of(query: bytes) -> str:
    """32 hexadecimal digits that an answer names its query by."""
    return hashlib.sha256(query).hexdigest()[:32]


def opened(
    kind: str, data: bytes, fields: Mapping[str, Kind], settings: Settings
) -> tuple[dict[str, Any], memoryview]:
    """Header and body of a message of this kind for an index of these settings. FormatError,
    MismatchError."""
    header, body = wire.unpack(kind, data, {"settings": str, **fields})
    require_settings(header["settings"], settings, kind.rpartition(" ")[2])
    return header, body


def require_settings(digest: str, settings: Settings, what: str) -> None:
    """MismatchError unless a message is for these settings."""
    if digest != settings.digest:
        raise MismatchError(
            f"the {what} is for an index of other settings than these, of {settings.dims} numbers and "
            f"{settings.metric!r}; make it with a client of this index's settings"
        )


def not_prepared(settings: Settings) -> MismatchError:
    """The error where an index has no prepared queries."""
    return MismatchError(
        f"an index of the kind {settings.index_kind!r} has no prepared queries; send them as they are"
    )


def keys_of(keys: bytes | Keys, context: Context, operation: str) -> Keys:
    """A client's keys in a context, from their bytes. FormatError, MismatchError."""
    loaded = context.load(keys) if isinstance(keys, bytes) else keys
    return require_type(loaded, Keys, operation, "the keys of a client, or their bytes,")


def require_keys(keys: Keys, elements: set[int], *, products: bool) -> None:
    """MissingKeyError unless keys have these Galois elements, and the one for products if they need it."""
    missing = sorted(elements.difference(keys.galois_elements))
    lacks = f"automorphism X -> X^{missing[0]}" if missing else "one for products"
    if missing or (products and not keys.has_relinearization):
        raise MissingKeyError(
            f"the keys lack the {lacks}; send those that the client makes for this index "
            "(hemera.search.Client.keys)"
        )


def as_ids(ids: ArrayLike) -> NDArray[np.int64]:
    """Ids in one axis. TypeError for other numbers, ParameterError for those out of their range, or that
    repeat."""
    given = plain_array(ids, "ids")
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise TypeError(f"ids are integers in one axis, not {given.dtype} of shape {given.shape}")
    if given.size and (given.min() < 0 or given.max() >= IDS):
        raise ParameterError("ids are from 0 to 2^62 - 1")
    if len(np.unique(given)) != len(given):
        raise ParameterError("an id is given twice; each row has its own")
    return given.astype(np.int64)


def new_ids(ids: ArrayLike | None, count: int, there: NDArray[np.int64], next_id: int) -> NDArray[np.int64]:
    """The ids of rows to add, beside those that are there; None: integers from `next_id` on.

    MismatchError for another number of ids; ParameterError for one that is there or repeats.
    """
    if ids is None:
        if next_id + count > IDS:
            raise ParameterError("no ids above the largest one are left: give ids=")
        return np.arange(next_id, next_id + count)
    named = as_ids(ids)
    if len(named) != count:
        raise MismatchError(f"{len(named)} ids for {count} vectors; each vector has one")
    known = named[np.isin(named, there)]
    if len(known):
        raise ParameterError(f"the index has a row {int(known[0])} already; remove it first")
    return named


def read_ids(body: memoryview) -> NDArray[np.int64]:
    """Ids of a message or file."""
    return np.frombuffer(body, "<i8").astype(np.int64)


def sent_rows(message: bytes) -> Sent:
    """Encrypted rows from their message. FormatError."""
    kind = wire.kind_of(message)
    header, body = wire.unpack(kind if kind.endswith("rows") else "rows", message, _ROWS_FIELDS)
    settings = Settings.from_fields(header["settings"], kind)
    if not settings.owner:
        raise FormatError("the settings of the message of rows are a clear index's")
    count, size = header["count"], 8 * header["count"] * header["has_ids"]
    if len(body) < size:
        raise FormatError(f"the message of {count} rows has {len(body)} bytes")
    return Sent(settings, count, read_ids(body[:size]) if header["has_ids"] else None, body[size:])


def rows_for(settings: Settings, rows: bytes | Sent, payloads: object, ids: object) -> Sent:
    """The same for an index of these settings. MismatchError; ParameterError for payloads or ids beside the
    message."""
    if payloads is not None or ids is not None:
        raise ParameterError("encrypted rows have the payloads and ids that their owner gave Client.encrypt")
    sent = rows
    if not isinstance(sent, Sent):
        sent = sent_rows(require_type(sent, bytes, "an encrypted index", "the bytes of Client.encrypt"))
    require_settings(sent.settings.digest, settings, "message of rows")
    return sent


def require_ids(ids: NDArray[np.int64], next_id: int) -> None:
    """FormatError unless these are the ids of a file's index."""
    is_above = ids.max(initial=-1) < next_id <= IDS
    if len(np.unique(ids)) != len(ids) or not is_above or ids.min(initial=0) < 0:
        raise FormatError("the ids of the index are damaged")


def places_of(ids: ArrayLike, there: NDArray[np.int64]) -> NDArray[Any]:
    """The positions of ids among those that are there, ascending. ParameterError if one is not there, or
    repeats."""
    gone = as_ids(ids)
    missing = np.setdiff1d(gone, there)
    if len(missing):
        raise ParameterError(f"the index has no row {int(missing[0])}")
    return np.flatnonzero(np.isin(there, gone))


# --- Ciphertexts of comparisons. ---


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
