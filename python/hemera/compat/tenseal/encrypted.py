"""Sums and products of encrypted vectors and tensors.

Values lie in the slots of ciphertexts, which repeat with a period: a power of two. Ciphertexts made here
hold zeros beyond their values in each period, and `_clean` says so; those of TenSEAL's clients repeat the
values themselves, and operations may leave anything there. The sum of clean slots is in every slot. An
operand of one value has period 1, and takes no level where TenSEAL takes one for a mask and rotations.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hemera.compat.tenseal.context import home_of, require_galois_keys, require_relin_keys
from hemera.compat.tenseal.plain_tensor import as_array
from hemera.compat.tenseal.stored import StoredTensor, bound, has_zeros, like
from hemera.errors import ParameterError
from hemera.inputs.encoding import as_number
from hemera.objects.ciphertext import Ciphertext

if TYPE_CHECKING:
    from typing_extensions import Self


def in_place(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the same arguments that changes the tensor itself, and returns it."""

    @functools.wraps(method, updated=())  # "abstract" is not taken over
    def change(self: EncryptedTensor, *args: Any, **kwargs: Any) -> Any:
        return self._become(getattr(self, method.__name__)(*args, **kwargs))

    change.__name__, change.__doc__ = f"{method.__name__}_", f"`{method.__name__}` in place."
    return change


class EncryptedTensor(StoredTensor):
    """An array of encrypted values. Names that end with _ change the array itself, and return it."""

    def add(self, other: Any) -> Self:
        """self + other, value by value. `other`: a tensor of this kind, a number, or a plain array."""
        return self._sum(other, 1)

    def sub(self, other: Any) -> Self:
        """self - other: see `add`."""
        return self._sum(other, -1)

    def _sum(self, other: Any, sign: int) -> Self:
        if isinstance(other, type(self)):
            first, second = self._paired(other)
            a, b = bound(first), bound(second)
            clean = has_zeros(first) and has_zeros(second)
            return like(first, a + b if sign > 0 else a - b, _clean=clean)
        number = as_number(other)
        if number is None:
            operand = self._operand(as_array(other, self._dtype))
        elif self._fills_period() or not self._clean:
            return like(self, bound(self) + sign * self._own_number(number))
        else:
            operand = self._mask() * self._own_number(number)
        return like(self, bound(self) + operand if sign > 0 else bound(self) - operand)

    def mul(self, other: Any) -> Self:
        """self * other, value by value: see `add`. Products of ciphertexts need relinearization keys."""
        if isinstance(other, type(self)):
            require_relin_keys(self._linked)
            first, second = self._paired(other)
            return like(first, bound(first) * bound(second), _clean=has_zeros(first) or has_zeros(second))
        number = as_number(other)
        if number is not None:
            return like(self, bound(self) * self._own_number(number))
        return like(self, bound(self) * self._operand(as_array(other, self._dtype)), _clean=True)

    @abstractmethod
    def _paired(self, other: Self) -> tuple[Self, Self]:
        """Both tensors in one shape and with one period."""

    def _own_number(self, number: complex) -> Any:
        if isinstance(number, complex) or (self._scheme == "bfv" and not isinstance(number, int)):
            raise TypeError(f"can't operate with {number!r}: {type(self).__name__} holds {self._dtype}s")
        return number

    def _is_clean(self) -> bool:
        return self._clean or self._fills_period()

    @abstractmethod
    def _fills_period(self) -> bool:
        """Whether there is a value for each slot of a period."""

    def _masked(self) -> Self:
        """The same values, with zeros in the rest of the period; takes a level if they are not there."""
        if self._is_clean():
            return self
        return like(self, bound(self) * self._mask(), _clean=True)

    def _total(self, size: int) -> Self:
        """The sum of the first `size` slots: in each slot, or, where the others are not clean, in the first.

        The latter is what TenSEAL computes: the largest power of two of the slots, and the rest of them after
        a rotation.
        """
        if self._period > 1:
            require_galois_keys(self._linked)
        if not self._is_clean() and size <= self._row_slots:
            return like(self, _window_sum(bound(self), size), _clean=False)
        return self._everywhere(bound(self._masked()))

    def _everywhere(self, cipher: Ciphertext) -> Self:
        """The sum of all slots of a period, in each of them."""
        apart = self._period // 2
        if self._scheme == "bfv" and self._period > self._row_slots:
            cipher = cipher + cipher.swap_rows()
            apart //= 2
        while apart:
            cipher = cipher + cipher.rotate(apart)
            apart //= 2
        cipher = cipher.with_slots(1) if self._scheme == "ckks" else cipher
        return like(self, cipher, _period=1, _clean=True)

    @property
    def _row_slots(self) -> int:
        """The slots that rotations move in a circle."""
        return home_of(self._linked).params.degree // 2

    def neg(self) -> Self:
        """-self."""
        return like(self, -bound(self))

    def square(self) -> Self:
        """self * self."""
        require_relin_keys(self._linked)
        return like(self, bound(self).square())

    def pow(self, power: int) -> Self:
        """self to a power from 0, in ceil(log2 power) levels."""
        if not isinstance(power, int) or power < 0:
            raise ParameterError(f"the power is an integer of 0 or more, not {power!r}")
        if power == 0:
            return self.mul(0).add(1)
        if power > 1:
            require_relin_keys(self._linked)
        return like(self, bound(self) ** power)

    def polyval(self, coefficients: Sequence[float]) -> Self:
        """coefficients[0] + coefficients[1] * self + ..., in ceil(log2(len(coefficients))) levels at most."""
        if len(coefficients) == 0:
            raise ParameterError("the coefficients vector need to have at least one element")
        first, *others = (self._own_number(as_number(each) or 0) for each in coefficients)
        while others and others[-1] == 0:
            others.pop()
        if not others:
            return self.mul(0).add(first)
        if len(others) > 1:
            require_relin_keys(self._linked)
        return like(self, self._polynomial(others)).add(first)

    @abstractmethod
    def _polynomial(self, coefficients: Sequence[Any]) -> Ciphertext:
        """coefficients[0] * x + coefficients[1] * x^2 + ..., whose last one is not 0."""

    @abstractmethod
    def sum(self, axis: int = 0) -> Self:
        """The sum along an axis."""

    @abstractmethod
    def dot(self, other: Any) -> Self:
        """The inner product."""

    # --- In place. ---

    add_, sub_, mul_, neg_ = in_place(add), in_place(sub), in_place(mul), in_place(neg)
    square_, polyval_, dot_ = in_place(square), in_place(polyval), in_place(dot)
    pow_, sum_ = in_place(pow), in_place(sum)  # noqa: A003

    # --- Operators. ---

    __add__ = __radd__ = add
    __iadd__ = add_
    __sub__ = sub
    __isub__ = sub_
    __mul__ = __rmul__ = mul
    __imul__ = mul_
    __neg__ = neg
    __pow__ = pow  # noqa: A003
    __ipow__ = pow_

    def __rsub__(self, other: Any) -> Self:
        return self.neg().add(other)


def _window_sum(x: Ciphertext, size: int) -> Ciphertext:
    """Slot 0 becomes the sum of the first `size` slots."""
    power = 1 << (size.bit_length() - 1)
    rest = _window_sum(x.rotate(power), size - power) if power < size else None
    apart = power // 2
    while apart:
        x = x + x.rotate(apart)
        apart //= 2
    return x if rest is None else x + rest
