"""The part of the backend that adds, multiplies and rotates."""

# ruff: noqa: N802  # Orion's names
from __future__ import annotations

from collections.abc import Callable

from hemera.compat.orion.tensors import Tensors
from hemera.errors import ParameterError
from hemera.objects.ciphertext import Ciphertext, Operand
from hemera.objects.evaluator import Evaluator

_Operation = Callable[[Evaluator, Ciphertext, Operand], Ciphertext]


class Arithmetic(Tensors):
    """Arithmetic of ciphertexts by their numbers: a base of `hemera.compat.orion.Backend`.

    A call with `New` at the end of its name gives its result a number of its own; the others put it in the
    place of their first operand.
    """

    # --- Rotations, signs, rescales. ---

    def Rotate(self, ciphertext: int, amount: int) -> int:
        """Slots turned left. Makes the key if there is none yet."""
        return self._put(ciphertext, self._rotated(ciphertext, amount))

    def RotateNew(self, ciphertext: int, amount: int) -> int:
        """See `Rotate`."""
        return self._ciphertexts.add(self._rotated(ciphertext, amount))

    def Negate(self, ciphertext: int) -> int:
        """The negative, under a number of its own."""
        return self._ciphertexts.add(self._with_keys.negate(self._ciphertexts[ciphertext]))

    def Rescale(self, ciphertext: int) -> int:
        """A product one level down. A ciphertext that is no product, or is rescaled already, stays."""
        return self._put(ciphertext, self._rescaled(self._ciphertexts[ciphertext]))

    def RescaleNew(self, ciphertext: int) -> int:
        """See `Rescale`."""
        return self._ciphertexts.add(self._rescaled(self._ciphertexts[ciphertext]))

    # --- Numbers. ---

    def AddScalar(self, ciphertext: int, scalar: float) -> int:
        """The sum with a number."""
        return self._put(ciphertext, self._with(Evaluator.add, ciphertext, float(scalar)))

    def AddScalarNew(self, ciphertext: int, scalar: float) -> int:
        """See `AddScalar`."""
        return self._ciphertexts.add(self._with(Evaluator.add, ciphertext, float(scalar)))

    def SubScalar(self, ciphertext: int, scalar: float) -> int:
        """The difference from a number."""
        return self._put(ciphertext, self._with(Evaluator.subtract, ciphertext, float(scalar)))

    def SubScalarNew(self, ciphertext: int, scalar: float) -> int:
        """See `SubScalar`."""
        return self._ciphertexts.add(self._with(Evaluator.subtract, ciphertext, float(scalar)))

    def MulScalarInt(self, ciphertext: int, scalar: int) -> int:
        """The product with a whole number, which takes no level."""
        return self._put(ciphertext, self._with(Evaluator.multiply, ciphertext, int(scalar)))

    def MulScalarIntNew(self, ciphertext: int, scalar: int) -> int:
        """See `MulScalarInt`."""
        return self._ciphertexts.add(self._with(Evaluator.multiply, ciphertext, int(scalar)))

    def MulScalarFloat(self, ciphertext: int, scalar: float) -> int:
        """The product with a number, which waits for its rescale unless the number is whole."""
        return self._put(ciphertext, self._with(Evaluator.multiply, ciphertext, float(scalar)))

    def MulScalarFloatNew(self, ciphertext: int, scalar: float) -> int:
        """See `MulScalarFloat`."""
        return self._ciphertexts.add(self._with(Evaluator.multiply, ciphertext, float(scalar)))

    # --- Plaintexts. ---

    def AddPlaintext(self, ciphertext: int, plaintext: int) -> int:
        """The sum with a plaintext, at the lower one of both levels."""
        return self._put(ciphertext, self._with_clear(Evaluator.add, ciphertext, plaintext))

    def AddPlaintextNew(self, ciphertext: int, plaintext: int) -> int:
        """See `AddPlaintext`."""
        return self._ciphertexts.add(self._with_clear(Evaluator.add, ciphertext, plaintext))

    def SubPlaintext(self, ciphertext: int, plaintext: int) -> int:
        """The difference from a plaintext, at the lower one of both levels."""
        return self._put(ciphertext, self._with_clear(Evaluator.subtract, ciphertext, plaintext))

    def SubPlaintextNew(self, ciphertext: int, plaintext: int) -> int:
        """See `SubPlaintext`."""
        return self._ciphertexts.add(self._with_clear(Evaluator.subtract, ciphertext, plaintext))

    def MulPlaintext(self, ciphertext: int, plaintext: int) -> int:
        """The product with a plaintext, at the lower one of both levels. It waits for its rescale."""
        return self._put(ciphertext, self._with_clear(Evaluator.multiply, ciphertext, plaintext))

    def MulPlaintextNew(self, ciphertext: int, plaintext: int) -> int:
        """See `MulPlaintext`."""
        return self._ciphertexts.add(self._with_clear(Evaluator.multiply, ciphertext, plaintext))

    # --- Ciphertexts. ---

    def AddCiphertext(self, left: int, right: int) -> int:
        """The sum, at the lower one of both levels."""
        return self._put(left, self._with(Evaluator.add, left, self._ciphertexts[right]))

    def AddCiphertextNew(self, left: int, right: int) -> int:
        """See `AddCiphertext`."""
        return self._ciphertexts.add(self._with(Evaluator.add, left, self._ciphertexts[right]))

    def SubCiphertext(self, left: int, right: int) -> int:
        """The difference, at the lower one of both levels."""
        return self._put(left, self._with(Evaluator.subtract, left, self._ciphertexts[right]))

    def SubCiphertextNew(self, left: int, right: int) -> int:
        """See `SubCiphertext`."""
        return self._ciphertexts.add(self._with(Evaluator.subtract, left, self._ciphertexts[right]))

    def MulRelinCiphertext(self, left: int, right: int) -> int:
        """The product, at the lower one of both levels. It waits for its rescale."""
        return self._put(left, self._product(left, right))

    def MulRelinCiphertextNew(self, left: int, right: int) -> int:
        """See `MulRelinCiphertext`."""
        return self._ciphertexts.add(self._product(left, right))

    # --- What they share. ---

    def _put(self, ciphertext: int, x: Ciphertext) -> int:
        return self._ciphertexts.replace(ciphertext, x)

    def _with(self, operation: _Operation, ciphertext: int, operand: Operand) -> Ciphertext:
        return operation(self._with_keys, self._ciphertexts[ciphertext], operand)

    def _with_clear(self, operation: _Operation, ciphertext: int, plaintext: int) -> Ciphertext:
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
