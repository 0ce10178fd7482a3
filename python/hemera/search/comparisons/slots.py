"""Scores that are compared, as numbers in slots: levels, layouts, and the noise (docs/search.md#thresholds).

A score becomes a number from -1 to 1, half of which is computed, so that differences of two are in this range
as well. With q the query, B the bound on rows' norms:

- "cosine": x·q / |x||q|,
- "dot": x·q / B|q|,
- "l2": (2 x·q - |x|²) / B (2 |q| + B), which is largest for the nearest row. The squares are a column more.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.circuits import Function, sign
from hemera.ckks import Parameters
from hemera.errors import FormatError, MismatchError, ParameterError, RangeError
from hemera.inputs.fields import Real, Whole
from hemera.inputs.plain import plain_array
from hemera.search.comparisons.layout import Layout, power_of_two
from hemera.search.settings import MOST_DIMS, Errors, Settings, require_scores
from hemera.search.vectors import as_vectors, normalized, norms_of, require_dims, unit_queries

SCORE_LEVELS = 1
RESULT_LEVELS = 2
"""Below the comparison: one for payloads, or for the weights of rows that are counted; and one that leaves
nothing but the counts in a ciphertext of them."""
LEAST_MARGIN = 2.0**-11
SCORE_NOISE = 2.0**-20
"""Above the noise of scores, which are from -1/2 to 1/2."""
_BITS = 16
"""A row beyond the margin is within 2^-17 of its 0 or 1."""
_SCALE_BITS = 40
_RANGE_BITS = 10
_ROUNDING = 2.0**-19
"""The error of rounding rows to float32, and of their norms."""
_SINGLE = 2.0**-23 * math.sqrt(3 / (8 * math.log(2)) / 12)
"""The deviation of a float32's rounding over the number: uniform in a unit of its last place, where
logarithms of numbers are uniform."""


class Ring(NamedTuple):
    """What parameters are chosen by, in addition to a circuit's depth: N, at least, that of half as many
    slots; and the bits of security, None in tests."""

    degree: int
    security: int | None


RING = Ring(1 << 15, 128)
"""The ring of all settings in a process. It is no part of them, so that no server can name a weaker one.
Tests of behaviour put a small one in its place."""
ROWS = Whole(1, MOST_DIMS)
BOUND = Real(1e-300, 1e300)


class Asked(NamedTuple):
    """A query, in the clear: its slots, [1, slots], for "l2" [2, slots], and its norm."""

    slots: NDArray[np.float64]
    norm: float


class Slots:
    """The numbers of an index that compares scores.

    Args:
        settings: of the index.
        follows: their answers, a `Threshold` or `Top`.

    Raises:
        ParameterError, RangeError: if a field is out of its range.
    """

    def __init__(self, settings: Settings, follows: Any) -> None:
        self.settings = settings
        self.dims, self.metric, self.owner = settings.dims, settings.metric, settings.owner
        self.margin = float(follows.margin)
        self.rows: int = follows.rows
        self.payload: int = follows.payload
        bounds = (follows.row_bound, follows.payload_bound)
        self.row_bound, self.payload_bound = (1.0 if each is None else float(each) for each in bounds)
        for name, kind in follows.ranges.items():
            if not kind.has(getattr(self, name)):
                raise ParameterError(f"{name} is {kind}, not {getattr(self, name)!r}")
        require_scores(self.metric, self.row_bound, self.row_bound)
        if self.metric == "cosine" and self.row_bound != 1:
            raise ParameterError(f"cosines are of rows of norm 1: row_bound must be 1, not {self.row_bound}")
        self.step = step_of(self.margin / 2 - SCORE_NOISE)
        self.top, self.compared_level = self.levels()  # of queries and rows, and of thresholds
        self.params = parameters_of(self.top, RING)
        slots = self.params.max_slots
        if not 1 <= self.dims <= slots:
            raise ParameterError(f"vectors have 1 to {slots} numbers here, not {self.dims}")
        least, most = self.limits(slots)
        if not least <= self.rows <= most or power_of_two(self.rows) != self.rows:
            raise ParameterError(
                f"rows of {self.dims} numbers come in a power of two from {least} to {most}, not {self.rows}"
                f"{self.hint}"
            )
        if not 0 <= self.payload <= slots:
            raise ParameterError(f"a payload has up to {slots} numbers, not {self.payload}")
        self.layout = layout = Layout(slots, min(slots, self.places), self.dims)
        self.entries = self.dims + (self.metric == "l2")  # of a row: with its squared norm
        self.columns = layout.steps + self.entries - self.dims  # of a block of rows
        self.payloads = -(-self.payload // layout.copies)  # ciphertexts: a copy has one number of each row
        limbs = [len(self.params.primes[at]) for at in (self.top, 1)]
        numbers = self.columns * limbs[0] + self.payloads * limbs[1]
        self.block_bytes: int = 8 * self.params.degree * numbers  # as plaintexts

    hint = ""
    """The way out for another number of rows."""

    def levels(self) -> tuple[int, int]:
        """The level of queries and rows, and the level of what scores, or ranks, are compared with."""
        top = depth_of(self.margin)
        return top, top - SCORE_LEVELS

    def limits(self, slots: int) -> tuple[int, int]:
        """The least and the largest number of `rows`."""
        return power_of_two(self.dims), slots

    @property
    def places(self) -> int:
        """The compared values: of rows of a block, or all pairs of rows."""
        return self.rows

    # --- Rows. ---

    def scaled(self, vectors: ArrayLike) -> NDArray[np.float64]:
        """[rows, entries] of vectors [rows, dims]: divided by their norms, or by the bound on these; for "l2"
        with the squares of their norms in a last entry.

        MismatchError for another shape, RangeError for norms above the bound, ParameterError for a row of
        zeros where the metric is "cosine", TypeError for other numbers.
        """
        given = as_vectors(vectors, "vectors to add")
        require_dims(given, self.dims)
        if self.metric == "cosine":
            return normalized(given)
        rows = np.asarray(given, np.float64) / self.row_bound
        norms = norms_of(rows)[0][:, None]
        if norms.max(initial=0) > 1 + 2**-20:
            raise RangeError(
                f"a vector has the norm {float(norms.max()) * self.row_bound:.6g}, and the index takes up to "
                f"{self.row_bound:.6g}; make it with row_bound= of all vectors to come"
            )
        return np.hstack([rows, norms**2]) if self.metric == "l2" else rows

    def as_payloads(self, payloads: ArrayLike | None, count: int) -> NDArray[np.float64]:
        """[rows, payload] of payloads. MismatchError for another shape, RangeError for larger numbers."""
        if payloads is None and self.payload == 0:
            return np.empty((count, 0))
        numbers = np.empty((0, 0)) if payloads is None else payload_numbers(payloads)
        if numbers.shape != (count, self.payload):
            raise MismatchError(
                f"payloads of {count} rows are an array [{count}, {self.payload}], not one of shape "
                f"{numbers.shape}"
            )
        largest = float(np.abs(numbers).max(initial=0))
        if not largest <= self.payload_bound:
            raise RangeError(
                f"a payload has the number {largest:.6g}, and the index takes up to {self.payload_bound:.6g}"
                "; make it with payload_bound= of all payloads to come"
            )
        return numbers

    def require_scaled(self, rows: NDArray[np.floating], numbers: NDArray[np.float64]) -> None:
        """FormatError unless scaled rows of a file are below 1, and its payloads within their bound."""
        for what, found, bound in (("rows", rows, 1 + _ROUNDING), ("payloads", numbers, self.payload_bound)):
            if not np.abs(found).max(initial=0) <= bound:  # a number that is none is above, too
                raise FormatError(f"the {what} of the index have numbers above their bound of {bound:.6g}")

    def is_turned(self, blocks: int) -> bool:
        """Whether so many blocks are turned (`comparisons.layout`): their sums are rotated for each block,
        where the query's rotations are shared by all."""
        return not self.owner and blocks <= max(1, len(self.layout.babies) // 4)

    def columns_of(self, rows: NDArray[np.floating], is_turned: bool = False) -> NDArray[np.float64]:
        """[columns, slots] of a block's scaled rows [count, entries], or of differences of such."""
        columns = self.layout.of_rows(rows[:, : self.dims], is_turned)
        squares = [self.layout.in_copies(each) for each in rows[:, self.dims :].T]
        return np.concatenate([columns, *(each[None] for each in squares)])

    def numbers_of(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """[ciphertexts, slots] of half a block's payloads over their bound."""
        return self.layout.of_numbers(numbers / (2 * self.payload_bound))

    # --- Queries. ---

    def asked(self, x: NDArray[Any]) -> Asked:
        """A query in slots. MismatchError for another shape; else errors of `unit_queries`."""
        if x.shape != (self.dims,):
            raise MismatchError(f"a query has {self.dims} numbers; the shape is {x.shape}")
        norms, near = unit_queries(x[None], self.settings, self.row_bound)
        norm, layout, bound = float(norms[0]), self.layout, self.row_bound
        if self.metric != "l2":
            return Asked(layout.of_query(near[0] / 2)[None], norm)
        factor = bound / (2 * norm + bound)
        # The squares are added up over the parts, as all columns are.
        squares = np.full(layout.slots, -factor / (2 * layout.parts))
        wide = np.asarray(x, np.float64)
        return Asked(np.stack([layout.of_query(wide * (factor / bound)), squares]), norm)

    def relative(self, scores: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
        """Scores, for a query of this norm, as numbers from -1 to 1; beyond these, where no row has such a
        score. RangeError for numbers that are not finite or, as cosines, not from -1 to 1."""
        found, bound = scores, self.row_bound
        if self.metric == "dot":
            found = scores / (bound * (norm or 1.0))
        elif self.metric == "l2":
            found = (norm**2 - scores) / (bound * (2 * norm + bound))
        if not np.isfinite(found).all() or (self.metric == "cosine" and np.abs(found).max() > 1):
            raise RangeError("a threshold is a finite number, of cosines from -1 to 1")
        return found

    # --- Errors. ---

    def errors(
        self, row_square: float, last_square: float, are_singles: bool = False, blocks: int | None = None
    ) -> Errors:
        """The standard deviations of the errors of a score, for a query of norm 1.

        Coefficients have independent errors: sigma of an encryption, uniform ones of an encoding and of a
        division by special primes or a rescale, the latter also times the secret. In the real part of a slot
        their variances are those below. Products are relinearized and added up over copies at their double
        scale, where that adds nothing that counts, and are rescaled once.

        Args:
            row_square: the mean of the squared norms of scaled rows, or of differences of these where they
                are compared.
            last_square: with "l2" the mean square of their last entries.
            are_singles: whether rows are kept as float32.
            blocks: of the rows. None: as many as have the largest errors.
        """
        params, layout = self.params, self.layout
        unit = params.degree / 2 / params._native.scale**2
        weight = params._native.secret_weight or 2 * params.degree / 3
        encoding = 2 * unit / 12  # symmetric, so that all of the error is real
        fresh = unit * params._native.sigma**2 + encoding
        division = unit * (1 + weight) / 12
        # A query turned by 0 has no rotation, one turned by a baby and a giant has two.
        babies, giants, steps = len(layout.babies), len(layout.giants), layout.steps
        turns = (giants * (babies - 1) + babies * (giants - 1)) / steps
        if blocks is not None and self.is_turned(blocks):
            turns = (babies - 1) / babies  # sums are rotated at their double scale
        column = fresh if self.owner else encoding
        bound = self.row_bound
        # The squares of the norm of a query's slots, and of the factor of squared norms.
        query = 1 / (2 + bound) ** 2 if self.metric == "l2" else 0.25
        of_squares = query * bound**2 / 4
        variance = row_square * (fresh + turns * division) + query * column
        if self.metric == "l2":
            # The squared norms: one more column, the same in all copies.
            variance += layout.parts * last_square * fresh + of_squares / layout.parts * column
        variance += division
        scale = {"cosine": 1.0, "dot": bound, "l2": bound * (2 + bound)}[self.metric]
        rounding = 0.0
        if are_singles:
            # All entries together count as independent ones. "l2" has the squared norm as a last one.
            rounded = 4 * query * row_square / self.dims
            if self.metric == "l2":
                rounded += 4 * of_squares * last_square
            rounding = scale * _SINGLE * math.sqrt(rounded)
        return Errors(2 * scale * math.sqrt(variance), rounding)


def payload_numbers(payloads: ArrayLike) -> NDArray[np.float64]:
    """Payloads as an array [rows, numbers]. MismatchError."""
    numbers = plain_array(payloads, "payloads")
    if numbers.ndim != 2 or numbers.dtype.kind not in "fiu":
        raise MismatchError(
            f"payloads are real numbers [rows, numbers], not {numbers.dtype} of shape {numbers.shape}"
        )
    return np.asarray(numbers, np.float64)


@functools.cache
def step_of(gap: float) -> Function:
    """The sign of numbers from -1 to 1, beyond the gap."""
    return sign(gap=gap, bits=_BITS)


@functools.cache
def parameters_of(depth: int, ring: Ring) -> Parameters:
    """Parameters of a circuit's depth."""
    return Parameters.for_circuit(
        depth=depth,
        scale_bits=_SCALE_BITS,
        range_bits=_RANGE_BITS,
        slots=ring.degree // 2,
        degree=ring.degree,
        security=ring.security,
    )


def depth_of(margin: float) -> int:
    """Levels of scores, of comparisons with thresholds, and of results."""
    return SCORE_LEVELS + step_of(margin / 2 - SCORE_NOISE).depth + RESULT_LEVELS


def slots_of(margin: float) -> int:
    """The slots of such an index."""
    return parameters_of(depth_of(margin), RING).max_slots
