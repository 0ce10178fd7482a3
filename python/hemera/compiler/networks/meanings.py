"""The meaning of an operator of ONNX: the versions in which it is right, its function and its size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hemera.arrays.array import Array
from hemera.arrays.recorder import MOST_ELEMENTS
from hemera.errors import FormatError, ParameterError


class Attributes(dict[str, Any]):
    """Attributes of a node by name, those that are left out with the values that ONNX's schema gives."""

    results: int = 1
    """The number of results that the node makes."""
    kind: str = ""
    """The type of its tensor; "": it has none."""


Operator = Callable[..., Any]
"""Called with the attributes and the operands, None for those that are left out."""
Run = Callable[..., Sequence[Any]]
"""Runs the graph of an attribute for its inputs, and returns its results."""


NEWEST = 28
"""The version of ONNX to whose schemas meanings have been compared: what changes later is not known."""


@dataclass(frozen=True)
class Meaning:
    """An operator, in versions that mean the same.

    Args:
        run: on arrays, encrypted and plain.
        since: the version of ONNX from which on it is as here, to the next one in the table.
        takes: which encrypted values it is right for: "reals"; "integers", too; "all", truth values too.
        results: that are there of those that ONNX has.
        runs: whether `run` takes the graphs of attributes, as `Run` by name, and all operands in a list.
        masks: whether it takes encrypted values with masks (`Masked`), and -inf next to encrypted values.
    """

    run: Operator
    since: int = 1
    takes: Literal["reals", "integers", "all"] = "reals"
    results: int = 1
    masks: bool = False
    runs: bool = False


Meanings = Mapping[str, tuple[Meaning, ...]]
"""Meanings by the names of operators in ONNX's own domain, the older one first."""


def named(function: Callable[..., Any]) -> Operator:
    """A function that encrypted arrays have."""
    return lambda _, *xs: function(*xs)


def plain(value: Any, what: str) -> Any:
    """A value that must not be encrypted."""
    if isinstance(value, Array):
        raise ParameterError(f"{what} must be plain: it depends on the input, which is encrypted")
    return value


def integers(value: Any, what: str) -> list[int]:
    """The numbers of a plain value."""
    return [int(each) for each in np.asarray(plain(value, what)).reshape(-1).tolist()]


def listed(attributes: Attributes, name: str, operand: Any) -> Any:
    """Integers of an operand, or of the attribute that older versions have in its place; None: neither."""
    return attributes.get(name) if operand is None else integers(operand, f"`{name}`")


def from_the_first(x: Any, axis: int) -> int:
    """An axis of an array, or its number of axes, from 0 on. FormatError for others."""
    if not -x.ndim <= axis <= x.ndim:
        raise FormatError(f"axis {axis} of an array of shape {x.shape}")
    return axis + x.ndim if axis < 0 else axis


def bounded(shape: Iterable[int]) -> tuple[int, ...]:
    """A shape that is not too large to make."""
    own: Sequence[int] = tuple(int(each) for each in shape)
    if any(extent < 0 for extent in own) or math.prod(own) > MOST_ELEMENTS:
        raise ParameterError(
            f"an array of shape {tuple(own)} can not be made: {8 * math.prod(own)} bytes, and at most "
            f"{MOST_ELEMENTS} elements are"
        )
    return tuple(own)
