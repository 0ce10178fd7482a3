"""From a program on arrays to one with an element in each ciphertext, whose slots are samples, or tokens and
samples.

Maps of elements become products of plain matrices with batches of ciphertexts: sums of integer multiples,
which need no key and no rotation. Products and functions take batches as they are. Tokens meet by turns of
ciphertexts, where a map or a sum of products does the same with each token: sums over tokens, and products
of encrypted arrays, as those of attention (`hemera.arrays.token_turns`).
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.batches import of_one_sample
from hemera.arrays.operations import Affine, Apply
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.splitting import SplitProgram
from hemera.arrays.tensor import Node, TensorProgram
from hemera.arrays.tiling import MOST_CIPHERTEXTS
from hemera.arrays.token_places import Places, token_axes
from hemera.arrays.token_turns import Products, products_of, turns_of
from hemera.compiler.alike import alike_nodes
from hemera.compiler.impossible import NotPossibleError
from hemera.compiler.lowering import Lowered, Step
from hemera.compiler.products import sums_of_products
from hemera.compiler.progress import told
from hemera.compiler.token_values import TokenValues, Value, View
from hemera.compiler.turned_maps import Shapes, TurnedMaps
from hemera.program.tracing import Symbol, number_of

__all__ = ["in_batches", "input_places"]

Indices = NDArray[np.int64]
Where = Literal["left", "right", "target"]

_MOST_JOINED = 1 << 10
"""Ciphertexts that one matrix takes of several values: they are copied before."""
_MOST_LISTED = 1 << 24
"""Entries of maps between tokens."""


def input_places(program: TensorProgram, length: int) -> list[int | None]:
    """The axis of the tokens of each input: the first one, if it has as many; None where it has not."""
    shapes = [program.nodes[at].shape for at in program.inputs]
    return [0 if 0 in token_axes(shape, length) else None for shape in shapes]


def in_batches(
    program: TensorProgram, length: int, samples: int, precision_bits: float
) -> tuple[SplitProgram, Lowered, list[int | None]]:
    """The program with samples in slots, or tokens and samples, and the axis of the tokens of each output
    (None: it has none).

    Args:
        program: of one sample.
        length: the number of tokens, a power of two; 1: there are none.
        samples: of a ciphertext, a power of two.
        precision_bits: of results, for which the weights of matrices have bits.

    Raises:
        NotPossibleError: where tokens meet otherwise than by what is the same for each token; for arrays of
            too many ciphertexts, matrices that are too large, precisions beyond those of weights, and
            functions that no file can keep.
    """
    lowering = _Batches(program, length, samples, precision_bits)
    axes = lowering.run()
    arrays = lowering.arrays if length > 1 else {}
    return *lowering.maps.lowered(program, lowering.steps, lowering.magnitudes, arrays), axes


class _Batches(TokenValues):
    refusal = NotPossibleError

    def __init__(self, program: TensorProgram, length: int, samples: int, precision_bits: float) -> None:
        axes = input_places(program, length)
        places = [
            Places.everywhere(program.nodes[at].size)
            if axis is None
            else Places.along(program.nodes[at].shape, axis)
            for at, axis in zip(program.inputs, axes, strict=True)
        ]
        maps = TurnedMaps([each.count for each in places], length, samples, precision_bits)
        super().__init__(program, length, maps, map(Value, maps.recorder.inputs, places))
        self._classes = alike_nodes(program)
        self._ways: dict[int, tuple[Places, Where]] = {}
        """By a class of nodes, how their sums of products are computed."""
        self._sums = sums_of_products(program)
        self._taken_by_sums = {program.nodes[at].operands[0] for at in self._sums}
        self._matrices: dict[int, Shapes] = {}
        self.steps: list[Step] = []
        self.magnitudes: dict[int, float] = {}
        self.arrays: dict[int, int] = {}

    def run(self) -> list[int | None]:
        """Record all of it. Returns the axis of the tokens of each output."""
        forms = self.maps.recorder.program.forms
        for at, node in enumerate(self._program.nodes):
            told("lower", at, len(self._program.nodes))
            before = len(forms)
            value = self.made(at)
            if isinstance(value, Value):
                if value.places.count > MOST_CIPHERTEXTS:
                    raise NotPossibleError(
                        f"an array of shape {node.shape} would take {value.places.count} ciphertexts; at "
                        f"most {MOST_CIPHERTEXTS} can be{node.line}"
                    )
                self.magnitudes[number_of(value.symbol)] = max(map(abs, node.range))
            for number, made in enumerate(range(before, len(forms))):
                self.arrays[made] = self._classes[at] << 16 | number
            self.steps.append(Step(at, matrices=tuple(self._matrices.get(at, ()))))
        return [self._give(at) for _, at in self._program.outputs]

    def _give(self, at: int) -> int | None:
        """Make a node an output."""
        node = self._program.nodes[at]
        axes = token_axes(node.shape, self._length)
        for axis in (*axes, None):
            wanted = Places.everywhere(node.size) if axis is None else Places.along(node.shape, axis)
            found = self._at(self._view(at), wanted)
            if found is not None:
                self.maps.recorder.give(found.symbol)
                return axis
        if len(axes) < 2:
            raise _refusal(node)
        raise NotPossibleError(
            f'layout="sequences": a result of shape {node.shape} has several axes of tokens, and is not '
            f"decrypted; return sums over one of them{node.line}"
        )

    def multiply(self, at: int) -> Value | None:
        if at in self._taken_by_sums:
            return None
        (a, b), places = self._at_common_places(at)
        return Value(a.square() if a is b else a * b, places)

    def apply(self, at: int, operation: Apply, /) -> Value:
        symbols, places = self._at_common_places(at)
        return Value(self.maps.function(operation, symbols), places)

    def _at_common_places(self, at: int) -> tuple[list[Symbol], Places]:
        """The operands of a product, or of a function."""
        node = self._program.nodes[at]
        xs = self._met([self._view(each) for each in node.operands], node.shape)
        if xs is None:
            raise _refusal(node)
        return [x.symbol for x in xs], xs[0].places

    def affine(self, at: int, operation: Affine) -> Value | View:
        node = self._program.nodes[at]
        if at in self._sums:
            return self._sum_of_products(at, operation)
        if len(operation.maps) == 1 and operation.offset is None and _is_for_each(operation.maps[0]):
            own = operation.maps[0]
            if own.is_selection:
                return self._view(node.operands[0]).of(own.columns)
            copies = self._scaled_copies(node.operands[0], own) if own.outputs > own.inputs else None
            if copies is not None:
                return copies
        for way in (self._of_each_token, self._element_by_element, self._between_tokens):
            found = way(node, operation)
            if found is not None:
                value, self._matrices[at] = found
                return self._plus(value, operation.offset)
        raise _refusal(node)

    def _scaled_copies(self, at: int, own: SparseMap) -> View | None:
        """Copies of elements with a factor for each: these are multiplied before they are copied. None where
        copies of one element have different factors."""
        view = self._view(at).of(own.columns)
        source = self._value(view)
        taken = own.columns if view.taken is None else view.taken
        factors = np.full(source.places.size, own.values[0])
        factors[taken] = own.values
        if (factors[taken] != own.values).any():
            return None
        self._more.append(Value(self._times(source, factors), source.places))
        return View(len(self._program.nodes) + len(self._more) - 1, taken)

    def _times(self, x: Value, factors: NDArray[Any]) -> Symbol:
        """Elements with a factor for each."""
        numbers = self._numbers(factors, x.places)
        if (numbers == numbers[:, :1]).all():
            return self.maps.scaled(x.symbol, numbers[:, 0])
        return x.symbol * self.maps.by_token(numbers)

    def _plus(self, x: Value, offset: NDArray[Any] | None) -> Value:
        if offset is None or not offset.any():
            return x
        numbers = self._numbers(offset, x.places)
        if (numbers == numbers[:, :1]).all():
            return Value(self.maps.plus(x.symbol, numbers[:, 0]), x.places)
        return Value(x.symbol + self.maps.by_token(numbers), x.places)

    def _numbers(self, values: NDArray[Any], places: Places) -> NDArray[Any]:
        """Numbers for each element, by ciphertexts and tokens; of one token where all have the same."""
        if not places.has_tokens:
            found = np.zeros((places.count, 1))
            found[places.ciphertexts, 0] = values
            return found
        found = np.zeros((places.count, self._length))
        found[places.ciphertexts, places.tokens] = values
        return found

    def _of_each_token(self, node: Node, operation: Affine) -> tuple[Value, Shapes] | None:
        """A map that does the same with the elements of each token; without tokens, any."""
        length = self._length
        if length == 1:
            xs = [
                self._at(self._view(at), Places.everywhere(self._program.nodes[at].size))
                for at in node.operands
            ]
            total, matrices = self._sum_of_maps([x.symbol for x in xs if x is not None], operation.maps)
            return Value(total, Places.everywhere(node.size)), matrices
        shapes = [self._program.nodes[at].shape for at in node.operands]
        axes = [
            [
                axis
                for axis, extent in enumerate(shape)
                if extent == length and self._cost(self._view(at), Places.along(shape, axis)) == 0
            ]
            for at, shape in zip(node.operands, shapes, strict=True)
        ]
        for chosen in itertools.product(*axes):
            sources = list(zip(shapes, chosen, strict=True))
            split = of_one_sample(Affine(operation.maps), sources, node.shape, length)
            if split is None:
                continue
            one, axis = split
            symbols = []
            for at, (shape, own) in zip(node.operands, sources, strict=True):
                x = self._at(self._view(at), Places.along(shape, own))
                assert x is not None
                symbols.append(x.symbol)
            found, matrices = self._sum_of_maps(symbols, one.maps)
            return Value(found, Places.along(node.shape, axis)), matrices
        return None

    def _sum_of_maps(self, xs: Sequence[Symbol], maps: Sequence[SparseMap]) -> tuple[Symbol, Shapes]:
        """The sum of maps of values. Matrices are one, of all values that they take."""
        pairs = [(x, own) for x, own in zip(xs, maps, strict=True) if own.entries]
        moved = [(x, own) for x, own in pairs if _is_for_each(own)]
        others = [(x, own) for x, own in pairs if not _is_for_each(own)]
        terms = [self.maps.mapped(x, own)[0] for x, own in moved]
        shapes = Shapes()
        together = sum(own.inputs for _, own in others) <= _MOST_JOINED
        for each in [others] if others and together else [[other] for other in others]:
            found, matrices = self.maps.joined_map(*map(list, zip(*each, strict=True)))
            terms.append(found)
            shapes += matrices
        if not terms:  # a constant
            terms = [self.maps.taken(xs[0], np.zeros(maps[0].outputs, np.int64)) * 0]
        return functools.reduce(operator.add, terms), shapes

    def _element_by_element(self, node: Node, operation: Affine) -> tuple[Value, Shapes] | None:
        """A sum of elements, with a factor for each."""
        if any(own.entries > _MOST_LISTED for own in operation.maps):
            return None
        taken = [_elements(own) for own in operation.maps]
        known = [each for each in taken if each is not None]
        if len(known) < len(taken):
            return None
        views = [self._view(at).of(own) for at, own in zip(node.operands, known, strict=True)]
        xs = self._met(views, node.shape)
        if xs is None:
            return None
        terms = []
        for x, own in zip(xs, operation.maps, strict=True):
            factors = np.zeros(own.outputs)
            factors[own.rows] = own.values
            terms.append(self._times(x, factors))
        return Value(functools.reduce(operator.add, terms), xs[0].places), Shapes()

    def _between_tokens(self, node: Node, operation: Affine) -> tuple[Value, Shapes] | None:
        """A map by which tokens meet."""
        if any(own.entries > _MOST_LISTED for own in operation.maps):
            return None
        own_maps = []
        for at, own in zip(node.operands, operation.maps, strict=True):
            view = self._view(at)
            value = self._value(view)
            columns = own.columns if view.taken is None else view.taken[own.columns]
            whole = SparseMap.of(own.outputs, value.places.size, own.rows, columns, own.values)
            own_maps.append((value, whole))
        best = None
        for places in self._candidates(node.shape):
            turns = [turns_of(own, value.places, places, self._length) for value, own in own_maps]
            known = [each for each in turns if each is not None]
            if len(known) == len(turns):
                cost = sum(each.cost for each in known)
                if best is None or cost < best[0]:
                    best = cost, places, known
        if best is None:
            return None
        _, places, known = best
        terms, shapes = list[Symbol](), Shapes()
        for (value, _), turns_own in zip(own_maps, known, strict=True):
            term, matrices = self.maps.turned_map(value.symbol, turns_own, places.count)
            terms.append(term)
            shapes += matrices
        return Value(functools.reduce(operator.add, terms), places), shapes

    def _sum_of_products(self, at: int, operation: Affine) -> Value:
        """A sum of products of two values, each relinearized and rescaled once."""
        node, blocks = self._program.nodes[at], self._sums[at]
        views = [self._view(each) for each in self._program.nodes[node.operands[0]].operands]
        values, rows = [self._value(view) for view in views], blocks.rows[0]
        taken = [blocks.columns if view.taken is None else view.taken[blocks.columns] for view in views]
        if self._length == 1:
            total = self.maps.sums_of_products([value.symbol for value in values], taken)
            sums = Value(self.maps.taken(total, np.argsort(rows)), Places.everywhere(node.size))
            return self._weighted(sums, blocks.matrix[0, 0], operation.offset)

        def found(target: Places, where: Where, some: Any = slice(None)) -> Products | None:
            own = [each[:, some] for each in taken]
            places = [value.places for value in values]
            return products_of(rows[some], own, places, target, where, self._length)

        best: tuple[Places, Where, Products] | None = None
        kind = self._classes[at]
        if kind in self._ways:
            products = found(*self._ways[kind])
            best = None if products is None else (*self._ways[kind], products)
        if best is None:
            for target, where in itertools.product(self._candidates(node.shape), get_args(Where)):
                if found(target, where, target.ciphertexts[rows] == 0) is None:  # soon
                    continue
                products = found(target, where)
                if products is not None and (best is None or products.cost < best[2].cost):
                    best = target, where, products
        if best is None:
            raise _refusal(node)
        target, where, products = best
        self._ways[kind] = target, where
        total = self.maps.turned_products([value.symbol for value in values], products, target.count)
        return self._weighted(Value(total, target), blocks.matrix[0, 0], operation.offset)

    def _weighted(self, sums: Value, weight: float, offset: NDArray[Any] | None) -> Value:
        """Sums times their common weight, and an offset."""
        scaled = self.maps.scaled(sums.symbol, np.array([weight]))
        return self._plus(Value(scaled, sums.places), offset)


def _elements(own: SparseMap) -> Indices | None:
    """For each element of the result, the one of the source that it takes, with a factor, which is 0 for
    some of a map from elements to the same ones; None for other maps."""
    if _is_for_each(own):
        return own.columns
    if own.inputs == own.outputs and np.array_equal(own.rows, own.columns):
        return np.arange(own.inputs)
    return None


def _is_for_each(own: SparseMap) -> bool:
    """Whether each element of the result is one of the source, with a factor."""
    return own.entries == own.outputs and bool((np.diff(own.rows) == 1).all())


def _refusal(node: Node) -> NotPossibleError:
    return NotPossibleError(
        'layout="sequences": tokens meet otherwise than by sums over tokens and by products, the same for '
        f'each token; take layout="slots"{node.line}'
    )
