"""What objects keep of a call is not the next one's: any call after any other one has NumPy's values."""

import numpy as np
import pytest

import hemera as hm
import hemera.compat.tenseal as ts
from hemera import serving
from hemera.compat.orion import Backend
from hemera.program.operations import Encoded
from hemera.search import Client, Index

SLOTS = 8
RANDOM = np.random.default_rng(11)
VALUES, OTHERS = RANDOM.uniform(-1, 1, (2, SLOTS))
MATRIX = RANDOM.uniform(-1, 1, (SLOTS, SLOTS))
ROWS = RANDOM.integers(-9, 9, (20, SLOTS)).astype(np.int8)


class Side:
    """A context with a secret key and keys."""

    def __init__(self, context):
        self.context, self.secret = context, context.generate_secret_key()
        keys = context.generate_keys(self.secret, rotations=range(1, SLOTS), sum_slots=True)
        self.ev = context.bind(keys)

    def x(self, values, **told):
        return self.ev.bind(self.context.encrypt(self.context.encode(values, **told), self.secret))

    def uses(self, apply, clear, kinds):
        """Uses of values that differ in a level, a scale, slots, filled ones, a type, a shape."""
        every = {
            "usual": (VALUES, {}),
            "level": (VALUES, {"level": 2}),
            "scale": (VALUES, {"level": 2, "scale": 2.0**38}),
            "slots": (VALUES[:4], {}),
            "filled": (VALUES[:5], {}),
            "more": (VALUES[:6], {}),
            "type": (VALUES * 1j, {}),
            "shape": (np.stack([VALUES, OTHERS]), {}),
        }

        def use(values, told):
            def called(owner):
                y = apply(owner, self, self.x(values, **told))
                return self.context.decrypt(y, self.secret), clear(values), y.level

            return called

        return [use(*every[kind]) for kind in kinds.split()]


def sides():
    """Two of one context, one of another context, one of other parameters."""
    params = [hm.ckks.Parameters.for_circuit(n, slots=SLOTS, degree=1024, security=None) for n in (3, 4)]
    one, same, more = (hm.Context(own, "cpu", threads=1) for own in (params[0], *params))
    return [Side(one), Side(one), Side(same), Side(more)]


SIDES = sides()
PARAMS = SIDES[0].context.params


def on(apply, clear, kinds, count=3):
    return [
        use
        for at, side in enumerate(SIDES[:count])
        for use in side.uses(apply, clear, "usual" if at else kinds)
    ]


def of_tenseal(matrix, scale, squares):
    def use(context):
        context.global_scale = 2**scale
        x, clear = ts.ckks_vector(context, VALUES[: len(matrix)].tolist()), VALUES[: len(matrix)]
        for _ in range(squares):
            x, clear = x * x, clear * clear
        return np.array(x.mm(matrix.tolist()).decrypt()), clear @ matrix

    return use


def tenseal():
    context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [60, 40, 40, 60], n_threads=1)
    context.generate_galois_keys()
    return context


def of_orion(level, other):
    """Everything that takes keys: rotations, products, transforms, polynomials, bootstraps."""

    def use(backend):
        if backend._secret is None or other:
            backend.GenerateSecretKey()
            backend.GeneratePublicKey()
            backend.GenerateRelinearizationKey()
            backend.NewEvaluator()
        backend.NewBootstrapper([61, 61], 64)
        values = np.tile(OTHERS, 128)
        x = backend.Encrypt(backend.Encode(values.tolist(), level, 2**40))
        few = backend.Encrypt(backend.Encode(values[:64].tolist(), level, 2**40))
        matrix = backend.GenerateLinearTransform([0, 5], np.tile(VALUES, 256), level, 1.0, "none")
        for element in backend.GetLinearTransformRotationKeys(matrix):
            backend.GenerateLinearTransformRotationKey(element)
        found = [
            backend.RotateNew(x, 3),
            backend.MulRelinCiphertextNew(x, x),
            backend.EvaluateLinearTransform(matrix, x),
            backend.Bootstrap(few, 64),
            backend.AddPlaintextNew(x, plain := backend.Encode(values.tolist(), level, 2**40)),
        ]
        backend.SetPlaintextScale(plain, 2**41)
        found.append(backend.AddPlaintextNew(x, plain))
        own = np.tile(VALUES, 128) * (values + np.roll(values, -5))
        clear = [np.roll(values, -3), values**2, own, values, 2 * values, 1.5 * values]
        return np.array([backend.Decode(backend.Decrypt(y)) for y in found]), np.array(clear)

    return use


