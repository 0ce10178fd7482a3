"""What evaluators do by circuits: bootstraps, matrices and functions, and the bootstraps that come by
themselves before them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera._arguments import described, in_own_words, require_type
from hemera._functions import Basis, Interval, Stage
from hemera._matrices import EncryptedProduct, MatrixVectorProduct
from hemera._noise_warning import warn_of_bootstrap, warn_of_interval, warn_of_spent_budget
from hemera._operands import fitted, native_of, reshaped
from hemera._slots import SlotPlan
from hemera.ciphertext import Ciphertext, Operand, Plaintext, all_parts
from hemera.circuits import Bootstrap, Function, FunctionPlan, LinearTransform, Polynomial

if TYPE_CHECKING:
    from hemera.context import Context
    from hemera.evaluator import Evaluator

__all__ = ["CircuitMethods"]


@in_own_words
class CircuitMethods(ABC):
    """The part of `hemera.Evaluator` that works by `hemera.circuits`."""

    _context: Context
    _native: _core.Evaluator
    _bootstrap: Bootstrap | None
    _automatic: bool
    _has_budget: bool

    @property
    @abstractmethod
    def _this(self) -> Evaluator:
        """The evaluator that this is a part of."""

    # --- Bootstrapping. ---

    def bootstrap(
        self, a: Ciphertext, plan: Bootstrap | None = None, *, out: Ciphertext | None = None
    ) -> Ciphertext:
        """CKKS: the values of `a` at the highest level: see `hemera.circuits.Bootstrap`.

        Args:
            a: at any level of the user's, but no product that waits at the lowest.
            plan: None: that of `Context.bind`; MissingKeyError if there is none.

        Raises:
            RangeError: when a bound above 2 is declared and no level is left to make values smaller by.

        Warns:
            RangeWarning: when no bound is declared (`encode(largest=)`): values are taken to be from -1 to 1.
        """
        chosen = self._bootstrap if plan is None else plan
        if chosen is None:
            raise _core.MissingKeyError(
                "bootstrap: this evaluator has no plan; bind it with bind(keys, bootstrap=plan), or call a "
                "hm.circuits.Bootstrap with the ciphertext"
            )
        if math.isinf(native_of("bootstrap", a).largest):
            warn_of_bootstrap()
        return self._finish("bootstrap", chosen._apply(self._this, a._native), out, a)

    def _refreshed(self, a: Ciphertext, levels: int = 1, magnitude: float = 1) -> Ciphertext:
        """What an operation that takes so many levels begins with, in automatic mode: bootstrapped where
        fewer are left."""
        if not self._automatic:
            return a
        core = _core.refreshed(self._native, a._native, levels, magnitude)
        if core is None:
            return a
        if magnitude == 1 and math.isinf(core.largest):
            warn_of_bootstrap()
        return a._holding(core, self._this)

    def _user_levels(self, level: int) -> int:
        """How many levels there are from here down to where bootstraps begin; 0 without one."""
        return 0 if self._bootstrap is None else max(0, level - self._bootstrap.input_level)

    def _all_refreshed(
        self, operands: Sequence[Ciphertext], levels: int = 1, magnitudes: Sequence[float] | None = None
    ) -> list[Ciphertext]:
        """The same of several; what stands there more than once is bootstrapped once."""
        if not self._automatic:
            return list(operands)
        done: dict[int, Ciphertext] = {}
        for i, x in enumerate(operands):
            if id(x) not in done:
                done[id(x)] = self._refreshed(x, levels, 1 if magnitudes is None else magnitudes[i])
        return [done[id(x)] for x in operands]

    # --- Matrices. ---

    def transform(self, a: Ciphertext, transform: SlotPlan, *, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: the matrix of `transform` times each vector of `a`: see `hemera.circuits.LinearTransform`,
        and `InnerSum`, `Replication` and `Mask` beside it."""
        native = native_of("transform", a)
        if not isinstance(transform, SlotPlan):
            raise TypeError(
                "transform takes a circuit of hm.circuits, such as a LinearTransform, not "
                + described(transform)
            )
        transform._require_values(native)
        fresh = self._refreshed(a, self._user_levels(transform.level) if transform.depth > 0 else 0)
        core = transform._apply(self._this, fresh._native)
        transform._fill(core, a._native)
        return self._finish("transform", core, out, a)

    def matmul(
        self, a: Ciphertext, b: Operand, *, slots: int | None = None, out: Ciphertext | None = None
    ) -> Ciphertext:
        """a @ b, as in NumPy: each vector of `a` as a row times a plain matrix (CKKS), or its inner product
        with a vector, in every slot.

        A matrix is encoded each time: a `hemera.circuits.LinearTransform` of `b.T` encodes it once.

        Args:
            b: a plain matrix of shape (a.filled, columns); or a vector: a single ciphertext, a plaintext or
                an array of shape (a.filled,).
            slots: a.slots, to say that the matrix goes with all slots: then it may have any number of rows
                up to it, and those that are missing are zero.

        Raises:
            MismatchError: for a matrix of other rows than `a` has values.
            TypeError: for other operands, and for a matrix with BFV and BGV.
            ParameterError: for more rows or columns than `a` has slots.
            MissingKeyError: when rotations of the matrix's diagonals, or of a sum, lack keys.
            LevelError: when no level is left.
        """
        native_of("matmul", a)
        if isinstance(b, Ciphertext) and b.ndim:
            raise TypeError(
                f"matmul takes a vector or a plain matrix, not a batch of ciphertexts of shape {b.shape}: "
                "hm.circuits.MatrixVectorProduct and MatrixProduct multiply encrypted matrices, ev.dot(xs, "
                "ys) "
                "sums products"
            )
        if isinstance(b, (Ciphertext, Plaintext)):
            return self._this.sum(self._this.multiply(a, b), out=out)
        matrix = np.asarray(b)
        if matrix.ndim == 1:
            return self._this.sum(self._this.multiply(a, self._vector("matmul", matrix, a)), out=out)
        if matrix.ndim != 2 or self._context.params.scheme != "ckks":
            raise TypeError(
                "matmul takes a plain matrix of two axes, for CKKS, or a vector; ev.dot(xs, ys) sums "
                "products x * "
                "y"
            )
        if slots is None and len(matrix) != a.filled:
            raise _core.MismatchError(
                f"matmul: values of shape {(*a.shape, a.filled)} and a matrix of shape {matrix.shape} do not "
                f"fit; "
                "as in NumPy it needs a row for each value (or say ev.matmul(x, matrix, slots=x.slots), for "
                "zeros "
                "in the rows that are missing)"
            )
        if slots not in (None, a.slots):
            raise _core.MismatchError(f"matmul: slots={slots}, and the ciphertext has {a.slots}")
        a = self._refreshed(a)
        level = _core.level_of_product(a._native)
        plan = LinearTransform(matrix.T, self._context.params, slots=a.slots, level=level)
        return self.transform(a, plan, out=out)

    @staticmethod
    def _vector(operation: str, values: NDArray[Any], a: Ciphertext) -> NDArray[Any]:
        """A plain vector as NumPy multiplies it by values. MismatchError for another length."""
        if len(values) != a.filled:
            raise _core.MismatchError(
                f"{operation}: a vector of {len(values)} values and a ciphertext of {a.filled} do not fit"
            )
        return values

    def multiply_matrices(
        self, product: EncryptedProduct, a: Ciphertext, b: Ciphertext, *, out: Ciphertext | None = None
    ) -> Ciphertext:
        """CKKS: an encrypted matrix times vectors or another one: see `hemera.circuits.MatrixVectorProduct`
        and `MatrixProduct`."""
        if not isinstance(product, EncryptedProduct):
            raise TypeError(
                "multiply_matrices takes a product of hm.circuits, such as a MatrixProduct, not "
                + described(product)
            )
        for x in (a, b):
            native_of("multiply_matrices", x)
        a, b = self._all_refreshed((a, b), self._user_levels(product.level))
        core = product._apply(self._this, a._native, b._native)
        if isinstance(product, MatrixVectorProduct) and product.shape[0] < core.slots:
            core.fill(product.shape[0], "zeros")
        if a._native.is_complex or b._native.is_complex:
            core.declare_complex(True)
        return self._finish("multiply_matrices", core, out, a, b)

    # --- Functions of the slots. ---

    def apply(
        self, function: Function | FunctionPlan, *inputs: Ciphertext, out: Ciphertext | None = None
    ) -> Ciphertext:
        """CKKS: a function of `hemera.circuits`, slot by slot; batches of its inputs broadcast as in NumPy.
        Several polynomials give a batch with a first axis of their number.

        Raises:
            LevelError: when an input has fewer levels left than the function's depth, or fewer than its plan
                starts with, and nothing is bootstrapped by itself; and for a polynomial that is deeper than
                the levels that a bootstrap leaves.
            ScaleError: when an input has another scale than the plan.
            MissingKeyError: when products need a relinearization key that is not there.
            MismatchError: when inputs do not fit each other, the plan's parameters or the coefficients'
                slots.
            RangeError: when an input's declared bound is beyond the function's interval.
            TypeError: for another number of inputs.

        Warns:
            RangeWarning: when no declared bound keeps the inputs in the function's intervals.
        """
        own = require_type(
            function.function if isinstance(function, FunctionPlan) else function,
            Function,
            "apply",
            "a function of hm.circuits, such as hm.circuits.sigmoid((-8, 8))",
        )
        parts = all_parts(inputs, "apply")
        if len(parts) != len(own.intervals):
            raise TypeError(f"{own.name} takes {len(own.intervals)} ciphertexts, not {len(parts)}")
        natives = [x._native for x in parts]
        own._native.require_in_intervals(natives)
        if not own._takes([native.largest for native in natives]):
            warn_of_interval(own.name, *own.intervals[0])
        if isinstance(function, FunctionPlan):
            parts = self._all_refreshed(parts, self._user_levels(function.level), own._magnitudes)
        elif self._bootstrap is None or not self._automatic or own.depth <= self._bootstrap.levels_left:
            parts = self._all_refreshed(parts, own.depth, own._magnitudes)
        else:
            return self._apply_in_stages(own, parts, out)
        shape, natives = fitted("apply", parts)
        plan = function if isinstance(function, FunctionPlan) else own._circuit(self._this, natives)
        core = plan._evaluate(self._this, natives)
        if own._stacked:
            shape = (core.batch[0], *shape)
        _declare_type(core, own)
        return self._finish("apply", reshaped(core, shape), out, *parts)

    def _apply_in_stages(
        self, function: Function, inputs: list[Ciphertext], out: Ciphertext | None
    ) -> Ciphertext:
        """A function of more levels than a bootstrap leaves: values are bootstrapped in its middle, too."""
        assert self._bootstrap is not None
        levels = _levels_between(function, self._bootstrap.levels_left)
        left = [self._user_levels(_core.finished(x._native)[0]) for x in inputs]
        # The inputs are bootstrapped before, unless the levels that they have save a bootstrap.
        stages = function._stages_of(levels, levels)
        if min(left) > 0:
            others = function._stages_of(min(left), levels)
            if _bootstraps(others, left, levels) < _bootstraps(stages, left, levels):
                stages = others
        values = dict(enumerate(inputs))
        for stage in stages:
            own = stage.function
            taken = [values[number] for number in stage.inputs]
            taken = self._all_refreshed(taken, own.depth, own._magnitudes)
            values.update(zip(stage.inputs, taken, strict=True))
            shape, natives = fitted("apply", taken)
            results = own._circuit(self._this, natives)._results(self._this, natives)
            for number, core in zip(stage.outputs, results, strict=True):
                values[number] = Ciphertext(reshaped(core, shape), self._this)
        (output,) = function._native.output_values
        _declare_type(values[output]._native, function)
        return self._finish("apply", values[output]._native, out, *inputs)

    def polyval(
        self,
        a: Ciphertext,
        coefficients: ArrayLike | Polynomial,
        *,
        basis: Basis = "power",
        interval: Interval | None = None,
        per_slot: bool = False,
        out: Ciphertext | None = None,
    ) -> Ciphertext:
        """CKKS: polynomials of `a`, planned for its level: see `Ciphertext.polyval`."""
        if not isinstance(coefficients, Polynomial):
            coefficients = Polynomial(coefficients, basis=basis, interval=interval, per_slot=per_slot)
        return self.apply(coefficients, a, out=out)

    # --- Results, of all operations. ---

    def _finish(
        self,
        operation: str,
        core: _core.Ciphertext,
        out: Ciphertext | None,
        *operands: Ciphertext | Plaintext,
    ) -> Ciphertext:
        """The result of an operation. `operands` may have `core` already, if they are `out`."""
        spent = self._has_budget and _core.guaranteed_noise_budget(core) <= 0
        if spent and not any(isinstance(x, Ciphertext) and x._spent for x in operands):
            warn_of_spent_budget(operation)
        if out is None:
            return Ciphertext(core, self._this, spent)
        require_type(out, Ciphertext, operation, "a ciphertext as out=")
        out._native = core
        out._evaluator = self._this
        out._spent = spent
        return out


