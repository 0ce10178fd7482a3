"""What approximated functions of single elements stand for, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["FORMULAS", "Formula"]

Formula = Callable[..., Any]
"""Of one or two arrays, element by element."""

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))  # no overflow on either side
    return np.where(np.asarray(x) < 0, small, 1.0) / (1 + small)


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + _erf(np.asarray(x) / math.sqrt(2)))


FORMULAS: dict[str, Formula] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "gelu": _gelu,
    "reciprocal": np.reciprocal,
}
"""By the names of `hemera.arrays.elementwise.named`."""
