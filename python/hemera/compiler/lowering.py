"""From a program on arrays to one on slots: maps become diagonals and rotations."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.layout import Layout
from hemera.arrays.operations import Affine, Apply
from hemera.arrays.packing import PackedMap, free_folds, packed
from hemera.arrays.ranges import range_of
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.splitting import SplitProgram
from hemera.arrays.tensor import TensorProgram, Walk
from hemera.circuits import Polynomial
from hemera.compiler.impossible import NotPossibleError
from hemera.compiler.placement import Placement
from hemera.compiler.progress import told
from hemera.program import operations as op
from hemera.program.operations import Operation
from hemera.program.program import Program
from hemera.program.tracing import Recorder, Symbol, number_of
from hemera.program.values import Filling, Form, SchemeName

__all__ = ["Lowered", "Lowering", "Step", "Value", "lowered"]

Ends = tuple[float, float]

_MOST_WHOLE = 1 << 20
_ROUNDING = 2.0**-45
"""Of the range of a value: what a function makes of 0 differs by less from processor to processor."""


@dataclass(frozen=True)
class Step:
    """How one node of a program is done."""

    node: int
    layout: Layout | None = None
    """None: not in the slots of one ciphertext."""
    diagonals: tuple[int, ...] = ()
    """The number of diagonals of each map; 0 where it moves nothing."""
    folds: int = 0
    """Rotations by which sums over parts are taken."""
    matrices: tuple[tuple[int, int], ...] = ()
    """Where elements lie in ciphertexts of their own: the rows and columns of each matrix."""


@dataclass(frozen=True)
class Lowered:
    """A program on slots, and how each node of the program on arrays is done."""

    program: Program
    slots: int
    steps: tuple[Step, ...]
    magnitudes: dict[int, float]
    """The largest number in a slot, for values of `program` that are nodes' results."""
    arrays: tuple[int | None, ...] = ()
    """For each value of `program`, the array of several tiles that it is for: see `SplitProgram.arrays`."""
    placement: Placement | None = None
    """How bootstraps were placed; None: there are none to place."""
    in_parts: bool = False
    """Whether values hold samples in their real and imaginary parts, and batches of two hold both apart."""


@dataclass(frozen=True)
class Value:
    """A node's slots, and the range of those that hold no element."""

    symbol: Symbol
    low: float = 0.0
    high: float = 0.0


