"""Whether a compiled program gives what the user's function gives, on samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.tensor import TensorProgram
from hemera.compiler.result_errors import listed, magnitude
from hemera.errors import MismatchError
from hemera.package.encodings.watching import rows_text

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
    """How many values were outside of the range that an operation is compiled for, by operation. Their
    results are wrong where functions are approximated."""
    relative: float
    """The largest difference, in the clear or encrypted, of a result relative to its own largest value."""
    exact: bool = False
    """Whether the program is on whole numbers, without errors."""
    rows_outside: tuple[int, ...] = ()
    """The numbers of the samples that have such values."""

    @property
    def bits(self) -> float:
        """-log2 of the largest difference, of each result relative to its own largest value."""
        return _bits(self.relative)

    @property
    def _words(self) -> str:
        """The words for no difference."""
        return "exactly equal" if self.exact else "no difference beyond rounding"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        from hemera import _html

        facts = {
            "samples": self.samples,
            "of them encrypted": self.encrypted,
            "largest result": self.largest,
            "largest error in the clear": self.clear_error,
            "largest error encrypted": None if math.isnan(self.error) else self.error,
            "bits": self._words if self.bits == math.inf else self.bits,
            **{f"values outside of the range of {where}": count for where, count in self.outside.items()},
        }
        return _html.table("Compiled program and function", facts)

    def __str__(self) -> str:
        lines = [
            f"{self.samples} sample{'s' * (self.samples != 1)}, {self.encrypted} of them encrypted: "
            + (self._words if self.bits == math.inf else f"{self.bits:.1f} bits"),
            f"largest result {self.largest:.4g}; error {self.clear_error:.2g} in the clear"
            + ("" if math.isnan(self.error) else f", {self.error:.2g} encrypted"),
        ]
        lines += [f"{count} values outside of the range of {where}" for where, count in self.outside.items()]
        if self.rows_outside:
            outside = np.isin(np.arange(self.samples), self.rows_outside)
            lines.append(f"they are of {rows_text(outside)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Agreement: {'; '.join(str(self).splitlines())}>"


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
    rows = np.zeros(len(samples[0]), np.bool_)
    for at, beyond in enumerate(_outside(program, values)):
        if beyond.any():
            where = program.nodes[at].where or "an input"
            outside[where] = outside.get(where, 0) + int(np.count_nonzero(beyond))
            rows |= beyond.reshape(len(rows), -1).any(axis=1)
    expected = (listed(function(*one)) for one in zip(*samples, strict=True))
    clear = ([values[number][at] for _, number in program.outputs] for at in range(len(samples[0])))
    found = compared(expected, clear, run, samples, encrypted, outside)
    return replace(found, rows_outside=tuple(np.flatnonzero(rows).tolist()))


def _outside(program: TensorProgram, values: Sequence[Values]) -> list[NDArray[np.bool_]]:
    """The values of each node that are outside of its range, or of a function's interval that takes them."""

    def beyond(each: Values, ends: tuple[float, float]) -> NDArray[np.bool_]:
        low, high = ends
        slack = _ROUNDING * max(abs(low), abs(high))
        found: NDArray[np.bool_] = (each < low - slack) | (each > high + slack)
        return found

    found = [beyond(each, node.range) for node, each in zip(program.nodes, values, strict=True)]
    for node in program.nodes:
        for at, ends in zip(node.operands, node.operation.intervals, strict=False):
            found[at] |= beyond(values[at], ends)
    return found


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
    whole = ([each.astype(object) for each in listed(function(*one))] for one in zip(*samples, strict=True))
    found = (listed(clear(*one)) for one in zip(*samples, strict=True))
    return compared(whole, found, run, samples, encrypted, {}, exact=True)


def expected_bits(
    function: Callable[..., Any], noisy: Callable[..., Any], samples: Sequence[Values]
) -> float:
    """-log2 of the error that a noisy run is expected to have, of the result that has the fewest bits,
    relative to its own largest value: the root mean square of the worst errors of runs, of the sample where
    it is largest. Each result has at least `_DRAWS` elements in all runs of a sample together.

    Args:
        function: without errors.
        noisy: the same with noise, new at each call.
        samples: for each input, of shape (samples, *shape).
    """
    largest, worst = [], []
    for one in zip(*samples, strict=True):
        wanted = listed(function(*one))
        largest.append([magnitude(each) for each in wanted])
        size = min((each.size for each in wanted), default=0)  # of none: refused with the first difference
        runs = math.ceil(_DRAWS / max(1, size))
        errors = [_differences(wanted, listed(noisy(*one))) for _ in range(runs)]
        worst.append(np.sqrt(np.mean(np.square(errors), axis=0)))
    return _bits(_relative(np.max(worst, axis=0), np.max(largest, axis=0)))


def compared(
    expected: Iterable[list[Values]],
    clear: Iterable[list[Values]],
    run: Callable[..., Any] | None,
    samples: Sequence[Values],
    encrypted: int,
    outside: dict[str, int],
    *,
    exact: bool = False,
) -> Agreement:
    """Results for each sample next to the expected ones: in the clear, and of the first ones encrypted. NaN
    is equal to NaN."""
    largest: Any = 0.0
    clear_error: Any = 0.0
    error: Any = None
    for at, (wanted, found) in enumerate(zip(expected, clear, strict=True)):
        largest = np.maximum(largest, [magnitude(each) for each in wanted])
        clear_error = np.maximum(clear_error, _differences(wanted, found))
        if run is not None and at < encrypted:
            result = _differences(wanted, listed(run(*(each[at] for each in samples))))
            error = result if error is None else np.maximum(error, result)
    count = len(samples[0])
    worst = clear_error if error is None else np.maximum(clear_error, error)
    return Agreement(
        count,
        min(count, encrypted) if run else 0,
        float(np.max(largest)),
        float(np.max(clear_error)),
        math.nan if error is None else float(np.max(error)),
        outside,
        _relative(worst, largest),
        exact,
    )


def _differences(a: Sequence[Values], b: Sequence[Values]) -> list[float]:
    """The largest one of each result; infinity where one number alone is NaN. MismatchError where a function
    gives other arrays for plain ones."""
    if [each.shape for each in a] != [each.shape for each in b]:
        raise MismatchError("the function gives other shapes for plain arrays than it was compiled with")
    pairs = [(_numbers(x), _numbers(y)) for x, y in zip(a, b, strict=True)]
    is_wrong = [((x != x) != (y != y)).any() for x, y in pairs]
    return [math.inf if wrong else magnitude(x - y) for wrong, (x, y) in zip(is_wrong, pairs, strict=True)]


def _numbers(values: Values) -> Values:
    """Truth values as 0 and 1, which have differences."""
    return values.astype(np.int64) if values.dtype.kind == "b" else values


def _relative(errors: Any, largest: Any) -> float:
    """The largest error relative to the size of its result."""
    sizes = np.asarray(largest, np.float64)
    return float((np.asarray(errors) / np.where(sizes == 0, 1.0, sizes)).max())


def _bits(relative: float) -> float:
    return math.inf if relative == 0 else -math.log2(relative)
