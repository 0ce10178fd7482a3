"""Programs on logical arrays: inputs, affine maps, products, functions of single elements and look-ups."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.formulas import Formula
from hemera.arrays.sparse_map import SparseMap
from hemera.circuits import Function
from hemera.errors import MismatchError, ParameterError

__all__ = ["Affine", "Apply", "Input", "LookUp", "Multiply", "Node", "TensorProgram"]

Floats = NDArray[np.float64]
Values = NDArray[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """A value that is encrypted, with the range of its elements."""

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (np.isfinite([self.low, self.high]).all() and self.low <= self.high):
            raise ParameterError(f"input {self.name!r}: a range from {self.low:g} to {self.high:g}")


@dataclass(frozen=True, eq=False)
class Affine:
    """The sum of a linear map of each operand and of an offset."""

    maps: tuple[SparseMap, ...]
    offset: Floats | None = None
    """Flat; None: 0."""


@dataclass(frozen=True)
class Multiply:
    """The products of two arrays of one shape, element by element."""


@dataclass(frozen=True, eq=False)
class Apply:
    """A function of one or two arrays of one shape, element by element."""

    function: Function
    formula: Formula | None = None
    """What the function is an approximation of, with the program's precision; None: it is what is meant."""


@dataclass(frozen=True, eq=False)
class LookUp:
    """A table of whole numbers, looked up by each element: of exact programs alone.

    An element is `step` times a number from 0 to points - 1, the number of its entry.
    """

    values: NDArray[np.int64]
    """Shape (points, kinds): a table for each kind of element."""
    kinds: NDArray[np.int64]
    """Shape (size,): the kind of each element."""
    step: int = 1

    @property
    def depth(self) -> int:
        """Products one after the other, of the polynomial modulo a prime; one more for tables that differ."""
        points, kinds = self.values.shape
        return int(points - 1).bit_length() + int(kinds > 1)

    def apply(self, x: Values) -> Values:
        """The entries for values of shape (batch, *shape)."""
        places = np.asarray(x.reshape(len(x), -1) // self.step, np.int64)
        found = self.values[np.clip(places, 0, len(self.values) - 1), self.kinds]
        return found.reshape(x.shape)


Operation = Input | Affine | Multiply | Apply | LookUp


@dataclass(frozen=True, eq=False)
class Node:
    """One operation, the numbers of the nodes that it takes, and where the user's program has it."""

    operation: Operation
    operands: tuple[int, ...]
    shape: Shape
    where: str = ""
    """File and line; empty where it is not known."""
    range: tuple[float, float] = (-math.inf, math.inf)
    """The least and the largest value that an element can have."""

    @property
    def size(self) -> int:
        """Elements of the result."""
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(eq=False)
class TensorProgram:
    """Operations one after the other. Nothing in it depends on the data."""

    nodes: list[Node] = field(default_factory=list)
    outputs: list[tuple[str, int]] = field(default_factory=list)
    """Names and numbers of nodes."""

    def add(
        self,
        operation: Operation,
        operands: Sequence[int],
        shape: Shape,
        where: str = "",
        range: tuple[float, float] = (-math.inf, math.inf),  # noqa: A002
    ) -> int:
        """Append an operation.

        Returns:
            The number of its node.

        Raises:
            MismatchError: when operands do not fit it.
        """
        node = Node(operation, tuple(operands), tuple(shape), where, range)
        sizes = [self.nodes[at].size for at in operands]
        if isinstance(operation, Affine):
            fits = [(each.inputs, each.outputs) for each in operation.maps] == [
                (size, node.size) for size in sizes
            ]
        else:
            fits = all(self.nodes[at].shape == node.shape for at in operands)
        if not fits:
            raise MismatchError(f"operands of shapes {[self.nodes[at].shape for at in operands]} do not fit")
        self.nodes.append(node)
        return len(self.nodes) - 1

    @property
    def inputs(self) -> list[int]:
        """The numbers of the inputs, in their order."""
        return [at for at, node in enumerate(self.nodes) if isinstance(node.operation, Input)]

    @property
    def approximated(self) -> list[int]:
        """The nodes of functions that approximate formulas."""
        return [
            at
            for at, node in enumerate(self.nodes)
            if isinstance(node.operation, Apply) and node.operation.formula is not None
        ]

    @property
    def depth(self) -> int:
        """Products and maps one after the other, at most: maps that scale or spread elements may be less."""
        return self._longest(
            lambda own: 0 if isinstance(own, Affine) and all(each.is_selection for each in own.maps) else 1
        )

    @property
    def least_depth(self) -> int:
        """Products and functions one after the other, since maps may take no level."""
        return self._longest(lambda own: 0 if isinstance(own, Affine) else 1)

    def _longest(self, levels: Callable[[Affine | Multiply], int]) -> int:
        """The most levels of operations one after the other, with those of maps and products."""
        found: list[int] = []
        for node in self.nodes:
            operation = node.operation
            if isinstance(operation, Input):
                own = 0
            elif isinstance(operation, Apply):
                own = operation.function.depth
            elif isinstance(operation, LookUp):
                own = operation.depth
            else:
                own = levels(operation)
            found.append(own + max((found[at] for at in node.operands), default=0))
        return max(found, default=0)

    def needed(self, results: Iterable[int]) -> list[int]:
        """The nodes of which some nodes are made, and these, in their order."""
        found = set(results)
        for at in range(max(found, default=-1), -1, -1):
            if at in found:
                found.update(self.nodes[at].operands)
        return sorted(found)

    def pruned(self) -> TensorProgram:
        """The program without operations that no output takes. All inputs stay."""
        used = {*self.needed(at for _, at in self.outputs), *self.inputs}
        found = TensorProgram()
        places: dict[int, int] = {}
        for at, node in enumerate(self.nodes):
            if at in used:
                operands = [places[each] for each in node.operands]
                places[at] = found.add(node.operation, operands, node.shape, node.where, node.range)
        found.outputs = [(name, places[at]) for name, at in self.outputs]
        return found

    def values(
        self,
        inputs: Sequence[Values],
        *,
        clip: bool = False,
        formulas: Collection[int] = (),
        changed: Callable[[int, Values], Values] | None = None,
    ) -> list[Values]:
        """The value of each node in the clear, of shape (batch, *shape), of inputs of such shapes.

        Args:
            clip: whether what functions take is brought into their intervals; else a RangeError.
            formulas: the nodes of functions that have the values of their formulas (`approximated`).
            changed: gives what to go on with in place of the value of a node.
        """
        given = iter(inputs)
        found: list[Values] = []
        for at, node in enumerate(self.nodes):
            operation = node.operation
            xs = [found[each] for each in node.operands]
            if isinstance(operation, Input):
                result = np.asarray(next(given))
                if result.shape[1:] != node.shape:
                    raise MismatchError(
                        f"{operation.name}: arrays of shape {node.shape} are needed, not {result.shape[1:]}"
                    )
            elif isinstance(operation, Affine):
                count = len(xs[0])
                total = np.zeros((count, node.size))
                for each, x in zip(operation.maps, xs, strict=True):
                    total = total + each.apply(x.reshape(count, -1))
                if operation.offset is not None:
                    total = total + operation.offset
                result = total.reshape((count, *node.shape))
            elif isinstance(operation, Multiply):
                result = xs[0] * xs[1]
            elif isinstance(operation, LookUp):
                result = operation.apply(xs[0])
            elif at in formulas and operation.formula is not None:
                result = np.asarray(operation.formula(*xs), np.float64)
            else:
                if clip and not operation.function._native.is_unbounded:
                    xs = [np.clip(x, *own) for x, own in zip(xs, operation.function.intervals, strict=True)]
                result = operation.function.evaluate_clear(*xs)
            found.append(result if changed is None else changed(at, result))
        return found

    def evaluate_clear(self, inputs: Sequence[Values]) -> list[Values]:
        """The outputs in the clear, of inputs of shape (batch, *shape)."""
        values = self.values(inputs)
        return [values[at] for _, at in self.outputs]
