"""The server's computation: scores, comparisons and results."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hemera.ckks import Parameters
from hemera.objects.batches import stack
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.cost import Cost, DryRun, FreshInput
from hemera.objects.evaluator import Evaluator
from hemera.search.thresholds.settings import ThresholdSettings
from hemera.times import DeviceTimes

__all__ = [
    "Columns",
    "Want",
    "batched",
    "cost_of",
    "counts",
    "matches",
    "payloads",
    "products",
    "scores",
    "window_sums",
]

Want = Literal["mask", "count", "payloads"]
Columns = Sequence[Plaintext] | Sequence[Ciphertext]

_ROTATED_BYTES = 1 << 30
"""The most bytes of rotated queries of one client that are multiplied together, unless one alone takes
more."""
_BATCH_BYTES = 1 << 26
"""Bytes of ciphertexts that take a circuit together: enough for a GPU. A comparison takes ten times these."""


def _together(ev: Evaluator, most: int, single: int) -> int:
    """How many things of `single` bytes are computed at once, of up to `most` bytes. On a CPU one by one: a
    batch does not fit its caches."""
    return 1 if ev.context.device == "cpu" else max(1, most // single)


def batched(
    ev: Evaluator,
    run: Callable[[Ciphertext], Ciphertext],
    xs: Iterable[Ciphertext],
    settings: ThresholdSettings,
) -> list[Ciphertext]:
    """A circuit of single ciphertexts, with the same results, as a circuit of batches of them."""
    size = _together(ev, _BATCH_BYTES, settings.params.ciphertext_bytes)
    if size == 1:  # without copies
        return [run(each) for each in xs]
    left, found = iter(xs), list[Ciphertext]()
    while part := list(itertools.islice(left, size)):
        found.extend(run(stack(part)))
    return found


def window_sums(x: Ciphertext, count: int, distance: int = 1) -> Ciphertext:
    """In each slot the sum of `count` slots, a power of two, from its own on, at this distance."""
    step = 1
    while step < count:
        x = x + x.rotate(step * distance)
        step *= 2
    return x


def _rotations(queries: Ciphertext, settings: ThresholdSettings) -> list[Ciphertext]:
    """The factor of each column: the queries rotated by 0, 1, ..., steps - 1, by the keys of babies and
    giants; with "l2" also that of squared norms.

    Args:
        queries: of shape [queries, 1], with "l2" [queries, 2].
    """
    query, *squares = (queries[:, part] for part in range(queries.shape[1]))
    babies, giants = settings.layout.babies, settings.layout.giants
    turned = query.rotate_many(babies) if len(babies) > 1 else [query]
    if len(giants) == 1:
        return [*turned, *squares]
    by_baby = [each.rotate_many(giants) for each in turned]
    return [*(each[giant] for giant in range(len(giants)) for each in by_baby), *squares]


def products(
    ev: Evaluator, queries: Sequence[Ciphertext], blocks: Sequence[Columns], settings: ThresholdSettings
) -> list[Ciphertext]:
    """For each query, and each block of columns, the parts of half the rows' scores, in the copies that
    share a row's entries: one level below the query.

    Args:
        queries: each of shape [1], with "l2" [2].
    """
    size = _together(ev, _ROTATED_BYTES, settings.columns * settings.params.ciphertext_bytes)
    found: list[Ciphertext] = []
    for first in range(0, len(queries), size):
        rotated = _rotations(stack(queries[first : first + size]), settings)
        of_blocks = [list(ev.dot(rotated, columns)) for columns in blocks]
        found += itertools.chain(*zip(*of_blocks, strict=True))
    return found


def scores(ev: Evaluator, parts: Iterable[Ciphertext], settings: ThresholdSettings) -> list[Ciphertext]:
    """Half the scores of rows, in each copy, of their `products`."""
    layout = settings.layout
    if layout.parts == 1:
        return list(parts)
    return batched(ev, lambda each: window_sums(each, layout.parts, layout.rows), parts, settings)


def matches(
    ev: Evaluator, differences: Iterable[Ciphertext], settings: ThresholdSettings
) -> list[Ciphertext]:
    """2 for rows above the threshold, 0 for rows below, at the level RESULT_LEVELS.

    Args:
        differences: half the scores of blocks minus thresholds.
    """
    return batched(ev, lambda each: settings.step(ev.declare(each, 1)) + 1, differences, settings)


def counts(
    ev: Evaluator,
    found: Iterable[Sequence[Ciphertext]],
    are_there: Sequence[NDArray[np.bool_]],
    settings: ThresholdSettings,
) -> list[Ciphertext]:
    """For each ciphertext of thresholds the number of matches of all blocks over the rows of a block, in
    the first slot of each copy; 0 in all others, so that differences of windows tell nothing.

    Args:
        found: of each ciphertext of thresholds the matches of each block.
        are_there: of each block which of its rows count: [rows].
    """
    layout = settings.layout
    weights = [np.tile(each / (2 * layout.rows), layout.copies) for each in are_there]

    def weighed(of_blocks: Sequence[Ciphertext]) -> Ciphertext:
        return ev.add_many(
            [
                each * each.context.encode(own, level=each.level)
                for each, own in zip(of_blocks, weights, strict=True)
            ]
        )

    def run(of_rows: Ciphertext) -> Ciphertext:
        total = window_sums(of_rows, layout.rows)
        return (total * total.context.encode(layout.firsts(), level=total.level)).shrink()

    return batched(ev, run, map(weighed, found), settings)


def payloads(found: Ciphertext, numbers: Plaintext | Ciphertext) -> Ciphertext:
    """The payloads of matches, zeros of other rows. `numbers` are half the payloads, at level 1."""
    return (found.at_level(1) * numbers).shrink()


def cost_of(settings: ThresholdSettings, device: str | None = None, blocks: int = 1) -> Cost:
    """Keys and operations of a query that asks for the rows' count and payloads."""
    if device is None:
        return _counted(settings, settings.params, blocks)
    return _cost(settings, settings.params, DeviceTimes.find(device), blocks)


@functools.lru_cache(maxsize=32)
def _counted(settings: ThresholdSettings, params: Parameters, blocks: int) -> Cost:
    return _cost(settings, params, None, blocks)


def _cost(settings: ThresholdSettings, params: Parameters, times: DeviceTimes | None, blocks: int) -> Cost:
    layout = settings.layout
    context = Context(params, "ledger", threads=1)
    zeros = np.zeros(layout.slots)

    def answer(
        ev: Evaluator, query: Ciphertext, thresholds: Ciphertext, *encrypted: Ciphertext
    ) -> list[Ciphertext]:
        columns: Columns = (
            [encrypted[0]] * settings.columns
            if encrypted
            else [context.encode(zeros, level=settings.top)] * settings.columns
        )
        halves = scores(ev, products(ev, [query], [columns] * blocks, settings), settings)
        found = matches(ev, (half - thresholds for half in halves), settings)
        results = counts(ev, [found], [np.ones(layout.rows, np.bool_)] * blocks, settings)
        if settings.payload:
            numbers = encrypted[1] if encrypted else context.encode(zeros, level=1)
            results += [payloads(each, numbers) for each in found]
        return results

    inputs = [
        FreshInput((1 + settings.entries - settings.dims, layout.slots)),
        FreshInput(layout.slots, settings.top - 1),
    ]
    if settings.owner:
        inputs += [FreshInput(layout.slots), FreshInput(layout.slots, 1)]
    run = DryRun(context, symmetric=True)
    return run.cost(lambda ev: functools.partial(answer, ev), inputs, times=times)
