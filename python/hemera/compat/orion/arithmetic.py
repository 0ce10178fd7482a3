"""The part of the backend that adds, multiplies and rotates."""

# ruff: noqa: N802  # Orion's names
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hemera.compat.orion.tensors import Tensors
from hemera.errors import ParameterError
from hemera.objects.ciphertext import Ciphertext, Operand
from hemera.objects.evaluator import Evaluator

_Operation = Callable[[Evaluator, Ciphertext, Operand], Ciphertext]
_Method = Callable[..., int]


def _both(text: str, compute: Callable[..., Ciphertext]) -> tuple[_Method, _Method]:
    """The method that puts a result in the place of its first operand, and the one with `New` at the end of
    its name, which gives it a number of its own."""

    def in_place(self: Arithmetic, ciphertext: int, *operands: Any) -> int:
        return self._ciphertexts.replace(ciphertext, compute(self, ciphertext, *operands))

    def of_its_own(self: Arithmetic, ciphertext: int, *operands: Any) -> int:
        return self._ciphertexts.add(compute(self, ciphertext, *operands))

    in_place.__doc__, of_its_own.__doc__ = text, f"{text} Under a number of its own."
    return in_place, of_its_own


class Arithmetic(Tensors):
    """Arithmetic of ciphertexts by their numbers: a base of `hemera.compat.orion.Backend`.

    A call with `New` at the end of its name gives its result a number of its own; the others put it in the
    place of their first operand.
    """

    def _with(self, operation: _Operation, ciphertext: int, operand: Operand) -> Ciphertext:
        return operation(self._with_keys, self._ciphertexts[ciphertext], operand)

    def _with_other(self, left: int, right: int, *, operation: _Operation) -> Ciphertext:
        return self._with(operation, left, self._ciphertexts[right])

    def _with_clear(self, ciphertext: int, plaintext: int, *, operation: _Operation) -> Ciphertext:
        x = self._rescaled(self._ciphertexts[ciphertext])
        clear = self._plaintexts[plaintext]
        level = min(x.level, self._ring.native_level(clear.level))
        if x.level > level:
            x = self._with_keys.at_level(x, level)
        return operation(self._with_keys, x, clear.encoded(self._context, level))

    def _product(self, left: int, right: int) -> Ciphertext:
        x, y = self._ciphertexts[left], self._ciphertexts[right]
        return self._with_keys.square(x) if x is y else self._with_keys.multiply(x, y)

    def _rotated(self, ciphertext: int, amount: int) -> Ciphertext:
        x = self._ciphertexts[ciphertext]
        self.AddRotationKey(amount)
        return self._with_keys.rotate(x, amount)

    def _rescaled(self, x: Ciphertext) -> Ciphertext:
        """Without the product's scale, if it waits for its rescale; else the same object, which no call
        changes."""
        degree = x._native.noise_scale_degree
        if degree > 2:
            raise ParameterError(f"a product of noise-scale degree {degree}")
        return self._with_keys.rescale(x) if degree == 2 else x

    # --- Rotations, signs, rescales. ---

    def Negate(self, ciphertext: int) -> int:
        """The negative, under a number of its own."""
        return self._ciphertexts.add(self._with_keys.negate(self._ciphertexts[ciphertext]))

    Rotate, RotateNew = _both("Slots turned left. Makes the key if there is none yet.", _rotated)
    Rescale, RescaleNew = _both(
        "A product one level down. A ciphertext that is no product, or is rescaled already, stays.",
        lambda self, ciphertext: self._rescaled(self._ciphertexts[ciphertext]),
    )

    # --- Numbers. ---

    AddScalar, AddScalarNew = _both(
        "The sum with a number.", lambda self, x, number: self._with(Evaluator.add, x, float(number))
    )
    SubScalar, SubScalarNew = _both(
        "The difference from a number.",
        lambda self, x, number: self._with(Evaluator.subtract, x, float(number)),
    )
    MulScalarInt, MulScalarIntNew = _both(
        "The product with a whole number, which takes no level.",
        lambda self, x, number: self._with(Evaluator.multiply, x, int(number)),
    )
    MulScalarFloat, MulScalarFloatNew = _both(
        "The product with a number, which waits for its rescale unless the number is whole.",
        lambda self, x, number: self._with(Evaluator.multiply, x, float(number)),
    )

    # --- Plaintexts and ciphertexts, at the lower one of both levels. ---

    AddPlaintext, AddPlaintextNew = _both(
        "The sum with a plaintext.", functools.partial(_with_clear, operation=Evaluator.add)
    )
    SubPlaintext, SubPlaintextNew = _both(
        "The difference from a plaintext.", functools.partial(_with_clear, operation=Evaluator.subtract)
    )
    MulPlaintext, MulPlaintextNew = _both(
        "The product with a plaintext. It waits for its rescale.",
        functools.partial(_with_clear, operation=Evaluator.multiply),
    )
    AddCiphertext, AddCiphertextNew = _both(
        "The sum.", functools.partial(_with_other, operation=Evaluator.add)
    )
    SubCiphertext, SubCiphertextNew = _both(
        "The difference.", functools.partial(_with_other, operation=Evaluator.subtract)
    )
    MulRelinCiphertext, MulRelinCiphertextNew = _both("The product. It waits for its rescale.", _product)
