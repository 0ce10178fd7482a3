"""`tenseal.CKKSTensor` and `tenseal.BFVTensor`: arrays with a ciphertext for each value or batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hemera.compat.tenseal.context import Context, home_of, require_relin_keys
from hemera.compat.tenseal.encrypted import EncryptedTensor, in_place
from hemera.compat.tenseal.keys import SecretKey
from hemera.compat.tenseal.messages import whole_numbers
from hemera.compat.tenseal.plain_tensor import PlainTensor, as_array
from hemera.compat.tenseal.polynomials import integer_polynomial, real_polynomial
from hemera.compat.tenseal.stored import aligned, bound, cipher_of, has_zeros, like
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.encoding import power_of_two
from hemera.objects.ciphertext import Ciphertext

if TYPE_CHECKING:
    from typing_extensions import Self

_SHAPE = 1


class EncryptedArray(EncryptedTensor):
    """An array whose axes are those of a batch of ciphertexts. With `batch=True` the first axis lies in the
    slots instead, and operations treat its values alike."""

    _batch: int | None
    _batch_field: int
    """The number of the field of the batch size in a file."""

    def _start(self, context: object, tensor: Any, scale: float | None, batch: bool) -> None:
        if not isinstance(context, Context):
            raise TypeError("context must be a tenseal.Context")
        values = as_array(tensor, self._dtype)
        self._context, self._batch = context, None
        if batch:
            if values.ndim == 0:
                raise ParameterError("a batch needs an axis")
            self._batch = len(values)
            if self._batch > home_of(context).params.max_slots:
                raise ParameterError(
                    f"can't encrypt a batch of {self._batch} values in {home_of(context).params.max_slots} "
                    "slots; use a larger polynomial modulus degree"
                )
            period = power_of_two(max(1, self._batch))
            placed = np.zeros((*values.shape[1:], period), values.dtype)
            placed[..., : self._batch] = np.moveaxis(values, 0, -1)
        else:
            placed = values[..., None]
        self._encrypt(context, placed if values.size else values, scale)

    @property
    def shape(self) -> list[int]:
        """The extents, without that of a batch in the slots, as TenSEAL reports them."""
        return list(self._cipher.shape)

    def _mask(self) -> NDArray[Any]:
        kind = np.float64 if self._scheme == "ckks" else np.int64
        return self._repeated((np.arange(self._period) < (self._batch or 1)).astype(kind))

    def _fills_period(self) -> bool:
        return (self._batch or 1) == self._period

    def _operand(self, values: NDArray[Any]) -> NDArray[Any]:
        return values[..., None] if self._fills_period() else values[..., None] * self._mask()

    def _paired(self, other: Self) -> tuple[Self, Self]:
        if None not in (self._batch, other._batch) and self._batch != other._batch:
            raise MismatchError(f"can't compute on batches of {self._batch} and {other._batch}")
        first, second = aligned(self, other)
        return like(first, cipher_of(first), _batch=self._batch or other._batch), second

    def decrypt(self, secret_key: SecretKey | None = None) -> PlainTensor:
        """The values, with the axis of a batch first: see `EncryptedVector.decrypt`."""
        values = self._decrypted(secret_key)
        chosen = values[..., 0] if self._batch is None else np.moveaxis(values[..., : self._batch], -1, 0)
        return PlainTensor(chosen, dtype=self._dtype)

    def sum(self, axis: int = 0) -> Self:
        """The sum along an axis; the first one is that of a batch in the slots. ParameterError (a ValueError)
        if there is no such axis."""
        extents = len(self.shape) + (self._batch is not None)
        if not 0 <= axis < extents:
            raise ParameterError(f"invalid axis {axis} of {extents}")
        if self._batch is None:
            return like(self, bound(self).sum(axis=axis))
        return self.sum_batch() if axis == 0 else like(self, bound(self).sum(axis=axis - 1))

    def sum_batch(self) -> Self:
        """The sum along the axis in the slots. ParameterError (a ValueError) if there is none."""
        if self._batch is None:
            raise ParameterError("unsupported operation: the tensor was encrypted without batch=True")
        added = self._total(self._batch)
        return like(added, cipher_of(added), _batch=None)

    sum_batch_ = in_place(sum_batch)

    def dot(self, other: Any) -> Self:
        """The product of vectors and matrices, as NumPy's `dot`: see `mm`.

        Raises:
            MismatchError: (a ValueError) if they do not fit, or have more than two axes.
        """
        theirs = self._as_operand(other)
        axes = len(self.shape), len(theirs.shape)
        if not all(0 < count <= 2 for count in axes):
            raise MismatchError(f"don't support dot operations of more than 2 dimensions: {axes}")
        rows = self if axes[0] == 2 else self.reshape([1, *self.shape])
        if isinstance(theirs, EncryptedArray):
            product = rows.mm(theirs if axes[1] == 2 else theirs.reshape([*theirs.shape, 1]))
        else:
            product = rows.mm(theirs if axes[1] == 2 else theirs[:, None])
        kept = [extent for extent, count in zip(product.shape, axes, strict=True) if count == 2]
        return product.reshape(kept)

    def mm(self, other: Any) -> Self:
        """The product of two matrices, in one level. Sums of products of ciphertexts are relinearized once.

        Raises:
            MismatchError: (a ValueError) if they are no matrices that fit.
        """
        theirs = self._as_operand(other)
        if len(self.shape) != 2 or len(theirs.shape) != 2 or self.shape[1] != theirs.shape[0]:
            raise MismatchError(f"can't multiply matrices of shapes {self.shape} and {list(theirs.shape)}")
        if isinstance(theirs, EncryptedArray):
            require_relin_keys(self._linked)
            first, second = self._paired(theirs)
            lazy = self._linked._lazy_evaluator
            left, right = lazy.bind(cipher_of(first)), lazy.bind(cipher_of(second))
            clean = has_zeros(first) or has_zeros(second)
            columns = [left[:, at : at + 1] * right[at : at + 1] for at in range(self.shape[1])]
        else:
            first, left, clean = self, bound(self), True
            columns = [left[:, at : at + 1] * self._operand(theirs[at]) for at in range(self.shape[1])]
        total = columns.pop()
        while columns:
            total = total + columns.pop()
        return like(first, total.relinearize() if total.size > 2 else total, _clean=clean)

    __matmul__ = mm

    mm_ = __imatmul__ = in_place(mm)

    def _as_operand(self, other: Any) -> Self | NDArray[Any]:
        return other if isinstance(other, type(self)) else as_array(other, self._dtype)

    # --- Shapes. ---

    def reshape(self, shape: Sequence[int]) -> Self:
        """The same values in another shape. MismatchError (a ValueError) if their number would change."""
        return like(self, bound(self).reshape(*shape))

    reshape_ = in_place(reshape)

    def broadcast(self, shape: Sequence[int]) -> Self:
        """The values repeated to a shape, as NumPy broadcasts. ValueError if they do not fit."""
        return self._chosen(np.broadcast_to(self._numbered(), tuple(shape)))

    broadcast_ = in_place(broadcast)

    def transpose(self) -> Self:
        """The axes in reverse order."""
        return self._chosen(self._numbered().T)

    transpose_ = in_place(transpose)

    def __getitem__(self, item: int | slice | Sequence[int | slice]) -> Self:
        """A part by slices. A number takes a slice of one, and the axis stays, as in TenSEAL. Negative
        numbers count from the end.

        Raises:
            IndexError: for numbers beyond an axis, and more of them than there are axes.
        """
        items = [item] if isinstance(item, (int, slice)) else list(item)
        if len(items) > len(self.shape):
            raise IndexError(f"{len(items)} indices for a tensor of shape {self.shape}")
        slices = [
            slice(range(extent)[each], range(extent)[each] + 1) if isinstance(each, int) else each
            for each, extent in zip(items, self.shape, strict=False)
        ]
        return self._chosen(self._numbered()[tuple(slices)])

    def _numbered(self) -> NDArray[np.intp]:
        return np.arange(int(np.prod(self.shape)), dtype=np.intp).reshape(self.shape)

    def _chosen(self, numbers: NDArray[np.intp]) -> Self:
        if not self.shape:
            return like(self, bound(self))
        return like(self, bound(self).reshape(-1)[numbers])

    # --- Bytes. ---

    def _extents(self) -> dict[int, Any]:
        extents: dict[int, Any] = {_SHAPE: self.shape}
        return extents if self._batch is None else {**extents, self._batch_field: self._batch}

    def _read_extents(self, found: dict[int, Any], ciphertexts: int) -> tuple[int, ...]:
        shape = tuple(whole_numbers(found.get(_SHAPE, [])))
        batch = found.get(self._batch_field, [None])[-1]
        slots = home_of(self._linked).params.max_slots
        if int(np.prod(shape)) != ciphertexts or not (batch is None or 0 < batch <= slots):
            raise FormatError(f"the bytes are no {type(self).__name__}: shape {shape}, batch {batch}")
        self._batch = batch
        return shape


class CKKSTensor(EncryptedArray):
    """An array of floats.

    Args:
        context: of SCHEME_TYPE.CKKS.
        tensor: anything that NumPy makes an array of.
        scale: as for `CKKSVector`.
        batch: whether the first axis lies in the slots of each ciphertext.
    """

    _scheme: Literal["bfv", "ckks"] = "ckks"
    _dtype: Literal["float", "int"] = "float"
    _batch_field = 4

    def __init__(
        self, context: Context, tensor: Any, scale: float | None = None, batch: bool = False
    ) -> None:
        self._start(context, tensor, scale, batch)

    def _polynomial(self, coefficients: Sequence[Any]) -> Ciphertext:
        return real_polynomial(bound(self), coefficients)


class BFVTensor(EncryptedArray):
    """An array of integers modulo the context's plain_modulus.

    Args:
        context: of SCHEME_TYPE.BFV.
        tensor: anything that NumPy makes an array of.
        batch: whether the first axis lies in the slots of each ciphertext.
    """

    _scheme: Literal["bfv", "ckks"] = "bfv"
    _dtype: Literal["float", "int"] = "int"
    _batch_field = 3

    def __init__(self, context: Context, tensor: Any, batch: bool = False) -> None:
        self._start(context, tensor, None, batch)

    def _polynomial(self, coefficients: Sequence[Any]) -> Ciphertext:
        return integer_polynomial(bound(self), coefficients)
