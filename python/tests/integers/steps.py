"""Random chains of operations on encrypted integers, with NumPy's beside them."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import hemera as hm

Step = tuple[Callable[..., Any], Callable[..., Any]]
"""A function of NumPy's arrays, and the same of encrypted ones."""


def _left(a, b):
    return (a << (b.astype(np.uint8) & 31)).astype(a.dtype)


def _right(a, b):
    return (a >> (b.astype(np.uint8) & 31)).astype(a.dtype)


BINARY = [
    (f, f)
    for f in (
        operator.add,
        operator.sub,
        operator.mul,
        operator.and_,
        operator.or_,
        operator.xor,
        _left,
        _right,
        np.minimum,
        np.maximum,
        lambda a, b: np.where(a < b, b, a - b),
        lambda a, b: np.where((a == b) | (a > b), a, ~b),
        lambda a, b: np.where(a >= b, 1, a * 0),
        lambda a, b: np.concatenate([b[7:], a[:7]]),
        lambda a, b: a + b[5],
        lambda a, b: a - b.sum(dtype=a.dtype),
    )
] + [(lambda a, b: a - b, lambda a, b: hm.integers.overflowing_sub(a, b)[0])]
UNARY = [
    (f, f)
    for f in (lambda x: x << 3, lambda x: x >> 5, abs, operator.invert, operator.neg, lambda x: x[::-1])
] + [
    (lambda x: x.astype("u1").astype(x.dtype), lambda x: x.astype("u1").astype(x.dtype)),
    (lambda x: np.arange(255, -1, -1)[x.astype("u1")].astype(x.dtype), lambda x: _turned(x)),
]
FURTHER = [
    (lambda x: x // 7, lambda x: x // 7),
    (lambda x: x % 10, lambda x: x % 10),
    (lambda x: x * x, lambda x: x * x),
    (lambda x: x + x, lambda x: x + x),
    (lambda x: x & 12, lambda x: x & 12),
]
"""Steps of one operand."""
RELOADED = (lambda x: x, lambda x: x.context.load(bytes(x)))


def _turned(x):
    return hm.integers.Table(np.arange(255, -1, -1, dtype=np.uint8))[x.astype(np.uint8)].astype(x.dtype)


def step_of(rng, binary, unary):
    """A random operation: its name, the functions and the numbers of its operands among three."""
    chosen = int(rng.integers(len(binary) + len(unary)))
    operands = rng.integers(0, 3, 2).tolist()
    if chosen < len(unary):
        return f"unary {chosen}", unary[chosen], operands[:1]
    return f"binary {chosen - len(unary)}", binary[chosen - len(unary)], operands
