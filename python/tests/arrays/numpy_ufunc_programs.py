"""Programs of NumPy's functions of single elements, and of methods of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from hemera.arrays.array import Array

from .numpy_programs import counting, flat, matrix
from .programs import Program

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
    np.maximum: [
        lambda x: np.maximum(x, 0),
        lambda x: np.maximum(1.5, x),
        lambda x: np.maximum(x, x[::-1]),
        lambda x: np.maximum.accumulate(flat(x)),
    ],
    np.minimum: [
        lambda x: np.minimum(x, 0.5),
        lambda x: np.minimum(x, x[::-1]),
        lambda x: np.minimum.accumulate(np.stack([x, -x, x / 2])),
    ],
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
    "cumprod": [lambda x: x.cumprod(), lambda x: x.cumprod(axis=-1)],
    "cumsum": [lambda x: x.cumsum(), lambda x: x.cumsum(axis=-1)],
    "trace": [lambda x: x[None].trace(0, 0, -1)],
    "dot": [lambda x: x.dot(np.ones(x.shape[-1])), lambda x: flat(x).dot(flat(x))],
    "power": [lambda x: x.power(3) if isinstance(x, Array) else x**3],
    "square": [lambda x: x.square() if isinstance(x, Array) else x**2],
    "shape": [lambda x: np.array(x.shape)],
    "ndim": [lambda x: np.array(x.ndim)],
    "size": [lambda x: np.array(x.size)],
    "flat": [
        lambda x: sum(each for each in x.flat),
        lambda x: np.array([x.flat[0]]) if isinstance(x, np.ndarray) else x.flat[:1],
    ],
    "real": [lambda x: x.real],
    "dtype": [lambda x: np.array(x.dtype == np.float64)],
}
COUNTED_METHODS: dict[str, list[Program]] = {
    "max": [lambda x: x.max(-1), lambda x: x.max()],
    "min": [lambda x: x.min(axis=0, keepdims=True)],
    "argmax": [lambda x: x.argmax(-1), lambda x: x.argmax()],
    "argmin": [lambda x: x.argmin(0, keepdims=True)],
    "argsort": [lambda x: x.argsort() if isinstance(x, Array) else x.argsort(kind="stable")],
    "all": [lambda x: (x > 1).all(-1)],
    "astype": [lambda x: x.astype(int), lambda x: (x > 1).astype(float), lambda x: x.astype(bool)],
    "any": [lambda x: (x > 7).any()],
}
