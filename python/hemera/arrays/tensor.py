"""Programs on logical arrays: operations one after the other."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, NoReturn, TypeVar

import numpy as np

from hemera.arrays.operations import Affine, Apply, Ends, Input, LookUp, Multiply, Operation
from hemera.arrays.sparse_map import Floats, Shape, SparseMap, Values
from hemera.errors import MismatchError, ParameterError

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Node:
    """One operation, the numbers of the nodes that it takes, and where the user's program has it."""

    operation: Operation
    operands: tuple[int, ...]
    shape: Shape
    where: str = ""
    """File and line; empty where it is not known."""
    range: Ends = (-math.inf, math.inf)
    """The least and the largest value that an element can have."""

    @property
    def size(self) -> int:
        """Elements of the result."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def title(self) -> str:
        """A few words for reports."""
        return self.operation.title(*self.operands)

    @property
    def line(self) -> str:
        """Where the user's program has it, for the end of a message."""
        return f" ({self.where})" if self.where else ""


@dataclass(eq=False)
class TensorProgram:
    """Operations one after the other. Nothing in it depends on the data."""

    nodes: list[Node] = field(default_factory=list)
    outputs: list[tuple[str, int]] = field(default_factory=list)
    """Names and numbers of nodes."""
    inputs: list[int] = field(init=False)
    """The numbers of the inputs, in their order."""

    def __post_init__(self) -> None:
        self.inputs = [at for at, node in enumerate(self.nodes) if not node.operands]

    def add(
        self,
        operation: Operation,
        operands: Sequence[int],
        shape: Shape,
        where: str = "",
        range: Ends = (-math.inf, math.inf),  # noqa: A002
    ) -> int:
        """Append an operation.

        Returns:
            The number of its node.

        Raises:
            MismatchError: when operands do not fit it.
        """
        node = Node(operation, tuple(operands), tuple(shape), where, range)
        shapes = [self.nodes[at].shape for at in operands]
        if not operation.fits(node.shape, shapes):
            raise MismatchError(f"operands of shapes {shapes} do not fit")
        self.nodes.append(node)
        if not operands:
            self.inputs.append(len(self.nodes) - 1)
        return len(self.nodes) - 1

    @property
    def declared(self) -> dict[int, Input]:
        """The inputs by the numbers of their nodes, in their order."""
        return {at: own for at in self.inputs if isinstance(own := self.nodes[at].operation, Input)}

    @property
    def maps(self) -> Iterator[tuple[int, int, SparseMap]]:
        """The maps of all affine nodes: of which node, to which one, and the map."""
        for at, node in enumerate(self.nodes):
            if isinstance(node.operation, Affine):
                for source, own in zip(node.operands, node.operation.maps, strict=True):
                    yield source, at, own

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
        return self._longest(lambda own: own.depth)

    @property
    def least_depth(self) -> int:
        """Products and functions one after the other, since maps may take no level."""
        return self._longest(lambda own: 0 if own.is_linear else own.depth)

    def _longest(self, levels: Callable[[Operation], int]) -> int:
        """The most levels of operations one after the other."""
        found: list[int] = []
        for node in self.nodes:
            found.append(levels(node.operation) + max(map(found.__getitem__, node.operands), default=0))
        return max(found, default=0)

    def needed(self, results: Iterable[int]) -> list[int]:
        """The nodes of which some nodes are made, and these, in their order."""
        found = set(results)
        for at in range(max(found, default=-1), -1, -1):
            if at in found:
                found.update(self.nodes[at].operands)
        return sorted(found)

    @property
    def used(self) -> list[int]:
        """The inputs, and the nodes of which outputs are made, in their order."""
        return self.needed([*self.inputs, *[at for _, at in self.outputs]])

    def pruned(self) -> TensorProgram:
        """The program without operations that no output takes, if there are any. All inputs stay."""
        if len(self.used) == len(self.nodes):
            return self
        found = TensorProgram()
        places: dict[int, int] = {}
        for at in self.used:
            node = self.nodes[at]
            operands = [places[each] for each in node.operands]
            places[at] = found.add(node.operation, operands, node.shape, node.where, node.range)
        found.outputs = [(name, places[at]) for name, at in self.outputs]
        return found

    def with_outputs(self, more: Mapping[str, int]) -> TensorProgram:
        """The same nodes, with more outputs after these."""
        return TensorProgram(self.nodes, [*self.outputs, *more.items()])

    def without_outputs(self, names: Collection[str]) -> TensorProgram:
        """The same nodes without some outputs, or those of their tiles: no other name begins as these do."""
        outputs = [(name, at) for name, at in self.outputs if name not in names and f"{name}.0" not in names]
        return TensorProgram(self.nodes, outputs) if names else self

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
            xs = [found[each] for each in node.operands] or [next(given)]
            result = node.operation.clear(xs, node.shape, clip=clip, exact=at in formulas)
            found.append(result if changed is None else changed(at, result))
        return found

    def error_bounds(self) -> list[Floats]:
        """A bound for each element of each output, flat: by how much it may differ from the same program with
        exact functions, where values lie in their ranges. Without the noise of ciphertexts.

        Errors of functions are those that they state; slopes are the largest between points of a grid.
        """
        found: list[Floats] = []
        for node in self.nodes:
            errors = [found[at] for at in node.operands]
            ranges = [self.nodes[at].range for at in node.operands]
            found.append(node.operation.error_bound(errors, ranges, node.shape))
        return [found[at] for _, at in self.outputs]

    def evaluate_clear(self, inputs: Sequence[Values]) -> list[Values]:
        """The outputs in the clear, of inputs of shape (batch, *shape)."""
        values = self.values(inputs)
        return [values[at] for _, at in self.outputs]


class Walk(ABC, Generic[T]):
    """A pass over a program: a result for each node, from the results of the node's operands, by a
    method for each operation. It refuses those that it has none for.

    Args:
        inputs: the results for inputs.
    """

    refusal: ClassVar[type[ParameterError]] = ParameterError

    def __init__(self, program: TensorProgram, inputs: Iterable[T] = ()) -> None:
        self._program = program
        self._inputs = iter(inputs)
        self._values: dict[int, T] = {}
        """The results for nodes so far."""

    def made(self, at: int) -> T:
        """Make a node, after those that it takes."""
        operation = self._program.nodes[at].operation
        match operation:
            case Input():
                found = self.input(at)
            case Affine():
                found = self.affine(at, operation)
            case Multiply():
                found = self.multiply(at)
            case Apply():
                found = self.apply(at, operation)
            case LookUp():
                found = self.look_up(at, operation)
            case _:
                self.refused(at)
        self._values[at] = found
        return found

    def taken(self, at: int) -> list[T]:
        """The results for a node's operands."""
        return [self._values[each] for each in self._program.nodes[at].operands]

    def input(self, _at: int, /) -> T:
        return next(self._inputs)

    @abstractmethod
    def affine(self, at: int, operation: Affine) -> T: ...

    @abstractmethod
    def multiply(self, at: int) -> T: ...

    def apply(self, at: int, _operation: Apply, /) -> T:
        self.refused(at)

    def look_up(self, at: int, _operation: LookUp, /) -> T:
        self.refused(at)

    def refused(self, at: int) -> NoReturn:
        """The error for an operation that the pass can not do."""
        node = self._program.nodes[at]
        raise self.refusal(
            f"{node.title}{node.line}: programs of this scheme and layout have no such operation; take "
            "another scheme= or layout="
        )
