"""NumPy's functions and methods of encrypted arrays have NumPy's values, on random shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemera import circuits
from hemera.arrays.array import Array
from hemera.arrays.folding import folded
from hemera.arrays.numpy_functions import COMPUTING, MOVING
from hemera.arrays.numpy_ufuncs import UFUNCS
from hemera.arrays.tensor import Apply
from hemera.errors import ParameterError, RangeError

from .programs import Given, Program, Values, check, recorded

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


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


# By function: programs of one array x of any shape of one axis or more, in [-2, 2].
MOVED: dict[Any, list[Program]] = {
    np.append: [
        lambda x: np.append(x, [1.5, 2]),
        lambda x: np.append([[3.0]], x),
        lambda x: np.append(x, x, 0),
    ],
    np.array_split: [lambda x: np.array_split(x, x.shape[-1], -1), lambda x: np.array_split(flat(x), 1)],
    np.atleast_1d: [lambda x: np.atleast_1d(x), lambda x: np.atleast_1d(x.sum())],
    np.atleast_2d: [lambda x: np.atleast_2d(x)],
    np.atleast_3d: [lambda x: np.atleast_3d(x)],
    np.block: [lambda x: np.block([[matrix(x), matrix(x)], [np.ones((1, 2 * x.shape[-1]))]])],
    np.broadcast_to: [
        lambda x: np.broadcast_to(x, (3, *x.shape)),
        lambda x: np.broadcast_to(x, shape=x.shape),
    ],
    np.column_stack: [lambda x: np.column_stack([flat(x), np.arange(x.size), flat(x)])],
    np.compress: [
        lambda x: np.compress([True], x, axis=0),
        lambda x: np.compress([0] * (x.size - 1) + [1], x),
    ],
    np.concatenate: [
        lambda x: np.concatenate([x, np.ones(x.shape), x]),
        lambda x: np.concatenate((x, x), axis=-1),
        lambda x: np.concatenate([x, [[1.0, 0]]], None),
        lambda x: np.concatenate(x[None]),
    ],
    np.copy: [lambda x: np.copy(x)],
    np.delete: [lambda x: np.delete(np.append(x, 1), 0), lambda x: np.delete(np.tile(x, 2), 0, -1)],
    np.diag: [lambda x: np.diag(matrix(x)), lambda x: np.diag(flat(x), 1)],
    np.diagflat: [lambda x: np.diagflat(x), lambda x: np.diagflat(x, -1)],
    np.diagonal: [lambda x: np.diagonal(matrix(x)), lambda x: np.diagonal(x[None], 0, 0, -1)],
    np.dsplit: [lambda x: np.dsplit(np.ones((2, 1, 2)) * x.sum(), 2)],
    np.dstack: [lambda x: np.dstack([matrix(x), matrix(x) * 2])],
    np.expand_dims: [lambda x: np.expand_dims(x, 0), lambda x: np.expand_dims(x, axis=(0, -1))],
    np.extract: [lambda x: np.extract(np.arange(x.size) % 2 == 0, x)],
    np.flip: [lambda x: np.flip(x), lambda x: np.flip(x, -1), lambda x: np.flip(m=x, axis=0)],
    np.fliplr: [lambda x: np.fliplr(matrix(x))],
    np.flipud: [lambda x: np.flipud(x)],
    np.hsplit: [lambda x: np.hsplit(np.tile(matrix(x), 3), 3)],
    np.hstack: [lambda x: np.hstack([x, x, np.zeros(x.shape)])],
    np.insert: [
        lambda x: np.insert(x, 1, 1.0),
        lambda x: np.insert(x, 0, 0.0, axis=-1),
        lambda x: np.insert(x, [0, 1], [2.0, 3.0]),
        lambda x: np.insert(np.zeros(3), 1, x.sum()),
        lambda x: np.insert(arr=x, obj=0, values=1.0),
    ],
    np.moveaxis: [lambda x: np.moveaxis(x, 0, -1)],
    np.ravel: [lambda x: np.ravel(x), lambda x: np.ravel(x, "F"), lambda x: np.ravel(a=x, order="C")],
    np.repeat: [lambda x: np.repeat(x, 2), lambda x: np.repeat(x, 3, axis=0)],
    np.reshape: [lambda x: np.reshape(x, -1), lambda x: np.reshape(x, (x.size, 1), order="F")],
    np.resize: [lambda x: np.resize(x, (2, 5)), lambda x: np.resize(x, 1)],
    np.roll: [lambda x: np.roll(x, 2), lambda x: np.roll(x, -1, axis=-1)],
    np.rollaxis: [lambda x: np.rollaxis(x, -1), lambda x: np.rollaxis(x, 0, x.ndim)],
    np.rot90: [lambda x: np.rot90(matrix(x)), lambda x: np.rot90(matrix(x), 2)],
    np.split: [lambda x: np.split(np.tile(x, 2), 2, -1), lambda x: np.split(np.append(x, [1, 2]), [1])],
    np.squeeze: [lambda x: np.squeeze(x), lambda x: np.squeeze(x[None], 0)],
    np.stack: [lambda x: np.stack([x, np.full(x.shape, 3), x]), lambda x: np.stack(arrays=(x, x), axis=-1)],
    np.swapaxes: [lambda x: np.swapaxes(x, 0, -1)],
    np.take_along_axis: [lambda x: np.take_along_axis(x, np.zeros((1,) * x.ndim, int), -1)],
    np.tile: [lambda x: np.tile(x, 2), lambda x: np.tile(x, (2, 1))],
    np.transpose: [lambda x: np.transpose(x), lambda x: np.transpose(x, tuple(range(x.ndim)))],
    np.tril: [lambda x: np.tril(x), lambda x: np.tril(matrix(x), -1)],
    np.triu: [lambda x: np.triu(x), lambda x: np.triu(matrix(x), 1)],
    np.vsplit: [lambda x: np.vsplit(np.stack([x, x]), 2)],
    np.vstack: [lambda x: np.vstack([x, 2 * x]), lambda x: np.vstack((flat(x), flat(x)))],
}
if hasattr(np, "matrix_transpose"):
    MOVED[np.matrix_transpose] = [lambda x: np.matrix_transpose(x[None])]
if hasattr(np, "unstack"):
    MOVED[np.unstack] = [lambda x: np.unstack(x), lambda x: np.unstack(x, axis=-1)]

# By function: programs of one array in [-2, 2] that are exact.
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
        lambda x: np.cov(np.repeat(x, 3), np.tile(flat(x), 3), bias=True),
        lambda x: np.cov(np.arange(2.0 * x.size), np.repeat(x, 2)),
        lambda x: np.cov(np.tile(matrix(x), (2, 1)), np.tile(matrix(x), (2, 2)), rowvar=False),
    ],
    np.cumsum: [lambda x: np.cumsum(x), lambda x: np.cumsum(x, -1), lambda x: np.cumsum(x, axis=0)],
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
    np.gradient: [
        lambda x: np.gradient(np.tile(flat(x), 2)),
        lambda x: np.gradient(np.tile(matrix(x), (2, 2))),
        lambda x: np.gradient(np.tile(matrix(x), (2, 2)), 0.5, axis=1),
    ],
    np.inner: [
        lambda x: np.inner(x, np.ones(x.shape[-1])),
        lambda x: np.inner(x, x),
        lambda x: np.inner(np.arange(2.0 * x.shape[-1]).reshape(2, -1), x),
        lambda x: np.inner(x, 2.0),
    ],
    np.kron: [
        lambda x: np.kron(x, [[1.0, 2]]),
        lambda x: np.kron(np.arange(3.0), x),
        lambda x: np.kron(matrix(x), x[0]),
    ],
    np.mean: [lambda x: np.mean(x), lambda x: np.mean(x, axis=-1), lambda x: np.mean(x, 0, keepdims=True)],
    np.ndim: [lambda x: np.ndim(x)],
    np.ones_like: [lambda x: np.ones_like(x)],
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
    np.zeros_like: [lambda x: np.zeros_like(x)],
}
if hasattr(np, "trapezoid"):
    COMPUTED[np.trapezoid] = [
        lambda x: np.trapezoid(x),
        lambda x: np.trapezoid(x, dx=0.5, axis=0),
        lambda x: np.trapezoid(x, np.arange(x.shape[-1]) ** 2),
    ]

# By function: programs of one array of whole numbers from 0 to 9.
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
    np.digitize: [
        lambda x: np.digitize(x, [1, 3.5, 8]),
        lambda x: np.digitize(x, [0, 3, 8], right=True),
    ],
    np.histogram: [
        lambda x: np.histogram(x, 3, (0, 9)),
        lambda x: np.histogram(x, [1, 4, 9]),
        lambda x: np.histogram(x, bins=[2.5, 4.5]),
    ],
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

# By function: programs of one array in [-2, 2] that are approximations.
APPROXIMATED: dict[Any, list[Program]] = {
    np.clip: [
        lambda x: np.clip(x, -1, 1.5),
        lambda x: np.clip(x, 0.5, None),
        lambda x: np.clip(x, a_min=-3, a_max=1),
        lambda x: np.clip(x, -5, 5),
        lambda x: np.clip(x, np.full(x.shape, -1.0), 1.0),
        lambda x: np.clip(x, 1.0, 1.0),
    ],
    np.corrcoef: [
        lambda x: np.corrcoef(np.stack([np.append(x, [-9.0, 9]), np.append([9.0, -9], x)])),
        lambda x: np.corrcoef(np.stack([np.append(x, [-5.0, 5]), np.append([9.0, 0], x)], 1), rowvar=False),
    ],
    np.linalg.norm: [
        lambda x: np.linalg.norm(flat(x) + 4),
        lambda x: np.linalg.norm(x + 4, axis=-1, keepdims=True),
        lambda x: np.linalg.norm(flat(x), 1),
        lambda x: np.linalg.norm(x, np.inf, axis=0),
        lambda x: np.linalg.norm(matrix(x) + 4, "fro"),
    ],
    np.max: [lambda x: np.max(x), lambda x: np.max(x, axis=-1)],
    np.median: [lambda x: np.median(x[..., :3], axis=-1)],
    np.min: [lambda x: np.min(x, axis=0, keepdims=True)],
    np.sort: [lambda x: np.sort(x), lambda x: np.sort(x, 0)],
    np.std: [lambda x: np.std(np.append(x, [-5.0, 5])), lambda x: np.std(np.stack([x, x - 9]), 0, ddof=1)],
}

PLAIN = np.array([0.5, -1.5])
UFUNC_PROGRAMS: dict[Any, list[Program]] = {
    np.add: [lambda x: np.add(x, 1), lambda x: np.add(PLAIN[:, None], flat(x)), lambda x: np.add(x, x)],
    np.subtract: [
        lambda x: np.subtract(x, 1.5),
        lambda x: np.subtract(3, x),
        lambda x: np.subtract(x, x.sum()),
    ],
    np.multiply: [
        lambda x: np.multiply(x, 2),
        lambda x: np.multiply(PLAIN[:, None], flat(x)),
        lambda x: x * x[::-1],
    ],
    np.divide: [lambda x: np.divide(x, 4), lambda x: np.divide(1.0, x + 4), lambda x: np.divide(x, x + 5)],
    np.matmul: [
        lambda x: np.matmul(x, np.ones((x.shape[-1], 2))),
        lambda x: np.matmul(np.ones((3, x.size)), flat(x)),
        lambda x: matrix(x)[None] @ counting(np.ones((2, x.shape[-1], 3))),
        lambda x: counting(np.ones((3, 1, 2, x.size))) @ np.stack([x.reshape(-1, 1)] * 2),
        lambda x: matrix(x)[None] @ np.stack([matrix(x).T, -matrix(x).T]),
        lambda x: flat(x) @ flat(x),
    ],
    np.power: [lambda x: np.power(x, 3), lambda x: np.power(2, x), lambda x: np.power(x + 4, -1)],
    np.float_power: [lambda x: np.float_power(x, 2), lambda x: np.float_power(x + 4, 0.5)],
    np.negative: [lambda x: np.negative(x)],
    np.positive: [lambda x: np.positive(x)],
    np.conjugate: [lambda x: np.conjugate(x)],
    np.square: [lambda x: np.square(x)],
    np.exp: [lambda x: np.exp(x)],
    np.log: [lambda x: np.log(x + 4)],
    np.sqrt: [lambda x: np.sqrt(x + 4)],
    np.tanh: [lambda x: np.tanh(x)],
    np.reciprocal: [lambda x: np.reciprocal(x + 4), lambda x: np.reciprocal(x - 4)],
    np.maximum: [lambda x: np.maximum(x, 0), lambda x: np.maximum(1.5, x), lambda x: np.maximum(x, x[::-1])],
    np.minimum: [lambda x: np.minimum(x, 0.5), lambda x: np.minimum(x, x[::-1])],
    np.fmax: [lambda x: np.fmax(x, 0)],
    np.fmin: [lambda x: np.fmin(0.25, x)],
    np.absolute: [lambda x: np.absolute(x), lambda x: np.absolute(x + 4), lambda x: np.absolute(x - 4)],
    np.fabs: [lambda x: np.fabs(x)],
    np.degrees: [lambda x: np.degrees(x)],
    np.rad2deg: [lambda x: np.rad2deg(x)],
    np.radians: [lambda x: np.radians(x)],
    np.deg2rad: [lambda x: np.deg2rad(x)],
    np.sin: [lambda x: np.sin(3 * x)],
    np.cos: [lambda x: np.cos(x)],
    np.tan: [lambda x: np.tan(x / 2)],
    np.arctan: [lambda x: np.arctan(x)],
    np.sinh: [lambda x: np.sinh(x)],
    np.cosh: [lambda x: np.cosh(x)],
    np.arcsinh: [lambda x: np.arcsinh(x)],
    np.arccosh: [lambda x: np.arccosh(x + 4)],
    np.exp2: [lambda x: np.exp2(x)],
    np.expm1: [lambda x: np.expm1(x)],
    np.log1p: [lambda x: np.log1p(x + 3)],
    np.log2: [lambda x: np.log2(x + 4)],
    np.log10: [lambda x: np.log10(x + 4)],
    np.cbrt: [lambda x: np.cbrt(x + 4)],
    np.arcsin: [lambda x: np.arcsin(x / 3)],
    np.arccos: [lambda x: np.arccos(x / 3)],
    np.arctanh: [lambda x: np.arctanh(x / 3)],
}
COUNTED_UFUNCS: dict[Any, list[Program]] = {
    np.equal: [
        lambda x: np.equal(x, 3),
        lambda x: np.equal(np.arange(x.shape[-1]), x),
        lambda x: x == x[::-1],
    ],
    np.not_equal: [lambda x: np.not_equal(x, 3), lambda x: x != 2.5],
    np.greater: [lambda x: np.greater(x, 3), lambda x: np.greater(3.5, x), lambda x: x > x[::-1]],
    np.greater_equal: [
        lambda x: np.greater_equal(x, 3),
        lambda x: np.greater_equal(3, x),
        lambda x: x >= x[::-1],
    ],
    np.less: [lambda x: np.less(x, 3), lambda x: np.less(3, x), lambda x: x < x[::-1], lambda x: x < 0.5],
    np.less_equal: [lambda x: np.less_equal(x, 3), lambda x: np.less_equal(3, x), lambda x: x <= x[::-1]],
    np.bitwise_and: [lambda x: (x > 2) & (x < 7), lambda x: np.array([True]) & (x > 2)],
    np.bitwise_or: [lambda x: (x > 7) | (x == 2)],
    np.bitwise_xor: [lambda x: (x > 2) ^ (x < 7)],
    np.invert: [lambda x: ~(x > 2)],
    np.logical_and: [lambda x: np.logical_and(x > 2, x < 7)],
    np.logical_or: [lambda x: np.logical_or(x > 7, x == 2)],
    np.logical_xor: [lambda x: np.logical_xor(x > 2, x < 7)],
    np.logical_not: [lambda x: np.logical_not(x > 2)],
    np.sign: [lambda x: np.sign(x - 4), lambda x: np.sign(2 * x + 1)],
    np.heaviside: [lambda x: np.heaviside(x - 4, 0.5)],
}

METHODS: dict[str, list[Program]] = {
    "reshape": [
        lambda x: x.reshape(-1),
        lambda x: x.reshape((1, -1)),
        lambda x: x.reshape(x.size, 1, order="F"),
    ],
    "ravel": [lambda x: x.ravel(), lambda x: x.ravel("F")],
    "flatten": [lambda x: x.flatten()],
    "transpose": [lambda x: x.transpose(), lambda x: x[None].transpose(*range(1, x.ndim + 1), 0)],
    "T": [lambda x: x.T],
    "mT": [lambda x: x[None].mT] if hasattr(np.ndarray, "mT") else [],
    "squeeze": [lambda x: x.squeeze(), lambda x: x[None].squeeze(0)],
    "swapaxes": [lambda x: x.swapaxes(0, -1)],
    "repeat": [lambda x: x.repeat(2), lambda x: x.repeat(2, axis=0)],
    "diagonal": [lambda x: x[None].diagonal(0, 0, -1)],
    "take": [lambda x: x.take([0, -1]), lambda x: x.take(0, axis=-1)],
    "compress": [lambda x: x.compress([1], 0)],
    "copy": [lambda x: x.copy()],
    "sum": [lambda x: x.sum(), lambda x: x.sum(-1), lambda x: x.sum(axis=0, keepdims=True)],
    "mean": [lambda x: x.mean(), lambda x: x.mean(-1), lambda x: x.mean(axis=(0,), keepdims=True)],
    "prod": [lambda x: x.prod(), lambda x: x.prod(axis=-1)],
    "var": [lambda x: x.var(), lambda x: x.var(-1, keepdims=True)],
    "cumsum": [lambda x: x.cumsum(), lambda x: x.cumsum(axis=-1)],
    "trace": [lambda x: x[None].trace(0, 0, -1)],
    "dot": [lambda x: x.dot(np.ones(x.shape[-1])), lambda x: flat(x).dot(flat(x))],
    "power": [lambda x: x.power(3) if isinstance(x, Array) else x**3],
    "square": [lambda x: x.square() if isinstance(x, Array) else x**2],
    "shape": [lambda x: np.array(x.shape)],
    "ndim": [lambda x: np.array(x.ndim)],
    "size": [lambda x: np.array(x.size)],
    "dtype": [lambda x: np.array(x.dtype == np.float64)],
}
COUNTED_METHODS: dict[str, list[Program]] = {
    "max": [lambda x: x.max(-1), lambda x: x.max()],
    "min": [lambda x: x.min(axis=0, keepdims=True)],
    "argmax": [lambda x: x.argmax(-1), lambda x: x.argmax()],
    "argmin": [lambda x: x.argmin(0, keepdims=True)],
    "argsort": [lambda x: x.argsort() if isinstance(x, Array) else x.argsort(kind="stable")],
    "all": [lambda x: (x > 1).all(-1)],
    "any": [lambda x: (x > 7).any()],
}
APPROXIMATED_METHODS: dict[str, list[Program]] = {
    "std": [lambda x: np.append(x, [-5.0, 5]).std(ddof=1)],
    "clip": [lambda x: x.clip(-1, 1), lambda x: x.clip(max=1)],
    "max": [lambda x: x.max(0)],
    "exp": [lambda x: x.exp() if isinstance(x, Array) else np.exp(x)],
    "log": [lambda x: (x + 3).log() if isinstance(x, Array) else np.log(x + 3)],
    "sqrt": [lambda x: (x + 3).sqrt() if isinstance(x, Array) else np.sqrt(x + 3)],
    "tanh": [lambda x: x.tanh() if isinstance(x, Array) else np.tanh(x)],
    "sigmoid": [lambda x: x.sigmoid() if isinstance(x, Array) else 1 / (1 + np.exp(-x))],
    "reciprocal": [lambda x: (x + 3).reciprocal() if isinstance(x, Array) else 1 / (x + 3)],
    "approximated": [lambda x: x.approximated(np.cos) if isinstance(x, Array) else np.cos(x)],
}
# These have tests of their own.
APART = {"gelu", "apply", "range", "step"}


def cases(table: dict[Any, list[Program]]) -> list[Any]:
    """The programs of a table as parameters of a test, with names."""
    return [
        pytest.param(program, id=f"{key if isinstance(key, str) else key.__name__}-{at}")
        for key, programs in table.items()
        for at, program in enumerate(programs)
    ]


def uniform(shape: tuple[int, ...], seed: int) -> Values:
    return np.random.default_rng(seed).uniform(-2, 2, shape)


def whole(shape: tuple[int, ...], seed: int) -> Values:
    return np.random.default_rng(seed).integers(0, 10, shape).astype(np.float64)


def test_tables_have_every_function_and_method() -> None:
    assert set(MOVED) == set(MOVING)
    assert set(COMPUTED) | set(COUNTED) | set(APPROXIMATED) == set(COMPUTING)
    # Of exact programs alone: compiler/test_exact.py has them.
    exact = {np.floor_divide, np.remainder}
    assert set(UFUNC_PROGRAMS) | set(COUNTED_UFUNCS) | exact == set(UFUNCS)
    known = {name for each in Array.__mro__ for name in vars(each) if not name.startswith("_")}
    assert set(METHODS) | set(COUNTED_METHODS) | set(APPROXIMATED_METHODS) | APART == known


@pytest.mark.parametrize("program", cases({**MOVED, **METHODS}) + cases(COMPUTED))
@settings(max_examples=4, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 1000))
def test_exact_functions(program: Program, shape: tuple[int, ...], seed: int) -> None:
    check(program, Given(uniform(shape, seed)))


@pytest.mark.parametrize("program", cases({**APPROXIMATED, **APPROXIMATED_METHODS}) + cases(UFUNC_PROGRAMS))
@settings(max_examples=2, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 1000))
def test_approximated_functions(program: Program, shape: tuple[int, ...], seed: int) -> None:
    check(program, Given(uniform(shape, seed)), tolerance=2**-9, bits=14)


@pytest.mark.parametrize("program", cases({**COUNTED, **COUNTED_METHODS}) + cases(COUNTED_UFUNCS))
@settings(max_examples=2, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 1000))
def test_functions_of_whole_numbers(program: Program, shape: tuple[int, ...], seed: int) -> None:
    check(program, Given(whole(shape, seed), 0, 9, 1), tolerance=2**-7, bits=14)


def test_functions_of_circuits() -> None:
    """With plain numbers in place of encrypted ones, and shapes that broadcast."""
    given = Given(uniform((2, 3), 1))
    wide = np.array([[[1.0]], [[-0.5]]])
    tanh, larger = circuits.tanh((-2, 2), bits=14), circuits.maximum(bits=10, largest=2)
    check(lambda x: tanh(x), given, tolerance=2**-10)
    check(lambda x: larger(x, x[::-1]), given, tolerance=2**-10)
    check(lambda x: larger(x, wide), given, tolerance=2**-10)
    check(lambda x: x.apply(tanh) if isinstance(x, Array) else np.tanh(x), given, tolerance=2**-10)
    apart = Given(np.array([[0.5, -1.0, 1.5], [0.75, 0.0, -1.75]]))
    compare = circuits.compare(gap=0.2, bits=12, largest=2)
    check(lambda x: compare(x, 0.25) if isinstance(x, Array) else x > 0.25, apart, tolerance=2**-10)


def test_gelu() -> None:
    """x P(X <= x) of the normal distribution (D. Hendrycks, K. Gimpel, arXiv 1606.08415)."""
    given = Given(uniform((4,), 2))
    error_function = np.vectorize(math.erf)
    check(
        lambda x: x.gelu() if isinstance(x, Array) else x * (1 + error_function(x / np.sqrt(2))) / 2,
        given,
        tolerance=2**-12,
    )


def test_arrays_are_iterated() -> None:
    check(lambda x: [row.sum() for row in x], Given(uniform((3, 2), 3)))
    check(lambda x: sum(x), Given(uniform((3, 2), 3)))


def test_samples_let_correlations_be() -> None:
    """Without them a variance can be 0."""
    given = Given(np.array([[0.5, -1.0, 1.5, 0.1], [0.75, 0.0, -1.75, 1.0]]))
    check(lambda x: np.corrcoef(x), given, tolerance=2**-9, samples=True)
    check(lambda x: (x - x.mean()) / x.std(), given, tolerance=2**-9, samples=True)
    with pytest.raises((ParameterError, RangeError)):
        recorded(np.corrcoef, [given])


def functions_of(program: Program, given: Given) -> list[str]:
    """The first words of the names of functions that a program takes."""
    recorder, _ = recorded(program, [given])
    operations = [node.operation for node in folded(recorder.program).nodes]
    return [each.function.name.split()[0] for each in operations if isinstance(each, Apply)]


def test_functions_are_no_deeper_than_they_have_to_be() -> None:
    real = Given(np.zeros(3))
    assert functions_of(lambda x: np.clip(x, -1, 1), real) == ["clip"]
    assert functions_of(lambda x: np.clip(x, -3, 1), real) == ["relu"]
    assert functions_of(lambda x: np.clip(x, 1, 3), real) == ["relu"]
    assert functions_of(lambda x: np.clip(x, -2, 2), real) == []
    assert functions_of(lambda x: abs(x + 3), real) == []
    assert functions_of(lambda x: np.max(x), real) == ["maximum"] * 2
    for most, name in ((1, []), (3, ["polynomial"]), (9, ["polynomial"]), (10, ["sign"])):
        counted = Given(np.zeros(3), 0, most, 1)
        assert functions_of(lambda n: n > 0, counted) == name
        assert functions_of(lambda n: n == 1, counted) == name
        assert functions_of(lambda n, most=most: n > most, counted) == []
        assert functions_of(lambda n: n.max(), counted) == (["polynomial"] if 0 < most < 5 else ["sign"])
