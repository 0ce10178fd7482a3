"""NumPy's functions of encrypted arrays: what `numpy.mean(x)` and the like do."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hemera.arrays import comparisons, contraction, elementwise, order, statistics, sums
from hemera.arrays.kinds import DTYPES, are_truths, kind_of, of_numbers
from hemera.arrays.numpy_ufuncs import IN_PLACE, OTHERWISE
from hemera.arrays.recorded import Recorded, axes_of, moved, needs_values, reduced
from hemera.inputs.plain import refuse_missing

__all__ = ["COMPUTING", "MOVING", "of_function", "running_sums"]

Function = Callable[..., Any]


def _present(*names: str) -> tuple[Function, ...]:
    """Functions of NumPy's namespace, those that this version has."""
    return tuple(getattr(np, name) for name in names if hasattr(np, name))


MOVING: tuple[Function, ...] = (
    np.append,
    np.array_split,
    np.atleast_1d,
    np.atleast_2d,
    np.atleast_3d,
    np.block,
    np.broadcast_to,
    np.column_stack,
    np.compress,
    np.concatenate,
    np.copy,
    np.delete,
    np.diag,
    np.diagflat,
    np.diagonal,
    np.dsplit,
    np.dstack,
    np.expand_dims,
    np.extract,
    np.flip,
    np.fliplr,
    np.flipud,
    np.hsplit,
    np.hstack,
    np.insert,
    np.moveaxis,
    np.ravel,
    np.repeat,
    np.reshape,
    np.resize,
    np.roll,
    np.rollaxis,
    np.rot90,
    np.split,
    np.squeeze,
    np.stack,
    np.swapaxes,
    np.take_along_axis,
    np.tile,
    np.transpose,
    np.tril,
    np.triu,
    np.vsplit,
    np.vstack,
    *_present("matrix_transpose", "unstack"),
)
"""Functions that move elements, repeat them, leave them out, or fill up with zeros or plain numbers."""

_VIEWS = (
    np.array_split,
    np.atleast_1d,
    np.atleast_2d,
    np.atleast_3d,
    np.broadcast_to,
    np.diag,
    np.diagonal,
    np.diff,
    np.dsplit,
    np.expand_dims,
    np.flip,
    np.fliplr,
    np.flipud,
    np.hsplit,
    np.moveaxis,
    np.ravel,
    np.reshape,
    np.rollaxis,
    np.rot90,
    np.split,
    np.squeeze,
    np.swapaxes,
    np.transpose,
    np.vsplit,
    *_present("matrix_transpose", "unstack"),
)
"""Those whose results share the elements of their operand in NumPy."""

_PLACES: dict[Function, tuple[tuple[int | str, ...], ...]] = {
    np.append: ((0, "arr"), (1, "values")),
    np.insert: ((0, "arr"), (2, "values")),
    np.compress: ((1, "a"),),
    np.extract: ((1, "arr"),),
    np.where: ((1, "x"), (2, "y")),
}
"""Arguments that hold elements, by place and by name, where that is not the first one alone."""
_NAMES = ("a", "ary", "arr", "array", "arrays", "element", "m", "tup", "v", "x")
"""Names of the first argument."""


def _encrypted_in(value: Any) -> Iterator[Recorded]:
    """The encrypted arrays in an argument."""
    if isinstance(value, Recorded):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _encrypted_in(part)


def _is_nested(value: Any, deep: bool) -> bool:
    """Whether an argument is a sequence of arrays; `deep`: as each list is."""
    sequence = isinstance(value, list if deep else (list, tuple))
    return sequence and (deep or any(True for _ in _encrypted_in(value)))


def _leaves(value: Any, deep: bool) -> list[Any]:
    """The arrays of an argument, which may be a nested sequence of them."""
    return [each for part in value for each in _leaves(part, deep)] if _is_nested(value, deep) else [value]


def _with_leaves(value: Any, leaves: Iterator[Any], deep: bool) -> Any:
    """The argument with others in place of its arrays."""
    if _is_nested(value, deep):
        return type(value)([_with_leaves(each, leaves, deep) for each in value])
    return next(leaves)


def _refuse(function: Function, options: Mapping[str, Any], *names: str) -> None:
    """TypeError for options that are given, and not None."""
    given = [name for name in names if options.get(name) is not None]
    if given:
        raise TypeError(f"np.{function.__name__} takes no {', '.join(given)} with encrypted arrays")


