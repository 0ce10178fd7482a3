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

from hemera.arrays.arithmetic import any_of, total
from hemera.arrays.comparisons import differs
from hemera.arrays.recorded import (
    Recorded,
    are_truths,
    as_numbers,
    as_operand,
    axes_of,
    kind_of,
    moved,
    of_kind,
    of_numbers,
    rearranged,
    sum_of_maps,
)
from hemera.arrays.recorder import MOST_ELEMENTS
from hemera.arrays.sparse_map import RepeatedMap, SparseMap, Values
from hemera.errors import MismatchError, ParameterError

MOST_ENTRIES = 1 << 26
_MOST_LISTED = 1 << 22
"""Entries of a map that does the same with many parts of an array."""


def of_kinds(function: Callable[..., Any]) -> Callable[..., Any]:
    """A sum of products of two operands, with the kind of NumPy's: of truth values, whether any product is
    true."""

    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        a, b, *rest = (given := signature.bind(*arguments, **options)).args
        found = function(*_operands(a, b), *rest, **given.kwargs)
        if are_truths(a, b):
            return differs(found, 0)
        return of_kind(found, of_numbers([kind_of(a), kind_of(b)]))

    return call


def _of_two(a: Any, b: Any, subscripts: str) -> Any:
    """The sum of products of two operands, as `_operands` gives them, by subscripts that name each axis of
    them and of the result once.

    Raises:
        ParameterError: for more products than there can be.
        MismatchError: where the extents of a label differ.
    """
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


product_sum = of_kinds(_of_two)
"""The same of any operands, of which one at least is encrypted."""


def _operands(a: Any, b: Any) -> tuple[Any, Any]:
    """Both operands, encrypted numbers or arrays of float64. TypeError for others."""
    like = a if isinstance(a, Recorded) else b
    first, second = as_operand(a, like), as_operand(b, like)
    if first is None or second is None:
        raise TypeError("arrays of numbers are needed")
    a, b = [as_numbers(each) if isinstance(each, Recorded) else each for each in (first, second)]
    return a, b


def _spread(values: Values, labels: str, all_labels: str) -> Values:
    """An array with an axis for each label, in their order; of extent 1 where it does not have the label."""
    order = sorted(labels, key=all_labels.index)
    turned = values.transpose([labels.index(label) for label in order])
    extents = iter(turned.shape)
    found: Values = turned.reshape([next(extents) if label in labels else 1 for label in all_labels])
    return found


def _with_plain(x: Recorded, xs: str, plain: Values, cs: str, out: str, extents: dict[str, int]) -> Recorded:
    shape = tuple(map(extents.__getitem__, out))
    before, after = 0, 0
    many = math.prod(map(extents.__getitem__, {*xs, *cs})) > _MOST_LISTED
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
    grid = tuple(map(extents.__getitem__, all_labels))
    if math.prod(grid) > MOST_ENTRIES:
        raise ParameterError(f"a linear map of {math.prod(grid)} entries; at most {MOST_ENTRIES}")

    def numbers(labels: str) -> Values:
        shape = tuple(map(extents.__getitem__, labels))
        return _spread(np.arange(math.prod(shape)).reshape(shape), labels, all_labels)

    places = (numbers(out), numbers(xs), _spread(plain, cs, all_labels))
    rows, columns, values = [np.broadcast_to(part, grid).ravel() for part in places]
    outputs, inputs = [math.prod(map(extents.__getitem__, labels)) for labels in (out, xs)]
    return SparseMap.of(outputs, inputs, rows, columns, values)


def _of_encrypted(
    a: Recorded, own: str, b: Recorded, other: str, out: str, extents: dict[str, int]
) -> Recorded:
    dropped = [label for label in dict.fromkeys(own + other) if label not in out]
    all_labels = "".join((*dropped, *out))
    grid = tuple(map(extents.__getitem__, all_labels))
    if math.prod(grid) > MOST_ELEMENTS:
        raise ParameterError(f"{math.prod(grid)} products of encrypted elements; at most {MOST_ELEMENTS}")

    def spread(x: Recorded, labels: str) -> Recorded:
        return rearranged(x, lambda y: np.broadcast_to(_spread(y, labels, all_labels), grid))

    found = spread(a, own) * spread(b, other)
    return total(found, tuple(range(len(dropped)))) if dropped else found


