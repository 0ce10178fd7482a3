"""The index: a clear database on the server that answers encrypted queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.errors import FormatError, MismatchError
from hemera.inputs.arguments import in_own_words
from hemera.inputs.fields import Kind, Whole
from hemera.objects.keys import Keys
from hemera.search import quantization, wire
from hemera.search.any_settings import Metric
from hemera.search.base import Asked, BaseIndex
from hemera.search.neighbours import warn_of_wrong_neighbours
from hemera.search.requests import (
    keys_of,
    name_of,
    new_ids,
    places_of,
    require_ids,
    seeds_of,
    unpack_query,
)
from hemera.search.settings import Errors, Settings, noise_deviation
from hemera.search.tickets import Ticket, Tickets

__all__ = ["Index"]

_NO_NAME = 32 * "0"
"""The name of a query that is not there yet."""
_KNOWN = (1, 2, 3)
"""Parts of an answer that do not depend on the query's numbers: all but b."""


@in_own_words
class Index(BaseIndex):
    """A clear database of vectors that answers encrypted queries with encrypted scores of all its rows.

    Vectors are kept as int8 (1 byte an entry of the host's memory, and of the device's), and as polynomials
    in evaluation form, which take 8 bytes an entry of the device's memory, 16 with exact scores; on the
    device for rows filled up to whole blocks of `settings.degree`. Any thread may use an index; one call runs
    at a time.

    Args:
        vectors: [rows, dims], at least one; float32, float64 or int8. Floats are rounded to int8 by one
            scale: `expected_error` has the error, and a `PrecisionWarning` says that it changes which rows
            are the nearest. int8 is taken as it is, unless the metric is "cosine".
        metric: "cosine": vectors are normalized, and so are queries; "dot": inner products; "l2": squares of
            distances, for which the squared norms of all rows travel with each answer.
        ids: the rows' names in answers: different integers from 0 to 2^62 - 1. None: 0, 1, ...
        exact: whether scores are exact integers: vectors are int8 and queries integers.
        largest: the largest magnitude of an entry that is to fit (for cosines: of the normalized vectors),
            where later vectors have larger ones than these. None: that of these vectors.
        query_bound: with exact scores, the largest magnitude of a query's integers.
        device: the device of the database, as for `hemera.Context`.
        threads: the number of threads of the CPU; None: as many as the process may run on.

    Raises:
        DeviceError: if there is no such device.
        MismatchError: if vectors or ids have another shape.
        OutOfMemoryError: if the device has no room.
        ParameterError: if dims is above 4096 (exact: 8192), ids repeat, a vector is zero where the metric is
            "cosine", or an argument is none of its choices.
        RangeError: if vectors have numbers that are not finite, or above `largest`.
        TypeError: if vectors have other numbers.

    Examples:
        >>> vectors = np.random.default_rng(1).normal(size=(1000, 64)).astype(np.float32)
        >>> index = hm.search.Index(vectors)
        >>> client = hm.search.Client(index.settings)
        >>> answer = index.query(client.query(vectors[17]), client.keys)
        >>> scores, ids = client.decrypt(answer, k=3)
        >>> int(ids[0]), round(float(scores[0]), 2)
        (17, 1.0)
    """

    kind: ClassVar[str] = "index"
    _file_fields: ClassVar[dict[str, Kind]] = {"rows": Whole()}

    def __init__(
        self,
        vectors: ArrayLike,
        metric: Metric = "cosine",
        *,
        ids: ArrayLike | None = None,
        exact: bool = False,
        largest: float | None = None,
        query_bound: int = 127,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        if isinstance(vectors, bytes):
            raise TypeError(
                "an index has vectors in the clear; encrypted rows are those of an EncryptedIndex"
            )
        given = quantization.as_vectors(vectors, "the vectors of an index")
        if len(given) == 0:
            raise MismatchError("an index begins with one vector at least")
        settings = quantization.settings_of(given, metric, exact, largest, query_bound)
        self._open(settings, device, threads)
        self.add(given, ids=ids)

    def _open(self, settings: Settings, device: str, threads: int | None) -> None:
        super()._open(settings, device, threads)
        self._database = _core.SearchDatabase(self._context._native, settings.dims)
        self._vectors = np.empty((0, settings.dims), np.int8)  # with room for rows to come
        self._squares = np.empty(0, np.uint32)
        self._ids = np.empty(0, np.int64)
        self._rows = 0
        self._has_ids = False  # whether answers need them: they are not 0, 1, ...

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of the rows in the order of answers: a copy."""
        return np.array(self._ids[: self._rows])

    @property
    def memory_bytes(self) -> int:
        """Bytes of the database in the device's memory: its polynomials, and its rows in int8."""
        return self._database.memory_bytes

    @property
    def expected_error(self) -> Errors:
        """The errors of scores, for a query of norm 1, as standard deviations over all rows
        (docs/search.md). With exact scores both are 0."""
        settings = self._settings
        if settings.exact:
            return Errors(0.0, 0.0)
        squares = self._squares[: self._rows].astype(np.float64)
        starts = np.arange(0, self._rows, settings.degree)
        sizes = np.diff(np.append(starts, self._rows))
        of_blocks = float(np.average(np.add.reduceat(squares, starts), weights=sizes))
        deviation = noise_deviation(False, float(squares.mean()), of_blocks, settings.dropped_bits)
        factor = 2 if settings.metric == "l2" else 1
        noise = factor * deviation / (settings.answer_scale * settings.scale)
        is_rounded = settings.scale != 1 or settings.metric == "cosine"
        return Errors(noise, float(factor / (settings.scale * np.sqrt(12))) if is_rounded else 0.0)

    def __len__(self) -> int:
        return self._rows

    # --- Rows. ---

    def add(self, vectors: ArrayLike, *, ids: ArrayLike | None = None) -> NDArray[np.int64]:
        """Add rows after the others.

        Args:
            vectors: as those of the index.
            ids: their names, which no row has. None: integers from the largest id so far on.

        Returns:
            The ids of the rows.

        Raises:
            MismatchError: if vectors or ids have another shape.
            OutOfMemoryError: if the device has no room. The index is unchanged.
            ParameterError: if an id is there already, or repeats; or a vector is zero where the metric is
                "cosine".
            RangeError: if an entry is too large for the index's scale.
        """
        given = quantization.as_vectors(vectors, "vectors to add")
        rows = quantization.quantized(given, self._settings)
        with self._lock:
            named = new_ids(ids, len(rows), self._ids[: self._rows], self._next_id)
            first, last = self._rows, self._rows + len(rows)
            self._database.resize(-(-last // self._settings.degree))
            self._make_room(last)
            self._vectors[first:last] = rows
            self._squares[first:last] = quantization.squares(rows)
            self._ids[first:last] = named
            self._rows = last
            self._changed(named)
            self._has_ids = self._has_ids or not np.array_equal(named, np.arange(first, last))
            self._write_blocks(range(first // self._settings.degree, self._database.blocks))
        warn_of_wrong_neighbours(given, rows, self._settings, self.expected_error)
        return named

    def remove(self, ids: ArrayLike) -> None:
        """Remove rows. The last rows of the index take their places.

        Raises:
            ParameterError: if no row has one of the ids, or one repeats. The index is unchanged.
        """
        with self._lock:
            kept = self._ids[: self._rows]
            places = places_of(ids, kept)
            rows = self._rows - len(places)
            holes = places[places < rows]
            moved = np.setdiff1d(np.arange(rows, self._rows), places)
            for array in (self._vectors, self._squares, self._ids):
                array[holes] = array[moved]
            degree = self._settings.degree
            blocks = -(-rows // degree)
            changed = set((holes // degree).tolist())
            if rows % degree:
                changed.add(blocks - 1)
            self._rows = rows
            self._has_ids = not np.array_equal(kept[:rows], np.arange(rows))
            self._changed()
            self._database.resize(blocks)
            self._write_blocks(sorted(changed))

    def _make_room(self, rows: int) -> None:
        if rows <= len(self._vectors):
            return
        room = rows if self._rows == 0 else max(rows, self._rows + self._rows // 2)
        for name in ("_vectors", "_squares", "_ids"):
            old = getattr(self, name)
            new = np.empty((room, *old.shape[1:]), old.dtype)
            new[: self._rows] = old[: self._rows]
            setattr(self, name, new)

    def _write_blocks(self, blocks: Any) -> None:
        degree = self._settings.degree
        for block in blocks:
            part = self._vectors[block * degree : min((block + 1) * degree, self._rows)]
            self._database.set_block(block, np.ascontiguousarray(part))

    # --- Queries. ---

    @property
    def ticket_bytes(self) -> int:
        """Bytes of a ticket for the rows that the index has now: of the device's memory, and of the host's,
        which has the answer's message."""
        settings = self._settings
        limbs = len(settings.params.primes[-1])
        on_device = 8 * self._database.blocks * limbs * settings.degree
        return on_device + sum(self._sizes(1))

    def prepare(self, preparation: bytes, keys: bytes | Keys, *, most: int | None = None) -> Tickets:
        """Compute all of later answers that depends on the queries' seeds alone: the keys' and polynomials'
        work. What is left for a query are products of the rows in int8 and its numbers.

        Args:
            preparation: from `Client.prepare`.
            keys: as for `query`.
            most: the number of tickets to make, of the first queries; None: all.

        Raises:
            MismatchError: as for `query`, and if the index changes while tickets are made.
            FormatError, MissingKeyError, OutOfMemoryError: as for `query`.
        """
        seeds = seeds_of(preparation, self._settings)[:most]
        native = keys_of(keys, self._context, "prepare")._native
        version = self._version
        prepared = {}
        packing = self._settings.dropped_bits, self._settings.kept_bytes
        for seed in seeds:
            with self._searching():  # queries come in between
                if self._version != version:
                    raise MismatchError("the index has changed while tickets were made; prepare anew")
                answer = self._draft(_NO_NAME, 1)
                half = self._database.prepare(native, seed, *packing, answer.memory)
                ticket_bytes = self.ticket_bytes
            answer.settle(*_KNOWN)
            prepared[seed] = Ticket(half, answer, ticket_bytes)
        return Tickets(version, prepared)

    def query(self, query: bytes, keys: bytes | Keys | Tickets) -> bytes:
        """Answer the queries of a message by one pass over the database.

        Args:
            query: from `Client.query`.
            keys: the same client's: `Client.keys`, or what `load_keys` made of them. For a query that was
                prepared also its client's tickets; the answer has the same bits.

        Returns:
            The message for `Client.decrypt`: for each query and 4,096 rows 32,768 bytes (exact: for 8,192
            rows 81,920); 8 bytes a row for its id, unless ids are 0, 1, ... in order; 4 bytes a row for its
            squared norm where the metric is "l2"; and 300 bytes.

        Raises:
            FormatError: if the query, or the keys, are damaged.
            MismatchError: if the query is for another index's settings, the keys belong to other parameters
                or another index's context, the index has no row, there is no ticket for the query, or the
                tickets are for another version of the index.
            SecurityError: if the tickets have served another query with this one's seed.
            MissingKeyError: if the keys lack an automorphism.
            OutOfMemoryError: if the device has no room for the expanded query: for each number and query
                65,536 bytes (exact: 262,144).
        """
        if not isinstance(keys, Tickets):
            return self.query_many([(query, keys)])[0]
        asked = unpack_query(query, self._settings)
        with self._searching():
            ticket = keys._take(asked.seed, query, self._version)
            answer = ticket.answer
            answer.rename(self._header(name_of(query), 1))
            self._database.finish(ticket.half, asked.seed, asked.numbers, answer.memory)
        return answer.finish()

    def _answers(self, asked: Asked, names: Sequence[str]) -> list[bytes]:
        packing = self._settings.dropped_bits, self._settings.kept_bytes
        with self._searching():
            answers = [
                self._draft(name, len(numbers)) for name, (_, _, numbers) in zip(names, asked, strict=True)
            ]
            self._database.answer(asked, *packing, [each.memory for each in answers])
        return [each.finish() for each in answers]

    @property
    def _blocks(self) -> int:
        return self._database.blocks

    def _header(self, name: str, count: int) -> dict[str, Any]:
        return {
            **self._answer_header(name),
            "rows": self._rows,
            "count": count,
            "has_ids": self._has_ids,
        }

    def _sizes(self, count: int) -> list[int]:
        """Bytes of the parts of an answer to so many queries."""
        settings = self._settings
        half = self._database.half_bytes(count, settings.kept_bytes)
        return [half, half, 8 * self._rows * self._has_ids, 4 * self._rows * (settings.metric == "l2")]

    def _draft(self, name: str, count: int) -> wire.Draft:
        """The message of an answer to so many queries, whose halves are to be written."""
        rows = self._rows
        answer = wire.Draft("answer", self._header(name, count), *self._sizes(count))
        if self._has_ids:
            answer.part(2)[:] = self._ids[:rows].astype("<i8", copy=False).view(np.uint8)
        if self._settings.metric == "l2":
            answer.part(3)[:] = self._squares[:rows].astype("<u4", copy=False).view(np.uint8)
        return answer

    # --- Files. ---

    def _contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        rows = self._rows
        return {"rows": rows}, (self._ids[:rows].astype("<i8").tobytes(), self._vectors[:rows].tobytes())

    @classmethod
    def _memory_of(cls, settings: Settings, header: dict[str, Any]) -> int:
        rows = int(header["rows"])
        blocks = -(-rows // settings.degree)
        limbs = len(settings.params.primes[-1])
        return settings.dims * ((8 * limbs + 1) * blocks * settings.degree + rows)

    def _fill(self, header: dict[str, Any], body: memoryview) -> None:
        settings, rows = self._settings, header["rows"]
        if len(body) != rows * (8 + settings.dims):
            raise FormatError(f"the index has {len(body)} bytes for {rows} rows of {settings.dims}")
        ids = np.frombuffer(body[: 8 * rows], "<i8").astype(np.int64)
        require_ids(ids, self._next_id)
        self._database.resize(-(-rows // settings.degree))
        self._vectors = np.frombuffer(body[8 * rows :], np.int8).reshape(rows, settings.dims).copy()
        self._squares = quantization.squares(self._vectors)
        self._ids, self._rows = ids, rows
        self._has_ids = not np.array_equal(ids, np.arange(rows))
        self._write_blocks(range(self._database.blocks))
