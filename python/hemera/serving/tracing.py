"""From a Python function to a program: it is called once with values that note what is done to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn, cast

import numpy as np
from numpy.typing import ArrayLike

from hemera._array_protocols import NotAnArray
from hemera._encoding import as_number
from hemera.circuits import Function, Polynomial, Recorded
from hemera.errors import ParameterError
from hemera.serving import operations as op
from hemera.serving.operations import Operation
from hemera.serving.program import Program
from hemera.serving.values import Array, Form, SchemeName, constant

__all__ = ["Recorder", "Symbol", "record"]

_DATA = (
    "its value is encrypted when the model runs, so a program can not depend on it: {what}. Compute both "
    "sides and select with an encrypted 0 or 1 (hm.circuits.compare is one), or decide at the client"
)


class Symbol(NotAnArray, Recorded):
    """An encrypted value of a program that is being recorded, with the operators of a `hemera.Ciphertext`."""

    __slots__ = ("_number", "_recorder")

    __hash__ = None  # type: ignore[assignment]

    _instead: ClassVar[dict[str, str]] = {
        "asarray": "its values are encrypted",
        "dot": "(x * w).sum() sums the slots of a product, x @ matrix multiplies by a matrix (CKKS)",
        "roll": "x.rotate(k) turns slots to the left",
        "sum": "x.sum() makes every slot their sum",
        "square": "x.square()",
        "negative": "-x",
        "polyval": "x.polyval(coefficients), the lowest power first",
        **{
            name: f"hm.circuits.{name}(...)(x) is near it on an interval, for CKKS"
            for name in ("exp", "log", "sqrt", "tanh", "sign", "maximum")
        },
    }
    _otherwise = "a recorded program has + - * @ ** of values, numbers and arrays, and their methods"

    def __init__(self, recorder: Recorder, number: int) -> None:
        self._recorder = recorder
        self._number = number

    @property
    def _form(self) -> Form:
        return self._recorder.program.forms[self._number]

    @property
    def slots(self) -> int:
        """Number of values in each ciphertext."""
        return self._form.slots

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch that one request has; () for a single ciphertext."""
        return self._form.shape

    @property
    def ndim(self) -> int:
        """Number of the batch's axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<Symbol of shape {self.shape}, {self.slots} slots>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a single ciphertext has no length; its values are its slots")
        return self.shape[0]

    def __getitem__(self, index: int) -> Symbol:
        """An element of the batch along its first axis."""
        count = len(self)
        number = as_number(index)
        if not isinstance(number, int):
            raise TypeError("a recorded batch is indexed by an integer")
        if not -count <= number < count:
            raise IndexError(f"index {number} of a batch of {count}")
        return self._note(op.Take(number % count))

    def __iter__(self) -> Iterator[Symbol]:
        for index in range(len(self)):
            yield self[index]

    # --- Arithmetic. ---

    def _note(self, operation: Operation, *others: Symbol) -> Symbol:
        return self._recorder.note(operation, self, *others)

    def __add__(self, other: object) -> Symbol:
        if isinstance(other, Symbol):
            return self._note(op.Add(), other)
        number = as_number(other)
        return self._note(op.AddArray(_array(other)) if number is None else op.AddNumber(_plain(number)))

    __radd__ = __add__

    def __sub__(self, other: object) -> Symbol:
        if isinstance(other, Symbol):
            return self._note(op.Subtract(), other)
        number = as_number(other)
        if number is not None:
            return self._note(op.AddNumber(_plain(-number)))
        return self._note(op.AddArray(-_array(other)))

    def __rsub__(self, other: object) -> Symbol:
        return (-self).__add__(other)

    def __mul__(self, other: object) -> Symbol:
        if isinstance(other, Symbol):
            return self.square() if other is self else self._note(op.Multiply(), other)
        number = as_number(other)
        if number is None:
            return self._note(op.MultiplyArray(_array(other)))
        return self._note(op.MultiplyNumber(_plain(number)))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Symbol:
        if isinstance(other, Symbol):
            raise TypeError("a ciphertext can only be divided by plain numbers; hm.circuits.inverse is 1 / x")
        if self._recorder.program.scheme != "ckks":
            raise TypeError("BFV and BGV have no division")
        inverse: Array = 1 / np.asarray(other, np.float64)
        return self.__mul__(inverse)

    def __matmul__(self, matrix: ArrayLike) -> Symbol:
        """CKKS: each vector as a row times a plain matrix of shape (values, columns)."""
        return self.matmul(matrix)

    def matmul(self, matrix: ArrayLike, *, fewest_keys: bool = False) -> Symbol:
        """CKKS: x @ matrix; `fewest_keys` as of `hemera.circuits.LinearTransform`: two or three rotation
        keys, and more time."""
        if isinstance(matrix, Symbol):
            raise TypeError("x @ y takes a plain matrix; (x * y).sum() is the dot product of two values")
        return self._note(op.Matmul(np.asarray(matrix), fewest_keys=fewest_keys))

    def __rmatmul__(self, matrix: ArrayLike) -> Symbol:
        return self.__matmul__(np.asarray(matrix).T)

    def __neg__(self) -> Symbol:
        return self._note(op.Negate())

    def __pos__(self) -> Symbol:
        return self

    def __pow__(self, exponent: int) -> Symbol:
        return self if exponent == 1 else self._note(op.Power(exponent))

    def square(self) -> Symbol:
        """The product with itself."""
        return self._note(op.Power(2))

    def polyval(
        self,
        coefficients: ArrayLike | Polynomial,
        *,
        basis: Any = "power",
        interval: tuple[float, float] | None = None,
        per_slot: bool = False,
    ) -> Symbol:
        """CKKS: a polynomial of each slot: see `hemera.Ciphertext.polyval`."""
        if not isinstance(coefficients, Polynomial):
            coefficients = Polynomial(coefficients, basis=basis, interval=interval, per_slot=per_slot)
        return self.apply(coefficients)

    def apply(self, function: Function, *others: Any) -> Symbol:
        """CKKS: a function of `hemera.circuits`, slot by slot."""
        if isinstance(function, Polynomial):
            return self._note(op.OfPolynomial.of(function), *others)
        if function.recipe is None:
            raise TypeError(f"{function.name} can not be kept in a file; take a function of hm.circuits")
        return self._note(op.OfNamedFunction(function.name, dict(function.recipe)), *others)

    # --- Slots and levels. ---

    def rotate(self, steps: int) -> Symbol:
        """Slots turned left by `steps`."""
        ckks = self._recorder.program.scheme == "ckks"
        return self._note(op.Rotate(steps) if ckks else op.RotateRows(steps)) if steps else self

    def conjugate(self) -> Symbol:
        """CKKS: the complex conjugate."""
        return self._note(op.Conjugate())

    def swap_rows(self) -> Symbol:
        """BFV and BGV: the two rows of slots exchanged."""
        return self._note(op.SwapRows())

    def sum(self) -> Symbol:
        """Every slot becomes the sum of all slots."""
        return self._note(op.Sum())

    def inner_sum(self, count: int, *, stride: int = 1) -> Symbol:
        """Each slot becomes the sum of `count` slots, a power of two, from it on and `stride` apart."""
        if count < 1 or count & (count - 1):
            raise ParameterError(f"inner_sum takes a power of two, not {count}")
        total, steps = self, stride
        while steps < count * stride:
            total, steps = total + total.rotate(steps), 2 * steps
        return total

    def bootstrap(self, *, real: bool = False, iterations: int = 1, merge_parts: bool = False) -> Symbol:
        """CKKS: the same values at the highest level: the settings are those of
        `hemera.circuits.Bootstrap`."""
        return self._note(op.Bootstraps(real, iterations, merge_parts))

    # --- What would depend on the data. ---

    def __bool__(self) -> NoReturn:
        raise TypeError(_DATA.format(what="`if`, `while`, `and` and `or` ask for it"))

    def _no_number(self, *_: object) -> NoReturn:
        raise TypeError(_DATA.format(what="float(), int() and round() ask for it"))

    __float__ = __int__ = __complex__ = __index__ = __round__ = _no_number

    def _no_comparison(self, _: object) -> NoReturn:
        raise TypeError(_DATA.format(what="comparisons, min and max ask for it"))

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _no_comparison


def _plain(number: complex) -> Any:
    if isinstance(number, complex):
        raise TypeError("a recorded program takes real numbers; put complex ones into an array")
    return number


def _array(values: object) -> Array:
    if isinstance(values, Constant):
        return values.values
    array = np.asarray(values)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"a recorded program takes numbers and arrays of them, not {type(values).__name__}")
    return array


class Constant:
    """What `Recorder.encode` gives in a plaintext's place."""

    def __init__(self, values: Array, slots: int) -> None:
        self.values = values
        self.slots = slots

    @property
    def shape(self) -> tuple[int, ...]:
        """The plaintext's batch."""
        return cast("tuple[int, ...]", self.values.shape[:-1])


