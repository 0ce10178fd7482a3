"""What answers tell of compared scores: the rows beyond a threshold, or the first k."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.circuits import Function
from hemera.errors import FormatError, ParameterError
from hemera.inputs.arguments import as_integer
from hemera.inputs.fields import Kind, Real, Whole
from hemera.inputs.plain import plain_array
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator
from hemera.search.comparisons.circuit import batched, window_sums
from hemera.search.comparisons.layout import Layout, power_of_two
from hemera.search.comparisons.program import Comparisons
from hemera.search.comparisons.slots import (
    BOUND,
    LEAST_MARGIN,
    RESULT_LEVELS,
    ROWS,
    SCORE_LEVELS,
    SCORE_NOISE,
    Asked,
    Compared,
    Slots,
    payload_numbers,
    slots_of,
    step_of,
)
from hemera.search.settings import MOST_DIMS, Answers, Metric, Settings
from hemera.search.vectors import norms_of

__all__ = ["Threshold", "Top"]

T = TypeVar("T", bound="Threshold")

MOST_THRESHOLDS = 4096
"""The most thresholds of one query."""
MOST_ROWS = 1024
"""The most rows of an index that ranks them: all pairs are compared."""
_RANK_LEVELS = 1
"""From sums of comparisons to ranks divided by the number of rows."""
_RANK_NOISE = 2.0**-6
"""Above the errors of all comparisons of a row together."""


@dataclass(frozen=True)
class Threshold(Answers):
    """Answers have the rows whose scores are beyond an encrypted threshold, their number, or their payloads.

    Args:
        margin: rows whose score is nearer to the threshold may come out on either side, or between. From
            2^-11 to 1, of cosines; of inner products divided by B |q|, and squared distances divided by
            B (2 |q| + B), with B = `row_bound` and q the query. Half of it takes one level more.
        row_bound: the largest norm of a row that is to fit; 1 for cosines. None: that of the first rows.
        payload_bound: the largest magnitude of a payload's number that is to fit. None: that of the first.
        rows: the rows of a block, which is rounded up to a power of two. 0: the number of the first rows.
        payload: numbers that each row has as its payload, as the index finds them.
    """

    kind: ClassVar[str] = "threshold"
    ranges: ClassVar[Mapping[str, Kind]] = {
        "margin": Real(LEAST_MARGIN, 1),
        "rows": ROWS,
        "row_bound": BOUND,
        "payload": Whole(0, MOST_DIMS),
        "payload_bound": BOUND,
    }
    wants: ClassVar[tuple[str, ...]] = ("mask", "count", "payloads")
    largest_squares: ClassVar[tuple[float, float]] = (1.0, 1.0)
    query_fields: ClassVar[dict[str, type]] = {"thresholds": int}
    answer_fields: ClassVar[dict[str, type]] = {"blocks": int}

    margin: float = 2.0**-5
    row_bound: float | None = None
    payload_bound: float | None = None
    rows: int = 0
    payload: int = 0

    def fitted(self: T, vectors: NDArray[Any], metric: Metric, payloads: ArrayLike | None) -> T:
        count, dims = vectors.shape
        bound = 1.0
        if metric != "cosine":
            largest = float(norms_of(vectors)[0].max())
            bound = largest if self.row_bound is None else float(self.row_bound)
            if bound == 0:
                raise ParameterError("all vectors are zero; give row_bound=")
        elif self.row_bound is not None:
            raise ParameterError("row_bound= is for other metrics; cosines are of rows of norm 1")
        width, most = 0, 1.0
        if payloads is not None:
            numbers = payload_numbers(payloads)
            width = numbers.shape[1]
            most = float(np.abs(numbers).max(initial=0)) or 1.0
        return replace(
            self,
            margin=float(self.margin),
            row_bound=bound,
            payload_bound=most if self.payload_bound is None else float(self.payload_bound),
            rows=self.room(count, dims),
            payload=width,
        )

    @property
    def step(self) -> Function:
        """The sign of a score's half minus another number: -1 or 1, beyond the margin."""
        return step_of(self.margin / 2 - SCORE_NOISE)

    def program(self, settings: Settings) -> Comparisons:
        return Comparisons(settings, self)

    def room(self, count: int, dims: int) -> int:
        """The field `rows` for an index that begins with so many rows."""
        return min(slots_of(self.top), max(power_of_two(max(1, self.rows or count)), power_of_two(dims)))

    def require_rows(self, dims: int) -> None:
        """ParameterError unless the number of rows is one of this kind."""
        least, slots = power_of_two(dims), slots_of(self.top)
        if not least <= self.rows <= slots or power_of_two(self.rows) != self.rows:
            raise ParameterError(
                f"the rows of a block are a power of two from {least} to {slots}, not {self.rows}"
            )

    @property
    def compared_level(self) -> int:
        """The level of the numbers that scores, or ranks, are compared with."""
        return self.top - SCORE_LEVELS

    @property
    def top(self) -> int:
        """The level of queries and rows."""
        return SCORE_LEVELS + self.step.depth + RESULT_LEVELS

    def layout(self, slots: int, dims: int) -> Layout:
        """Where rows, or pairs of rows, lie in slots."""
        return Layout(slots, self.rows, dims)

    @property
    def stride(self) -> int:
        """Places of a block's first copy between the results of rows."""
        return 1

    def blocks(self, layout: Layout) -> int | None:  # noqa: ARG002
        """The number of blocks, where it is fixed."""
        return None

    def compared(
        self, of: Slots, asked: Asked, threshold: ArrayLike | None, k: int | None, want: str
    ) -> Compared:
        """What a query's scores, or ranks, are compared with. ParameterError, RangeError."""
        if threshold is None or k is not None:
            raise ParameterError(
                "this index compares scores with a threshold: query(x, threshold); Client.top has the first k"
            )
        levels = plain_array(threshold, "a threshold", np.float64)
        if levels.ndim > 1 or levels.size == 0 or (want != "count" and levels.size != 1):
            raise ParameterError(f"a query for the {want} of rows has no {levels.shape} thresholds")
        if levels.size > MOST_THRESHOLDS:
            raise ParameterError(f"a query has up to {MOST_THRESHOLDS} thresholds, not {levels.size}")
        return self.slots_of(of, asked.relative(levels.reshape(-1), of), levels.ndim == 0)

    def slots_of(self, of: Slots, relative: NDArray[np.float64], is_single: bool) -> Compared:
        """Thresholds from -1 to 1, in slots."""
        halves = np.clip(relative, -1, 1) / 2
        return Compared(of.layout.of_thresholds(halves), {"thresholds": len(relative)}, is_single)

    def compared_shape(self, of: Slots, header: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape of the ciphertexts of these. FormatError."""
        count, want = header["thresholds"], header["want"]
        if not 1 <= count <= (MOST_THRESHOLDS if want == "count" else 1):
            raise FormatError(f"a query of {count} thresholds for the {want} of rows")
        return (-(-count // of.layout.copies),)

    def compare(
        self,
        ev: Evaluator,
        of: Slots,
        halves: Iterable[Ciphertext],
        compared: Sequence[Sequence[Ciphertext]],
        biases: Sequence[Any],
    ) -> list[Ciphertext]:
        """2 for rows that match, 0 for others, at the level RESULT_LEVELS or below: of each query, of each of
        its ciphertexts of `compared`, of each block.

        Args:
            halves: half the scores of each query's blocks.
            compared: of each query what they are compared with.
            biases: of each block, what is added to half its scores.
        """
        left = iter(halves)
        of_queries = [list(itertools.islice(left, len(biases))) for _ in compared]
        differences = (
            half - threshold
            for of_query, thresholds in zip(of_queries, compared, strict=True)
            for threshold in thresholds
            for half in of_query
        )
        return batched(ev, lambda each: self.step(ev.declare(each, 1)) + 1, differences, of)


@dataclass(frozen=True)
class Top(Threshold):
    """Answers have the rows that are the k nearest, with an encrypted k, or their payloads: the index
    compares the scores of all pairs of few rows.

    Args:
        margin: the order of two rows whose scores are nearer is not sure; as for `Threshold`.
        row_bound: as for `Threshold`.
        payload_bound: as for `Threshold`.
        rows: the largest number of rows, up to 1,024, which is rounded up to a power of two. Memory and time
            grow with its square. 0: the number of the first rows.
        payload: as for `Threshold`.
    """

    kind: ClassVar[str] = "top"
    wants: ClassVar[tuple[str, ...]] = ("mask", "payloads")
    largest_squares: ClassVar[tuple[float, float]] = (4.0, 1.0)  # two opposite rows, and one with zero
    query_fields: ClassVar[dict[str, type]] = {}
    answer_fields: ClassVar[dict[str, type]] = {}

    def program(self, settings: Settings) -> Comparisons:
        if settings.owner:
            raise ParameterError("rows that are ranked are in the clear; encrypted ones take thresholds")
        return super().program(settings)

    def room(self, count: int, dims: int) -> int:
        rows = as_integer(self.rows, "Top", "rows") or count
        if rows < count:
            raise ParameterError(f"Top(rows={rows}) has no room for {count} rows")
        return max(power_of_two(rows), _least_rows(dims))

    def require_rows(self, dims: int) -> None:
        least = _least_rows(dims)
        if not least <= self.rows <= MOST_ROWS or power_of_two(self.rows) != self.rows:
            raise ParameterError(
                f"an index that ranks rows of {dims} numbers has room for a power of two of them from "
                f"{least} to {MOST_ROWS}, not for {self.rows}; compare more rows with thresholds "
                "(hemera.search.Threshold)"
            )

    @property
    def rank_step(self) -> Function:
        """The sign of k - 1/2 minus a rank from 0 on, both divided by the number of rows."""
        return step_of((0.5 - _RANK_NOISE) / self.rows)

    @property
    def compared_level(self) -> int:
        return self.rank_step.depth + RESULT_LEVELS

    @property
    def top(self) -> int:
        return SCORE_LEVELS + self.step.depth + _RANK_LEVELS + self.compared_level

    def layout(self, slots: int, dims: int) -> Layout:
        """Pair i rows + j tells whether row j is before row i."""
        return Layout(slots, min(slots, self.rows**2), dims)

    @property
    def stride(self) -> int:
        return self.rows

    def blocks(self, layout: Layout) -> int:
        return self.rows**2 // layout.rows

    def compared(self, of: Slots, _: Asked, threshold: ArrayLike | None, k: int | None, __: str) -> Compared:
        if threshold is not None or k is None:
            raise ParameterError("this index ranks its rows: query(x, k=)")
        if as_integer(k, "query", "k") < 1:
            raise ParameterError(f"k must be 1 or more, not {k}")
        return Compared(np.full(of.layout.slots, (min(k, of.rows) - 0.5) / of.rows), {}, True)

    def compared_shape(self, _: Slots, __: Mapping[str, Any]) -> tuple[int, ...]:
        return ()

    def compare(
        self,
        ev: Evaluator,
        of: Slots,
        halves: Iterable[Ciphertext],
        compared: Sequence[Sequence[Ciphertext]],
        biases: Sequence[Any],
    ) -> list[Ciphertext]:
        """Ranks in the slots of pairs (i, 0), which are compared with k; 0 in all other slots."""
        places = (np.arange(of.layout.slots) % self.rows == 0).astype(float)

        def ranks(each: Ciphertext) -> Ciphertext:
            total = window_sums(self.step(ev.declare(each, 1)) + 1, self.rows)
            # Sums of other windows than those of one row are between 0 and 2 rows, too.
            return total * (1 / (2 * self.rows))

        def firsts(each: Ciphertext) -> Ciphertext:
            is_first = self.rank_step(ev.declare(each, 1)) + 1
            return is_first * is_first.context.encode(places, level=is_first.level)

        biased = (half + bias for half, bias in zip(halves, itertools.cycle(biases), strict=False))
        levels = (k for (k,) in compared for _ in biases)
        found = batched(ev, ranks, biased, of)
        return batched(ev, firsts, (k - rank for k, rank in zip(levels, found, strict=True)), of)


def _least_rows(dims: int) -> int:
    """The least room for rows, whose pairs must be as many as entries."""
    rows = 2
    while rows**2 < power_of_two(dims):
        rows *= 2
    return rows
