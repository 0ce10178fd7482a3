"""NumPy's functions of single elements (`numpy.ufunc`) of encrypted arrays, and errors for others."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hemera.arrays import (
    arithmetic,
    comparisons,
    contraction,
    elementwise,
    functions,
    powers,
    running,
    statistics,
)
from hemera.arrays.recorded import Recorded, as_numbers, kind_of, of_kind, recorder_of
from hemera.inputs.arguments import did_you_mean

_VALUES = (
    "its values are encrypted when the program runs; return it as a result, and take them after decryption"
)
IN_PLACE = (
    "encrypted arrays do not change so: write x = x + y in place of x += y, and np.where(mask, new, x), "
    "np.concatenate and np.insert make another one"
)
"""The advice of errors for functions that change arrays in place."""
_INSTEAD = {
    **dict.fromkeys(("data", "dump", "dumps", "item", "tobytes", "tofile", "tolist", "view"), _VALUES),
    **dict.fromkeys(("copyto", "fill", "fill_diagonal", "itemset", "place", "put"), IN_PLACE),
    **dict.fromkeys(("put_along_axis", "putmask", "resize", "setfield"), IN_PLACE),
    "argpartition": "np.argsort(x) has the order of few elements",
    **dict.fromkeys(("conj", "conjugate"), "its values are real: the array is its conjugate"),
    "imag": "its values are real",
    **dict.fromkeys(
        ("argwhere", "flatnonzero", "nonzero"),
        "the shape of its result depends on the values; np.count_nonzero counts, and x != 0 is a mask",
    ),
    "partition": "np.sort(x) makes a sorted array",
    "searchsorted": "np.digitize(values, x) of plain edges x is the same",
    "sort": "it changes the array in place; np.sort(x) makes a sorted one",
    "unique": "the shape of its result depends on the values; np.bincount counts",
}
"""What leads to the same, by names of methods and of functions of NumPy."""
_OTHERWISE = "docs/compile.md has the functions that do; x.approximated(f) is any function of one number"


def refused(function: str) -> str:
    """The error for a function of NumPy, or another library, that takes no encrypted array."""
    way = _INSTEAD.get(function.removeprefix("np."), _OTHERWISE)
    return f"{function} takes no encrypted array: {way}"


def missing(name: str, instance: object) -> AttributeError:
    """The error for an attribute that an encrypted array does not have."""
    own = type(instance)
    told = f"an encrypted array has no {name!r}"
    if name in _INSTEAD:
        told += f": {_INSTEAD[name]}"
    elif not name.startswith("_"):
        told += did_you_mean(name, (each for each in dir(own) if not each.startswith("_")))
        if hasattr(np.ndarray, name):
            told += ". docs/compile.md has the functions and methods of NumPy that there are"
    return AttributeError(told, name=name, obj=instance)


Function = Callable[..., Any]

_APPROXIMATED = (
    *(np.arccos, np.arccosh, np.arcsin, np.arcsinh, np.arctan, np.arctanh, np.cbrt, np.cos, np.cosh),
    *(np.exp2, np.expm1, np.log10, np.log1p, np.log2, np.sin, np.sinh, np.tan),
)


def _approximated(clear: np.ufunc) -> Function:
    return lambda x: elementwise.approximated(x, clear)


def _named(name: str) -> Function:
    return lambda x: elementwise.named(x, name)


def _logical(function: Function) -> Function:
    def operate(x: Any, other: Any) -> Any:
        y = comparisons.truths(other) if isinstance(other, Recorded) else np.asarray(other, np.bool_)
        return function(comparisons.truths(x), y)

    return operate


def _stepped(clear: np.ufunc) -> Function:
    """A function that jumps."""
    return lambda x: comparisons.stepped(x, clear, 1.0, kind_of(clear(np.zeros(1, x.dtype))))


def _shifted(operate: Function) -> Function:
    """A shift of whole numbers by plain ones."""

    def shift(x: Any, count: Any) -> Any:
        plain = np.asarray(count) if not isinstance(count, Recorded) else np.asarray(0.5)
        if "f" in (kind_of(x), kind_of(plain)) or not (plain >= 0).all():
            raise TypeError("encrypted whole numbers are shifted by plain ones from 0 on")
        return operate(x, 2**plain if plain.ndim else 2 ** int(plain))

    return shift


def _heaviside(x: Any, middle: Any) -> Any:
    found = as_numbers(comparisons.exceeds(x, 0)) + as_numbers(comparisons.equal(x, 0)) * middle
    return of_kind(found, "f")


def _reciprocal(x: Any) -> Any:
    if kind_of(x) != "f" and not recorder_of(x).is_exact:
        raise TypeError("np.reciprocal of whole numbers is whole in NumPy, 0 for all above 1; 1 / x is real")
    return elementwise.reciprocal(x)


_PARTS = (np.floor_divide, np.remainder)
"""The results of `divmod`."""

UFUNCS: dict[np.ufunc, Function] = {
    np.absolute: elementwise.absolute,
    np.add: arithmetic.plus,
    np.arctan2: powers.arctan2,
    np.bitwise_and: arithmetic.bitwise(arithmetic.both),
    np.bitwise_or: arithmetic.bitwise(arithmetic.either),
    np.bitwise_xor: arithmetic.bitwise(arithmetic.one_of),
    np.conjugate: lambda x: as_numbers(x),
    **dict.fromkeys((np.deg2rad, np.radians), lambda x: x * (np.pi / 180)),
    **dict.fromkeys((np.degrees, np.rad2deg), lambda x: x * (180 / np.pi)),
    np.divide: elementwise.divide,
    np.equal: comparisons.equal,
    np.exp: _named("exp"),
    np.fabs: lambda x: of_kind(elementwise.absolute(x), "f"),
    np.float_power: lambda x, y: of_kind(powers.power(x, y), "f"),
    np.divmod: lambda x, y: tuple(elementwise.by_number(each, x, y) for each in _PARTS),
    np.floor_divide: functools.partial(elementwise.by_number, np.floor_divide),
    np.greater: comparisons.exceeds,
    np.greater_equal: comparisons.reaches,
    np.heaviside: _heaviside,
    np.invert: arithmetic.inverted,
    np.less: lambda x, other: arithmetic.negated(comparisons.reaches(x, other)),
    np.less_equal: lambda x, other: arithmetic.negated(comparisons.exceeds(x, other)),
    np.log: _named("log"),
    np.isfinite: lambda x: np.full(x.shape, True),
    **dict.fromkeys((np.isinf, np.isnan), lambda x: np.full(x.shape, False)),
    np.hypot: lambda x, y: elementwise.named(np.square(x) + np.square(y), "sqrt"),
    np.left_shift: _shifted(operator.mul),
    np.logaddexp: lambda x, y: functions.softplus(x - y) + y,
    np.logical_and: _logical(arithmetic.both),
    np.logical_not: lambda x: arithmetic.negated(comparisons.truths(x)),
    np.logical_or: _logical(arithmetic.either),
    np.logical_xor: _logical(arithmetic.one_of),
    np.right_shift: _shifted(operator.floordiv),
    np.rint: _stepped(np.rint),
    np.matmul: contraction.matmul,
    **dict.fromkeys((np.fmax, np.maximum), elementwise.larger),
    **dict.fromkeys((np.fmin, np.minimum), elementwise.smaller),
    np.multiply: arithmetic.times,
    np.negative: arithmetic.negative,
    np.not_equal: comparisons.differs,
    np.positive: arithmetic.positive,
    np.power: powers.power,
    np.reciprocal: _reciprocal,
    **{each: functools.partial(elementwise.by_number, each) for each in (np.fmod, np.remainder)},
    np.sign: comparisons.sign,
    np.sqrt: _named("sqrt"),
    np.square: lambda x: x.square(),
    np.subtract: lambda x, y: arithmetic.plus(x, y, -1),
    np.tanh: _named("tanh"),
    **{function: _approximated(function) for function in _APPROXIMATED},
    **{function: _stepped(function) for function in (np.ceil, np.floor, np.trunc)},
}
"""NumPy's functions of single elements, of an encrypted array and another operand."""

