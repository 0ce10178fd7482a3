"""Programs of NumPy's functions, by the values that they have: computed, counted or approximated. Those that
move elements are judged by NumPy's own tests (test_numpy_cases.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from hemera.arrays.array import Array

from .programs import Program, Values


def plain(x: Any) -> Any:
    """Whole numbers of a plain array, for functions that NumPy has for integers alone; else as it is."""
    return x if isinstance(x, Array) else np.asarray(x).astype(np.int64)


def mask(x: Any) -> Any:
    """A mask: booleans of a plain array."""
    return x if isinstance(x, Array) else np.asarray(x).astype(np.bool_)


def matrix(x: Any) -> Any:
    """The array with two axes: the last one and the others."""
    return x.reshape(-1, x.shape[-1])


def flat(x: Any) -> Any:
    return x.reshape(-1)


def counting(x: Any) -> Any:
    """1, 2, ... of the array's shape."""
    return 1.0 + np.arange(x.size).reshape(x.shape)


def whole(shape: tuple[int, ...], seed: int) -> Values:
    return np.random.default_rng(seed).integers(0, 10, shape).astype(np.float64)


# Programs by function, of one array in [-2, 2] that are exact.
COMPUTED: dict[Any, list[Program]] = {
    np.average: [
        lambda x: np.average(x),
        lambda x: np.average(x, 0),
        lambda x: np.average(x, -1, np.arange(1, x.shape[-1] + 1)),
        lambda x: np.average(x, weights=1 + np.arange(x.size).reshape(x.shape)),
        lambda x: np.average(x, axis=0, weights=np.ones(x.shape[0]), keepdims=True),
        lambda x: np.average(
            x, axis=tuple(range(x.ndim))[::-1], weights=1 + np.ones(x.shape).cumsum().reshape(x.T.shape)
        ),
    ],
    np.convolve: [
        lambda x: np.convolve(flat(x), [1, -2.0, 3]),
        lambda x: np.convolve([1.0, 2], flat(x), "same"),
        lambda x: np.convolve(flat(x), [2.0], mode="valid"),
        lambda x: np.convolve(x[(0,) * (x.ndim - 1)], flat(x)[:2]),
    ],
    np.correlate: [
        lambda x: np.correlate(flat(x), [1.0, 2], "full"),
        lambda x: np.correlate([1.0, 2, 3], flat(x), mode="same"),
        lambda x: np.correlate(flat(x)[:2], x[(0,) * (x.ndim - 1)], "full"),
    ],
    np.cov: [
        lambda x: np.cov(np.tile(matrix(x), 2)),
        lambda x: np.cov(np.tile(matrix(x), (2, 1)), rowvar=False, bias=True),
        lambda x: np.cov(np.repeat(x, 3), ddof=2),
        lambda x: np.cov(flat(x)[None], rowvar=False, ddof=0),  # one row is as many variables
        lambda x: np.cov(flat(x)[:, None], flat(x)[None], rowvar=False, bias=True),
        lambda x: np.cov(np.repeat(x, 3), np.tile(flat(x), 3), bias=True),
        lambda x: np.cov(np.arange(2.0 * x.size), np.repeat(x, 2)),
        lambda x: np.cov(np.tile(matrix(x), (2, 1)), np.tile(matrix(x), (2, 2)), rowvar=False),
    ],
    np.cumprod: [
        lambda x: np.cumprod(x / 2),
        lambda x: np.cumprod(np.tile(x, 2), -1),
        lambda x: np.multiply.accumulate(x),
        lambda x: np.cumprod(flat(x)[:1]),
    ],
    np.cumsum: [
        lambda x: np.add.accumulate(x, -1),
        lambda x: np.cumsum(x),
        lambda x: np.cumsum(x, -1),
        lambda x: np.cumsum(x, axis=0),
    ],
    np.diff: [
        lambda x: np.diff(np.tile(x, 3)),
        lambda x: np.diff(np.tile(x, 3), 2, -1),
        lambda x: np.diff(np.stack([x, x, -x]), axis=0),
        lambda x: np.diff(x, 0),
    ],
    np.dot: [
        lambda x: np.dot(x, np.arange(x.shape[-1] * 2.0).reshape(-1, 2)),
        lambda x: np.dot(np.ones((2, x.size)), flat(x)),
        lambda x: np.dot(x, 3),
        lambda x: np.dot(2.0, x),
        lambda x: np.dot(matrix(x), matrix(x).T),
        lambda x: np.dot(flat(x), flat(x)),
        lambda x: np.dot(x, np.ones((2, x.shape[-1], 3)).cumsum(0)),
    ],
    np.ediff1d: [lambda x: np.ediff1d(np.append(x, 2.0))],
    np.einsum: [
        lambda x: np.einsum("ij,kj->ik", matrix(x), np.arange(2.0 * x.shape[-1]).reshape(2, -1)),
        lambda x: np.einsum("ij,ij", matrix(x), matrix(x)),
        lambda x: np.einsum("ab,c->cba", matrix(x), [1.0, 2]),
        lambda x: np.einsum("i, i -> i", flat(x), flat(x)),
    ],
    np.fft.fft: [
        lambda x: np.fft.fft(x).real,
        lambda x: np.fft.fft(np.tile(x, 3), 5, 0, "ortho").imag,
        lambda x: (np.fft.fft(np.fft.fft(x)) / (1 - 2j))[0].imag,
        lambda x: np.imag(np.conjugate(np.fft.fft(x, len(np.fft.fft(x)) + 2)) - (3 - 1j)),
        lambda x: np.real((2 - np.fft.fft(x)) * np.fft.fft(x[::-1] * 2)),
    ],
    np.fft.ifft: [
        lambda x: np.fft.ifft(x, axis=0).imag,
        lambda x: np.fft.ifft(np.fft.fft(np.tile(x, 2), axis=0) * [1j], axis=0, norm="forward").real,
    ],
    np.fft.irfft: [
        lambda x: np.fft.irfft(np.tile(x, 2)),
        lambda x: np.fft.irfft(1j * np.fft.rfft(flat(x)), x.size),
        lambda x: np.fft.irfft(np.fft.rfft(np.tile(flat(x), 3)), 7, norm="ortho"),
    ],
    np.fft.rfft: [
        lambda x: (np.fft.rfft(x) + x[..., :1]).real,
        lambda x: -np.fft.rfft(np.tile(x, 5)).imag,
        lambda x: np.fft.rfft(x, 6, 0, norm="forward").conj().imag,
    ],
    np.gradient: [
        lambda x: np.gradient(np.tile(flat(x), 2)),
        lambda x: np.gradient(np.tile(matrix(x), (2, 2))),
        lambda x: np.gradient(np.tile(matrix(x), (2, 2)), 0.5, axis=1),
    ],
    np.cross: [
        lambda x: np.cross(x.ravel()[:3], x.ravel()[-3:]),
        lambda x: np.cross([1.0, -2, 3], x.ravel()[:3]),
    ],
    np.inner: [
        lambda x: np.inner(x, np.ones(x.shape[-1])),
        lambda x: np.inner(x, x),
        lambda x: np.inner(np.arange(2.0 * x.shape[-1]).reshape(2, -1), x),
        lambda x: np.inner(x, 2.0),
    ],
    np.interp: [
        lambda x: np.interp(x, [-1, 0.5, 1], [3, -1, 2]),
        lambda x: np.interp(x, [-90.0, 90], [1, 2]),
        lambda x: np.interp(x, [0.25], [7]) + x,
    ],
    np.kron: [
        lambda x: np.kron(x, [[1.0, 2]]),
        lambda x: np.kron(np.arange(3.0), x),
        lambda x: np.kron(matrix(x), x[0]),
    ],
    np.mean: [lambda x: np.mean(x), lambda x: np.mean(x, axis=-1), lambda x: np.mean(x, 0, keepdims=True)],
    np.ndim: [lambda x: np.ndim(x)],
    np.ones_like: [
        lambda x: np.ones_like(x),
        lambda x: 1 * (np.ones_like(x, np.bool_) + np.ones_like(x, np.bool_)),
    ],
    np.outer: [lambda x: np.outer(x, [1.0, 2]), lambda x: np.outer([3.0, 4], x), lambda x: np.outer(x, x)],
    np.pad: [
        lambda x: np.pad(x, 1),
        lambda x: np.pad(flat(x), (1, 2), constant_values=5),
        lambda x: np.pad(matrix(x), ((0, 1), (2, 0)), "constant", constant_values=((1, 2), (3, 4))),
        lambda x: np.pad(x, 2, "edge"),
        lambda x: np.pad(x, 1, mode="wrap"),
        lambda x: np.pad(x, 1, mode="symmetric"),
        lambda x: np.pad(np.tile(flat(x), 3), 2, mode="reflect"),
    ],
    np.piecewise: [
        lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: -2 * v, lambda v: 3 * v]),
        lambda x: np.piecewise(x, [x > 1], [1, lambda v, slope: slope * v + 1 - slope], 2),
        lambda x: np.piecewise(x, [np.ones(x.shape, bool)], [4]),
    ],
    np.polyval: [
        lambda x: np.polyval([1, -2.0, 0.5, 3], x),
        lambda x: np.polyval([2.0], x),
        lambda x: np.polyval([0, 0, 2.0, 1], x),
        lambda x: np.polyval([0.0], x),
        lambda x: np.polyval(flat(x)[:4], [[0.5], [2.0]]),
    ],
    np.prod: [lambda x: np.prod(x), lambda x: np.prod(x, -1), lambda x: np.prod(x, axis=0, keepdims=True)],
    np.shape: [lambda x: np.array(np.shape(x))],
    np.size: [lambda x: np.size(x), lambda x: np.size(x, 0)],
    np.sum: [
        lambda x: np.sum(x),
        lambda x: np.sum(x, axis=tuple(range(x.ndim))),
        lambda x: np.sum(x, -1, keepdims=True),
        lambda x: np.sum(a=x, axis=0),
    ],
    np.take: [
        lambda x: np.take(x, [0, 0, -1]),
        lambda x: np.take(x, [[0]], axis=-1),
        lambda x: np.take(x, 7, mode="wrap"),
    ],
    np.select: [
        lambda x: np.select([x < 0, x < 1], [0 * x, x], 2 * x - 1),
        lambda x: np.select([np.arange(x.size).reshape(x.shape) % 2 == 0], [x], 1.5),
    ],
    np.tensordot: [
        lambda x: np.tensordot(x, x, x.ndim),
        lambda x: np.tensordot(x, np.ones((x.shape[-1], 2)), 1),
        lambda x: np.tensordot(x, x, ([0], [0])),
        lambda x: np.tensordot([1.0, 2], x, axes=0),
        lambda x: np.tensordot(x, np.arange(x.shape[0]), (0, 0)),
        lambda x: np.tensordot(x, x, ((0, -1), (0, -1))) if x.ndim > 1 else np.tensordot(x, x, 1),
    ],
    np.trace: [lambda x: np.trace(matrix(x)), lambda x: np.trace(x[None], 0, 0, -1)],
    np.var: [
        lambda x: np.var(x),
        lambda x: np.var(x, axis=-1),
        lambda x: np.var(np.tile(x, 3), -1, ddof=1, keepdims=True),
    ],
    np.vdot: [lambda x: np.vdot(x, x), lambda x: np.vdot(np.arange(x.size), x)],
    np.where: [
        lambda x: np.where(np.arange(x.shape[-1]) % 2 == 0, x, 1),
        lambda x: np.where([[0], [1]], flat(x), 0),
        lambda x: np.where(np.ones(x.shape, bool), 2.5, x),
        lambda x: np.where(1, x, -x),
    ],
    np.zeros_like: [lambda x: np.zeros_like(x), lambda x: 1 * (np.zeros_like(x, np.bool_) == 0)],
}
if hasattr(np, "trapezoid"):
    COMPUTED[np.trapezoid] = [
        lambda x: np.trapezoid(x),
        lambda x: np.trapezoid(x, dx=0.5, axis=0),
        lambda x: np.trapezoid(x, np.arange(x.shape[-1]) ** 2),
    ]