def orion():
    sizes = {"log_primes": [55, 40, 40], "log_special": [61, 61], "log_scale": 40}
    return Backend(log_degree=11, bootstraps=True, device="cpu", security=None, **sizes)


def of_index(client, change):
    def use(index):
        if change is not None:
            change(index)
        own = CLIENTS[client]
        scores, ids = own.decrypt(index.query(own.query(ROWS[3]), own.keys))
        rows = {int(at): ROWS[at if at < 20 else (at - 20) % 3] for at in index.ids}
        return scores, [rows[at].astype(int) @ ROWS[3].astype(int) for at in ids.tolist()]

    return use


def index():
    return Index(ROWS, "dot", exact=True)


CLIENTS = [Client(index().settings) for _ in range(2)]
POLYNOMIAL = [0.5, -1.0, 0.0, 0.25]
PACKAGE = serving.export(
    lambda x: x @ MATRIX * 0.5 + OTHERS, inputs=SLOTS, name="m", params=PARAMS, security=None
)
OWNERS = {
    "polynomial": (
        lambda: hm.circuits.Polynomial(POLYNOMIAL),
        on(
            lambda p, _, x: p(x),
            np.polynomial.Polynomial(POLYNOMIAL),
            "usual level slots filled more type shape",
            4,
        ),
    ),
    "transform": (
        lambda: hm.circuits.LinearTransform(MATRIX, PARAMS, slots=SLOTS, level=2),
        on(lambda t, _, x: t(x), lambda a: a @ MATRIX.T, "usual level type shape"),
    ),
    "context": (
        lambda: None,
        on(
            lambda _, __, x: 0.3 - x * 0.7,
            lambda a: 0.3 - a * 0.7,
            "usual level scale slots filled more type shape",
            4,
        )
        + on(lambda _, __, x: x * 0.3j + 0.7j, lambda a: a * 0.3j + 0.7j, "usual level scale filled more", 4),
    ),
    "encoded": (
        lambda: (Encoded(VALUES, product=True), Encoded(OTHERS, product=False)),
        on(
            lambda two, side, x: (x * two[0].for_operand(side.ev, x)) + two[0].for_operand(side.ev, x),
            lambda a: a * VALUES + VALUES,
            "usual level type shape",
            2,
        ),
    ),
    "model": (
        lambda: PACKAGE.prepare(SIDES[0].context),
        on(lambda m, s, x: m.run(s.ev, [x])[0], lambda a: a @ MATRIX * 0.5 + OTHERS, "usual shape type", 2),
    ),
    "matrices of TenSEAL": (
        tenseal,
        [
            *(
                of_tenseal(MATRIX[:3].reshape(8, 3), scale, squares)
                for scale, squares in ((40, 0), (38, 0), (40, 1))
            ),
            *(of_tenseal(matrix, 40, 0) for matrix in (MATRIX[:3].reshape(6, 4), -MATRIX[:3].reshape(8, 3))),
        ],
    ),
    "backend of Orion": (orion, [of_orion(2, False), of_orion(2, True), of_orion(1, True)]),
    "index": (
        index,
        [
            *(of_index(client, None) for client in (0, 1)),
            of_index(0, lambda own: own.add(ROWS[:3])),
            of_index(1, lambda own: own.remove(own.ids[:2])),
        ],
    ),
}


@pytest.mark.parametrize("name", OWNERS)
def test_any_call_after_any_other(name):
    make, uses = OWNERS[name]
    known = {}
    for first in uses:
        for second in uses:
            owner = make()
            for use in (first, second, first):
                found, expected, *told = use(owner)
                assert known.setdefault(use, told) == told
                np.testing.assert_allclose(found, expected, atol=2e-3)
