"""Polynomials of encrypted values, and those near a function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from hemera import _core
from hemera.circuits.functions import Function, Interval, Values
from hemera.inputs.plain import plain_array

Basis = Literal["power", "chebyshev"]


class Polynomial(Function):
    """One or more polynomials of one input.

    Args:
        coefficients: real or complex numbers, the lowest power first (as in `numpy.polynomial`), of shape
            (powers,), or (count, powers) for `count` polynomials of the same input. Several polynomials share
            their powers, and their results get a first axis of that extent. With `per_slot` one more axis:
            the slots.
        basis: "power": powers of x; "chebyshev": T_k(t), where t in [-1, 1] is x mapped from the interval.
        interval: the interval of x; None: (-1, 1).
        per_slot: whether the last axis of the coefficients is that of the slots (a power of two).

    The depth is ceil(log2(powers)), and one more if the interval of the Chebyshev basis is much wider or
    narrower than (-1, 1).

    Raises:
        ParameterError: if the coefficients have another shape or are not finite, or the interval is empty.
    """

    def __init__(
        self,
        coefficients: ArrayLike,
        *,
        basis: Basis = "power",
        interval: Interval | None = None,
        per_slot: bool = False,
        error: float = 0,
        name: str | None = None,
    ) -> None:
        given = plain_array(coefficients, "coefficients")
        axes = given.ndim - per_slot
        if axes not in (1, 2) or given.size == 0 or given.dtype.kind not in "biufc":
            raise _core.ParameterError(
                f"coefficients of shape {given.shape} and {given.dtype}: numbers of shape (powers,) or "
                f"(count, powers) are needed{', and one more axis of slots' if per_slot else ''}"
            )
        if basis not in ("power", "chebyshev"):
            raise _core.ParameterError(f"basis must be 'power' or 'chebyshev', not {basis!r}")
        low, high = (-1.0, 1.0) if interval is None else interval
        count = given.shape[0] if axes == 2 else 1
        width = given.shape[-1] if per_slot else 1
        rows = np.ascontiguousarray(given, dtype=np.complex128).reshape(count, -1, width)
        native = _core.polynomial(rows, basis == "chebyshev", low, high, error)
        super().__init__(native, name or f"polynomial of degree {rows.shape[1] - 1}", stacked=axes == 2)
        self._coefficients: Values = given.copy()
        self._coefficients.flags.writeable = False
        self._basis = basis

    @property
    def coefficients(self) -> Values:
        """The given coefficients, the lowest power first; read-only."""
        return self._coefficients

    @property
    def basis(self) -> Basis:
        """The basis of the coefficients."""
        return self._basis

    @property
    def interval(self) -> Interval:
        """The interval of the input."""
        return self.intervals[0]


def approximate(
    f: Callable[[float], float],
    interval: Interval,
    degree: int,
    *,
    fit: Literal["minimax", "interpolation"] = "minimax",
) -> Polynomial:
    """A polynomial near a real function on an interval, in the Chebyshev basis.

        p = hm.approximate(np.tanh, (-4, 4), 15)
        p.error  # the largest |tanh(x) - p(x)|
        p(x)     # of a ciphertext, an array or a number

    Args:
        f: takes and returns a float.
        degree: up to 1023. The highest degree of a depth is 2^k - 1.
        fit: "minimax": least maximum error (Remez' exchange); "interpolation": exact at the Chebyshev nodes.

    Returns:
        A `hemera.circuits.Polynomial`. Its `error` is the largest one at 32 (degree + 1) points or more, plus
        a
        thousandth: a bound for functions that are smooth on that scale.

    Raises:
        ParameterError: if f is not finite, the interval is empty, or the degree is out of range.

    Examples:
        >>> p = hm.approximate(np.tanh, (-4, 4), 15)
        >>> p.depth, p.error < 0.002
        (5, True)
    """
    if fit not in ("minimax", "interpolation"):
        raise _core.ParameterError(f"fit must be 'minimax' or 'interpolation', not {fit!r}")
    if degree < 0:
        raise _core.ParameterError(f"the degree must not be negative, as {degree} is")
    low, high = interval
    coefficients, error = _core.approximate(lambda x: float(f(x)), low, high, degree, fit == "minimax")
    name = f"approximation of degree {degree} of {getattr(f, '__name__', 'a function')}"
    return Polynomial(coefficients, basis="chebyshev", interval=(low, high), error=error, name=name)


def tolerance_of(bits: float) -> float:
    """2^-bits. ParameterError where that is no number above 0."""
    try:
        tolerance = math.pow(2, -bits)
    except OverflowError:
        tolerance = math.inf
    if not 0 < tolerance < math.inf:
        raise _core.ParameterError(f"a function to {bits:g} bits, which are no error that it may have")
    return tolerance
