"""Programs whose values are all about 1: clients scale inputs and results, the program what is in between.

Noise is as large next to small values as to large ones. A value x is f y + c, with numbers f and c that are
known when the program is compiled, and y is encrypted. Maps take the factors in, and the numbers are no part
of the encrypted program: x - x.mean() of values far from 0 is f (y - y.mean()), exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.operations import Affine, Apply, Operation
from hemera.arrays.sparse_map import RepeatedMap, SparseMap
from hemera.arrays.tensor import Node, TensorProgram, Walk
from hemera.circuits import Polynomial
from hemera.compiler.specs import ArraySpec, centre_of
from hemera.compiler.watching import Known

Values = NDArray[Any]

_ALIKE = 2.0**-40
"""Offsets that differ by less than this part are one number."""


@dataclass(frozen=True)
class _Place:
    """A value as factor times a node and a number."""

    node: int
    factor: float = 1.0
    number: float = 0.0


@dataclass(frozen=True)
class Scaled:
    """A program, and what clients do."""

    program: TensorProgram
    inputs: tuple[tuple[float, float], ...]
    """The factor f and the number c of each input: (x - c) / f is encrypted."""
    outputs: tuple[tuple[float, float], ...]
    """The same of each result."""

    def known(self, given: Mapping[str, Known]) -> dict[str, Known]:
        """Facts of outputs, with the ends of their decrypted values."""
        scales = dict(zip((name for name, _ in self.program.outputs), self.outputs, strict=True))
        found = {}
        for name, own in given.items():
            factor, number = scales[name]
            ends = own.ends and ((own.ends[0] - number) / factor, (own.ends[1] - number) / factor)
            found[name] = own._replace(ends=ends)
        return found

    def examples(self, given: Sequence[Values | None]) -> list[Values | None]:
        """Samples of the inputs, as they are encrypted."""
        return [
            None if own is None else (own - number) / factor
            for own, (factor, number) in zip(given, self.inputs, strict=True)
        ]


def scaled(program: TensorProgram, specs: Sequence[ArraySpec]) -> Scaled:
    """The program on scaled values. Inputs with a step are only scaled by 1."""
    rules = _Rules(program, specs)
    return rules.run()


def _size(low: float, high: float) -> float:
    """The power of two that is not below the magnitudes; 1 where all are 0."""
    largest = max(abs(low), abs(high))
    return 2.0 ** math.ceil(math.log2(largest)) if largest > 0 else 1.0


class _Rules(Walk[_Place]):
    def __init__(self, program: TensorProgram, specs: Sequence[ArraySpec]) -> None:
        super().__init__(program)
        self._specs = dict(zip(program.inputs, specs, strict=False))
        self._new = TensorProgram()

    def run(self) -> Scaled:
        for at in range(len(self._program.nodes)):
            self.made(at)
        found = [self._values[at] for _, at in self._program.outputs]
        self._new.outputs = [
            (name, own.node) for (name, _), own in zip(self._program.outputs, found, strict=True)
        ]
        inputs = [self._values[at] for at in self._program.inputs]
        return Scaled(
            self._new,
            tuple((own.factor, own.number) for own in inputs),
            tuple((own.factor, own.number) for own in found),
        )

    def _kept(
        self, node: Node, operation: Operation, operands: Sequence[int], factor: float, number: float = 0.0
    ) -> _Place:
        """A node of the same meaning, with its range in the new units."""
        ends = [(end - number) / factor for end in node.range]
        at = self._new.add(operation, operands, node.shape, node.where, (min(ends), max(ends)))
        return _Place(at, factor, number)

    def input(self, at: int) -> _Place:
        node = self._program.nodes[at]
        if self._specs[at].step is not None:
            return self._kept(node, node.operation, (), 1.0)
        number = centre_of(node.range)
        factor = _size(node.range[0] - number, node.range[1] - number)
        return self._kept(node, node.operation, (), factor, number)

    def _without_number(self, at: int) -> _Place:
        """A value as a factor times a node alone."""
        place, node = self._values[at], self._program.nodes[at]
        if place.number == 0:
            return place
        factor = _size(*node.range)
        return self._moved(node, place, factor)

    def _moved(self, node: Node, place: _Place, factor: float) -> _Place:
        """A value in another unit, without a number."""
        if (place.factor, place.number) == (factor, 0.0):
            return place
        scaling = SparseMap.scaling(np.full(node.size, place.factor / factor))
        offset = np.full(node.size, place.number / factor) if place.number else None
        return self._kept(node, Affine((scaling,), offset), (place.node,), factor)

    def multiply(self, at: int) -> _Place:
        node = self._program.nodes[at]
        a, b = map(self._without_number, node.operands)
        return self._kept(node, node.operation, (a.node, b.node), a.factor * b.factor)

    def affine(self, at: int, operation: Affine) -> _Place:
        node, places = self._program.nodes[at], self.taken(at)
        offset = np.zeros(node.size) if operation.offset is None else operation.offset.astype(np.float64)
        for own, place in zip(operation.maps, places, strict=True):
            if place.number:
                offset = offset + own.apply(np.full(own.inputs, place.number))
        largest = float(np.abs(offset).max())
        number = float((offset.min() + offset.max()) / 2)
        if not largest or largest <= _ALIKE * max(abs(place.number) for place in places):
            number, offset = 0.0, np.zeros(node.size)  # it cancels, but for rounding
        elif float(np.ptp(offset)) <= _ALIKE * largest:
            offset = np.zeros(node.size)
        else:
            offset = offset - number
        ends = node.range[0] - number, node.range[1] - number
        factor = _free_factor(operation, places) or _size(*ends)
        maps = tuple(
            _times(own, place.factor / factor) for own, place in zip(operation.maps, places, strict=True)
        )
        changed = Affine(maps, offset / factor if offset.any() else None)
        return self._kept(node, changed, [place.node for place in places], factor, number)

    def apply(self, at: int, operation: Apply, /) -> _Place:
        node, places, function = self._program.nodes[at], self.taken(at), operation.function
        if isinstance(function, Polynomial) and function.basis == "chebyshev":
            (place,), factor = places, _size(*node.range)
            ends = [(end - place.number) / place.factor for end in function.interval]
            changed = Polynomial(
                function.coefficients / factor,
                basis="chebyshev",
                interval=(ends[0], ends[1]),
                error=function.error / factor,
                name=function.name,
            )
            return self._kept(node, Apply(changed), (place.node,), factor)
        own = [
            self._moved(self._program.nodes[each], place, 1.0)
            for each, place in zip(node.operands, places, strict=True)
        ]
        return self._kept(node, replace(operation), [place.node for place in own], 1.0)


def _free_factor(operation: Affine, places: Sequence[_Place]) -> float | None:
    """A factor with which a map of multiples of elements takes no products; None where there is none."""
    found: set[float] = set()
    for own, place in zip(operation.maps, places, strict=True):
        if isinstance(own, RepeatedMap) or own.entries > own.outputs or not own.entries:
            return None
        sizes = np.abs(own.values)
        if (sizes != sizes[0]).any():
            return None
        found.add(place.factor * float(sizes[0]))
    return found.pop() if len(found) == 1 else None


def _times(own: SparseMap, factor: float) -> SparseMap:
    """A map times a number."""
    if factor == 1:
        return own
    if isinstance(own, RepeatedMap):
        return RepeatedMap(own.before, _times(own.one, factor), own.after)
    return replace(own, values=own.values * factor)
