"""The results that an index gives of its scores: the scores, the rows beyond a threshold, or the first k."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import MismatchError, ParameterError
from hemera.inputs.arguments import as_integer, described
from hemera.inputs.fields import Kind, Real, Whole
from hemera.search.comparisons import slots
from hemera.search.comparisons.layout import power_of_two
from hemera.search.comparisons.program import Comparisons
from hemera.search.comparisons.ranks import Ranks, least_rows
from hemera.search.scores.program import ScoreProgram
from hemera.search.scores.scales import LARGEST_ENTRY
from hemera.search.settings import MOST_DIMS, SIZE, Answers, Metric, Settings
from hemera.search.vectors import largest_entry, norms_of


@dataclass(frozen=True)
class Scores(Answers):
    """Answers have the scores of all rows."""

    kind: ClassVar[str] = ""
    ranges: ClassVar[Mapping[str, Kind]] = {
        "exact": bool,
        "scale": SIZE,
        "row_bound": Real(0, 1 << 20),
        "query_bound": Whole(1),
    }

    exact: bool = False
    """Whether scores are exact integers. Vectors and queries then are integers."""
    scale: float = 1.0
    """The integers of the database over the numbers of the vectors (of the normalized ones for cosines)."""
    row_bound: float = 0.0
    """A bound on the norm of a row's integers; 0: 128 sqrt(dims), which always holds."""
    query_bound: int = 127
    """The largest magnitude of a query's integers, with exact scores."""
    largest: float | None = None
    """The largest magnitude of an entry that is to fit, before there is a scale."""

    def fitted(self, vectors: NDArray[Any], metric: Metric, payloads: ArrayLike | None) -> Scores:
        if payloads is not None:
            raise ParameterError("scores come without payloads; answers=hemera.search.Threshold() has them")
        root = math.sqrt(vectors.shape[1])
        if self.exact or (vectors.dtype == np.int8 and metric != "cosine"):
            if self.largest is not None:
                raise ParameterError("largest= is for vectors that are rounded; int8 is taken as it is")
            return replace(self, row_bound=LARGEST_ENTRY * root)
        Settings(vectors.shape[1], metric, Scores())  # before the vectors are looked at
        found = largest_entry(vectors, metric)
        top = found if self.largest is None else float(self.largest)
        if not (found <= top < np.inf):
            raise ParameterError(f"largest is {self.largest}, and the vectors have an entry of {found:.6g}")
        if top == 0:
            raise ParameterError("all vectors are zero, which gives no scale; give largest=")
        scale = 127 / top
        # A normalized vector times the scale, and half a unit of rounding for each entry.
        bound = scale + root / 2 if metric == "cosine" else math.inf
        row_bound = min(bound, LARGEST_ENTRY * root)
        return Scores(scale=scale, row_bound=row_bound, query_bound=self.query_bound)

    def program(self, settings: Settings) -> ScoreProgram:
        return ScoreProgram(settings, self)


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

    def fitted(self, vectors: NDArray[Any], metric: Metric, payloads: ArrayLike | None) -> Threshold:
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


def fitted_settings(
    vectors: NDArray[Any],
    metric: Metric,
    answers: Answers | None,
    exact: bool,
    largest: float | None,
    query_bound: int,
    payloads: ArrayLike | None,
    owner: str = "",
) -> Settings:
    """The settings of an index that begins with these vectors. Errors of `Index`."""
    if len(vectors) == 0:
        raise MismatchError("an index begins with one vector at least")
    if answers is None:
        answers = Scores(exact, query_bound=query_bound, largest=largest)
    elif (exact, largest, query_bound) != (False, None, 127):
        raise ParameterError("exact=, largest= and query_bound= are of scores, and these answers have none")
    if not isinstance(answers, Answers):
        raise TypeError(f"answers= is a hemera.search.Threshold or Top, not {described(answers)}")
    fitted = answers.fitted(vectors, metric, payloads)
    return Settings(vectors.shape[1], metric, fitted, owner)
