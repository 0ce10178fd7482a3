"""The server's computation: scores, comparisons and results."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hemera.ckks import Parameters
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.cost import Cost, DryRun, FreshInput
from hemera.objects.evaluator import Evaluator
from hemera.search.thresholds.settings import ThresholdSettings
from hemera.times import DeviceTimes

__all__ = ["Columns", "Want", "cost_of", "counts", "matches", "payloads", "rotations", "scores"]

Want = Literal["mask", "count", "payloads"]
Columns = Sequence[Plaintext] | Sequence[Ciphertext]


def rotations(query: Ciphertext, settings: ThresholdSettings) -> list[Ciphertext]:
    """The factor of each column: the query rotated by 0, 1, ..., steps - 1, by the keys of babies and giants;
    with "l2" also that of squared norms.

    Args:
        query: of shape [1], with "l2" [2].
    """
    query, *squares = query
    babies, giants = settings.layout.babies, settings.layout.giants
    turned = query.rotate_many(babies) if len(babies) > 1 else [query]
    if len(giants) == 1:
        return [*turned, *squares]
    by_baby = [each.rotate_many(giants) for each in turned]
    return [*(each[giant] for giant in range(len(giants)) for each in by_baby), *squares]


def scores(
    ev: Evaluator, rotated: Sequence[Ciphertext], columns: Columns, settings: ThresholdSettings
) -> Ciphertext:
    """Half the scores of a block's rows, in each copy: one level below the query."""
    layout = settings.layout
    total = ev.dot(rotated, columns)
    step = 1
    while step < layout.parts:
        total = total + total.rotate(step * layout.rows)
        step *= 2
    return total


def matches(
    ev: Evaluator, halves: Ciphertext, thresholds: Ciphertext, settings: ThresholdSettings
) -> Ciphertext:
    """2 for rows above the threshold, 0 for rows below, at the level RESULT_LEVELS."""
    return settings.step(ev.declare(halves - thresholds, 1)) + 1


def counts(
    ev: Evaluator, found: Sequence[tuple[Ciphertext, NDArray[np.bool_]]], settings: ThresholdSettings
) -> Ciphertext:
    """The number of matches of all blocks divided by the rows of a block, in the first slot of each copy; 0
    in all others, so that differences of windows tell nothing.

    Args:
        found: of each block the matches, and which of its rows count: [rows].
    """
    layout = settings.layout
    weighed = []
    for each, is_there in found:
        weights = np.tile(is_there / (2 * layout.rows), layout.copies)
        weighed.append(each * each.context.encode(weights, level=each.level))
    total = ev.add_many(weighed)
    step = 1
    while step < layout.rows:
        total = total + total.rotate(step)
        step *= 2
    # Every slot is the sum of `rows` slots from its own on.
    return (total * total.context.encode(layout.firsts(), level=total.level)).shrink()


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
        turned = rotations(query, settings)
        found = [
            matches(ev, scores(ev, turned, columns, settings), thresholds, settings) for _ in range(blocks)
        ]
        is_there = np.ones(layout.rows, np.bool_)
        results = [counts(ev, [(each, is_there) for each in found], settings)]
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
