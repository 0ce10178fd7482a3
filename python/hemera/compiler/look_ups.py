"""Look-ups in tables, with BFV and BGV: polynomials modulo a prime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.program.tracing import Symbol, recorder_of

Numbers = NDArray[Any]
"""Python's integers, as objects."""


def interpolated(values: NDArray[np.int64], step: int, modulus: int) -> Numbers:
    """Polynomials modulo a prime through the points (step * k, values[k]), by Newton's formula.

    Args:
        values: of shape (points, kinds).

    Returns:
        Coefficients of shape (points, kinds), the lowest power first, from -(t-1)/2 to (t-1)/2.
    """
    table = values.astype(object)
    for order in range(1, len(table)):  # divided differences, of points that are `step` apart
        table[order:] = (table[order:] - table[order - 1 : -1]) * pow(order * step, -1, modulus) % modulus
    found = np.zeros_like(table)
    for at in reversed(range(len(table))):  # Horner's scheme: times x - step * at
        found = (np.concatenate((table[at : at + 1], found[:-1])) - at * step * found) % modulus
    return centred(found, modulus)


def centred(values: Numbers, modulus: int) -> Numbers:
    """Whole numbers modulo a prime, from -(t-1)/2 to (t-1)/2."""
    half = modulus // 2
    return np.asarray((values + half) % modulus - half)


class Powers:
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


def polynomial(powers: Powers, coefficients: Sequence[Any]) -> Symbol:
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
    """Products of values, for `count` coefficients and a number of baby steps."""
    if count <= baby:
        return max(0, count - 2)
    blocks = -(-count // baby)
    giants = (blocks - 1).bit_length()
    return baby - 2 + giants + blocks - 1


def _recursive(powers: Powers, coefficients: Sequence[Any], baby: int) -> tuple[Symbol | None, Any]:
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
