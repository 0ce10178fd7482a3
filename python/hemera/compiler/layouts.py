"""The choice between an element in each ciphertext, with samples in its slots, and elements in slots."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from hemera.arrays.batches import Batch, over_samples
from hemera.arrays.tensor import Affine
from hemera.arrays.tiling import Tiling
from hemera.compiler.approximate import MOST_SLOTS, Chosen, Search, require_room
from hemera.compiler.elements import in_elements
from hemera.errors import ParameterError
from hemera.parameters import Parameters
from hemera.serving.operations import MatrixRows

__all__ = ["InCiphertexts", "LayoutName", "in_ciphertexts"]

LayoutName = Literal["auto", "ciphertexts", "slots"]

_FULL = 2
"""Samples fill at least this part of the slots: with fewer, results take more bytes than they are worth."""
_LEAST_SLOTS = 1 << 11
"""Of a ring that is found."""
_MOST_MAPS = 1 << 10
"""Between tiles, of a program that is made only to be compared."""


@dataclass(frozen=True)
class InCiphertexts:
    """A program with an element in each ciphertext, and what it is compared with."""

    chosen: Chosen
    samples: int
    """That each ciphertext holds."""
    batch: Batch | None
    """Where the samples are an axis of the program's own arrays."""
    search: Search

    @property
    def requests(self) -> int:
        """Batches of ciphertexts that the samples take."""
        return 1 if self.batch is None else -(-self.batch.count // self.samples)

    @property
    def has_matrices(self) -> bool:
        """Whether there is anything that this layout does in another way."""
        nodes = self.chosen.steps.program.nodes
        return any(isinstance(node.operation, MatrixRows) for node in nodes)

    def in_slots(self, params: Parameters | None) -> tuple[Chosen, int, int] | None:
        """The same samples with their elements in slots, with the samples of a ciphertext, and how many
        requests there are of these; None where it is a program of too many maps.

        Raises:
            LevelError, ParameterError, RangeError: where there is no such program.
        """
        search, samples = self.search, self.samples
        most = MOST_SLOTS if params is None else params.max_slots
        count = samples if self.batch is None else self.batch.count
        if self.batch is not None:
            largest = max(math.prod(map(_filled, node.shape)) for node in search.whole.nodes)
            samples = max(1, min(most // largest, _filled(count)))
            search = replace(search, samples=samples)
        if _maps(search, most // samples) > _MOST_MAPS:
            return None
        return search.chosen(params, None), samples, -(-count // samples)


def in_ciphertexts(search: Search, params: Parameters | None) -> InCiphertexts:
    """A program with an element in each ciphertext.

    Args:
        search: of the program with elements in slots. With several samples these fill the slots; with one,
            the program's own arrays have an axis of samples.

    Raises:
        ParameterError: where there are not enough samples, and where this layout is not possible.
        LevelError, RangeError: for parameters that do not fit.
    """
    batch = None
    program, count = search.whole, search.samples
    if search.samples == 1:
        least = (_LEAST_SLOTS if params is None else params.max_slots) // _FULL
        batch = over_samples(program, least)
        if batch is None:
            raise ParameterError(
                "an element in each ciphertext: the function does not do the same with each of "
                f"{least} samples or more, along an axis of its arrays; compile the function of one sample, "
                "with samples="
            )
        program, count = batch.one, batch.count
        search = replace(search, whole=program)
    bits = search.precision_bits
    _, steps = in_elements(program, 2, bits)
    if params is None:
        least = 2 if batch is not None else count
        found = search.for_circuit(program, steps.program.depth, least, search.scale_bits)
        if found is None:
            raise ParameterError(
                "an element in each ciphertext: the program is too deep for a ring without bootstraps; take "
                'layout="slots"'
            )
    else:
        found = params
        steps.program.levels(params)  # raises
        require_room(program, steps, params)
    samples = count if batch is None else min(found.max_slots, _filled(count))
    if _FULL * min(samples, count) < found.max_slots:
        raise ParameterError(
            f"an element in each ciphertext: {min(samples, count)} samples fill too few of the "
            f"{found.max_slots} slots; at least {found.max_slots // _FULL} are needed"
        )
    cut, steps = in_elements(program, samples, bits)
    return InCiphertexts(Chosen(found, cut, steps), samples, batch, search)


def _filled(extent: int) -> int:
    """The power of two that is not below."""
    return 1 << (extent - 1).bit_length()


def _maps(search: Search, slots: int) -> int:
    """Maps between tiles of so many slots."""
    nodes = search.whole.nodes
    counts = [Tiling.of(node.shape, slots).count for node in nodes]
    return sum(
        counts[at] * sum(counts[source] for source in node.operands)
        for at, node in enumerate(nodes)
        if isinstance(node.operation, Affine)
    )
