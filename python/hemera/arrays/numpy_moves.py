"""NumPy's functions that move elements of encrypted arrays: `numpy.concatenate` and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hemera.arrays.recorded import DTYPES, Recorded, kind_of, moved, needs_values, recorder_of

Function = Callable[..., Any]


def present(*names: str) -> tuple[Function, ...]:
    """Functions of NumPy's namespace, those that this version has."""
    return tuple(getattr(np, name) for name in names if hasattr(np, name))


_MOVED_VIEWS: tuple[Function, ...] = (
    *(np.array_split, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_to, np.diag),
    *(np.diagonal, np.dsplit, np.expand_dims, np.flip, np.fliplr, np.flipud, np.hsplit, np.moveaxis),
    *(np.ravel, np.reshape, np.rollaxis, np.rot90, np.split, np.squeeze, np.swapaxes, np.transpose),
    np.vsplit,
    *present("matrix_transpose", "unstack"),
)
_VIEWS = (np.diff, *_MOVED_VIEWS)
"""Functions whose results share the elements of their operand in NumPy."""

MOVING: tuple[Function, ...] = (
    *_MOVED_VIEWS,
    *(np.append, np.block, np.column_stack, np.compress, np.concatenate, np.copy, np.delete),
    *(np.diagflat, np.dstack, np.extract, np.hstack, np.insert, np.repeat, np.resize, np.roll),
    *(np.stack, np.take_along_axis, np.tile, np.tril, np.triu, np.vstack),
)
"""Functions that move elements, repeat them, leave them out, or fill up with zeros or plain numbers."""

_PLACES: dict[Function, tuple[tuple[int | str, ...], ...]] = {
    np.append: ((0, "arr"), (1, "values")),
    np.insert: ((0, "arr"), (2, "values")),
    np.compress: ((1, "a"),),
    np.extract: ((1, "arr"),),
    np.where: ((1, "x"), (2, "y")),
}
"""Arguments that hold elements, by place and by name, where that is not the first one alone."""
FIRST_NAMES = ("a", "ary", "arr", "array", "arrays", "element", "m", "tup", "v", "x")
"""Names of the first argument."""


def encrypted_in(value: Any) -> Iterator[Recorded]:
    """The encrypted arrays in an argument."""
    if isinstance(value, Recorded):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from encrypted_in(part)


def _is_nested(value: Any, deep: bool) -> bool:
    """Whether an argument is a sequence of arrays; `deep`: as each list is."""
    sequence = isinstance(value, list if deep else (list, tuple))
    return sequence and (deep or any(True for _ in encrypted_in(value)))


def _leaves(value: Any, deep: bool) -> list[Any]:
    """The arrays of an argument, which may be a nested sequence of them."""
    return [each for part in value for each in _leaves(part, deep)] if _is_nested(value, deep) else [value]


def _with_leaves(value: Any, leaves: Iterator[Any], deep: bool) -> Any:
    """The argument with others in place of its arrays."""
    if _is_nested(value, deep):
        return type(value)([_with_leaves(each, leaves, deep) for each in value])
    return next(leaves)


def refuse(function: Function, options: Mapping[str, Any], *names: str) -> None:
    """TypeError for options that are given, and not None."""
    given = [name for name in names if options.get(name) is not None]
    if given:
        raise TypeError(f"np.{function.__name__} takes no {', '.join(given)} with encrypted arrays")


def move(function: Function, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A function of MOVING, of encrypted arrays and plain ones beside them in one argument."""
    refuse(function, options, "out", "dtype", "casting")
    if function in (np.ravel, np.reshape):
        if options.get("copy", True) is False:
            raise TypeError(
                "copy=False is for memory that arrays share: encrypted ones have none; leave it out"
            )
        require_order(options.get("order", arguments[-1]))
    keys = _data_keys(function, arguments, options)
    given: dict[int | str, Any] = dict(enumerate(arguments))
    given.update(options)
    for key, value in given.items():
        if key not in keys and any(True for _ in encrypted_in(value)):
            raise needs_values(f"np.{function.__name__} asks for them in {key!r}")
    deep = function is np.block
    arrays = [leaf for key in keys for leaf in _leaves(given[key], deep)]
    if function is np.insert:
        require_kind("np.insert", *arrays)

    def call(*numbers: Any) -> Any:
        rest = iter(numbers)
        new = {key: _with_leaves(given[key], rest, deep) for key in keys}
        return function(
            *(new.get(at, each) for at, each in enumerate(arguments)),
            **{name: new.get(name, each) for name, each in options.items()},
        )

    return shared(function, arrays, moved(arrays, call))


def require_order(order: Any) -> None:
    """TypeError for orders of elements that depend on where NumPy has them in memory."""
    if isinstance(order, str) and order.upper() in ("A", "K"):
        raise TypeError(f"order={order!r} depends on NumPy's memory: give order='C' or 'F'")


def shared(function: Function, arrays: Sequence[Any], found: Any) -> Any:
    """The result, known to share its elements with the arguments where NumPy's does."""
    if function in _VIEWS:
        for each in (*encrypted_in(list(arrays)), *encrypted_in(found)):
            each._is_shared = True
    return found


def require_kind(name: str, x: Any, *others: Any) -> None:
    """TypeError for plain or encrypted values that NumPy would make values of x's kind: 0.5 a whole 0."""
    order = "bif".index
    for each in others:
        if order(kind_of(each)) > order(kind_of(x)):
            if kind_of(x) == "i" and recorder_of(next(encrypted_in([x, *others]))).is_exact:
                continue  # which refuses fractions
            kinds = (DTYPES[kind_of(each)], DTYPES[kind_of(x)])
            raise TypeError(f"{name} makes {kinds[1]} of {kinds[0]} in NumPy; x.astype has other types")


def _data_keys(function: Function, arguments: Sequence[Any], options: Mapping[str, Any]) -> list[int | str]:
    """Places or names of the arguments that hold elements."""
    places = _PLACES.get(function, ((0, *FIRST_NAMES),))
    return [
        key
        for names in places
        for key in names
        if (key < len(arguments) if isinstance(key, int) else key in options)
    ]
