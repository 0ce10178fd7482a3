"""The server's side: evaluation on ciphertexts with keys that can not decrypt."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from hemera import _core
from hemera._arguments import described, in_own_words, require_type
from hemera._encoding import as_number
from hemera._functions import Basis, Interval, Stage
from hemera._matrices import EncryptedProduct, MatrixVectorProduct
from hemera._noise_warning import warn_of_spent_budget
from hemera._slots import SlotCircuit
from hemera._source import Source
from hemera._stored import Stored
from hemera.ciphertext import Ciphertext, Operand, Plaintext, all_parts, filled_of
from hemera.circuits import Bootstrap, Function, FunctionPlan, LinearTransform, Polynomial
from hemera.graph import Circuit, Graph
from hemera.keys import Keys, SwitchingKey

if TYPE_CHECKING:
    from hemera.context import Context

__all__ = ["Evaluator", "Relinearization"]

Relinearization = Literal["eager", "lazy"]
_Operation = Literal["add", "subtract", "multiply"]


@in_own_words
class Evaluator:
    """Evaluates with the keys it is bound to; `Context.bind` makes one. Stateless: any number of threads may
    use it at once.

    Every operation takes `out=`: a ciphertext that gets the result, and may be one of the operands. Without
    it a new ciphertext is returned. Operands must belong to the evaluator's context (MismatchError).
    """

    def __init__(
        self,
        context: Context,
        keys: Keys,
        relinearization: Relinearization = "eager",
        *,
        native: _core.Evaluator | None = None,
        bootstrap: Bootstrap | None = None,
        automatic: bool = False,
    ) -> None:
        if relinearization not in ("eager", "lazy"):
            raise _core.ParameterError(f"relinearization must be 'eager' or 'lazy', not {relinearization!r}")
        self._context = context
        self._keys = keys
        self._bootstrap = bootstrap
        self._automatic = automatic
        if native is None:
            lazy = relinearization == "lazy"
            if bootstrap is not None and automatic:
                native = _core.make_refreshing_evaluator(keys._native, lazy, bootstrap._in(context))
            else:
                native = _core.make_evaluator(keys._native, lazy)
        self._native = native
        self._has_budget = context.params.scheme != "ckks"

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

    def __repr__(self) -> str:
        return f"<Evaluator of {self._context!r} with {self._keys!r}>"

    # --- Into and out of ciphertexts. ---

    def encrypt(self, values: ArrayLike | Plaintext, *, encoding: str = "slots") -> Ciphertext:
        """Encrypt with the public key.

        Args:
            values: an array of shape (..., slots), or a plaintext. CKKS pads the last axis with zeros to a
                power of two.
            encoding: "slots", or "coefficients" (BFV and BGV).

        Returns:
            A ciphertext of shape (...), bound to this evaluator.

        Raises:
            MissingKeyError: when the keys have no public key.
            ParameterError: when values are too large or too many.
            TypeError: when they are no numbers of the scheme.
        """
        return self._context._encrypt(values, self._keys, encoding, self)

    def encode(
        self,
        values: ArrayLike,
        *,
        encoding: str = "slots",
        level: int | None = None,
        scale: float | None = None,
    ) -> Plaintext:
        """Encode without encrypting: see `Context.encode`."""
        return self._context.encode(values, encoding=encoding, level=level, scale=scale)

    def load(self, source: Source) -> Ciphertext:
        """A ciphertext from its bytes or a file's path, bound to this evaluator.

        Raises:
            FormatError: when the bytes are damaged.
            MismatchError: when they are not a ciphertext of this context's parameters.
            FileError: when the file can not be read.
        """
        return self._bound(self._context.load(source))

    def _copy_of(self, stored: Stored) -> Ciphertext:
        return self._bound(self._context._copy_of(stored))

    def _bound(self, ciphertext: object) -> Ciphertext:
        if not isinstance(ciphertext, Ciphertext):
            raise _core.MismatchError(
                f"an evaluator takes ciphertexts, but this is a {type(ciphertext).__name__}; use the context "
                "itself"
            )
        return self.bind(ciphertext)

    def bind(self, ciphertext: Ciphertext) -> Ciphertext:
        """The same ciphertext, its operators working by this evaluator. No residues are copied."""
        require_type(ciphertext, Ciphertext, "bind", "a ciphertext")
        if ciphertext.context.params != self._context.params:
            raise _core.MismatchError(
                f"bind: the ciphertext belongs to {ciphertext.context!r}, the evaluator to {self._context!r}"
            )
        return ciphertext._holding(ciphertext._native, self)

    # --- Addition, subtraction and products. ---

    def add(self, a: Ciphertext, b: Operand, *, out: Ciphertext | None = None) -> Ciphertext:
        """a + b, slot by slot; b a ciphertext, plaintext, number or array of shape (..., slots)."""
        return self._binary("add", a, b, out)

    def subtract(self, a: Ciphertext, b: Operand, *, out: Ciphertext | None = None) -> Ciphertext:
        """a - b, slot by slot; b a ciphertext, plaintext, number or array of shape (..., slots)."""
        return self._binary("subtract", a, b, out)

    def multiply(self, a: Ciphertext, b: Operand, *, out: Ciphertext | None = None) -> Ciphertext:
        """a * b, slot by slot; b a ciphertext, plaintext, number or array of shape (..., slots).

        Raises:
            MissingKeyError: when a product of ciphertexts needs a relinearization key that is not there.
            LevelError: when no level is left.
        """
        return self._binary("multiply", a, b, out)

    def divide(self, a: Ciphertext, b: complex | ArrayLike, *, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: a / b for a plain number or array b of shape (..., slots)."""
        if self._context.params.scheme != "ckks":
            raise TypeError(
                "BFV and BGV have no division; multiply by an inverse modulo the plaintext modulus"
            )
        if isinstance(b, (Ciphertext, Plaintext)):
            raise TypeError("a ciphertext can only be divided by plain numbers")
        number = as_number(b)
        if number is not None:
            return self.multiply(a, 1 / number, out=out)
        return self.multiply(a, 1 / np.asarray(b, dtype=np.complex128), out=out)

    def negate(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """-a."""
        core = self._copy("negate", a, out)
        self._native.negate_inplace(core)
        return self._finish("negate", core, out, a)

    def square(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """a * a."""
        return self._finish("square", self._native.square(_native("square", a)), out, a)

    def power(self, a: Ciphertext, exponent: int, *, out: Ciphertext | None = None) -> Ciphertext:
        """a to the power of `exponent` >= 1, in ceil(log2 exponent) levels. ParameterError for others."""
        number = as_number(exponent)
        if not isinstance(number, int) or not 1 <= number < 1 << 63:
            raise _core.ParameterError(f"a ciphertext can be raised to 1, 2, 3, ..., not to {exponent!r}")
        return self._finish("power", self._native.power(_native("power", a), number), out, a)

    def add_many(self, terms: Sequence[Ciphertext], *, out: Ciphertext | None = None) -> Ciphertext:
        """The sum of all terms; their batches broadcast as in NumPy.

        Raises:
            ParameterError: without any term.
            MismatchError: when shapes or slots do not fit.
        """
        parts = all_parts(terms, "add_many")
        shape, natives = _fitted("add_many", parts)
        return self._finish("add_many", _reshaped(self._native.add_many(natives), shape), out, *parts)

    def multiply_many(self, factors: Sequence[Ciphertext], *, out: Ciphertext | None = None) -> Ciphertext:
        """The product of all factors, in ceil(log2 count) levels; their batches broadcast as in NumPy.

        Raises:
            ParameterError: without any factor.
            MismatchError: when shapes or slots do not fit.
        """
        parts = self._all_refreshed(all_parts(factors, "multiply_many"))
        shape, natives = _fitted("multiply_many", parts)
        return self._finish(
            "multiply_many", _reshaped(self._native.multiply_many(natives), shape), out, *parts
        )

    def dot(
        self,
        a: Sequence[Ciphertext],
        b: Sequence[Ciphertext] | Sequence[Plaintext | ArrayLike],
        *,
        out: Ciphertext | None = None,
    ) -> Ciphertext:
        """The sum of a[i] * b[i], slot by slot, in one pass: faster than product by product, and products of
        ciphertexts are relinearized once, as a sum, which leaves less noise.

        Args:
            a: ciphertexts.
            b: as many ciphertexts; or as many plaintexts and arrays of shape (..., slots).

        Returns:
            A ciphertext of the shape to which all operands broadcast, at the level and scale that products
            and sums have.

        Raises:
            ParameterError: unless there are equally many, at least one.
            MismatchError: when shapes, levels or encodings do not fit.
            MissingKeyError: when products of ciphertexts need a relinearization key that is not there.
            LevelError: when no level is left.
        """
        if len(a) != len(b) or len(a) == 0:
            raise _core.ParameterError(
                f"dot: got {len(a)} and {len(b)} operands; give equally many on both sides, at least one"
            )
        for x in a:
            if not isinstance(x, Ciphertext):
                raise TypeError(f"dot: the left operands must be ciphertexts, not {type(x).__name__}")
        right = [y for y in b if isinstance(y, Ciphertext)]
        if right and len(right) != len(b):
            raise TypeError("dot: b mixes ciphertexts and plain operands; add a dot of each")
        fresh = self._all_refreshed([*a, *right])
        a, right = fresh[: len(a)], fresh[len(a) :]
        plain = [
            self._plain_operand(x, y) for x, y in zip(a, b, strict=True) if not isinstance(y, Ciphertext)
        ]
        shape, left = _fitted("dot", [*a, *right], [y._native for y in plain])
        if right:
            core = self._native.dot(left[: len(a)], left[len(a) :])
        else:
            core = self._native.dot_plain(left, [_spread_plain(y._native, shape) for y in plain])
        return self._finish("dot", _reshaped(core, shape), out, *a, *right, *plain)

    # --- Bootstrapping. ---

    def bootstrap(
        self, a: Ciphertext, plan: Bootstrap | None = None, *, out: Ciphertext | None = None
    ) -> Ciphertext:
        """CKKS: the values of `a` at the highest level: see `hemera.circuits.Bootstrap`.

        Args:
            a: at any level of the user's, but no product that waits at the lowest.
            plan: None: that of `Context.bind`; MissingKeyError if there is none.
        """
        chosen = self._bootstrap if plan is None else plan
        if chosen is None:
            raise _core.MissingKeyError(
                "bootstrap: this evaluator has no plan; bind it with bind(keys, bootstrap=plan), or call a "
                "hm.circuits.Bootstrap with the ciphertext"
            )
        _native("bootstrap", a)
        return self._finish("bootstrap", chosen._apply(self, a), out, a)

    def _refreshed(self, a: Ciphertext, levels: int = 1, magnitude: float = 1) -> Ciphertext:
        """What an operation that takes so many levels begins with, in automatic mode: bootstrapped where
        fewer are left."""
        if not self._automatic:
            return a
        core = _core.refreshed(self._native, a._native, levels, magnitude)
        return a if core is None else a._holding(core, self)

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

    def transform(
        self, a: Ciphertext, transform: LinearTransform | SlotCircuit, *, out: Ciphertext | None = None
    ) -> Ciphertext:
        """CKKS: the matrix of `transform` times each vector of `a`: see `hemera.circuits.LinearTransform`,
        and `InnerSum`, `Replication` and `Mask` beside it."""
        _native("transform", a)
        if not isinstance(transform, (LinearTransform, SlotCircuit)):
            raise TypeError(
                "transform takes a circuit of hm.circuits, such as a LinearTransform, not "
                + described(transform)
            )
        fresh = self._refreshed(a, self._user_levels(transform.level) if transform.depth > 0 else 0)
        core = transform._apply(self, fresh)
        rows = transform.shape[0] if isinstance(transform, LinearTransform) else transform.slots
        return self._result("transform", core, out, (a,), rows if rows < transform.slots else None)

    def matmul(self, a: Ciphertext, b: ArrayLike, *, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: a @ b, each vector of `a` as a row times a plain matrix of shape (values, columns), of which
        rows that are missing are zero. Encodes the matrix each time: a `hemera.circuits.LinearTransform` of
        `b.T` encodes it once.

        Raises:
            TypeError: for other than two axes, and for BFV and BGV.
            ParameterError: for more rows or columns than `a` has slots.
            MissingKeyError: when rotations of the matrix's diagonals lack keys.
            LevelError: when no level is left.
        """
        matrix = np.asarray(b)
        if matrix.ndim != 2 or self._context.params.scheme != "ckks":
            raise TypeError(
                "matmul takes a plain matrix of two axes, for CKKS; ev.dot(xs, ys) sums products x * y, and "
                "(x * w).sum() the slots of one product"
            )
        _native("matmul", a)
        a = self._refreshed(a)
        level = _core.level_of_product(a._native)
        plan = LinearTransform(matrix.T, self._context.params, slots=a.slots, level=level)
        return self.transform(a, plan, out=out)

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
            _native("multiply_matrices", x)
        a, b = self._all_refreshed((a, b), self._user_levels(product.level))
        core = product._apply(self, a, b)
        rows = product.shape[0] if isinstance(product, MatrixVectorProduct) else core.slots
        return self._result("multiply_matrices", core, out, (a, b), rows if rows < core.slots else None)

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
            TypeError: for another number of inputs.
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
        if isinstance(function, FunctionPlan):
            parts = self._all_refreshed(parts, self._user_levels(function.level), own._magnitudes)
        elif self._bootstrap is None or not self._automatic or own.depth <= self._bootstrap.levels_left:
            parts = self._all_refreshed(parts, own.depth, own._magnitudes)
        else:
            return self._apply_in_stages(own, parts, out)
        shape, natives = _fitted("apply", parts)
        plan = function if isinstance(function, FunctionPlan) else own._circuit(self, natives)
        core = plan._apply(self, natives)
        if own._stacked:
            shape = (core.batch[0], *shape)
        return self._finish("apply", _reshaped(core, shape), out, *parts)

    def _apply_in_stages(
        self, function: Function, inputs: list[Ciphertext], out: Ciphertext | None
    ) -> Ciphertext:
        """A function of more levels than a bootstrap leaves: values are bootstrapped in its middle, too."""
        assert self._bootstrap is not None
        levels = self._bootstrap.levels_left
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
            shape, natives = _fitted("apply", taken)
            results = own._circuit(self, natives)._results(self, natives)
            for number, core in zip(stage.outputs, results, strict=True):
                values[number] = Ciphertext(_reshaped(core, shape), self, filled_of(taken))
        (output,) = function._native.output_values
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

    # --- Size, level and scale. ---

    def relinearize(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """The same message in a ciphertext of size 2. Raises MissingKeyError without the key."""
        core = self._copy("relinearize", a, out)
        self._native.relinearize_inplace(core)
        return self._finish("relinearize", core, out, a)

    def rescale(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """One level down: CKKS divides the scale, BFV and BGV switch the modulus. LevelError at level 0."""
        return self._finish("rescale", self._native.rescale(_native("rescale", a)), out, a)

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
        return self._finish("at_level", core, out, a)

    def shrink(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """The same values in the smallest ciphertext that holds them safely: what to send."""
        return self._finish("shrink", self._native.shrink(_native("shrink", a)), out, a)

    # --- Slots. ---

    def rotate(self, a: Ciphertext, steps: int, *, out: Ciphertext | None = None) -> Ciphertext:
        """Slots turned left by `steps`: see `Ciphertext.rotate`."""
        core = self._native.rotate(_native("rotate", a), self._context._steps(steps))
        return self._turned("rotate", core, out, a)

    def rotate_many(self, a: Ciphertext, steps: Sequence[int]) -> list[Ciphertext]:
        """Rotations by each of `steps`. Those that have a key of their own share most of the work."""
        wanted = [self._context._steps(step) for step in steps]
        cores = self._native.rotate_hoisted(_native("rotate_many", a), wanted)
        return [self._turned("rotate_many", core, None, a) for core in cores]

    def rotation_plan(self, a: Ciphertext, steps: int) -> list[int]:
        """The rotations that `rotate(a, steps)` will do with the keys there are.

        Raises:
            MissingKeyError: when they do not suffice.
        """
        return self._native.rotation_plan(self._context._steps(steps), _native("rotation_plan", a))

    def conjugate(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: the complex conjugate of each slot. Raises MissingKeyError without the key."""
        if self._context.params.scheme != "ckks":
            raise TypeError("BFV and BGV have no conjugation; swap_rows exchanges their two rows of slots")
        return self._finish("conjugate", self._native.conjugate(_native("conjugate", a)), out, a)

    def swap_rows(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """BFV and BGV: the two rows of N/2 slots exchanged. Raises MissingKeyError without the key."""
        if self._context.params.scheme == "ckks":
            raise TypeError("CKKS slots are one row; conjugate is what the same key does there")
        return self._turned("swap_rows", self._native.conjugate(_native("swap_rows", a)), out, a)

    def sum(self, a: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """Every slot becomes the sum of all slots. Raises MissingKeyError without the keys."""
        native = _native("sum", a)
        try:
            core = self._native.sum_slots(native)
        except _core.MissingKeyError:
            if self._sums(native):
                raise
            where = "the keys do not sum slots" if self.has_keys else "there are no evaluation keys here"
            few = "" if self._has_budget else f", or sum_slots={a.slots} for ciphertexts like this one"
            raise _core.MissingKeyError(
                f"sum: {where}; work by an evaluator, x.to(evaluator), of keys that do: "
                f"generate_keys(secret_key, sum_slots=True){few}"
            ) from None
        return self._turned("sum", core, out, a)

    def _sums(self, a: _core.Ciphertext) -> bool:
        """Whether the Galois keys suffice for a sum over the slots."""
        params = self._context.params
        try:
            for steps in _core.rotations_for_sum(params._native, a.slots):
                self._native.rotation_plan(steps, a)
        except _core.MissingKeyError:
            return False
        return params.scheme == "ckks" or self._keys.has_conjugation

    def reencrypt(self, a: Ciphertext, key: SwitchingKey) -> Ciphertext:
        """The same message under the secret that `key` ends at. The result is bound to no keys."""
        require_type(key, SwitchingKey, "reencrypt", "the key of ctx.generate_switching_key(source, target)")
        core = self._native.reencrypt(_native("reencrypt", a), key._native)
        return a._holding(core, self._context._keyless)

    # --- Circuits. ---

    def capture(self, circuit: Circuit, *examples: Ciphertext) -> Graph:
        """Capture a circuit of operations as a graph that runs many times at little cost for the host.

        The circuit is called with ciphertexts like the examples, once to run and once to be recorded. Its
        operations must be the same for all inputs of this shape, level and scale, as those of Hemera are.
        On the CPU, which has no graphs, the graph calls the circuit each time.

        Args:
            circuit: takes as many ciphertexts as there are examples; returns one, or a sequence of them.
            examples: inputs of the shape, level, scale and (BFV, BGV) at least the noise that inputs will
                have.

        Returns:
            A `Graph` g: `g(*inputs)` gives what `circuit(*inputs)` gives, bit for bit.

        Raises:
            DeviceError: when the circuit encrypts, draws randomness or copies from or to the host (encoding
                an array inside it does: encode before, and use the plaintext).
        """
        return Graph(self._context._native, lambda core: Ciphertext(core, self), circuit, examples)

    # --- How operands are brought together. ---

    def _binary(self, operation: _Operation, a: Ciphertext, b: Operand, out: Ciphertext | None) -> Ciphertext:
        if not isinstance(a, Ciphertext):
            raise TypeError(f"{operation}: the first operand must be a Ciphertext, not {type(a).__name__}")
        if isinstance(b, Ciphertext):
            return self._with_ciphertext(operation, a, b, out)
        number = as_number(b)
        if operation == "multiply" and not _is_integer(number):
            a = self._refreshed(a)
        if number is not None:
            core = self._copy(operation, a, out)
            self._with_number(operation, core, number)
            return self._finish(operation, core, out, a)
        return self._with_plaintext(operation, a, b, out)

    def _with_ciphertext(
        self, operation: _Operation, a: Ciphertext, b: Ciphertext, out: Ciphertext | None
    ) -> Ciphertext:
        shape = _broadcast_shape(operation, a.shape, b.shape)
        _require_slots(operation, a._native, b._native)
        self._check_out(operation, a, shape, out)
        if a._count != 1 and b._count != 1:
            a, b = _spread(a, shape), _spread(b, shape)
        if out is a and a.shape == shape and operation != "multiply":
            if operation == "add":
                self._native.add_inplace(a._native, b._native)
            else:
                self._native.subtract_inplace(a._native, b._native)
            return self._finish(operation, a._native, a, a, b)
        core: _core.Ciphertext = getattr(self._native, operation)(a._native, b._native)
        return self._finish(operation, _reshaped(core, shape), out, a, b)

    def _with_number(self, operation: _Operation, core: _core.Ciphertext, number: complex) -> None:
        value, integer = self._context._codec.scalar(number)
        if operation == "multiply":
            self._native.multiply_scalar_inplace(core, value, integer)
        elif operation == "add":
            self._native.add_scalar_inplace(core, value, integer)
        else:
            self._native.add_scalar_inplace(core, -value, -integer)

    def _with_plaintext(
        self, operation: _Operation, a: Ciphertext, b: Plaintext | ArrayLike, out: Ciphertext | None
    ) -> Ciphertext:
        operand = self._plain_operand(a, b, product=operation == "multiply")
        shape = _broadcast_shape(operation, a.shape, operand.shape)
        _require_slots(operation, a._native, operand._native)
        self._check_out(operation, a, shape, out)
        whole = a if a.shape == shape else a._broadcast_to(shape)
        plain = _spread_plain(operand._native, shape)
        if operation == "multiply":
            core = self._native.multiply_plain(whole._native, plain)
            return self._finish(operation, core, out, a, operand)
        core = self._copy(operation, a, out) if whole is a else whole._native
        if operation == "add":
            self._native.add_plain_inplace(core, plain)
        else:
            self._native.subtract_plain_inplace(core, plain)
        return self._finish(operation, core, out, a, operand)

    def _plain_operand(self, a: Ciphertext, b: Plaintext | ArrayLike, *, product: bool = True) -> Plaintext:
        if isinstance(b, Plaintext):
            return b
        plain, filled = self._context._codec.encode_operand(b, a._native, product=product)
        return Plaintext(plain, self._context, filled)

    def _check_out(
        self, operation: _Operation, a: Ciphertext, shape: tuple[int, ...], out: Ciphertext | None
    ) -> None:
        if out is a and shape != a.shape:
            raise _core.MismatchError(
                f"{operation}: the result has shape {shape} and can not replace an operand of shape {a.shape}"
            )

    def _copy(self, operation: str, a: Ciphertext, out: Ciphertext | None) -> _core.Ciphertext:
        """The residues to work on in place: those of `a` itself when it takes the result."""
        native = _native(operation, a)
        return native if out is a else native.clone()

    def _finish(
        self,
        operation: str,
        core: _core.Ciphertext,
        out: Ciphertext | None,
        *operands: Ciphertext | Plaintext,
    ) -> Ciphertext:
        """The result of an operation slot by slot. `operands` may have `core` already, if they are `out`."""
        return self._result(operation, core, out, operands, filled_of(operands))

    def _turned(
        self, operation: str, core: _core.Ciphertext, out: Ciphertext | None, a: Ciphertext
    ) -> Ciphertext:
        """The result of an operation that moves values between slots: any may have one."""
        return self._result(operation, core, out, (a,), None)

    def _result(
        self,
        operation: str,
        core: _core.Ciphertext,
        out: Ciphertext | None,
        operands: Sequence[Ciphertext | Plaintext],
        filled: int | None,
    ) -> Ciphertext:
        spent = self._has_budget and _core.guaranteed_noise_budget(core) <= 0
        if spent and not any(isinstance(x, Ciphertext) and x._spent for x in operands):
            warn_of_spent_budget(operation)
        if out is None:
            return Ciphertext(core, self, filled, spent)
        require_type(out, Ciphertext, operation, "a ciphertext as out=")
        out._native = core
        out._evaluator = self
        out._filled = filled
        out._spent = spent
        return out


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


def _is_integer(number: complex | None) -> bool:
    """Whether a product by it takes no level."""
    return number is not None and number.imag == 0 and float(number.real).is_integer()


def _native(operation: str, a: Ciphertext) -> _core.Ciphertext:
    return require_type(a, Ciphertext, operation, "a ciphertext")._native


def _fitted(
    operation: str, operands: Sequence[Ciphertext], plain: Sequence[_core.Plaintext] = ()
) -> tuple[tuple[int, ...], list[_core.Ciphertext]]:
    """The shape to which all operands broadcast, and the ciphertexts spread to it. MismatchError when shapes
    or slots do not fit."""
    natives: list[_core.Ciphertext | _core.Plaintext] = [*(x._native for x in operands), *plain]
    shape: tuple[int, ...] = ()
    for native in natives:
        shape = _broadcast_shape(operation, shape, tuple(native.batch))
    _require_slots(operation, *natives)
    return shape, [_spread(x, shape)._native for x in operands]


def _reshaped(core: _core.Ciphertext, shape: tuple[int, ...]) -> _core.Ciphertext:
    """A result in the shape that NumPy's rule gives it: batches of one meet others as they are."""
    if tuple(core.batch) != shape:
        _core.reshape_inplace(core, list(shape))
    return core


def _require_slots(operation: str, *operands: _core.Ciphertext | _core.Plaintext) -> None:
    """MismatchError for operands of different slots, unless of a single one: values of CKKS would repeat
    where an array is filled with zeros. Polynomials (encoded in coefficients) may have any lengths."""
    first = operands[0].slots
    if all(x.slots == first for x in operands):
        return
    found = sorted({x.slots for x in operands if x.slots != 1 and x.encoding == "slots"})
    if len(found) > 1:
        raise _core.MismatchError(
            f"{operation}: operands of {found[-1]} and {found[0]} slots do not fit; encrypt or encode as "
            "many values in each (append zeros or repeat values), or give the shorter one as an array, which "
            "is filled with zeros"
        )


def _spread(a: Ciphertext, shape: tuple[int, ...]) -> Ciphertext:
    """`a` for a batch of this shape; one of a single element meets each of them as it is."""
    return a if a.shape == shape or a._count == 1 else a._broadcast_to(shape)


def _spread_plain(plain: _core.Plaintext, shape: tuple[int, ...]) -> _core.Plaintext:
    own = tuple(plain.batch)
    if own == shape or math.prod(own) == 1:
        return plain
    elements = np.arange(math.prod(own)).reshape(own)
    return _core.gather(plain, np.broadcast_to(elements, shape).ravel().tolist(), list(shape))


def _broadcast_shape(operation: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if a == b:  # NumPy takes microseconds
        return a
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise _core.MismatchError(
            f"{operation}: batches of shape {a} and {b} do not fit; as in NumPy, extents must be equal or 1"
        ) from None
