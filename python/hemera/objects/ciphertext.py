"""Plaintexts and ciphertexts: arrays of encoded and of encrypted messages."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.functions import Function, Interval
from hemera.circuits.plans import Plan
from hemera.circuits.polynomials import Basis, Polynomial
from hemera.inputs.arguments import as_extents, in_own_words, require_type
from hemera.inputs.encoding import as_number
from hemera.inputs.operators import NotAnArray
from hemera.inputs.plain import Numbers, plain_array
from hemera.objects.array_hints import IN_PLACE_OF_ABS, IN_PLACE_OF_ATTRIBUTES, IN_PLACE_OF_NUMPY
from hemera.objects.stored import Belonging, Stored

if TYPE_CHECKING:
    from hemera.objects.context import Context
    from hemera.objects.evaluator import Evaluator

Operand = Union["Ciphertext", "Plaintext", Numbers]
"""The second operand of a sum or product: a ciphertext, a plaintext, a number, or an array of numbers."""

Index = int | slice | EllipsisType | None | NDArray[Any] | Sequence[int] | tuple[Any, ...]


@in_own_words
class _Message(NotAnArray, Stored):
    """The properties of values that plaintexts and ciphertexts share."""

    __slots__ = ()

    _native: _core.Plaintext | _core.Ciphertext

    @property
    @abstractmethod
    def context(self) -> Context:
        """The context that the object belongs to."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the batch; () for a single message."""
        return tuple(self._native.batch)

    @property
    def slots(self) -> int:
        """The number of slots in each message of the batch."""
        return self._native.slots

    @property
    def filled(self) -> int:
        """The number of slots that hold values, from the first on; the other slots fill the message up. Sums
        with numbers, sums over slots, means and matrices use these slots alone."""
        return self._native.filled or self._native.slots

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values: float64 or complex128 (CKKS, by the type of the encoded numbers), int64
        (BFV and BGV). `Context.decode` and `Context.decrypt` give this type unless they get another
        `dtype=`."""
        if self.context.params.scheme != "ckks":
            return np.dtype(np.int64)
        return np.dtype(np.complex128 if self._native.is_complex else np.float64)

    @property
    def scale(self) -> float:
        """CKKS: the factor between values and polynomial; 1 otherwise."""
        return self._native.scale

    @property
    def encoding(self) -> str:
        """The place of values in the polynomial: "slots", or "coefficients" (BFV and BGV)."""
        return self._native.encoding

    def _shown_slots(self) -> str:
        """The slots in a `repr`: the number of filled ones, of all, and the encoding."""
        of = f"{self.filled} of " if self.filled != self.slots else ""
        return f"{of}{self.slots} {self.encoding}"

    def _html_facts(self) -> dict[str, object]:
        """The rows of the table for notebooks, by name."""
        ckks = self.context.params.scheme == "ckks"
        return {
            "parameters": repr(self.context.params),
            "shape of the batch": self.shape,
            "slots": self._shown_slots(),
            "type of values": self.dtype,
            "level": self._native.level,
            "log2 of the scale": math.log2(self.scale) if ckks else None,
        }


@in_own_words
class Plaintext(Belonging["Context"], _Message):
    """A batch of encoded messages. `Context.encode` and `Context.load` make one."""

    __slots__ = ()

    _native: _core.Plaintext

    _instead: ClassVar[Mapping[str, str]] = {"asarray": "ctx.decode(x) gives its values"}
    _otherwise = "add it to a ciphertext or multiply one by it (x + plain, x * plain), or decode it"

    @property
    def level(self) -> int:
        """CKKS: the level of the plaintext. BFV and BGV: the top, since their plaintexts go with any
        level."""
        return self._native.level

    def __repr__(self) -> str:
        return f"<Plaintext of shape {self.shape}, {self._shown_slots()}>"

    def _repr_html_(self) -> str:
        """A table for notebooks, without the values."""
        from hemera import _html

        return _html.table("Plaintext", self._html_facts())


@in_own_words
class Ciphertext(_Message):
    """A batch of encrypted messages, with the operators of an array.

    `shape` is the shape of the batch: encrypting an array of shape `(B, slots)` gives a ciphertext of shape
    `(B,)`. Every operation acts on the whole batch, and operands broadcast as in NumPy: an array operand has
    the batch axes first and the slots last.

    Operators return new ciphertexts; `+=`, `-=` and `*=` change the one on the left. They use the evaluator
    that the ciphertext is bound to (see `Context.bind`). The evaluator's methods take the same operands and
    an `out=`.

    Examples:
        >>> ctx = hm.Context(hm.bfv.Parameters.for_circuit(depth=2, slots=4))
        >>> sk = ctx.generate_secret_key()
        >>> ev = ctx.bind(ctx.generate_keys(sk))
        >>> x, y = ev.encrypt([[1, 2], [3, 4]]), ev.encrypt([10, 20])
        >>> ctx.decrypt(x * y - 1, sk).tolist()
        [[9, 39], [29, 79]]
        >>> x.shape, x[0].shape
        ((2,), ())
    """

    __slots__ = ("_evaluator",)

    _native: _core.Ciphertext

    __hash__ = None  # type: ignore[assignment]

    _instead: ClassVar[Mapping[str, str]] = IN_PLACE_OF_NUMPY
    _otherwise = (
        "it has + - * ** with numbers and arrays, its own methods and those of ev; for the rest decrypt it: "
        "ctx.decrypt(x, secret_key)"
    )

    def __init__(self, core: _core.Ciphertext, evaluator: Evaluator) -> None:
        self._native = core
        self._evaluator = evaluator

    # --- Properties. ---

    @property
    def context(self) -> Context:
        """The context that the ciphertext belongs to."""
        return self._evaluator.context

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator that its operators use."""
        return self._evaluator

    @property
    def ndim(self) -> int:
        """The number of batch axes."""
        return len(self._native.batch)

    @property
    def level(self) -> int:
        """The level of the whole batch. Level 0 is the last one, where no rescale is possible."""
        return self._native.level

    @property
    def size(self) -> int:
        """The number of polynomials of each ciphertext: 2, or 3 for a product that is not relinearized
        yet."""
        return self._native.size

    @property
    def largest(self) -> float:
        """CKKS: the bound on the magnitude of the values that follows from the declared bounds of a circuit's
        inputs (`for_circuit(largest=)`, `encode(largest=)`); infinite if none was declared."""
        return self._native.largest

    @property
    def noise_bits(self) -> float:
        """BFV and BGV: log2 of a bound on the noise, which follows from the circuit alone; 0 for CKKS."""
        return self._native.noise_log2

    @property
    def guaranteed_noise_budget(self) -> float:
        """BFV and BGV: the bits by which the noise of every ciphertext of the batch may certainly still grow,
        0 or more. The number follows from the circuit and needs no secret. At 0 decrypted values may be
        wrong.

        Raises:
            ParameterError: if the scheme is CKKS, which has no budget.
        """
        return _core.guaranteed_noise_budget(self._native)

    @property
    def memory_bytes(self) -> int:
        """The bytes of the residues in the device's memory."""
        return self._native.memory_bytes

    def __len__(self) -> int:
        if not self._native.batch:
            raise TypeError("a single ciphertext has no length; its values are its slots")
        return int(self._native.batch[0])

    def __repr__(self) -> str:
        return (
            f"<{self.context.params.scheme.upper()} Ciphertext of shape {self.shape}, {self._shown_slots()}, "
            f"level {self.level}>"
        )

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        from hemera import _html

        ckks = self.context.params.scheme == "ckks"
        facts = {
            **self._html_facts(),
            "largest magnitude of values": self.largest if math.isfinite(self.largest) else None,
            "guaranteed noise budget, bits": None if ckks else self.guaranteed_noise_budget,
            "polynomials": self.size,
            "bytes of memory": self.memory_bytes,
            "device": self.context.device,
        }
        return _html.table(f"{self.context.params.scheme.upper()} ciphertext", facts)

    def __bool__(self) -> NoReturn:
        raise ValueError(
            "the truth value of a ciphertext is encrypted: compute both sides and select with an encrypted "
            "0 or 1 (hm.circuits.compare is one), or decrypt and decide"
        )

    if not TYPE_CHECKING:  # to type checkers it would have every name

        def __getattr__(self, name: str) -> NoReturn:
            """Called for unknown names only."""
            reason = f": {IN_PLACE_OF_ATTRIBUTES[name]}" if name in IN_PLACE_OF_ATTRIBUTES else ""
            raise AttributeError(f"a Ciphertext has no attribute {name!r}{reason}", name=name, obj=self)

    # --- The batch as an array. ---

    def __getitem__(self, index: Index) -> Ciphertext:
        """Elements of the batch, by any index that NumPy takes; always a copy.

        Raises:
            IndexError: if the index is out of range, or selects nothing.
        """
        shape = self.shape
        try:
            chosen = places_in(self)[index]
        except IndexError as error:
            if shape:
                raise
            raise IndexError(
                "a single ciphertext has no batch to index; its slots can not be taken out singly"
            ) from error
        if chosen.size == 0:
            raise IndexError(f"index {index!r} selects nothing of a batch of shape {shape}")
        return self._gather(chosen)

    def __iter__(self) -> Iterator[Ciphertext]:
        for position in range(len(self)):
            yield self[position]

    def reshape(self, *shape: int | Sequence[int]) -> Ciphertext:
        """The same elements in another batch shape; one extent may be -1. A copy.

        Raises:
            MismatchError: if the number of elements would change.
            ParameterError: if there are more than 32 axes.
            TypeError: if an extent is no integer.
        """
        extents = as_extents(shape, "reshape")
        # NumPy would do so for at most 64 axes.
        known = math.prod(extent for extent in extents if extent != -1)
        if extents.count(-1) == 1 and known > 0:
            extents[extents.index(-1)] = math.prod(self.shape) // known
        if min(extents, default=1) < 1 or math.prod(extents) != math.prod(self.shape):
            wanted = tuple(as_extents(shape, "reshape"))
            raise _core.MismatchError(
                f"reshape: a batch of shape {self.shape} cannot become {wanted}; the number of elements "
                "must stay"
            )
        return self._reshaped(extents)

    def _reshaped(self, extents: list[int]) -> Ciphertext:
        result = self.copy()
        _core.reshape_inplace(result._native, extents)
        return result

    def copy(self) -> Ciphertext:
        """A deep copy."""
        return Ciphertext(self._native.clone(), self._evaluator)

    def __copy__(self) -> Ciphertext:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Ciphertext:
        return self.copy()

    def _gather(self, chosen: NDArray[np.intp]) -> Ciphertext:
        core = _core.gather(self._native, chosen.ravel().tolist(), list(chosen.shape))
        return Ciphertext(core, self._evaluator)

    def _evaluated(
        self, circuit: Plan | Function, others: Sequence[Ciphertext], out: Ciphertext | None
    ) -> Any:
        """The method that circuits call of values (`hemera.circuits.handles.Value`)."""
        return self._evaluator._evaluated(circuit, (self, *others), out)

    # --- Arithmetic. ---

    def __add__(self, other: Operand) -> Ciphertext:
        return self._pick(other).add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Ciphertext:
        return self._pick(other).subtract(self, other)

    def __rsub__(self, other: Operand) -> Ciphertext:
        negative = self._evaluator.negate(self)
        # An array may have more batch axes than this ciphertext, which then can not hold the result.
        return self._evaluator.add(negative, other, out=negative if as_number(other) is not None else None)

    def __mul__(self, other: Operand) -> Ciphertext:
        return self._pick(other).multiply(self, other)

    __rmul__ = __mul__

    def __matmul__(self, other: Operand) -> Ciphertext:
        """Each vector, as a row, times a plain matrix (CKKS) or a vector: see `Evaluator.matmul`."""
        return self._pick(other).matmul(self, other)

    def __rmatmul__(self, other: Numbers) -> Ciphertext:
        """A plain matrix (CKKS), or a plain vector, times each vector."""
        return self._evaluator.matmul(self, plain_array(other, "matmul").T)

    def dot(self, other: Operand) -> Ciphertext:
        """The inner product with a vector, encrypted or plain, in every slot: (self * other).sum(). With a
        plain matrix: self @ other. Raises as `Evaluator.matmul`."""
        return self._pick(other).matmul(self, other)

    def __truediv__(self, other: Numbers) -> Ciphertext:
        """CKKS: division by plain numbers."""
        return self._evaluator.divide(self, other)

    def __rtruediv__(self, other: object) -> NoReturn:
        raise TypeError(
            "nothing divides by a ciphertext; hm.circuits.inverse(interval)(x) is near 1 / x on an "
            "interval, for CKKS"
        )

    def __abs__(self) -> NoReturn:
        raise TypeError(f"abs takes no Ciphertext: {IN_PLACE_OF_ABS}")

    def __iadd__(self, other: Operand) -> Ciphertext:
        return self._pick(other).add(self, other, out=self)

    def __isub__(self, other: Operand) -> Ciphertext:
        return self._pick(other).subtract(self, other, out=self)

    def __imul__(self, other: Operand) -> Ciphertext:
        return self._pick(other).multiply(self, other, out=self)

    def __neg__(self) -> Ciphertext:
        return self._evaluator.negate(self)

    def __pos__(self) -> Ciphertext:
        return self.copy()

    def __pow__(self, exponent: int) -> Ciphertext:
        """The power by repeated squaring, in ceil(log2 exponent) levels; exponents from 1."""
        return self._evaluator.power(self, exponent)

    def __eq__(self, other: object) -> bool:
        raise TypeError("ciphertexts can not be compared: equal messages have different encryptions")

    def _no_comparison(self, _: object) -> NoReturn:
        raise TypeError(
            "encrypted values can not be compared in the clear: hm.circuits.compare(gap=...)(x, y) is an "
            "encrypted 0 or 1, hm.circuits.maximum(largest=...)(x, y) the larger one, for CKKS; else "
            "decrypt and compare the values"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _no_comparison

    def square(self) -> Ciphertext:
        """The product with itself, slot by slot."""
        return self._evaluator.square(self)

    def polyval(
        self,
        coefficients: ArrayLike | Polynomial,
        *,
        basis: Basis = "power",
        interval: Interval | None = None,
        per_slot: bool = False,
    ) -> Ciphertext:
        """CKKS: the value of a polynomial at each slot, in ceil(log2(powers)) levels.

        Args:
            coefficients: the coefficients, the lowest power first, of shape (powers,). Shape (count, powers)
                stands for several polynomials, whose results have a first axis of that extent. Or a
                `hemera.circuits.Polynomial`, which keeps its encoded coefficients; `hm.approximate` makes
                one.
            basis: as for `hemera.circuits.Polynomial`.
            interval: as for `hemera.circuits.Polynomial`.
            per_slot: as for `hemera.circuits.Polynomial`.

        Raises:
            LevelError: if there are fewer levels left.
            MissingKeyError: if products need a relinearization key and there is none.
            ParameterError: if the coefficients make no polynomial.

        Examples:
            >>> ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=2, slots=4))
            >>> sk = ctx.generate_secret_key()
            >>> x = ctx.bind(ctx.generate_keys(sk)).encrypt([1.0, 2.0])
            >>> ctx.decrypt(x.polyval([1, 0, 2]), sk).round(3).tolist()  # 1 + 2 x^2
            [3.0, 9.0]
        """
        return self._evaluator.polyval(self, coefficients, basis=basis, interval=interval, per_slot=per_slot)

    def relinearize(self) -> Ciphertext:
        """The same message in a ciphertext of size 2. MissingKeyError if the key is missing."""
        return self._evaluator.relinearize(self)

    def rescale(self) -> Ciphertext:
        """One level down: CKKS divides the scale, BFV and BGV switch the modulus. LevelError if the level is
        0."""
        return self._evaluator.rescale(self)

    def mod_switch(self) -> Ciphertext:
        """BFV and BGV: one modulus down, the same as `rescale`. LevelError if the level is 0."""
        return self._evaluator.mod_switch(self)

    def at_level(self, level: int) -> Ciphertext:
        """The same values at a lower level. LevelError if `level` is higher."""
        return self._evaluator.at_level(self, level)

    def shrink(self) -> Ciphertext:
        """The same values in the smallest ciphertext that holds them safely, for sending."""
        return self._evaluator.shrink(self)

    # --- Slots. ---

    def rotate(self, steps: int) -> Ciphertext:
        """Slots turned left by `steps` (right if negative): slot i of the result is slot i + steps. BFV and
        BGV turn within the two rows of N/2. Uses the key of the rotation if there is one, else a few keys of
        power-of-two steps.

        All slots turn, also those that fill the ciphertext up. So all slots of a CKKS result are filled: a
        value may be in any of them.

        Raises:
            MissingKeyError: if the keys do not suffice.
            TypeError: if `steps` is no integer.

        Examples:
            >>> ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=4))
            >>> sk = ctx.generate_secret_key()
            >>> x = ctx.bind(ctx.generate_keys(sk, rotations=[1])).encrypt([1.0, 2.0, 3.0, 4.0])
            >>> ctx.decrypt(x.rotate(1), sk).round(3).tolist()
            [2.0, 3.0, 4.0, 1.0]
        """
        return self._evaluator.rotate(self, steps)

    def rotate_many(self, steps: Sequence[int]) -> list[Ciphertext]:
        """Rotations by each of `steps`. Rotations with a key of their own share most of the work."""
        return self._evaluator.rotate_many(self, steps)

    def conjugate(self) -> Ciphertext:
        """CKKS: the complex conjugate of each slot. Needs generate_keys(..., conjugation=True)."""
        return self._evaluator.conjugate(self)

    def bootstrap(self) -> Ciphertext:
        """The same values by the plan of `Context.bind(bootstrap=)`. CKKS: at the highest level. BFV and BGV:
        with less noise."""
        return self._evaluator.bootstrap(self)

    def with_slots(self, slots: int) -> Ciphertext:
        """CKKS: the same ciphertext read with another number of slots, a power of two. With more slots the
        values repeat. With fewer the result is right only if the values repeat already.

        Raises:
            ParameterError: if the number of slots is no power of two, or too large.
            MismatchError: if the scheme is BFV or BGV, whose slots do not repeat.
        """
        return self._evaluator.with_slots(self, slots)

    def swap_rows(self) -> Ciphertext:
        """BFV and BGV: the two rows of N/2 slots exchanged. Needs generate_keys(..., swap_rows=True)."""
        return self._evaluator.swap_rows(self)

    def sum(self, axis: int | None = None) -> Ciphertext:
        """Every slot becomes the sum of the filled slots: see `Evaluator.sum`. Needs
        generate_keys(..., sum_slots=True). With an axis of the batch, from 0 on, its elements are added; this
        needs no keys.

        Examples:
            >>> ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=4))
            >>> sk = ctx.generate_secret_key()
            >>> x = ctx.bind(ctx.generate_keys(sk, sum_slots=True)).encrypt([1.0, 2.0, 3.0])
            >>> ctx.decrypt(x.sum(), sk).round(3).tolist()
            [6.0, 6.0, 6.0]
        """
        return self._evaluator.sum(self, axis=axis)

    def mean(self, axis: int | None = None) -> Ciphertext:
        """CKKS: the sum divided by the number of its terms: see `Evaluator.mean`. Takes a level."""
        return self._evaluator.mean(self, axis=axis)

    def _pick(self, other: object) -> Evaluator:
        """The evaluator for an operation with `other`: this one's, unless only the other one has keys."""
        own = self._evaluator
        if isinstance(other, Ciphertext) and other._evaluator is not own and not own.has_keys:
            return other._evaluator
        return own


def places_in(x: _Message) -> NDArray[np.intp]:
    """The number of each element of a batch, in its shape."""
    return np.arange(math.prod(x.shape)).reshape(x.shape)


def gather(x: Ciphertext, chosen: NDArray[np.intp]) -> Ciphertext:
    """The elements of a batch with these numbers, in the shape of `chosen`."""
    return x._gather(chosen)


def native_of(operation: str, a: Ciphertext) -> _core.Ciphertext:
    """The core's object of a ciphertext. TypeError if `a` is no ciphertext."""
    return require_type(a, Ciphertext, operation, "a ciphertext")._native


def all_parts(parts: Sequence[Ciphertext], operation: str) -> list[Ciphertext]:
    """The ciphertexts as a list. ParameterError if there is none, TypeError if one is no ciphertext."""
    found = list(parts)
    if not found:
        raise _core.ParameterError(f"{operation} needs at least one ciphertext")
    for part in found:
        if not isinstance(part, Ciphertext):
            raise TypeError(f"{operation} takes ciphertexts, not {type(part).__name__}")
    return found