class Recorder:
    """Notes a program. It has those operations of a `hemera.Evaluator` that circuits of applications use, so
    that their classes record themselves."""

    def __init__(self, scheme: SchemeName, inputs: Sequence[Form]) -> None:
        self.program = Program(scheme, inputs)
        self.inputs = [Symbol(self, number) for number in range(len(inputs))]

    def note(self, operation: Operation, *operands: Any) -> Symbol:
        """Append an operation."""
        for x in operands:
            if not isinstance(x, Symbol):
                raise TypeError(f"{operation.name} takes values of the program, not {type(x).__name__}")
            if x._recorder is not self:
                raise TypeError("the value belongs to another program")
        return Symbol(self, self.program.add(operation, *(x._number for x in operands)))

    def give(self, value: object) -> None:
        """Make a value an output. TypeError for anything else than a value of this program."""
        if not isinstance(value, Symbol) or value._recorder is not self:
            raise TypeError(
                f"the function returns {type(value).__name__}; return values that come of its arguments"
            )
        self.program.give(value._number)

    def encode(self, values: ArrayLike) -> Constant:
        """As of an evaluator."""
        array = constant(values, self.program.scheme, "a constant")
        return Constant(array, array.shape[-1])

    def add(self, a: Symbol, b: Any, *, out: None = None) -> Symbol:
        """As of an evaluator."""
        del out
        return a.__add__(b)

    def subtract(self, a: Symbol, b: Any, *, out: None = None) -> Symbol:
        """As of an evaluator."""
        del out
        return a.__sub__(b)

    def negate(self, a: Symbol) -> Symbol:
        """As of an evaluator."""
        return -a

    def rotate(self, a: Symbol, steps: int) -> Symbol:
        """As of an evaluator."""
        return a.rotate(steps)

    def swap_rows(self, a: Symbol) -> Symbol:
        """As of an evaluator."""
        return a.swap_rows()

    def dot(self, a: Sequence[Symbol], b: Sequence[Any]) -> Symbol:
        """As of an evaluator."""
        if len(a) != len(b) or not a:
            raise ParameterError(f"dot: {len(a)} and {len(b)} operands; give equally many, at least one")
        if all(isinstance(y, Symbol) for y in b):
            return self.note(op.Dot(), *a, *b)
        return self.note(op.DotArrays(tuple(_array(y) for y in b)), *a)


