"""NumPy's functions of encrypted arrays: what `numpy.mean(x)` and the like do."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hemera.arrays import (
    arithmetic,
    comparisons,
    contraction,
    counts,
    elementwise,
    linear_algebra,
    statistics,
)
from hemera.arrays.numpy_moves import (
    FIRST_NAMES,
    MOVING,
    encrypted_in,
    move,
    present,
    refuse,
    require_kind,
    shared,
)
from hemera.arrays.numpy_ufuncs import refused
from hemera.arrays.pieces import chosen
from hemera.arrays.recorded import (
    DTYPES,
    Recorded,
    are_truths,
    as_numbers,
    axes_of,
    kind_of,
    moved,
    needs_values,
    of_kind,
    of_numbers,
    reduced,
)
from hemera.inputs.plain import refuse_missing

Function = Callable[..., Any]

_ABSENT = np._NoValue
"""The defaults of NumPy's options."""


def _reduction(function: Function, name: str, *taken: str) -> Function:
    """A function over axes: NumPy's options that are taken, by name."""

    def reduce(x: Any, axis: Any = None, **options: Any) -> Any:
        others = {key: each for key, each in options.items() if key not in (*taken, "keepdims", "axis")}
        refuse(getattr(np, name), others, *others)
        chosen = {key: each for key, each in options.items() if key in taken and each is not _ABSENT}
        if options.get("keepdims", False) is not _ABSENT:
            chosen["keepdims"] = bool(options.get("keepdims", False))
        return function(x, axis, **chosen)

    return _of_first(reduce, name)


def _require_options(
    name: str, function: Function, arguments: Sequence[Any], options: Mapping[str, Any]
) -> None:
    """TypeError for arguments that the function does not take, by NumPy's names of them."""
    signature = inspect.signature(function)
    known = signature.parameters.values()
    if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known):
        unknown = [key for key in options if key not in signature.parameters]
        if unknown:
            raise TypeError(f"np.{name} takes no {', '.join(unknown)} with encrypted arrays")
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        raise TypeError(f"np.{name} with encrypted arrays: {error}") from None


def _of_first(function: Function, name: str) -> Function:
    """The function with its first argument by place or by name; TypeError unless it is encrypted."""

    def call(*arguments: Any, **options: Any) -> Any:
        if not arguments:
            own = next((key for key in FIRST_NAMES if key in options), None)
            arguments = (options.pop(own),) if own else ()
        _require_options(name, function, arguments, options)
        if not arguments or not isinstance(arguments[0], Recorded):
            raise TypeError(f"np.{name}: the first argument is the encrypted array")
        for value in (*arguments[1:], *options.values()):
            if any(True for _ in encrypted_in(value)):
                raise needs_values(f"np.{name} asks for them")
        return function(*arguments, **options)

    return call


def _pad(x: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap"):
        raise TypeError(
            f"np.pad: mode {mode!r} is not taken; constant, edge, reflect, symmetric and wrap are"
        )
    if mode != "constant":
        if options.get("reflect_type", "even") != "even":
            raise TypeError("np.pad: reflect_type='odd' is not taken")
        return moved([x], lambda y: np.pad(y, pad_width, mode, **options))
    require_kind("np.pad", x, *options.values())
    around = np.pad(np.zeros(x.shape), pad_width, "constant", **options)
    found = moved([x], lambda y: np.pad(y, pad_width))
    return of_kind(as_numbers(found) + around, kind_of(x)) if around.any() else found


def _average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False, **options: Any) -> Any:
    keepdims = bool(options.pop("keepdims", False) or False)
    if returned or options:
        raise TypeError("np.average takes axis, weights and keepdims with encrypted arrays")
    if weights is None:
        return arithmetic.mean(x, axis, keepdims=keepdims)
    plain = np.asarray(weights, np.float64)
    # NumPy's own checks, and its sum of weights.
    total = np.average(np.zeros(x.shape), axis, plain, returned=True, keepdims=True)[1]
    if plain.shape != x.shape:
        axes = axes_of(axis, x.ndim)
        plain = plain.transpose(np.argsort(axes))
        plain = plain.reshape([extent if at in axes else 1 for at, extent in enumerate(x.shape)])
    return arithmetic.total(x * (plain / total), axis, keepdims=keepdims)