def _move(function: Function, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A function of MOVING, of encrypted arrays and plain ones beside them in one argument."""
    _refuse(function, options, "out", "dtype", "casting")
    keys = _data_keys(function, arguments, options)
    given: dict[int | str, Any] = dict(enumerate(arguments))
    given.update(options)
    for key, value in given.items():
        if key not in keys and any(True for _ in _encrypted_in(value)):
            raise needs_values(f"np.{function.__name__} asks for them in {key!r}")
    deep = function is np.block
    arrays = [leaf for key in keys for leaf in _leaves(given[key], deep)]
    if function is np.insert:
        _require_kind("np.insert", *arrays)

    def call(*numbers: Any) -> Any:
        rest = iter(numbers)
        new = {key: _with_leaves(given[key], rest, deep) for key in keys}
        return function(
            *(new.get(at, each) for at, each in enumerate(arguments)),
            **{name: new.get(name, each) for name, each in options.items()},
        )

    return _shared(function, arrays, moved(arrays, call))


def _shared(function: Function, arrays: Sequence[Any], found: Any) -> Any:
    """The result, known to share its elements with the arguments where NumPy's does."""
    if function in _VIEWS:
        for each in (*_encrypted_in(list(arrays)), *_encrypted_in(found)):
            each._is_shared = True
    return found


def _require_kind(name: str, x: Any, *others: Any) -> None:
    """TypeError for plain or encrypted values that NumPy would make values of x's kind: 0.5 a whole 0."""
    order = "bif".index
    for each in others:
        if order(kind_of(each)) > order(kind_of(x)):
            if kind_of(x) == "i" and next(_encrypted_in([x, *others]))._recorder.is_exact:
                continue  # which refuses fractions
            kinds = (DTYPES[kind_of(each)], DTYPES[kind_of(x)])
            raise TypeError(f"{name} makes {kinds[1]} of {kinds[0]} in NumPy; x.astype has other types")


def _data_keys(function: Function, arguments: Sequence[Any], options: Mapping[str, Any]) -> list[int | str]:
    """Places or names of the arguments that hold elements."""
    places = _PLACES.get(function, ((0, *_NAMES),))
    return [
        key
        for names in places
        for key in names
        if (key < len(arguments) if isinstance(key, int) else key in options)
    ]


# --- Functions that compute. ---


def _reduction(function: Function, name: str, *taken: str) -> Function:
    """A function over axes: NumPy's options that are taken, by name."""

    def reduce(x: Any, axis: Any = None, **options: Any) -> Any:
        others = {key: each for key, each in options.items() if key not in (*taken, "keepdims", "axis")}
        _refuse(getattr(np, name), others, *others)
        chosen = {key: each for key, each in options.items() if key in taken and each is not np._NoValue}
        if options.get("keepdims", False) is not np._NoValue:
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
            own = next((key for key in _NAMES if key in options), None)
            arguments = (options.pop(own),) if own else ()
        _require_options(name, function, arguments, options)
        if not arguments or not isinstance(arguments[0], Recorded):
            raise TypeError(f"np.{name}: the first argument is the encrypted array")
        for value in (*arguments[1:], *options.values()):
            if any(True for _ in _encrypted_in(value)):
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
    _require_kind("np.pad", x, *options.values())
    around = np.pad(np.zeros(x.shape), pad_width, "constant", **options)
    found = moved([x], lambda y: np.pad(y, pad_width))
    return (found._as_numbers() + around)._of_kind(x._kind) if around.any() else found


def _average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False, **options: Any) -> Any:
    keepdims = bool(options.pop("keepdims", False) or False)
    if returned or options:
        raise TypeError("np.average takes axis, weights and keepdims with encrypted arrays")
    if weights is None:
        return sums.mean(x, axis, keepdims=keepdims)
    plain = np.asarray(weights, np.float64)
    # NumPy's own checks, and its sum of weights.
    total = np.average(np.zeros(x.shape), axis, plain, returned=True, keepdims=True)[1]
    if plain.shape != x.shape:
        axes = axes_of(axis, x.ndim)
        plain = plain.transpose(np.argsort(axes))
        plain = plain.reshape([extent if at in axes else 1 for at, extent in enumerate(x.shape)])
    return sums.total(x * (plain / total), axis, keepdims=keepdims)


def _diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    (at,) = axes_of(axis, x.ndim)
    if n == 0:
        return moved([x], lambda y: y)
    if x._kind == "b":  # where neighbours differ, as of NumPy
        for _ in range(n):
            before, after = (
                moved([x], functools.partial(_cut, at, own)) for own in (slice(-1), slice(1, None))
            )
            x = comparisons.one_of(after, before)
        return x
    found = contraction.along_axis(x, np.diff(np.eye(x.shape[at]), n, axis=0), at)
    return found._of_kind(x._kind)


def _cut(axis: int, part: slice, y: Any) -> Any:
    return np.moveaxis(np.moveaxis(y, axis, 0)[part], 0, axis)


def _ediff1d(ary: Any) -> Any:
    x = moved([ary], np.ravel)
    return moved([x], lambda y: y[1:]) - moved([x], lambda y: y[:-1])


