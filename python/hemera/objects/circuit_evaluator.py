"""The lower half of an evaluator: levels, rotations, circuits, and automatic bootstraps."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from hemera import _core
from hemera._noise_warning import warn_of_bootstrap, warn_of_interval, warn_of_spent_budget
from hemera.circuits import (
    Bootstrap,
    Function,
    FunctionPlan,
    IntegerBootstrap,
    Plan,
    Polynomial,
    TransformGrid,
)
from hemera.circuits.bootstrap import prepared_for
from hemera.circuits.functions import Interval, plan_for, staged_in, surely_takes, values_of
from hemera.circuits.matrices import EncryptedProduct, MatrixVectorProduct
from hemera.circuits.plans import prepared_in, result_of
from hemera.circuits.polynomials import Basis
from hemera.circuits.rows import PlainMatrixProduct, RowsProduct
from hemera.circuits.slots import SlotPlan
from hemera.inputs.arguments import described, in_own_words, require_type
from hemera.inputs.encoding import as_number
from hemera.objects.ciphertext import Ciphertext, all_parts, native_of
from hemera.objects.codec import Codec
from hemera.objects.keys import all_steps, as_steps
from hemera.objects.operands import fitted, has_16_bits, integers_of_16_bits, reshaped
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.objects.context import Context
    from hemera.objects.evaluator import Evaluator
    from hemera.objects.keys import Keys


@in_own_words
class CircuitEvaluator:
    """The half of `hemera.Evaluator` below arithmetic. `Evaluator` is the only class with this base."""

    _context: Context
    _keys: Keys
    _native: _core.Evaluator
    _bootstrap: Bootstrap | IntegerBootstrap | None
    _automatic: bool
    _magnitude: float | None
    _undeclared: int
    _has_budget: bool

    @property
    def context(self) -> Context:
        """The context of the evaluator."""
        return self._context

    @property
    def _codec(self) -> Codec:
        return self._context._codec

    @property
    def keys(self) -> Keys:
        """The keys of the evaluator."""
        return self._keys

    @property
    def has_keys(self) -> bool:
        """Whether the evaluator has any key. Without keys it still adds, and multiplies by plain values."""
        return bool(self._keys.has_public_key or self._keys.has_relinearization or self._keys.galois_elements)

    # --- Operations of one operand. ---

    def negate(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """-a."""
        core = self._copy("negate", a, out)
        self._native.negate_inplace(core)
        return self._finish("negate", core, out)

    def square(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """a * a."""
        return self._finish("square", self._native.square(native_of("square", a)), out)

    def power(self, a: Ciphertext, exponent: int, *, out: Ciphertext | None = None) -> Ciphertext:
        """a to the power of `exponent`, in ceil(log2 exponent) levels. ParameterError if it is below 1."""
        number = as_number(exponent)
        if not isinstance(number, int) or not 1 <= number < 1 << 63:
            raise _core.ParameterError(f"a ciphertext can be raised to 1, 2, 3, ..., not to {exponent!r}")
        return self._finish("power", self._native.power(native_of("power", a), number), out)

    # --- Size, level and scale. ---

    def relinearize(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """The same message in a ciphertext of size 2. MissingKeyError if the key is missing."""
        core = self._copy("relinearize", a, out)
        self._native.relinearize_inplace(core)
        return self._finish("relinearize", core, out)

    def rescale(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """One level down: CKKS divides the scale, BFV and BGV switch the modulus. LevelError if the level is
        0."""
        return self._finish("rescale", self._native.rescale(native_of("rescale", a)), out)

    def mod_switch(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """BFV and BGV: `rescale` under its name in these schemes, one modulus down. LevelError if the level
        is 0."""
        if self._context.params.scheme == "ckks":
            raise TypeError("CKKS rescales: call rescale, or at_level to keep the scale")
        return self.rescale(a, out=out)

    def at_level(self, a: Ciphertext, level: int, *, out: Ciphertext | None = None) -> Ciphertext:
        """The same values at `level`. CKKS: in automatic mode the scale becomes that of the level (by a
        rescale), in manual mode it stays.

        Raises:
            LevelError: if `level` is above the ciphertext's, or below 0.
        """
        require_type(a, Ciphertext, "at_level", "a ciphertext")
        level = operator.index(level)
        if not 0 <= level <= a.level:
            raise _core.LevelError(
                f"at_level: a ciphertext of level {a.level} can go to levels 0 to {a.level}, not {level}"
            )
        core = self._native.lower_to_level(a._native, level)
        return self._finish("at_level", core, out)

    def declare(self, a: Ciphertext, largest: float, *, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: the same values with another declared bound on their magnitude, `Ciphertext.largest`. It
        serves where the circuit's author knows more than the operations derive, as for a product with an
        array. No operation checks the bound.

        Raises:
            ParameterError: if the bound is below 0 or NaN, or the scheme is BFV or BGV.
        """
        if self._context.params.scheme != "ckks" or not largest >= 0:
            raise _core.ParameterError(
                f"declare: a bound of {largest} for {self._context.params.scheme.upper()}; values of CKKS "
                "have one of at least 0"
            )
        return self._finish("declare", native_of("declare", a).declared(largest), out)

    def shrink(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """The same values in the smallest ciphertext that holds them safely, for sending."""
        return self._finish("shrink", self._native.shrink(native_of("shrink", a)), out)

    # --- Slots. ---

    def rotate(self, a: Ciphertext, steps: int, *, out: Ciphertext | None = None) -> Ciphertext:
        """Slots turned left by `steps`: see `Ciphertext.rotate`."""
        core = self._native.rotate(native_of("rotate", a), as_steps(self._context.params, "rotate", steps))
        return self._finish("rotate", core, out)

    def rotate_many(self, a: Ciphertext, steps: Sequence[int]) -> list[Ciphertext]:
        """Rotations by each of `steps`. Rotations with a key of their own share most of the work."""
        wanted = all_steps(self._context.params, "rotate_many", steps)
        cores = self._native.rotate_hoisted(native_of("rotate_many", a), wanted)
        return [self._finish("rotate_many", core, None) for core in cores]

    def rotation_plan(self, a: Ciphertext, steps: int) -> list[int]:
        """The steps of the rotations that `rotate(a, steps)` will take with the evaluator's keys.

        Raises:
            MissingKeyError: if the keys do not suffice.
        """
        wanted = as_steps(self._context.params, "rotation_plan", steps)
        return self._native.rotation_plan(wanted, native_of("rotation_plan", a))

    def conjugate(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: the complex conjugate of each slot. MissingKeyError if the key is missing."""
        if self._context.params.scheme != "ckks":
            raise TypeError("BFV and BGV have no conjugation; swap_rows exchanges their two rows of slots")
        return self._finish("conjugate", self._native.conjugate(native_of("conjugate", a)), out)

    def swap_rows(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """BFV and BGV: the two rows of N/2 slots exchanged. MissingKeyError if the key is missing."""
        if self._context.params.scheme == "ckks":
            raise TypeError("CKKS slots are one row; with CKKS the same key is that of conjugate")
        return self._finish("swap_rows", self._native.conjugate(native_of("swap_rows", a)), out)

    def with_slots(self, a: Ciphertext, slots: int, *, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: the same ciphertext read with another number of slots: see `Ciphertext.with_slots`."""
        require_naturals(slots=slots)
        core = _core.with_slots(native_of("with_slots", a), slots)
        return self._finish("with_slots", core, out)

    # --- Bootstrapping. ---

    def bootstrap(
        self,
        a: Ciphertext,
        plan: Bootstrap | IntegerBootstrap | None = None,
        *,
        magnitude: float | None = None,
        out: Ciphertext | None = None,
    ) -> Ciphertext:
        """CKKS: the values of `a` at the highest level: see `hemera.circuits.Bootstrap`. BFV and BGV: its
        integers with less noise, at the highest level: see `hemera.circuits.IntegerBootstrap`.

        Args:
            a: a ciphertext at any level of the user's, except a product of CKKS that waits for its rescale at
                the lowest.
            plan: the plan of the bootstrap; None: that of `Context.bind`.
            magnitude: CKKS: the largest magnitude of the values; None: that of `Context.bind`, for its plan.

        Raises:
            MissingKeyError: if there is no plan, or a key is missing.
            NoiseError: BFV and BGV: if the guaranteed noise budget is less than the plan needs.
            RangeError: if the declared bound is above 2, or above the magnitude of `Context.bind`, and no
                level is left to make values smaller.

        Warns:
            RangeWarning: at each call, if no bound is declared (`encode(largest=)`) and bind got no
                magnitude. Values are then taken to be from -1 to 1.
        """
        chosen = self._bootstrap if plan is None else plan
        if chosen is None:
            raise _core.MissingKeyError(
                "bootstrap: this evaluator has no plan; bind it with bind(keys, bootstrap=plan), or call a "
                "hm.circuits.Bootstrap with the ciphertext"
            )
        native = native_of("bootstrap", a)
        if isinstance(chosen, IntegerBootstrap):
            if magnitude is not None:
                raise _core.ParameterError("bootstrap: a magnitude is of CKKS; integers are exact")
            return self._finish("bootstrap", result_of(chosen, self, native), out)
        magnitude = self._magnitude_for(chosen, magnitude, native)
        if magnitude is not None:
            prepared = prepared_for(chosen, self._context, magnitude)
            core: _core.Ciphertext = prepared.apply(self._native, native)
        else:
            core = result_of(chosen, self, native)
            self._undeclared = _core.bootstraps(self._native)[1]
        return self._finish("bootstrap", core, out)

    def _magnitude_for(self, plan: Bootstrap, given: float | None, native: _core.Ciphertext) -> float | None:
        """The magnitude of a bootstrap's values: that of the call, or that of `Context.bind` for its plan.
        Where there is neither, gives a RangeWarning of values without a declared bound, if the plan's results
        need one."""
        magnitude = self._magnitude if given is None and plan is self._bootstrap else given
        takes_values = not (isinstance(plan, Bootstrap) and plan.gives_parts)
        if magnitude is None and takes_values and math.isinf(native.largest):
            warn_of_bootstrap()
        return magnitude

    @property
    def bootstraps(self) -> int:
        """The number of ciphertexts that this evaluator has bootstrapped, on call or by itself. Each element
        of a batch counts; runs of a captured graph on a GPU do not."""
        return _core.bootstraps(self._native)[0]

    def _warn_of_undeclared(self) -> None:
        """Warn after each operation that has bootstrapped values without a declared bound."""
        count = _core.bootstraps(self._native)[1]
        if count > self._undeclared:
            self._undeclared = count
            warn_of_bootstrap()

    def _refreshed(self, a: Ciphertext, levels: int = 1) -> Ciphertext:
        """The operand of an operation that takes `levels` levels: bootstrapped, in automatic mode, if fewer
        are left."""
        return self._all_refreshed((a,), levels)[0]

    def _user_levels(self, level: int) -> int:
        """The number of levels between `level` and the input level of bootstraps; 0 without a plan."""
        if self._bootstrap is None or isinstance(self._bootstrap, IntegerBootstrap):
            return 0
        return max(0, level - self._bootstrap.input_level)

    def _all_refreshed(
        self, operands: Sequence[Ciphertext], levels: int = 1, magnitudes: Sequence[float] | None = None
    ) -> list[Ciphertext]:
        """`_refreshed` for several operands. An operand that stands there twice is bootstrapped once."""
        if not self._automatic or self._has_budget:  # products of BFV and BGV bootstrap by themselves
            return list(operands)
        natives = [x._native for x in operands]
        cores, places = _core.refreshed(self._native, natives, levels, magnitudes or [])
        if not cores:
            return list(operands)
        return [
            x if place is None else self._ciphertext(cores[place])
            for x, place in zip(operands, places, strict=True)
        ]

    # --- Matrices. ---

    def transform(self, a: Ciphertext, transform: SlotPlan, *, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: the matrix of `transform` times each vector of `a`: see `LinearTransform`, `InnerSum`,
        `Replication` and `Mask` of `hemera.circuits`."""
        native = native_of("transform", a)
        if not isinstance(transform, SlotPlan):
            raise TypeError(
                "transform takes a circuit of hm.circuits, such as a LinearTransform, not "
                + described(transform)
            )
        transform._require_values(native)
        fresh = self._refreshed(a, self._user_levels(transform.level) if transform.depth > 0 else 0)
        core = result_of(transform, self, fresh._native)
        transform._fill(core, a._native)
        return self._finish("transform", core, out)

    def transform_all(self, grid: TransformGrid, *vectors: Ciphertext) -> list[Ciphertext]:
        """CKKS: several matrices times several ciphertexts: see `hemera.circuits.TransformGrid`."""
        if not isinstance(grid, TransformGrid):
            raise TypeError(f"transform_all takes a TransformGrid of hm.circuits, not {described(grid)}")
        for x in vectors:
            native_of("transform_all", x)
        fresh = self._all_refreshed(vectors, self._user_levels(grid.level))
        cores = prepared_in(grid, self._context).apply(self._native, [x._native for x in fresh])
        return [self._finish("transform_all", core, None) for core in cores]

    def multiply_matrices(
        self, product: EncryptedProduct, a: Ciphertext, b: Ciphertext, *, out: Ciphertext | None = None
    ) -> Ciphertext:
        """CKKS: an encrypted matrix times encrypted vectors, or times another encrypted matrix: see
        `MatrixVectorProduct` and `MatrixProduct` of `hemera.circuits`."""
        if not isinstance(product, EncryptedProduct):
            raise TypeError(
                "multiply_matrices takes a product of hm.circuits, such as a MatrixProduct, not "
                + described(product)
            )
        for x in (a, b):
            native_of("multiply_matrices", x)
        a, b = self._all_refreshed((a, b), self._user_levels(product.level))
        core = result_of(product, self, a._native, b._native)
        if isinstance(product, MatrixVectorProduct) and product.shape[0] < core.slots:
            core.fill(product.shape[0], "zeros")
        return self._finish("multiply_matrices", core, out)

    def multiply_rows(
        self, product: RowsProduct | ArrayLike, a: Ciphertext, *, out: Ciphertext | None = None
    ) -> Ciphertext:
        """A plain matrix times a batch along its first axis: element r of the result is the sum over j of
        matrix[r, j] * a[j]. It takes no key.

        Integers of 16 bits are multiplied exactly, and take no level. CKKS has other matrices too: see
        `hemera.circuits.PlainMatrixProduct`, whose plan keeps the rounded weights; an array of float is
        planned with 16 bits, at the level of `a`. A `hemera.circuits.PackedRowsProduct` multiplies rows that
        share ciphertexts, and takes keys.

        Raises:
            MissingKeyError: if keys of packed rows are missing.
            MismatchError: if the first axis of `a` has another extent than the matrix has columns.
            LevelError: if no level is left.
            RangeError: BFV and BGV: if an entry is below -32768 or above 32767.
            TypeError: if the matrix is none of real numbers; BFV and BGV: of integers.
        """
        native = native_of("multiply_rows", a)
        if self._context.params.scheme != "ckks":
            return self._finish(
                "multiply_rows", _core.multiply_matrix(integers_of_16_bits(product), native), out
            )
        if not isinstance(product, RowsProduct):
            whole = np.asarray(product)
            if whole.dtype.kind in "biu" and whole.ndim == 2 and has_16_bits(whole):
                return self._finish(
                    "multiply_rows", _core.multiply_matrix(integers_of_16_bits(whole), native), out
                )
        a = self._refreshed(a)
        if not isinstance(product, RowsProduct):
            level = _core.level_of_product(a._native)
            product = PlainMatrixProduct(product, self._context.params, level=level)
        return self._finish("multiply_rows", result_of(product, self, a._native), out)

    def _evaluated(
        self,
        circuit: Plan | Function | IntegerBootstrap,
        inputs: Sequence[Ciphertext],
        out: Ciphertext | None,
    ) -> Any:
        """The result of a circuit that was called with ciphertexts; of a grid, a list of them."""
        if isinstance(circuit, (Function, FunctionPlan)):
            return self.apply(circuit, *inputs, out=out)
        if isinstance(circuit, EncryptedProduct):
            left, right = inputs
            return self.multiply_matrices(circuit, left, right, out=out)
        if isinstance(circuit, TransformGrid):
            return self.transform_all(circuit, *inputs)
        (x,) = inputs
        if isinstance(circuit, RowsProduct):
            return self.multiply_rows(circuit, x, out=out)
        if isinstance(circuit, (Bootstrap, IntegerBootstrap)):
            return self.bootstrap(x, circuit, out=out)
        assert isinstance(circuit, SlotPlan)
        return self.transform(x, circuit, out=out)

    # --- Functions of the slots. ---

    def apply(
        self, function: Function | FunctionPlan, *inputs: Ciphertext, out: Ciphertext | None = None
    ) -> Ciphertext:
        """CKKS: a function of `hemera.circuits`, slot by slot; batches of its inputs broadcast as in NumPy.
        A function of several polynomials gives a batch whose first axis counts them.

        Raises:
            LevelError: if automatic bootstraps are off, and an input has fewer levels left than the
                function's depth, or than its plan starts with. Also if a polynomial is deeper than the levels
                that a bootstrap leaves.
            ScaleError: if an input has another scale than the plan.
            MissingKeyError: if products need a relinearization key and there is none.
            MismatchError: if inputs do not fit each other, the plan's parameters or the coefficients'
                slots.
            RangeError: if an input's declared bound is beyond the function's interval.
            TypeError: if the number of inputs is another one.

        Warns:
            RangeWarning: if no declared bound keeps the inputs in the function's intervals.
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
        magnitudes = [max(abs(low), abs(high)) for low, high in own.intervals]
        natives = [x._native for x in parts]
        own._native.require_in_intervals(natives)
        if not surely_takes(own, [native.largest for native in natives]):
            warn_of_interval(own.name, *own.intervals[0])
        if isinstance(function, FunctionPlan):
            parts = self._all_refreshed(parts, self._user_levels(function.level), magnitudes)
        elif (
            self._bootstrap is None
            or isinstance(self._bootstrap, IntegerBootstrap)
            or not self._automatic
            or own.depth <= self._bootstrap.levels_left
        ):
            parts = self._all_refreshed(parts, own.depth, magnitudes)
        else:
            return self._apply_in_stages(own, parts, out)
        shape, natives = fitted("apply", parts)
        plan = function if isinstance(function, FunctionPlan) else plan_for(own, self, natives)
        core = values_of(plan, self, natives)
        if own._stacked:
            shape = (core.batch[0], *shape)
        _declare_type(core, own)
        return self._finish("apply", reshaped(core, shape), out)

    def _apply_in_stages(
        self, function: Function, inputs: list[Ciphertext], out: Ciphertext | None
    ) -> Ciphertext:
        """A function of more levels than a bootstrap leaves: values are bootstrapped between its stages."""
        shape, natives = fitted("apply", inputs)
        (core,) = staged_in(function, self._context).apply(self._native, natives)
        _declare_type(core, function)
        return self._finish("apply", reshaped(core, shape), out)

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

    # --- Results. ---

    def _copy(self, operation: str, a: Ciphertext, out: Ciphertext | None) -> _core.Ciphertext:
        """The residues to change in place: those of `a` if it takes the result, else a copy."""
        native = native_of(operation, a)
        return native if out is a else native.clone()

    def _finish(self, operation: str, core: _core.Ciphertext, out: Ciphertext | None) -> Ciphertext:
        """The result of an operation, in `out` if there is one."""
        if self._automatic:
            self._warn_of_undeclared()
        if self._has_budget and _core.notice_spent_budget(core):
            warn_of_spent_budget(operation)
        result = self._ciphertext(core)
        if out is None:
            return result
        require_type(out, Ciphertext, operation, "a ciphertext as out=")
        out._native, out._evaluator = core, result.evaluator
        return out

    def _ciphertext(self, core: _core.Ciphertext) -> Ciphertext:
        """A ciphertext that is bound to this evaluator."""
        return Ciphertext(core, cast("Evaluator", self))


def refreshed_for(evaluator: CircuitEvaluator, a: Ciphertext, level: int) -> Ciphertext:
    """The operand of a plan of this level: bootstrapped, in automatic mode, if too few levels are left."""
    return evaluator._refreshed(a, evaluator._user_levels(level))


def _declare_type(core: _core.Ciphertext, function: Function) -> None:
    """Declare the values complex if the coefficients are."""
    if isinstance(function, Polynomial) and function.coefficients.dtype.kind == "c":
        core.declare_complex(True)
