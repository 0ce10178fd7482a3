"""Calls of functions with plain and with encrypted arrays, compared: right, refused or wrong."""

from __future__ import annotations

import itertools
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hemera as hm
from hemera.arrays.array import Array
from hemera.arrays.operations import Apply
from hemera.compiler.eager import _Replay
from hemera.errors import MismatchError, ParameterError, RangeError

BITS = 16
TOLERANCE = 2.0**-10
"""The allowed error of approximated results, relative to the largest one, or to 1."""
_PACKAGE = str(Path(hm.__file__).parent)
_TYPED = (MismatchError, ParameterError, RangeError)
_PYTHONS = (TypeError, AttributeError, ZeroDivisionError, np.exceptions.AxisError)
_WAY_OUT = re.compile(r"\(\w+\.py:\d+\)|[;:] \w|\b(takes?|needs?|needed|give|by|to an|goes with)\b")
"""A line of the user's, or words that say what is taken in place of what was given."""
_TYPES = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}


@dataclass(frozen=True)
class Verdict:
    """The end of a call: "right", "refused" by a typed error that names the way out, or "wrong"."""

    found: str
    told: str = ""


def is_real(value):
    """Whether this is an array, or a number of NumPy's, with finite real values."""
    known = type(value) is np.ndarray or isinstance(value, np.generic)
    return known and value.dtype.kind in _TYPES and value.size > 0 and bool(np.isfinite(value).all())


def _is_array(value):
    return type(value) is np.ndarray and is_real(value)


def with_leaves(value, change):
    """An argument with others in place of its arrays of real numbers."""
    if _is_array(value):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)([with_leaves(each, change) for each in value])
    return value


def leaves(value):
    """The arrays of a result or an argument, and what else is in it."""
    for each in value if isinstance(value, (list, tuple)) else [value]:
        yield from leaves(each) if isinstance(each, (list, tuple)) else [each]


def canonical(value):
    """Arrays with one type of each kind: widths are none of encrypted arrays."""
    if isinstance(value, np.generic) and value.dtype.kind in _TYPES:
        return value.astype(_TYPES[value.dtype.kind])
    return with_leaves(value, lambda x: x.astype(_TYPES[x.dtype.kind]))


def encrypted(x):
    """The array as `hm.array` makes it: real numbers have a step where it is plain to see."""
    if x.dtype.kind == "b":
        return hm.array(x, precision_bits=BITS)
    low, high = float(x.min()), float(x.max())
    steps = (step for step in (1, 0.5, 0.25) if not np.remainder(x, step).any())
    step = next(steps, None) if max(abs(low), abs(high)) < 2**20 else None
    return hm.array(x, range=(low, high if high > low else low + 1), step=step, precision_bits=BITS)


def choices(arguments, options):
    """The arguments with encrypted arrays in place of plain ones: in one of them, and in all."""
    given = {**dict(enumerate(arguments)), **options}
    places = [key for key, each in given.items() if any(map(_is_array, leaves(each)))]
    sets = [{key} for key in places] + ([set(places)] if len(places) > 1 else [])
    for chosen in sets:
        yield (
            tuple(with_leaves(x, encrypted) if at in chosen else x for at, x in enumerate(arguments)),
            {name: with_leaves(x, encrypted) if name in chosen else x for name, x in options.items()},
        )


def called(function, arguments, options):
    """The result, or the error that is raised."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*arguments, **options)
        except Exception as error:
            return error


def judged(function, arguments, options, wanted, own=None):
    """The verdicts on a call with a result, or an error, of plain arrays; `own`: on encrypted arrays."""
    try:
        made = list(choices(arguments, options))
    except hm.Error as error:
        yield _compared(error, wanted)
        return
    for ours, our_options in made:
        try:
            yield _compared(called(own or function, ours, our_options), wanted)
        except hm.Error as error:  # of values beside an interval, in the clear
            yield _compared(error, wanted)


def is_refusal(error):
    """Whether an error refuses a call as a user needs it: raised in Hemera, of a type that says what clashed,
    with the way out, or the line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else trace.tb_frame.f_code.co_filename
    ours = isinstance(error, _TYPED) or (isinstance(error, _PYTHONS) and where.startswith(_PACKAGE))
    return ours and _WAY_OUT.search(str(error)) is not None


def _compared(found, wanted):
    if isinstance(found, Exception):
        alike = isinstance(wanted, Exception) and isinstance(found, (*_TYPED, *_PYTHONS, type(wanted)))
        return Verdict(
            "refused" if alike or is_refusal(found) else "wrong", f"{type(found).__name__}: {found}"
        )
    if isinstance(wanted, Exception):
        return Verdict("wrong", f"{found!r} for {type(wanted).__name__}: {wanted}")
    pairs = list(itertools.zip_longest(leaves(found), leaves(wanted)))
    told = next((each for each in itertools.starmap(difference, pairs) if each), "")
    return Verdict("wrong" if told else "right", told)


def difference(own, wanted):
    """How a result differs from the wanted one in shape, kind or values; "" where it does not."""
    plain = np.asarray(wanted)
    kind = plain.dtype.kind
    shape = np.shape(own)
    if shape != plain.shape:
        return f"shape {shape} for {plain.shape}"
    if not isinstance(own, Array):
        same = np.array_equal(own, plain, equal_nan=kind == "f")
        return "" if same and np.asarray(own).dtype.kind == kind else f"{own!r} for {plain!r}"
    if kind not in _TYPES or own.dtype.kind != np.dtype(_TYPES[kind]).kind:
        return f"{own.dtype} for {plain.dtype}"
    replay = _Replay((own,))
    nodes, known, given = own._recorder.program.nodes, dict[int, Any](), iter(replay.given)
    for at in replay._needed:
        xs = [known[each] for each in nodes[at].operands] or [next(given)[np.newaxis]]
        known[at] = nodes[at].operation.clear(xs, nodes[at].shape)
    values = known[own._number][0]
    is_approximated = any(isinstance(nodes[at].operation, Apply) for at in replay._needed)
    size = np.abs(plain.astype(np.float64)).max(initial=1.0)
    size = max(size, *(float(np.abs(each).max()) for each in replay.given)) if replay.given else size
    near = np.allclose(
        values, plain.astype(np.float64), rtol=0, atol=size * (TOLERANCE if is_approximated else 1e-9)
    )
    return "" if near else f"{values.ravel()[:6]} for {plain.ravel()[:6]}"
