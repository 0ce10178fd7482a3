"""What indexes are asked with: ids, keys and queries."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.arguments import require_type
from hemera.inputs.fields import Kind, Whole
from hemera.inputs.plain import plain_array
from hemera.objects.context import Context
from hemera.objects.keys import Keys
from hemera.search import wire
from hemera.search.any_settings import AnySettings
from hemera.search.settings import Settings

SEED_BYTES = 32
IDS = 1 << 62
"""Ids are below it."""
MOST_PREPARED = 100_000
"""Queries of one message."""
_QUERY_FIELDS: dict[str, Kind] = {"settings": str, "count": Whole(1)}


@dataclass(frozen=True)
class Query:
    """Encrypted queries."""

    seed: bytes
    numbers: NDArray[np.uint64]  # [query, limb, dims]


def unpack_query(query: bytes, settings: Settings) -> Query:
    """The queries of a message from `Client.query`. FormatError, MismatchError."""
    header, body = wire.unpack("query", query, _QUERY_FIELDS)
    require_settings(header["settings"], settings, "query")
    count, limbs = header["count"], len(settings.params.primes[-1])
    expected = SEED_BYTES + count * limbs * settings.dims * settings.number_bytes
    if count < 1 or len(body) != expected:
        raise FormatError(f"the query has {len(body)} bytes of numbers for {count} queries")
    numbers = wire.unpack_numbers(body[SEED_BYTES:], settings.number_bytes)
    return Query(bytes(body[:SEED_BYTES]), numbers.reshape(count, limbs, settings.dims))


def seed_of(query: bytes) -> bytes:
    """The seed of a message from `Client.query`. FormatError."""
    _, body = wire.unpack("query", query, _QUERY_FIELDS)
    return bytes(body[:SEED_BYTES])


def seeds_of(preparation: bytes, settings: Settings) -> list[bytes]:
    """The seeds of a message from `Client.prepare`. FormatError, MismatchError."""
    header, body = wire.unpack("preparation", preparation, _QUERY_FIELDS)
    require_settings(header["settings"], settings, "preparation")
    count = header["count"]
    if not 1 <= count <= MOST_PREPARED or len(body) != count * SEED_BYTES:
        raise FormatError(f"the preparation of {count} queries has {len(body)} bytes of seeds")
    return [bytes(body[at : at + SEED_BYTES]) for at in range(0, len(body), SEED_BYTES)]


def name_of(query: bytes) -> str:
    """32 hexadecimal digits that an answer names its query by."""
    return hashlib.sha256(query).hexdigest()[:32]


def require_settings(digest: str, settings: AnySettings, what: str) -> None:
    """MismatchError unless a message is for these settings."""
    if digest != settings.digest:
        raise MismatchError(
            f"the {what} is for an index of other settings than these, of {settings.dims} numbers and "
            f"{settings.metric!r}; make it with a client of this index's settings"
        )


def keys_of(keys: bytes | Keys, context: Context, operation: str) -> Keys:
    """A client's keys in a context, from their bytes. FormatError, MismatchError."""
    loaded = context.load(keys) if isinstance(keys, bytes) else keys
    return require_type(loaded, Keys, operation, "the keys of a client, or their bytes,")


def as_ids(ids: ArrayLike) -> NDArray[np.int64]:
    """Ids in one axis. TypeError for other numbers, ParameterError for those out of their range."""
    given = plain_array(ids, "ids")
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise TypeError(f"ids are integers in one axis, not {given.dtype} of shape {given.shape}")
    if given.size and (given.min() < 0 or given.max() >= IDS):
        raise ParameterError("ids are from 0 to 2^62 - 1")
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
    if len(np.unique(named)) != count:
        raise ParameterError("an id is given twice; each row has its own")
    known = named[np.isin(named, there)]
    if len(known):
        raise ParameterError(f"the index has a row {int(known[0])} already; remove it first")
    return named


def require_ids(ids: NDArray[np.int64], next_id: int) -> None:
    """FormatError unless these are the ids of a file's index."""
    is_above = ids.max(initial=-1) < next_id <= IDS
    if len(np.unique(ids)) != len(ids) or not is_above or ids.min(initial=0) < 0:
        raise FormatError("the ids of the index are damaged")


def places_of(ids: ArrayLike, there: NDArray[np.int64]) -> NDArray[Any]:
    """The positions of ids among those that are there, ascending. ParameterError if one is not there, or
    repeats."""
    gone = as_ids(ids)
    if len(np.unique(gone)) != len(gone) or not np.isin(gone, there).all():
        missing = np.setdiff1d(gone, there)
        raise ParameterError(
            f"the index has no row {int(missing[0])}" if len(missing) else "an id is given twice"
        )
    return np.flatnonzero(np.isin(there, gone))
