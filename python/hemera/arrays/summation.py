"""`numpy.einsum` of any operands, of which one at least is encrypted: pairs of operands in turn."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from hemera.arrays import contraction, sums
from hemera.arrays.kinds import are_truths
from hemera.arrays.masks import any_of
from hemera.arrays.recorded import Recorded, moved
from hemera.errors import MismatchError, ParameterError

__all__ = ["einsum"]


def einsum(subscripts: Any, *operands: Any) -> Any:
    """`numpy.einsum`, by subscripts as text, or by lists of numbers after each operand.

    Raises:
        ParameterError: for subscripts that do not fit the operands; for more products than there can be.
        MismatchError: where the extents of a label differ.
    """
    if not isinstance(subscripts, str):
        return einsum(*_as_text([subscripts, *operands]))
    given = [x if isinstance(x, Recorded) else np.asarray(x) for x in operands]
    labels, out = _labels(subscripts, [x.shape for x in given])
    terms = _of_one_extent(given, labels)
    while True:
        terms = [
            _alone(x, own, out + "".join(each for at, (_, each) in enumerate(terms) if at != number))
            for number, (x, own) in enumerate(terms)
        ]
        if len(terms) == 1:
            break
        (a, first), (b, second), *rest = terms
        kept = "".join(x for x in dict.fromkeys(first + second) if x in out + "".join(own for _, own in rest))
        function = contraction.einsum if any(isinstance(x, Recorded) for x in (a, b)) else np.einsum
        terms = [(function(f"{first},{second}->{kept}", a, b), kept), *rest]
    ((found, own),) = terms
    return _each(found, lambda y: np.einsum(f"{own}->{out}", y))


def _as_text(given: Sequence[Any]) -> list[Any]:
    """Subscripts and operands of the form operand, list, operand, list, ... and maybe a list of results."""

    def text(numbers: Any) -> str:
        if any(at is not Ellipsis and not 0 <= at < len(string.ascii_letters) for at in numbers):
            raise ParameterError(f"einsum: labels are numbers from 0 to 51, not {numbers}")
        return "".join("..." if at is Ellipsis else string.ascii_letters[at] for at in numbers)

    count = len(given) // 2
    inputs = ",".join(text(each) for each in given[1 : 2 * count : 2])
    return [f"{inputs}->{text(given[-1])}" if len(given) % 2 else inputs, *given[: 2 * count : 2]]


def _labels(subscripts: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """A label for each axis of each operand and of the result. ParameterError where they do not fit."""
    inputs, arrow, out = subscripts.replace(" ", "").partition("->")
    parts = inputs.split(",")
    named = "".join((*parts, out)).replace("...", "")
    free = [label for label in string.ascii_letters if label not in named]
    extra = [len(shape) - len(part.replace("...", "")) for part, shape in zip(parts, shapes, strict=False)]
    most = max((n for n, part in zip(extra, parts, strict=False) if "..." in part), default=0)
    if (
        len(parts) != len(shapes)
        or not set(named) <= set(string.ascii_letters)
        or any(n < 0 or (n and "..." not in part) for n, part in zip(extra, parts, strict=True))
        or any(part.count("...") > 1 for part in (*parts, out))
        or most > len(free)
    ):
        raise ParameterError(f"einsum: {subscripts!r} does not name each axis of {len(shapes)} operands")
    more = "".join(free[:most])
    if not arrow:
        once = (x for x in named if named.count(x) == 1)
        out = ("..." if most else "") + "".join(sorted(once))
    known = [part.replace("...", more[most - n :]) for part, n in zip(parts, extra, strict=True)]
    found = out.replace("...", more)
    if len(set(found)) != len(found) or not set(found) <= set("".join(known)):
        raise ParameterError(f"einsum: {subscripts!r} does not name each axis of the result once")
    if most and arrow and "..." not in out:
        raise ParameterError(f"einsum: the result of {subscripts!r} needs ... too, as in NumPy")
    return known, found


def _of_one_extent(operands: Sequence[Any], labels: Sequence[str]) -> list[tuple[Any, str]]:
    """Operands without axes of one element that others have more of. MismatchError where extents differ."""
    pairs = [pair for x, own in zip(operands, labels, strict=True) for pair in zip(own, x.shape, strict=True)]
    extents = {label: max(n for own, n in pairs if own == label) for label, _ in pairs}
    found = []
    for x, own in zip(operands, labels, strict=True):
        for label, extent in zip(own, x.shape, strict=True):
            if extent not in (1, extents[label]):
                raise MismatchError(f"einsum: label {label!r} stands for {extents[label]} and for {extent}")
        wide = [at for at, label in enumerate(own) if x.shape[at] == extents[label]]
        shape = tuple(x.shape[at] for at in wide)
        found.append((_each(x, lambda y, s=shape: y.reshape(s)), "".join(own[at] for at in wide)))
    return found


def _alone(x: Any, labels: str, needed: str) -> tuple[Any, str]:
    """An operand with each label once, summed over those that nothing else has."""
    single = "".join(dict.fromkeys(labels))
    if single != labels:
        x = _each(x, lambda y: np.einsum(f"{labels}->{single}", y))
    axes = tuple(at for at, label in enumerate(single) if label not in needed)
    if axes:
        kept = "".join(label for label in single if label in needed)
        if not isinstance(x, Recorded):
            return np.einsum(f"{single}->{kept}", x), kept
        return (any_of if are_truths(x) else sums.total)(x, axes), kept
    return x, single


def _each(x: Any, function: Any) -> Any:
    """A function that moves elements, of an encrypted array or a plain one."""
    return moved([x], function) if isinstance(x, Recorded) else function(x)
