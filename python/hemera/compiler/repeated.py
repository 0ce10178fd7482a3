"""Whether a function does the same when it is called again: what is recorded of it once must not depend on
random numbers, counters, clocks, or anything else that changes between calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.facts import MOST_WHOLE
from hemera.arrays.near_zero import adds_numbers
from hemera.arrays.recorded import DTYPES
from hemera.arrays.recorder import Recorder
from hemera.arrays.tensor import TensorProgram
from hemera.compiler.draws import exact_values
from hemera.compiler.result_errors import listed, magnitude
from hemera.compiler.specs import ArraySpec
from hemera.errors import ParameterError

Values = NDArray[Any]

_RELATIVE = {2: 2.0**-6, 4: 2.0**-12, 8: 2.0**-20}
"""Results differ by more than this part of their size, by the bytes of the shortest floats: sums of these
differ less, wherever arrays lie."""
_ROUNDING = 2.0**-36
"""And by more than this part of the largest value in between, for sums that cancel."""
_OWN = f"{__name__.partition('.')[0]}."
"""Where callables are from that are no user's: networks, tables, and arrays that were recorded."""
_AGAIN = "is called again"
_PLAIN = "is called with plain arrays"
_WAYS_OUT = {
    _AGAIN: "A program is recorded once, and keeps what one call had: draw random numbers, count and read "
    "clocks before, and give them to the function as constants or as an input",
    _PLAIN: "A program computes with int64 and float64: integers of fewer bits, which wrap around, need "
    ".astype(int) before. Else the function must do the same with encrypted arrays, and at each call",
}


def require_repeated(
    what: Callable[..., Any],
    specs: Sequence[ArraySpec],
    one: Sequence[Values],
    recorder: Recorder,
    again: Callable[[], Recorder],
    *,
    compares: bool = True,
) -> None:
    """Calls a function twice with plain arrays, and compares its results, also with the recorded program.

    Args:
        specs: of its arguments.
        one: an array for each of them.
        again: records the function once more, where it takes no plain arrays.
        compares: whether its results for plain arrays are those of the program.

    Raises:
        ParameterError: for a function whose results differ.
    """
    if type(what).__module__.startswith(_OWN):
        return
    program = recorder.program
    values = exact_values(program, [each[np.newaxis] for each in one])
    largest = max(map(magnitude, values))
    allowed = _ROUNDING * largest
    recorded = [values[at][0] for _, at in program.outputs]
    first = None if recorder.has_own_methods else _called(what, specs, one)
    if first is None:
        more = again().program
        others = exact_values(more, [each[np.newaxis] for each in one])
        _require_same(program, recorded, [others[at][0] for _, at in more.outputs], allowed, _AGAIN)
        return
    second = _called(what, specs, one)
    _require_same(program, first, second, allowed, _AGAIN)
    # Numbers like 0.3 are no multiples of 0.1 in float64, and integers of NumPy wrap around.
    is_alike = all(own.step is None or float(own.step).is_integer() for own in specs)
    is_alike = is_alike and not (recorder.is_exact and largest >= MOST_WHOLE)
    if compares and is_alike and not adds_numbers():
        _require_same(program, recorded, first, allowed, _PLAIN)


def _called(
    what: Callable[..., Any], specs: Sequence[ArraySpec], one: Sequence[Values]
) -> list[Values] | None:
    """The results for plain arrays of the inputs' kinds; None where the function takes none."""
    given = [np.array(x, own.kind and DTYPES[own.kind]) for x, own in zip(one, specs, strict=True)]
    try:
        with np.errstate(all="ignore"):
            return listed(what(*given))
    except Exception:  # whatever the user's function raises: it is recorded once more
        return None


def _require_same(
    program: TensorProgram,
    wanted: Sequence[Values],
    found: Sequence[Values] | None,
    allowed: float,
    when: str,
) -> None:
    """ParameterError for results that differ, where both are finite."""
    told = f"the function gives other results when it {when}"
    if found is None or [each.shape for each in found] != [each.shape for each in wanted]:
        raise ParameterError(f"{told}. {_WAYS_OUT[when]}")
    for at, (a, b) in enumerate(zip(wanted, found, strict=True)):
        x, y = (np.asarray(each, np.float64) for each in (a, b))
        are_finite = np.isfinite(x) & np.isfinite(y)
        x, y = x[are_finite], y[are_finite]
        shortest = min([8, *(each.itemsize for each in (a, b) if each.dtype.kind == "f")])
        most = _RELATIVE[shortest] * max(magnitude(x), magnitude(y)) + allowed
        apart = np.flatnonzero(np.abs(x - y) > most)
        if len(apart):
            name, node = program.outputs[min(at, len(program.outputs) - 1)]
            raise ParameterError(
                f"{told}: {y[apart[0]]:g} for {x[apart[0]]:g} in result {name!r}{program.nodes[node].line}. "
                f"{_WAYS_OUT[when]}"
            )