def _diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    if n == 0:  # of any axis, as of NumPy
        return x.copy()
    (at,) = axes_of(operator.index(axis), x.ndim)
    if kind_of(x) == "b":  # where neighbours differ, as of NumPy
        for _ in range(n):
            before, after = (moved([x], functools.partial(np.delete, obj=end, axis=at)) for end in (-1, 0))
            x = arithmetic.one_of(after, before)
        return x
    found = linear_algebra.along_axis(x, np.diff(np.eye(x.shape[at]), n, axis=0), at)
    return of_kind(found, kind_of(x))


def _ediff1d(ary: Any) -> Any:
    x = moved([ary], np.ravel)
    return moved([x], lambda y: y[1:]) - moved([x], lambda y: y[:-1])


def running_sums(x: Any, axis: Any = None) -> Any:
    """`numpy.cumsum`."""
    along = None if axis is None else reduced(operator.index(axis), x)
    rows, at = (moved([x], np.ravel), 0) if along is None else (x, along)
    found = linear_algebra.along_axis(rows, np.tri(rows.shape[axes_of(at, rows.ndim)[0]]), at)
    return of_kind(found, of_numbers([kind_of(x)]))


def _polyval(p: Any, x: Any) -> Any:
    """As `numpy.polyval`: the highest power first."""
    if isinstance(p, Recorded):
        if isinstance(x, Recorded) or p.ndim != 1:
            raise TypeError("np.polyval: encrypted coefficients, on one axis, go with plain points")
        points = np.asarray(x, DTYPES[kind_of(x)])[..., None]  # whole ones have whole powers
        return contraction.matmul(points ** np.arange(p.size)[::-1], p)
    plain = np.asarray(p, np.float64)
    if plain.ndim != 1 or not len(plain) or not np.isfinite(plain).all():
        raise TypeError("np.polyval takes finite coefficients on one axis, the highest power first")
    return of_kind(elementwise.polyval(plain[::-1], x), of_numbers([kind_of(p), kind_of(x)]))


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """`numpy.trace`."""
    return arithmetic.total(moved([x], lambda y: np.diagonal(y, offset, axis1, axis2)), -1)


def _einsum(subscripts: Any, *operands: Any, **options: Any) -> Any:
    refuse(np.einsum, options, *(key for key in options if key not in ("optimize", "order")))
    if isinstance(options.get("optimize"), (list, tuple)):
        raise TypeError("np.einsum takes no path with encrypted arrays: pairs are taken from the left")
    return contraction.einsum(subscripts, *operands)


def _where(condition: Any, *sides: Any) -> Any:
    if len(sides) != 2:
        raise needs_values("np.where with one argument asks for them")
    if isinstance(condition, Recorded):
        return chosen(condition, *sides)
    mask = np.asarray(condition, np.bool_)
    return moved(list(sides), lambda x, y: np.where(mask, x, y))