def _declare_type(core: _core.Ciphertext, function: Function) -> None:
    """Complex coefficients make complex values."""
    if isinstance(function, Polynomial) and function.coefficients.dtype.kind == "c":
        core.declare_complex(True)


def _levels_between(function: Function, levels: int) -> int:
    """How many levels stages take of those that a bootstrap leaves: one fewer where values between them are
    above 1, which takes a level to bring them below, unless a polynomial needs them all."""
    stages = function._stages_of(levels, levels)
    taken = range(len(function.intervals))
    between = [
        magnitude
        for stage in stages
        for number, magnitude in zip(stage.inputs, stage.function._magnitudes, strict=True)
        if number not in taken
    ]
    if max(between, default=0) <= 1 + 2**-10:
        return levels
    try:
        function._stages_of(levels - 1, levels - 1)
    except _core.LevelError:
        return levels
    return levels - 1


def _bootstraps(stages: Sequence[Stage], left: Sequence[int], levels: int) -> int:
    """How many bootstraps a function in stages takes, whose inputs have so many levels left."""
    count = 0
    remaining = dict(enumerate(left))
    for own, inputs, outputs in stages:
        for number in inputs:
            if remaining[number] < own.depth:
                count += 1
                remaining[number] = levels
        result = min(remaining[number] for number in inputs) - own.depth
        remaining.update(dict.fromkeys(outputs, result))
    return count
