"""The index: rows on the server that answer encrypted queries."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera._process import Lock
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.arguments import in_own_words, require_type
from hemera.inputs.fields import Kind, Whole, damaged, require_memory
from hemera.inputs.source import Source, read_bytes, write_bytes
from hemera.objects.context import Context
from hemera.objects.cost import Cost
from hemera.objects.keys import Keys
from hemera.search import wire
from hemera.search.answers import fitted_settings
from hemera.search.comparisons.program import Comparisons
from hemera.search.comparisons.rows import ClearRows, EncryptedRows, PairedRows
from hemera.search.messages import IDS, keys_of, new_ids, not_prepared, places_of, require_ids, sent_rows
from hemera.search.scores.program import ScoreProgram
from hemera.search.scores.rows import ClearScoreRows, EncryptedScoreRows
from hemera.search.scores.tickets import Ticket, Tickets
from hemera.search.settings import Answers, Errors, Metric, Settings
from hemera.search.vectors import as_vectors

_Rows = ClearScoreRows | EncryptedScoreRows | ClearRows | EncryptedRows | PairedRows
_ROWS: Mapping[str, type[_Rows]] = {
    "index": ClearScoreRows,
    "encrypted index": EncryptedScoreRows,
    "threshold index": ClearRows,
    "encrypted threshold index": EncryptedRows,
    "top index": PairedRows,
}
"""The storage of rows by the kinds of files: by what follows scores, and whether rows are encrypted."""
_FILE_FIELDS: dict[str, Kind] = {"settings": dict, "index_version": Whole(), "next_id": Whole(0, IDS)}
MOST_BYTES = 4 << 30
"""The most memory of an index that is read, unless its file has a 128th of it."""


@in_own_words
class Index:
    """A database of vectors that answers encrypted queries: with encrypted scores of all rows, or with the
    results of comparisons. Any thread may use an index; one call runs at a time.

    Args:
        rows: vectors [rows, dims], at least one; float32, float64 or int8. For scores floats are rounded to
            int8 by one scale: `expected_error` has the error, and a `PrecisionWarning` says that it changes
            which rows are the nearest. Or encrypted rows, the bytes from `Client.encrypt`, which have all of
            the next arguments but the device.
        metric: "cosine": vectors are normalized, and so are queries; "dot": inner products; "l2": squares of
            distances.
        answers: None: the scores of all rows. `Threshold(...)`: the rows beyond an encrypted threshold.
            `Top(...)`: the k nearest rows.
        payloads: [rows, numbers]: numbers that comparisons give of the rows that match. None: there are none.
        ids: the rows' names in answers: different integers from 0 to 2^62 - 1. None: 0, 1, ...
        exact: whether scores are exact integers: vectors are int8 and queries integers.
        largest: the largest magnitude of an entry that is to fit, for cosines of the normalized vectors; None
            stands for that of these.
        query_bound: with exact scores, the largest magnitude of a query's integers.
        device: the device of the database, as for `hemera.Context`.
        threads: the number of threads of the CPU; None: as many as the process may run on.

    Raises:
        DeviceError, OutOfMemoryError: if there is no such device, or it has no room.
        FormatError: if encrypted rows are damaged.
        MismatchError, TypeError: if vectors, payloads or ids have another shape, or other numbers.
        ParameterError: if an argument is out of its range, ids repeat, or a vector is zero where the metric
            is "cosine".
        RangeError: if numbers are not finite, or above a bound.

    Examples:
        >>> vectors = np.random.default_rng(1).normal(size=(1000, 64)).astype(np.float32)
        >>> index = hm.search.Index(vectors)
        >>> client = hm.search.Client(index.settings)
        >>> answer = index.query(client.query(vectors[17]), client.keys)
        >>> scores, ids = client.decrypt(answer, k=3)
        >>> int(ids[0]), round(float(scores[0]), 2)
        (17, 1.0)
    """

    def __init__(
        self,
        rows: ArrayLike | bytes,
        metric: Metric = "cosine",
        *,
        answers: Answers | None = None,
        payloads: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        exact: bool = False,
        largest: float | None = None,
        query_bound: int = 127,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        options = (answers, exact, largest, query_bound)
        if isinstance(rows, bytes):
            given: Any = sent_rows(rows)
            settings = given.settings
            if metric not in ("cosine", settings.metric) or options != (None, False, None, 127):
                raise ParameterError("encrypted rows have the metric and the answers of Client.owning")
        else:
            given = as_vectors(rows, "the vectors of an index")
            settings = fitted_settings(given, metric, *options, payloads)
        self._open(settings, device, threads)
        self.add(given, payloads=payloads, ids=ids)

    def _open(self, settings: Settings, device: str, threads: int | None) -> None:
        """Begin without rows."""
        self._settings = settings
        self._program: ScoreProgram | Comparisons = settings.program
        self._context = Context(settings.params, device, threads=threads)
        self._rows: _Rows = _ROWS[settings.index_kind](settings.program, self._context)
        self._next_id = 0
        self._version = 0
        self._lock = Lock()

    @property
    def settings(self) -> Settings:
        """The facts that clients need."""
        return self._settings

    @property
    def kind(self) -> str:
        """The kind of its files: "index", "threshold index" or "top index", also with "encrypted" before."""
        return self._settings.index_kind

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of the rows in the order of answers: a copy."""
        return np.array(self._rows.ids)

    @property
    def version(self) -> int:
        """The number of changes so far. Answers carry it."""
        return self._version

    @property
    def device(self) -> str:
        """The device of the database."""
        return self._context.device

    @property
    def memory_bytes(self) -> int:
        """Bytes of the rows in the device's memory: for scores 9 an entry (exact: 17), of encrypted ones 16
        (exact: 32), with metric "l2" for one entry more."""
        return self._rows.memory_bytes

    @property
    def expected_error(self) -> Errors:
        """The errors of scores, or of their differences, before they are compared, for a query of norm 1: as
        standard deviations over all rows; of encrypted ones at most. With exact scores both are 0."""
        return self._rows.errors

    def cost(self, device: str | None = None) -> Cost:
        """Keys and operations of a query for all results of comparisons on the rows, and with the name of
        a table of measured times (`hemera.cost`) the seconds. ParameterError if answers are scores."""
        if not isinstance(self._program, Comparisons):
            raise ParameterError("costs are those of comparisons; scores take one pass over the rows")
        return self._program.cost(device, self._rows.blocks_count)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._rows.ids)

    def __repr__(self) -> str:
        of = f"{len(self)} x {self._settings.dims}, {self._settings.metric!r}: {self.kind}"
        return f"<Index of {of}; {self.memory_bytes / 2**20:.1f} MiB on {self.device}>"

    def require_rows(self) -> None:
        """MismatchError unless there is a row to search."""
        if len(self) == 0:
            raise MismatchError("the index has no row to search")

    def add(
        self, rows: ArrayLike | bytes, *, payloads: ArrayLike | None = None, ids: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Add rows after the others.

        Args:
            rows: as those of the index; encrypted ones by the same owner.
            payloads: as those of the index.
            ids: their names, which no row has. None: integers from the largest id so far on.

        Returns:
            The ids of the rows.

        Raises:
            ParameterError: if an id is there already, or there is no room for all rows; and others, as for
                the index, which is unchanged.
            MismatchError: if rows have another shape, or another owner.
            RangeError: if a number is too large for the index's scale, or bounds.
        """
        given = self._rows.read(rows, payloads, ids)
        with self._lock:
            named = new_ids(given.ids, given.number, self._rows.ids, self._next_id)
            self._rows.add(named, given)
            self._next_id = max(self._next_id, int(named.max(initial=-1)) + 1)
            self._version += 1
        if isinstance(self._rows, ClearScoreRows):
            self._rows.warn(given)
        return named

    def remove(self, ids: ArrayLike) -> None:
        """Remove rows. In a clear index of scores the last rows take their places; others' memory comes back
        when all rows of a block are removed.

        Raises:
            ParameterError: if no row has one of the ids, or one repeats. The index is unchanged.
        """
        with self._lock:
            self._rows.remove(places_of(ids, self._rows.ids))
            self._version += 1

    # --- Queries. ---

    def load_keys(self, keys: bytes) -> Keys:
        """A client's keys in the index's memory, from its `keys`: for many queries of one client. FormatError
        if they are damaged, MismatchError if they belong to other parameters."""
        require_type(keys, bytes, "load_keys", "the bytes of a client's keys")
        return keys_of(keys, self._context, "load_keys")

    def query(self, query: bytes | ArrayLike, keys: bytes | Keys | Tickets | None = None) -> bytes:
        """Answer the queries of a message by one pass over the rows.

        Args:
            query: from `Client.query`. Of encrypted rows and scores also queries in the clear, [dims] or
                [queries, dims], where exact scores take integers of 16 bits.
            keys: the same client's: `Client.keys`, or what `load_keys` made of them. For a query that was
                prepared also its client's tickets; the answer has the same bits. None: of queries in the
                clear, which need none.

        Returns:
            The message for `Client.decrypt`. Of scores: for each query and 4,096 rows 32,768 bytes (exact:
            for 8,192 rows 81,920), of encrypted rows with metric "l2" once more; 8 bytes a row for its id,
            unless ids are 0, 1, ... in order; 4 for its squared norm with metric "l2"; and 300 bytes.

        Raises:
            FormatError: if the query, or the keys, are damaged.
            MismatchError: if the query is for another index's settings, or the keys for other parameters or
                another context; the index has no row, or there is no ticket of its version for the query.
            SecurityError: if the tickets have served another query with this one's seed.
            MissingKeyError: if the keys lack one that the client makes for such an index.
            OutOfMemoryError: if the device has no room, as for 65,536 bytes a number of a query for scores
                (exact: 262,144).
            RangeError, ParameterError, TypeError: of a query in the clear, as for `Client.query`.
        """
        if not isinstance(query, bytes):
            if not isinstance(self._rows, EncryptedScoreRows):
                raise TypeError("a query is of Client.query; encrypted rows of scores take clear ones too")
            with self._searching():
                return self._rows.clear_answer(query, self._header)
        if keys is None:
            raise TypeError("an encrypted query is answered by its client's keys: query(query, client.keys)")
        if not isinstance(keys, Tickets):
            return self.query_many([(query, keys)])[0]
        rows = self._preparing()
        with self._searching():
            return rows.finished(query, keys, self._version)

    def query_many(self, asked: Sequence[tuple[bytes, bytes | Keys]]) -> list[bytes]:
        """Answer several messages, of one client or several. Those for scores take one pass over the rows; of
        comparisons those of one client go together (docs/search.md). Each has the bits of an answer by
        itself: clients do not see each other's queries.

        Args:
            asked: for each message the query, from `Client.query`, and the keys of the same client.

        Returns:
            The answers in the same order; none if one of the messages has what `query` refuses.

        Examples:
            >>> index = hm.search.Index(np.eye(4, dtype=np.float32), metric="dot")
            >>> alice, bob = (hm.search.Client(index.settings) for _ in range(2))
            >>> asked = [(alice.query([9, 1, 2, 3]), alice.keys), (bob.query([1, 2, 9, 3]), bob.keys)]
            >>> answers = index.query_many(asked)
            >>> [int(client.decrypt(a, k=1)[1][0]) for client, a in zip((alice, bob), answers)]
            [0, 2]
        """
        answers: dict[int, bytes] = {}
        for group in self._program.groups(self._context, asked):
            with self._searching():
                answers.update(zip(group.places, self._rows.answers(group, self._header), strict=True))
        return [answers[at] for at in range(len(asked))]

    @contextlib.contextmanager
    def _searching(self) -> Iterator[None]:
        """Within it no other call runs. MismatchError unless there is a row to search."""
        with self._lock:
            self.require_rows()
            yield

    def _header(self, name: str) -> dict[str, Any]:
        """The fields that the headers of all answers have, to the query of this name."""
        return {"settings": self._settings.digest, "query": name, "index_version": self._version}

    def _preparing(self) -> ClearScoreRows:
        """MismatchError unless queries can be prepared."""
        if not isinstance(self._rows, ClearScoreRows):
            raise not_prepared(self._settings)
        return self._rows

    @property
    def ticket_bytes(self) -> int:
        """Bytes of a ticket for the rows that there are now, of the device's memory and of the host's."""
        return self._preparing().ticket_bytes

    def prepare(self, preparation: bytes, keys: bytes | Keys, *, most: int | None = None) -> Tickets:
        """Compute all of later answers that depends on the queries' seeds alone: the keys' and polynomials'
        work. What is left for a query are products of the rows in int8 and its numbers.

        Args:
            preparation: from `Client.prepare`.
            keys: as for `query`.
            most: the number of tickets to make, of the first queries; None: all.

        Raises:
            MismatchError: if the index changes while tickets are made, or has no prepared queries.
            FormatError, MismatchError, MissingKeyError, OutOfMemoryError: as for `query`.
        """
        rows, seeds = self._preparing(), self._program.seeds(preparation)[:most]
        loaded = keys_of(keys, self._context, "prepare")
        version, prepared = self._version, dict[bytes, Ticket]()
        for seed in seeds:
            with self._searching():  # queries come in between
                if self._version != version:
                    raise MismatchError("the index has changed while tickets were made; prepare anew")
                prepared[seed] = rows.ticket(loaded, seed, self._header)
        return Tickets(version, prepared)

    def answer_bytes(self, count: int) -> int:
        """Bytes of the answer to a message of `count` queries, at the most, apart from its header."""
        return self._program.answer_bytes(count, self._rows.blocks_count)

    # --- Files. ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, which appears under its name only when it is complete. FileError if it
        can not be written."""
        with self._lock:
            fields, parts = self._rows.contents()
            numbers = {"index_version": self._version, "next_id": self._next_id}
            header = {"settings": self._settings.to_fields(), **fields, **numbers}
            data = wire.pack(self.kind, header, *parts)
        write_bytes(path, data)

    @classmethod
    def load(
        cls, source: Source, *, device: str = "cpu", threads: int | None = None, limit: int = MOST_BYTES
    ) -> Index:
        """An index of any kind from what `save` wrote.

        Args:
            source: the file's path, or its bytes.
            device: this and `threads` as for the index.
            limit: bytes of memory that its rows may take, or 128 times the file's bytes, if that is more.

        Raises:
            FormatError: if it is damaged, no index, or its rows would take more memory than the limit.
            FileError, DeviceError, OutOfMemoryError: if the file can not be read, and as for an index.
        """
        data = read_bytes(source)
        settings, header, body = _opened(data)
        kind = settings.index_kind
        with damaged(f"the {kind}"):
            needed = _ROWS[kind].memory_of(settings.program, header)
        way = "load it with limit= (of a server: index_bytes)"
        require_memory(needed, len(data), limit, f"the {kind}", way)
        index = cls.__new__(cls)
        index._open(settings, device, threads)
        index._next_id, index._version = header["next_id"], header["index_version"]
        with damaged(f"the {kind}"):
            index._rows.fill(header, body)
            require_ids(index._rows.ids, index._next_id)
        return index


def settings_of(source: Source) -> Settings:
    """The settings of the index in a file, or its bytes, whose checksum is right. FormatError, FileError."""
    return _opened(read_bytes(source))[0]


def _opened(data: bytes) -> tuple[Settings, dict[str, Any], memoryview]:
    """The settings, the header and the body of a file. FormatError."""
    kind = wire.kind_of(data)
    if kind not in _ROWS:
        raise FormatError(f"this is the {kind!r} of a search, where an index is needed (index.save(path))")
    header, body = wire.unpack(kind, data, {**_FILE_FIELDS, **_ROWS[kind].file_fields})
    settings = Settings.from_fields(header["settings"], kind)
    if settings.index_kind != kind:
        raise FormatError(f"the settings of the {kind} are those of the kind {settings.index_kind!r}")
    return settings, header, body