def taken(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """`numpy.take`, of plain indices."""
    refuse_missing(indices, "an index")
    if out is not None:
        raise TypeError("np.take takes no out with encrypted arrays")
    if isinstance(indices, Recorded):
        raise needs_values("an encrypted index asks for them; np.choose(index, [x0, x1, ...]) selects")
    return moved([a], lambda y: np.take(y, indices, axis, mode=mode))


def _choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    if out is not None or mode != "raise":
        raise TypeError("np.choose takes no out and no mode with encrypted arrays")
    if isinstance(a, Recorded):
        return counts.chosen(a, list(choices))
    places = np.asarray(a)
    return moved(list(choices), lambda *numbers: np.choose(places, numbers))


def _histogram(x: Any, bins: Any = 10, range: Any = None, **options: Any) -> Any:  # noqa: A002
    refuse(np.histogram, options, *options)
    if np.ndim(bins) == 0:
        if range is None or isinstance(bins, str):
            raise needs_values("np.histogram asks for the least and the largest one, without edges or range=")
        edges = np.histogram_bin_edges(np.zeros(1), bins, range)
    else:
        edges = np.asarray(bins)
    return counts.bin_counts(x, edges), edges


def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if isinstance(a, Recorded) or sorter is not None:
        raise TypeError("np.searchsorted takes plain edges in order, and encrypted values")
    found = counts.bins_of(moved([v], np.atleast_1d), a, right=side == "left")
    return moved([found], lambda y: y.reshape(v.shape))


def _percentile(x: Any, q: Any, *arguments: Any, **options: Any) -> Any:
    return statistics.quantiles(x, np.true_divide(q, 100), *arguments, **options)


def _rounded(x: Any, decimals: int = 0) -> Any:
    kind = kind_of(np.round(np.zeros(1, x.dtype)))
    return comparisons.stepped(x, lambda values: np.round(values, decimals), 10.0**-decimals, kind)


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    low, high = x.range
    if weights is not None or low < -0.25 or not high < minlength - 0.5:
        raise TypeError(
            f"np.bincount of values from {low:g} to {high:g}: minlength must be above the largest one, and "
            "there are no weights"
        )
    return counts.values_counted(x, minlength)


def _clip(
    a: Any,
    a_min: Any = _ABSENT,
    a_max: Any = _ABSENT,
    *,
    min: Any = _ABSENT,  # noqa: A002
    max: Any = _ABSENT,  # noqa: A002
    **options: Any,
) -> Any:
    refuse(np.clip, options, *options)
    given = [end is not _ABSENT for end in (a_min, a_max, min, max)]
    if given[0] != given[1] or (given[0] and (given[2] or given[3])):
        raise TypeError("np.clip takes a_min and a_max, None for no end, or min= and max=")
    ends = (a_min, a_max) if given[0] else (min, max)
    return elementwise.clip(a, *(None if end is _ABSENT else end for end in ends))


def _linear(function: Function) -> Function:
    """A linear function of its first argument."""

    def call(values: Any, /, *arguments: Any, **options: Any) -> Any:
        _refuse_truths(function, values)
        try:
            return of_kind(linear_algebra.linear(lambda y: function(y, *arguments, **options), values), "f")
        except TypeError as error:
            raise TypeError(f"np.{function.__name__} with encrypted arrays: {error}") from None

    return _of_first(call, function.__name__)


def _refuse_truths(function: Function, x: Any) -> None:
    if are_truths(x):
        raise TypeError(f"np.{function.__name__} takes no truth values; mask * 1 has the numbers 0 and 1")


def _gradient(x: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    def gradient(y: Any) -> Any:
        return np.gradient(y, *spacing, axis=axis, edge_order=edge_order)  # type: ignore[call-overload]

    _refuse_truths(np.gradient, x)
    x = of_kind(x, "f")
    parts = gradient(np.zeros(x.shape))
    if not isinstance(parts, (list, tuple)):
        return linear_algebra.linear(gradient, x)
    found = []
    for at in range(len(parts)):
        found.append(linear_algebra.linear(functools.partial(lambda which, y: gradient(y)[which], at), x))
    return type(parts)(found)


def _like(value: float) -> Function:
    def like(x: Any, *_: Any, **options: Any) -> Any:
        refuse(np.zeros_like, options, *options)
        return np.full(x.shape, value, x.dtype)

    return like


COMPUTING: dict[Function, Function] = {
    np.all: _reduction(comparisons.all_true, "all"),
    np.amax: _reduction(statistics.most, "amax"),
    np.amin: _reduction(statistics.least, "amin"),
    np.any: _reduction(comparisons.any_true, "any"),
    np.argmax: _reduction(statistics.place_of_most, "argmax"),
    np.argmin: _reduction(statistics.place_of_least, "argmin"),
    np.argsort: _of_first(lambda x, axis=-1: statistics.argsort(x, axis), "argsort"),
    np.average: _of_first(_average, "average"),
    np.bincount: _of_first(_bincount, "bincount"),
    np.choose: _choose,
    np.clip: _clip,
    np.convolve: linear_algebra.convolve,
    np.corrcoef: statistics.correlations,
    np.correlate: linear_algebra.correlate,
    np.count_nonzero: _reduction(comparisons.counted, "count_nonzero"),
    np.cov: statistics.covariances,
    np.cumsum: _of_first(running_sums, "cumsum"),
    np.diff: _of_first(_diff, "diff"),
    np.digitize: _of_first(counts.bins_of, "digitize"),
    np.dot: contraction.dot,
    np.ediff1d: _of_first(_ediff1d, "ediff1d"),
    np.einsum: _einsum,
    np.gradient: _of_first(_gradient, "gradient"),
    np.histogram: _of_first(_histogram, "histogram"),
    np.inner: contraction.inner,
    np.isin: _of_first(counts.is_in, "isin"),
    np.kron: contraction.kron,
    np.linalg.det: _of_first(linear_algebra.determinant, "linalg.det"),
    np.linalg.inv: _of_first(linear_algebra.inverse, "linalg.inv"),
    np.linalg.matrix_power: _of_first(linear_algebra.matrix_power, "linalg.matrix_power"),
    np.linalg.multi_dot: linear_algebra.multi_dot,
    np.linalg.solve: linear_algebra.solution,
    np.percentile: _of_first(_percentile, "percentile"),
    np.quantile: _of_first(statistics.quantiles, "quantile"),
    np.linalg.norm: _of_first(statistics.norm, "linalg.norm"),
    np.max: _reduction(statistics.most, "max"),
    np.mean: _reduction(arithmetic.mean, "mean"),
    np.median: _reduction(statistics.median, "median"),
    np.min: _reduction(statistics.least, "min"),
    np.ndim: _of_first(lambda x: x.ndim, "ndim"),
    np.ones_like: _like(1),
    np.outer: contraction.outer,
    np.pad: _of_first(_pad, "pad"),
    np.polyval: _polyval,
    np.prod: _reduction(arithmetic.product, "prod"),
    np.shape: _of_first(lambda x: x.shape, "shape"),
    np.size: _of_first(lambda x, axis=None: x.size if axis is None else x.shape[axis], "size"),
    np.sort: _of_first(lambda x, axis=-1: statistics.sorted_along(x, axis), "sort"),
    np.std: _reduction(statistics.deviation, "std", "ddof"),
    np.sum: _reduction(arithmetic.total, "sum"),
    np.take: taken,
    np.tensordot: contraction.tensordot,
    np.trace: _of_first(trace, "trace"),
    np.var: _reduction(arithmetic.variance, "var", "ddof"),
    np.vdot: contraction.vdot,
    np.where: _where,
    np.zeros_like: _like(0),
    np.searchsorted: _searchsorted,
    np.real: _of_first(lambda x: x.real, "real"),
    np.imag: _of_first(lambda x: np.zeros(x.shape, x.dtype), "imag"),
    np.round: _of_first(_rounded, "round"),
    **{function: _linear(function) for function in present("trapezoid")},
}
"""Functions that compute, and those of shapes."""


def of_function(function: Function, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The result of NumPy's `__array_function__`. TypeError for functions that are not there, and
    ParameterError for missing values."""
    refuse_missing([*arguments, *options.values()], f"np.{function.__name__}")
    if function in COMPUTING:
        own = COMPUTING[function]
        _require_options(function.__name__, own, arguments, options)
        found = own(*arguments, **options)
        # An array of its own: arrays change in place.
        found = found.copy() if any(found is each for each in arguments) else found
        return shared(function, arguments, found)
    if function in MOVING:
        return move(function, arguments, options)
    raise TypeError(refused(f"np.{function.__name__}"))
