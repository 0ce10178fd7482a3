"""Values that come near 0 below roots, in logarithms and divisors: where, and what is added to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np

from hemera.arrays.operations import Affine, Apply, Multiply
from hemera.arrays.recorded import Recorded, number_of, recorder_of
from hemera.arrays.recorder import user_line
from hemera.arrays.tensor import TensorProgram
from hemera.circuits.elementary import reaches_zero
from hemera.errors import ParameterError, PrecisionError, RangeError

_FAR = 2.0**-6
"""Values from this part of the largest on are not."""
_STEEP = ("log", "reciprocal", "sqrt")

_A = TypeVar("_A", bound=Recorded)


@dataclass(frozen=True)
class Place:
    """A function that is steep near 0, by its name in `hemera.arrays.elementwise.named`, and its operand."""

    name: str
    where: str
    low: float
    high: float

    @property
    def is_in_midst(self) -> bool:
        """Whether 0 is further in the range than errors bring it there."""
        return self.low < -_FAR * self.high


class NearZeroError(RangeError):
    """A range has 0 in it, of which a function is not defined."""

    places: tuple[Place, ...] = ()
    """Where a number may be added."""


class NearZeroPrecisionError(PrecisionError):
    """Values come so near 0 that a function of them has not the bits that were asked for."""

    places: tuple[Place, ...] = ()
    """Where a number may be added."""


_added: ContextVar[Mapping[tuple[str, str], float]] = ContextVar("added", default={})  # noqa: B039


@contextmanager
def adding(numbers: Mapping[tuple[str, str], float]) -> Iterator[None]:
    """Within it, this thread's programs add numbers to operands, by functions and lines."""
    token = _added.set(numbers)
    try:
        yield
    finally:
        _added.reset(token)


def adds_numbers() -> bool:
    """Whether programs of this thread add numbers, and so differ from their functions."""
    return bool(_added.get())


def kept_from_zero(x: _A, name: str) -> _A:
    """The operand of a function, with the number that is added there, if there is one."""
    numbers = _added.get()
    number = numbers.get((name, user_line())) if numbers else None
    if number is None:
        return x
    if Place(name, "", *x.range).is_in_midst:
        x = cast("_A", np.maximum(x, 0.0))
    return x + number


def places_of(x: Recorded, name: str) -> tuple[Place, ...]:
    """The place of a function of values; of a divisor that is a product of roots, those of the roots."""
    program = recorder_of(x).program
    roots: list[Place] = []
    left = [number_of(x)] if name == "reciprocal" else []
    while left:
        node = program.nodes[left.pop()]
        own = node.operation
        if isinstance(own, Apply) and own.function.name == "sqrt":
            roots.append(Place("sqrt", node.where, *program.nodes[node.operands[0]].range))
        elif isinstance(own, Multiply) or (isinstance(own, Affine) and len(own.maps) == 1):
            left += node.operands
        else:
            left, roots = [], []
    return tuple(roots) or (Place(name, user_line(), *x.range),)


def near_zero(error: ParameterError, x: Recorded, name: str) -> ParameterError:
    """The error of a function of values: of one that is steep near 0, where values come near it, with its
    place."""
    low, high = x.range
    if name not in _STEEP or not low <= _FAR * high:
        return error
    found = NearZeroPrecisionError(str(error))
    found.places = places_of(x, name)
    return found


def roots_near_zero(program: TensorProgram) -> tuple[Place, ...]:
    """The roots of a program whose operands reach 0, or nearly."""
    found = []
    for node in program.nodes:
        if isinstance(node.operation, Apply) and node.operation.function.name == "sqrt":
            low, high = program.nodes[node.operands[0]].range
            if reaches_zero(low, high):
                found.append(Place("sqrt", node.where, low, high))
    return tuple(dict.fromkeys(found))
