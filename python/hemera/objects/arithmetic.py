"""The middle of an evaluator: sums, differences and products, slot by slot."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from hemera import _core
from hemera.inputs.arguments import checks_its_arguments, in_own_words
from hemera.inputs.encoding import as_doubles, as_number
from hemera.inputs.plain import plain_array
from hemera.objects.ciphertext import Ciphertext, Operand, Plaintext, all_parts, gather, places_in
from hemera.objects.circuit_evaluator import CircuitEvaluator
from hemera.objects.operands import broadcast_shape, fitted, require_slots, reshaped, spread

_Operation = Literal["add", "subtract", "multiply"]


@in_own_words
class ArithmeticEvaluator(CircuitEvaluator):
    """The part of `hemera.Evaluator` for arithmetic. `Evaluator` is the only class with this base."""

    # --- Addition, subtraction and products. ---

    @checks_its_arguments
    def add(
        self, a: Ciphertext, b: Operand, *, fill: bool = False, out: Ciphertext | None = None
    ) -> Ciphertext:
        """a + b, slot by slot.

        Args:
            a: a ciphertext. The sum is over its filled slots; the others keep their 0.
            b: a ciphertext, plaintext or number, or an array of shape (..., a.filled), or (..., 1) for one
                value in all of them.
            fill: whether an array of fewer values is filled up with zeros.

        Raises:
            MismatchError: if shapes or the numbers of values do not fit, as in NumPy. An operand whose slots
                are all filled, as after a rotation, fits any other.
        """
        return self._with_operand("add", a, b, out, fill)

    @checks_its_arguments
    def subtract(
        self, a: Ciphertext, b: Operand, *, fill: bool = False, out: Ciphertext | None = None
    ) -> Ciphertext:
        """a - b, slot by slot: see `add`."""
        return self._with_operand("subtract", a, b, out, fill)

    @checks_its_arguments
    def multiply(
        self, a: Ciphertext, b: Operand, *, fill: bool = False, out: Ciphertext | None = None
    ) -> Ciphertext:
        """a * b, slot by slot; operands and `fill` as for `add`.

        Raises:
            MismatchError: if shapes or the numbers of values do not fit.
            MissingKeyError: if a product of ciphertexts needs a relinearization key and there is none.
            LevelError: if no level is left.
        """
        return self._with_operand("multiply", a, b, out, fill)

    def divide(self, a: Ciphertext, b: complex | ArrayLike, *, out: Ciphertext | None = None) -> Ciphertext:
        """CKKS: a / b for a plain number b, or an array b of shape (..., a.filled) or (..., 1). Real values
        stay real where b is real.

        Raises:
            TypeError: for BFV and BGV, and for what holds no plain numbers.
            ZeroDivisionError: for the number 0.
            ParameterError: for arrays with zeros.
            MismatchError: as `multiply`.
        """
        if self._context.params.scheme != "ckks":
            raise TypeError(
                "BFV and BGV have no division; multiply by an inverse modulo the plaintext modulus"
            )
        if isinstance(b, (Ciphertext, Plaintext)):
            raise TypeError("a ciphertext can only be divided by plain numbers")
        number = as_number(b)
        if number is not None:
            return self.multiply(a, 1 / number, out=out)
        divisors = as_doubles(_of_floats(b), "divide")
        if not divisors.all():
            raise _core.ParameterError("divide: an element of the divisor is 0")
        return self.multiply(a, 1 / divisors, out=out)

    def add_many(self, terms: Sequence[Ciphertext], *, out: Ciphertext | None = None) -> Ciphertext:
        """The sum of all terms; their batches broadcast as in NumPy.

        Raises:
            ParameterError: if there is no term.
            MismatchError: if shapes or slots do not fit.
        """
        parts = all_parts(terms, "add_many")
        shape, natives = fitted("add_many", parts)
        return self._finish("add_many", reshaped(self._native.add_many(natives), shape), out)

    def multiply_many(self, factors: Sequence[Ciphertext], *, out: Ciphertext | None = None) -> Ciphertext:
        """The product of all factors, in ceil(log2 count) levels; their batches broadcast as in NumPy.

        Raises:
            ParameterError: if there is no factor.
            MismatchError: if shapes or slots do not fit.
        """
        parts = self._all_refreshed(all_parts(factors, "multiply_many"))
        shape, natives = fitted("multiply_many", parts)
        return self._finish("multiply_many", reshaped(self._native.multiply_many(natives), shape), out)

    # --- Bringing operands together. ---

    def _with_operand(
        self, operation: _Operation, a: Ciphertext, b: Operand, out: Ciphertext | None, fill: bool
    ) -> Ciphertext:
        if not isinstance(b, Ciphertext):
            return self._with_plain(operation, a, b, out, fill)
        a, b, shape = self._paired(operation, a, b, out)
        if out is a and operation != "multiply":
            getattr(self._native, f"{operation}_inplace")(a._native, b._native)
            return self._finish(operation, a._native, out)
        found = getattr(self._native, operation)(a._native, b._native)
        return self._finish(operation, reshaped(found, shape), out)

    def _paired(
        self, operation: _Operation, a: Ciphertext, b: Ciphertext, out: Ciphertext | None
    ) -> tuple[Ciphertext, Ciphertext, tuple[int, ...]]:
        """Both operands, ready for the operation, and the shape of the result."""
        _require_ciphertext(operation, a)
        of_a, of_b = a.shape, b.shape
        shape = of_a if of_a == of_b else broadcast_shape(operation, of_a, of_b)
        try:
            require_slots(operation, a._native, b._native)
        except _core.MismatchError:
            if a.context.params == b.context.params:
                raise
            raise _core.MismatchError(
                f"{operation}: the operands belong to {a.context!r} and to {b.context!r}"
            ) from None
        require_room(operation, a, shape, out)
        if of_a != of_b and math.prod(of_a) != 1 and math.prod(of_b) != 1:
            if operation == "multiply":  # before they are repeated
                a, b = self._all_refreshed((a, b))
            a, b = _repeated(a, shape), _repeated(b, shape)
        return a, b, shape

    def _with_plain(
        self,
        operation: _Operation,
        a: Ciphertext,
        b: Plaintext | complex | ArrayLike,
        out: Ciphertext | None,
        fill: bool,
    ) -> Ciphertext:
        _require_ciphertext(operation, a)
        number = as_number(b)
        if operation == "multiply" and not self._multiplies_exactly(number):
            a = self._refreshed(a)
        if number is None:
            operand = self._plain_operand(a, b, product=operation == "multiply", fill=fill)
            return self._with_plaintext(operation, a, operand, out)
        if a._native.filled and self._minds_padding(operation, a._native, number):
            return self._with_plaintext(operation, a, self._number_operand(operation, a, number), out)
        core = self._copy(operation, a, out)
        self._with_number(operation, core, number)
        return self._finish(operation, core, out)

    def _minds_padding(self, operation: _Operation, a: _core.Ciphertext, number: complex) -> bool:
        """Whether a number must become a plaintext with the number in the filled slots and 0 in the others.
        True for sums, which keep those 0, and for products that take a level, which then make them 0 at no
        cost."""
        if operation != "multiply":
            return number != 0 and a.padding in ("zeros", "values")
        return a.padding != "zeros" and not self._has_budget and not self._multiplies_exactly(number)

    def _multiplies_exactly(self, number: complex | None) -> bool:
        """Whether the number has integer parts, so that a product with it takes no level. Where rotations
        are by powers of 3, no polynomial of integers is a + bi in every slot."""
        if number is None:
            return False
        # An integer may be larger than a double.
        if not isinstance(number, int) and not all(
            float(part).is_integer() for part in (number.real, number.imag)
        ):
            return False
        return number.imag == 0 or self._context.params._native.galois_generator == 5

    def _number_operand(self, operation: _Operation, a: Ciphertext, number: complex) -> Plaintext:
        if not isinstance(number, int) and not cmath.isfinite(number):
            raise _core.ParameterError(f"{operation}: the number must be finite")
        plain = self._codec.number_operand(number, a._native, product=operation == "multiply")
        return Plaintext(plain, self._context)

    def _with_number(self, operation: _Operation, core: _core.Ciphertext, number: complex) -> None:
        value, integer = self._codec.scalar(number)
        if operation == "multiply":
            self._native.multiply_scalar_inplace(core, value, integer)
        else:
            sign = 1 if operation == "add" else -1
            self._native.add_scalar_inplace(core, sign * value, sign * integer)

    def _with_plaintext(
        self, operation: _Operation, a: Ciphertext, operand: Plaintext, out: Ciphertext | None
    ) -> Ciphertext:
        shape = broadcast_shape(operation, a.shape, operand.shape)
        require_slots(operation, a._native, operand._native)
        require_room(operation, a, shape, out)
        whole = _repeated(a, shape)
        plain = spread(operand._native, shape)
        if operation == "multiply":
            return self._finish(operation, self._native.multiply_plain(whole._native, plain), out)
        core = self._copy(operation, a, out) if whole is a else whole._native
        getattr(self._native, f"{operation}_plain_inplace")(core, plain)
        return self._finish(operation, core, out)

    def _plain_operand(
        self,
        a: Ciphertext,
        b: Plaintext | ArrayLike,
        *,
        product: bool = True,
        fill: bool = False,
        kept: bool = False,
    ) -> Plaintext:
        if isinstance(b, Plaintext):
            return b
        plain = self._codec.encode_operand(b, a._native, product=product, fill=fill, kept=kept)
        return Plaintext(plain, self._context)


def _repeated(x: Ciphertext, shape: tuple[int, ...]) -> Ciphertext:
    """The batch repeated along new axes and axes of extent 1."""
    return x if x.shape == shape else gather(x, np.broadcast_to(places_in(x), shape))


def _of_floats(values: object) -> ArrayLike:
    """Fractions and decimals as floats; all else as it is."""
    array = plain_array(values, "array operand")
    if array.dtype != np.object_:
        return array
    is_real = all(as_number(each) is not None and not isinstance(each, complex) for each in array.flat)
    return np.asarray(array, np.float64 if is_real else np.complex128)


def _require_ciphertext(operation: _Operation, a: Ciphertext) -> None:
    if not isinstance(a, Ciphertext):
        raise TypeError(f"{operation}: the first operand must be a Ciphertext, not {type(a).__name__}")


def require_room(operation: str, a: Ciphertext, shape: tuple[int, ...], out: Ciphertext | None) -> None:
    """MismatchError if the result would replace an operand of another shape."""
    if out is a and shape != a.shape:
        raise _core.MismatchError(
            f"{operation}: the result has shape {shape} and can not replace an operand of shape {a.shape}"
        )
