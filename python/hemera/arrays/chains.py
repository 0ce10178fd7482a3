"""Chains of functions of one value as one polynomial of that value, and the recorder that makes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hemera.arrays.lines import beside, jumps_of, once
from hemera.arrays.operations import Affine, Apply, Formula, Multiply
from hemera.arrays.recorder import GRID, NOT_NEGATIVE, Recorder
from hemera.arrays.sparse_map import Floats, Shape, SparseMap, scaling_of
from hemera.circuits import Function, Polynomial

_NODES = 2048
"""Chebyshev nodes by which coefficients are found."""
_MOST_DEGREE = 1023
_OVERSAMPLING = 32
_SMOOTH = ("exp", "log", "sqrt", "tanh", "sigmoid", "gelu", "inverse")
_LEVELS_OF_PRODUCTS = 2.0
"""A polynomial of degree d takes about this many times sqrt(d) products."""


def _same(x: Floats) -> Floats:
    return x


@dataclass(frozen=True)
class Chain:
    """A node as a function of the elements of another one, the root."""

    root: int
    formula: Formula = _same
    approximated: Formula | None = _same
    """The same by the functions that were made; None where one could not be made."""
    names: tuple[str, ...] = ()
    """The names of the functions that approximate formulas."""
    depth: int = 0
    products: float = 0.0
    """About, of ciphertexts."""
    operations: int = 0
    """Products and functions."""

    def as_one(self, polynomial: Polynomial) -> Chain:
        """The same, computed by one polynomial."""
        products = _products(len(polynomial.coefficients) - 1)
        return replace(
            self, approximated=polynomial.evaluate_clear, depth=polynomial.depth, products=products
        )

    def error(self, points: Floats) -> float:
        """The largest difference from the formula at some points."""
        if self.approximated is None:
            return math.inf
        with np.errstate(all="ignore"):
            found = float(np.abs(self.approximated(points) - self.formula(points)).max())
        return math.inf if math.isnan(found) else found


def total(chains: Sequence[Chain], factors: Sequence[float], number: float) -> Chain | None:
    """The chain of factors times values, plus a number; None for values of several roots."""
    if len({each.root for each in chains}) != 1:
        return None
    kept = [factor for factor in factors if factor]

    def meant(x: Floats, *values: Floats) -> Floats:
        terms = (factor * each for factor, each in zip(kept, values, strict=True))
        return sum(terms, start=np.full(np.shape(x), number))

    terms = [each for factor, each in zip(factors, chains, strict=True) if factor]
    return _joined(chains[0].root, terms, meant)


def product(a: Chain, b: Chain) -> Chain | None:
    """The chain of the product of two values; None for values of several roots."""
    if a.root != b.root:
        return None
    found = _joined(a.root, [a] if a is b else [a, b], lambda _, *values: values[0] * values[-1])
    return replace(found, depth=found.depth + 1, products=found.products + 1, operations=found.operations + 1)


def after(chain: Chain, function: Function, formula: Formula | None) -> Chain | None:
    """The chain of a smooth function of a value; None for other functions."""
    if isinstance(function, Polynomial):
        if formula is None and not function._native.is_unbounded:
            return None
        products = _products(len(function.coefficients) - 1)
    elif function.name in _SMOOTH and formula is not None:
        products = _products(2**function.depth / 2)
    else:
        return None
    meant = formula or function.evaluate_clear
    found = _joined(
        chain.root,
        [chain],
        lambda _, value: meant(value),
        lambda _, value: function.evaluate_clear(np.clip(value, *function.intervals[0])),
    )
    return replace(
        found,
        names=chain.names if formula is None else (*chain.names, function.name),
        depth=chain.depth + function.depth,
        products=chain.products + products,
        operations=chain.operations + 1,
    )


def _then(chain: Chain, formula: Formula, name: str) -> Chain:
    """The chain with a function after it that is not made."""
    meant = chain.formula
    names = (*chain.names, name)
    return replace(chain, formula=lambda x: formula(meant(x)), names=names, approximated=None)


def _joined(root: int, chains: Sequence[Chain], meant: Formula, made: Formula | None = None) -> Chain:
    """The chain of a function of the root and of values: as it is meant, and as it is made, where that
    differs."""
    ways = [each.approximated for each in chains]

    def approximated(x: Floats) -> Floats:
        found: Floats = (made or meant)(x, *[own(x) for own in ways if own is not None])
        return found

    return Chain(
        root,
        once(lambda x: meant(x, *[each.formula(x) for each in chains])),
        None if None in ways else once(approximated),
        tuple(dict.fromkeys([name for each in chains for name in each.names])),
        max([each.depth for each in chains], default=0),
        sum([each.products for each in chains]),
        sum([each.operations for each in chains]),
    )


def _products(degree: float) -> float:
    """About, of a polynomial."""
    return _LEVELS_OF_PRODUCTS * math.sqrt(max(degree, 0.0))


def one_polynomial(
    formula: Formula, interval: tuple[float, float], tolerance: float, names: Sequence[str]
) -> Polynomial | None:
    """The polynomial of about the least degree that is within a tolerance of a formula on an interval; None
    where there is none up to the degree 1023, or the formula is not finite there.

    It is the Chebyshev series, cut off: its largest error is at most a few times that of the nearest
    polynomial (L. N. Trefethen, "Approximation Theory and Approximation Practice", chapter 16).
    """
    low, high = interval
    middle, half = (low + high) / 2, (high - low) / 2

    def values_at(t: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(formula(middle + half * t), np.float64)

    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    values = values_at(np.cos(angles))
    if not np.isfinite(values).all():
        return None
    # The transform of the even extension: coefficient k is 2 / n times the sum of values times cos(k angle).
    spectrum = np.fft.rfft(np.concatenate([values, values[::-1]]))[:_NODES]
    series = np.real(spectrum * np.exp(-0.5j * np.pi * np.arange(_NODES) / _NODES)) / _NODES
    series[0] /= 2
    tails = np.cumsum(np.abs(series[::-1]))[::-1]  # tails[k]: of the coefficients from k on
    enough = np.flatnonzero(tails <= tolerance)
    degree = int(enough[0]) - 1 if len(enough) else _NODES
    if degree > _MOST_DEGREE:
        return None
    kept = series[: max(degree, 1) + 1]
    points = np.cos(np.linspace(0, np.pi, _OVERSAMPLING * len(kept)))
    error = 1.001 * float(
        np.abs(values_at(points) - np.polynomial.chebyshev.chebval(points, kept)).max(initial=0.0)
    )
    if not error <= 2 * tolerance:
        return None
    name = f"{', '.join(names)} as one"
    return Polynomial(kept, basis="chebyshev", interval=interval, error=error, name=name)


_FEWER = 0.75
"""The part of the products that one polynomial may take where it takes as many levels."""
_LARGEST = 2.0**90
"""The largest magnitude of values that only chains take in."""
_MOST_LOST = 16.0
"""The multiple of the allowed error that a chain may have: more is mended by one polynomial, if there is one,
less by more bits of each function."""


class FusingRecorder(Recorder):
    """A recorder that knows of which node each one is a function, element by element."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._chains: dict[int, Chain] = {}
        """Nodes as functions of other ones."""
        self._unmade: dict[int, Exception] = {}
        """Why no polynomial is near to a node's function, which only chains may take in."""
        self._squares: dict[int, int] = {}
        """Nodes that are meant not to be negative, by the polynomials that took their places."""

    def chain(self, number: int) -> Chain:
        """A node as a function of another one, or of itself."""
        return self._chains.get(number) or Chain(number)

    def affine(
        self, terms: Sequence[tuple[int, SparseMap]], shape: Shape, offset: Floats | None = None
    ) -> int:
        number = super().affine(terms, shape, offset)
        found = self._scaled(terms, shape, offset)
        if found is None or len(terms) > 1:
            return self._fused(number, found)
        self._chains[number] = found
        return number

    def _scaled(
        self, terms: Sequence[tuple[int, SparseMap]], shape: Shape, offset: Floats | None
    ) -> Chain | None:
        """The chain of a sum of multiples of arrays of one shape and of a number; None for other sums."""
        added = 0.0 if offset is None else float(offset.flat[0])
        if offset is not None and not (offset == added).all():
            return None
        if [at for at, _ in terms if self.program.nodes[at].shape != tuple(shape)]:
            return None
        chains = [self.chain(at) for at, _ in terms]
        factors = [scaling_of(own) for _, own in terms]
        known = [each for each in factors if each is not None]
        return total(chains, known, added) if known == factors else None

    def multiply(self, a: int, b: int) -> int:
        number = super().multiply(a, b)
        return self._fused(number, product(self.chain(a), self.chain(b)))

    def apply(self, function: Function, *operands: int, **known: Any) -> int:
        number = super().apply(function, *operands, **known)
        if len(operands) > 1 or known.get("step") is not None:
            return number
        return self._fused(number, after(self.chain(operands[0]), function, known.get("formula")))

    def composed(self, formula: Formula, name: str, number: int) -> int | None:
        chain = self.chain(number)
        if not chain.operations:
            return None
        whole = _then(chain, formula, name)
        found = self._as_one(whole, number)
        return None if found is None else self._one(whole, found[0], int(name in NOT_NEGATIVE))

    def unmade(self, formula: Formula, name: str, number: int, reason: Exception) -> int:
        interval = self.interval(number)
        with np.errstate(all="ignore"):
            values = np.asarray(formula(np.linspace(*interval, GRID)), np.float64)
        if not np.isfinite(values).all():
            raise reason
        low, high = np.clip([values.min(), values.max()], -_LARGEST, _LARGEST).tolist()
        middle, error = [(low + high) / 2], (high - low) / 2
        nothing = Polynomial(middle, basis="chebyshev", interval=interval, error=error, name=name)
        found = super().apply(nothing, number, limits=(low, high), formula=formula)
        whole = _then(self.chain(number), formula, name)
        self._chains[found] = replace(whole, products=math.inf, operations=whole.operations + 1)
        self._unmade[found] = reason
        return found

    def is_unmade(self, number: int) -> bool:
        """Whether a node needs functions that only chains may take in."""
        return any(at in self._unmade for at in self.program.needed([number]))

    def settle(self) -> None:
        """Forget what is watched of functions that chains took in.

        Raises:
            PrecisionError: where a result needs a function that no polynomial is near to.
        """
        needed = self.program.needed([at for _, at in self.program.outputs])
        taken: set[int] = set()
        for at in needed:
            node = self.program.nodes[at]
            if not isinstance(node.operation, Apply):
                continue
            taken.update(node.operands)
            if at in self._unmade:
                raise self._unmade[at]
        for at, each in enumerate(self.facts):
            each.watch = each.watch if at in taken else None

    def _fused(self, number: int, chain: Chain | None) -> int:
        """A node that is a function of one other node, or one polynomial in its place where that takes fewer
        levels, or has bits that the node has not."""
        if chain is None:
            return number
        self._chains[number] = chain
        if not chain.names or chain.operations < 2:
            return number
        found = self._as_one(chain, number)
        if found is None:
            return number
        polynomial, tolerance = found
        one = chain.as_one(polynomial)
        fewer = one.depth < chain.depth and one.products <= chain.products
        fewer = fewer or (one.depth == chain.depth and one.products < _FEWER * chain.products)
        points = np.linspace(*self.interval(chain.root), GRID)
        better = fewer or chain.error(points) > _MOST_LOST * tolerance
        if not better:
            return number
        fused = self._one(chain, polynomial, self.facts[number].sign)
        if self.facts[number].sign > 0:
            self._squares[fused] = number
        return fused

    def not_negative(self, number: int) -> int:
        if self.range(number)[0] >= 0:
            return number
        whole = self._squares.get(number, number)
        if self.range(whole)[0] >= 0:
            return whole
        node = self.program.nodes[whole]
        own = node.operation
        if not isinstance(own, (Affine, Multiply)):
            return number
        operands = [self.not_negative(at) for at in node.operands]
        if operands == list(node.operands):
            return number
        if isinstance(own, Affine):
            terms = list(zip(operands, own.maps, strict=True))
            found = Recorder.affine(self, terms, node.shape, own.offset)
        else:
            found = Recorder.multiply(self, *operands)
        return found if self.range(found)[0] >= 0 else number

    def _as_one(self, chain: Chain, number: int) -> tuple[Polynomial, float] | None:
        """The chain of a node, or of a function of it, as one polynomial, and the tolerance that it has to
        keep; None where there is none, as between jumps that are too near each other to be seen."""
        interval = self.interval(chain.root)
        with np.errstate(all="ignore"):
            largest = float(np.abs(chain.formula(np.linspace(*interval, GRID))).max())
        if not math.isfinite(largest):
            return None
        tolerance = 2.0 ** -self.tolerance_bits(max(1.0, largest))
        found = one_polynomial(chain.formula, interval, tolerance, chain.names)
        if found is None or not self._unmade:
            return None if found is None else (found, tolerance)
        jumps = jumps_of(self, [number], chain.root)
        if jumps is None:
            return None
        points = beside(jumps)
        with np.errstate(all="ignore"):
            apart = np.abs(found.evaluate_clear(np.clip(points, *interval)) - chain.formula(points)).max()
        return (found, tolerance) if apart <= 4 * tolerance else None

    def _one(self, chain: Chain, polynomial: Polynomial, sign: int) -> int:
        """The node of a polynomial in place of a chain, whose values have a sign (0: any), but for errors."""
        number = super().apply(polynomial, chain.root, formula=chain.formula)
        self.facts[number].sign = self.facts[number].sign or sign
        self._chains[number] = chain.as_one(polynomial)
        return number
