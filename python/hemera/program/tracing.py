"""From a Python function to a program: it is called once with values that note what is done to them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from hemera.circuits import Function, Polynomial
from hemera.circuits.composition import Composed
from hemera.errors import MismatchError, ParameterError
from hemera.inputs.arguments import described
from hemera.inputs.encoding import as_number
from hemera.inputs.operators import COMPARISONS, Operators
from hemera.inputs.plain import plain_array
from hemera.program import operations as op
from hemera.program.operations import Operation
from hemera.program.program import Program
from hemera.program.values import Array, Constant, Filling, Form, SchemeName, array_of, constant, real_number

_DATA = (
    "its value is encrypted when the model runs, so a program can not depend on it: {what}. Compute both "
    "sides and select with an encrypted 0 or 1 (hm.circuits.compare is one), or decide at the client"
)


class Symbol(Operators):
    """An encrypted value of a program that is being recorded, with the operators of a `hemera.Ciphertext`."""

    __slots__ = ("_filling", "_number", "_recorder")

    _instead: ClassVar[dict[str, str]] = {
        "asarray": "its values are encrypted",
        "dot": "x.dot(w) sums the slots of x * w, x @ matrix multiplies by a matrix (CKKS)",
        "roll": "x.rotate(k) turns slots to the left",
        "sum": "x.sum() makes every slot their sum",
        "square": "x.square()",
        "polyval": "x.polyval(coefficients), the lowest power first",
        **{
            name: f"hm.circuits.{name}(...)(x) is near it on an interval, for CKKS"
            for name in ("exp", "log", "sqrt", "tanh", "sign", "maximum")
        },
    }
    _otherwise = "a recorded program has + - * @ ** of values, numbers and arrays, and their methods"

    def __init__(self, recorder: Recorder, number: int, filling: Filling) -> None:
        self._recorder = recorder
        self._number = number
        self._filling = filling

    @property
    def _form(self) -> Form:
        return self._recorder.program.forms[self._number]

    @property
    def slots(self) -> int:
        """Number of values in each ciphertext."""
        return self._form.slots

    @property
    def filled(self) -> int:
        """How many slots hold values, as of a ciphertext."""
        return self._filling.count

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
        return self.note(op.Take(number % count))

    def __iter__(self) -> Iterator[Symbol]:
        for index in range(len(self)):
            yield self[index]

    # --- Arithmetic. ---

    def note(self, operation: Operation, *others: Symbol, filling: Filling | None = None) -> Symbol:
        """The result of an operation on this value and others; `filling`: of it, None: that of this value."""
        return self._recorder.note(operation, self, *others, filling=filling or self._filling)

    def _joined(self, operation: str, other: Symbol, *, product: bool = False) -> Filling:
        return self._filling.joined(other._filling, operation, self.slots, product=product)

    def _vector(self, number: complex | Array) -> Array:
        """A number, or an array of shape (..., 1), in each filled slot, and 0 in the others."""
        values = plain_array(number, "array operand")
        vector = np.zeros((*values.shape[:-1], self.slots), values.dtype)
        vector[..., : self.filled] = values
        return vector

    def _operand(self, values: object, operation: str) -> tuple[Array, Filling]:
        """A plain array that meets this value. MismatchError for another number of values, as in NumPy."""
        array = array_of(values)
        count = array.shape[-1] if array.ndim else 0
        if count not in (1, self.filled, self.slots):
            raise MismatchError(
                f"{operation}: an array of shape {array.shape} and a value of {self.filled} do not fit; as "
                "in NumPy give as many, or one"
            )
        if count == 1 and self.filled < self.slots:
            return self._vector(array), Filling(self.filled)
        return array, Filling(self.slots if count == 1 else count)

    def _plus(self, other: Symbol | Array | complex, operation: str = "add") -> Symbol:
        if isinstance(other, Symbol):
            return self.note(op.Add(), other, filling=self._joined(operation, other))
        number = as_number(other)
        if number is None:
            array, filling = self._operand(other, operation)
            joined = self._filling.joined(filling, operation, self.slots)
            return self.note(op.AddArray(array), filling=joined)
        if number != 0 and self.filled < self.slots and self._filling.padding in ("zeros", "values"):
            return self.note(op.AddArray(self._vector(real_number(number))))
        return self.note(op.AddNumber(real_number(number)))

    def _minus(self, other: Any) -> Symbol:
        if isinstance(other, Symbol):
            return self.note(op.Subtract(), other, filling=self._joined("subtract", other))
        number = as_number(other)
        return self._plus(-array_of(other) if number is None else -number, "subtract")

    def _times(self, other: Any) -> Symbol:
        if isinstance(other, Symbol):
            if other is self:
                return self.square()
            return self.note(op.Multiply(), other, filling=self._joined("multiply", other, product=True))
        number = as_number(other)
        if number is None:
            array, filling = self._operand(other, "multiply")
            joined = self._filling.joined(filling, "multiply", self.slots, product=True)
            return self.note(op.MultiplyArray(array), filling=joined)
        factor = real_number(number)
        takes_level = self._recorder.program.scheme == "ckks" and not float(factor).is_integer()
        if takes_level and self.filled < self.slots and self._filling.padding != "zeros":
            return self._masked(factor)
        return self.note(op.MultiplyNumber(factor))

    def _masked(self, factor: complex = 1) -> Symbol:
        """The product with the factor in the filled slots, and 0 in the others."""
        vector = self._vector(factor)
        return self.note(op.MultiplyArray(vector), filling=Filling(self.filled))

    def _divided(self, other: object) -> Symbol:
        if isinstance(other, Symbol):
            raise TypeError("a ciphertext can only be divided by plain numbers; hm.circuits.inverse is 1 / x")
        if self._recorder.program.scheme != "ckks":
            raise TypeError("BFV and BGV have no division")
        inverse: Array = 1 / np.asarray(other, np.float64)
        return self._times(inverse)

    def matmul(self, other: Any, *, fewest_keys: bool = False, slots: int | None = None) -> Symbol:
        """As of an evaluator: each vector as a row times a plain matrix (CKKS), or its inner product with a
        vector; for matrices `fewest_keys` as of `hemera.circuits.LinearTransform`: two or three rotation
        keys, and more time. MismatchError for a matrix of other rows than x has values, unless `slots` says
        that it goes with all slots."""
        if isinstance(other, Symbol):
            return (self * other).sum()
        matrix = array_of(other)
        if matrix.ndim == 1:
            if len(matrix) != self.filled:
                raise MismatchError(
                    f"matmul: a vector of {len(matrix)} values and a value of {self.filled} do not fit"
                )
            return (self * matrix).sum()
        if matrix.ndim == 2 and slots is None and len(matrix) != self.filled:
            raise MismatchError(
                f"matmul: a value of {self.filled} and a matrix of shape {matrix.shape} do not fit; as in "
                f"NumPy it needs a row for each (or say x.matmul(matrix, slots={self.slots}), for zeros in "
                "the rows that are missing)"
            )
        if slots not in (None, self.slots):
            raise MismatchError(f"matmul: slots={slots}, and the value has {self.slots}")
        columns = matrix.shape[-1]
        return self.note(op.Matmul(matrix, fewest_keys=fewest_keys), filling=Filling(columns))

    def dot(self, other: Any) -> Symbol:
        """The sum of the products with a vector, in every slot."""
        return self.matmul(other)

    def _power(self, exponent: int) -> Symbol:
        return self if exponent == 1 else self.note(op.Power(exponent))

    def _no_comparison(self, _: object) -> NoReturn:
        raise TypeError(_DATA.format(what="comparisons, min and max ask for it"))

    _meanings: ClassVar = {
        **dict.fromkeys(COMPARISONS, _no_comparison),
        np.add: _plus,
        np.subtract: _minus,
        np.multiply: _times,
        np.divide: _divided,
        np.matmul: matmul,
        np.power: _power,
        np.negative: lambda x: x.note(op.Negate()),
        np.positive: lambda x: x,
    }
    _reflected: ClassVar = {
        np.subtract: lambda x, other: -x + other,
        np.matmul: lambda x, matrix: x.matmul(np.asarray(matrix).T),
    }

    def square(self) -> Symbol:
        """The product with itself."""
        return self.note(op.Power(2))

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

    def _evaluated(self, circuit: object, others: Sequence[Any], _: None) -> Symbol:
        """What `hemera.circuits` asks of values: functions are noted, and nothing else is."""
        if not isinstance(circuit, Function):
            raise TypeError(f"a program records functions of hm.circuits, not {described(circuit)}")
        return self.apply(circuit, *others)

    def apply(self, function: Function, *others: Any) -> Symbol:
        """CKKS: a function of `hemera.circuits`, slot by slot."""
        filling = self._filling
        for other in others:
            if isinstance(other, Symbol):
                filling = filling.joined(other._filling, function.name, self.slots)
        filling = filling.without_zeros()
        if isinstance(function, Polynomial):
            if function._native.width != 1 and filling.padding == "uniform":
                filling = Filling(filling.count, "unknown")
            return self.note(op.OfPolynomial.of(function), *others, filling=filling)
        if isinstance(function, Composed):
            # Step by step, as files keep functions by their names.
            composed: Symbol = function.formula(self, *others)
            return composed
        if function.recipe is None:
            raise TypeError(f"{function.name} can not be kept in a file; take a function of hm.circuits")
        return self.note(op.OfNamedFunction(function.name, dict(function.recipe)), *others, filling=filling)

    # --- Slots and levels. ---

    def rotate(self, steps: int) -> Symbol:
        """Slots turned left by `steps`."""
        ckks = self._recorder.program.scheme == "ckks"
        if not steps:
            return self
        return self.note(op.Rotate(steps) if ckks else op.RotateRows(steps), filling=self._turned())

    def _turned(self) -> Filling:
        """After a rotation: values may be in any slot."""
        if self._filling.padding == "uniform" or self.filled == self.slots:
            return self._filling
        if self._recorder.program.scheme == "ckks":
            return Filling(self.slots)
        return Filling(self.filled, "values")

    def conjugate(self) -> Symbol:
        """CKKS: the complex conjugate."""
        return self.note(op.Conjugate())

    def swap_rows(self) -> Symbol:
        """BFV and BGV: the two rows of slots exchanged."""
        return self.note(op.SwapRows(), filling=self._turned())

    def sum(self) -> Symbol:
        """Every slot becomes the sum of the filled slots; others that are not known to be 0 are masked, as
        of a ciphertext."""
        if self._filling.padding == "uniform" and self.filled < self.slots:
            return self * self.filled
        x = self._masked() if self._filling.padding == "unknown" and self.filled < self.slots else self
        return x.note(op.Sum(), filling=Filling(self.filled, "uniform"))

    def mean(self) -> Symbol:
        """CKKS: the mean of the filled slots in each of them. Takes a level."""
        if self._recorder.program.scheme != "ckks":
            raise TypeError("BFV and BGV have no division")
        if self._filling.padding == "unknown" and self.filled < self.slots:
            return self._masked(1 / self.filled).sum()
        return self.sum() * (1 / self.filled)

    def inner_sum(self, count: int, *, stride: int = 1) -> Symbol:
        """Each slot becomes the sum of `count` slots, a power of two, from it on and `stride` apart."""
        if count < 1 or count & (count - 1):
            raise ParameterError(f"inner_sum takes a power of two, not {count}")
        total, steps = self, stride
        while steps < count * stride:
            total, steps = total + total.rotate(steps), 2 * steps
        return total

    def bootstrap(
        self,
        *,
        real: bool = False,
        iterations: int = 1,
        merge_parts: bool = False,
        together: int = 1,
        passes: int | None = None,
        failure: float = 2**-40,
    ) -> Symbol:
        """The same values at the highest level, BFV and BGV: with less noise.

        Args:
            real, iterations, merge_parts, together: CKKS: as of `hemera.circuits.Bootstrap`. Requests that a
                server runs as one batch are elements that go together.
            passes, failure: BFV and BGV: as of `hemera.circuits.IntegerBootstrap`.

        Raises:
            ParameterError: for settings of another scheme, and as those plans.
        """
        if self._recorder.program.scheme == "ckks":
            if passes is not None or failure != 2**-40:
                raise ParameterError("bootstrap: passes and failure are of BFV and BGV; CKKS has iterations")
            return self.note(op.Bootstraps(real, iterations, merge_parts, together=together))
        if real or iterations != 1 or merge_parts or together != 1:
            raise ParameterError(
                "bootstrap: real, iterations, merge_parts and together are of CKKS; BFV and BGV have passes"
            )
        if passes == 0 or not 2**-128 <= failure <= 2**-40:
            raise ParameterError(
                f"bootstrap: passes are 1 or more, or None, and failure is from 2**-128 to 2**-40, not "
                f"{passes!r} and {failure!r}"
            )
        return self.note(op.ExactBootstraps(passes or 0, math.ceil(-math.log2(failure))))

    # --- What would depend on the data. ---

    def __bool__(self) -> NoReturn:
        raise TypeError(_DATA.format(what="`if`, `while`, `and` and `or` ask for it"))

    def _no_number(self, *_: object) -> NoReturn:
        raise TypeError(_DATA.format(what="float(), int() and round() ask for it"))

    __float__ = __int__ = __complex__ = __index__ = __round__ = _no_number


class Recorder:
    """Notes a program. It has those operations of a `hemera.Evaluator` that circuits of applications use, so
    that their classes record themselves."""

    def __init__(
        self, scheme: SchemeName, inputs: Sequence[Form], widths: Sequence[int] | None = None
    ) -> None:
        self.program = Program(scheme, inputs)
        counts = [form.slots for form in inputs] if widths is None else widths
        self.inputs = [Symbol(self, number, Filling(count)) for number, count in enumerate(counts)]

    def note(self, operation: Operation, *operands: Any, filling: Filling) -> Symbol:
        """Append an operation, whose result is filled so."""
        for x in operands:
            if not isinstance(x, Symbol):
                raise TypeError(f"{operation.name} takes values of the program, not {type(x).__name__}")
            if x._recorder is not self:
                raise TypeError("the value belongs to another program")
        return Symbol(self, self.program.add(operation, *[x._number for x in operands]), filling)

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

    # As of an evaluator.
    add = staticmethod(lambda a, b, **_: a + b)
    subtract = staticmethod(lambda a, b, **_: a - b)
    negate = staticmethod(operator.neg)
    rotate, swap_rows = staticmethod(Symbol.rotate), staticmethod(Symbol.swap_rows)

    def dot(self, a: Sequence[Symbol], b: Sequence[Any]) -> Symbol:
        """As of an evaluator."""
        if len(a) != len(b) or not a:
            raise ParameterError(f"dot: {len(a)} and {len(b)} operands; give equally many, at least one")
        slots = a[0].slots
        if all(isinstance(y, Symbol) for y in b):
            fillings = [x._joined("dot", y, product=True) for x, y in zip(a, b, strict=True)]
            return self.note(op.Dot(), *a, *b, filling=_sum_of(fillings, slots))
        pairs = [(x._filling, *x._operand(y, "dot")) for x, y in zip(a, b, strict=True)]
        fillings = [own.joined(filling, "dot", slots, product=True) for own, _, filling in pairs]
        arrays = tuple(array for _, array, _ in pairs)
        return self.note(op.DotArrays(arrays), *a, filling=_sum_of(fillings, slots))


def _sum_of(fillings: Sequence[Filling], slots: int) -> Filling:
    found = fillings[0]
    for each in fillings[1:]:
        found = found.joined(each, "dot", slots)
    return found


def dot(a: Sequence[Symbol], b: Sequence[Any]) -> Symbol:
    """The sum of a[i] * b[i], slot by slot, with one relinearization and one rescale: b values or arrays."""
    if not a or not isinstance(a[0], Symbol):
        raise TypeError("dot takes values of a program that is being recorded; ev.dot is of ciphertexts")
    return a[0]._recorder.dot(a, b)


def recorder_of(x: Symbol) -> Recorder:
    """The recorder of its program."""
    return x._recorder


def number_of(x: Symbol) -> int:
    """Its number among the values of its program."""
    return x._number


def record(
    function: Callable[..., Any],
    scheme: SchemeName,
    inputs: Sequence[Form],
    widths: Sequence[int] | None = None,
) -> tuple[Program, list[str]]:
    """The program of a function, without what its outputs do not take, and their names.

    Args:
        function: takes as many `Symbol` as there are inputs; returns one, or a sequence or dict of them.
        widths: how many slots of each input have values; None: all.

    Raises:
        TypeError: when it asks for values, or returns something else.
        MismatchError, ParameterError: when its operations do not fit.
    """
    recorder = Recorder(scheme, inputs, widths)
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
