"""The server's side: evaluation on ciphertexts with keys that can not decrypt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits import Bootstrap, IntegerBootstrap, LinearTransform
from hemera.circuits.bootstrap import prepared_for
from hemera.circuits.plans import prepared_in
from hemera.inputs.arguments import described, in_own_words, require_type
from hemera.inputs.plain import plain_array
from hemera.inputs.source import Source
from hemera.objects.arithmetic import ArithmeticEvaluator
from hemera.objects.ciphertext import Ciphertext, Operand, Plaintext, native_of
from hemera.objects.graph import Circuit, Graph
from hemera.objects.keys import Keys, SwitchingKey
from hemera.objects.operands import batch_axis, fitted, require_equally_filled, reshaped, spread
from hemera.objects.stored import Stored

if TYPE_CHECKING:
    from hemera.objects.context import Context

Relinearization = Literal["eager", "lazy"]


@in_own_words
class Evaluator(ArithmeticEvaluator):
    """Evaluates with its keys; `Context.bind` makes one. Any number of threads may use an evaluator at once.

    Every operation takes `out=`: a ciphertext that gets the result, and may be one of the operands. Without
    `out=` the operation returns a new ciphertext. Raises MismatchError if an operand belongs to another
    context.
    """

    def __init__(
        self,
        context: Context,
        keys: Keys,
        relinearization: Relinearization = "eager",
        *,
        native: _core.Evaluator | None = None,
        bootstrap: Bootstrap | IntegerBootstrap | None = None,
        automatic: bool = False,
        magnitude: float | None = None,
    ) -> None:
        if relinearization not in ("eager", "lazy"):
            raise _core.ParameterError(f"relinearization must be 'eager' or 'lazy', not {relinearization!r}")
        self._context = context
        self._keys = keys
        self._bootstrap = bootstrap
        self._automatic = automatic
        self._magnitude = magnitude
        self._undeclared = 0
        if native is None:
            lazy = relinearization == "lazy"
            if bootstrap is None or not automatic:
                native = _core.make_evaluator(keys._native, lazy)
            elif isinstance(bootstrap, IntegerBootstrap):
                exact = prepared_in(bootstrap, context)
                native = _core.make_refreshing_integer_evaluator(keys._native, lazy, exact)
            else:
                prepared = prepared_for(bootstrap, context, magnitude)
                native = _core.make_refreshing_evaluator(keys._native, lazy, prepared)
        self._native = native
        self._has_budget = context.params.scheme != "ckks"

    def __repr__(self) -> str:
        return f"<Evaluator of {self._context!r} with {self._keys!r}>"

    # --- Into and out of ciphertexts. ---

    def encrypt(
        self, values: ArrayLike | Plaintext, *, encoding: str = "slots", largest: float | None = None
    ) -> Ciphertext:
        """Encrypt with the public key.

        Args:
            values: an array of shape (..., slots), or a plaintext. CKKS pads the last axis with zeros to a
                power of two.
            encoding: "slots", or "coefficients" (BFV and BGV).
            largest: CKKS: a bound on the magnitude of the values: see `Context.encode`.

        Returns:
            A ciphertext of shape (...), bound to this evaluator.

        Raises:
            MissingKeyError: if the keys have no public key.
            ParameterError: if values are too large or too many.
            TypeError: if values are no numbers of the scheme.
        """
        return self._context._encrypt(values, self._keys, encoding, self, largest)

    def encode(
        self,
        values: ArrayLike,
        *,
        encoding: str = "slots",
        level: int | None = None,
        scale: float | None = None,
        largest: float | None = None,
    ) -> Plaintext:
        """Encode without encrypting: see `Context.encode`."""
        return self._context.encode(values, encoding=encoding, level=level, scale=scale, largest=largest)

    def load(self, source: Source) -> Ciphertext:
        """A ciphertext from its bytes or a file's path, bound to this evaluator.

        Raises:
            FormatError: if the bytes are damaged.
            MismatchError: if the object is no ciphertext of this context's parameters.
            FileError: if the file can not be read.
        """
        return self._bound(self._context.load(source))

    def _copy_of(self, stored: Stored) -> Ciphertext:
        return self._bound(self._context._copy_of(stored))

    def _bound(self, ciphertext: object) -> Ciphertext:
        if not isinstance(ciphertext, Ciphertext):
            raise _core.MismatchError(
                f"an evaluator takes ciphertexts, but this is a {type(ciphertext).__name__}; use the "
                "context itself"
            )
        return self.bind(ciphertext)

    def bind(self, ciphertext: Ciphertext) -> Ciphertext:
        """The same ciphertext with this evaluator for its operators. No residues are copied."""
        require_type(ciphertext, Ciphertext, "bind", "a ciphertext")
        if ciphertext.context.params != self._context.params:
            raise _core.MismatchError(
                f"bind: the ciphertext belongs to {ciphertext.context!r}, the evaluator to {self._context!r}"
            )
        return Ciphertext(ciphertext._native, self)

    # --- Sums of products, and of slots. ---

    def dot(
        self,
        a: Ciphertext | Sequence[Ciphertext],
        b: Operand | Sequence[Ciphertext] | Sequence[Plaintext | ArrayLike],
        *,
        out: Ciphertext | None = None,
    ) -> Ciphertext:
        """The sum of a[i] * b[i], slot by slot, in one pass. This is faster than product by product. The sum
        of products of ciphertexts is relinearized once, which also leaves less noise.

        Args:
            a: a sequence of ciphertexts; or a single ciphertext, whose slots are summed: `Ciphertext.dot`.
            b: as many ciphertexts; or as many plaintexts and arrays of shape (..., a.filled).

        Returns:
            A ciphertext of the shape to which all operands broadcast, at the level and scale of a product.

        Raises:
            ParameterError: if `a` and `b` are not equally many, or there is none.
            MismatchError: if shapes, levels or encodings do not fit.
            MissingKeyError: if products of ciphertexts need a relinearization key and there is none.
            LevelError: if no level is left.
        """
        if isinstance(a, Ciphertext) and a.ndim == 0:
            return self.matmul(a, cast(Operand, b), out=out)
        if not isinstance(b, (Sequence, Ciphertext, np.ndarray)):
            raise TypeError(
                f"dot: several ciphertexts take as many operands, not {described(b)}; x.dot(y) sums the "
                "slots of one product"
            )
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
        shape, left = fitted("dot", [*a, *right], [y._native for y in plain])
        if right:
            core = self._native.dot(left[: len(a)], left[len(a) :])
        else:
            core = self._native.dot_plain(left, [spread(y._native, shape) for y in plain])
        return self._finish("dot", reshaped(core, shape), out)

    def sum(self, a: Ciphertext, *, axis: int | None = None, out: Ciphertext | None = None) -> Ciphertext:
        """Every slot becomes the sum of the filled slots.

        Slots that fill the ciphertext up do not count. If they are not known to be 0, as after a function,
        the sum masks them first. A mask takes a level (CKKS) or the noise of a plain product (BFV and BGV).

        Args:
            a: a ciphertext. After a rotation of BFV and BGV all slots count, since values may be in any.
            axis: None, -1 or `a.ndim`: the axis of the slots; another one: an axis of the batch, whose
                elements are added (`add_many`).

        Raises:
            MissingKeyError: if the keys of the rotations are missing.
            LevelError: if no level is left for a mask.
            ParameterError: if there is no such axis.
        """
        native = native_of("sum", a)
        if axis is not None and (along := batch_axis("sum", a.shape, axis)) is not None:
            return self.add_many(_elements(a, along), out=out)
        if native.padding == "uniform" and native.filled:
            core = native.clone()
            self._with_number("multiply", core, a.filled)
            return self._finish("sum", core, out)
        if native.padding == "unknown":
            native = self._masked("sum", a)
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
        return self._finish("sum", core, out)

    def mean(self, a: Ciphertext, *, axis: int | None = None, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: every slot becomes the mean of the filled slots; with an axis of the batch, the mean of its
        elements, slot by slot. Takes a level. Raises as `sum`, and TypeError if the scheme is BFV or BGV."""
        native = native_of("mean", a)
        if self._context.params.scheme != "ckks":
            raise TypeError(
                "BFV and BGV have no division: decrypt x.sum() and divide it, or multiply by an inverse "
                "modulo the plaintext modulus"
            )
        if axis is not None and (along := batch_axis("mean", a.shape, axis)) is not None:
            return self.multiply(self.sum(a, axis=along), 1 / a.shape[along], out=out)
        if native.padding == "unknown":
            return self.sum(self.multiply(a, 1 / a.filled), out=out)  # the product masks as well
        return self.multiply(self.sum(a), 1 / a.filled, out=out)

    def _masked(self, operation: str, a: Ciphertext) -> _core.Ciphertext:
        """The values with 0 in all other slots."""
        try:
            fresh = self._refreshed(a)
            mask = self._codec.number_operand(1, fresh._native, product=True)
            return self._native.multiply_plain(fresh._native, mask)
        except _core.LevelError as error:
            raise _core.LevelError(
                f"{operation}: slots {a.filled} to {a.slots - 1} fill the ciphertext up and are not known "
                "to be 0, so they are masked, for which no level is left: use parameters of more depth, or "
                f"hm.circuits.Mask(np.arange({a.slots}) < {a.filled}, params)(x) where there is one"
            ) from error

    def _sums(self, a: _core.Ciphertext) -> bool:
        """Whether the Galois keys suffice to sum the slots."""
        params = self._context.params
        try:
            for steps in _core.rotations_for_sum(params._native, a.slots):
                self._native.rotation_plan(steps, a)
        except _core.MissingKeyError:
            return False
        return params.scheme == "ckks" or self._keys.has_conjugation

    def matmul(
        self, a: Ciphertext, b: Operand, *, slots: int | None = None, out: Ciphertext | None = None
    ) -> Ciphertext:
        """a @ b, as in NumPy: each vector of `a`, as a row, times a plain matrix (CKKS); or its inner product
        with a vector, in every slot.

        Each call encodes the matrix. A `hemera.circuits.LinearTransform` of `b.T` encodes it once.

        Args:
            b: a plain matrix of shape (a.filled, columns); or a vector: a single ciphertext, a plaintext or
                an array of shape (a.filled,).
            slots: a.slots: the matrix is for all slots. It may then have fewer rows; the missing ones are
                zero.

        Raises:
            MismatchError: if the matrix has not as many rows as `a` has values.
            TypeError: if `b` is something else, or a matrix and the scheme is BFV or BGV.
            ParameterError: if there are more rows or columns than `a` has slots.
            MissingKeyError: if a rotation of the matrix's diagonals, or of a sum, lacks its key.
            LevelError: if no level is left.
        """
        native_of("matmul", a)
        if isinstance(b, Ciphertext) and b.ndim:
            raise TypeError(
                f"matmul takes a vector or a plain matrix, not a batch of ciphertexts of shape {b.shape}: "
                "hm.circuits.MatrixVectorProduct and MatrixProduct multiply encrypted matrices, ev.dot(xs, "
                "ys) sums products"
            )
        if isinstance(b, (Ciphertext, Plaintext)):
            return self.sum(self.multiply(a, b), out=out)
        matrix = plain_array(b, "matmul")
        if matrix.ndim == 1:
            return self.sum(self.multiply(a, self._vector("matmul", matrix, a)), out=out)
        if matrix.ndim != 2 or self._context.params.scheme != "ckks":
            raise TypeError(
                "matmul takes a plain matrix of two axes, for CKKS, or a vector; ev.dot(xs, ys) sums "
                "products x * y"
            )
        if slots is None and len(matrix) != a.filled:
            raise _core.MismatchError(
                f"matmul: ciphertexts of {a.filled} values and a matrix of shape {matrix.shape} do not "
                "fit; as in NumPy it needs a row for each value (or say ev.matmul(x, matrix, "
                "slots=x.slots), for zeros in the rows that are missing)"
            )
        if slots not in (None, a.slots):
            raise _core.MismatchError(f"matmul: slots={slots}, and the ciphertext has {a.slots}")
        a = self._refreshed(a)
        level = _core.level_of_product(a._native)
        plan = LinearTransform(matrix.T, self._context.params, slots=a.slots, level=level)
        return self.transform(a, plan, out=out)

    @staticmethod
    def _vector(operation: str, values: NDArray[Any], a: Ciphertext) -> NDArray[Any]:
        """A plain vector of as many values as the ciphertext. MismatchError if its length is another one."""
        if len(values) != a.filled:
            raise _core.MismatchError(
                f"{operation}: a vector of {len(values)} values and a ciphertext of {a.filled} do not fit"
            )
        return values

    def reencrypt(self, a: Ciphertext, key: SwitchingKey) -> Ciphertext:
        """The same message under the target secret key of `key`. The result is bound to no keys."""
        require_type(key, SwitchingKey, "reencrypt", "the key of ctx.generate_switching_key(source, target)")
        core = self._native.reencrypt(native_of("reencrypt", a), key._native)
        return Ciphertext(core, self._context._keyless)

    # --- Circuits. ---

    def capture(self, circuit: Circuit, *examples: Ciphertext) -> Graph:
        """Capture a circuit of operations as a graph. A graph runs many times at little cost for the host.

        `capture` calls the circuit with ciphertexts like the examples, once to run it and once to record it.
        The circuit's operations must be the same for all inputs of this shape, level and scale, as those of
        Hemera are. The CPU has no graphs; there a graph calls the circuit each time.

        Args:
            circuit: takes as many ciphertexts as there are examples; returns one, or a sequence of them.
            examples: inputs with the shape, level and scale of the later inputs, and (BFV, BGV) at least
                their noise.

        Returns:
            A `Graph` g: `g(*inputs)` equals `circuit(*inputs)` bit for bit.

        Array operands of sums and products are constants of the graph: the first run encodes them.

        Raises:
            DeviceError: if the circuit encrypts, draws randomness or copies from or to the host. `encode` and
                a matrix (`@`) inside the circuit are such copies: encode before, and use the plaintext or the
                `hemera.circuits.LinearTransform`. So is an array that is another one at the second run.
        """
        with self._codec.keeping_operands():
            return Graph(self._context._native, lambda core: Ciphertext(core, self), circuit, examples)

    # --- Joining, for `hemera.objects.batches`. ---

    def _stacked(self, parts: Sequence[Ciphertext]) -> Ciphertext:
        natives = [part._native for part in parts]
        require_equally_filled("stack", natives)
        return Ciphertext(_core.stack(natives), self)

    def _concatenated(self, parts: Sequence[Ciphertext]) -> Ciphertext:
        natives = [part._native for part in parts]
        require_equally_filled("concatenate", natives)
        return Ciphertext(_core.concatenate(natives), self)

    if not TYPE_CHECKING:  # to type checkers it would have every name

        def __getattr__(self, name: str) -> NoReturn:
            """Called for unknown names only."""
            reason = ": ctx.decrypt(x, secret_key) does, with the secret key" if name == "decrypt" else ""
            raise AttributeError(f"an Evaluator has no attribute {name!r}{reason}", name=name, obj=self)


def _elements(a: Ciphertext, axis: int) -> list[Ciphertext]:
    """The parts of a batch along one of its axes."""
    return [a[(slice(None),) * axis + (i,)] for i in range(a.shape[axis])]