class Lowering(Walk[Value]):
    """The rules of all schemes; `hemera.compiler.exact_lowering` has those of BFV and BGV."""

    def __init__(
        self,
        program: TensorProgram,
        layouts: tuple[Layout, ...],
        slots: int,
        scheme: SchemeName = "ckks",
    ) -> None:
        self._recorder = Recorder(scheme, [Form(slots)] * len(program.inputs))
        super().__init__(program, map(Value, self._recorder.inputs))
        self._layouts, self._slots = layouts, slots
        self._ranges = [node.range for node in program.nodes]
        self._maps: dict[tuple[bytes, Layout, Layout], tuple[Operation, int, tuple[int, ...], Ends]] = {}
        """Operations of maps that come again, as those of tiles do, with their diagonals, folds and sums of
        weights in FREE slots."""
        self._folds = 0
        self.steps: list[Step] = []
        self.magnitudes: dict[int, float] = {}
        self.nodes: list[int] = list(program.inputs)
        """For each value on slots, inputs first, the node that it is made for."""

    def run(self) -> Program:
        """The program on slots."""
        for at in range(len(self._program.nodes)):
            told("lower", at, len(self._program.nodes))
            self.steps.append(Step(at, self._layouts[at]))
            value = self.made(at)
            made = len(self._recorder.program.forms)
            self.nodes += [at] * (made - len(self.nodes))
            reached = (value.low, value.high, *self._ranges[at])
            self.magnitudes[number_of(value.symbol)] = max(map(abs, reached))
        for _, at in self._program.outputs:
            self._recorder.give(self._values[at].symbol)
        return self._recorder.program

    def multiply(self, at: int) -> Value:
        a, b = self.taken(at)
        ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        product = a.symbol.square() if a is b else a.symbol * b.symbol
        return Value(product, min(ends), max(ends))

    def affine(self, at: int, operation: Affine) -> Value:
        layout = self._layouts[at]
        low = high = 0.0
        counts, before = list[int](), self._folds
        sums: dict[tuple[int, ...], Symbol] = {}  # by the folds that they still take
        for source, own in zip(self._program.nodes[at].operands, operation.maps, strict=True):
            if not own.entries:
                continue
            x = self._values[source]
            term, count, folds = self._mapped(x, own, source, layout)
            counts.append(count)
            sums[folds] = sums[folds] + term.symbol if folds in sums else term.symbol
            low, high = low + term.low, high + term.high
        terms = [self._folded(own, folds) for folds, own in sums.items()]
        if not terms:  # a constant
            source = self._program.nodes[at].operands[0]
            terms = [self._values[source].symbol * 0]
        total = functools.reduce(operator.add, terms)
        if operation.offset is not None:
            total = total + self._plain(layout.pack(operation.offset.reshape(layout.shape), self._slots))
        self.steps[-1] = Step(at, layout, tuple(counts), self._folds - before)
        return Value(total, low, high)

    def _mapped(
        self, x: Value, own: SparseMap, source: int, target: Layout
    ) -> tuple[Value, int, tuple[int, ...]]:
        """A map of a value but for its folds, how many diagonals it takes, 0 where it only scales, and the
        folds."""
        key = own.digest, self._layouts[source], target
        if key in self._maps:
            operation, count, folds, sums = self._maps[key]
            symbol = x.symbol.note(operation, filling=Filling(self._slots))
            return Value(symbol, *self._beside(source, sums)), count, folds
        found = packed(own, self._layouts[source], target)
        sums = _sums_of(found) if free_folds(self._layouts[source], target) else (0.0, 0.0)
        ends = self._beside(source, sums)
        factor = found.only_scales
        used = target.contents >= 0
        if (
            factor is not None
            and (np.tile(used, found.period // target.period) == (found.diagonals[0] != 0)).all()
        ):
            left = [0.0, *(factor * end for end in self._left_over(x, source, used))]
            return Value(self._scaled(x.symbol, factor), min(left), max(left)), 0, ()
        if self._is_plain_sum(x, found, source):
            factor = float(found.diagonals[0].max(initial=0) or found.diagonals[0].min())
            # Scaled after the sum: else the rounding of each slot would be added up.
            return Value(self._scaled(self._folded(x.symbol, found.folds), factor), *ends), 0, ()
        if found.numbers.tolist() == [0]:  # a product takes less than a map
            symbol = x.symbol * self._plain(np.tile(found.diagonals[0], self._slots // found.period))
            return Value(symbol, *ends), 1, found.folds
        operation, count = self._diagonals(found), len(found.numbers)
        self._maps[key] = operation, count, found.folds, sums
        symbol = x.symbol.note(operation, filling=Filling(self._slots))
        return Value(symbol, *ends), count, found.folds

    def _beside(self, source: int, sums: Ends) -> Ends:
        """The range of what a map leaves in FREE slots, by sums of its positive and negative weights: of
        elements, since it takes no other slots."""
        low, high = min(0.0, self._ranges[source][0]), max(0.0, self._ranges[source][1])
        more, less = sums
        return more * low + less * high, more * high + less * low

    def _left_over(self, x: Value, source: int, used: NDArray[np.bool_]) -> list[float]:
        """The range of a value in slots that hold no element of what is made of it: `used` says which do."""
        held = self._layouts[source].contents >= 0
        period = math.lcm(len(held), len(used))
        free, held = ~np.tile(used, period // len(used)), np.tile(held, period // len(held))
        elements = self._ranges[source] if (free & held).any() else ()
        return [*elements, *((x.low, x.high) if (free & ~held).any() else ())]

    def _is_plain_sum(self, x: Value, found: PackedMap, source: int) -> bool:
        """Whether all elements go into sums with one weight, and the other slots hold 0 but for rounding."""
        largest = _ROUNDING * max(map(abs, self._ranges[source]))
        if found.numbers.tolist() != [0] or not found.folds or max(abs(x.low), abs(x.high)) > largest:
            return False
        held = np.tile(self._layouts[source].contents >= 0, found.period // self._layouts[source].period)
        values = found.diagonals[0][held]
        return bool((values == values[0]).all()) and not found.diagonals[0][~held].any()

    def _folded(self, symbol: Symbol, folds: tuple[int, ...]) -> Symbol:
        for fold in folds:
            symbol = symbol + symbol.rotate(fold)
        self._folds += len(folds)
        return symbol

    def _scaled(self, symbol: Symbol, factor: float) -> Symbol:
        return symbol if factor == 1 else symbol * _whole(factor)

    def _plain(self, values: NDArray[Any]) -> NDArray[Any]:
        """Numbers of a plain operand, as the scheme takes them."""
        return values

    def _diagonals(self, found: PackedMap) -> Operation:
        """The operation of a map, without its folds."""
        return op.Map.of(found.numbers.tolist(), found.diagonals)


class _RealLowering(Lowering):
    def apply(self, at: int, operation: Apply, /) -> Value:
        node = self._program.nodes[at]
        function = operation.function
        symbols, unused = [], []
        for each, (low, high) in zip(node.operands, function.intervals, strict=True):
            x = self._values[each]
            if not (low <= x.low and x.high <= high) and not function._native.is_unbounded:
                middle = (low + high) / 2
                x = Value(self._inside(x, each, middle), middle, middle)
            symbols.append(x.symbol)
            unused.append((np.array([x.low]), np.array([x.high])))
        if isinstance(function, Polynomial) or function.recipe is not None:
            result = symbols[0].apply(function, *symbols[1:])
        else:
            raise NotPossibleError(f"{function.name} can not be kept in a program; take one of hm.circuits")
        least, most = range_of(function, unused)
        return Value(result, float(least[0]), float(most[0]))

    def _inside(self, x: Value, at: int, value: float) -> Symbol:
        """A value whose slots without elements hold a number of the function's interval."""
        layout = self._layouts[at]
        used = np.tile(layout.contents >= 0, self._slots // layout.period)
        symbol = x.symbol
        if (x.low, x.high) != (0, 0):
            symbol = symbol * used.astype(np.float64)
        return symbol + np.where(used, 0.0, value)


def _sums_of(found: PackedMap) -> Ends:
    """The largest sum of positive weights, and the least one of negative weights, that a slot is made of."""

    def most(weights: NDArray[Any]) -> float:
        sums = weights.sum(0)
        for fold in found.folds:
            sums = sums + np.roll(sums, -fold)
        return float(sums.max(initial=0.0))

    return most(np.maximum(found.diagonals, 0)), -most(np.maximum(-found.diagonals, 0))


def _whole(factor: float) -> float | int:
    """Small whole numbers as such: products with them take no level."""
    return int(factor) if factor.is_integer() and abs(factor) <= _MOST_WHOLE else factor


def lowered(parts: SplitProgram, layouts: tuple[Layout, ...], slots: int) -> Lowered:
    """The program on slots, with the tiles in these layouts.

    Raises:
        NotPossibleError: for a function that no file can keep.
    """
    lowering = _RealLowering(parts.program, layouts, slots)
    program = lowering.run()
    arrays = parts.arrays
    return Lowered(
        program,
        slots,
        tuple(lowering.steps),
        lowering.magnitudes,
        tuple(arrays[at] for at in lowering.nodes),
    )
