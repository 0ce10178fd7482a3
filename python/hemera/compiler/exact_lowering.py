"""From an exact program on arrays to one on the slots of BFV or BGV: all modulo a prime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.layout import Layout
from hemera.arrays.operations import LookUp
from hemera.arrays.packing import PackedMap
from hemera.arrays.tensor import TensorProgram
from hemera.compiler.lowering import Lowered, Lowering, Value
from hemera.program import operations as op
from hemera.program.operations import Operation
from hemera.program.program import Program
from hemera.program.tracing import Symbol, number_of, recorder_of
from hemera.program.values import SchemeName

__all__ = ["exactly_lowered", "interpolated"]

Numbers = NDArray[Any]
"""Python's integers, as objects."""


def exactly_lowered(
    program: TensorProgram, layouts: tuple[Layout, ...], slots: int, scheme: SchemeName, modulus: int
) -> Lowered:
    """The program on slots, in these layouts.

    Args:
        slots: N, of the two rows together, which hold the same values.
        scheme: "bfv" or "bgv".
        modulus: the prime t.
    """
    lowering = _ExactLowering(program, layouts, slots, scheme, modulus)
    return Lowered(lowering.run(), slots, tuple(lowering.steps), {})


def interpolated(values: NDArray[np.int64], step: int, modulus: int) -> Numbers:
    """Polynomials modulo a prime through the points (step * k, values[k]), by Lagrange's formula.

    Args:
        values: of shape (points, kinds).

    Returns:
        Coefficients of shape (points, kinds), the lowest power first, from -(t-1)/2 to (t-1)/2.
    """
    points = len(values)
    at = [step * k % modulus for k in range(points)]
    # The product of all x - at[k], the lowest power first.
    whole = [1]
    for root in at:
        shifted = [0, *whole]
        whole = [(a - root * b) % modulus for a, b in zip(shifted, [*whole, 0], strict=True)]
    rows = []
    for own in at:
        # Divided by x - own: Horner's scheme from the highest power on.
        quotient = [0] * points
        carried = 0
        for power in reversed(range(points)):
            carried = (whole[power + 1] + own * carried) % modulus
            quotient[power] = carried
        value = 0
        for coefficient in reversed(quotient):
            value = (value * own + coefficient) % modulus
        inverse = pow(value, -1, modulus)
        rows.append([coefficient * inverse % modulus for coefficient in quotient])
    return _centred(np.array(rows, object).T @ values.astype(object), modulus)


def _centred(values: Numbers, modulus: int) -> Numbers:
    half = modulus // 2
    return np.asarray((values + half) % modulus - half)


class _ExactLowering(Lowering):
    def __init__(
        self,
        program: TensorProgram,
        layouts: tuple[Layout, ...],
        slots: int,
        scheme: SchemeName,
        modulus: int,
    ) -> None:
        super().__init__(program, layouts, slots, scheme)
        self._modulus = modulus
        self._powers: dict[int, _Powers] = {}

    def run(self) -> Program:
        # Values that an affine map takes by 0 alone leave operations behind that no output needs.
        return super().run().pruned()

    def _reduced(self, number: float) -> int:
        return int(_centred(np.asarray(int(number), object), self._modulus))

    def _scaled(self, symbol: Symbol, factor: float) -> Symbol:
        reduced = self._reduced(factor)
        return symbol if reduced == 1 else -symbol if reduced == -1 else symbol * reduced

    def _plain(self, values: NDArray[Any]) -> NDArray[Any]:
        return _centred(values.astype(np.int64), self._modulus)

    def _diagonals(self, found: PackedMap) -> Operation:
        return op.RowMap.of(found.numbers.tolist(), self._plain(found.diagonals))

    def look_up(self, at: int, operation: LookUp, /) -> Value:
        source = self._program.nodes[at].operands[0]
        x, layout = self._values[source], self._layouts[at]
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
        powers = self._powers.setdefault(number_of(symbol), _Powers(symbol))
        if shared:
            plain: Sequence[Any] = [int(each) for each in coefficients[:, 0]]
        else:
            is_zero = True  # as the coefficients there are
            kinds = operation.kinds.reshape(layout.shape)
            plain = [layout.pack(row.astype(np.int64)[kinds], self._slots) for row in coefficients]
        found = _polynomial(powers, plain)
        return Value(found) if is_zero else Value(found, -1.0, 1.0)


class _Powers:
    """Powers of a value, each by one product, at the least depth."""

    def __init__(self, x: Symbol) -> None:
        self._found = {1: x}

    def of(self, exponent: int) -> Symbol:
        """The power, from 1 on."""
        if exponent not in self._found:
            high = 1 << ((exponent - 1).bit_length() - 1)
            rest = exponent - high
            self._found[exponent] = self.of(high).square() if rest == high else self.of(high) * self.of(rest)
        return self._found[exponent]

    def linear(self, coefficients: Sequence[Any]) -> Symbol | None:
        """The sum of coefficients times powers, from the first power on; None where all are 0."""
        terms = [(at + 1, each) for at, each in enumerate(coefficients) if np.any(each)]
        if not terms:
            return None
        if isinstance(terms[0][1], np.ndarray):
            arrays = [each for _, each in terms]
            return recorder_of(self._found[1]).dot([self.of(at) for at, _ in terms], arrays)
        total: Symbol | None = None
        for at, each in terms:
            own = self.of(at) if each == 1 else self.of(at) * each
            total = own if total is None else total + own
        return total


def _polynomial(powers: _Powers, coefficients: Sequence[Any]) -> Symbol:
    """A polynomial with numbers, or arrays of slots, as coefficients, the lowest power first, by the method
    of Paterson and Stockmeyer (SIAM J. Comput. 2, 1973) in its recursive form: as few levels as the highest
    power takes."""
    count = max(at + 1 for at, each in enumerate(coefficients) if at == 0 or np.any(each))
    kept = coefficients[:count]
    baby = min((1 << bits for bits in range(1, 8)), key=lambda each: _products(count, each))
    symbol, constant = _recursive(powers, kept, baby)
    assert symbol is not None
    return symbol + constant if np.any(constant) else symbol


def _products(count: int, baby: int) -> int:
    """Products of values, for so many coefficients and a number of baby steps."""
    if count <= baby:
        return max(0, count - 2)
    blocks = -(-count // baby)
    giants = (blocks - 1).bit_length()
    return baby - 2 + giants + blocks - 1


def _recursive(powers: _Powers, coefficients: Sequence[Any], baby: int) -> tuple[Symbol | None, Any]:
    """The polynomial without its constant term, and that term."""
    if len(coefficients) <= baby:
        return powers.linear(coefficients[1:]), coefficients[0]
    half = baby
    while 2 * half < len(coefficients):
        half *= 2
    low, constant = _recursive(powers, coefficients[:half], baby)
    high, factor = _recursive(powers, coefficients[half:], baby)
    if high is None:
        if not np.any(factor):
            return low, constant
        term = powers.of(half) * factor
    else:
        term = (high + factor if np.any(factor) else high) * powers.of(half)
    return (term if low is None else low + term), constant
