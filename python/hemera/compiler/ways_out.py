"""Ways out of refusals: changes of inputs, bits or lines with which a program compiles, tried before they are
told."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
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
"""For all tries together; one that has begun ends where it next tells of its progress."""
_PARTS, _PARTS_OF_ROOTS = (10, 7, 4), (8, 5)
"""Numbers that are added are 2^-part of the largest value; below roots its square, which takes levels."""
_LOWEST = 2.0**-6
"""The part of the largest value by which errors of what has one sign may be beyond 0."""
_RANGES = (1 / 64, 1 / 16, 1 / 4)
"""Parts of a range that are left out at its lower end."""
_FEWER_BITS = (0, 1, 2, 4, 6, 8)
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

    found = list[str]()
    with telling(on_time):
        for kind in (_samples, _bits, _numbers, _ranges):
            for title, numbers, changed, more in kind(error, inputs, options):
                try:
                    with adding(numbers) if numbers else nullcontext():
                        compiling.compile(what, *changed, **{**options, **more})
                except _TimeIsUpError:
                    return found
                except (Error, TypeError, ValueError, ZeroDivisionError):
                    continue
                found.append(title)
                break
    return found


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
    return f"{told} added below the root in {place.where}, as in np.sqrt(x.var() + {told}) for x.std()"


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
    known = getattr(error, "bits", None) or math.nan
    most = min(math.ceil(asked) - 1, math.floor(known) if known >= _LEAST_BITS else math.inf)
    for fewer in _FEWER_BITS:
        if most - fewer >= _LEAST_BITS:
            yield f"precision_bits={most - fewer}", {}, inputs, {"precision_bits": most - fewer}