def dot(a: Sequence[Symbol], b: Sequence[Any]) -> Symbol:
    """The sum of a[i] * b[i], slot by slot, with one relinearization and one rescale: b values or arrays."""
    if not a or not isinstance(a[0], Symbol):
        raise TypeError("dot takes values of a program that is being recorded; ev.dot is of ciphertexts")
    return a[0]._recorder.dot(a, b)


def record(
    function: Callable[..., Any], scheme: SchemeName, inputs: Sequence[Form]
) -> tuple[Program, list[str]]:
    """The program of a function, without what its outputs do not take, and their names.

    Args:
        function: takes as many `Symbol` as there are inputs; returns one, or a sequence or dict of them.

    Raises:
        TypeError: when it asks for values, or returns something else.
        MismatchError, ParameterError: when its operations do not fit.
    """
    recorder = Recorder(scheme, inputs)
    result = function(*recorder.inputs)
    if isinstance(result, dict):
        names, values = [str(name) for name in result], list(result.values())
    else:
        values = list(result) if isinstance(result, (list, tuple)) else [result]
        names = [f"output{at}" if len(values) > 1 else "output" for at in range(len(values))]
    if not values:
        raise TypeError("the function returns nothing; return the model's outputs")
    for value in values:
        recorder.give(value)
    return recorder.program.pruned(), names
