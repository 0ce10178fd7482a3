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


def _mapped(value: Any, function: Callable[[Any], Any], deep: bool) -> Any:
    """An argument, which may be a nested sequence of arrays, with what a function gives in place of each;
    `deep`: as each list is one."""
    is_list = isinstance(value, list if deep else (list, tuple))
    if is_list and (deep or any(True for _ in encrypted_in(value))):
        return type(value)([_mapped(each, function, deep) for each in value])
    return function(value)


def move(function: Function, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A function of MOVING, of encrypted arrays and plain ones beside them in one argument."""
    name = f"np.{function.__name__}"
    refused = [key for key in ("out", "dtype", "casting") if options.get(key) is not None]
    if refused:
        raise TypeError(f"{name} takes no {', '.join(refused)} with encrypted arrays")
    if function in (np.ravel, np.reshape):
        if options.get("copy", True) is False:
            raise TypeError(
                "copy=False is for memory that arrays share: encrypted ones have none; leave it out"
            )
        require_order(options.get("order", arguments[-1]))
    given: dict[int | str, Any] = dict(enumerate(arguments))
    given.update(options)
    places = _PLACES.get(function, ((0, *FIRST_NAMES),))
    keys = [key for names in places for key in names if key in given]
    for key, value in given.items():
        if key not in keys and any(True for _ in encrypted_in(value)):
            raise needs_values(f"{name} asks for them in {key!r}")
    arrays: list[Any] = []
    for key in keys:
        _mapped(given[key], arrays.append, function is np.block)
    if function is np.insert:
        require_kind(name, *arrays)

    def call(*numbers: Any) -> Any:
        rest = iter(numbers)
        new = {key: _mapped(given[key], lambda _: next(rest), function is np.block) for key in keys}
        new = {**given, **new}
        return function(*(new[at] for at in range(len(arguments))), **{key: new[key] for key in options})

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