@of_kinds
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
            value = each_moved(value, lambda y: np.broadcast_to(y, shape))
        return value, names[len(names) - own :]

    (a, a_names), (b, b_names) = whole(a), whole(b)
    a_labels = a_names + (row + inner if len(left) > 1 else inner)
    b_labels = b_names + (inner + column if len(right) > 1 else inner)
    out = names + (row if len(left) > 1 else "") + (column if len(right) > 1 else "")
    return _of_two(a, b, f"{a_labels},{b_labels}->{out}")


def each_moved(value: Any, function: Callable[..., Any]) -> Any:
    """A function that moves elements, of an encrypted array or a plain one."""
    return moved([value], function) if isinstance(value, Recorded) else function(value)


def _reshaped(value: Any, shape: tuple[int, ...]) -> Any:
    return each_moved(value, lambda y: y.reshape(shape))


@of_kinds
def dot(a: Any, b: Any) -> Any:
    """`numpy.dot`, of which one operand at least is encrypted."""
    if not a.shape or not b.shape:
        return a * b if isinstance(a, Recorded) else b * a
    return _contracted(a, b, [(-1, -1 if len(b.shape) == 1 else -2)])


@of_kinds
def inner(a: Any, b: Any) -> Any:
    """`numpy.inner`."""
    if not a.shape or not b.shape:
        return dot(a, b)
    return _contracted(a, b, [(-1, -1)])


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
    return _of_two(a, b, f"{''.join(first)},{''.join(second)}->{''.join(kept)}")


@of_kinds
def outer(a: Any, b: Any) -> Any:
    """`numpy.outer`."""
    return _of_two(each_moved(a, np.ravel), each_moved(b, np.ravel), "a,b->ab")


@of_kinds
def vdot(a: Any, b: Any) -> Any:
    """`numpy.vdot` of real numbers."""
    return _of_two(each_moved(a, np.ravel), each_moved(b, np.ravel), "a,a->")


@of_kinds
def kron(a: Any, b: Any) -> Any:
    """`numpy.kron`."""
    count = max(len(a.shape), len(b.shape))
    left, right = ((1,) * (count - len(x.shape)) + x.shape for x in (a, b))
    letters = string.ascii_letters
    one, other = letters[:count], letters[count : 2 * count]
    joined = "".join(x + y for x, y in zip(one, other, strict=True))
    found = _of_two(_reshaped(a, left), _reshaped(b, right), f"{one},{other}->{joined}")
    shape = [x * y for x, y in zip(left, right, strict=True)]
    return rearranged(found, lambda y: y.reshape(shape))


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
        pair = f"{first},{second}->{kept}"
        is_plain = not (isinstance(a, Recorded) or isinstance(b, Recorded))
        terms = [(np.einsum(pair, a, b) if is_plain else product_sum(a, b, pair), kept), *rest]
    ((found, own),) = terms
    return each_moved(found, lambda y: np.einsum(f"{own}->{out}", y))


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
        found.append((_reshaped(x, shape), "".join(own[at] for at in wide)))
    return found


def _alone(x: Any, labels: str, needed: str) -> tuple[Any, str]:
    """An operand with each label once, summed over those that nothing else has."""
    single = "".join(dict.fromkeys(labels))
    if single != labels:
        x = each_moved(x, lambda y: np.einsum(f"{labels}->{single}", y))
    axes = tuple(at for at, label in enumerate(single) if label not in needed)
    if axes:
        kept = "".join(label for label in single if label in needed)
        if not isinstance(x, Recorded):
            return np.einsum(f"{single}->{kept}", x), kept
        return (any_of if are_truths(x) else total)(x, axes), kept
    return x, single
