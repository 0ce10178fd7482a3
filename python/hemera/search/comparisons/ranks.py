"""Ranks of rows by comparisons of all pairs: the first k."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from hemera.errors import ParameterError
from hemera.inputs.arguments import as_integer
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator
from hemera.search.comparisons import slots
from hemera.search.comparisons.circuit import Block, batched, window_sums
from hemera.search.comparisons.layout import power_of_two
from hemera.search.comparisons.program import Compared, Comparisons, Waiting
from hemera.search.comparisons.slots import Asked
from hemera.search.messages import Query

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

    def compared(self, _: Asked, threshold: Any, k: int | None, want: str) -> Compared:
        if threshold is not None or k is None:
            raise ParameterError("this index ranks its rows: query(x, k=)")
        if as_integer(k, "query", "k") < 1:
            raise ParameterError(f"k must be 1 or more, not {k}")
        return np.full(self.layout.slots, (min(k, self.rows) - 0.5) / self.rows), Waiting(want)

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