# Programs by function, of one array of whole numbers from 0 to 9.
COUNTED: dict[Any, list[Program]] = {
    np.all: [
        lambda x: np.all(x > 0),
        lambda x: np.all(x < 9, axis=-1),
        lambda x: np.all(x >= 1, 0, keepdims=True),
    ],
    np.any: [lambda x: np.any(x > 6), lambda x: np.any(x == 3, axis=0)],
    np.argmax: [
        lambda x: np.argmax(x),
        lambda x: np.argmax(x, -1),
        lambda x: np.argmax(x, axis=0, keepdims=True),
    ],
    np.argmin: [lambda x: np.argmin(flat(x)), lambda x: np.argmin(x, axis=-1)],
    np.argsort: [
        lambda x: np.argsort(x[..., :8]) if isinstance(x, Array) else np.argsort(x, kind="stable"),
        lambda x: np.argsort(x, 0) if isinstance(x, Array) else np.argsort(x, 0, kind="stable"),
        lambda x: np.argsort(x, axis=None) if isinstance(x, Array) else np.argsort(x, None, kind="stable"),
    ],
    np.bincount: [lambda x: np.bincount(plain(flat(x)), minlength=10)],
    np.choose: [
        lambda x: np.choose(plain(x), list(np.arange(10) ** 2)),
        lambda x: np.choose(plain(x), [x * at for at in range(10)]),
        lambda x: np.choose([0, 1, 0], [flat(x)[:1], 5.0]),
    ],
    np.count_nonzero: [
        lambda x: np.count_nonzero(x),
        lambda x: np.count_nonzero(x > 4, axis=-1),
        lambda x: np.count_nonzero(x - 2, axis=0, keepdims=True),
    ],
    np.digitize: [lambda x: np.digitize(x, [1, 3.5, 8]), lambda x: np.digitize(x, [0, 3, 8], right=True)],
    np.histogram: [
        lambda x: np.histogram(x, 3, (0, 9)),
        lambda x: np.histogram(x, [1, 4, 9]),
        lambda x: np.histogram(x, bins=[2.5, 4.5]),
    ],
    np.ptp: [lambda x: np.ptp(x), lambda x: np.ptp(x, axis=-1, keepdims=True)],
    np.nanmax: [lambda x: np.nanmax(x, 0)],
    np.nansum: [lambda x: np.nansum(x), lambda x: np.nan_to_num(x) * 2],
    np.isin: [lambda x: np.isin(x, [1, 2.5, 7]), lambda x: np.isin(x, [2.5])],
    np.max: [lambda x: np.max(x), lambda x: np.max(x, -1)],
    np.amax: [lambda x: np.amax(x, axis=0, keepdims=True)],
    np.amin: [lambda x: np.amin(x, 0)],
    np.median: [
        lambda x: np.median(x[..., :3]),
        lambda x: np.median(x, axis=-1),
        lambda x: np.median(x, 0, keepdims=True),
    ],
    np.min: [lambda x: np.min(x), lambda x: np.min(x, axis=-1)],
    np.sort: [lambda x: np.sort(x), lambda x: np.sort(x, axis=0), lambda x: np.sort(x, axis=None)],
    np.where: [
        lambda x: np.where(x > 4, x, 1 - x),
        lambda x: np.where(x == 2, 7.0, 1.0),
        lambda x: np.where(x < 5, 0, x),
    ],
}
