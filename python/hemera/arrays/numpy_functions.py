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
    running,
    statistics,
)
from hemera.arrays.numpy_moves import FIRST_NAMES, MOVING, encrypted_in, move, present, require_kind, shared
from hemera.arrays.numpy_ufuncs import refused
from hemera.arrays.pieces import chosen, interpolated
from hemera.arrays.recorded import (
    DTYPES,
    Recorded,
    as_numbers,
    axes_of,
    broadcast,
    encrypted,
    kind_of,
    moved,
    needs_values,
    of_kind,
    promoted,
    rearranged,
)
from hemera.arrays.spectra import TRANSFORMS
from hemera.errors import ParameterError
from hemera.inputs.plain import plain_array, refuse_missing

Function = Callable[..., Any]

_ABSENT: Any = np._NoValue
"""The defaults of NumPy's options."""


def _pad(x: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap"):
        raise TypeError(
            f"np.pad: mode {mode!r} is not taken; constant, edge, reflect, symmetric and wrap are"
        )
    if mode != "constant":
        if options.get("reflect_type", "even") != "even":
            raise TypeError("np.pad: reflect_type='odd' is not taken")
        return rearranged(x, lambda y: np.pad(y, pad_width, mode, **options))
    require_kind("np.pad", x, *options.values())
    plain: dict[str, Any] = {name: plain_array(each, "np.pad", np.float64) for name, each in options.items()}
    around = np.pad(np.zeros(x.shape), pad_width, "constant", **plain)
    found = rearranged(x, lambda y: np.pad(y, pad_width))
    return of_kind(as_numbers(found) + around, kind_of(x)) if around.any() else found


def _average(
    x: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    if returned:
        raise TypeError("np.average takes axis, weights and keepdims with encrypted arrays")
    if weights is None:
        return arithmetic.mean(x, axis, keepdims=keepdims)
    plain = plain_array(weights, "np.average", np.float64)
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
            before, after = (rearranged(x, functools.partial(np.delete, obj=end, axis=at)) for end in (-1, 0))
            x = arithmetic.one_of(after, before)
        return x
    found = linear_algebra.along_axis(x, np.diff(np.eye(x.shape[at]), n, axis=0), at)
    return of_kind(found, kind_of(x))


def _ediff1d(ary: Any) -> Any:
    x = rearranged(ary, np.ravel)
    return rearranged(x, lambda y: y[1:]) - rearranged(x, lambda y: y[:-1])


def _polyval(p: Any, x: Any) -> Any:
    """As `numpy.polyval`: the highest power first."""
    if isinstance(p, Recorded):
        if isinstance(x, Recorded) or p.ndim != 1:
            raise TypeError("np.polyval: encrypted coefficients, on one axis, go with plain points")
        points = plain_array(x, "np.polyval", DTYPES[kind_of(x)])[..., None]  # whole ones have whole powers
        return contraction.matmul(points ** np.arange(p.size)[::-1], p)
    plain = plain_array(p, "np.polyval", np.float64)
    if plain.ndim != 1 or not len(plain) or not np.isfinite(plain).all():
        raise TypeError("np.polyval takes finite coefficients on one axis, the highest power first")
    return of_kind(elementwise.polyval(plain[::-1], x), promoted(1, p, x))


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """`numpy.trace`."""
    return arithmetic.total(rearranged(x, lambda y: np.diagonal(y, offset, axis1, axis2)), -1)


def _cross(a: Any, b: Any, *, axis: int = -1) -> Any:
    """`numpy.cross` of vectors of 3 elements along the last axis."""
    if axis != -1 or np.shape(a)[-1:] != (3,) or np.shape(b)[-1:] != (3,):
        raise ParameterError("np.cross takes encrypted vectors of 3 elements along the last axis")
    (x, y), (z, w) = ([np.take(each, np.roll(range(3), turns), -1) for turns in (-1, -2)] for each in (a, b))
    return x * w - y * z


def _einsum(subscripts: Any, *operands: Any, optimize: Any = False, order: Any = "K") -> Any:
    del order
    if isinstance(optimize, (list, tuple)):
        raise TypeError("np.einsum takes no path with encrypted arrays: pairs are taken from the left")
    return contraction.einsum(subscripts, *operands)


def _where(condition: Any, *sides: Any) -> Any:
    if len(sides) != 2:
        raise needs_values("np.where with one argument asks for them")
    if isinstance(condition, Recorded):
        return chosen(condition, *sides)
    mask = np.asarray(condition, np.bool_)
    return moved(list(sides), lambda x, y: np.where(mask, x, y))


def _require_masks(name: str, masks: Sequence[Any]) -> None:
    wrong = next((each for each in masks if kind_of(each) != "b"), None)
    if wrong is not None:
        raise TypeError(f"{name} takes conditions of truth values, not of {DTYPES[kind_of(wrong)]}")


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(f"np.select: {len(condlist)} conditions and {len(choicelist)} choices")
    _require_masks("np.select", condlist)
    pairs = zip(condlist, choicelist, strict=True)
    return functools.reduce(lambda found, pair: _where(*pair, found), [*pairs][::-1], default)


def _piecewise(x: Any, condlist: Any, funclist: Any, *arguments: Any, **options: Any) -> Any:
    if not isinstance(x, Recorded):
        raise TypeError("np.piecewise takes an encrypted x, or np.select conditions of others")
    if isinstance(condlist, Recorded) and x.ndim > 1:
        raise ValueError("np.piecewise of several axes takes a list of conditions, as NumPy does")
    parts = condlist if isinstance(condlist, (list, tuple, np.ndarray)) else [condlist]
    if x.ndim and np.ndim(parts[0]) == 0 and not isinstance(parts[0], Recorded):  # one, as of NumPy
        parts = [np.asarray(parts, np.bool_)]
    masks = [each if isinstance(each, Recorded) else np.asarray(each, np.bool_) for each in parts]
    _require_masks("np.piecewise", masks)
    given = [each(x, *arguments, **options) if callable(each) else each for each in funclist]
    if {kind_of(each) for each in given} - {kind_of(x)} and kind_of(x) != "f":
        raise TypeError(f"np.piecewise rounds results to {x.dtype}, the type of x: take x * 1.0")
    pieces = [broadcast(as_numbers(encrypted(x, each)), x.shape) for each in given]
    if len(pieces) - len(masks) not in (0, 1):
        raise ValueError(f"np.piecewise: {len(masks)} conditions take as many functions, or one more")
    found = pieces.pop() if len(pieces) > len(masks) else x * 0
    for mask, piece in zip(masks, pieces, strict=True):
        found = _where(mask, piece, found)
    return of_kind(found, kind_of(x))


def taken(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """`numpy.take`, of plain indices."""
    refuse_missing(indices, "an index")
    if out is not None:
        raise TypeError("np.take takes no out with encrypted arrays")
    if isinstance(indices, Recorded):
        raise needs_values("an encrypted index asks for them; np.choose(index, [x0, x1, ...]) selects")
    return rearranged(a, lambda y: np.take(y, indices, axis, mode=mode))


def _choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    if out is not None or mode != "raise":
        raise TypeError("np.choose takes no out and no mode with encrypted arrays")
    if isinstance(a, Recorded):
        return counts.chosen(a, list(choices))
    places = np.asarray(a)
    return moved(list(choices), lambda *numbers: np.choose(places, numbers))


def _histogram(x: Any, bins: Any = 10, range: Any = None) -> Any:  # noqa: A002
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
    found = counts.bins_of(rearranged(v, np.atleast_1d), a, right=side == "left")
    return rearranged(found, lambda y: y.reshape(v.shape))


def _rounded(x: Any, decimals: int = 0) -> Any:
    kind = kind_of(np.round(np.zeros(1, x.dtype)))
    return comparisons.stepped(x, lambda values: np.round(values, decimals), 10.0**-decimals, kind)


def _spread(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return statistics.most(x, axis, keepdims=keepdims) - statistics.least(x, axis, keepdims=keepdims)


def _clip(
    a: Any,
    a_min: Any = _ABSENT,
    a_max: Any = _ABSENT,
    *,
    min: Any = _ABSENT,  # noqa: A002
    max: Any = _ABSENT,  # noqa: A002
) -> Any:
    given = [end is not _ABSENT for end in (a_min, a_max, min, max)]
    if given[0] != given[1] or (given[0] and (given[2] or given[3])):
        raise TypeError("np.clip takes a_min and a_max, None for no end, or min= and max=")
    ends = (a_min, a_max) if given[0] else (min, max)
    return elementwise.clip(a, *(None if end is _ABSENT else end for end in ends))


def _linear(function: Function) -> Function:
    """A linear function of its first argument."""

    def call(values: Any, /, *arguments: Any, **options: Any) -> Any:
        if kind_of(values) == "b":
            raise TypeError(f"np.{function.__name__} takes no truth values; mask * 1 has the numbers 0 and 1")
        x = of_kind(values, "f")
        try:
            return linear_algebra.linear(lambda y: function(y, *arguments, **options), x)
        except TypeError as error:
            raise TypeError(f"np.{function.__name__} with encrypted arrays: {error}") from None

    return call


_OF_FIRST: dict[Function, Function] = {
    np.all: comparisons.all_true,
    np.amax: statistics.most,
    np.amin: statistics.least,
    np.any: comparisons.any_true,
    np.argmax: statistics.place_of_most,
    np.argmin: statistics.place_of_least,
    np.argsort: statistics.argsort,
    np.average: _average,
    np.bincount: counts.values_counted,
    np.count_nonzero: comparisons.counted,
    np.cumprod: running.running_products,
    np.cumsum: running.running_sums,
    np.diff: _diff,
    np.digitize: counts.bins_of,
    np.ediff1d: _ediff1d,
    np.fix: lambda x: comparisons.stepped(x, np.fix, 1.0, kind_of(np.fix(np.zeros(1, x.dtype)))),
    np.gradient: _linear(np.gradient),
    np.histogram: _histogram,
    np.imag: lambda x: np.zeros(x.shape, x.dtype),
    np.isin: counts.is_in,
    np.linalg.det: linear_algebra.determinant,
    np.linalg.inv: linear_algebra.inverse,
    np.linalg.matrix_power: linear_algebra.matrix_power,
    np.linalg.norm: statistics.norm,
    np.max: statistics.most,
    np.mean: arithmetic.mean,
    np.median: statistics.median,
    np.min: statistics.least,
    np.nan_to_num: lambda x, *_, **__: x.copy(),
    np.ndim: lambda x: x.ndim,
    np.ones_like: lambda x, dtype=None: np.ones(x.shape, dtype or x.dtype),
    np.pad: _pad,
    np.percentile: lambda x, q, *more, **options: statistics.quantiles(
        x, np.true_divide(q, 100), *more, **options
    ),
    np.prod: arithmetic.product,
    np.ptp: _spread,
    np.quantile: statistics.quantiles,
    np.real: lambda x: x.real,
    **dict.fromkeys((np.around, np.round), _rounded),
    np.shape: lambda x: x.shape,
    np.size: lambda x, axis=None: x.size if axis is None else x.shape[axis],
    np.sort: statistics.sorted_along,
    np.std: statistics.deviation,
    np.sum: arithmetic.total,
    np.trace: trace,
    np.var: arithmetic.variance,
    np.zeros_like: lambda x, dtype=None: np.zeros(x.shape, dtype or x.dtype),
    **{function: _linear(function) for function in present("trapezoid")},
    # No value is NaN.
    np.nanmax: statistics.most,
    np.nanmean: arithmetic.mean,
    np.nanmedian: statistics.median,
    np.nanmin: statistics.least,
    np.nanprod: arithmetic.product,
    np.nanstd: statistics.deviation,
    np.nansum: arithmetic.total,
    np.nanvar: arithmetic.variance,
}
"""Functions whose first argument is the encrypted array, and no other one is."""

COMPUTING: dict[Function, Function] = {
    **_OF_FIRST,
    np.choose: _choose,
    np.clip: _clip,
    np.convolve: linear_algebra.convolve,
    np.corrcoef: statistics.correlations,
    np.correlate: linear_algebra.correlate,
    np.cov: statistics.covariances,
    np.cross: _cross,
    np.dot: contraction.dot,
    np.einsum: _einsum,
    np.inner: contraction.inner,
    np.interp: interpolated,
    np.kron: contraction.kron,
    np.linalg.multi_dot: linear_algebra.multi_dot,
    np.linalg.solve: linear_algebra.solution,
    np.outer: contraction.outer,
    np.piecewise: _piecewise,
    np.polyval: _polyval,
    np.searchsorted: _searchsorted,
    np.select: _select,
    np.take: taken,
    np.tensordot: contraction.tensordot,
    np.vdot: contraction.vdot,
    np.where: _where,
    **TRANSFORMS,
}
"""Functions that compute, and those of shapes."""


def of_function(function: Function, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The result of NumPy's `__array_function__`. TypeError for functions and options that are not there, and
    ParameterError for missing values."""
    refuse_missing([*arguments, *options.values()], f"np.{function.__name__}")
    if function in COMPUTING:
        arguments, options = _taken(function, COMPUTING[function], arguments, dict(options))
        found = COMPUTING[function](*arguments, **options)
        # An array of its own: arrays change in place.
        found = found.copy() if any(found is each for each in arguments) else found
        return shared(function, arguments, found)
    if function in MOVING:
        return move(function, arguments, options)
    raise TypeError(refused(f"np.{function.__name__}"))


def _taken(
    function: Function, own: Function, arguments: Sequence[Any], options: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments that a function takes for one of NumPy's, without the defaults of others. TypeError for
    other arguments, and for encrypted ones in the place of plain ones."""
    name = f"np.{function.__name__}"
    is_first = function in _OF_FIRST
    if is_first and not arguments:
        arguments = [options.pop(key) for key in FIRST_NAMES if key in options]
    signature = inspect.signature(own)
    known = signature.parameters
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known.values())
    options = {key: each for key, each in options.items() if each is not _ABSENT}
    if not takes_any:
        options = {key: each for key, each in options.items() if each is not None or key in known}
    unknown = [] if takes_any else [key for key in options if key not in known]
    if unknown:
        raise TypeError(f"{name} takes no {', '.join(unknown)} with encrypted arrays")
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        raise TypeError(f"{name} with encrypted arrays: {error}") from None
    if is_first and not isinstance(arguments[0], Recorded):
        raise TypeError(f"{name}: the first argument is the encrypted array")
    if is_first and any(True for _ in encrypted_in([*arguments[1:], *options.values()])):
        raise needs_values(f"{name} asks for them")
    return arguments, options
