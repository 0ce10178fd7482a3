"""Every operation of ciphertexts and encrypted matrices, by scheme and type: as NumPy's. Pools have the
same bits (pool/test_operations.py)."""

import functools
import operator
from functools import reduce

import numpy as np
import pytest

import hemera as hm

from .conftest import DEGREE, PLAIN_MODULUS, Party

WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
OF_CKKS = [*WHOLE, "float16", "float32", "float64", "complex64", "complex128"]
KINDS = [(scheme, kind) for scheme in ("bfv", "bgv") for kind in WHOLE] + [("ckks", kind) for kind in OF_CKKS]
COEFFICIENTS = [0.5, -1.0, 0.25]
MATRIX = np.eye(8) + np.arange(64).reshape(8, 8) / 64


def padded(a):
    """All slots, in rows as rotations turn them."""
    count = 8 if a.shape[-1] <= 8 else DEGREE
    found = np.concatenate([a, np.zeros((*a.shape[:-1], count - a.shape[-1]), a.dtype)], -1)
    return found if count == 8 else found.reshape(*a.shape[:-1], 2, -1)


def slots_of(turned, a):
    """All slots of CKKS count after a rotation, of BFV and BGV as many as before."""
    return turned if a.shape[-1] <= 8 else turned.reshape(*a.shape[:-1], -1)[..., : a.shape[-1]]


class Clear:
    """The methods of an evaluator, on NumPy's arrays."""

    add, subtract, multiply, divide, negate = np.add, np.subtract, np.multiply, np.divide, np.negative
    square, conjugate, power = np.square, np.conjugate, np.power
    encode = encrypt = relinearize = rescale = mod_switch = shrink = bind = staticmethod(lambda a: a)
    at_level = declare = staticmethod(lambda a, _: a)
    add_many = staticmethod(lambda terms: reduce(np.add, terms))
    multiply_many = staticmethod(lambda factors: reduce(np.multiply, factors))
    dot = staticmethod(lambda left, right: sum(a * b for a, b in zip(left, right, strict=True)))
    sum = staticmethod(lambda a: np.broadcast_to(a.sum(-1, keepdims=True), a.shape))
    mean = staticmethod(lambda a: np.broadcast_to(a.mean(-1, keepdims=True), a.shape))
    matmul = staticmethod(lambda a, matrix: a @ matrix)
    multiply_rows = staticmethod(lambda matrix, a: np.tensordot(matrix, a, 1))
    polyval = staticmethod(lambda a, c: reduce(lambda y, own: y * a + own, c[::-1], 0 * a))
    with_slots = staticmethod(lambda a, _: np.concatenate([padded(a)] * 2, -1))
    rotate = staticmethod(lambda a, n: slots_of(np.roll(padded(a), -n, -1), a))
    swap_rows = staticmethod(lambda a: slots_of(padded(a)[..., ::-1, :], a))

    def rotate_many(self, a, steps):
        return [self.rotate(a, n) for n in steps]


ELSEWHERE = {
    *("apply", "bootstrap", "bootstraps", "capture", "context", "has_keys", "keys", "load"),
    *("multiply_matrices", "reencrypt", "rotation_plan", "transform", "transform_all"),
}
"""Circuits, and what gives no ciphertext."""
OF_ALL = [
    lambda e, x, y, b: [
        e.add(x, y),
        e.add(x, b),
        x + y,
        b + x,
        x + b[0],
        x + b[1, 2],
        x + 3,
        e.encode(b) + x,
        x + b[..., :1],
    ],
    lambda e, x, y, b: [e.subtract(x, y), e.subtract(x, b), y - x, b - x, 3 - x, x - 3, x - e.encode(b)],
    lambda e, x, y, b: [
        e.multiply(x, y),
        e.multiply(x, b),
        x * y,
        b * x,
        x * b[:, :1],
        x * e.encode(b),
        3 * x,
    ],
    lambda e, x, y, b: [
        b - x[0],
        b * x[1, 2],
        b + x[:, :1],
        e.add_many([x, y[0], x[1, 2]]),
        e.multiply_many([x[0], y, x[1, 0]]),
        e.dot([x, y[1]], [y[0], x]),
    ],
    lambda e, x, y, _: [e.negate(x), -y, e.square(x), e.power(x, 3), y**2, x**1, +y],
    lambda e, x, y, b: [
        e.dot([x, y], [y, y]),
        e.dot([x, y], [b, b[0]]),
        e.sum(x),
        e.sum(e.sum(y)),
        e.sum(x + 1),
        x.sum(axis=0),
        y.sum(axis=1),
    ],
    lambda e, x, y, _: [e.add_many([x, y, x]), e.multiply_many([x, y, x]), x[1], y[:, ::2], x[[1, 0, 1], 2]],
    lambda e, x, y, _: [
        *e.rotate_many(x, [1, -1, 2]),
        e.rotate(y, 4),
        e.at_level(x, 1),
        e.at_level(x * y, 0),
    ],
    lambda e, x, y, _: [e.shrink(x), e.rescale(x * y), e.relinearize(x * y), e.bind(y)],
]
OPERATIONS = {
    "whole": [*OF_ALL, lambda e, x, y, _: [e.swap_rows(x), e.mod_switch(x) + y]],
    "ckks": [
        *OF_ALL,
        lambda e, x, y, b: [
            e.divide(x, 4),
            y / (b + 9),
            x / 2j,
            e.mean(x),
            x.mean(axis=0),
            e.declare(x, 9.0),
        ],
        lambda e, x, y, _: [
            e.conjugate(x),
            e.conjugate(x) * y,
            e.polyval(x, COEFFICIENTS),
            e.with_slots(y, 16),
        ],
        lambda _, x, __, b: [x * 1j, x + (1 + 2j), (1j * b) * x, 1j * b - x],
        lambda e, x, _, b: [
            e.matmul(x, m := MATRIX[: b.shape[-1]]),
            x @ (1j * m),
            e.multiply_rows(MATRIX[:5, : len(b)], x),
        ],
    ],
}


