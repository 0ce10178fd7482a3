"""From a program on arrays to one on slots: what all layouts and schemes share, and elements in the slots of
a ciphertext, where maps become diagonals and rotations. `hemera.compiler.batches` has those with ciphertexts
of their own."""

from __future__ import annotations

import functools
import math
import operator
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.facts import range_of
from hemera.arrays.layout import Layout
from hemera.arrays.operations import Affine, Apply, LookUp
from hemera.arrays.packing import PackedMap, free_folds, packed
from hemera.arrays.sparse_map import SparseMap, scaling_of
from hemera.arrays.tensor import Walk
from hemera.arrays.tiling import SplitProgram
from hemera.circuits import Function, Polynomial
from hemera.compiler.attempts import NotPossibleError, told
from hemera.compiler.look_ups import Powers, centred, interpolated, polynomial
from hemera.compiler.placement import Placement
from hemera.program import operations as op
from hemera.program.operations import Operation
from hemera.program.program import Program
from hemera.program.tracing import Recorder, Symbol, number_of
from hemera.program.values import Form, SchemeName

T = TypeVar("T")


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
    """A program on slots, and how each node of the program on tiles is done."""

    cut: SplitProgram
    """The program on tiles."""
    program: Program
    slots: int
    steps: tuple[Step, ...]
    magnitudes: dict[int, float]
    """The largest number in a slot, for values of `program` that are nodes' results."""
    arrays: tuple[int | None, ...] = ()
    """For each value of `program`, the array of several tiles that it is for (`SplitProgram.arrays`), or of
    operations that are done alike."""
    placement: Placement | None = None
    """How bootstraps were placed; None: there are none to place."""
    in_parts: bool = False
    """Whether values hold samples in their real and imaginary parts, and batches of two hold both apart."""


@dataclass(frozen=True)
class Value:
    """A node's ciphertexts, and the range of slots that hold no element."""

    symbol: Symbol
    low: float = 0.0
    high: float = 0.0


class Lowering(Walk[T]):
    """Records each node's form, from the forms of the nodes that it takes.

    Args:
        recorder: of a program with the inputs of that on tiles.
        inputs: what these are.
    """

    def __init__(self, cut: SplitProgram, recorder: Recorder, inputs: Iterable[T]) -> None:
        super().__init__(cut.program, inputs)
        self._cut, self._recorder = cut, recorder
        self._how: dict[int, Step] = {}
        """How nodes are done, where there is something to say."""

    def run(self) -> Lowered:
        """The program on slots, without values that no output takes."""
        recorded, nodes = self._recorder.program, self._program.nodes
        arrays = [self._array(at, 0) for at in self._program.inputs]
        magnitudes: dict[int, float] = {}
        for at, node in enumerate(nodes):
            told("lower", at, len(nodes))
            value = self.made(at)
            if isinstance(value, Value):
                reached = (value.low, value.high, *node.range)
                magnitudes[number_of(value.symbol)] = max(map(abs, reached))
            arrays += [self._array(at, number) for number in range(len(recorded.forms) - len(arrays))]
        for _, at in self._program.outputs:
            self._recorder.give(self._result(at))
        arrays += [None] * (len(recorded.forms) - len(arrays))
        places = {value: place for place, value in enumerate(recorded.used)}
        return Lowered(
            self._cut,
            recorded.pruned(),
            recorded.forms[0].slots,
            tuple([self._how.get(at) or Step(at) for at in range(len(nodes))]),
            {places[value]: own for value, own in magnitudes.items() if value in places},
            tuple(map(arrays.__getitem__, places)),
        )

    @abstractmethod
    def _array(self, at: int, number: int, /) -> int | None:
        """What `Lowered.arrays` has for a value, the `number`-th that is made for a node."""

    @abstractmethod
    def _result(self, at: int) -> Symbol:
        """The results of a node that is an output."""


def applied(operation: Apply, xs: Sequence[Symbol]) -> Symbol:
    """A function of values. NotPossibleError for one that no file can keep."""
    function = operation.function
    if not isinstance(function, Polynomial) and function.recipe is None:
        raise NotPossibleError(f"{function.name} can not be kept in a program; take one of hm.circuits")
    return xs[0].apply(function, *xs[1:])


Ends = tuple[float, float]
Maps = dict[tuple[bytes, Layout, Layout], tuple[Operation, int, tuple[int, ...], Ends]]
"""Operations of maps that come again, as those of tiles do, with their diagonals, folds and sums of weights
in FREE slots."""

_MOST_WHOLE = 1 << 60
_MOST_BESIDE = 2.0**8
"""So many times as large as all elements are the numbers that slots without elements may hold."""
_ROUNDING = 2.0**-45
"""A part of a value's range: a function's value at 0 differs by less from processor to processor."""