REFLECTED: dict[np.ufunc, Function] = {
    np.arctan2: lambda x, y: powers.arctan2(y, x),
    np.divide: lambda x, other: arithmetic.times(elementwise.reciprocal(x), other),
    np.float_power: lambda x, base: of_kind(powers.raised(base, x), "f"),
    np.matmul: lambda x, other: contraction.matmul(other, x),
    np.power: lambda x, base: powers.raised(base, x),
    np.subtract: lambda x, other: arithmetic.plus(x, other, 1, -1),
}
"""The same with a plain operand at the left, but for functions that commute."""

_REDUCED: dict[np.ufunc, Function] = {
    np.add: arithmetic.total,
    np.multiply: arithmetic.product,
    np.maximum: statistics.most,
    np.minimum: statistics.least,
    np.logical_and: comparisons.all_true,
    np.logical_or: comparisons.any_true,
}

_RUNNING: dict[np.ufunc, Function] = {
    np.add: running.running_sums,
    np.multiply: running.running_products,
    np.maximum: running.running_most,
    np.minimum: running.running_least,
}


def of_ufunc(
    apply: Function, ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """The result of NumPy's `__array_ufunc__`. TypeError for functions that are not there.

    Args:
        apply: gives the function of single elements of operands.
    """
    name = _name_of(ufunc)
    if method == "at":
        raise TypeError(f"{name}.at: {IN_PLACE}")
    if method == "reduce" and ufunc in _REDUCED:
        others = [
            key for key, each in options.items() if key not in ("axis", "keepdims") and each is not None
        ]
        if others:
            raise TypeError(f"{name}.reduce takes no {', '.join(others)} with encrypted arrays")
        return _REDUCED[ufunc](
            inputs[0], options.get("axis", 0), keepdims=bool(options.get("keepdims", False))
        )
    if method == "outer" and len(inputs) == 2:
        a, b = inputs
        shape = (*np.shape(a), *(1,) * np.ndim(b))
        return of_ufunc(apply, ufunc, "__call__", (np.reshape(a, shape), b), options)
    if method == "accumulate" and ufunc in _RUNNING:
        if set(options) - {"axis"}:
            raise TypeError(f"{name}.accumulate takes no {', '.join(options)} but axis with encrypted arrays")
        if not np.ndim(inputs[0]):
            raise TypeError(f"{name}.accumulate of an array without axes: give one by np.ravel(x)")
        return _RUNNING[ufunc](*inputs, **{"axis": 0, **options} if len(inputs) == 1 else options)
    foreign = _foreign(ufunc)
    if method != "__call__" or (foreign is None and ufunc not in UFUNCS):
        raise TypeError(refused(name if method == "__call__" else f"{name}.{method}"))
    if options:
        way = f". {IN_PLACE}" if "out" in options else ""
        raise TypeError(f"{name} takes no {', '.join(options)} with encrypted arrays{way}")
    return foreign(*inputs) if foreign else apply(ufunc, *inputs)


_SAME = {"expit": functions.sigmoid, "erf": functions.erf}
"""Functions of SciPy by the names of their ufuncs."""


def _foreign(ufunc: np.ufunc) -> Function | None:
    """A function of one number of another library, as of SciPy: approximated by its own values; None for
    others."""
    if getattr(np, ufunc.__name__, None) is ufunc or (ufunc.nin, ufunc.nout) != (1, 1):
        return None
    return _SAME.get(ufunc.__name__) or _approximated(ufunc)


def _name_of(ufunc: np.ufunc) -> str:
    """As users write it: functions of other libraries, as of SciPy, have no module."""
    name = ufunc.__name__
    return f"np.{name}" if getattr(np, name, None) is ufunc else name
