"""Order, quantiles and extremes of elements, deviations, norms, covariances and correlations."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from hemera.arrays.arithmetic import in_pairs, kept_shape, last_axis, mean, over_axes, total, variance
from hemera.arrays.comparisons import all_true, any_true, bounded, equal, of_type, reaches
from hemera.arrays.contraction import matmul
from hemera.arrays.elementwise import absolute, larger, named, reciprocal, smaller
from hemera.arrays.extremes import places_over
from hemera.arrays.facts import Extreme
from hemera.arrays.operations import Apply
from hemera.arrays.recorded import (
    A,
    Axis,
    Kind,
    as_numbers,
    axes_of,
    facts_of,
    kind_of,
    moved,
    number_of,
    of_kind,
    rearranged,
    recorder_of,
    reduced,
)
from hemera.arrays.recorder import NoStepError
from hemera.errors import MismatchError, ParameterError

_MOST_PAIRED = 32
"""Elements along an axis that are compared in pairs, all at once."""
_MOST_SORTED = 64


def most(x: A, axis: Any = None, *, keepdims: bool = False) -> A:
    """The largest element along axes: by all pairs where a step is known, else by a tournament.
    For truth values: whether any is true."""
    return _extreme(x, axis, keepdims, 1)


def least(x: A, axis: Any = None, *, keepdims: bool = False) -> A:
    """The smallest element along axes: see `most`. For truth values: whether all are true."""
    return _extreme(x, axis, keepdims, -1)


def _extreme(x: A, axis: Any, keepdims: bool, sign: int) -> A:
    if kind_of(x) == "b":
        return (any_true if sign > 0 else all_true)(x, axis, keepdims=keepdims)

    def extreme(rows: A) -> A:
        if rows.step is None or rows.shape[-1] > _MOST_PAIRED:
            return in_pairs(rows, larger if sign > 0 else smaller)
        found = bounded(total(_first_most(rows, sign) * rows, -1), *x.range)
        return of_kind(found, kind_of(x))

    found = over_axes(x, axis, keepdims, extreme)
    if x.step is None:
        nodes = recorder_of(x).program.nodes[number_of(x) + 1 :]
        slack = sum([each.operation.function.error for each in nodes if isinstance(each.operation, Apply)])
        places = places_over(x.shape, kept_shape(x, axes_of(reduced(axis, x), x.ndim)))
        facts_of(found).extreme = Extreme(number_of(x), sign, places, slack)
    return found


def _before(rows: A, sign: int) -> A:
    """1 where element i of the last axis comes before element j, or is j: the larger one (sign 1) or the
    smaller one (-1) comes first, and of equal ones the first. Shape (..., i, j)."""
    count = rows.shape[-1]
    if count > _MOST_SORTED:
        raise ParameterError(f"{count} elements along an axis are too many to order; at most {_MOST_SORTED}")
    ahead = rearranged(rows, lambda y: y[..., :, None])
    behind = rearranged(rows, lambda y: y[..., None, :])
    apart = (ahead - behind) * sign
    if rows.step is None:
        raise NoStepError(
            "the places of encrypted numbers are found where they are multiples of a known step: give inputs "
            "one, hm.ArraySpec(shape, range=, step=)"
        )
    at = np.arange(count)
    # With a step of values, x > y is x >= y + step.
    return reaches(apart, np.where(at[:, None] <= at, 0.0, rows.step))


def _first_most(rows: A, sign: int) -> A:
    """1 at the first of the largest elements (sign 1) or smallest (-1) of the last axis, 0 elsewhere."""
    return all_true(_before(rows, sign), -1)


def place_of_most(x: A, axis: int | None = None, *, keepdims: bool = False) -> A:
    """`numpy.argmax`: the index of the first of the largest elements.

    Raises:
        TypeError: where no step is known.
        ParameterError: for more than 64 elements.
    """
    return _place(x, axis, keepdims, 1)


def place_of_least(x: A, axis: int | None = None, *, keepdims: bool = False) -> A:
    """`numpy.argmin`: see `place_of_most`."""
    return _place(x, axis, keepdims, -1)


def _place(x: A, axis: int | None, keepdims: bool, sign: int) -> A:
    def place(rows: A) -> A:
        count = rows.shape[-1]
        return of_kind(bounded(total(_first_most(rows, sign) * np.arange(count), -1), 0, count - 1), "i")

    return over_axes(x, None if axis is None else operator.index(axis), keepdims, place)


def _along(x: A, axis: int | None, function: Callable[[A], A]) -> A:
    """A function of vectors along an axis, which stays; None: of all elements as one."""
    if axis is None:
        return function(rearranged(x, np.ravel))
    (at,) = axes_of(operator.index(axis), x.ndim)
    found = function(rearranged(x, lambda y: np.moveaxis(y, at, -1)))
    return rearranged(found, lambda y: np.moveaxis(y, -1, at))


def _ranks(rows: A) -> A:
    """How many elements of the last axis come before each one in ascending order, equal ones in theirs."""
    count = rows.shape[-1]
    before = total(_before(as_numbers(rows), -1), -2)
    return bounded(before - 1, 0, count - 1)


def argsort(x: A, axis: int | None = -1) -> A:
    """`numpy.argsort`, stable. Errors as of `place_of_most`."""

    def order(rows: A) -> A:
        count = rows.shape[-1]
        return bounded(total(_places(rows) * np.arange(count), -1), 0, count - 1)

    return _along(x, reduced(axis, x), order)


def _places(rows: A) -> A:
    """1 where element j of the last axis has the place i in ascending order. Shape (..., i, j)."""
    before = rearranged(_ranks(rows), lambda y: y[..., None, :])
    return equal(before, np.arange(rows.shape[-1])[:, None])


def sorted_along(x: A, axis: int | None = -1) -> A:
    """`numpy.sort`, of truth values by how many are true, and of at most 64 others: by their ranks where a
    step is known, else by a sorting network.

    Raises:
        ParameterError: for more elements.
    """
    return _along(as_numbers(x), axis, lambda rows: _sorted(rows, kind_of(x)))


def _sorted(rows: A, kind: Kind) -> A:
    """The elements of the last axis in order, of numbers that stand for values of a kind."""
    count = rows.shape[-1]
    if kind == "b":  # as many are true as before, and last
        return reaches(total(rows, -1, keepdims=True), count - np.arange(count))
    if count > _MOST_SORTED:
        raise ParameterError(f"{count} elements along an axis are too many to order; at most {_MOST_SORTED}")
    if rows.step is not None and count <= _MOST_PAIRED:
        found = total(_places(rows) * rearranged(rows, lambda y: y[..., None, :]), -1)
        return of_kind(bounded(found, *rows.range), kind)
    for pairs in _network(count):
        rows = _exchanged(rows, pairs)
    return of_kind(rows, kind)


def _network(count: int) -> Iterator[list[tuple[int, int]]]:
    """Rounds of a sorting network: pairs of which the smaller element goes to the first place (odd-even
    merge: K. E. Batcher, "Sorting networks and their applications", 1968; D. Knuth, TAOCP 3, 5.2.2,
    algorithm M)."""
    bits = (count - 1).bit_length()
    p = 1 << bits >> 1
    while p:
        q, r, d = 1 << bits >> 1, 0, p
        while True:
            yield [(at, at + d) for at in range(count - d) if (at & p) == r]
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2


def _exchanged(rows: A, pairs: list[tuple[int, int]]) -> A:
    """The last axis with the elements of each pair in order."""
    first, second = (np.array(each, np.int64) for each in zip(*pairs, strict=True))
    a = rearranged(rows, lambda y: y[..., first])
    b = rearranged(rows, lambda y: y[..., second])
    upper = larger(a, b)
    ends = [*a.range, *b.range]
    lower = bounded(a + b - upper, min(ends), max(ends))

    def put(y: Any, low: Any, high: Any) -> Any:
        found = y.copy()
        found[..., first], found[..., second] = low, high
        return found

    found: A = moved([rows, lower, upper], put)
    return found


def median(x: A, axis: Any = None, *, keepdims: bool = False) -> A:
    """`numpy.median` of at most 64 elements. Errors as of `sorted_along`."""

    def middle(rows: A) -> A:
        count = rows.shape[-1]
        return mean(rearranged(_sorted(rows, "f"), lambda y: y[..., (count - 1) // 2 : count // 2 + 1]), -1)

    return over_axes(x, axes_of(axis, x.ndim), keepdims, middle)


def quantiles(
    x: A, q: Any, axis: Any = None, *, method: Any = "linear", keepdims: Any = False, **options: Any
) -> A:
    """`numpy.quantile` over axes, by the order of at most 64 elements."""
    if not set(options) <= {"overwrite_input"} or kind_of(x) == "b":
        raise TypeError("np.quantile takes numbers, and q, axis, method and keepdims, with encrypted arrays")
    axes = axes_of(axis, x.ndim)
    last = _sorted(last_axis(x, axes), kind_of(x))
    count = last.shape[-1]
    # A quantile is a sum of ordered elements: NumPy's of 0, ..., 0, 1, ..., 1 are sums of the last weights.
    sums_of_weights = np.quantile(np.triu(np.ones((count, count))), q, 1, method=method)
    weights = -np.diff(sums_of_weights, axis=-1, append=0.0)
    found: A = matmul(last, weights.reshape(-1, count).T)
    type_of_few = np.quantile(np.zeros(2, x.dtype), q, method=method).dtype
    found = of_type(found, type_of_few) if type_of_few.kind == "i" else found

    def placed(y: Any) -> Any:
        first = np.moveaxis(y, -1, 0)
        return first.reshape((*np.shape(q), *(kept_shape(x, axes) if keepdims else first.shape[1:])))

    return rearranged(found, placed)


def deviation(x: A, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> A:
    """The square root of the variance."""
    return named(variance(x, axis, ddof=ddof, keepdims=keepdims), "sqrt")


def norm(x: A, ord: Any = None, axis: Any = None, keepdims: bool = False) -> A:  # noqa: A002
    """`numpy.linalg.norm` of vectors with ord None, 1, 2 or inf, and of matrices with None or "fro".

    Raises:
        ParameterError: for others.
    """
    axes = axes_of(axis, x.ndim)
    is_plain = ord is None and (axis is None or len(axes) < 3)
    if is_plain or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return named(total(x.square(), axis, keepdims=keepdims), "sqrt")
    if len(axes) == 1 and ord in (1, np.inf):
        return of_kind((total if ord == 1 else most)(absolute(x), axis, keepdims=keepdims), "f")
    raise ParameterError(f"the norm of order {ord!r} over {len(axes)} axes is not there: see docs/compile.md")


def covariances(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None) -> Any:
    """`numpy.cov` of variables and observations, without weights.

    Raises:
        ParameterError: for more than two axes, and a divisor that is not positive.
    """
    rows = _variables(m, y, rowvar)
    count = rows.shape[1]
    divisor = count - (ddof if ddof is not None else 0 if bias else 1)
    if divisor <= 0:
        raise ParameterError(
            f"np.cov of {count} observations, with ddof={count - divisor}: give more of them"
        )
    apart = rows - mean(rows, 1, keepdims=True)
    found = matmul(apart, rearranged(apart, np.transpose)) * (1 / divisor)
    return rearranged(found, np.squeeze)


def _variables(m: Any, y: Any, rowvar: bool) -> Any:
    """A row for each variable. ParameterError for more axes, MismatchError for other observations."""
    given = [m] if y is None else [m, y]
    if any(len(np.shape(each)) > 2 for each in given):
        raise ParameterError("cov and corrcoef take arrays of at most two axes: variables and observations")

    def rows(at: int, values: Any) -> Any:
        # As NumPy since 2.2: one row of `m` is turned, and of `y` it is not.
        is_turned = not rowvar and values.ndim == 2 and (at == 0 or len(values) > 1)
        return values.T if is_turned else np.atleast_2d(values)

    counts = {rows(at, np.empty(np.shape(each))).shape[1] for at, each in enumerate(given)}
    if len(counts) > 1:
        raise MismatchError(f"variables of {' and '.join(map(str, sorted(counts)))} observations do not fit")
    return moved(given, lambda *parts: np.concatenate([rows(at, each) for at, each in enumerate(parts)]))


def correlations(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """`numpy.corrcoef`, by the inverse deviation of each variable.

    Raises:
        RangeError: where a variance can be 0, by the inputs' range or samples.
    """
    rows = _variables(x, y, rowvar)
    apart = rows - mean(rows, 1, keepdims=True)
    scaled = apart * reciprocal(named(variance(rows, 1, keepdims=True), "sqrt"))
    found = matmul(scaled, rearranged(scaled, np.transpose)) * (1 / rows.shape[1])
    return cast("Any", rearranged(found, np.squeeze))