def running_sums(x: Any, axis: Any = None) -> Any:
    """`numpy.cumsum`."""
    along = None if axis is None else reduced(operator.index(axis), x)
    rows, at = (moved([x], np.ravel), 0) if along is None else (x, along)
    found = contraction.along_axis(rows, np.tri(rows.shape[axes_of(at, rows.ndim)[0]]), at)
    return found._of_kind(of_numbers([x._kind]))


def _polyval(p: Any, x: Any) -> Any:
    """As `numpy.polyval`: the highest power first."""
    if isinstance(p, Recorded):
        if isinstance(x, Recorded) or p.ndim != 1:
            raise TypeError("np.polyval: encrypted coefficients, on one axis, go with plain points")
        return contraction.matmul(np.asarray(x, np.float64)[..., None] ** np.arange(p.size)[::-1], p)
    plain = np.asarray(p, np.float64)
    if plain.ndim != 1 or not len(plain) or not np.isfinite(plain).all():
        raise TypeError("np.polyval takes finite coefficients on one axis, the highest power first")
    return elementwise.polyval(plain[::-1], x)


def _trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return sums.total(moved([x], lambda y: np.diagonal(y, offset, axis1, axis2)), -1)


def _einsum(subscripts: Any, *operands: Any, **options: Any) -> Any:
    _refuse(np.einsum, options, "out", "dtype")
    if not isinstance(subscripts, str) or len(operands) != 2:
        raise TypeError("np.einsum takes subscripts as text and two operands, of which one is encrypted")
    return contraction.einsum(subscripts, *operands)


def _where(condition: Any, *sides: Any) -> Any:
    if len(sides) != 2:
        raise needs_values("np.where with one argument asks for them")
    if isinstance(condition, Recorded):
        return comparisons.selected(condition, *sides)
    mask = np.asarray(condition, np.bool_)
    return moved(list(sides), lambda x, y: np.where(mask, x, y))


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    if out is not None:
        raise TypeError("np.take takes no out with encrypted arrays")
    if isinstance(indices, Recorded):
        raise needs_values("np.take asks for its indices; np.choose(index, [x0, x1, ...]) selects")
    return moved([a], lambda y: np.take(y, indices, axis, mode=mode))


def _choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    if out is not None or mode != "raise":
        raise TypeError("np.choose takes no out and no mode with encrypted arrays")
    if isinstance(a, Recorded):
        return comparisons.chosen(a, list(choices))
    places = np.asarray(a)
    return moved(list(choices), lambda *numbers: np.choose(places, numbers))


def _histogram(x: Any, bins: Any = 10, range: Any = None, **options: Any) -> Any:  # noqa: A002
    _refuse(np.histogram, options, *options)
    if np.ndim(bins) == 0:
        if range is None:
            raise needs_values(
                "np.histogram without edges, or range=, asks for the least and the largest one"
            )
        edges = np.histogram_bin_edges(np.zeros(1), bins, range)
    else:
        edges = np.asarray(bins, np.float64)
    return comparisons.bin_counts(x, edges), edges


def _isin(element: Any, test_elements: Any, invert: bool = False) -> Any:
    found = comparisons.is_in(element, test_elements)
    return comparisons.negated(found) if invert else found


def _digitize(x: Any, bins: Any, right: bool = False) -> Any:
    return comparisons.bins_of(x, bins, right=right)


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    low, high = x.range
    if weights is not None or low < -0.25 or not high < minlength - 0.5:
        raise TypeError(
            f"np.bincount of values from {low:g} to {high:g}: minlength must be above the largest one, and "
            "there are no weights"
        )
    return comparisons.values_counted(x, minlength)


def _clip(a: Any, *ends: Any, **options: Any) -> Any:
    known = ("min", "max", "a_min", "a_max")
    _refuse(np.clip, options, *(name for name in options if name not in known))
    low, high = (*ends, None, None)[:2]
    low = options.get("min", options.get("a_min", low))
    high = options.get("max", options.get("a_max", high))
    return elementwise.clip(a, low, high)


def _linear(function: Function, *names: str) -> Function:
    """A linear function of its first argument. Names are those of options that are not taken."""

    def call(values: Any, /, *arguments: Any, **options: Any) -> Any:
        _refuse(function, options, *names)
        _refuse_truths(function, values)
        try:
            return contraction.linear(lambda y: function(y, *arguments, **options), values)._of_kind("f")
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
    x = x._of_kind("f")
    parts = gradient(np.zeros(x.shape))
    if not isinstance(parts, (list, tuple)):
        return contraction.linear(gradient, x)
    found = []
    for at in range(len(parts)):
        found.append(contraction.linear(functools.partial(lambda which, y: gradient(y)[which], at), x))
    return type(parts)(found)


