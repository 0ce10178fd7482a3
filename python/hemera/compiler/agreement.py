"""Whether a compiled program gives what the user's function gives, on samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.tensor import TensorProgram
from hemera.errors import MismatchError

__all__ = ["Agreement", "agreement", "exact_agreement", "expected_bits"]

Values = NDArray[Any]

_ROUNDING = 1e-9
"""Part of a range by which values may be outside of it."""
_DRAWS = 16
"""Errors of each result that are drawn, at least: a single one is often close to zero by chance."""


@dataclass(frozen=True)
class Agreement:
    """The results of a compiled program next to those of the user's function."""

    samples: int
    """How many were compared in the clear."""
    encrypted: int
    """How many of them were encrypted, too."""
    largest: float
    """The largest magnitude of the function's results."""
    clear_error: float
    """The largest difference of the compiled program in the clear: of approximations."""
    error: float
    """The largest difference of the encrypted results; NaN where none was encrypted."""
    outside: dict[str, int]
    """By operation, how many values were outside of the range that it is compiled for. Their results are
    wrong where functions are approximated."""

    @property
    def bits(self) -> float:
        """-log2 of the largest difference, relative to the largest result."""
        worst = self.clear_error if math.isnan(self.error) else max(self.error, self.clear_error)
        return math.inf if worst == 0 else -math.log2(worst / (self.largest or 1.0))

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        from hemera import _html

        facts = {
            "samples": self.samples,
            "of them encrypted": self.encrypted,
            "largest result": self.largest,
            "largest error in the clear": self.clear_error,
            "largest error encrypted": None if math.isnan(self.error) else self.error,
            "bits": "exactly equal" if math.isinf(self.bits) else self.bits,
            **{f"values outside of the range of {where}": count for where, count in self.outside.items()},
        }
        return _html.table("Compiled program and function", facts)

    def __str__(self) -> str:
        lines = [
            f"{self.samples} samples, {self.encrypted} of them encrypted: "
            + ("exactly equal" if math.isinf(self.bits) else f"{self.bits:.1f} bits"),
            f"largest result {self.largest:.4g}; error {self.clear_error:.2g} in the clear"
            + ("" if math.isnan(self.error) else f", {self.error:.2g} encrypted"),
        ]
        lines += [f"{count} values outside of the range of {where}" for where, count in self.outside.items()]
        return "\n".join(lines)


def agreement(
    function: Callable[..., Any],
    program: TensorProgram,
    run: Callable[..., Any] | None,
    samples: Sequence[Values],
    encrypted: int,
) -> Agreement:
    """Compares a function, its program in the clear, and `run`, the encrypted one.

    Args:
        samples: for each input, of shape (samples, *shape).
        encrypted: how many of the samples are given to `run`.

    Raises:
        MismatchError: when the function gives another number of results, or other shapes.
    """
    with np.errstate(all="ignore"):
        values = program.values(samples, clip=True)
    outside: dict[str, int] = {}
    for node, each in zip(program.nodes, values, strict=True):
        low, high = node.range
        slack = _ROUNDING * max(abs(low), abs(high))
        beyond = int(np.count_nonzero((each < low - slack) | (each > high + slack)))
        if beyond:
            outside[node.where or "an input"] = outside.get(node.where or "an input", 0) + beyond
    expected = (_listed(function(*one)) for one in zip(*samples, strict=True))
    clear = ([values[number][at] for _, number in program.outputs] for at in range(len(samples[0])))
    return _compared(expected, clear, run, samples, encrypted, outside)


def exact_agreement(
    function: Callable[..., Any],
    clear: Callable[..., Any],
    run: Callable[..., Any] | None,
    samples: Sequence[Values],
    encrypted: int,
) -> Agreement:
    """Compares a function of whole numbers, its program in the clear and encrypted, without any rounding.

    Args:
        clear: the program in the clear.
        run, samples, encrypted: as of `agreement`.

    Raises:
        MismatchError: when the function gives another number of results, or other shapes.
    """
    whole = ([each.astype(object) for each in _listed(function(*one))] for one in zip(*samples, strict=True))
    found = (_listed(clear(*one)) for one in zip(*samples, strict=True))
    return _compared(whole, found, run, samples, encrypted, {})


def expected_bits(
    function: Callable[..., Any], noisy: Callable[..., Any], samples: Sequence[Values]
) -> float:
    """-log2 of the error that a noisy run is expected to have, relative to the largest result: the root mean
    square of the worst errors of runs. Each result has at least `_DRAWS` elements in all runs together.

    Args:
        function: without errors.
        noisy: the same with noise, new at each call.
        samples: for each input, of shape (samples, *shape).
    """
    largest, errors = 0.0, []
    for one in zip(*samples, strict=True):
        wanted = _listed(function(*one))
        largest = max(largest, *(_largest(each) for each in wanted))
        for _ in range(math.ceil(_DRAWS / max(1, min(each.size for each in wanted)))):
            errors.append(_difference(wanted, _listed(noisy(*one))))
    worst = math.sqrt(float(np.mean(np.square(errors))))
    return math.inf if worst == 0 else -math.log2(worst / (largest or 1.0))


def _compared(
    expected: Iterable[list[Values]],
    clear: Iterable[list[Values]],
    run: Callable[..., Any] | None,
    samples: Sequence[Values],
    encrypted: int,
    outside: dict[str, int],
) -> Agreement:
    """Results for each sample next to the expected ones: in the clear, and of the first samples encrypted."""
    largest = clear_error = 0.0
    error = math.nan
    for at, (wanted, found) in enumerate(zip(expected, clear, strict=True)):
        if [each.shape for each in wanted] != [each.shape for each in found]:
            raise MismatchError("the function gives other shapes for plain arrays than it was compiled with")
        largest = max(largest, *(_largest(each) for each in wanted))
        clear_error = max(clear_error, _difference(wanted, found))
        if run is not None and at < encrypted:
            result = _difference(wanted, _listed(run(*(each[at] for each in samples))))
            error = result if math.isnan(error) else max(error, result)
    count = len(samples[0])
    return Agreement(count, min(count, encrypted) if run else 0, largest, clear_error, error, outside)


def _listed(result: Any) -> list[Values]:
    if isinstance(result, dict):
        return [np.asarray(each) for each in result.values()]
    if isinstance(result, (list, tuple)):
        return [np.asarray(each) for each in result]
    return [np.asarray(result)]


def _largest(values: Values) -> float:
    # Of arrays of objects without axes, the magnitude is a plain number.
    return float(np.asarray(np.abs(values)).max(initial=0.0))


def _difference(a: Sequence[Values], b: Sequence[Values]) -> float:
    return max((_largest(x - y) for x, y in zip(a, b, strict=True)), default=0.0)
