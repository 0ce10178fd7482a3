"""Ways out of refusals: changes of inputs, bits or lines with which a program compiles, tried before they are
told."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from hemera.arrays.near_zero import NearZeroError, NearZeroPrecisionError, Place, adding
from hemera.compiler import compiling
from hemera.compiler.attempts import telling
from hemera.compiler.compiled import Compiled
from hemera.compiler.options import Options
from hemera.compiler.specs import ArraySpec
from hemera.errors import Error, LevelError, PrecisionError, RangeError

_SECONDS = 10.0
"""For all tries together; one that has begun ends at its next report of progress."""
_PARTS, _PARTS_OF_ROOTS = (10, 7, 4), (8, 5)
"""Numbers that are added are 2^-part of the largest value; below roots its square, which takes levels."""
_LOWEST = 2.0**-6
"""The part of the largest value by which errors may take values of one sign beyond 0."""
_RANGES = (1 / 64, 1 / 16, 1 / 4)
"""Parts of a range that are left out at its lower end."""
_LEAST_BITS = 4
_SAMPLES = 64


class _TimeIsUpError(Exception):
    pass


def compile_function(what: Callable[..., Any], *inputs: Any, **options: Any) -> Compiled:
    """`hemera.compiler.compiling.compile`, whose refusals of ranges, bits and levels tell ways out that were
    tried. Arguments and errors are the same."""
    try:
        return compiling.compile(what, *inputs, **options)
    except (RangeError, PrecisionError, LevelError) as error:
        if options.get("scheme") not in (None, "ckks"):
            raise
        found = _found(error, what, inputs, options)
        if found:
            error.args = (f"{str(error).rstrip('.')}. These were tried, and compile: {'; '.join(found)}",)
        raise


def _found(
    error: Error, what: Callable[..., Any], inputs: tuple[Any, ...], options: dict[str, Any]
) -> list[str]:
    """One way out of each kind that there is."""
    end = time.monotonic() + _SECONDS

    def on_time(*_: object) -> None:
        if time.monotonic() > end:
            raise _TimeIsUpError

    def works(change: Change) -> bool:
        _, numbers, changed, more = change
        try:
            with adding(numbers) if numbers else nullcontext():
                compiling.compile(what, *changed, **{**options, **more})
        except (Error, TypeError, ValueError, ZeroDivisionError):
            return False
        return True

    found = list[str]()
    with telling(on_time), suppress(_TimeIsUpError):
        for kind in (_samples, _bits, _numbers, _ranges):
            changes = kind(error, inputs, options)
            if kind is _bits:
                _add_most_bits(found, list(changes), works)
            else:
                found += [change[0] for change in itertools.islice(filter(works, changes), 1)]
    return found


def _add_most_bits(found: list[str], changes: Sequence[Change], works: Callable[[Change], bool]) -> None:
    """Add the last change that works, of which those before a last one do: by bisection."""
    low, high, place = 0, len(changes), len(found)
    while low < high:
        middle = (low + high) // 2
        if works(changes[middle]):
            low, found[place:] = middle + 1, [changes[middle][0]]
        else:
            high = middle


Change = tuple[str, dict[tuple[str, str], float], tuple[Any, ...], dict[str, Any]]
"""A title, numbers that are added in lines, the inputs, and options that differ."""


def _numbers(error: Error, inputs: tuple[Any, ...], _options: dict[str, Any]) -> Iterator[Change]:
    places = error.places if isinstance(error, (NearZeroError, NearZeroPrecisionError)) else ()
    if any(each.low < -_LOWEST * each.high for each in places):
        return  # 0 is in the midst of the range
    are_roots = any(each.name == "sqrt" for each in places)
    for part in (_PARTS_OF_ROOTS if are_roots else _PARTS) if places else ():
        added = {(each.name, each.where): _number(each, part) for each in places}
        told = [_added_text(each, added[each.name, each.where]) for each in places]
        yield " and ".join(dict.fromkeys(told)), added, inputs, {}


def _number(place: Place, part: int) -> float:
    """A number of one digit, by which values are above 0."""
    size = 2.0 ** -(part * (2 if place.name == "sqrt" else 1)) * place.high
    number = size + max(0.0, -place.low)
    digits = 10.0 ** math.floor(math.log10(size)) if size > 0 else 1.0
    return math.ceil(number / digits) * digits


def _added_text(place: Place, number: float) -> str:
    told = f"{float(f'{number:.6g}'):g}"
    if place.name == "reciprocal":
        return f"{told} added to the divisor in {place.where}, as in y / (x + {told})"
    if place.name == "log":
        return f"{told} added in {place.where}, as in np.log(x + {told})"
    where = f"added below the root in {place.where}"
    return f"{told} {where}, as in np.sqrt(x + {told}), or np.sqrt(x.var() + {told})"


def _samples(_error: Error, inputs: tuple[Any, ...], options: dict[str, Any]) -> Iterator[Change]:
    if options.get("calibrate") is None and _have_ranges(inputs):
        random = np.random.default_rng(0)
        given = [(*each.range, each.shape) for each in inputs]
        drawn = [random.uniform(low, high, (_SAMPLES, *shape)) for low, high, shape in given]
        yield "calibrate= of samples like uniform ones from these ranges", {}, inputs, {"calibrate": drawn}


def _ranges(_error: Error, inputs: tuple[Any, ...], options: dict[str, Any]) -> Iterator[Change]:
    if options.get("calibrate") is None and _have_ranges(inputs):
        for part in _RANGES:
            ends = [
                (float(f"{low + part * (high - low):.3g}"), high) for low, high in (x.range for x in inputs)
            ]
            narrower = tuple(replace(x, range=own) for x, own in zip(inputs, ends, strict=True))
            told = " and ".join(f"range=({low:g}, {high:g})" for low, high in ends)
            yield told, {}, narrower, {}


def _have_ranges(inputs: tuple[Any, ...]) -> bool:
    return all(isinstance(x, ArraySpec) and x.range is not None and x.step is None for x in inputs)


def _bits(error: Error, inputs: tuple[Any, ...], options: dict[str, Any]) -> Iterator[Change]:
    if not isinstance(error, (PrecisionError, LevelError)):
        return
    asked = options.get("precision_bits") or Options.precision_bits
    for bits in range(_LEAST_BITS, math.ceil(asked)):
        yield f"precision_bits={bits}", {}, inputs, {"precision_bits": bits}
