"""Exact formulas of the approximated functions of single elements, in float64. None overflows or cancels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["FORMULAS", "Formula"]

Formula = Callable[..., Any]
"""A function of one or two arrays, element by element."""

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))  # no overflow on either side
    return np.where(np.asarray(x) < 0, small, 1.0) / (1 + small)


def _gelu(x: Any) -> Any:
    return x / 2 * _erfc(-np.asarray(x) / math.sqrt(2))


def _silu(x: Any) -> Any:
    return x * _sigmoid(x)


def _softplus(x: Any) -> Any:
    return np.logaddexp(0.0, x)


FORMULAS: dict[str, Formula] = {
    "erf": _erf,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "gelu": _gelu,
    "silu": _silu,
    "softplus": _softplus,
    "reciprocal": np.reciprocal,
}
"""Formulas by the names of `hemera.arrays.elementwise.named`, and erf."""