def _like(value: float) -> Function:
    def like(x: Any, *_: Any, **options: Any) -> Any:
        _refuse(np.zeros_like, options, *options)
        return np.full(x.shape, value, x.dtype)

    return like


def _extent(x: Any, axis: Any = None) -> Any:
    return x.size if axis is None else x.shape[axis]


COMPUTING: dict[Function, Function] = {
    np.all: _reduction(comparisons.all_of, "all"),
    np.amax: _reduction(order.most, "amax"),
    np.amin: _reduction(order.least, "amin"),
    np.any: _reduction(comparisons.any_of, "any"),
    np.argmax: _reduction(order.place_of_most, "argmax"),
    np.argmin: _reduction(order.place_of_least, "argmin"),
    np.argsort: _of_first(lambda x, axis=-1: order.argsort(x, axis), "argsort"),
    np.average: _of_first(_average, "average"),
    np.bincount: _of_first(_bincount, "bincount"),
    np.choose: _choose,
    np.clip: _clip,
    np.convolve: contraction.convolve,
    np.corrcoef: statistics.correlations,
    np.correlate: contraction.correlate,
    np.count_nonzero: _reduction(comparisons.counted, "count_nonzero"),
    np.cov: statistics.covariances,
    np.cumsum: _of_first(running_sums, "cumsum"),
    np.diff: _of_first(_diff, "diff"),
    np.digitize: _of_first(_digitize, "digitize"),
    np.dot: contraction.dot,
    np.ediff1d: _of_first(_ediff1d, "ediff1d"),
    np.einsum: _einsum,
    np.gradient: _of_first(_gradient, "gradient"),
    np.histogram: _of_first(_histogram, "histogram"),
    np.inner: contraction.inner,
    np.isin: _of_first(_isin, "isin"),
    np.kron: contraction.kron,
    np.linalg.norm: _of_first(statistics.norm, "linalg.norm"),
    np.max: _reduction(order.most, "max"),
    np.mean: _reduction(sums.mean, "mean"),
    np.median: _reduction(order.median, "median"),
    np.min: _reduction(order.least, "min"),
    np.ndim: _of_first(lambda x: x.ndim, "ndim"),
    np.ones_like: _like(1),
    np.outer: contraction.outer,
    np.pad: _of_first(_pad, "pad"),
    np.polyval: _polyval,
    np.prod: _reduction(sums.product, "prod"),
    np.shape: _of_first(lambda x: x.shape, "shape"),
    np.size: _of_first(_extent, "size"),
    np.sort: _of_first(lambda x, axis=-1: order.sorted_along(x, axis), "sort"),
    np.std: _reduction(statistics.deviation, "std", "ddof"),
    np.sum: _reduction(sums.total, "sum"),
    np.take: _take,
    np.tensordot: contraction.tensordot,
    np.trace: _of_first(_trace, "trace"),
    np.var: _reduction(sums.variance, "var", "ddof"),
    np.vdot: contraction.vdot,
    np.where: _where,
    np.zeros_like: _like(0),
    **{function: _linear(function) for function in _present("trapezoid")},
}
"""Functions that compute, and those of shapes."""


def of_function(function: Function, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What NumPy's `__array_function__` gives. TypeError for functions that are not there, and ParameterError
    for missing values."""
    refuse_missing([*arguments, *options.values()], f"np.{function.__name__}")
    if function in COMPUTING:
        own = COMPUTING[function]
        _require_options(function.__name__, own, arguments, options)
        found = own(*arguments, **options)
        # An array of its own: arrays change in place.
        found = found.copy() if any(found is each for each in arguments) else found
        return _shared(function, arguments, found)
    if function in MOVING:
        return _move(function, arguments, options)
    raise TypeError(
        f"np.{function.__name__} takes no encrypted array: {_INSTEAD.get(function.__name__, OTHERWISE)}"
    )


_INSTEAD = {
    "ptp": "np.max(x) - np.min(x) is the same",
    "nonzero": "its shape depends on the values; np.count_nonzero counts, and x != 0 is a mask",
    "flatnonzero": "its shape depends on the values; np.count_nonzero counts, and x != 0 is a mask",
    "argwhere": "its shape depends on the values; np.count_nonzero counts, and x != 0 is a mask",
    "searchsorted": "np.digitize(values, edges) of plain edges is the same",
    "unique": "its shape depends on the values; np.bincount counts",
    "round": "it jumps; give inputs a step, hm.ArraySpec(shape, range=, step=), and round in the clear",
    **dict.fromkeys(("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"), IN_PLACE),
    "quantile": "np.sort(x) of few elements has it",
    "percentile": "np.sort(x) of few elements has it",
}
