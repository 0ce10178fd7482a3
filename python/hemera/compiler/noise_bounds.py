"""Worst-case bounds on the noise of a program's results, before there is a ciphertext.

A bound is on the root mean square of the slots' errors, as `Context.noise_bound` has it, of which one unit is
its bound of a fresh encryption and a rotation: no key switch with a rescale, and no fresh encryption, adds
more than a unit. docs/compile-algorithms.md has the rules. The bounds hold for values in their ranges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera.circuits import Function
from hemera.errors import ParameterError
from hemera.objects.context import Context
from hemera.parameters import Parameters
from hemera.program import operations as op
from hemera.program.program import Node, Program

__all__ = ["noise_bounds"]

_GRID = 1 << 14
"""Points of an interval at which slopes of functions are taken."""
_BETWEEN = 2.0
"""Factor of functions' bounds: for slopes between the points, and squares of errors."""
_DRIFT = 4.0
"""By which scales may be below the parameters'."""


@dataclass(frozen=True)
class _Value:
    largest: float
    """The largest magnitude in a slot."""
    error: float


def noise_bounds(
    program: Program, params: Parameters, inputs: Sequence[float], magnitudes: Mapping[int, float]
) -> list[float]:
    """A bound for each output of a CKKS program.

    Args:
        program: without bootstraps.
        params: that it runs with.
        inputs: the largest magnitude of each input.
        magnitudes: of values by their number, where ranges are closer than what follows from the inputs.

    Raises:
        ParameterError: for an operation of which no bound is known, such as a bootstrap.
        LevelError: where the parameters have too few levels.
    """
    levels = program.levels(params)
    bounds = _Bounds(program, params, levels)
    values: list[_Value] = [_Value(largest, bounds.unit) for largest in inputs]
    for number, node in enumerate(program.nodes):
        found = bounds.of(node, [values[at] for at in node.operands])
        at = len(program.inputs) + number
        values.append(_Value(min(found.largest, magnitudes.get(at, math.inf)), found.error))
    return [values[at].error + bounds.unit for at in program.outputs]


class _Bounds:
    """The rules, with some parameters."""

    def __init__(self, program: Program, params: Parameters, levels: Sequence[int]) -> None:
        self._program, self._params, self._levels = program, params, levels
        self.unit = Context(params, "ledger", threads=1).noise_bound(depth=0, largest=1)
        degree = params.degree
        # Encoded numbers: each coefficient is off by a half. It hides nothing, but results show it.
        self._scale = params._native.scale
        self._encoding = _DRIFT * math.sqrt(degree) / (2 * self._scale)
        self._slots = degree / 2

    def of(self, node: Node, xs: list[_Value]) -> _Value:
        operation = node.operation
        # Operands come down to a common level and scale first, which rounds them.
        xs = [_Value(x.largest, x.error + self.unit) for x in xs]
        if isinstance(operation, (op.Add, op.Subtract)):
            return _Value(sum(x.largest for x in xs), sum(x.error for x in xs))
        if isinstance(operation, (op.Negate, op.Rotate)):
            return _Value(xs[0].largest, xs[0].error + self.unit)
        if isinstance(operation, (op.AddNumber, op.AddArray)):
            added = operation.number if isinstance(operation, op.AddNumber) else operation.values
            return _Value(xs[0].largest + float(np.abs(added).max()), xs[0].error + self._encoding)
        if isinstance(operation, (op.MultiplyNumber, op.MultiplyArray)):
            by = operation.number if isinstance(operation, op.MultiplyNumber) else operation.values
            return self._scaled(xs[0], float(np.abs(by).max()))
        if isinstance(operation, op.Multiply):
            return self._product(xs[0], xs[1])
        if isinstance(operation, op.Power) and operation.exponent == 2:
            return self._product(xs[0], xs[0])
        if isinstance(operation, op.Map):
            return self._map(node, operation, xs[0])
        if isinstance(operation, (op.OfPolynomial, op.OfNamedFunction)):
            return self._function(node, operation.function, xs)
        raise ParameterError(
            f"share=True: the noise of {operation.name!r} has no worst-case bound, so results can not be "
            "shown to others; keep them to yourself without share=True, or write the function without it"
        )

    def _scaled(self, x: _Value, factor: float) -> _Value:
        return _Value(factor * x.largest, factor * x.error + self._encoding * x.largest + self.unit)

    def _product(self, a: _Value, b: _Value) -> _Value:
        error = a.largest * b.error + b.largest * a.error
        # The largest error of a slot is at most the root mean square times the root of their number.
        error += math.sqrt(self._slots) * a.error * b.error + 2 * self.unit
        return _Value(a.largest * b.largest, error)

    def _map(self, node: Node, operation: op.Map, x: _Value) -> _Value:
        """By Schur's test: the root of the largest row sum times the largest column sum."""
        sizes = np.abs(operation.diagonals)
        rows = np.zeros(sizes.shape[1])
        columns = np.zeros_like(rows)
        rotations = 0.0  # what the noise of a rotation is multiplied with, in all
        for number, own in zip(operation.numbers, sizes, strict=True):
            rows += own
            columns += np.roll(own, number)
            rotations += float(own.max())
        if operation.baby_steps == 0:
            operation = operation.decided(self._program.place(node, self._params, self._levels))
        giants = len({number // operation.baby_steps for number in operation.numbers})
        error = math.sqrt(float(rows.max()) * float(columns.max())) * x.error
        error += (rotations + giants + 1) * self.unit
        error += len(operation.numbers) * self._encoding * x.largest
        return _Value(float(rows.max()) * x.largest, error)

    def _function(self, node: Node, function: Function, xs: list[_Value]) -> _Value:
        """From the plan's own model, whose variances become sums: k errors add up to at most sqrt(k) times
        the root of the sum of their squares."""
        slots = self._program.forms[node.operands[0]].slots
        level = min(self._levels[at] for at in node.operands)
        plan = function.plan(self._params, level=level, slots=slots)
        inner = plan.expected_error(0.0)[1]
        slope = plan.expected_error(1.0)[1]
        ends = list(function.intervals)
        if function._native.is_unbounded:  # its own interval is no bound of values
            ends = [(-x.largest, x.largest) for x in xs]
        if len(xs) == 1:
            slope = max(slope, _steepest(function, ends))
        error = slope * math.sqrt(len(xs)) * max(x.error for x in xs)
        error += inner * math.sqrt(len(plan._native.steps)) * self._over_model(slots)
        largest = float(np.abs(_on_grid(function, ends)).max()) + function.error
        return _Value(largest, _BETWEEN * error + self.unit)

    def _over_model(self, slots: int) -> float:
        """A unit over the rounding of a division in the model of plans: sqrt(2n (1 + |s|^2) / 12)."""
        weight = self._params._native.secret_weight or 2 * self._params.degree / 3
        return self.unit * self._scale / math.sqrt(2 * slots * (1 + weight) / 12)


Ends = Sequence[tuple[float, float]]


def _steepest(function: Function, ends: Ends) -> float:
    """The largest change of a function of one value, between points of an interval."""
    low, high = ends[0]
    if not high > low:
        return 0.0
    return float(np.abs(np.diff(_on_grid(function, ends))).max() * (_GRID - 1) / (high - low))


def _on_grid(function: Function, ends: Ends) -> NDArray[np.float64]:
    """Its values on a grid of intervals, of about `_GRID` points."""
    points = round(_GRID ** (1 / len(ends)))
    axes = np.meshgrid(*(np.linspace(low, high, points) for low, high in ends))
    return np.asarray(function.evaluate_clear(*(axis.ravel() for axis in axes)), np.float64)
