"""Fourier transforms, as `numpy.fft`: complex arrays are pairs of real ones."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from hemera.arrays.linear_algebra import along_axis
from hemera.arrays.recorded import Recorded, as_numbers, axes_of
from hemera.inputs.operators import Operators
from hemera.inputs.plain import plain_array


class ComplexArray(Operators):
    """An encrypted array of complex numbers: `real` and `imag` are encrypted arrays, to compute with and to
    return. It has + - * / by plain numbers, abs, conj and NumPy's transforms."""

    _instead: ClassVar[dict[str, str]] = {}
    _otherwise: ClassVar[str] = "compute with z.real and z.imag"

    def __init__(self, real: Any, imag: Any) -> None:
        self.real, self.imag = real, imag

    @property
    def shape(self) -> tuple[int, ...]:
        """As of NumPy's arrays."""
        return tuple(self.real.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """complex128."""
        return np.dtype(np.complex128)

    def __len__(self) -> int:
        return len(self.real)

    def __getitem__(self, index: Any) -> ComplexArray:
        return ComplexArray(self.real[index], self.imag[index])

    def conj(self) -> ComplexArray:
        """The conjugates."""
        return ComplexArray(self.real, -self.imag)

    def _plus(self, other: Any) -> ComplexArray:
        real, imag = _parts_of(other)
        return ComplexArray(self.real + real, self.imag + imag)

    def _times(self, other: Any) -> ComplexArray:
        real, imag = _parts_of(other)
        return ComplexArray(self.real * real - self.imag * imag, self.real * imag + self.imag * real)

    def _divided(self, other: Any) -> ComplexArray:
        return self._times(1 / _plain(other))

    _meanings: ClassVar = {
        np.add: _plus,
        np.subtract: lambda z, other: z._plus(-other),
        np.multiply: _times,
        np.divide: _divided,
        np.negative: lambda z: ComplexArray(-z.real, -z.imag),
        np.positive: lambda z: z,
        np.conjugate: conj,
        np.absolute: lambda z: np.hypot(z.real, z.imag),
    }
    _reflected: ClassVar = {np.subtract: lambda z, other: (-z)._plus(other)}

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any, options: Any
    ) -> Any:
        found = _OF_COMPLEX.get(function)
        if found is None:
            raise TypeError(self._refusal(function.__name__))
        return found(*arguments, **options)


def _plain(value: Any) -> Any:
    """Plain numbers, real or complex. TypeError for others."""
    return plain_array(value, "an encrypted array of complex numbers", np.complex128)


def _parts_of(value: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of encrypted or plain numbers."""
    if isinstance(value, ComplexArray):
        return value.real, value.imag
    if isinstance(value, Recorded):
        return value, 0.0
    plain = _plain(value)
    return np.real(plain), np.imag(plain)


def _transform(function: Callable[..., Any]) -> Callable[..., Any]:
    """One of NumPy's transforms along an axis, by its values at unit vectors. Results of real numbers, as of
    irfft, are an encrypted array, others a `ComplexArray`."""
    name = f"np.fft.{function.__name__}"

    def call(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
        parts = (a.real, a.imag) if isinstance(a, ComplexArray) else (as_numbers(a),)
        if function is np.fft.rfft and len(parts) > 1:
            raise TypeError(f"{name} takes real numbers; np.fft.fft takes complex ones")
        (at,) = axes_of(operator.index(axis), parts[0].ndim)
        units = np.eye(parts[0].shape[at])
        matrices = [function(units * factor, n, norm=norm).T for factor in (1, 1j)[: len(parts)]]

        def part(of: Callable[[Any], Any]) -> Any:
            terms = [along_axis(x, of(matrix), at) for x, matrix in zip(parts, matrices, strict=True)]
            return functools.reduce(operator.add, terms)

        real = part(np.real)
        return ComplexArray(real, part(np.imag)) if np.iscomplexobj(matrices[0]) else real

    return call


TRANSFORMS: dict[Callable[..., Any], Callable[..., Any]] = {
    function: _transform(function) for function in (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft)
}
"""NumPy's transforms along one axis."""
_OF_COMPLEX: dict[Callable[..., Any], Callable[..., Any]] = {
    **TRANSFORMS,
    np.real: lambda val: val.real,
    np.imag: lambda val: val.imag,
    np.shape: lambda a: a.shape,
}
