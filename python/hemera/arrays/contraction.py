"""Sums of products of arrays over axes: matrices, inner products, `einsum`."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import string
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hemera.arrays.arithmetic import as_mask, total
from hemera.arrays.comparisons import truths
from hemera.arrays.recorded import (
    Recorded,
    as_numbers,
    axes_of,
    joined_shape,
    number_of,
    of_kind,
    operands_of,
    promoted,
    rearranged,
    sum_of_maps,
)
from hemera.arrays.recorder import MOST_ELEMENTS
from hemera.arrays.sparse_map import Indices, RepeatedMap, Shape, SparseMap, Values
from hemera.errors import MismatchError, ParameterError

MOST_ENTRIES = 1 << 26
Term = tuple[Any, str]
"""An operand, with a label for each axis."""

_MOST_LISTED = 1 << 22
"""Entries of a map that does the same with many parts of an array."""


def of_kinds(function: Callable[..., Any]) -> Callable[..., Any]:
    """A sum of products of two operands, of which one at least is encrypted, with the kind of NumPy's: of
    truth values, whether any product is true. The function gets encrypted numbers and arrays of float64."""

    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        a, b, *rest = (given := signature.bind(*arguments, **options)).args
        return _with_kind(function(*_numbers(a, b), *rest, **given.kwargs), a, b)

    return call


def _numbers(*operands: Any) -> list[Any]:
    """Operands as encrypted numbers or arrays of float64. TypeError for others."""
    given = operands_of(*operands)
    return [as_numbers(each) if isinstance(each, Recorded) else each for each in given]


def _with_kind(found: Any, *operands: Any) -> Any:
    """A sum of products of operands, as of the kind that NumPy gives it."""
    if promoted(*operands) == "b":
        return as_mask(truths(found))
    return of_kind(found, promoted(1, *operands))


def _contracted(terms: Sequence[Term], out: str) -> Any:
    """The sum of products of operands, as `_numbers` gives them, by a label for each axis of each and of the
    result, which has a label once. They are multiplied from the left.

    Raises:
        ParameterError: for more products than there can be.
        MismatchError: where the extents of a label differ.
    """
    terms, extents = _of_one_extent(terms)
    (found, own), *rest = [
        _alone(x, own, out + "".join([each for _, each in (*terms[:at], *terms[at + 1 :])]))
        for at, (x, own) in enumerate(terms)
    ]
    while rest:
        (x, labels), *rest = rest
        needed = out + "".join([each for _, each in rest])
        kept = "".join(label for label in dict.fromkeys(own + labels) if label in needed) if rest else out
        if isinstance(found, Recorded) and isinstance(x, Recorded):
            found = _of_encrypted(found, own, x, labels, kept, extents)
        elif isinstance(found, Recorded):
            found = _with_plain(found, own, x, labels, kept, extents)
        elif isinstance(x, Recorded):
            found = _with_plain(x, labels, found, own, kept, extents)
        else:
            found = np.einsum(f"{own},{labels}->{kept}", found, x)
        own = kept
    return found if own == out else rearranged(found, lambda y: np.einsum(f"{own}->{out}", y))


def _of_one_extent(terms: Sequence[Term]) -> tuple[Sequence[Term], dict[str, int]]:
    """Operands without axes of one element that others have more of, and the extent of each label.
    MismatchError where extents differ."""
    extents: dict[str, int] = {}
    for x, own in terms:
        for label, extent in zip(own, x.shape, strict=True):
            known = extents.setdefault(label, extent)
            if extent not in (1, known) and known != 1:
                raise MismatchError(f"einsum: label {label!r} stands for {known} and for {extent}")
            extents[label] = extent if known == 1 else known
    found = []
    for x, own in terms:
        shape = _shape(own, extents)
        if x.shape != shape:
            wide = [at for at, extent in enumerate(shape) if x.shape[at] == extent]
            x = each_moved(x, lambda y, extents=[x.shape[at] for at in wide]: y.reshape(extents))
            own = "".join([own[at] for at in wide])
        found.append((x, own))
    return found, extents


def _alone(x: Any, labels: str, needed: str) -> Term:
    """An operand with each label once, summed over those that nothing else has."""
    single = "".join(dict.fromkeys(labels))
    axes = tuple([at for at, label in enumerate(single) if label not in needed])
    if single != labels:
        x = each_moved(x, lambda y: np.einsum(f"{labels}->{single}", y))
    if not axes:
        return x, single
    return x.sum(axes), "".join(label for label in single if label in needed)


def _shape(labels: str, extents: dict[str, int]) -> Shape:
    return tuple(map(extents.__getitem__, labels))


def _mesh(labels: str, extents: dict[str, int]) -> dict[str, Indices]:
    """The indices of each label, as arrays that broadcast over axes for all labels in their order."""
    return dict(zip(labels, np.ix_(*map(np.arange, _shape(labels, extents))), strict=True))


def _with_plain(x: Recorded, xs: str, plain: Values, cs: str, out: str, extents: dict[str, int]) -> Recorded:
    shape = _shape(out, extents)
    before, after = 0, 0
    many = math.prod(map(extents.__getitem__, {*xs, *cs})) > _MOST_LISTED
    if many and math.prod(shape) <= MOST_ELEMENTS:  # the same for many parts of x
        before = _alike(xs, out, cs)
        after = _alike(xs[before:][::-1], out[before:][::-1], cs)
    middle, found = slice(before, len(xs) - after), slice(before, len(out) - after)
    own = _map_of(xs[middle], plain, cs, out[found], extents)
    if before or after:
        counts = [math.prod(_shape(labels, extents)) for labels in (xs[:before], xs[len(xs) - after :])]
        own = RepeatedMap(counts[0], own, counts[1])
    return sum_of_maps(x, [(x, own)], shape)


def _alike(xs: str, out: str, cs: str) -> int:
    """How many labels both begin with that the plain array has not."""
    same = (a == b and a not in cs for a, b in zip(xs, out, strict=False))
    return sum(1 for _ in itertools.takewhile(bool, same))


def _map_of(xs: str, plain: Values, cs: str, out: str, extents: dict[str, int]) -> SparseMap:
    """The map from an array with labels `xs` to one with labels `out`, by a plain one."""
    all_labels = "".join(dict.fromkeys(xs + cs))
    grid = _shape(all_labels, extents)
    if math.prod(grid) > MOST_ENTRIES:
        raise ParameterError(f"a linear map of {math.prod(grid)} entries; at most {MOST_ENTRIES}")
    index, shapes = _mesh(all_labels, extents), [_shape(labels, extents) for labels in (out, xs)]
    rows, columns = [
        np.ravel_multi_index([index[label] for label in labels], shape)
        for labels, shape in zip((out, xs), shapes, strict=True)
    ]
    values = plain[tuple(map(index.__getitem__, cs))]
    entries = [np.broadcast_to(part, grid).ravel() for part in (rows, columns, values)]
    return SparseMap.of(*map(math.prod, shapes), *entries)


def _of_encrypted(
    a: Recorded, own: str, b: Recorded, other: str, out: str, extents: dict[str, int]
) -> Recorded:
    dropped = "".join([label for label in dict.fromkeys(own + other) if label not in out])
    grid = _shape(dropped + out, extents)
    if math.prod(grid) > MOST_ELEMENTS:
        raise ParameterError(f"{math.prod(grid)} products of encrypted elements; at most {MOST_ELEMENTS}")
    index = _mesh(dropped + out, extents)

    def spread(x: Recorded, labels: str) -> Recorded:
        return rearranged(x, lambda y: np.broadcast_to(y[tuple(map(index.__getitem__, labels))], grid))

    left = spread(a, own)
    is_square = number_of(a) == number_of(b) and own == other
    found = left * (left if is_square else spread(b, other))
    return total(found, tuple(range(len(dropped)))) if dropped else found


def each_moved(value: Any, function: Callable[..., Any]) -> Any:
    """A function that moves elements, of an encrypted array or a plain one."""
    return rearranged(value, function) if isinstance(value, Recorded) else function(value)


@of_kinds
def matmul(a: Any, b: Any) -> Any:
    """`numpy.matmul`, of which one operand at least is encrypted. MismatchError where they do not fit."""
    left, right = a.shape, b.shape
    if not left or not right:
        raise MismatchError("matmul takes no single numbers; x * number multiplies")
    if left[-1] != right[-2 if len(right) > 1 else 0]:
        raise MismatchError(f"matmul: arrays of shapes {left} and {right} do not fit each other")
    batch = string.ascii_letters[: len(joined_shape(left[:-2], right[:-2]))]
    row, column = "Y"[: len(left) - 1], "Z"[: len(right) - 1]
    first, second = (batch[len(batch) - max(0, len(own) - 2) :] for own in (left, right))
    return _contracted([(a, f"{first}{row}X"), (b, f"{second}X{column}")], batch + row + column)


@of_kinds
def dot(a: Any, b: Any) -> Any:
    """`numpy.dot`, of which one operand at least is encrypted."""
    if not a.shape or not b.shape:
        return a * b if isinstance(a, Recorded) else b * a
    return _over(a, b, [(-1, -1 if len(b.shape) == 1 else -2)])


@of_kinds
def inner(a: Any, b: Any) -> Any:
    """`numpy.inner`."""
    return _over(a, b, [(-1, -1)]) if a.shape and b.shape else dot(a, b)


@of_kinds
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """`numpy.tensordot`. MismatchError where the axes do not fit."""
    if isinstance(axes, (int, np.integer)):
        count = int(axes)
        pairs = [(at - count, at) for at in range(count)]
    else:
        first, second = (
            axes_of(tuple(np.atleast_1d(each).tolist()), len(x.shape))
            for each, x in zip(axes, (a, b), strict=True)
        )
        pairs = list(zip(first, second, strict=False))
        if len(first) != len(second):
            raise MismatchError(f"tensordot: {len(first)} axes and {len(second)} axes do not fit each other")
    if len(pairs) > min(len(a.shape), len(b.shape)):
        raise MismatchError(f"tensordot: arrays of shapes {a.shape} and {b.shape} have no {len(pairs)} axes")
    return _over(a, b, pairs)


def _over(a: Any, b: Any, pairs: list[tuple[int, int]]) -> Any:
    """The sum of products over pairs of axes; the other axes of `a` come first."""
    letters: Iterator[str] = iter(string.ascii_letters)
    first = [next(letters) for _ in a.shape]
    second = [next(letters) for _ in b.shape]
    for one, other in pairs:
        if a.shape[one] != b.shape[other]:
            raise MismatchError(f"arrays of shapes {a.shape} and {b.shape} do not fit each other")
        second[other] = first[one]
    kept = [x for x in first if x not in second] + [x for x in second if x not in first]
    return _contracted([(a, "".join(first)), (b, "".join(second))], "".join(kept))


@of_kinds
def outer(a: Any, b: Any) -> Any:
    """`numpy.outer`."""
    return _over(each_moved(a, np.ravel), each_moved(b, np.ravel), [])


@of_kinds
def vdot(a: Any, b: Any) -> Any:
    """`numpy.vdot` of real numbers."""
    return _over(each_moved(a, np.ravel), each_moved(b, np.ravel), [(0, 0)])


@of_kinds
def kron(a: Any, b: Any) -> Any:
    """`numpy.kron`."""
    count = max(len(a.shape), len(b.shape))
    left, right = ((1,) * (count - len(x.shape)) + x.shape for x in (a, b))
    products = _over(each_moved(a, lambda y: y.reshape(left)), each_moved(b, lambda y: y.reshape(right)), [])
    order = np.arange(2 * count).reshape(2, count).T.ravel()  # an axis of each in turn
    shape = [x * y for x, y in zip(left, right, strict=True)]
    return rearranged(products, lambda y: y.transpose(order).reshape(shape))


def einsum(subscripts: Any, *operands: Any) -> Any:
    """`numpy.einsum`, by subscripts as text, or by lists of numbers after each operand.

    Raises:
        ParameterError: for subscripts that do not fit the operands; for more products than there can be.
        MismatchError: where the extents of a label differ.
    """
    if not isinstance(subscripts, str):
        return einsum(*_as_text([subscripts, *operands]))
    given = _numbers(*operands)
    labels, out = _labels(subscripts, [x.shape for x in given])
    if len(operands) == 1 and set(labels[0]) == set(out):
        return rearranged(operands[0], lambda y: np.einsum(subscripts, y), is_view=True)
    return _with_kind(_contracted(list(zip(given, labels, strict=True)), out), *operands)


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
