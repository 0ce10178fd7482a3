"""The server's computation of the first k rows: comparisons of all pairs, and of ranks with k."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hemera.ckks import Parameters
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.cost import Cost, DryRun, FreshInput
from hemera.objects.evaluator import Evaluator
from hemera.search.ranks.settings import TopSettings
from hemera.search.thresholds import circuit
from hemera.search.thresholds.scores import columns_of
from hemera.times import DeviceTimes

__all__ = ["biases_of", "cost_of", "first_rows", "pair_columns", "ranks"]


def pair_columns(
    rows: NDArray[np.float64], is_there: NDArray[np.bool_], settings: TopSettings
) -> list[NDArray[np.float64]]:
    """[columns, slots] of each block of pairs: differences of scaled rows [settings.rows, entries], zeros
    where no row is before another one."""
    per_block = settings.layout.rows // settings.rows  # rows i of a block
    found = []
    for first in range(0, settings.rows, per_block):
        differences = rows[None, :] - rows[first : first + per_block, None]
        differences[:, ~is_there] = 0
        found.append(columns_of(differences.reshape(-1, rows.shape[1]), settings))
    return found


def biases_of(is_there: NDArray[np.bool_], settings: TopSettings) -> list[NDArray[np.float64]]:
    """[slots] of each block of pairs: -1 where j is row i, or no row, which is never before row i."""
    never = np.eye(settings.rows, dtype=bool) | ~is_there[None, :]
    return [settings.layout.in_copies(each) for each in -never.astype(float).reshape(settings.blocks, -1)]


def ranks(ev: Evaluator, halves: Iterable[Ciphertext], settings: TopSettings) -> list[Ciphertext]:
    """In the slot of pair (i, 0) the number of rows before row i, divided by all.

    Args:
        halves: half the differences of scores of blocks of pairs, with the biases of these added.
    """

    def run(each: Ciphertext) -> Ciphertext:
        total = circuit.window_sums(settings.step(ev.declare(each, 1)) + 1, settings.rows)
        # Sums of other windows than those of one row are between 0 and 2 rows, too.
        return total * (1 / (2 * settings.rows))

    return circuit.batched(ev, run, halves, settings)


def first_rows(ev: Evaluator, differences: Iterable[Ciphertext], settings: TopSettings) -> list[Ciphertext]:
    """2 in the slot of pair (i, 0) if row i is among the first k, and 0 in all other slots: at level 1.

    Args:
        differences: (k - 1/2) / rows minus the `ranks` of blocks of pairs.
    """
    places = (np.arange(settings.layout.slots) % settings.rows == 0).astype(float)

    def run(each: Ciphertext) -> Ciphertext:
        is_first = settings.rank_step(ev.declare(each, 1)) + 1
        return is_first * is_first.context.encode(places, level=is_first.level)

    return circuit.batched(ev, run, differences, settings)


def cost_of(settings: TopSettings, device: str | None = None) -> Cost:
    """Keys and operations of a query for the first rows and their payloads."""
    if device is None:
        return _counted(settings, settings.params)
    return _cost(settings, settings.params, DeviceTimes.find(device))


@functools.lru_cache(maxsize=32)
def _counted(settings: TopSettings, params: Parameters) -> Cost:
    return _cost(settings, params, None)


def _cost(settings: TopSettings, params: Parameters, times: DeviceTimes | None) -> Cost:
    layout = settings.layout
    context = Context(params, "ledger", threads=1)
    zeros = np.zeros(layout.slots)

    def answer(ev: Evaluator, query: Ciphertext, k: Ciphertext) -> list[Ciphertext]:
        columns = [context.encode(zeros, level=settings.top)] * settings.columns
        parts = circuit.products(ev, [query], [columns] * settings.blocks, settings)
        of_pairs = (half + zeros for half in circuit.scores(ev, parts, settings))
        found = first_rows(ev, (k - rank for rank in ranks(ev, of_pairs, settings)), settings)
        numbers = context.encode(zeros, level=1)
        results = [each.shrink() for each in found]
        return results + [circuit.payloads(each, numbers) for each in found for _ in range(settings.payloads)]

    of_query = (1 + settings.entries - settings.dims, layout.slots)
    inputs = [FreshInput(of_query), FreshInput(layout.slots, settings.rank_level)]
    run = DryRun(context, symmetric=True)
    return run.cost(lambda ev: functools.partial(answer, ev), inputs, times=times)
