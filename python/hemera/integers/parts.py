"""Operations on many vectors, some of them at a time, and what they leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from hemera.integers.bounded import Bounded, joined

MOST_VECTORS = 8
"""Vectors at a time: a product of 64 bits has 6 GB of values in between then, and takes 5 % longer than with
twice as many on an H200, by count."""


class _Engine(Protocol):
    def left(self, x: Bounded) -> Bounded: ...


P = ParamSpec("P")
Engine = TypeVar("Engine", bound=_Engine)
Found = TypeVar("Found", bound=Bounded | tuple[Bounded, ...] | list[Bounded])


def in_parts(operation: Callable[Concatenate[Engine, P], Found]) -> Callable[Concatenate[Engine, P], Found]:
    """The operation, whose operands have equal numbers of vectors, on `MOST_VECTORS` of them at a time. Only
    the last part has an odd number, as refreshes take two at once.

    Results are such that every operation can follow (`margins`).
    """

    @wraps(operation)
    def run(engine: Engine, /, *given: P.args, **options: P.kwargs) -> Found:
        vectors = max(x.value.shape[0] for x in given if isinstance(x, Bounded))
        count = -(-vectors // MOST_VECTORS)
        if count == 1:
            return _left(engine, operation(engine, *given, **options))
        pairs = -(-vectors // 2)
        borders = [2 * (pairs * i // count) for i in range(count + 1)]
        found = []
        for part in map(slice, borders, borders[1:]):
            # One that is given twice, as for a square, still is one.
            cut = {id(x): x[part] for x in given if isinstance(x, Bounded)}
            parts: Any = [cut.get(id(x), x) for x in given]
            found.append(_left(engine, operation(engine, *parts, **options)))
        if isinstance(found[0], Bounded):
            return cast(Found, joined(cast(list[Bounded], found)))
        rows = cast(list[Sequence[Bounded]], found)
        return cast(Found, type(found[0])(joined(row) for row in zip(*rows, strict=True)))

    return run


def _left(engine: _Engine, found: Found) -> Found:
    """The results of an operation with an error that others take."""
    if isinstance(found, Bounded):
        return cast(Found, engine.left(found))
    return cast(Found, type(found)(engine.left(each) for each in found))
