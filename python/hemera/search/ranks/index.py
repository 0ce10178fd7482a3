"""The index that tells a client which of its rows are the first k."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.arguments import as_integer, in_own_words
from hemera.inputs.fields import Kind, Whole
from hemera.objects.batches import stack
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.cost import Cost
from hemera.objects.evaluator import Evaluator
from hemera.search import quantization, wire
from hemera.search.any_settings import AnySettings, Metric
from hemera.search.ranks import circuit
from hemera.search.ranks.messages import Query, unpack_query
from hemera.search.ranks.settings import TopSettings, least_rows
from hemera.search.requests import new_ids, places_of, require_ids
from hemera.search.thresholds.circuit import payloads as payloads_of
from hemera.search.thresholds.circuit import products, scores
from hemera.search.thresholds.comparing import GONE, ComparingIndex
from hemera.search.thresholds.layout import power_of_two
from hemera.search.thresholds.messages import pack_answer
from hemera.search.thresholds.rows import as_payloads, block_bytes, bounds_of, require_scaled
from hemera.search.thresholds.scores import scaled_rows

__all__ = ["TopIndex"]


@in_own_words
class TopIndex(ComparingIndex[TopSettings, Query]):
    """A clear database of few vectors that tells a client which rows are the k nearest to an encrypted
    query, with an encrypted k, by one answer: it compares the scores of all pairs of rows. Any thread may use
    an index; one call runs at a time.

    Args:
        vectors: [rows, dims], 1 to 1,024 rows; float32, float64 or int8.
        metric: "cosine", "dot" or "l2", as for `hemera.search.Index`.
        margin: the order of two rows whose scores are nearer is not sure; as for `ThresholdIndex`.
        payloads: as for `ThresholdIndex`.
        payload_bound: as for `ThresholdIndex`.
        row_bound: as for `ThresholdIndex`.
        capacity: the largest number of rows, which is rounded up to a power of two. None: that of these.
            Memory and time grow with its square.
        ids: the rows' names in answers: different integers from 0 to 2^62 - 1. None: 0, 1, ...
        device: the device of the database, as for `hemera.Context`.
        threads: the number of threads of the CPU; None: as many as the process may run on.

    Raises:
        DeviceError: if there is no such device.
        MismatchError: if vectors, payloads or ids have another shape.
        OutOfMemoryError: if the device has no room.
        ParameterError: if an argument is out of its range, ids repeat, or a vector is zero where the metric
            is "cosine".
        RangeError: if numbers are not finite, or above a bound.
        TypeError: if vectors have other numbers.
    """

    kind: ClassVar[str] = "top index"
    _file_fields: ClassVar[dict[str, Kind]] = {"count": Whole()}
    settings_type: ClassVar[type[AnySettings]] = TopSettings
    _query_kind: ClassVar[str] = "top query"

    def __init__(
        self,
        vectors: ArrayLike,
        metric: Metric = "cosine",
        *,
        margin: float = 2.0**-5,
        payloads: ArrayLike | None = None,
        payload_bound: float | None = None,
        row_bound: float | None = None,
        capacity: int | None = None,
        ids: ArrayLike | None = None,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        given = quantization.as_vectors(vectors, "the vectors of an index")
        if len(given) == 0:
            raise MismatchError("an index begins with one vector at least")
        room = len(given) if capacity is None else as_integer(capacity, "TopIndex", "capacity")
        if room < len(given):
            raise ParameterError(f"a capacity of {room} rows has no room for {len(given)}")
        dims = given.shape[1]
        rows = max(power_of_two(room), least_rows(dims))
        bounds = bounds_of(given, metric, payloads, payload_bound, row_bound)
        self._open(TopSettings(dims, metric, float(margin), rows, *bounds), device, threads)
        self.add(given, payloads=payloads, ids=ids)

    def _open(self, settings: TopSettings, device: str, threads: int | None) -> None:
        super()._open(settings, device, threads)
        self._ids = np.empty(0, np.int64)
        self._rows = np.empty((0, settings.entries))
        self._numbers = np.empty((0, settings.payload))
        self._columns: list[list[Plaintext]] = []
        self._payloads: list[list[Plaintext]] = []
        self._biases: list[NDArray[np.float64]] = []

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of the rows: a copy."""
        return np.array(self._ids)

    @property
    def _room(self) -> str:
        return f", room for {self._settings.rows}"

    def cost(self, device: str | None = None) -> Cost:
        """Keys and operations of a query for the first rows and their payloads, and with the name of a table
        of measured times (`hemera.cost`) the seconds."""
        return circuit.cost_of(self._settings, device)

    def _key_cost(self) -> Cost:
        return self.cost()

    def _row_squares(self) -> tuple[float, float]:
        """Mean squares of differences of two rows: twice the variance of their entries."""
        dims, count = self._settings.dims, len(self)
        squares = 2 * self._rows.var(axis=0, ddof=1) if count > 1 else np.zeros(self._settings.entries)
        return float(squares[:dims].sum()), float(squares[dims:].sum())

    @property
    def _blocks_count(self) -> int:
        return self._settings.blocks

    def _read(self, query: bytes, ev: Evaluator) -> Query:
        return unpack_query(query, self._settings, ev)

    def _answers(self, ev: Evaluator, asked: Sequence[tuple[str, Query]]) -> list[bytes]:
        settings, blocks = self._settings, len(self._columns)
        parts = products(ev, [query.x for _, query in asked], self._columns, settings)
        halves = scores(ev, parts, settings)
        biased = (half + bias for half, bias in zip(halves, itertools.cycle(self._biases), strict=False))
        ranks = circuit.ranks(ev, biased, settings)
        levels = (query.k for _, query in asked for _ in range(blocks))
        found = iter(
            circuit.first_rows(ev, (k - rank for k, rank in zip(levels, ranks, strict=True)), settings)
        )
        return [
            self._packed(name, query.want, list(itertools.islice(found, blocks))) for name, query in asked
        ]

    def _packed(self, name: str, want: str, found: Sequence[Ciphertext]) -> bytes:
        """The answer to a query, of the first rows of each block."""
        settings = self._settings
        results = [stack([each.shrink() for each in found])]
        if want == "payloads":
            of_blocks = [
                stack([payloads_of(each, numbers) for numbers in of_block])
                for each, of_block in zip(found, self._payloads, strict=True)
            ]
            results.append(stack(of_blocks))
        ids = np.full(settings.rows, GONE)
        ids[: len(self)] = self._ids
        return pack_answer("top answer", {**self._answer_header(name), "want": want}, ids, results)

    # --- Rows. ---

    def add(
        self, vectors: ArrayLike, *, payloads: ArrayLike | None = None, ids: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Add rows. All pairs are encoded anew.

        Args:
            vectors: as those of the index.
            payloads: as those of the index.
            ids: their names, which no row has. None: integers from the largest id so far on.

        Returns:
            The ids of the rows.

        Raises:
            MismatchError: if vectors, payloads or ids have another shape.
            OutOfMemoryError: if the device has no room. The index is unchanged.
            ParameterError: if an id is there already, or repeats, there is no capacity for all rows, or a
                vector is zero where the metric is "cosine".
            RangeError: if a norm or a payload is above the settings' bound.
        """
        settings = self._settings
        rows = scaled_rows(vectors, settings, "vectors to add")
        numbers = as_payloads(payloads, len(rows), settings)
        with self._lock:
            named = new_ids(ids, len(rows), self._ids, self._next_id)
            if len(self) + len(rows) > settings.rows:
                raise ParameterError(
                    f"the index has {len(self)} rows, and room for {settings.rows}: make it with capacity= "
                    "of all rows to come"
                )
            self._set(
                np.concatenate([self._ids, named]),
                np.concatenate([self._rows, rows]),
                np.concatenate([self._numbers, numbers]),
            )
            self._changed(named)
        return named

    def remove(self, ids: ArrayLike) -> None:
        """Remove rows.

        Raises:
            ParameterError: if no row has one of the ids, or one repeats. The index is unchanged.
        """
        with self._lock:
            kept = np.setdiff1d(np.arange(len(self)), places_of(ids, self._ids))
            self._set(self._ids[kept], self._rows[kept], self._numbers[kept])
            self._changed()

    def _set(self, ids: NDArray[np.int64], rows: NDArray[np.float64], numbers: NDArray[np.float64]) -> None:
        settings, context = self._settings, self._context
        count, room = len(ids), settings.rows
        is_there = np.arange(room) < count
        whole = np.zeros((room, settings.entries))
        whole[:count] = rows
        # A row's payload lies with its first pair.
        of_pairs = np.zeros((room, room, settings.payload))
        of_pairs[:count, 0] = numbers / (2 * settings.payload_bound)
        self._columns = [
            [context.encode(column, level=settings.top) for column in block]
            for block in circuit.pair_columns(whole, is_there, settings)
        ]
        self._payloads = [
            [context.encode(each, level=1) for each in settings.layout.of_numbers(block)]
            for block in of_pairs.reshape(settings.blocks, settings.layout.rows, settings.payload)
        ]
        self._biases = circuit.biases_of(is_there, settings)
        self._ids, self._rows, self._numbers = ids, rows, numbers

    # --- Files. ---

    def _contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        arrays = (self._ids.astype("<i8"), self._rows.astype("<f8"), self._numbers.astype("<f8"))
        return {"count": len(self)}, [each.tobytes() for each in arrays]

    @classmethod
    def _memory_of(cls, settings: TopSettings, header: dict[str, Any]) -> int:  # noqa: ARG003
        pairs = 8 * settings.rows**2 * settings.payload
        return pairs + settings.blocks * block_bytes(settings)

    def _fill(self, header: dict[str, Any], body: memoryview) -> None:
        settings, count = self._settings, header["count"]
        width = 1 + settings.entries + settings.payload
        if count > settings.rows or len(body) != 8 * count * width:
            raise FormatError(f"the index has {len(body)} bytes for {count} rows")
        ids = np.frombuffer(body[: 8 * count], "<i8").astype(np.int64)
        require_ids(ids, self._next_id)
        end = 8 * count * (1 + settings.entries)
        rows = np.frombuffer(body[8 * count : end], "<f8").reshape(count, settings.entries)
        numbers = np.frombuffer(body[end:], "<f8").reshape(count, settings.payload)
        require_scaled(rows, numbers, settings)
        self._set(ids, rows.copy(), numbers.copy())
