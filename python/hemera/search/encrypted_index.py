"""The encrypted index: rows and queries that only their owner can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.errors import FormatError, RangeError
from hemera.inputs.arguments import in_own_words, require_type
from hemera.inputs.fields import Kind, Whole
from hemera.inputs.plain import plain_array
from hemera.objects.keys import Keys
from hemera.search import quantization, wire
from hemera.search.base import Asked, BaseIndex
from hemera.search.requests import (
    SEED_BYTES,
    new_ids,
    places_of,
    require_ids,
    require_settings,
)
from hemera.search.settings import MOST_MESSAGES, Errors, Settings, encrypted_errors

__all__ = ["EncryptedIndex"]

_ROWS_FIELDS: dict[str, Kind] = {"settings": dict, "count": Whole(1), "has_ids": bool}
_LARGEST_INTEGER = 32767
"""The largest integer of queries in the clear: 16 bits."""


@dataclass(frozen=True)
class _Sent:
    """The rows of a message."""

    settings: Settings
    ids: NDArray[np.int64] | None
    blocks: list[tuple[int, list[tuple[bytes, NDArray[np.uint64]]]]]
    """The rows of each, and for each of the index's databases a seed and numbers."""


@in_own_words
class EncryptedIndex(BaseIndex):
    """A database of vectors that the server can not read: their owner encrypts them, `Client.encrypt`. It
    answers encrypted queries of the owner, and queries in the clear of anyone, with scores that the owner
    alone decrypts.

    A block of `settings.degree` rows takes 16 bytes an entry of the device's memory, 32 with exact scores;
    metric "l2" takes that of one entry more. A file has 12 bytes an entry (exact: 24). Any thread may use an
    index; one call runs at a time.

    Args:
        rows: from `Client.encrypt`. Their settings are the index's.
        device: the device of the database, as for `hemera.Context`.
        threads: the number of threads of the CPU; None: as many as the process may run on.

    Raises:
        DeviceError: if there is no such device.
        FormatError: if the rows are damaged.
        OutOfMemoryError: if the device has no room.
        ParameterError: if an id repeats.

    Examples:
        >>> vectors = np.random.default_rng(1).normal(size=(1000, 64))
        >>> owner = hm.search.Client.owning(vectors)
        >>> index = hm.search.EncryptedIndex(owner.encrypt(vectors))
        >>> answer = index.query(owner.query(vectors[17]), owner.keys)
        >>> scores, ids = owner.decrypt(answer, k=3)
        >>> int(ids[0]), round(float(scores[0]), 2)
        (17, 1.0)
    """

    kind: ClassVar[str] = "encrypted index"
    _file_fields: ClassVar[dict[str, Kind]] = {"blocks": Whole()}

    def __init__(self, rows: bytes, *, device: str = "cpu", threads: int | None = None) -> None:
        sent = _unpack_rows(rows)
        self._open(sent.settings, device, threads)
        self._add(sent)

    def _open(self, settings: Settings, device: str, threads: int | None) -> None:
        super()._open(settings, device, threads)
        # Entries, and squared norms. Both have the same blocks.
        self._databases = [
            _core.SearchEncryptedDatabase(self._context._native, dims)
            for dims in _dims_of_databases(settings)
        ]
        self._ids = np.empty((0, settings.degree), np.int64)  # [block, place], -1 where there is no row
        self._used: list[int] = []  # places of each block from which on there never was a row
        self._messages: list[int] = []  # that were added up in each block

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of the rows in the order of answers: a copy."""
        return self._ids[self._ids >= 0]

    @property
    def memory_bytes(self) -> int:
        """Bytes of the ciphertexts in the device's memory."""
        return sum(database.memory_bytes for database in self._databases)

    @property
    def expected_error(self) -> Errors:
        """The errors of scores of encrypted queries of norm 1, as standard deviations over all rows, for rows
        of the norm `settings.row_bound`: of cosines; of other metrics at most (docs/search.md). With exact
        scores both are 0. Queries in the clear have less."""
        sizes = (self._ids >= 0).sum(axis=1)
        used = float(np.average(self._used, weights=sizes)) if sizes.any() else 1.0
        messages = float(np.average(self._messages, weights=sizes)) if sizes.any() else 1.0
        return encrypted_errors(self._settings, used, messages)

    def __len__(self) -> int:
        return int((self._ids >= 0).sum())

    # --- Rows. ---

    def add(self, rows: bytes) -> NDArray[np.int64]:
        """Add the owner's rows after the others: the first ones to the last block if they fit, and it has
        been added to fewer than 16 times. Its noise grows with the square root of these times.

        Args:
            rows: from `Client.encrypt`.

        Returns:
            The ids of the rows.

        Raises:
            FormatError: if the rows are damaged. The index is unchanged.
            MismatchError: if they are of another owner's settings.
            OutOfMemoryError: if the device has no room. The index is unchanged.
            ParameterError: if an id is there already, or repeats.
        """
        sent = _unpack_rows(rows)
        require_settings(sent.settings.digest, self._settings, "message of rows")
        return self._add(sent)

    def _add(self, sent: _Sent) -> NDArray[np.int64]:
        degree = self._settings.degree
        with self._lock:
            count = sum(size for size, _ in sent.blocks)
            named = new_ids(sent.ids, count, self.ids, self._next_id)
            before = len(self._used)
            first = self._used[-1] if before else degree
            joins = sent.blocks[0][0] <= degree - first and self._messages[-1] < MOST_MESSAGES
            places = [(before - 1, first)] if joins else []
            places += [(before + i, 0) for i in range(len(sent.blocks) - joins)]
            try:
                for database in self._databases:
                    database.resize(before + len(sent.blocks) - joins)
                for (block, place), (size, parts) in zip(places, sent.blocks, strict=True):
                    for database, (seed, numbers) in zip(self._databases, parts, strict=True):
                        database.place(block, place, size, seed, numbers)
            except BaseException:
                if joins:  # what was added stays, in places that no row has
                    self._used[-1] = degree
                    self._messages[-1] += 1
                for database in self._databases:
                    database.resize(before)
                raise
            more = np.full((len(places) - joins, degree), -1)
            self._ids = np.concatenate([self._ids, more])
            self._used += [0] * len(more)
            self._messages += [0] * len(more)
            at = 0
            for (block, place), (size, _) in zip(places, sent.blocks, strict=True):
                self._ids[block, place : place + size] = named[at : at + size]
                self._used[block] = place + size
                self._messages[block] += 1
                at += size
            self._changed(named)
        return named

    def remove(self, ids: ArrayLike) -> None:
        """Remove rows from answers. The server can not clear a place of a ciphertext: memory comes back when
        all rows of a block are removed, and until then answers have scores of removed rows, which
        `Client.decrypt` leaves out.

        Raises:
            ParameterError: if no row has one of the ids, or one repeats. The index is unchanged.
        """
        with self._lock:
            kept = np.flatnonzero(self._ids >= 0)
            self._ids.reshape(-1)[kept[places_of(ids, self.ids)]] = -1
            self._changed()
            for block in reversed(np.flatnonzero((self._ids < 0).all(axis=1)).tolist()):
                last = len(self._used) - 1
                if block != last:
                    for database in self._databases:
                        database.move_block(block, last)
                    self._ids[block] = self._ids[last]
                    self._used[block], self._messages[block] = self._used[last], self._messages[last]
                self._ids = self._ids[:last]
                del self._used[last], self._messages[last]
            for database in self._databases:
                database.resize(len(self._used))

    # --- Queries. ---

    def query(self, query: bytes | ArrayLike, keys: bytes | Keys | None = None) -> bytes:
        """Answer queries by one pass over the database.

        Args:
            query: from the owner's `Client.query`; or in the clear, [dims] or [queries, dims], as for
                `Client.query`, where exact scores take integers of 16 bits.
            keys: the owner's, `Client.keys` or what `load_keys` made of them. None: of queries in the clear,
                which need none.

        Returns:
            The message for the owner's `Client.decrypt`: for each query and 4,096 rows 32,768 bytes (exact:
            for 8,192 rows 81,920), once more where the metric is "l2"; 8 bytes for the id of each row and of
            places between, unless ids are 0, 1, ... in order; and 300 bytes.

        Raises:
            FormatError: if the query, or the keys, are damaged.
            MismatchError: if the query is for another index's settings or has another number of dims, the
                keys belong to other parameters or another index's context, or the index has no row.
            MissingKeyError: if the keys lack one.
            OutOfMemoryError: if the device has no room for the expanded query: for each number and query
                65,536 bytes (exact: 262,144).
            RangeError, ParameterError, TypeError: of a query in the clear, as for `Client.query`.
        """
        settings = self._settings
        if isinstance(query, bytes):
            if keys is None:
                raise TypeError(
                    "an encrypted query is answered by its owner's keys: query(query, client.keys)"
                )
            return self.query_many([(query, keys)])[0]
        given = plain_array(query, "a query")
        queries = given[None] if given.ndim == 1 else given
        integers, factor, norms = _in_clear(queries, settings)
        with self._searching():
            answer = self._draft("", len(queries), given.ndim == 1, norms.astype("<f8").tobytes())
            packing = settings.dropped_bits, settings.kept_bytes
            self._databases[0].answer_clear(integers, factor, *packing, answer.memory, 1)
            self._add_squares([answer])
        return answer.finish()

    def _answers(self, asked: Asked, names: Sequence[str]) -> list[bytes]:
        packing = self._settings.dropped_bits, self._settings.kept_bytes
        with self._searching():
            answers = [
                self._draft(name, len(numbers)) for name, (_, _, numbers) in zip(names, asked, strict=True)
            ]
            self._databases[0].answer(asked, *packing, [each.memory for each in answers])
            self._add_squares(answers)
        return [each.finish() for each in answers]

    @property
    def _blocks(self) -> int:
        return len(self._used)

    def _draft(self, name: str, count: int, is_single: bool = False, norms: bytes = b"") -> wire.Draft:
        """The message of an answer to so many queries, whose halves are to be written; with the norms of
        queries in the clear."""
        settings = self._settings
        ids = self._ids.reshape(-1)
        ids = ids[: int(np.flatnonzero(ids >= 0)[-1]) + 1]
        has_ids = not np.array_equal(ids, np.arange(len(ids)))
        header = {
            **self._answer_header(name),
            "rows": len(ids),
            "count": count,
            "has_ids": has_ids,
            "is_single": is_single,
        }
        half = self._databases[0].half_bytes(count, settings.kept_bytes)
        squares = self._databases[0].half_bytes(1, settings.kept_bytes) * (settings.metric == "l2")
        sizes = half, half, 8 * len(ids) * has_ids, len(norms), squares, squares
        answer = wire.Draft("encrypted answer", header, *sizes)
        if has_ids:
            answer.part(2)[:] = ids.astype("<i8", copy=False).view(np.uint8)
        answer.part(3)[:] = np.frombuffer(norms, np.uint8)
        return answer

    def _add_squares(self, answers: Sequence[wire.Draft]) -> None:
        """Where the metric needs them: the squared norms, a ciphertext for each block."""
        settings = self._settings
        if settings.metric != "l2":
            return
        ones = np.ones((1, 1), np.int16)
        for answer in answers:
            packing = settings.dropped_bits, settings.kept_bytes
            self._databases[1].answer_clear(ones, 1, *packing, answer.memory, 5)

    # --- Files. ---

    def _contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        width, blocks = self._settings.number_bytes, len(self._used)
        parts = [
            self._ids.astype("<i8").tobytes(),
            np.array([self._used, self._messages], "<i8").tobytes(),
        ]
        for block in range(blocks):
            parts += [wire.pack_numbers(d.residues(block), width) for d in self._databases]
        return {"blocks": blocks}, parts

    @classmethod
    def _memory_of(cls, settings: Settings, header: dict[str, Any]) -> int:
        entries = sum(_dims_of_databases(settings)) * int(header["blocks"]) * settings.degree
        return 16 * len(settings.params.primes[-1]) * entries

    def _fill(self, header: dict[str, Any], body: memoryview) -> None:
        settings, blocks = self._settings, header["blocks"]
        _require_owner(settings, "encrypted index")
        degree = settings.degree
        row = degree * len(settings.params.primes[-1]) * settings.number_bytes
        sizes = [2 * dims * row for dims in _dims_of_databases(settings)]
        if len(body) != blocks * (8 * degree + 16 + sum(sizes)):
            raise FormatError(f"the encrypted index has {len(body)} bytes for {blocks} blocks")
        ids = np.frombuffer(body[: 8 * blocks * degree], "<i8").astype(np.int64).reshape(blocks, degree)
        at = 8 * blocks * degree + 16 * blocks
        used, messages = np.frombuffer(body[8 * blocks * degree : at], "<i8").reshape(2, blocks).tolist()
        require_ids(ids[ids >= 0], self._next_id)
        unused = np.arange(degree) >= np.array(used, np.int64)[:, None]
        if (ids[unused] >= 0).any():
            raise FormatError("the encrypted index has a row in a place that was never used")
        if not all(1 <= u <= degree and 1 <= m <= MOST_MESSAGES for u, m in zip(used, messages, strict=True)):
            raise FormatError("the blocks of the encrypted index are damaged")
        if (ids < 0).all(axis=1).any():
            raise FormatError("the encrypted index has a block without rows")
        for database in self._databases:
            database.resize(blocks)
        for block in range(blocks):
            for database, size in zip(self._databases, sizes, strict=True):
                database.set_residues(block, wire.unpack_numbers(body[at : at + size], settings.number_bytes))
                at += size
        self._ids, self._used, self._messages = ids, used, messages


