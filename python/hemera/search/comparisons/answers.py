"""Results in answers of compared scores: the rows beyond a threshold, or the first k."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import ParameterError
from hemera.inputs.arguments import as_integer
from hemera.inputs.fields import Kind, Real, Whole
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator
from hemera.search.comparisons import slots
from hemera.search.comparisons.circuit import Block, batched, window_sums
from hemera.search.comparisons.layout import power_of_two
from hemera.search.comparisons.messages import Query
from hemera.search.comparisons.program import Compared, Comparisons
from hemera.search.comparisons.slots import Asked
from hemera.search.settings import MOST_DIMS, Answers, Metric, Settings
from hemera.search.vectors import norms_of

MOST_ROWS = 1024
"""All pairs are compared."""
_RANK_LEVELS = 1
"""The level from sums of comparisons to ranks divided by the number of rows."""
_RANK_NOISE = 2.0**-6
"""Above the errors of all comparisons of a row together."""


class Ranks(Comparisons):
    """Comparisons of all pairs of rows: pair i rows + j says whether row j is before row i."""

    wants = ("mask", "payloads")
    largest_squares = (4.0, 1.0)  # two opposite rows, and one with zero
    query_fields: ClassVar[dict[str, type]] = {}
    answer_fields: ClassVar[dict[str, type]] = {}
    hint = ": all pairs of rows are compared; compare more rows with thresholds (hemera.search.Threshold)"

    def levels(self) -> tuple[int, int]:
        # The sign of k - 1/2 minus a rank from 0 on, both divided by the number of rows.
        self.rank_step = slots.step_of((0.5 - _RANK_NOISE) / self.rows)
        last = self.rank_step.depth + slots.RESULT_LEVELS
        return slots.depth_of(self.margin) - slots.RESULT_LEVELS + _RANK_LEVELS + last, last

    def limits(self, _: int) -> tuple[int, int]:
        return least_rows(self.dims), MOST_ROWS

    @property
    def places(self) -> int:
        return self.rows**2

    @property
    def stride(self) -> int:
        return self.rows

    @property
    def blocks(self) -> int:
        return self.places // self.layout.rows

    def compared(self, _: Asked, threshold: Any, k: int | None, __: str) -> Compared:
        if threshold is not None or k is None:
            raise ParameterError("this index ranks its rows: query(x, k=)")
        if as_integer(k, "query", "k") < 1:
            raise ParameterError(f"k must be 1 or more, not {k}")
        return Compared(np.full(self.layout.slots, (min(k, self.rows) - 0.5) / self.rows), {}, True)

    def compared_shape(self, _: Mapping[str, Any]) -> tuple[int, ...]:
        return ()

    def compare(
        self, ev: Evaluator, halves: Iterable[Ciphertext], queries: Sequence[Query], blocks: Sequence[Block]
    ) -> list[Ciphertext]:
        """Ranks in the slots of pairs (i, 0), which are compared with k; 0 in all other slots."""
        places = (np.arange(self.layout.slots) % self.rows == 0).astype(float)

        def ranks(each: Ciphertext) -> Ciphertext:
            total = window_sums(self.step(ev.declare(each, 1)) + 1, self.rows)
            # Sums of other windows than those of one row are between 0 and 2 rows, too.
            return total * (1 / (2 * self.rows))

        def firsts(each: Ciphertext) -> Ciphertext:
            is_first = self.rank_step(ev.declare(each, 1)) + 1
            return is_first * is_first.context.encode(places, level=is_first.level)

        biases = itertools.cycle(block.bias for block in blocks)
        found = batched(ev, ranks, (half + bias for half, bias in zip(halves, biases, strict=False)), self)
        levels = (query.compared[0] for query in queries for _ in blocks)
        return batched(ev, firsts, (k - rank for k, rank in zip(levels, found, strict=True)), self)


def least_rows(dims: int) -> int:
    """The least room for rows, whose pairs must be as many as entries."""
    rows = 2
    while rows**2 < power_of_two(dims):
        rows *= 2
    return rows


T = TypeVar("T", bound="Threshold")


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
        "margin": Real(slots.LEAST_MARGIN, 1),
        "rows": slots.ROWS,
        "row_bound": slots.BOUND,
        "payload": Whole(0, MOST_DIMS),
        "payload_bound": slots.BOUND,
    }

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
            numbers = slots.payload_numbers(payloads)
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

    def program(self, settings: Settings) -> Comparisons:
        return Comparisons(settings, self)

    def room(self, count: int, dims: int) -> int:
        """The field `rows` for an index that begins with `count` rows."""
        given = as_integer(self.rows, "Threshold", "rows")
        if given < 0:
            raise ParameterError(f"Threshold(rows={given}): the rows of a block are 1 or more; 0 takes all")
        rows = max(power_of_two(given or count), power_of_two(dims))
        return min(slots.slots_of(self.margin), rows)


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

    def program(self, settings: Settings) -> Ranks:
        if settings.owner:
            raise ParameterError("rows that are ranked are in the clear; encrypted ones take thresholds")
        return Ranks(settings, self)

    def room(self, count: int, dims: int) -> int:
        rows = as_integer(self.rows, "Top", "rows") or count
        if rows < count:
            raise ParameterError(f"Top(rows={rows}) has no room for {count} rows")
        return max(power_of_two(rows), least_rows(dims))
