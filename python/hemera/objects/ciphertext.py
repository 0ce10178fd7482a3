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
from hemera.circuits.functions import Basis, Function, Interval, Polynomial
from hemera.circuits.plans import Plan
from hemera.inputs.arguments import as_extents, in_own_words, require_type
from hemera.inputs.array_protocols import NotAnArray
from hemera.inputs.encoding import as_number
from hemera.objects.array_hints import IN_PLACE_OF_ABS, IN_PLACE_OF_ATTRIBUTES, IN_PLACE_OF_NUMPY
from hemera.objects.operands import require_equally_filled
from hemera.objects.stored import Stored

if TYPE_CHECKING:
    from hemera.objects.context import Context
    from hemera.objects.evaluator import Evaluator

__all__ = ["Ciphertext", "Operand", "Plaintext", "add_many", "concatenate", "multiply_many", "stack"]

Operand = Union["Ciphertext", "Plaintext", complex, ArrayLike]
"""What a ciphertext is added to or multiplied by: another one, a plaintext, a number, or an array of them."""

Index = int | slice | EllipsisType | None | NDArray[Any] | Sequence[int] | tuple[Any, ...]


@in_own_words
class _Message(NotAnArray, Stored):
    """What plaintexts and ciphertexts tell of their values."""

    __slots__ = ()

    _native: _core.Plaintext | _core.Ciphertext

    @property
    @abstractmethod
    def context(self) -> Context:
        """The context that it belongs to."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch; () for a single message."""
        return tuple(self._native.batch)

    @property
    def slots(self) -> int:
        """Number of values in each message of the batch."""
        return self._native.slots

    @property
    def filled(self) -> int:
        """How many slots hold values, from the first on; the others fill the message up. What numbers are
        added to, and what sums, means and matrices see."""
        return self._native.filled or self._native.slots

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values: float64 or complex128 (CKKS, by the type of what was encoded), int64 (BFV
        and BGV). `Context.decode` and `Context.decrypt` give this type unless they get another `dtype=`."""
        return value_type(self._native, self.context)

    @property
    def scale(self) -> float:
        """CKKS: the factor between values and polynomial; 1 otherwise."""
        return self._native.scale

    @property
    def encoding(self) -> str:
        """How values lie in the polynomial: "slots", or "coefficients" (BFV and BGV)."""
        return self._native.encoding

    def _shown_slots(self) -> str:
        """The slots in a `repr`: how many are filled, and of how many."""
        of = f"{self.filled} of " if self.filled != self.slots else ""
        return f"{of}{self.slots} {self.encoding}"


@in_own_words
class Plaintext(_Message):
    """A batch of encoded messages. `Context.encode` and `Context.load` make one."""

    __slots__ = ("_context",)

    _native: _core.Plaintext

    _instead: ClassVar[Mapping[str, str]] = {"asarray": "ctx.decode(x) gives its values"}
    _otherwise = "add it to a ciphertext or multiply one by it (x + plain, x * plain), or decode it"

    def __init__(self, core: _core.Plaintext, context: Context) -> None:
        self._native = core
        self._context = context

    @property
    def context(self) -> Context:
        """The context that the plaintext belongs to."""
        return self._context

    @property
    def level(self) -> int:
        """CKKS: the level that it is encoded at; BFV and BGV, whose plaintexts go with any level: the top."""
        return self._native.level

    def __repr__(self) -> str:
        return f"<Plaintext of shape {self.shape}, {self._shown_slots()}>"


@in_own_words
class Ciphertext(_Message):
    """A batch of encrypted messages, with the operators of an array.

    `shape` is the shape of the batch: encrypting an array of shape `(B, slots)` gives a ciphertext of shape
    `(B,)`. Every operation acts on the whole batch, and operands broadcast as in NumPy: an array operand has
    the batch axes first and the slots last.

    Operators return new ciphertexts; `+=`, `-=` and `*=` change the one on the left. They work by the
    evaluator that the ciphertext is bound to (see `Context.bind`), whose methods take the same operands and
    an `out=`.
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

    # --- What it is. ---

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
        """Number of batch axes."""
        return len(self._native.batch)

    @property
    def level(self) -> int:
        """Level of the whole batch; 0 is the last, where no rescaling is possible any more."""
        return self._native.level

    @property
    def size(self) -> int:
        """Polynomials of each ciphertext: 2, or 3 for a product that is not relinearized yet."""
        return self._native.size

    @property
    def largest(self) -> float:
        """CKKS: declared bound on the magnitude of the values, by the circuit from `for_circuit(largest=)`;
        infinite where none was declared."""
        return self._native.largest

    @property
    def noise_bits(self) -> float:
        """BFV and BGV: log2 of a bound on the noise that follows from the circuit alone; 0 for CKKS."""
        return self._native.noise_log2

    @property
    def guaranteed_noise_budget(self) -> float:
        """BFV and BGV: bits of noise that every ciphertext of the batch can still take for certain, 0 or
        more. Follows from the circuit and needs no secret; where it is 0, decrypted values may be wrong.

        Raises:
            ParameterError: for CKKS, which has no budget.
        """
        return _core.guaranteed_noise_budget(self._native)

    @property
    def memory_bytes(self) -> int:
        """Bytes that the residues take in the device's memory."""
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

    def __bool__(self) -> NoReturn:
        raise ValueError(
            "the truth value of a ciphertext is encrypted: compute both sides and select with an encrypted 0 "
            "or "
            "1 (hm.circuits.compare is one), or decrypt and decide"
        )

    def __getattr__(self, name: str) -> NoReturn:
        """Only for names that there are not."""
        reason = f": {IN_PLACE_OF_ATTRIBUTES[name]}" if name in IN_PLACE_OF_ATTRIBUTES else ""
        raise AttributeError(f"a Ciphertext has no attribute {name!r}{reason}", name=name, obj=self)

    # --- The batch as an array. ---

    def __getitem__(self, index: Index) -> Ciphertext:
        """Elements of the batch, by any index that NumPy takes; always a copy.

        Raises:
            IndexError: for an index that is out of range, or one that selects nothing.
        """
        shape = self.shape
        try:
            chosen = np.arange(self._count).reshape(shape)[index]
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
            MismatchError: when the number of elements would change.
            ParameterError: for more than 32 axes.
            TypeError: for extents that are no integers.
        """
        extents = as_extents(shape, "reshape")
        # NumPy would do it, but for at most 64 axes.
        known = math.prod(extent for extent in extents if extent != -1)
        if extents.count(-1) == 1 and known > 0:
            extents[extents.index(-1)] = self._count // known
        if min(extents, default=1) < 1 or math.prod(extents) != self._count:
            wanted = tuple(as_extents(shape, "reshape"))
            raise _core.MismatchError(
                f"reshape: a batch of shape {self.shape} cannot become {wanted}; the number of elements must "
                "stay"
            )
        result = self.copy()
        _core.reshape_inplace(result._native, extents)
        return result

    def copy(self) -> Ciphertext:
        """A deep copy."""
        return self._holding(self._native.clone())

    def __copy__(self) -> Ciphertext:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Ciphertext:
        return self.copy()

    @property
    def _count(self) -> int:
        return math.prod(self.shape)

    def _gather(self, chosen: NDArray[np.intp]) -> Ciphertext:
        core = _core.gather(self._native, chosen.ravel().tolist(), list(chosen.shape))
        return self._holding(core)

    def _evaluated(
        self, circuit: Plan | Function, others: Sequence[Ciphertext], out: Ciphertext | None
    ) -> Ciphertext:
        """What circuits of `hemera.circuits` ask of values (`hemera.circuits.handles.Value`)."""
        return self._evaluator._evaluated(circuit, (self, *others), out)

    def _holding(self, core: _core.Ciphertext, evaluator: Evaluator | None = None) -> Ciphertext:
        """A ciphertext of this one's values, elsewhere or in another shape."""
        return Ciphertext(core, evaluator or self._evaluator)

    def _spread(self, shape: tuple[int, ...]) -> Ciphertext:
        """This batch repeated to a shape; one of a single element meets each of them as it is."""
        return self if self.shape == shape or self._count == 1 else self._broadcast_to(shape)

    def _broadcast_to(self, shape: tuple[int, ...]) -> Ciphertext:
        """This batch repeated along new axes and axes of extent 1."""
        return self._gather(np.broadcast_to(np.arange(self._count).reshape(self.shape), shape))

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
        """Each vector as a row times a plain matrix (CKKS), or times a vector: see `Evaluator.matmul`."""
        return self._pick(other).matmul(self, other)

    def __rmatmul__(self, other: ArrayLike) -> Ciphertext:
        """A plain matrix (CKKS), or a plain vector, times each vector."""
        return self._evaluator.matmul(self, np.asarray(other).T)

    def dot(self, other: Operand) -> Ciphertext:
        """The sum of the products with a vector, a ciphertext or plain, in every slot: (self * other).sum().
        With a plain matrix the same as self @ other. Raises as `Evaluator.matmul`."""
        return self._pick(other).matmul(self, other)

    def __truediv__(self, other: complex | ArrayLike) -> Ciphertext:
        """CKKS: division by plain numbers."""
        return self._evaluator.divide(self, other)

    def __rtruediv__(self, other: object) -> NoReturn:
        raise TypeError(
            "nothing divides by a ciphertext; hm.circuits.inverse(interval)(x) is near 1 / x on an interval, "
            "for "
            "CKKS"
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
        """The power by repeated squaring, in ceil(log2 exponent) levels; exponent >= 1."""
        return self._evaluator.power(self, exponent)

    def __eq__(self, other: object) -> bool:
        raise TypeError("ciphertexts can not be compared: equal messages have different encryptions")

    def _no_comparison(self, _: object) -> NoReturn:
        raise TypeError(
            "encrypted values can not be compared in the clear: hm.circuits.compare(gap=...)(x, y) is an "
            "encrypted 0 or 1, hm.circuits.maximum(largest=...)(x, y) the larger one, for CKKS; else decrypt "
            "and "
            "compare the values"
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
        """CKKS: the polynomial of these coefficients, the lowest power first, of each slot; in
        ceil(log2(powers)) levels.

        Args:
            coefficients: of shape (powers,), or (count, powers) for several polynomials, whose results have a
                first axis of that extent; or a `hemera.circuits.Polynomial`, such as `hm.approximate` makes,
                which keeps what it encoded. The others are arguments of that class.

        Raises:
            LevelError: when there are fewer levels left.
            MissingKeyError: when products need a relinearization key that is not there.
            ParameterError: for coefficients that make no polynomial.
        """
        return self._evaluator.polyval(self, coefficients, basis=basis, interval=interval, per_slot=per_slot)

    def relinearize(self) -> Ciphertext:
        """A ciphertext of size 2 with the same message. Raises MissingKeyError without the key."""
        return self._evaluator.relinearize(self)

    def rescale(self) -> Ciphertext:
        """One level down: CKKS divides the scale, BFV and BGV switch the modulus. Raises LevelError at level
        0."""
        return self._evaluator.rescale(self)

    def mod_switch(self) -> Ciphertext:
        """BFV and BGV: one modulus down, the same as `rescale`. Raises LevelError at level 0."""
        return self._evaluator.mod_switch(self)

    def at_level(self, level: int) -> Ciphertext:
        """The same values at a lower level. Raises LevelError for a higher one."""
        return self._evaluator.at_level(self, level)

    def shrink(self) -> Ciphertext:
        """The same values in the smallest ciphertext that holds them safely: what to send."""
        return self._evaluator.shrink(self)

    # --- Slots. ---

    def rotate(self, steps: int) -> Ciphertext:
        """Slots turned left by `steps` (right if negative): slot i of the result is slot i + steps. BFV and
        BGV turn within the two rows of N/2. Takes one key if it is there, else a few power-of-two steps.

        All slots turn, those that fill the ciphertext up too. So with CKKS all slots of the result are
        filled: a slot that held none of the values may hold one.

        Raises:
            MissingKeyError: when the keys do not suffice.
            TypeError: for steps that are no integer.
        """
        return self._evaluator.rotate(self, steps)

    def rotate_many(self, steps: Sequence[int]) -> list[Ciphertext]:
        """Rotations by each of `steps`. Those that have a key of their own share most of the work."""
        return self._evaluator.rotate_many(self, steps)

    def conjugate(self) -> Ciphertext:
        """CKKS: the complex conjugate of each slot. Needs generate_keys(..., conjugation=True)."""
        return self._evaluator.conjugate(self)

    def bootstrap(self) -> Ciphertext:
        """CKKS: the same values at the highest level, by the plan of `Context.bind(bootstrap=)`."""
        return self._evaluator.bootstrap(self)

    def with_slots(self, slots: int) -> Ciphertext:
        """CKKS: the same ciphertext read with another number of slots, a power of two. With more of them the
        values repeat; with fewer it is right where they repeat already (others are no longer told apart).

        Raises:
            ParameterError: for another number of slots.
            MismatchError: for BFV and BGV, whose slots do not repeat.
        """
        return self._evaluator.with_slots(self, slots)

    def swap_rows(self) -> Ciphertext:
        """BFV and BGV: the two rows of N/2 slots exchanged. Needs generate_keys(..., swap_rows=True)."""
        return self._evaluator.swap_rows(self)

    def sum(self, axis: int | None = None) -> Ciphertext:
        """Every slot becomes the sum of the filled slots: see `Evaluator.sum`. Needs
        generate_keys(..., sum_slots=True). With an axis of the batch, from 0 on, its elements are added,
        which needs no keys."""
        return self._evaluator.sum(self, axis=axis)

    def mean(self, axis: int | None = None) -> Ciphertext:
        """CKKS: the sum divided by the number of what is summed: see `Evaluator.mean`. Takes a level."""
        return self._evaluator.mean(self, axis=axis)

    def _pick(self, other: object) -> Evaluator:
        """The evaluator for an operation of the two: the one with keys."""
        own = self._evaluator
        if isinstance(other, Ciphertext) and other._evaluator is not own and not own.has_keys:
            return other._evaluator
        return own


def native_of(operation: str, a: Ciphertext) -> _core.Ciphertext:
    """The core's object of a ciphertext. TypeError for anything else."""
    return require_type(a, Ciphertext, operation, "a ciphertext")._native


def all_parts(parts: Sequence[Ciphertext], operation: str) -> list[Ciphertext]:
    """The ciphertexts as a list. ParameterError for none, TypeError for anything else."""
    found = list(parts)
    if not found:
        raise _core.ParameterError(f"{operation} needs at least one ciphertext")
    for part in found:
        if not isinstance(part, Ciphertext):
            raise TypeError(f"{operation} takes ciphertexts, not {type(part).__name__}")
    return found


def _evaluator_of(parts: list[Ciphertext]) -> Evaluator:
    return next((part._evaluator for part in parts if part._evaluator.has_keys), parts[0]._evaluator)


def stack(parts: Sequence[Ciphertext]) -> Ciphertext:
    """Ciphertexts of equal shape as one, along a new first axis.

    Raises:
        MismatchError: when shapes, levels, scales, slots or the numbers of filled slots differ.
        ParameterError: without any part.
    """
    found = all_parts(parts, "stack")
    require_equally_filled("stack", [part._native for part in found])
    return Ciphertext(_core.stack([part._native for part in found]), _evaluator_of(found))


def concatenate(parts: Sequence[Ciphertext]) -> Ciphertext:
    """Ciphertexts joined along their first axis.

    Raises:
        MismatchError: when other axes, levels, scales, slots or the numbers of filled slots differ, or one
            has no axis.
        ParameterError: without any part.
    """
    found = all_parts(parts, "concatenate")
    require_equally_filled("concatenate", [part._native for part in found])
    return Ciphertext(_core.concatenate([part._native for part in found]), _evaluator_of(found))


def value_type(native: _core.Ciphertext | _core.Plaintext, context: Context) -> np.dtype[Any]:
    """What its values are decoded to, unless another type is asked for."""
    if context.params.scheme != "ckks":
        return np.dtype(np.int64)
    return np.dtype(np.complex128 if native.is_complex else np.float64)


def add_many(terms: Sequence[Ciphertext], *, out: Ciphertext | None = None) -> Ciphertext:
    """The sum of all terms, slot by slot; batches broadcast as in NumPy. ParameterError without any term."""
    found = all_parts(terms, "add_many")
    return _evaluator_of(found).add_many(found, out=out)


def multiply_many(factors: Sequence[Ciphertext], *, out: Ciphertext | None = None) -> Ciphertext:
    """The product of all factors, slot by slot, in ceil(log2 count) levels; batches broadcast as in NumPy.
    ParameterError without any."""
    found = all_parts(factors, "multiply_many")
    return _evaluator_of(found).multiply_many(found, out=out)
