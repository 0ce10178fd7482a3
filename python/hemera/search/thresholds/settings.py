"""The facts that an index with thresholds and its clients agree on."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hemera.circuits import Function, sign
from hemera.ckks import Parameters
from hemera.errors import ParameterError
from hemera.inputs.fields import Kind, Real, Whole
from hemera.search.any_settings import DIMS, MOST_DIMS, AnySettings, Metric, require_scores
from hemera.search.thresholds.layout import Layout, power_of_two

__all__ = ["ThresholdSettings"]

SCORE_LEVELS = 1
RESULT_LEVELS = 2
"""Below the comparison: one for payloads, or for the weights of rows that are counted; and one that leaves
nothing but the counts in a ciphertext of them."""
_LEAST_MARGIN = 2.0**-11
_SCORE_NOISE = 2.0**-20
"""Above the noise of scores, which are from -1/2 to 1/2."""
_BITS = 16
"""A row beyond the margin is within 2^-17 of its 0 or 1."""
_SCALE_BITS = 40
_RANGE_BITS = 10


@dataclass(frozen=True)
class Ring:
    """What parameters are chosen by, in addition to a circuit's depth."""

    degree: int
    """N, at least; that of half as many slots."""
    security: int | None
    """Bits; None: any, for tests."""


RING = Ring(1 << 15, 128)
"""The ring of all settings in a process. It is no part of them, so that no server can name a weaker one.
Tests of behaviour put a small one in its place."""
_ROWS = Whole(1, MOST_DIMS)
_BOUND = Real(1e-300, 1e300)
_FIELDS: Mapping[str, Kind] = {
    "dims": DIMS,
    "metric": str,
    "margin": Real(_LEAST_MARGIN, 1),
    "rows": _ROWS,
    "row_bound": _BOUND,
    "payload": Whole(0, MOST_DIMS),
    "payload_bound": _BOUND,
    "owner": str,
}


@dataclass(frozen=True)
class ThresholdSettings(AnySettings):
    """All that a client needs to know of a `ThresholdIndex`. They say nothing of its vectors but the numbers
    below.

    Raises:
        ParameterError: if a field is out of its range.
    """

    _kind: ClassVar[str] = "threshold settings"
    _fields: ClassVar[Mapping[str, Kind]] = _FIELDS

    dims: int
    """Numbers of a vector."""
    metric: Metric
    """"cosine", "dot" or "l2", as for `hemera.search.Index`."""
    margin: float
    """Rows whose score is nearer to the threshold may come out on either side, or between: of cosines;
    of inner products divided by B |q|, of squared distances divided by B (2 |q| + B), with B = `row_bound`
    and q the query."""
    rows: int
    """The rows of a block: a power of two."""
    row_bound: float = 1.0
    """A bound on the norm of a row. 1 for cosines."""
    payload: int = 0
    """Numbers that each row has as its payload."""
    payload_bound: float = 1.0
    """The largest magnitude of these."""
    owner: str = ""
    """A name for the secret key that reads an index of encrypted rows, 32 hexadecimal digits.
    "": a clear index."""

    def __post_init__(self) -> None:
        self._require_common()
        if not _LEAST_MARGIN <= self.margin <= 1:
            raise ParameterError(f"the margin is from 2^-11 to 1, not {self.margin}")
        if not all(_BOUND.has(float(bound)) for bound in (self.row_bound, self.payload_bound)):
            raise ParameterError(
                f"the bounds of rows and payloads are numbers from {_BOUND.low} to {_BOUND.high}; they are "
                f"{self.row_bound} and {self.payload_bound}"
            )
        require_scores(self.metric, self.row_bound, self.row_bound)
        if not _ROWS.has(self.rows):
            raise ParameterError(f"the rows of a block are a power of two, not {self.rows!r}")
        if self.metric == "cosine" and self.row_bound != 1:
            raise ParameterError(f"cosines are of rows of norm 1: row_bound must be 1, not {self.row_bound}")
        slots = self.params.max_slots
        if not 1 <= self.dims <= slots:
            raise ParameterError(f"vectors have 1 to {slots} numbers here, not {self.dims}")
        self._require_rows()
        if not 0 <= self.payload <= slots:
            raise ParameterError(f"a payload has up to {slots} numbers, not {self.payload}")

    def _require_rows(self) -> None:
        least, slots = power_of_two(self.dims), self.params.max_slots
        if not least <= self.rows <= slots or power_of_two(self.rows) != self.rows:
            raise ParameterError(
                f"the rows of a block are a power of two from {least} to {slots}, not {self.rows}"
            )

    @property
    def step(self) -> Function:
        """The sign of a score's half minus the threshold's: -1 or 1, beyond the margin."""
        return step_of(self.margin / 2 - _SCORE_NOISE)

    @property
    def params(self) -> Parameters:
        """The parameters of encryption, with 128 bits of security (docs/security.md)."""
        return parameters_of(self.top, RING)

    @property
    def layout(self) -> Layout:
        """Where rows lie in slots."""
        return Layout(self.params.max_slots, self.rows, self.dims)

    @property
    def entries(self) -> int:
        """Numbers of a row: with the metric "l2" its squared norm in addition."""
        return self.dims + (self.metric == "l2")

    @property
    def columns(self) -> int:
        """Plaintexts or ciphertexts of a block's rows."""
        return self.layout.steps + self.entries - self.dims

    @property
    def payloads(self) -> int:
        """Ciphertexts of a block's payloads: a copy of the block has one number of each row."""
        return -(-self.payload // self.layout.copies)

    @property
    def top(self) -> int:
        """The level of queries and rows."""
        return SCORE_LEVELS + self.step.depth + RESULT_LEVELS


def rows_of_block(count: int, dims: int, margin: float) -> int:
    """The rows of a block for so many rows: all, where they fit the slots."""
    depth = SCORE_LEVELS + step_of(margin / 2 - _SCORE_NOISE).depth + RESULT_LEVELS
    slots = parameters_of(depth, RING).max_slots
    return min(slots, max(power_of_two(max(1, count)), power_of_two(dims)))


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
