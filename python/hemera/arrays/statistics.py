"""Deviations, norms, covariances and correlations of encrypted arrays."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from hemera.arrays.contraction import matmul
from hemera.arrays.elementwise import absolute, named, reciprocal
from hemera.arrays.order import most
from hemera.arrays.recorded import A, Axis, axes_of, moved, of_kind, rearranged
from hemera.arrays.sums import mean, total, variance
from hemera.errors import MismatchError, ParameterError

__all__ = ["correlations", "covariances", "deviation", "norm"]


def deviation(x: A, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> A:
    """The square root of the variance."""
    return named(variance(x, axis, ddof=ddof, keepdims=keepdims), "sqrt")


def norm(x: A, ord: Any = None, axis: Any = None, keepdims: bool = False) -> A:  # noqa: A002
    """`numpy.linalg.norm` of vectors with ord None, 1, 2 or inf, and of matrices with None or "fro".

    Raises:
        ParameterError: for others.
    """
    axes = axes_of(axis, x.ndim)
    is_plain = ord is None and (axis is None or len(axes) < 3)
    if is_plain or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return named(total(x.square(), axis, keepdims=keepdims), "sqrt")
    if len(axes) == 1 and ord in (1, np.inf):
        return of_kind((total if ord == 1 else most)(absolute(x), axis, keepdims=keepdims), "f")
    raise ParameterError(f"the norm of order {ord!r} over {len(axes)} axes is not there: see docs/compile.md")


def covariances(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None) -> Any:
    """`numpy.cov` of variables and observations, without weights.

    Raises:
        ParameterError: for more than two axes, and a divisor that is not positive.
    """
    rows = _variables(m, y, rowvar)
    count = rows.shape[1]
    divisor = count - (ddof if ddof is not None else 0 if bias else 1)
    if divisor <= 0:
        raise ParameterError(
            f"np.cov of {count} observations, with ddof={count - divisor}: give more of them"
        )
    apart = rows - mean(rows, 1, keepdims=True)
    found = matmul(apart, rearranged(apart, np.transpose)) * (1 / divisor)
    return rearranged(found, np.squeeze)


def _variables(m: Any, y: Any, rowvar: bool) -> Any:
    """A row for each variable. ParameterError for more axes, MismatchError for other observations."""
    given = [m] if y is None else [m, y]
    if any(len(np.shape(each)) > 2 for each in given):
        raise ParameterError("cov and corrcoef take arrays of at most two axes: variables and observations")

    def rows(at: int, values: Any) -> Any:
        # As NumPy since 2.2: one row of `m` is turned, and of `y` it is not.
        is_turned = not rowvar and values.ndim == 2 and (at == 0 or len(values) > 1)
        return values.T if is_turned else np.atleast_2d(values)

    counts = {rows(at, np.empty(np.shape(each))).shape[1] for at, each in enumerate(given)}
    if len(counts) > 1:
        raise MismatchError(f"variables of {' and '.join(map(str, sorted(counts)))} observations do not fit")
    return moved(given, lambda *parts: np.concatenate([rows(at, each) for at, each in enumerate(parts)]))


def correlations(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """`numpy.corrcoef`, by the inverse deviation of each variable.

    Raises:
        RangeError: where a variance can be 0, by the inputs' range or samples.
    """
    rows = _variables(x, y, rowvar)
    apart = rows - mean(rows, 1, keepdims=True)
    scaled = apart * reciprocal(named(variance(rows, 1, keepdims=True), "sqrt"))
    found = matmul(scaled, moved([scaled], np.transpose)) * (1 / rows.shape[1])
    return cast("Any", rearranged(found, np.squeeze))
