"""The bootstraps that take digits to exponentials: of whole ciphertexts, or of few slots."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import pi, sqrt
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.circuits import Bootstrap
from hemera.ckks import Parameters
from hemera.integers.layout import BASE, DIGIT_BITS, Layout

_made: WeakValueDictionary[tuple[Parameters, int, bool], Bootstrap] = WeakValueDictionary()
"""Plans by their parameters, slots and whether these are real: one for all contexts that are alive."""
_deviations: WeakKeyDictionary[Bootstrap, tuple[float, float]] = WeakKeyDictionary()
_LARGEST_SAMPLE = 2.0**14
"""The largest of the values at which the part of an error that grows with them is read off the model."""
_LEAST_SAMPLES = 4096


def refreshes(params: Parameters, values: int | None, digits: int) -> tuple[Layout, Bootstrap, Bootstrap]:
    """The layout of `values` integers of `digits` digits in a ciphertext, and the bootstraps of two vectors
    together and of one: the same where each vector has its own.

    Args:
        values: None: as many as a ciphertext has slots for.

    Raises:
        ParameterError: if they are no power of two or do not fit, or the parameters have no bootstraps to
            exponentials modulo 256.
    """
    blocks = _plan(params, 2, True).blocks
    most = params.max_slots // (blocks or 1) // digits
    if values is None and blocks:
        raise _core.ParameterError(
            f"integers of {DIGIT_BITS * digits} bits in few slots: a ciphertext of these parameters holds up "
            f"to {most}; say how many, Context(values=): the fewer, the less time and keys they take"
        )
    if values is not None and not (1 <= values <= most and values & (values - 1) == 0):
        raise _core.ParameterError(
            f"values={values}: a ciphertext of these parameters holds a power of two of integers of "
            f"{DIGIT_BITS * digits} bits, up to {most}"
        )
    layout = Layout(params.max_slots if values is None else values * digits, digits)
    with ThreadPoolExecutor(2) as threads:
        found = threads.map(
            lambda real: _plan(params, layout.slots, real), (True,) if blocks else (True, False)
        )
        one, *whole = found
    if not one.exponential or round(one.ratio) != BASE**2:
        raise _core.ParameterError(
            'integers need a preset whose bootstraps give exponentials, as "n16-exact" and "n16-exact-few", '
            f"not {params!r}"
        )
    return layout, (one if blocks else whole[0]), one


def _plan(params: Parameters, slots: int, real: bool) -> Bootstrap:
    plan = _made.get((params, slots, real)) or Bootstrap(params, slots=slots, real=real)
    _made[params, slots, real] = plan
    return plan


def deviations(plan: Bootstrap) -> tuple[float, float]:
    """The deviation of t in exp(2 pi i t) after a refresh of numbers about 0, and what others add to it, of
    their size: simulated, a third of a second at N = 2^16."""
    if plan not in _deviations:
        shape = max(1, _LEAST_SAMPLES // plan.slots), plan.slots
        zeros, sample = np.zeros(shape), np.random.default_rng(1).uniform(0, _LARGEST_SAMPLE, shape)
        with ThreadPoolExecutor(2) as threads:
            least, whole = threads.map(lambda values: _deviation(plan, values), (zeros, sample))
        _deviations[plan] = least, sqrt(max(whole**2 - least**2, 0.0) / float((sample**2).mean()))
    return _deviations[plan]


def _deviation(plan: Bootstrap, values: NDArray[np.float64]) -> float:
    exact = np.exp(2j * np.pi * values / plan.ratio)
    rows = values if plan.real else values * (1 + 1j)
    found = np.stack([plan.simulate(row, seed=1 + i) for i, row in enumerate(rows)], axis=-2)
    return float(np.sqrt((np.abs(found - exact) ** 2).mean())) / (2 * pi)
