"""Sums of products of arrays over axes: matrices, inner products, `einsum`, convolutions."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import string
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.comparisons import differs
from hemera.arrays.kinds import are_truths, kind_of, of_numbers
from hemera.arrays.recorded import (
    Recorded,
    as_numbers,
    as_operand,
    axes_of,
    moved,
    of_kind,
    rearranged,
    sum_of_maps,
)
from hemera.arrays.recorder import MOST_ELEMENTS
from hemera.arrays.repeated_map import RepeatedMap
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.sums import total
from hemera.errors import MismatchError, ParameterError

__all__ = [
    "along_axis",
    "convolve",
    "correlate",
    "dot",
    "einsum",
    "inner",
    "kron",
    "linear",
    "matmul",
    "outer",
    "tensordot",
    "vdot",
]

Values = NDArray[Any]

_MOST_ENTRIES = 1 << 26
_MOST_LISTED = 1 << 22
"""Entries of a map that does the same with many parts of an array."""


def _of_kinds(function: Callable[..., Any]) -> Callable[..., Any]:
    """A sum of products of two operands, with the kind of NumPy's: of truth values, whether any product is
    true."""

    signature = inspect.signature(function)

    @functools.wraps(function)
    def of_kinds(*arguments: Any, **options: Any) -> Any:
        a, b, *rest = (given := signature.bind(*arguments, **options)).args
        found = function(*_operands(a, b), *rest, **given.kwargs)
        if are_truths(a, b):
            return differs(found, 0)
        return of_kind(found, of_numbers([kind_of(a), kind_of(b)]))

    return of_kinds


def einsum(subscripts: str, a: Any, b: Any) -> Any:
    """`numpy.einsum` of two operands, of which one at least is encrypted, by subscripts that name each axis
    of them and of the result once: see `hemera.arrays.summation`.

    Raises:
        ParameterError: for more products than there can be.
        MismatchError: where the extents of a label differ.
    """
    return _summed(a, b, subscripts)


@_of_kinds
def _summed(a: Any, b: Any, subscripts: str) -> Any:
    """See `einsum`."""
    inputs, _, out = subscripts.partition("->")
    parts = inputs.split(",")
    extents: dict[str, int] = {}
    for part, each in zip(parts, (a, b), strict=True):
        for label, extent in zip(part, each.shape, strict=True):
            if extents.setdefault(label, extent) != extent:
                raise MismatchError(f"einsum: label {label!r} stands for {extents[label]} and for {extent}")
    if isinstance(a, Recorded) and isinstance(b, Recorded):
        return _of_encrypted(a, parts[0], b, parts[1], out, extents)
    if isinstance(a, Recorded):
        return _with_plain(a, parts[0], b, parts[1], out, extents)
    return _with_plain(b, parts[1], a, parts[0], out, extents)


def _operands(a: Any, b: Any) -> tuple[Any, Any]:
    """Both operands, encrypted numbers or arrays of float64. TypeError for others."""
    like = a if isinstance(a, Recorded) else b
    first, second = as_operand(a, like), as_operand(b, like)
    if first is None or second is None:
        raise TypeError("arrays of numbers are needed")
    a, b = (as_numbers(each) if isinstance(each, Recorded) else each for each in (first, second))
    return a, b


def _spread(values: Values, labels: str, all_labels: str) -> Values:
    """An array with an axis for each label, in their order; of extent 1 where it does not have the label."""
    order = sorted(labels, key=all_labels.index)
    turned = values.transpose([labels.index(label) for label in order])
    extents = iter(turned.shape)
    found: Values = turned.reshape([next(extents) if label in labels else 1 for label in all_labels])
    return found


def _with_plain(x: Recorded, xs: str, plain: Values, cs: str, out: str, extents: dict[str, int]) -> Recorded:
    shape = tuple(extents[label] for label in out)
    before, after = 0, 0
    many = math.prod(extents[label] for label in {*xs, *cs}) > _MOST_LISTED
    if many and math.prod(shape) <= MOST_ELEMENTS:  # the same for many parts of x
        before = _alike(xs, out, cs)
        after = _alike(xs[before:][::-1], out[before:][::-1], cs)
    middle, found = slice(before, len(xs) - after), slice(before, len(out) - after)
    own = _map_of(xs[middle], plain, cs, out[found], extents)
    if before or after:
        parts = (xs[:before], xs[len(xs) - after :])
        counts = [math.prod(extents[label] for label in labels) for labels in parts]
        own = RepeatedMap(counts[0], own, counts[1])
    return sum_of_maps(x, [(x, own)], shape)


def _alike(xs: str, out: str, cs: str) -> int:
    """How many labels both begin with that the plain array has not."""
    same = (a == b and a not in cs for a, b in zip(xs, out, strict=False))
    return sum(1 for _ in itertools.takewhile(bool, same))


def _map_of(xs: str, plain: Values, cs: str, out: str, extents: dict[str, int]) -> SparseMap:
    """The map from an array with labels `xs` to one with labels `out`, by a plain one."""
    all_labels = "".join(dict.fromkeys(xs + cs))
    grid = tuple(extents[label] for label in all_labels)
    if math.prod(grid) > _MOST_ENTRIES:
        raise ParameterError(f"a linear map of {math.prod(grid)} entries; at most {_MOST_ENTRIES}")

    def numbers(labels: str) -> Values:
        shape = [extents[label] for label in labels]
        return _spread(np.arange(math.prod(shape)).reshape(shape), labels, all_labels)

    places = (numbers(out), numbers(xs), _spread(plain, cs, all_labels))
    rows, columns, values = (np.broadcast_to(part, grid).ravel() for part in places)
    outputs, inputs = (math.prod(extents[label] for label in labels) for labels in (out, xs))
    return SparseMap.of(outputs, inputs, rows, columns, values)


def _of_encrypted(
    a: Recorded, own: str, b: Recorded, other: str, out: str, extents: dict[str, int]
) -> Recorded:
    dropped = [label for label in dict.fromkeys(own + other) if label not in out]
    all_labels = "".join((*dropped, *out))
    grid = tuple(extents[label] for label in all_labels)
    if math.prod(grid) > MOST_ELEMENTS:
        raise ParameterError(f"{math.prod(grid)} products of encrypted elements; at most {MOST_ELEMENTS}")

    def spread(x: Recorded, labels: str) -> Recorded:
        return rearranged(x, lambda y: np.broadcast_to(_spread(y, labels, all_labels), grid))

    found = spread(a, own) * spread(b, other)
    return total(found, tuple(range(len(dropped)))) if dropped else found


@_of_kinds
def matmul(a: Any, b: Any) -> Any:
    """`numpy.matmul`, of which one operand at least is encrypted. MismatchError where they do not fit."""
    left, right = a.shape, b.shape
    if not left or not right:
        raise MismatchError("matmul takes no single numbers; x * number multiplies")
    if left[-1] != right[-2 if len(right) > 1 else 0]:
        raise MismatchError(f"matmul: arrays of shapes {left} and {right} do not fit each other")
    try:
        batch = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        raise MismatchError(f"matmul: arrays of shapes {left} and {right} do not fit each other") from None
    letters = iter(string.ascii_letters)
    inner, row, column = next(letters), next(letters), next(letters)
    names = "".join(next(letters) for _ in batch)

    def whole(value: Any) -> tuple[Any, str]:
        """An operand with its own axes of the batch filled out, and their labels."""
        own = max(0, len(value.shape) - 2)
        shape = (*batch[len(batch) - own :], *value.shape[-2:])
        if value.shape != shape:
            value = _each(value, lambda y: np.broadcast_to(y, shape))
        return value, names[len(names) - own :]

    (a, a_names), (b, b_names) = whole(a), whole(b)
    a_labels = a_names + (row + inner if len(left) > 1 else inner)
    b_labels = b_names + (inner + column if len(right) > 1 else inner)
    out = names + (row if len(left) > 1 else "") + (column if len(right) > 1 else "")
    return einsum(f"{a_labels},{b_labels}->{out}", a, b)


def _each(value: Any, function: Callable[[Values], Values]) -> Any:
    """A function that moves elements, of an encrypted array or a plain one."""
    return moved([value], function) if isinstance(value, Recorded) else function(value)


@_of_kinds
def dot(a: Any, b: Any) -> Any:
    """`numpy.dot`, of which one operand at least is encrypted."""
    if not a.shape or not b.shape:
        return a * b if isinstance(a, Recorded) else b * a
    return _contracted(a, b, [(-1, -1 if len(b.shape) == 1 else -2)])


@_of_kinds
def inner(a: Any, b: Any) -> Any:
    """`numpy.inner`."""
    if not a.shape or not b.shape:
        return dot(a, b)
    return _contracted(a, b, [(-1, -1)])


@_of_kinds
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
    return _contracted(a, b, pairs)


def _contracted(a: Any, b: Any, pairs: list[tuple[int, int]]) -> Any:
    """The sum of products over pairs of axes; the other axes of `a` come first."""
    letters: Iterator[str] = iter(string.ascii_letters)
    first = [next(letters) for _ in a.shape]
    second = [next(letters) for _ in b.shape]
    for one, other in pairs:
        if a.shape[one] != b.shape[other]:
            raise MismatchError(f"arrays of shapes {a.shape} and {b.shape} do not fit each other")
        second[other] = first[one]
    kept = [x for x in first if x not in second] + [x for x in second if x not in first]
    return einsum(f"{''.join(first)},{''.join(second)}->{''.join(kept)}", a, b)


@_of_kinds
def outer(a: Any, b: Any) -> Any:
    """`numpy.outer`."""
    return einsum("a,b->ab", _each(a, np.ravel), _each(b, np.ravel))


@_of_kinds
def vdot(a: Any, b: Any) -> Any:
    """`numpy.vdot` of real numbers."""
    return einsum("a,a->", _each(a, np.ravel), _each(b, np.ravel))


@_of_kinds
def kron(a: Any, b: Any) -> Any:
    """`numpy.kron`."""
    count = max(len(a.shape), len(b.shape))
    left, right = ((1,) * (count - len(x.shape)) + x.shape for x in (a, b))
    letters = string.ascii_letters
    one, other = letters[:count], letters[count : 2 * count]
    joined = "".join(x + y for x, y in zip(one, other, strict=True))
    found = einsum(
        f"{one},{other}->{joined}",
        _each(a, lambda y: y.reshape(left)),
        _each(b, lambda y: y.reshape(right)),
    )
    shape = [x * y for x, y in zip(left, right, strict=True)]
    return rearranged(found, lambda y: y.reshape(shape))


@_of_kinds
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """`numpy.convolve`."""
    return _slid(a, v, lambda x, y: np.convolve(x, y, mode))


@_of_kinds
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """`numpy.correlate`."""
    return _slid(a, v, lambda x, y: np.correlate(x, y, mode))


def _slid(a: Any, b: Any, function: Callable[[Values, Values], Values]) -> Any:
    """A bilinear function of two vectors, by its values at pairs of unit vectors."""
    if len(a.shape) > 1 or len(b.shape) > 1:
        raise MismatchError(f"two vectors are needed, not arrays of shapes {a.shape} and {b.shape}")
    a, b = (_each(x, np.atleast_1d) for x in (a, b))
    if isinstance(b, Recorded) and not isinstance(a, Recorded):
        return linear(lambda y: function(a, y), b)
    if not isinstance(b, Recorded):
        return linear(lambda x: function(x, b), a)
    # Each result is a sum of products of pairs: its place is that of the pair's.
    n, m = a.size, b.size
    if n * m > _MOST_ENTRIES // max(n, m):
        raise ParameterError(f"encrypted vectors of {n} and {m} elements are too long for this")
    values = np.stack([[function(x, y) for y in np.eye(m)] for x in np.eye(n)])
    return linear(lambda pairs: np.tensordot(pairs.reshape(n, m), values, 2), outer(a, b))


def linear(function: Callable[[Values], Any], x: Recorded) -> Any:
    """A linear function of an array, by its values at unit vectors.

    Raises:
        ParameterError: for more elements than it can be tried with.
    """
    if x.size**2 > _MOST_ENTRIES:
        raise ParameterError(f"an array of shape {x.shape} is too large for this function")
    units = np.eye(x.size).reshape(x.size, *x.shape)
    rows = [np.asarray(function(unit), np.float64) for unit in units]
    own = SparseMap.dense(np.stack([row.ravel() for row in rows], axis=1))
    return sum_of_maps(x, [(x, own)], rows[0].shape)


def along_axis(x: Recorded, matrix: Values, axis: int) -> Any:
    """A plain matrix of shape (results, extent) times the vectors along an axis."""
    (at,) = axes_of(int(axis), x.ndim)
    letters = string.ascii_letters
    labels, new = letters[: x.ndim], letters[x.ndim]
    return einsum(f"{new}{labels[at]},{labels}->{labels.replace(labels[at], new)}", matrix, x)