class InSlots(Lowering[Value]):
    """The program on slots, with the tiles in these layouts. NotPossibleError for a function that no file can
    keep.

    Args:
        slots: of a ciphertext; with BFV and BGV of the two rows together, which hold the same values.
        modulus: the prime t of BFV and BGV.
        maps: those of the same program in other layouts, to which its own are added.
    """

    def __init__(
        self,
        cut: SplitProgram,
        layouts: tuple[Layout, ...],
        slots: int,
        scheme: SchemeName = "ckks",
        modulus: int | None = None,
        maps: Maps | None = None,
    ) -> None:
        recorder = Recorder(scheme, [Form(slots)] * len(cut.program.inputs))
        super().__init__(cut, recorder, map(Value, recorder.inputs))
        self._layouts, self._slots, self._modulus = layouts, slots, modulus
        self._ranges = [node.range for node in cut.program.nodes]
        self._largest = max(1.0, float(np.abs(self._ranges).max()))
        self._maps = {} if maps is None else maps
        self._powers: dict[int, Powers] = {}
        self._folds = 0
        self._how = {at: Step(at, layout) for at, layout in enumerate(layouts)}

    def _array(self, at: int, _number: int) -> int | None:
        return self._cut.arrays[at]

    def _result(self, at: int) -> Symbol:
        return self._values[at].symbol

    def multiply(self, at: int) -> Value:
        a, b = self.taken(at)
        ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        if self._is_beyond(min(ends), max(ends)):
            left, right = self._program.nodes[at].operands
            cleared = Value(self._inside(a, left, 0.0))
            a, b, ends = cleared, cleared if left == right else b, [0.0]
        product = a.symbol.square() if a is b else a.symbol * b.symbol
        return Value(product, min(ends), max(ends))

    def _is_beyond(self, low: float, high: float) -> bool:
        """Whether slots without elements would hold so much that products of it wrap soon."""
        return self._modulus is None and max(abs(low), abs(high)) > _MOST_BESIDE * self._largest

    def affine(self, at: int, operation: Affine) -> Value:
        layout = self._layouts[at]
        shift = self._shift(at, operation)
        low = high = 0.0
        counts, before = list[int](), self._folds
        sums: dict[tuple[int, ...], Symbol] = {}  # by the folds that they still take
        for source, own in zip(self._program.nodes[at].operands, operation.maps, strict=True):
            if not own.entries:
                continue
            x = self._values[source]
            if shift is not None:
                x = replace(x, symbol=x.symbol.note(op.AddArray(shift)))
            term, count, folds = self._mapped(x, own, source, layout)
            counts.append(count)
            sums[folds] = sums[folds] + term.symbol if folds in sums else term.symbol
            low, high = low + term.low, high + term.high
        terms = [self._folded(own, folds) for folds, own in sums.items()]
        if not terms:  # a constant
            source = self._program.nodes[at].operands[0]
            terms = [self._values[source].symbol * 0]
        total = functools.reduce(operator.add, terms)
        if operation.offset is not None and shift is None:
            offset = layout.pack(operation.offset.reshape(layout.shape), self._slots)
            total = total.note(op.AddArray(self._plain(offset)))
        self._how[at] = Step(at, layout, tuple(counts), self._folds - before)
        return Value(total, low, high)

    def _shift(self, at: int, operation: Affine) -> NDArray[np.float64] | None:
        """The offset of one scaling as an array that is added before it, where that is no larger than the
        operand: a factor that is rounded then leaves 0 in its place, where functions may bend."""
        factor = scaling_of(operation.maps[0]) if len(operation.maps) == 1 else None
        source, layout = self._program.nodes[at].operands[0], self._layouts[at]
        if not factor or factor.is_integer() or operation.offset is None or self._layouts[source] != layout:
            return None
        shift = operation.offset / factor
        if self._modulus is not None or not np.abs(shift).max() <= max(map(abs, self._ranges[source])):
            return None
        return layout.pack(shift.reshape(layout.shape), self._slots)

    def _mapped(
        self, x: Value, own: SparseMap, source: int, target: Layout
    ) -> tuple[Value, int, tuple[int, ...]]:
        """A map of a value but for its folds, how many diagonals it takes, 0 where it only scales, and the
        folds."""
        key = own.digest, self._layouts[source], target
        if key in self._maps:
            operation, count, folds, sums = self._maps[key]
            symbol = x.symbol.note(operation)
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
        kind = op.Map if self._modulus is None else op.RowMap
        operation = kind.of(found.numbers.tolist(), self._plain(found.diagonals))
        count = len(found.numbers)
        self._maps[key] = operation, count, found.folds, sums
        symbol = x.symbol.note(operation)
        return Value(symbol, *ends), count, found.folds

    def _beside(self, source: int, sums: Ends) -> Ends:
        """The range of a map's results in FREE slots, by sums of its positive and negative weights: of
        elements, since it takes no other slots."""
        low, high = min(0.0, self._ranges[source][0]), max(0.0, self._ranges[source][1])
        more, less = sums
        return more * low + less * high, more * high + less * low

    def _left_over(self, x: Value, source: int, used: NDArray[np.bool_]) -> list[float]:
        """The range of a value in slots that the map does not take: `used` says which it takes."""
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
        if self._modulus is None:
            return symbol if factor == 1 else self._times(symbol, factor)
        reduced = int(centred(np.asarray(int(factor), object), self._modulus))
        return symbol if reduced == 1 else -symbol if reduced == -1 else symbol * reduced

    def _times(self, symbol: Symbol, factor: float) -> Symbol:
        """Multiples by whole numbers take no level. At the lowest one a factor is at most as large as
        results may be: larger ones are sums."""
        if not factor.is_integer() or abs(factor) > _MOST_WHOLE:
            doublings = max(0, math.ceil(math.log2(abs(factor) / self._largest))) if factor else 0
            for _ in range(doublings):  # elements are as small as the factor is large
                symbol = symbol + symbol
            return symbol * (factor / 2.0**doublings)
        whole, sign = abs(int(factor)), -1 if factor < 0 else 1
        left = max(0, whole.bit_length() - int(self._largest).bit_length())
        most = sign * (whole >> left)
        found = symbol if most == 1 else symbol * most
        for bit in range(left - 1, -1, -1):
            found = found + found
            if whole >> bit & 1:
                found = found + symbol if sign > 0 else found - symbol
        return found

    def _plain(self, values: NDArray[Any]) -> NDArray[Any]:
        """Numbers of a plain operand, as the scheme takes them."""
        return values if self._modulus is None else centred(values.astype(np.int64), self._modulus)

    def apply(self, at: int, operation: Apply, /) -> Value:
        if self._modulus is not None:
            self.refused(at)
        node = self._program.nodes[at]
        function = operation.function
        xs = self.taken(at)
        any_number = function._native.is_unbounded and not self._is_beyond(*_reached(function, xs))
        for place, (each, (low, high)) in enumerate(zip(node.operands, function.intervals, strict=True)):
            if not (any_number or low <= xs[place].low <= xs[place].high <= high):
                middle = (low + high) / 2
                xs[place] = Value(self._inside(xs[place], each, middle), middle, middle)
        return Value(applied(operation, [x.symbol for x in xs]), *_reached(function, xs))

    def _inside(self, x: Value, at: int, value: float) -> Symbol:
        """A value whose slots without elements hold a number of the function's interval."""
        layout = self._layouts[at]
        used = np.tile(layout.contents >= 0, self._slots // layout.period)
        symbol = x.symbol
        if (x.low, x.high) != (0, 0):
            symbol = symbol * used.astype(np.float64)
        return symbol + np.where(used, 0.0, value)

    def look_up(self, at: int, operation: LookUp, /) -> Value:
        if self._modulus is None:
            self.refused(at)
        (x,), layout = self.taken(at), self._layouts[at]
        coefficients = interpolated(operation.values, operation.step, self._modulus)
        shared = operation.values.shape[1] == 1
        symbol, is_zero = x.symbol, False
        if shared and (x.low, x.high) == (0, 0):
            # Slots without elements look up an entry that is 0, so that sums need no mask.
            zeros = np.flatnonzero(operation.values[:, 0] == 0)
            is_zero = len(zeros) > 0
            if is_zero and zeros[0] > 0:
                unused = np.tile(layout.contents < 0, self._slots // layout.period)
                if unused.any():
                    entry = operation.step * int(zeros[0])
                    symbol = symbol + self._plain(np.where(unused, entry, 0))
        powers = self._powers.setdefault(number_of(symbol), Powers(symbol))
        if shared:
            plain: Sequence[Any] = [int(each) for each in coefficients[:, 0]]
        else:
            is_zero = True  # as the coefficients there are
            kinds = operation.kinds.reshape(layout.shape)
            plain = [layout.pack(row.astype(np.int64)[kinds], self._slots) for row in coefficients]
        found = polynomial(powers, plain)
        return Value(found) if is_zero else Value(found, -1.0, 1.0)


def _reached(function: Function, xs: Sequence[Value]) -> Ends:
    """The range of a function's results in slots without elements."""
    least, most = range_of(function, [(np.array([x.low]), np.array([x.high])) for x in xs])
    return float(least[0]), float(most[0])


def _sums_of(found: PackedMap) -> Ends:
    """The largest sum of positive weights, and the least one of negative weights, that a slot is made of."""

    def most(weights: NDArray[Any]) -> float:
        sums = weights.sum(0)
        for fold in found.folds:
            sums = sums + np.roll(sums, -fold)
        return float(sums.max(initial=0.0))

    return most(np.maximum(found.diagonals, 0)), -most(np.maximum(-found.diagonals, 0))
