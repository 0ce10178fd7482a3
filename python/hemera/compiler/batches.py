"""Turns a program on arrays into one with an element in each ciphertext, whose slots are samples, or tokens
and samples.

Maps of elements become products of plain matrices with batches of ciphertexts: sums of integer multiples,
which need no key and no rotation. Products and functions take batches as they are. Tokens meet by turns of
ciphertexts, where a map or a sum of products does the same with each token: sums over tokens, and products
of encrypted arrays, as those of attention (`hemera.arrays.tokens`).
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.batches import Blocks, blocks_of, of_one_sample
from hemera.arrays.operations import Affine, Apply, Multiply
from hemera.arrays.sparse_map import Shape, SparseMap
from hemera.arrays.tensor import Node, TensorProgram
from hemera.arrays.tiling import MOST_CIPHERTEXTS
from hemera.arrays.tokens import Places, Products, products_of, token_axes, turns_of
from hemera.compiler.attempts import NotPossibleError
from hemera.compiler.lowering import Lowered, Step, applied
from hemera.compiler.matrices import Matrices, Shapes
from hemera.compiler.token_values import Placed, TokenValues, View
from hemera.program import operations as op
from hemera.program.tracing import Symbol

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
) -> tuple[Lowered, list[int | None]]:
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
    steps = lowering.run()
    return steps, lowering.axes


class _Batches(TokenValues):
    refusal = NotPossibleError

    def __init__(self, program: TensorProgram, length: int, samples: int, precision_bits: float) -> None:
        axes = zip(program.inputs, input_places(program, length), strict=True)
        places = [Places.along(program.nodes[at].shape, axis) for at, axis in axes]
        super().__init__(program, places, length, samples, Matrices(samples, precision_bits))
        self._classes = alike_nodes(program)
        self._ways: dict[int, tuple[Places, Where]] = {}
        """How the sums of products of a class of nodes are computed."""
        self._sums = _sums_of_products(program)
        self._taken_by_sums = {program.nodes[at].operands[0] for at in self._sums}
        self.axes: list[int | None] = []
        """The axis of the tokens of each output that there is so far."""

    def made(self, at: int) -> Placed | View | None:
        value, node = super().made(at), self._program.nodes[at]
        if isinstance(value, Placed) and value.places.count > MOST_CIPHERTEXTS:
            raise NotPossibleError(
                f"an array of shape {node.shape} would take {value.places.count} ciphertexts; at most "
                f"{MOST_CIPHERTEXTS} can be{node.line}"
            )
        return value

    def _array(self, at: int, number: int) -> int | None:
        has_one = self._length == 1 or at in self._program.declared
        return None if has_one else self._classes[at] << 16 | number

    def _result(self, at: int) -> Symbol:
        node = self._program.nodes[at]
        axes = token_axes(node.shape, self._length)
        for axis in (*axes, None):
            found = self._at(self._view(at), Places.along(node.shape, axis))
            if found is not None:
                self.axes.append(axis)
                return found.symbol
        if len(axes) < 2:
            raise _refusal(node)
        raise NotPossibleError(
            f'layout="sequences": a result of shape {node.shape} has several axes of tokens, and is not '
            f"decrypted; return sums over one of them{node.line}"
        )

    def multiply(self, at: int) -> Placed | None:
        if at in self._taken_by_sums:
            return None
        (a, b), places = self._at_common_places(at)
        return Placed(a.square() if a is b else a * b, places=places)

    def apply(self, at: int, operation: Apply, /) -> Placed:
        symbols, places = self._at_common_places(at)
        return Placed(applied(operation, symbols), places=places)

    def _at_common_places(self, at: int) -> tuple[list[Symbol], Places]:
        """The operands of a product, or of a function."""
        node = self._program.nodes[at]
        xs = self._met([self._view(each) for each in node.operands], node.shape)
        if xs is None:
            raise _refusal(node)
        return [x.symbol for x in xs], xs[0].places

    def affine(self, at: int, operation: Affine) -> Placed | View:
        node = self._program.nodes[at]
        if at in self._sums:
            return self._sum_of_products(at, operation)
        if len(operation.maps) == 1 and operation.offset is None and operation.maps[0].is_of_each:
            own, view = operation.maps[0], self._view(node.operands[0])
            if own.is_selection:
                return view.of(own.columns)
            copies = self._scaled_copies(view, own) if own.outputs > own.inputs else None
            if copies is not None:
                return copies
        for way in (self._of_each_token, self._element_by_element, self._between_tokens):
            found = way(node, operation)
            if found is not None:
                value, matrices = found
                self._how[at] = Step(at, matrices=tuple(matrices))
                return self._plus(value, operation.offset)
        raise _refusal(node)

    def _scaled_copies(self, view: View, own: SparseMap) -> View | None:
        """Copies of elements with a factor for each: these are multiplied before they are copied. None where
        copies of one element have different factors."""
        taken = view.elements(own.columns)
        factors = np.full(view.value.places.size, own.values[0])
        factors[taken] = own.values
        return None if (factors[taken] != own.values).any() else View(self._times(view.value, factors), taken)

    def _times(self, x: Placed, factors: NDArray[Any]) -> Placed:
        """Elements with a factor for each."""
        return Placed(self._maps.times(x.symbol, self._numbers(factors, x.places)), places=x.places)

    def _plus(self, x: Placed, offset: NDArray[Any] | None) -> Placed:
        if offset is None or not offset.any():
            return x
        return Placed(self._maps.plus(x.symbol, self._numbers(offset, x.places)), places=x.places)

    def _numbers(self, values: NDArray[Any], places: Places) -> NDArray[Any]:
        """Numbers for each element, by ciphertexts and tokens."""
        found = np.zeros((places.count, self._length if places.has_tokens else 1))
        found[places.ciphertexts, places.tokens] = values  # the last of one, where there are none
        return found

    def _of_each_token(self, node: Node, operation: Affine) -> tuple[Placed, Shapes] | None:
        """A map that does the same with the elements of each token; without tokens, any."""
        views = [self._view(at) for at in node.operands]
        shapes = [self._program.nodes[at].shape for at in node.operands]
        for axes, one, axis in self._of_one_token(node, operation, views, shapes):
            wanted = map(Places.along, shapes, axes)
            xs = [self._at(view, places) for view, places in zip(views, wanted, strict=True)]
            found, matrices = self._sum_of_maps([x.symbol for x in xs if x is not None], one.maps)
            return Placed(found, places=Places.along(node.shape, axis)), matrices
        return None

    def _of_one_token(
        self, node: Node, operation: Affine, views: Sequence[View], shapes: Sequence[Shape]
    ) -> Iterator[tuple[Sequence[int | None], Affine, int | None]]:
        """The axes of the tokens at which operands are without turns, the map of one token, and the axis of
        the tokens in the result."""
        if self._length == 1:
            yield (None,) * len(views), operation, None
            return
        free = (
            [
                axis
                for axis in token_axes(shape, self._length)
                if self._cost(view, Places.along(shape, axis)) == 0
            ]
            for view, shape in zip(views, shapes, strict=True)
        )
        for axes in itertools.product(*free):
            sources = list(zip(shapes, axes, strict=True))
            split = of_one_sample(Affine(operation.maps), sources, node.shape, self._length)
            if split is not None:
                yield axes, *split

    def _sum_of_maps(self, xs: Sequence[Symbol], maps: Sequence[SparseMap]) -> tuple[Symbol, Shapes]:
        """The sum of maps of values. Matrices are one, of all values that they take."""
        pairs = [(x, own) for x, own in zip(xs, maps, strict=True) if own.entries]
        moved = [(x, own) for x, own in pairs if own.is_of_each]
        others = [(x, own) for x, own in pairs if not own.is_of_each]
        terms = [self._maps.mapped(x, own)[0] for x, own in moved]
        shapes = Shapes()
        together = sum(own.inputs for _, own in others) <= _MOST_JOINED
        for each in [others] if others and together else [[other] for other in others]:
            found, matrices = self._maps.joined_map(*map(list, zip(*each, strict=True)))
            terms.append(found)
            shapes += matrices
        if not terms:  # a constant
            terms = [self._maps.taken(xs[0], np.zeros(maps[0].outputs, np.int64)) * 0]
        return functools.reduce(operator.add, terms), shapes

    def _element_by_element(self, node: Node, operation: Affine) -> tuple[Placed, Shapes] | None:
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
            terms.append(self._times(x, factors).symbol)
        return Placed(functools.reduce(operator.add, terms), places=xs[0].places), Shapes()

    def _between_tokens(self, node: Node, operation: Affine) -> tuple[Placed, Shapes] | None:
        """A map by which tokens meet."""
        if any(own.entries > _MOST_LISTED for own in operation.maps):
            return None
        own_maps = []
        for at, own in zip(node.operands, operation.maps, strict=True):
            view = self._view(at)
            size, columns = view.value.places.size, view.elements(own.columns)
            own_maps.append((view.value, SparseMap.of(own.outputs, size, own.rows, columns, own.values)))
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
            term, matrices = self._maps.turned_map(value.symbol, turns_own, places.count)
            terms.append(term)
            shapes += matrices
        return Placed(functools.reduce(operator.add, terms), places=places), shapes

    def _sum_of_products(self, at: int, operation: Affine) -> Placed:
        """A sum of products of two values, each relinearized and rescaled once."""
        node, blocks = self._program.nodes[at], self._sums[at]
        views = [self._view(each) for each in self._program.nodes[node.operands[0]].operands]
        x, y = (view.value.symbol for view in views)
        taken = [view.elements(blocks.columns) for view in views]
        if self._length == 1:
            places = Places.along(node.shape, None)
            total = self._maps.taken(x.note(op.SumsOfProducts(*taken), y), np.argsort(blocks.rows[0]))
        else:
            places, products = self._products(at, [view.value.places for view in views], taken)
            total = self._maps.turned_products([x, y], products, places.count)
        scaled = self._maps.times(total, blocks.matrix[:1, :1])
        return self._plus(Placed(scaled, places=places), operation.offset)

    def _products(
        self, at: int, sources: Sequence[Places], taken: Sequence[Indices]
    ) -> tuple[Places, Products]:
        """Where the sums of products are, and how they are computed, with the fewest turns."""
        node, rows, kind = self._program.nodes[at], self._sums[at].rows[0], self._classes[at]

        def found(target: Places, where: Where, some: Any = slice(None)) -> Products | None:
            own = [each[:, some] for each in taken]
            return products_of(rows[some], own, sources, target, where, self._length)

        best: tuple[Places, Where, Products] | None = None
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
        return target, products


def _elements(own: SparseMap) -> Indices | None:
    """For each element of the result, the one of the source that it takes, with a factor, which is 0 for
    some of a map from elements to the same ones; None for other maps."""
    if own.is_of_each:
        return own.columns
    return None if own.factors is None else np.arange(own.inputs)


def _sums_of_products(program: TensorProgram) -> dict[int, Blocks]:
    """The maps that are sums of elements of a product, with one factor, where nothing else takes the product:
    a row of their blocks has ones."""
    users = Counter(at for node in program.nodes for at in set(node.operands))
    users.update(at for _, at in program.outputs)
    found = {}
    for at, node in enumerate(program.nodes):
        if not isinstance(node.operation, Affine) or len(node.operands) != 1:
            continue
        (source,), (own,) = node.operands, node.operation.maps
        if isinstance(program.nodes[source].operation, Multiply) and users[source] == 1:
            for each in blocks_of(own, 1) or []:
                rows, terms = each.matrix.shape
                if rows == 1 < terms and (each.matrix == each.matrix[0, 0]).all():
                    found[at] = each
    return found


def _refusal(node: Node) -> NotPossibleError:
    return NotPossibleError(
        'layout="sequences": tokens meet otherwise than by sums over tokens and by products, the same for '
        f'each token; take layout="slots"{node.line}'
    )


def alike_nodes(program: TensorProgram) -> list[int]:
    """For each node the number of its class: of operations that are done alike, as those of the heads of a
    transformer are. Nodes of a class have operations of one kind and shape, and take values of the same
    classes, and so do those that take them. They may differ in numbers and ranges."""
    nodes = program.nodes
    before: list[int] = []
    known: dict[Any, int] = {}
    for node in nodes:
        taken = [before[each] for each in node.operands]
        operands = tuple(sorted(taken) if node.operation.is_linear else taken)
        key = node.operation.likeness, node.shape, operands
        before.append(known.setdefault(key, len(known)))
    uses: list[set[Any]] = [set() for _ in nodes]
    for number, (name, at) in enumerate(program.outputs):
        uses[at].add(("output", name, number))
    found = [0] * len(nodes)
    classes: dict[Any, int] = {}
    for at in reversed(range(len(nodes))):
        found[at] = classes.setdefault((before[at], frozenset(uses[at])), len(classes))
        for place, each in enumerate(nodes[at].operands):
            where = 0 if nodes[at].operation.is_linear else place
            uses[each].add((found[at], where))
    return found
