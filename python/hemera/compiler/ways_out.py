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
from hemera.arrays.recorder import NoStepError
from hemera.compiler import compiling
from hemera.compiler.attempts import telling
from hemera.compiler.options import Options
from hemera.compiler.specs import ArraySpec
from hemera.compiler.tables import ColumnSpec, TableSpec, compile_table
from hemera.errors import Error, LevelError, PrecisionError, RangeError

_SECONDS = 10.0
"""For all tries together; one that has begun ends at its next report of progress."""
_PARTS, _PARTS_OF_ROOTS = (10, 7, 4), (8, 5)
"""Numbers that are added are 2^-part of the largest value; below roots its square, which takes levels."""
_RANGES = (1 / 64, 1 / 16, 1 / 4)
"""Parts of a range that are left out at its lower end."""
_STEPS = (0.01, 0.1, 1)
_LEAST_BITS = 4
_SAMPLES = 64


class _TimeIsUpError(Exception):
    pass


def compile_with_ways_out(make: Callable[..., Any], what: Any, *inputs: Any, **options: Any) -> Any:
    """`make(what, *inputs, **options)` of a front, whose refusals of ranges, bits, levels and comparisons of
    real numbers tell ways out that were tried: those that the front has, by the kinds of its inputs."""
    try:
        return make(what, *inputs, **options)
    except (RangeError, PrecisionError, LevelError, NoStepError) as error:
        if options.get("scheme") not in (None, "ckks"):
            raise
        found = _found(error, make, what, inputs, options)
        if found:
            error.args = (f"{str(error).rstrip('.')}. These were tried, and compile: {'; '.join(found)}",)
        raise


def _found(
    error: Exception, make: Callable[..., Any], what: Any, inputs: tuple[Any, ...], options: dict[str, Any]
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
                make(what, *changed, **{**options, **more})
        except (Error, TypeError, ValueError, ZeroDivisionError):
            return False
        return True

    found = list[str]()
    with telling(on_time), suppress(_TimeIsUpError):
        # Lines of networks and estimators are those that compile them.
        of_lines = (_numbers,) if make in (compiling.compile, compile_table) else ()
        for kind in (_steps, _samples, _bits, *of_lines, _ranges):
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


def _numbers(error: Exception, inputs: tuple[Any, ...], _options: dict[str, Any]) -> Iterator[Change]:
    places = error.places if isinstance(error, (NearZeroError, NearZeroPrecisionError)) else ()
    if any(each.is_in_midst and each.name == "reciprocal" for each in places):
        return
    parts: Sequence[int] = _PARTS_OF_ROOTS if any(each.name == "sqrt" for each in places) else _PARTS
    if any(each.is_in_midst for each in places):
        parts = parts[-1:]  # maxima take levels, and time
    for part in parts if places else ():
        added = {(each.name, each.where): _number(each, part) for each in places}
        told = [_added_text(each, added[each.name, each.where]) for each in places]
        yield " and ".join(dict.fromkeys(told)), added, inputs, {}


def _number(place: Place, part: int) -> float:
    """A number of one digit, by which values are above 0."""
    size = 2.0 ** -(part * (2 if place.name == "sqrt" else 1)) * place.high
    number = size + (0.0 if place.is_in_midst else max(0.0, -place.low))
    digits = 10.0 ** math.floor(math.log10(size)) if size > 0 else 1.0
    return math.ceil(number / digits) * digits


def _added_text(place: Place, number: float) -> str:
    told = f"{float(f'{number:.6g}'):g}"
    if place.is_in_midst:
        return f"np.{place.name}(np.maximum(x, 0) + {told}) in {place.where}"
    if place.name == "reciprocal":
        return f"{told} added to the divisor in {place.where}, as in y / (x + {told})"
    if place.name == "log":
        return f"{told} added in {place.where}, as in np.log(x + {told})"
    where = f"added below the root in {place.where}"
    return f"{told} {where}, as in np.sqrt(x + {told}), or np.sqrt(x.var() + {told})"


def _steps(error: Exception, inputs: tuple[Any, ...], _options: dict[str, Any]) -> Iterator[Change]:
    if not isinstance(error, NoStepError):
        return
    table = next((each for each in inputs if isinstance(each, TableSpec)), None)
    specs = inputs if table is None else table.columns
    real = [x for x in specs if not isinstance(x, ArraySpec | ColumnSpec) or x.step is None]
    for step in _STEPS if all(getattr(x, "range", None) for x in real) else ():
        if not all(high - low >= 2 * step for low, high in map(_ends, real)):
            continue
        changed = tuple(replace(x, step=step) if x in real else x for x in specs)
        if table is None:
            yield f"step={step:g}, where values are multiples of it", {}, changed, {}
        else:
            told = f"steps={ {x.name: step for x in real} }, where values are multiples of them"
            yield told, {}, (replace(table, columns=changed),), {}


def _samples(error: Exception, inputs: tuple[Any, ...], options: dict[str, Any]) -> Iterator[Change]:
    if options.get("calibrate") is not None or isinstance(error, NoStepError):
        return
    random, drawn, what = np.random.default_rng(0), list[Any](), "samples like uniform ones"
    if _have_ranges(inputs):
        drawn = [random.uniform(*_ends(x), (_SAMPLES, *x.shape)) for x in inputs]
    elif inputs and isinstance(inputs[0], TableSpec):
        drawn, what = [inputs[0].drawn(random) for _ in range(_SAMPLES)], "tables like uniform draws"
    if drawn:
        yield f"calibrate= of {what} from these ranges", {}, inputs, {"calibrate": drawn}


def _ranges(error: Exception, inputs: tuple[Any, ...], options: dict[str, Any]) -> Iterator[Change]:
    is_known = _have_ranges(inputs) and options.get("calibrate") is None
    for part in _RANGES if is_known and not isinstance(error, NoStepError) else ():
        ends = [(float(f"{low + part * (high - low):.3g}"), high) for low, high in map(_ends, inputs)]
        narrower = tuple(replace(x, range=own) for x, own in zip(inputs, ends, strict=True))
        told = " and ".join(f"range=({low:g}, {high:g})" for low, high in ends)
        yield told, {}, narrower, {}


def _have_ranges(inputs: tuple[Any, ...]) -> bool:
    """Whether inputs are arrays of any numbers in a range."""
    known = [isinstance(x, ArraySpec) and x.range is not None and x.step is None for x in inputs]
    return bool(known) and all(known)


def _ends(spec: Any) -> tuple[float, float]:
    low, high = spec.range
    return low, high


def _bits(error: Exception, inputs: tuple[Any, ...], options: dict[str, Any]) -> Iterator[Change]:
    if not isinstance(error, (PrecisionError, LevelError)):
        return
    asked = options.get("precision_bits") or Options.precision_bits
    for bits in range(_LEAST_BITS, math.ceil(asked)):
        yield f"precision_bits={bits}", {}, inputs, {"precision_bits": bits}
