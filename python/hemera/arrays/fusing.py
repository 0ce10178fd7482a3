"""Records programs whose chains of functions of one value become one polynomial: `hemera.arrays.chains`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.chains import Chain, after, one_polynomial, product, scaling_of, total
from hemera.arrays.formulas import Formula
from hemera.arrays.operations import Apply, Shape
from hemera.arrays.recorder import Recorder
from hemera.arrays.sparse_map import SparseMap
from hemera.circuits import Function, Polynomial

__all__ = ["FusingRecorder"]

Floats = NDArray[np.float64]

_GRID = 257
"""Points at which chains are compared with their formulas."""
_FEWER = 0.75
"""The part of the products that one polynomial may take where it takes as many levels."""
_LARGEST = 2.0**90
"""The largest magnitude of values that only chains take in."""
_MOST_LOST = 16.0
"""The multiple of the allowed error that a chain may have: more is mended by one polynomial, if there is one,
less by more bits of each function."""


class FusingRecorder(Recorder):
    """A recorder that knows of which node each one is a function, element by element."""

    def chain(self, number: int) -> Chain:
        """A node as a function of another one, or of itself."""
        return self.facts[number].chain or Chain(number)

    def affine(
        self, terms: Sequence[tuple[int, SparseMap]], shape: Shape, offset: Floats | None = None
    ) -> int:
        number = super().affine(terms, shape, offset)
        self.facts[number].chain = found = self._scaled(terms, shape, offset)
        return self._fused(number, found) if len(terms) > 1 else number

    def _scaled(
        self, terms: Sequence[tuple[int, SparseMap]], shape: Shape, offset: Floats | None
    ) -> Chain | None:
        """The chain of a sum of multiples of arrays of one shape and of a number; None for other sums."""
        added = 0.0 if offset is None else float(offset.flat[0])
        if offset is not None and not (offset == added).all():
            return None
        if any(self.program.nodes[at].shape != tuple(shape) for at, _ in terms):
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
        whole = replace(
            chain, formula=lambda x: formula(chain.formula(x)), names=(*chain.names, name), approximated=None
        )
        found = self._as_one(whole)
        return None if found is None else self._one(whole, found[0])

    def unmade(self, formula: Formula, name: str, number: int, reason: Exception) -> int:
        interval = self.interval(number)
        with np.errstate(all="ignore"):
            values = np.asarray(formula(np.linspace(*interval, _GRID)), np.float64)
        if not np.isfinite(values).all():
            raise reason
        low, high = np.clip([values.min(), values.max()], -_LARGEST, _LARGEST).tolist()
        middle, error = [(low + high) / 2], (high - low) / 2
        nothing = Polynomial(middle, basis="chebyshev", interval=interval, error=error, name=name)
        found = super().apply(nothing, number, limits=(low, high), formula=formula)
        chain = self.chain(number)
        self.facts[found].chain = Chain(
            chain.root,
            lambda x: formula(chain.formula(x)),
            None,
            (*chain.names, name),
            chain.depth,
            math.inf,
            chain.operations + 1,
        )
        self.facts[found].unmade = reason
        return found

    def is_made(self, number: int) -> bool:
        return self.chain(number).approximated is not None

    def function_of(self, number: int) -> tuple[int, Formula] | None:
        chain = self.chain(number)
        return chain.root, chain.formula

    def settle(self) -> None:
        """Forget what is watched of functions that chains took in.

        Raises:
            PrecisionError: where a result needs a function that no polynomial is near to.
        """
        needed = self.program.needed(at for _, at in self.program.outputs)
        taken: set[int] = set()
        for at in needed:
            node = self.program.nodes[at]
            if not isinstance(node.operation, Apply):
                continue
            taken.update(node.operands)
            if (reason := self.facts[at].unmade) is not None:
                raise reason
        for at, each in enumerate(self.facts):
            each.watch = each.watch if at in taken else None

    def _fused(self, number: int, chain: Chain | None) -> int:
        """A node that is a function of one other node, or one polynomial in its place where that takes fewer
        levels, or has bits that the node has not."""
        if chain is None:
            return number
        self.facts[number].chain = chain
        if not chain.names or chain.operations < 2:
            return number
        found = self._as_one(chain)
        if found is None:
            return number
        polynomial, tolerance = found
        one = chain.as_one(polynomial)
        fewer = one.depth < chain.depth and one.products <= chain.products
        fewer = fewer or (one.depth == chain.depth and one.products < _FEWER * chain.products)
        points = np.linspace(*self.interval(chain.root), _GRID)
        better = fewer or chain.error(points) > _MOST_LOST * tolerance
        return self._one(chain, polynomial) if better else number

    def _as_one(self, chain: Chain) -> tuple[Polynomial, float] | None:
        """A chain as one polynomial, and the tolerance that it has to keep; None where there is none."""
        interval = self.interval(chain.root)
        with np.errstate(all="ignore"):
            largest = float(np.abs(chain.formula(np.linspace(*interval, _GRID))).max())
        if not math.isfinite(largest):
            return None
        tolerance = 2.0 ** -self.tolerance_bits(max(1.0, largest))
        found = one_polynomial(chain.formula, interval, tolerance, chain.names)
        return None if found is None else (found, tolerance)

    def _one(self, chain: Chain, polynomial: Polynomial) -> int:
        """The node of a polynomial in place of a chain."""
        number = super().apply(polynomial, chain.root, formula=chain.formula)
        self.facts[number].chain = chain.as_one(polynomial)
        return number