def drawn(kind, shape, seed):
    """Values of a type, of both signs where it has them, which all types here hold exactly."""
    random = np.random.default_rng(seed)
    low, high = (0, 2) if kind == "bool" else (0, 5) if kind[0] == "u" else (-4, 5)
    real, imaginary = random.integers(low, high, (2, *shape))
    values = real if kind in WHOLE else real / 4 + (1j * imaginary / 4 if kind[0] == "c" else 0)
    return np.asarray(values).astype(kind)


def wide(values, party):
    """In the type of decrypted values, in which NumPy's do not wrap around."""
    return values.astype(np.int64 if party.exact else np.result_type(values.dtype, np.float64))


def check(party, found, expected, told):
    half = PLAIN_MODULUS // 2
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), told
    wanted = (expected + half) % PLAIN_MODULUS - half if party.exact else expected
    np.testing.assert_allclose(found, wanted, rtol=0, atol=0 if party.exact else 1e-3, err_msg=told)


def test_every_operation_is_here():
    assert {name for name in dir(hm.Evaluator) if name[0] != "_"} - ELSEWHERE == {
        name for name in dir(Clear) if name[0] != "_"
    }


@pytest.fixture(scope="module")
def of_contexts(parties):
    """The party of a scheme, with all keys that are needed here."""

    @functools.cache
    def get(scheme):
        ctx, own = parties(scheme).ctx, "conjugation" if scheme == "ckks" else "swap_rows"
        sk = ctx.generate_secret_key()
        keys = ctx.generate_keys(sk, rotations=range(-1, 8), sum_slots=True, **{own: True})
        return Party(scheme, ctx, sk, ctx.bind(keys))

    return get


@pytest.mark.parametrize(("scheme", "kind"), KINDS)
@pytest.mark.parametrize("part", [1, 0.7])
def test_operations_are_numpys(of_contexts, scheme, kind, part):
    party = of_contexts(scheme)
    ev = party.ev
    shape = (2, 3, int((DEGREE if party.exact else 8) * part))
    given, other = drawn(kind, shape, 1), drawn(kind, shape, 2)
    x, y, a, b = ev.encrypt(given), ev.encrypt(other), wide(given, party), wide(other, party)
    for place, operations in enumerate(OPERATIONS["whole" if party.exact else "ckks"]):
        values = zip(operations(ev, x, y, other), operations(Clear(), a, b, b), strict=True)
        for at, (found, expected) in enumerate(values):
            check(party, party.decrypt(found), expected, f"operation {at} of line {place}")
            assert found.dtype == expected.dtype


@pytest.mark.parametrize(("scheme", "kind"), KINDS)
@pytest.mark.parametrize("columns", [3, DEGREE // 2, DEGREE + 3])
def test_matrices_are_numpys(of_contexts, scheme, kind, columns):
    """Rows that lie in a part of a ciphertext, in a whole one, and in several."""
    party = of_contexts(scheme)
    ev = party.ev
    given, other = drawn(kind, (2, columns), 3), drawn(kind, (2, columns), 4)
    x, y = (hm.EncryptedMatrix.encrypt(each, ev) for each in (given, other))
    a, b = wide(given, party), wide(other, party)
    left = drawn("int8", (3, 2), 5)
    cases = [(x, a), (-x, -a), (x[1], a[1:]), (x[::-1], a[::-1])]
    for apply in (operator.add, operator.sub, operator.mul):
        cases += [(apply(x, y), apply(a, b)), (apply(x, other), apply(a, b)), (apply(other, x), apply(b, a))]
        cases += [(apply(x, other[:1]), apply(a, b[:1])), (apply(other[:, -1:], x), apply(b[:, -1:], a))]
        cases += [(apply(x, 3), apply(a, 3)), (apply(3, x), apply(3, a))]
    if not party.exact:
        cases += [(left @ x, left @ a), (x + 1j, a + 1j)]
    if not party.exact and columns == 3:
        cases += [
            (x @ MATRIX[:3, :4], a @ MATRIX[:3, :4]),
            (x @ (1j * MATRIX[:3, :2]), a @ (1j * MATRIX[:3, :2])),
        ]
    for at, (found, expected) in enumerate(cases):
        check(party, found.decrypt(party.sk), expected, f"case {at}")
        assert found.shape == expected.shape
