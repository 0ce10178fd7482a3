"""Functions of encrypted values: polynomials, approximations, functions made of them, and their plans."""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera._process import Lock, cached_property
from hemera.circuits.handles import ValueT, evaluated, is_value
from hemera.circuits.plans import ClearPlan, prepared_in
from hemera.inputs.plain import plain_array

if TYPE_CHECKING:
    from hemera.circuits.handles import Context, Evaluator
    from hemera.parameters import Parameters

# The number of circuits, by level and scale, that a function keeps in one context. They hold encoded
# constants.
_CIRCUITS_KEPT = 64

# The relative difference by rounding of bounds, and of values at an end.
_ROUNDING = 2**-20
# The part of an interval by which noise may take values out of it.
_BESIDE = 2**-10

Interval = tuple[float, float]
Values = NDArray[Any]


class Function:
    """A function of one or several encrypted values, slot by slot (CKKS).

    A function knows its depth and its error before there are parameters. It takes clear values and
    ciphertexts:

        sigmoid = hm.circuits.sigmoid((-8, 8), bits=16)
        params = hm.ckks.Parameters.for_circuit(depth=sigmoid.depth, slots=4096)
        ...
        y = sigmoid(x)  # x a ciphertext, an array or a number

    Values must lie in the intervals. Outside of them results are wrong, and may be very large. So clear
    values outside, and ciphertexts with a declared bound (`Ciphertext.largest`) beyond, raise RangeError;
    without a declared bound there is a RangeWarning. Polynomials of the power basis are right everywhere.
    `sigmoid.plan(params)` has the keys and the cost at a level.
    """

    def __init__(
        self,
        native: _core.Function,
        name: str,
        *,
        stacked: bool = False,
        recipe: Mapping[str, float] | None = None,
    ) -> None:
        self._native = native
        self._name = name
        self._stacked = stacked
        self._recipe = recipe
        # The circuits so far by context, level and scale, the last used one last.
        self._circuits: weakref.WeakKeyDictionary[Context, dict[tuple[int, float], FunctionPlan]] = (
            weakref.WeakKeyDictionary()
        )
        self._lock = Lock()
        # The stages between bootstraps, and their circuits, by context.
        self._staged: weakref.WeakKeyDictionary[Context, _core.StagedFunction] = weakref.WeakKeyDictionary()

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._name

    @property
    def intervals(self) -> list[Interval]:
        """The interval of each input."""
        return self._native.inputs

    @property
    def depth(self) -> int:
        """The number of levels that the function takes."""
        return self._native.depth

    @property
    def error(self) -> float:
        """The largest distance, in the intervals, from the approximated function; 0 for a polynomial that
        stands for itself. The noise of ciphertexts comes in addition: `FunctionPlan.expected_error`."""
        return self._native.error

    @property
    def recipe(self) -> Mapping[str, float] | None:
        """The numbers from which `from_recipe(name, recipe)` makes the function again. None for polynomials,
        which have coefficients, and for parts of functions."""
        return self._recipe

    def plan(
        self,
        params: Parameters,
        *,
        level: int | None = None,
        scale: float | None = None,
        slots: int | None = None,
        own_keys: bool = False,
    ) -> FunctionPlan:
        """The function's circuit at a level.

        Args:
            params: `hemera.ckks.Parameters`.
            level: the level of the inputs; None: that of fresh encryptions. Ciphertexts of higher levels are
                brought down to it.
            scale: the scale of the inputs; None: the level's.
            slots: the number of slots of the inputs, for the expected error; None: all.
            own_keys: True: relinearization keys over the primes of the products' levels alone, which are
                shorter and take less time; False: one key that also serves all levels below the first
                product.

        Raises:
            LevelError: if there are fewer levels below than the depth.
            ParameterError: if the number of slots or the scale does not fit.
            MismatchError: if the parameters are of another scheme.
        """
        if min(level or 0, slots or 0) < 0:
            raise _core.ParameterError("level and slots must not be negative")
        native = _core.plan_function(params._native, self._native, level, scale, slots or 0, own_keys)
        return FunctionPlan(self, native, params)

    def evaluate_clear(self, *values: ArrayLike) -> Values:
        """The function's values in the clear, of the shape to which the inputs broadcast. Several polynomials
        give one more axis first; with coefficients for each slot the last axis holds the slots. Real inputs
        give float64 (complex128 if a coefficient is complex).

        Raises:
            ParameterError: if the number of inputs, or of slots, is another one.
            RangeError: if a value is outside of its interval, or not finite.
        """
        given = [plain_array(value, "evaluate_clear") for value in values]
        if len(given) != len(self.intervals):
            raise _core.ParameterError(
                f"{self._name} takes {len(self.intervals)} values, and {len(given)} were given"
            )
        for value, interval in zip(given, self.intervals, strict=True):
            self._require_inside(value, interval)
        return self._values(*given)

    def evaluate_near(self, *values: Values) -> Values:
        """`evaluate_clear` of real arrays without its errors: values that noise takes out of an interval have
        what encrypted runs give them, and those that are farther from it are brought to its ends."""
        if self._native.is_unbounded:
            return self._values(*values)
        rooms = ((low, high, _BESIDE * (high - low)) for low, high in self.intervals)
        return self._values(
            *(np.clip(x, low - room, high + room) for x, (low, high, room) in zip(values, rooms, strict=True))
        )

    def _values(self, *given: Values) -> Values:
        spread = np.broadcast_arrays(*given)
        shape = spread[0].shape
        rows = np.stack([np.asarray(value, dtype=np.complex128).ravel() for value in spread])
        width = self._native.width
        if width != 1 and (not shape or shape[-1] != width):
            raise _core.ParameterError(
                f"{self._name} has coefficients of {width} slots, and does not take values of shape {shape}"
            )
        parts = [rows] if width == 1 else np.split(rows, rows.shape[1] // width, axis=1)
        results = [self._native.evaluate(np.ascontiguousarray(part)) for part in parts]
        found = np.concatenate(results, axis=1).reshape(-1, *shape)
        if self._native.is_real and not any(np.iscomplexobj(value) for value in given):
            found = found.real.copy()
        return found if self._stacked else found[0]

    def _require_inside(self, values: Values, interval: Interval) -> None:
        """RangeError if clear values are not in an interval."""
        low, high = (-math.inf, math.inf) if self._native.is_unbounded else interval
        slack = _ROUNDING * max(abs(low), abs(high)) if math.isfinite(high) else 0.0
        inside = np.isfinite(values) & (values.real >= low - slack) & (values.real <= high + slack)
        if math.isfinite(high):
            inside &= np.abs(values.imag) <= slack
        if np.all(inside):
            return
        outside = np.atleast_1d(values)[~np.atleast_1d(inside)]
        raise _core.RangeError(
            f"{self._name}: {_shown(outside)} outside of its interval from {low:g} to {high:g}, where "
            "results are wrong; make the function for a wider interval, or with clip=True, or clip the "
            "values (np.clip)"
        )

    @overload
    def __call__(self, x: ValueT, /, *others: ValueT, out: ValueT | None = None) -> ValueT: ...
    @overload
    def __call__(self, x: ArrayLike, /, *others: ArrayLike) -> Values: ...
    def __call__(self, x: Any, /, *others: Any, out: Any = None) -> Any:
        """The function's values. Ciphertexts: by the evaluator that the first one is bound to, planned for
        their level. Arrays and numbers: in the clear.

        Raises:
            LevelError: if a ciphertext has fewer levels left than the depth, and automatic bootstraps are off
                (`bind(automatic=)`).
            MissingKeyError: if products need a relinearization key and there is none.
            MismatchError: if ciphertexts do not fit each other, or the coefficients' slots.
            RangeError: if a ciphertext's declared bound is beyond an interval, or a clear value is outside.

        Warns:
            RangeWarning: if no declared bound keeps ciphertexts in the intervals.
        """
        if is_value(x):
            return x._evaluated(self, others, out)
        return self.evaluate_clear(x, *others)

    def __repr__(self) -> str:
        return f"<{self._name} of depth {self.depth}>"


class FunctionPlan(ClearPlan):
    """The circuit of a `Function` at a level; `Function.plan` makes one. A call of the plan evaluates it."""

    _native: _core.FunctionPlan

    def __init__(self, function: Function, native: _core.FunctionPlan, params: Parameters) -> None:
        super().__init__(native, params)
        self._function = function

    @property
    def function(self) -> Function:
        """The function of the plan."""
        return self._function

    @property
    def relinearizations(self) -> int:
        """The number of relinearizations, which take most of the time."""
        return self._native.cost.key_products

    @cached_property
    def own_error(self) -> tuple[float, float]:
        """`expected_error` where inputs have none."""
        return self.expected_error(0.0)

    @property
    def _title(self) -> str:
        return f"{self._function.name}: depth {self.depth}"

    def _facts(self) -> list[str]:
        error = self._function.error
        return [
            "its own error: " + (f"2^{math.log2(error):.1f} at most" if error > 0 else "none"),
            f"{self.relinearizations} relinearizations",
            *(
                f"  level {step.level}: {step.products} products, {step.terms} terms, scale "
                f"2^{math.log2(step.scale):.3f}; level {step.result_level}: "
                f"2^{math.log2(step.result_scale):.3f}"
                for step in self._native.steps
            ),
        ]

    def evaluate_clear(self, *values: ArrayLike) -> Values:
        """The function's values in the clear: see `Function.evaluate_clear`."""
        return self._function.evaluate_clear(*values)

    def __call__(self, x: ValueT, *others: ValueT, out: ValueT | None = None) -> ValueT:
        """The function's values, by the evaluator that the first input is bound to.

        Raises:
            LevelError: if an input is at a lower level than the plan's.
            ScaleError: if an input has another scale than the plan's.
            MissingKeyError: if products need a relinearization key and there is none.
            MismatchError: if ciphertexts do not fit each other, the plan's parameters or slots.
        """
        return evaluated(self, self._function.name, "ciphertexts", x, others, out)

    def __repr__(self) -> str:
        return f"<{self._function.name} at level {self.level}, depth {self.depth}>"


Stage = tuple[tuple[int, ...], dict[int, Function]]
"""The values that a part of a function takes, by their numbers in the whole one, which has its inputs first,
and the part's functions of them, by the values that they give."""


@functools.lru_cache(maxsize=128)
def stages_of(function: Function) -> dict[int, Stage]:
    """The function in stages of about a polynomial each, by number, as deep together as it is."""
    return {
        number: (
            tuple(inputs),
            {
                value: Function(native, f"{function.name}, stage {number}")
                for value, native in zip(outputs, natives, strict=True)
            },
        )
        for number, (inputs, outputs, natives) in enumerate(function._native.stages(), 1)
    }


def surely_takes(function: Function, declared: Sequence[float]) -> bool:
    """Whether values up to these magnitudes certainly lie in the intervals."""
    return function._native.is_unbounded or all(
        low <= -largest * (1 - _ROUNDING) and largest * (1 - _ROUNDING) <= high
        for largest, (low, high) in zip(declared, function.intervals, strict=True)
    )


def plan_for(function: Function, evaluator: Evaluator, natives: Sequence[_core.Ciphertext]) -> FunctionPlan:
    """The function's circuit at the level and scale of ciphertexts."""
    context = evaluator.context
    place = min(_core.finished(native) for native in natives)
    with function._lock:
        circuits = function._circuits.setdefault(context, {})
        circuit = circuits.pop(place, None)
    if circuit is None:
        level, scale = place
        circuit = function.plan(context.params, level=level, scale=scale)
    with function._lock:
        circuits[place] = circuit
        if len(circuits) > _CIRCUITS_KEPT:
            del circuits[next(iter(circuits))]
    return circuit


def staged_in(function: Function, context: Context) -> _core.StagedFunction:
    """The function in stages, with bootstraps between them, and their circuits in a context."""
    with function._lock:
        staged = function._staged.get(context)
        if staged is None:
            staged = function._staged[context] = _core.staged_function(context._native, function._native)
        return staged


def values_of(plan: FunctionPlan, evaluator: Evaluator, natives: list[_core.Ciphertext]) -> _core.Ciphertext:
    """The core's result for ciphertexts; of several polynomials, a batch of theirs."""
    results: list[_core.Ciphertext] = prepared_in(plan, evaluator.context).apply(evaluator._native, natives)
    return _core.stack(results) if plan.function._stacked else results[0]


def _shown(values: Values) -> str:
    """Some of the values, for an error."""
    some = ", ".join(f"{value:g}" for value in values[:3].tolist())
    if len(values) == 1:
        return f"{some} is"
    return f"{some}{f' and {len(values) - 3} more' if len(values) > 3 else ''} are"
