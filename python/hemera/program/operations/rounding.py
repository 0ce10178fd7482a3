"""Rounding of plain arrays that CKKS encodes: known errors, as the arrays are known."""

from __future__ import annotations

import functools
import math

import numpy as np

from hemera.objects.context import Context
from hemera.parameters import Parameters
from hemera.program.values import Array

MOST_ROUNDED = 1 << 12
"""The most numbers of an operation whose rounding is computed; that of more is taken as independent."""


@functools.lru_cache(maxsize=256)
def factor_scale(params: Parameters, level: int) -> float:
    """The scale of arrays that values of a level are multiplied by: after the rescale these have the scale of
    the next one."""
    scale_of = Context(params, "ledger", threads=1)._native.level_scale
    divisor = math.prod(params.primes[level]) / math.prod(params.primes[level - 1])
    return float(scale_of(level - 1) * divisor / scale_of(level))


@functools.lru_cache(maxsize=32)
def _powers_of_roots(slots: int) -> Array:
    """The power of a primitive root of unity of order 4 * slots at which each slot is the value."""
    return np.array([pow(5, at, 4 * slots) for at in range(slots)])


def rounding_errors(arrays: Array, scale: float) -> Array:
    """The errors of slots of encoded arrays.

    Args:
        arrays: shape (..., slots); of one slot for a number in all slots.
        scale: coefficients are rounded to multiples of 1 / scale.
    """
    slots = arrays.shape[-1]
    places = _powers_of_roots(slots)
    at_roots = np.zeros((*arrays.shape[:-1], 4 * slots), np.complex128)
    at_roots[..., places], at_roots[..., -places] = arrays, np.conj(arrays)
    coefficients = np.fft.fft(at_roots)[..., : 2 * slots].real / (2 * slots) * scale
    errors = np.fft.ifft(np.rint(coefficients) - coefficients, 4 * slots) * (4 * slots) / scale
    found: Array = errors[..., places]
    return found if np.iscomplexobj(arrays) else found.real
