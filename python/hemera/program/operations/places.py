"""Where an operation stands in a program, and what its errors depend on there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hemera.circuits import Function
from hemera.parameters import Parameters
from hemera.program.values import Array, Form

_DRIFT = 4.0
"""The factor by which scales may be below the parameters'."""
_GRID = 1 << 14
"""Points of an interval at which slopes of functions are taken."""
_BETWEEN = 2.0
"""Factor of functions' bounds: for slopes between the points, and squares of errors."""


def weight_of(params: Parameters) -> float:
    """The sum of squares of the secret's coefficients: on average, or as many as there are."""
    return params._native.secret_weight or 2 * params.degree / 3 * params._native.secret_terms


def rounding_of(params: Parameters, slots: int) -> float:
    """The root mean square of the complex error that a rescale or a rotation adds to a slot."""
    return math.sqrt(2 * slots * (1 + weight_of(params)) / 12) / float(params._native.scale)


def encoding_of(params: Parameters, slots: int) -> float:
    """The root mean square of the error of a slot of an encoded array of complex numbers."""
    return math.sqrt(2 * slots / 12) / float(params._native.scale)


@dataclass(frozen=True)
class Place:
    """Where an operation stands: what it is planned for. Errors are those of CKKS."""

    params: Parameters
    """The parameters, which rescale by themselves."""
    level: int
    """The level of its operands."""
    form: Form
    """The form of its first operand."""

    @property
    def copies(self) -> float:
        """How much larger the noise of each copy of a slot is than that of their mean, the value."""
        return math.sqrt(self.params.max_slots / self.form.slots)

    @property
    def rounding(self) -> float:
        """As of `rounding_of`."""
        return rounding_of(self.params, self.form.slots)

    @property
    def complex_encoding(self) -> float:
        """As of `encoding_of`."""
        return encoding_of(self.params, self.form.slots)

    def encoding(self, *arrays: Array) -> float:
        """The error of encoded arrays. Polynomials of real numbers are symmetric, and so are their errors:
        real, with all the variance."""
        one = self.complex_encoding
        return one if any(map(np.iscomplexobj, arrays)) else one * math.sqrt(2)


@dataclass(frozen=True)
class Bounded:
    """The certain bounds of a value."""

    largest: float
    """The largest magnitude in a slot."""
    error: float
    """The root mean square of the slots' errors, at most."""


@dataclass(frozen=True)
class Bounds(Place):
    """Facts that worst-case bounds of errors depend on."""

    unit: float
    """The bound of a fresh encryption and a rotation."""

    @property
    def encoded(self) -> float:
        """Encoded numbers: each coefficient is off by a half. It hides nothing, but results show it."""
        return _DRIFT * math.sqrt(self.params.degree) / (2 * self.params._native.scale)

    def scaled(self, x: Bounded, factor: float) -> Bounded:
        """A value times plain numbers of up to a magnitude."""
        return Bounded(factor * x.largest, factor * x.error + self.encoded * x.largest + self.unit)

    def product(self, a: Bounded, b: Bounded) -> Bounded:
        """The product of two values."""
        error = a.largest * b.error + b.largest * a.error
        # The largest error of a slot is at most the root mean square times the root of their number.
        error += math.sqrt(self.params.degree / 2) * a.error * b.error + 2 * self.unit
        return Bounded(a.largest * b.largest, error)

    def function(self, function: Function, xs: Sequence[Bounded]) -> Bounded:
        """Bounds from the plan's own model, whose variances become sums: k errors add up to at most sqrt(k)
        times the root of the sum of their squares."""
        plan = function.plan(self.params, level=self.level, slots=self.form.slots)
        inner = plan.expected_error(0.0)[1]
        slope = plan.expected_error(1.0)[1]
        ends = list(function.intervals)
        if function._native.is_unbounded:  # its own interval is no bound of values
            ends = [(-x.largest, x.largest) for x in xs]
        if len(xs) == 1:
            slope = max(slope, _steepest(function, *ends[0]))
        error = slope * math.sqrt(len(xs)) * max(x.error for x in xs)
        # A unit over the rounding of a division in the model of plans: sqrt(2n (1 + |s|^2) / 12).
        rounding = math.sqrt(2 * self.form.slots * (1 + weight_of(self.params)) / 12)
        over_model = self.unit * self.params._native.scale / rounding
        error += inner * math.sqrt(len(plan._native.steps)) * over_model
        largest = float(np.abs(_on_grid(function, *ends)).max()) + function.error
        return Bounded(largest, _BETWEEN * error + self.unit)


def _steepest(function: Function, low: float, high: float) -> float:
    """The largest change of a function of one value, between points of an interval."""
    if not high > low:
        return 0.0
    return float(np.abs(np.diff(_on_grid(function, (low, high)))).max() * (_GRID - 1) / (high - low))


def _on_grid(function: Function, *ends: tuple[float, float]) -> Array:
    """Its values on a grid of intervals, of about `_GRID` points."""
    points = round(_GRID ** (1 / len(ends)))
    axes = np.meshgrid(*(np.linspace(low, high, points) for low, high in ends))
    return np.asarray(function.evaluate_clear(*(axis.ravel() for axis in axes)), np.float64)
