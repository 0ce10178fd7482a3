"""The server's computation: scores, what comparisons make of the rows, and its cost."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.ckks import Parameters
from hemera.objects.batches import stack
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.cost import Cost, DryRun, FreshInput
from hemera.objects.evaluator import Evaluator
from hemera.search.comparisons.slots import Slots
from hemera.search.messages import Query
from hemera.search.settings import Settings
from hemera.times import DeviceTimes

Columns = Sequence[Plaintext] | Sequence[Ciphertext]

_ROTATED_BYTES = 1 << 30
"""The most bytes of rotated queries of one client that are multiplied together, unless one alone takes
more."""
_BATCH_BYTES = 1 << 26
"""Bytes of ciphertexts that take a circuit together: enough for a GPU. A comparison takes ten times these."""


@dataclass(frozen=True)
class Block:
    """Rows, or pairs of rows, that share ciphertexts."""

    columns: Columns
    payloads: Columns
    bias: Any = 0.0  # [slots]: is added to half the scores
    is_turned: bool = False


def _together(ev: Evaluator, most: int, single: int) -> int:
    """How many things of `single` bytes are computed at once, of up to `most` bytes. On a CPU one by one: a
    batch does not fit its caches."""
    return 1 if ev.context.device == "cpu" else max(1, most // single)


def batched(
    ev: Evaluator, run: Callable[[Ciphertext], Ciphertext], xs: Iterable[Ciphertext], of: Slots
) -> list[Ciphertext]:
    """A circuit of single ciphertexts, with the same results, as a circuit of batches of them."""
    size = _together(ev, _BATCH_BYTES, of.params.ciphertext_bytes)
    if size == 1:  # without copies
        return [run(each) for each in xs]
    left, found = iter(xs), list[Ciphertext]()
    while part := list(itertools.islice(left, size)):
        found.extend(run(stack(part)))
    return found


def window_sums(x: Ciphertext, count: int, distance: int = 1) -> Ciphertext:
    """In each slot the sum of `count` slots, a power of two, from its own on, at this distance."""
    for power in range(count.bit_length() - 1):
        x = x + x.rotate(distance << power)
    return x


def _rotations(queries: Ciphertext, babies: Sequence[int], giants: Sequence[int]) -> list[Ciphertext]:
    """The factor of each column: the queries rotated by the sums of babies and giants; with "l2" also that of
    squared norms.

    Args:
        queries: of shape [queries, 1], with "l2" [queries, 2].
    """
    query, *squares = (queries[:, part] for part in range(queries.shape[1]))
    turned = query.rotate_many(babies) if len(babies) > 1 else [query]
    if len(giants) == 1:
        return [*turned, *squares]
    by_baby = [each.rotate_many(giants) for each in turned]
    return [*(each[giant] for giant in range(len(giants)) for each in by_baby), *squares]


def _products(ev: Evaluator, rotated: Sequence[Ciphertext], block: Block, of: Slots) -> Ciphertext:
    """The sum of products with a block's columns."""
    columns, babies = block.columns, len(of.layout.babies)
    if not block.is_turned:
        return ev.dot(rotated, columns)
    sums = [ev.dot(rotated, [*columns[:babies], *columns[of.layout.steps :]])]
    for giant in of.layout.giants[1:]:
        sums.append(ev.dot(rotated[:babies], columns[giant : giant + babies]).rotate(giant))
    return ev.add_many(sums)


def products(
    ev: Evaluator, queries: Sequence[Ciphertext], blocks: Sequence[Block], of: Slots
) -> list[Ciphertext]:
    """For each query, and each block of columns, the parts of half the rows' scores, in the copies that
    share a row's entries: one level below the query.

    Args:
        queries: each of shape [1], with "l2" [2].
    """
    giants = [0] if blocks[0].is_turned else of.layout.giants
    factors = len(of.layout.babies) * len(giants)
    size = _together(ev, _ROTATED_BYTES, factors * of.params.ciphertext_bytes)
    found: list[Ciphertext] = []
    for first in range(0, len(queries), size):
        rotated = _rotations(stack(queries[first : first + size]), of.layout.babies, giants)
        of_blocks = [list(_products(ev, rotated, block, of)) for block in blocks]
        found += itertools.chain(*zip(*of_blocks, strict=True))
    return found


def scores(ev: Evaluator, parts: Iterable[Ciphertext], of: Slots) -> list[Ciphertext]:
    """Half the scores of rows, in each copy, of their `products`."""
    layout = of.layout
    if layout.parts == 1:
        return list(parts)
    return batched(ev, lambda each: window_sums(each, layout.parts, layout.rows), parts, of)


def counts(
    ev: Evaluator, found: Iterable[Sequence[Ciphertext]], are_there: NDArray[np.bool_], of: Slots
) -> list[Ciphertext]:
    """For each ciphertext of thresholds the number of matches of all blocks over the rows of a block, in
    the first slot of each copy; 0 in all others, so that differences of windows reveal nothing.

    Args:
        found: of each ciphertext of thresholds the matches of each block.
        are_there: [blocks, rows]: which rows count.
    """
    layout = of.layout
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

    return batched(ev, run, map(weighed, found), of)


def payloads(found: Ciphertext, numbers: Columns) -> Ciphertext:
    """[ciphertexts]: the payloads of matches, zeros of other rows. `numbers` are half the payloads, at
    level 1."""
    return stack([(found.at_level(1) * each).shrink() for each in numbers])


def cost_of(program: Any, device: str | None, blocks: int) -> Cost:
    """The cost of a query that asks for all results of `Comparisons` on `blocks` blocks of rows, and on a
    device with a table of measured times the seconds."""
    if device is not None:
        return _cost(program, DeviceTimes.find(device), blocks)
    return _counted(program.settings, program.params, blocks)


@functools.lru_cache(maxsize=32)
def _counted(settings: Settings, params: Parameters, blocks: int) -> Cost:  # noqa: ARG001
    return _cost(settings.program, None, blocks)


def _cost(program: Any, times: DeviceTimes | None, blocks: int) -> Cost:
    context = Context(program.params, "ledger", threads=1)
    layout = program.layout
    zeros = np.zeros(layout.slots)

    def answer(
        ev: Evaluator, query: Ciphertext, compared: Ciphertext, *encrypted: Ciphertext
    ) -> list[Ciphertext]:
        column = encrypted[0] if encrypted else context.encode(zeros, level=program.top)
        numbers: Any = encrypted[1] if encrypted else context.encode(zeros, level=1)
        columns: Any = [column] * program.columns
        block = Block(columns, [numbers] * program.payloads, zeros, program.is_turned(blocks))
        found = program.found(ev, [Query("", query, [compared])], [block] * blocks)
        if "count" in program.wants:
            results = counts(ev, [found], np.ones((blocks, layout.rows), np.bool_), program)
        else:
            results = [each.shrink() for each in found]
        return results + [payloads(each, block.payloads) for each in found if block.payloads]

    inputs = [
        FreshInput((1 + program.entries - program.dims, layout.slots)),
        FreshInput(layout.slots, program.compared_level),
    ]
    if program.owner:
        inputs += [FreshInput(layout.slots), FreshInput(layout.slots, 1)]
    run = DryRun(context, symmetric=True)
    return run.cost(lambda ev: functools.partial(answer, ev), inputs, times=times)
