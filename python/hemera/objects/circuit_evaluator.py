"""The half of an evaluator below its arithmetic: levels, rotations, circuits, and automatic bootstraps."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from numpy.typing import ArrayLike

from hemera import _core
from hemera.circuits import Bootstrap, Function, FunctionPlan, Plan, Polynomial
from hemera.circuits.functions import Basis, Interval
from hemera.circuits.matrices import EncryptedProduct, MatrixVectorProduct
from hemera.circuits.slots import SlotPlan
from hemera.inputs.arguments import described, in_own_words, require_type
from hemera.inputs.encoding import as_number
from hemera.objects.ciphertext import Ciphertext, all_parts, native_of
from hemera.objects.noise_warning import warn_of_bootstrap, warn_of_interval, warn_of_spent_budget
from hemera.objects.operands import fitted, reshaped
from hemera.objects.rotations import all_steps, as_steps
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.objects.context import Context
    from hemera.objects.evaluator import Evaluator
    from hemera.objects.keys import Keys

__all__ = ["CircuitEvaluator"]


@in_own_words
class CircuitEvaluator:
    """The half of `hemera.Evaluator` below its arithmetic. `Evaluator` is the only class with this base."""

    _context: Context
    _keys: Keys
    _native: _core.Evaluator
    _bootstrap: Bootstrap | None
    _automatic: bool
    _magnitude: float | None
    _undeclared: int
    _has_warned: bool
    _has_budget: bool

    @property
    def context(self) -> Context:
        """The context that it evaluates in."""
        return self._context

    @property
    def keys(self) -> Keys:
        """The keys that it is bound to."""
        return self._keys

    @property
    def has_keys(self) -> bool:
        """Whether it has any key; one without still adds and multiplies by plain values."""
        return bool(self._keys.has_public_key or self._keys.has_relinearization or self._keys.galois_elements)

    # --- Of single operands. ---

    def negate(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """-a."""
        core = self._copy("negate", a, out)
        self._native.negate_inplace(core)
        return self._finish("negate", core, out)

    def square(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """a * a."""
        return self._finish("square", self._native.square(native_of("square", a)), out)

    def power(self, a: Ciphertext, exponent: int, *, out: Ciphertext | None = None) -> Ciphertext:
        """a to the power of `exponent` >= 1, in ceil(log2 exponent) levels. ParameterError for others."""
        number = as_number(exponent)
        if not isinstance(number, int) or not 1 <= number < 1 << 63:
            raise _core.ParameterError(f"a ciphertext can be raised to 1, 2, 3, ..., not to {exponent!r}")
        return self._finish("power", self._native.power(native_of("power", a), number), out)

    # --- Size, level and scale. ---

    def relinearize(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """The same message in a ciphertext of size 2. Raises MissingKeyError without the key."""
        core = self._copy("relinearize", a, out)
        self._native.relinearize_inplace(core)
        return self._finish("relinearize", core, out)

    def rescale(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """One level down: CKKS divides the scale, BFV and BGV switch the modulus. LevelError at level 0."""
        return self._finish("rescale", self._native.rescale(native_of("rescale", a)), out)

    def mod_switch(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """BFV and BGV: `rescale` by its name there, one modulus down. LevelError at level 0."""
        if self._context.params.scheme == "ckks":
            raise TypeError("CKKS rescales: call rescale, or at_level to keep the scale")
        return self.rescale(a, out=out)

    def at_level(self, a: Ciphertext, level: int, *, out: Ciphertext | None = None) -> Ciphertext:
        """The same values at `level`. With CKKS in automatic mode at the scale of that level (which takes a
        rescaling), in manual mode at the same scale.

        Raises:
            LevelError: when `level` is above the ciphertext's, or not there.
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
        """CKKS: the same values with another declared bound on their magnitude, `Ciphertext.largest`: where
        the circuit's author knows more than the operations tell, as of a product with an array. Nobody
        checks it.

        Raises:
            ParameterError: for a bound below 0 or NaN, and for BFV and BGV.
        """
        if self._context.params.scheme != "ckks" or not largest >= 0:
            raise _core.ParameterError(
                f"declare: a bound of {largest} for {self._context.params.scheme.upper()}; values of CKKS "
                "have one of at least 0"
            )
        return self._finish("declare", native_of("declare", a).declared(largest), out)

    def shrink(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """The same values in the smallest ciphertext that holds them safely: what to send."""
        return self._finish("shrink", self._native.shrink(native_of("shrink", a)), out)

    # --- Slots. ---

    def rotate(self, a: Ciphertext, steps: int, *, out: Ciphertext | None = None) -> Ciphertext:
        """Slots turned left by `steps`: see `Ciphertext.rotate`."""
        core = self._native.rotate(native_of("rotate", a), as_steps(self._context.params, "rotate", steps))
        return self._finish("rotate", core, out)

    def rotate_many(self, a: Ciphertext, steps: Sequence[int]) -> list[Ciphertext]:
        """Rotations by each of `steps`. Those that have a key of their own share most of the work."""
        wanted = all_steps(self._context.params, "rotate_many", steps)
        cores = self._native.rotate_hoisted(native_of("rotate_many", a), wanted)
        return [self._finish("rotate_many", core, None) for core in cores]

    def rotation_plan(self, a: Ciphertext, steps: int) -> list[int]:
        """The rotations that `rotate(a, steps)` will do with the keys there are.

        Raises:
            MissingKeyError: when they do not suffice.
        """
        wanted = as_steps(self._context.params, "rotation_plan", steps)
        return self._native.rotation_plan(wanted, native_of("rotation_plan", a))

    def conjugate(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: the complex conjugate of each slot. Raises MissingKeyError without the key."""
        if self._context.params.scheme != "ckks":
            raise TypeError("BFV and BGV have no conjugation; swap_rows exchanges their two rows of slots")
        return self._finish("conjugate", self._native.conjugate(native_of("conjugate", a)), out)

    def swap_rows(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """BFV and BGV: the two rows of N/2 slots exchanged. Raises MissingKeyError without the key."""
        if self._context.params.scheme == "ckks":
            raise TypeError("CKKS slots are one row; conjugate is what the same key does there")
        return self._finish("swap_rows", self._native.conjugate(native_of("swap_rows", a)), out)

    def with_slots(self, a: Ciphertext, slots: int, *, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: the same ciphertext read with another number of slots: see `Ciphertext.with_slots`."""
        require_naturals(slots=slots)
        core = _core.with_slots(native_of("with_slots", a), slots)
        return self._finish("with_slots", core, out)

    # --- Bootstrapping. ---

    def bootstrap(
        self, a: Ciphertext, plan: Bootstrap | None = None, *, out: Ciphertext | None = None
    ) -> Ciphertext:
        """CKKS: the values of `a` at the highest level: see `hemera.circuits.Bootstrap`.

        Args:
            a: at any level of the user's, but no product that waits at the lowest.
            plan: None: that of `Context.bind`; MissingKeyError if there is none.

        Raises:
            RangeError: when a bound above 2, or above the magnitude of `Context.bind`, is declared and no
                level is left to make values smaller by.

        Warns:
            RangeWarning: once for each evaluator, when no bound is declared (`encode(largest=)`) and bind got
                no magnitude: values are taken to be from -1 to 1.
        """
        chosen = self._bootstrap if plan is None else plan
        if chosen is None:
            raise _core.MissingKeyError(
                "bootstrap: this evaluator has no plan; bind it with bind(keys, bootstrap=plan), or call a "
                "hm.circuits.Bootstrap with the ciphertext"
            )
        native = native_of("bootstrap", a)
        if chosen is self._bootstrap and self._magnitude is not None:
            prepared = chosen._in_for(self._context, self._magnitude)
            core: _core.Ciphertext = prepared.apply(self._native, native)
        else:
            if math.isinf(native.largest):
                self._has_warned = self._has_warned or warn_of_bootstrap()
            core = chosen._apply(self, native)
        return self._finish("bootstrap", core, out)

    @property
    def bootstraps(self) -> int:
        """The number of ciphertexts that this evaluator has bootstrapped, by hand or by itself. Each element
        of a batch counts; runs of a captured graph on a GPU do not."""
        return _core.bootstraps(self._native)[0]

    def _warn_of_undeclared(self) -> None:
        """One warning for each evaluator, after it has bootstrapped values of which no bound is known."""
        count = _core.bootstraps(self._native)[1]
        if count > self._undeclared:
            self._undeclared = count
            self._has_warned = self._has_warned or warn_of_bootstrap()

    def _refreshed(self, a: Ciphertext, levels: int = 1) -> Ciphertext:
        """What an operation that takes so many levels begins with, in automatic mode: bootstrapped where
        fewer are left."""
        return self._all_refreshed((a,), levels)[0]

    def _user_levels(self, level: int) -> int:
        """How many levels there are from here down to where bootstraps begin; 0 without one."""
        return 0 if self._bootstrap is None else max(0, level - self._bootstrap.input_level)

    def _all_refreshed(
        self, operands: Sequence[Ciphertext], levels: int = 1, magnitudes: Sequence[float] | None = None
    ) -> list[Ciphertext]:
        """The same of several; what stands there more than once is bootstrapped once."""
        if not self._automatic:
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
        core = transform._apply(self, fresh._native)
        transform._fill(core, a._native)
        return self._finish("transform", core, out)

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
        core = product._apply(self, a._native, b._native)
        if isinstance(product, MatrixVectorProduct) and product.shape[0] < core.slots:
            core.fill(product.shape[0], "zeros")
        if a._native.is_complex or b._native.is_complex:
            core.declare_complex(True)
        return self._finish("multiply_matrices", core, out)

    def _evaluated(
        self, circuit: Plan | Function, inputs: Sequence[Ciphertext], out: Ciphertext | None
    ) -> Ciphertext:
        """A circuit that was called with ciphertexts."""
        if isinstance(circuit, (Function, FunctionPlan)):
            return self.apply(circuit, *inputs, out=out)
        if isinstance(circuit, EncryptedProduct):
            left, right = inputs
            return self.multiply_matrices(circuit, left, right, out=out)
        (x,) = inputs
        if isinstance(circuit, Bootstrap):
            return self.bootstrap(x, circuit, out=out)
        assert isinstance(circuit, SlotPlan)
        return self.transform(x, circuit, out=out)

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
        plan = function if isinstance(function, FunctionPlan) else own._circuit(self, natives)
        core = plan._evaluate(self, natives)
        if own._stacked:
            shape = (core.batch[0], *shape)
        _declare_type(core, own)
        return self._finish("apply", reshaped(core, shape), out)

    def _apply_in_stages(
        self, function: Function, inputs: list[Ciphertext], out: Ciphertext | None
    ) -> Ciphertext:
        """A function of more levels than a bootstrap leaves: values are bootstrapped in its middle, too."""
        shape, natives = fitted("apply", inputs)
        (core,) = function._staged_in(self._context).apply(self._native, natives)
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

    # --- Results, of all operations. ---

    def _copy(self, operation: str, a: Ciphertext, out: Ciphertext | None) -> _core.Ciphertext:
        """The residues to work on in place: those of `a` itself when it takes the result."""
        native = native_of(operation, a)
        return native if out is a else native.clone()

    def _finish(
        self,
        operation: str,
        core: _core.Ciphertext,
        out: Ciphertext | None,
    ) -> Ciphertext:
        """The result of an operation."""
        if self._automatic:
            self._warn_of_undeclared()
        if self._has_budget and _core.notice_spent_budget(core):
            warn_of_spent_budget(operation)
        result = self._ciphertext(core)
        if out is None:
            return result
        require_type(out, Ciphertext, operation, "a ciphertext as out=")
        out._native, out._evaluator = core, result._evaluator
        return out

    def _ciphertext(self, core: _core.Ciphertext) -> Ciphertext:
        """A ciphertext that is bound to this evaluator."""
        return Ciphertext(core, cast("Evaluator", self))


def _declare_type(core: _core.Ciphertext, function: Function) -> None:
    """Complex coefficients make complex values."""
    if isinstance(function, Polynomial) and function.coefficients.dtype.kind == "c":
        core.declare_complex(True)
