"""What arrays of encrypted integers and booleans share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite, prod
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from hemera import _core
from hemera._process import cached_property
from hemera.inputs.arguments import as_extents
from hemera.inputs.operators import Operators, require_in_place
from hemera.inputs.source import write_bytes
from hemera.integers import arrangement, files
from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine
from hemera.integers.handles import Home
from hemera.integers.types import DType, integer_type, summed_axes

_NO_TRUTH = (
    "an encrypted {what} has no truth value, as nobody here knows it: choose with "
    "np.where(condition, a, b), combine conditions with &, | and ~"
)

Axes = int | tuple[int, ...] | None
"""Axes of an array: one, several or all."""

EncryptedT = TypeVar("EncryptedT", bound="Encrypted")


class Encrypted(Operators):
    """What arrays of encrypted integers and booleans share."""

    _functions: ClassVar[Mapping[Callable[..., Any], Callable[..., Any]]] = {}
    """What NumPy's functions that are none of elements do with encrypted arrays: `numpy_functions`."""
    _instead: ClassVar[Mapping[str, str]] = {}
    _otherwise = "it has NumPy's operators, indices and the functions of hm.integers; for the rest decrypt it"
    _what = "value"

    def __init__(self, context: Home, held: Bounded, shape: tuple[int, ...], dtype: DType) -> None:
        self._context = context
        self._stored = held
        self._shape = shape
        self._dtype = dtype
        self._is_shared = False

    @cached_property
    def _held(self) -> Bounded:
        """The values with the context's keys, which are made now if there are none."""
        return self._context._bound(self._stored)

    @property
    def context(self) -> Home:
        """The context that the values belong to."""
        return self._context

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self._shape

    @property
    def size(self) -> int:
        """The number of values."""
        return prod(self._shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._dtype

    @property
    def error(self) -> float:
        """A bound on the deviation of a digit from its whole number: public, as the operations give it."""
        return self._stored.error

    @property
    def failure_log2(self) -> float:
        """log2 of a bound on the probability that a value is wrong, of all operations that led here."""
        return self._stored.risk.log2

    @property
    def levels(self) -> int:
        """The levels that are left; operations refresh what has too few."""
        return self._context._levels_of(self._stored)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of an encrypted array without axes")
        return self._shape[0]

    def __bool__(self) -> NoReturn:
        raise TypeError(_NO_TRUTH.format(what=self._what))

    def __index__(self) -> NoReturn:
        raise TypeError(
            f"an encrypted {self._what} is no index, as nobody here knows it; hm.integers.Table(values)[x] "
            "looks up"
        )

    # --- NumPy's protocols. ---

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any, options: Any
    ) -> Any:
        del types
        if function not in self._functions:
            raise TypeError(self._refusal(function.__name__))
        return self._functions[function](*arguments, **options)

    # --- Operators in place. ---

    def _in_place(self, found: Any, sign: str) -> Any:
        """y after `y += x`: the array has other values, under all its names, as in NumPy. Errors: see
        `require_in_place`."""
        if found is NotImplemented or not self._shape:  # NumPy's numbers stay
            return found
        require_in_place(self, found, sign, is_shared=self._is_shared)
        same = found if found.dtype == self._dtype else found.astype(self._dtype)
        self._stored = self._held = same._held
        return self

    # --- Files. ---

    def to_bytes(self, *, compression: int = 0) -> bytes:
        """The values as a file, with what is public of them: types, shape, error and `failure_log2`.
        `Context.load` reads it.

        Args:
            compression: that of `Ciphertext.to_bytes`.
        """
        failure = self.failure_log2
        header = files.Header(
            self._context.bits,
            self._dtype.name,
            list(self._shape),
            float(self.error),
            failure if isfinite(failure) else None,
        )
        return files.write(header, self._stored.value.to_bytes(compression=compression))

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    def save(self, path: str | os.PathLike[str], *, compression: int = 0) -> None:
        """Write the file, which appears under its name only when it is complete.

        Raises:
            FileError: if it can not be written. An older file of that name is then untouched.
        """
        write_bytes(path, self.to_bytes(compression=compression))

    def shrink(self: EncryptedT, levels: int = 0) -> EncryptedT:
        """The same values with fewer levels, for sending: without any a fourth of the bytes, or less.

        Args:
            levels: what is left, if there are more: as `levels` of `Context.encrypt`.

        Raises:
            LevelError: if values never have as many.
        """
        return self._with(self._context._with_levels(self._stored, levels), self._shape)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} do not pickle: they belong to a context. Send bytes(x) or x.save(path), "
            "and read them with load() of a context that has the same parameters"
        )

    # --- Places. ---

    def reshape(self: EncryptedT, *shape: int | Sequence[int]) -> EncryptedT:
        """The same values in another shape, for nothing; one extent may be -1.

        Raises:
            MismatchError: if the number of values would change.
            TypeError: if an extent is no integer.
        """
        wanted = as_extents(shape, "reshape")
        try:
            found = np.broadcast_to(np.False_, self._shape).reshape(wanted).shape
        except ValueError:
            raise _core.MismatchError(
                f"reshape: an array of shape {self._shape} cannot become {tuple(wanted)}; the number of "
                "values must stay"
            ) from None
        return self._viewed(self._with(self._held, found))

    def ravel(self: EncryptedT) -> EncryptedT:
        """The same values along one axis, for nothing."""
        return self.reshape(-1)

    def transpose(self: EncryptedT, *axes: int | Sequence[int]) -> EncryptedT:
        """The values with their axes in another order; without one, in reverse. Takes a level.

        Raises:
            ValueError: if they are not the axes of the array.
        """
        order = as_extents(axes, "transpose") if axes else None
        return self._viewed(self._chosen(self._places().transpose(order)))

    @property
    def T(self: EncryptedT) -> EncryptedT:  # noqa: N802
        """The values with their axes in reverse."""
        return self.transpose()

    def __getitem__(self: EncryptedT, index: Any) -> EncryptedT:
        """Values by any index of NumPy that is not encrypted; always a copy. The first values, and whole
        ciphertexts, are taken for nothing; else a level goes.

        Raises:
            IndexError: if the index is out of range, or selects nothing.
            TypeError: if it is encrypted.
        """
        for each in index if isinstance(index, tuple) else (index,):
            if isinstance(each, Encrypted):
                raise TypeError(
                    f"an encrypted {each._what} is no index, as nobody here knows it: "
                    "hm.integers.Table(values)[x] looks up, np.where(condition, a, b) chooses"
                )
        places = self._places()
        chosen = np.asarray(places[index])
        if chosen.size == 0:
            raise IndexError(f"index {index!r} selects nothing of an array of shape {self._shape}")
        found = self._chosen(chosen)
        return self._viewed(found) if np.may_share_memory(places, chosen) else found

    def _viewed(self: EncryptedT, found: EncryptedT) -> EncryptedT:
        """Values that NumPy would have share memory with these: neither changes in place."""
        self._is_shared = found._is_shared = True
        return found

    def __setitem__(self, index: Any, value: object) -> NoReturn:
        raise TypeError(
            "encrypted arrays do not change: np.where(condition, a, b) and np.concatenate make new ones"
        )

    def __iter__(self: EncryptedT) -> Iterator[EncryptedT]:
        for position in range(len(self)):
            yield self[position]

    def _places(self) -> arrangement.Places:
        """The number of each value."""
        return np.arange(self.size).reshape(self._shape)

    def _chosen(self: EncryptedT, chosen: arrangement.Places) -> EncryptedT:
        """Values by their numbers."""
        engine = engine_of(self)
        is_moved = arrangement.whole_vectors(engine.layout, chosen) is None
        held = self._movable() if is_moved else self._held
        return self._with(arrangement.gathered(engine, held, chosen), chosen.shape)

    def _movable(self) -> Bounded:
        """With a level for a mask."""
        raise NotImplementedError

    def _with(self: EncryptedT, held: Bounded, shape: tuple[int, ...]) -> EncryptedT:
        return type(self)(self._context, held, shape, self._dtype)

    def _summed(
        self, axis: Axes, dtype: DTypeLike | None, keepdims: bool, kind: str
    ) -> tuple[DType, tuple[int, ...], tuple[int, ...]]:
        """The type of sums (None: the widest of a kind), the axes that they are over, and their shape."""
        bits = self._context.bits
        return integer_type(dtype or f"{kind}{bits // 8}", bits), *summed_axes(self._shape, axis, keepdims)

    def __repr__(self) -> str:
        return f"<encrypted {self._dtype} of shape {self._shape}>"


def held_by(x: Encrypted) -> Bounded:
    """The values with the keys of their context, which are made now if there are none."""
    return x._held


def engine_of(x: Encrypted) -> Engine:
    """The circuits of the values' context, with its keys."""
    return x._context._engine


def require_same(operation: str, a: Encrypted, b: Encrypted) -> None:
    """MismatchError if two operands belong to two contexts."""
    if b._context is not a._context:
        raise _core.MismatchError(f"{operation}: the operands belong to two contexts")


def spread(operation: str, x: EncryptedT, shape: tuple[int, ...]) -> EncryptedT:
    """Broadcast to a shape, by NumPy's rules. MismatchError if it does not fit."""
    if shape == x._shape:
        return x
    try:
        chosen = np.broadcast_to(x._places(), shape)
    except ValueError:
        raise _core.MismatchError(
            f"{operation}: encrypted values of shape {x._shape} do not broadcast to {shape}"
        ) from None
    return x._with(x._held, shape) if chosen.size == x.size else x._chosen(chosen)
