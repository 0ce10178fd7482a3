"""The time of each operation of a program by its level, from runs that are counted and a table of times."""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

import hemera
from hemera._process import cached_property
from hemera.objects.context import Context
from hemera.objects.cost import DryRun, FreshInput
from hemera.parameters import Parameters
from hemera.program.keys import top_level
from hemera.program.operations import Operation, Place, Running
from hemera.program.values import Form
from hemera.times.table import DeviceTimes

_MOST_PRICES = 1 << 14
"""The most prices that a table of times keeps."""
_OF_KEYS = 0.1
"""Keys count by this power of their number: half of them are worth 7 % of the time."""


def weighed(seconds: float, keys: int) -> float:
    """Seconds by which programs are compared: with many keys of rotations they count for more."""
    return seconds * math.pow(max(1, keys), _OF_KEYS)


class CostModel:
    """Seconds of operations on a device.

    An operation is counted at the lowest and at the highest level that it can have; in between, time is taken
    to grow evenly. What was counted once is known of all programs.

    Args:
        top, lowest: levels.
        device: the name of a table of times.
        requests: how many are computed at once.
    """

    def __init__(self, params: Parameters, top: int, lowest: int, device: str, requests: int = 1) -> None:
        self._params = params
        self._requests = requests
        self._top, self._lowest = top, lowest
        self._fresh = top_level(params)
        self._times = DeviceTimes.find(device)

    @cached_property
    def _dry(self) -> DryRun:
        return DryRun(Context(self._params, "ledger", threads=1))

    def bootstrap(self, plan: hemera.circuits.Bootstrap) -> float:
        """Seconds of a bootstrap."""
        return self._times.seconds(plan._native.cost)

    def of(self, operation: Operation, forms: Sequence[Form]) -> Callable[[int], float]:
        """Seconds of an operation on operands of these forms, by their level."""
        low, high = self._lowest + operation.depth, self._top
        if low > high:
            return lambda _: np.inf
        ends = [self._at(operation, forms, level) for level in (low, high)]
        slope = (ends[-1] - ends[0]) / max(1, high - low)
        return lambda level: max(0.0, ends[0] + slope * (level - low))

    def least(self, operation: Operation, forms: Sequence[Form]) -> float:
        """Seconds of an operation at the lowest level that it can have."""
        return self._at(operation, forms, self._lowest + operation.depth)

    def _at(self, operation: Operation, forms: Sequence[Form], level: int) -> float:
        if level > self._fresh:
            return math.inf

        def circuit() -> Callable[..., Any]:
            alike = operation.without_values()
            plan = alike.plan(Place(self._params, level, forms[0]))
            return lambda *xs: alike.run(Running(xs[0].evaluator, plan), *_lowered(xs, level))

        lead = (self._requests,) if self._requests > 1 else ()
        shapes = tuple((*lead, *form.shape, form.slots) for form in forms)
        own = self._counted((*timed_by(operation), level), circuit, shapes)
        if level == self._fresh:
            return max(0.0, own)
        # Operands of a program are at their level already.
        return max(0.0, own - self._counted(level, lambda: lambda *xs: _lowered(xs, level), shapes))

    def _counted(
        self, key: Hashable, make: Callable[[], Callable[..., Any]], shapes: Sequence[tuple[int, ...]]
    ) -> float:
        """Seconds of a circuit on fresh ciphertexts, by what decides it."""
        prices, key = self._times.prices, (self._params, key, shapes)
        found = prices.get(key)
        if found is None:
            if len(prices) >= _MOST_PRICES:
                prices.clear()
            circuit = make()
            cost = self._dry.cost(lambda _: circuit, [*map(FreshInput, shapes)], times=self._times)
            found = prices[key] = cost.seconds or 0.0
        return found


def _lowered(xs: Sequence[Any], level: int) -> list[Any]:
    return [x.evaluator.at_level(x, level) if x.level > level else x for x in xs]


def timed_by(operation: Operation) -> tuple[Hashable, ...]:
    """What decides the time of an operation, at a level, of operands of given forms."""
    return (type(operation), *(_told(operator.attrgetter(name)(operation)) for name in operation.timed_by))


def _told(value: Any) -> Hashable:
    """A field as times depend on it: an array of indices whole, an array of numbers by which are 0."""
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    if not isinstance(value, np.ndarray):
        return value  # type: ignore[no-any-return]
    own = value if value.dtype.kind == "i" else value != 0
    return value.shape, value.dtype.kind, hashlib.sha256(own.tobytes()).digest()