def _dims_of_databases(settings: Settings) -> list[int]:
    return [settings.dims, 1] if settings.metric == "l2" else [settings.dims]


def _require_owner(settings: Settings, what: str) -> None:
    if not settings.owner:
        raise FormatError(f"the settings of the {what} are a clear index's")


def _unpack_rows(rows: bytes) -> _Sent:
    require_type(rows, bytes, "an encrypted index", "the bytes of rows from Client.encrypt")
    header, body = wire.unpack("rows", rows, _ROWS_FIELDS)
    settings = Settings.from_fields(header["settings"])
    _require_owner(settings, "message of rows")
    count, degree, width = header["count"], settings.degree, settings.number_bytes
    limbs = len(settings.params.primes[-1])
    all_dims = _dims_of_databases(settings)
    blocks = -(-count // degree)
    expected = sum(SEED_BYTES + dims * limbs * degree * width for dims in all_dims) * blocks
    at = 8 * count * header["has_ids"]
    if count < 1 or len(body) != at + expected:
        raise FormatError(f"the message of {count} rows has {len(body)} bytes, not {at + expected}")
    ids = np.frombuffer(body[:at], "<i8").astype(np.int64) if header["has_ids"] else None
    parts: list[tuple[int, list[tuple[bytes, NDArray[np.uint64]]]]] = []
    for block in range(blocks):
        of_block = []
        for dims in all_dims:
            seed, at = bytes(body[at : at + SEED_BYTES]), at + SEED_BYTES
            end = at + dims * limbs * degree * width
            numbers = wire.unpack_numbers(body[at:end], width).reshape(dims, limbs, degree)
            if (numbers.max(axis=(0, 2)) >= np.array(settings.params.primes[-1], np.uint64)).any():
                raise FormatError("the encrypted rows have a number that is no residue")
            of_block.append((seed, numbers))
            at = end
        parts.append((min(degree, count - block * degree), of_block))
    return _Sent(settings, ids, parts)


def _in_clear(
    queries: NDArray[Any], settings: Settings
) -> tuple[NDArray[np.int16], int, NDArray[np.float64]]:
    """The integers [query, dims] of queries in the clear, the factor that brings them to the scale of
    encrypted ones, and the queries' norms; with exact scores their squares."""
    integers, shift, norms = quantization.message(queries, settings)
    if settings.exact:
        if np.abs(integers).max() > _LARGEST_INTEGER:
            raise RangeError(
                f"the query has an integer of magnitude {np.abs(integers).max()}, and those in the clear "
                f"have 16 bits, up to {_LARGEST_INTEGER}; let the owner encrypt it"
            )
        return integers.astype(np.int16), 1 << shift, norms
    factor = -(-int(settings.query_scale) // _LARGEST_INTEGER)
    return np.rint(integers / factor).astype(np.int16), factor, norms
