"""The facts that an index which ranks its rows and its clients agree on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hemera.circuits import Function
from hemera.errors import ParameterError
from hemera.search.thresholds.layout import Layout, power_of_two
from hemera.search.thresholds.settings import RESULT_LEVELS, SCORE_LEVELS, ThresholdSettings, step_of

__all__ = ["TopSettings"]

MOST_ROWS = 1024
"""All pairs of rows are compared."""
_RANK_LEVELS = 1
"""From sums of comparisons to ranks divided by the number of rows."""
_RANK_NOISE = 2.0**-6
"""Above the errors of all comparisons of a row together."""


@dataclass(frozen=True)
class TopSettings(ThresholdSettings):
    """All that a client needs to know of a `TopIndex`. `rows` is the largest number of its rows, a power of
    two; a block has their pairs.

    Raises:
        ParameterError: if a field is out of its range.
    """

    _kind: ClassVar[str] = "top settings"

    def _require_rows(self) -> None:
        least = least_rows(self.dims)
        if not least <= self.rows <= MOST_ROWS or power_of_two(self.rows) != self.rows:
            raise ParameterError(
                f"an index that ranks rows of {self.dims} numbers has room for a power of two of them from "
                f"{least} to {MOST_ROWS}, not for {self.rows}; compare more rows with thresholds "
                "(hemera.search.ThresholdIndex)"
            )

    @property
    def rank_step(self) -> Function:
        """The sign of k - 1/2 minus a rank from 0 on, both divided by the number of rows."""
        return step_of((0.5 - _RANK_NOISE) / self.rows)

    @property
    def rank_level(self) -> int:
        """The level of ranks."""
        return self.rank_step.depth + RESULT_LEVELS

    @property
    def top(self) -> int:
        """The level of queries and rows."""
        return SCORE_LEVELS + self.step.depth + _RANK_LEVELS + self.rank_level

    @property
    def layout(self) -> Layout:
        """Where pairs of rows lie in slots: pair i rows + j, in which row j may be before row i."""
        slots = self.params.max_slots
        return Layout(slots, min(slots, self.rows**2), self.dims)

    @property
    def blocks(self) -> int:
        """The number of blocks of pairs."""
        return self.rows**2 // self.layout.rows


def least_rows(dims: int) -> int:
    """The least room for rows, whose pairs must be as many as entries."""
    rows = 2
    while rows**2 < power_of_two(dims):
        rows *= 2
    return rows
