"""What circuits with plans refuse, when they are planned and when they are called."""

import numpy as np

import hemera as hm
from hemera import circuits
from hemera.circuits import LinearTransform, TransformGrid
from hemera.errors import LevelError, MismatchError, MissingKeyError, ParameterError

from .conftest import CIRCUIT_SLOTS as SLOTS
from .refusals import raises, refuse
from .test_plans import BFV, COPY, SUM, block, random

ONES = np.ones(SLOTS, dtype=bool)


def test_transforms(params, ev):
    plan, e = LinearTransform(random(SLOTS, SLOTS), params), ev.encrypt(np.ones(SLOTS))
    refuse(
        (lambda: plan(e), MissingKeyError, "rotation by"),
        (lambda: plan(ev.encrypt(np.ones(2 * SLOTS))), MismatchError, "slots"),
        (lambda: e @ np.ones((2, SLOTS, 2)), TypeError, "two axes"),
        (lambda: plan.evaluate_clear(np.ones(3)), ParameterError, "columns"),
        (lambda: LinearTransform(np.ones(3), params), ParameterError, "two axes"),
        (lambda: LinearTransform(np.zeros((2, 2)), params), ParameterError, "zero"),
        (lambda: LinearTransform(np.eye(2), params, level=0), LevelError, None),
        (lambda: LinearTransform(np.ones((4, 64)), params, wrapped=True, level=0), LevelError, None),
        (lambda: LinearTransform(np.zeros((4, 64)), params, wrapped=True), ParameterError, "zero"),
    )
    for shape in ((4, 1024), (1024, 4), (0, 4), (4, 0)):
        raises(ParameterError, "", LinearTransform, np.ones(shape), params, wrapped=True)


def test_integers_have_no_such_plans():
    refuse(
        (lambda: LinearTransform(np.eye(2), BFV), MismatchError, "CKKS"),
        (lambda: SUM(BFV, SLOTS, 4), MismatchError, "CKKS"),
        (lambda: circuits.MatrixProduct(BFV, 4), MismatchError, "CKKS"),
        (lambda: circuits.MatrixVectorProduct(BFV, 4, 4), MismatchError, "CKKS"),
        (lambda: circuits.PlainMatrixProduct(random(2, 2), BFV), MismatchError, "integers"),
    )


def test_sums_copies_and_masks(params, ev):
    x = ev.encrypt(np.ones(SLOTS))
    refuse(
        (lambda: SUM(params, SLOTS, 12), ParameterError, "powers of two"),
        (lambda: SUM(params, SLOTS, 16, stride=4), ParameterError, "at most the number of slots"),
        (lambda: SUM(params, SLOTS, 4).evaluate_clear(np.ones(3)), ParameterError, "last axis"),
        (lambda: SUM(params, SLOTS, 4)(x), MissingKeyError, "rotation by 1"),
        (lambda: SUM(params, 8, 4)(x), MismatchError, "8 slots"),
        (lambda: SUM(params, SLOTS, 4)(np.ones(SLOTS)), TypeError, "takes a ciphertext"),
        (lambda: COPY(params, SLOTS, 4, position=4), ParameterError, "counted from 0"),
        (lambda: COPY(params, SLOTS, 4, position=-1), ParameterError, "position"),
        (lambda: circuits.Mask(np.ones(SLOTS), params), ParameterError, "booleans"),
        (lambda: circuits.Mask(ONES, params, level=0), LevelError, "depth 1"),
        (lambda: circuits.Mask(ONES, params)(x.at_level(5)), LevelError, "made for level 6"),
    )


def test_encrypted_matrices(params, ev):
    product = circuits.MatrixVectorProduct(params, 4, 8)
    m, x = ev.encrypt(product.pack(random(4, 8))), ev.encrypt(random(8))
    square = circuits.MatrixProduct(params, 4)
    refuse(
        (lambda: product.pack(random(8, 4)), ParameterError, "is planned"),
        (lambda: product(x, x), MismatchError, "pack"),
        (lambda: product(m, ev.encrypt(random(4))), MismatchError, "vectors of 8 slots"),
        (lambda: product(m, x), MissingKeyError, None),
        (lambda: product(m, x.at_level(5)), LevelError, "planned for level 6"),
        (lambda: product.evaluate_clear(random(4, 8), random(7)), ParameterError, "axis"),
        (lambda: product(product.pack(random(4, 8)), x), TypeError, "takes ciphertexts"),
        (lambda: product(m, random(8)), TypeError, "takes a ciphertext"),
        (lambda: square.pack(random(4, 5), "left"), ParameterError, "do not fit 4 x 4"),
        (lambda: square.pack(random(4, 4), "top"), ParameterError, "side"),
        (lambda: square.evaluate_clear(random(2, 4, 4), random(4, 4)), ParameterError, "two axes"),
        (lambda: square(x, x), MismatchError, "16 slots"),
        (lambda: circuits.MatrixProduct(params, 3), ParameterError, "power of two"),
        (lambda: circuits.MatrixProduct(params, 4, level=2), LevelError, "depth 3"),
    )


def test_pairs_of_matrices(client, params):
    ctx, sk = client
    product = circuits.MatrixBatchProduct(params, 4)
    ev = ctx.bind(ctx.generate_keys(sk, plan=product))
    x, other = ev.encrypt(product.pack(random(1, 4, 4), "left")), ctx.bind(ctx.generate_keys(sk))
    refuse(
        (lambda: circuits.MatrixBatchProduct(params, 12), ParameterError, "power of two"),
        (lambda: product.pack(random(4, 4), "left"), ParameterError, "pairs, rows and columns"),
        (lambda: product.pack(random(129, 4, 4), "left"), ParameterError, "pairs, rows and columns"),
        (lambda: product.pack(random(1, 5, 4), "left"), ParameterError, "pairs, rows and columns"),
        (lambda: product.pack(random(1, 4, 4), "top"), ParameterError, "'left' or 'right'"),
        (lambda: product.unpack(random(4, 3)), ParameterError, "values"),
        (lambda: product(x, x[:2]), MismatchError, "encrypt what pack makes"),
        (lambda: product(other.bind(x), other.bind(x)), MissingKeyError, None),
    )
    assert product.pairs == 128


def test_rows(params, ev):
    x, layer = hm.EncryptedMatrix.encrypt(random(3, 5), ev), circuits.PlainMatrixProduct(random(2, 3), params)
    plan = circuits.PlainMatrixProduct
    refuse(
        (lambda: layer(ev.encrypt(random(4, SLOTS))), MismatchError, "first axis"),
        (lambda: layer(ev.encrypt(random(SLOTS))), MismatchError, "first axis"),
        (lambda: layer.evaluate_clear(random(4, 2)), MismatchError, "first axis"),
        (lambda: plan(np.ones((2, 2), complex), params), TypeError, "complex128"),
        (lambda: plan([1.0, 2.0], params), MismatchError, "two axes"),
        (lambda: plan(random(2, 2), params, bits=12), ParameterError, "8 or 16"),
        (lambda: plan([[np.nan]], params), ParameterError, "not finite"),
        (lambda: plan(random(2, 2), params, level=0), LevelError, "more depth"),
        (lambda: hm.EncryptedMatrix.encrypt(random(3), ev), MismatchError, "two axes"),
        (lambda: x + random(3, 4), MismatchError, "broadcast"),
        (lambda: x @ random(4, 4), MismatchError, "needs 5 rows"),
        (lambda: x @ x, TypeError, "MatrixProduct"),
        (lambda: x + ev.encrypt(random(5)), TypeError, "encrypted matrices"),
        (lambda: x[0, 1], IndexError, None),
        (lambda: x[5], IndexError, None),
        (lambda: x.T, AttributeError, "encrypt the transposed"),
        (lambda: np.sum(x), TypeError, "decrypt"),
    )


def test_packed_rows(client, params):
    ctx, sk = client
    plan = circuits.PackedRowsProduct
    layer = plan(random(20, 20), params, 32)
    ev, other = (ctx.bind(ctx.generate_keys(sk, plan=each)) for each in (layer, []))
    x = ev.encrypt(layer.pack(random(20, 32)))
    refuse(
        (lambda: plan(random(2, 2), params, 0), ParameterError, "vectors"),
        (lambda: plan(random(2, 2), params, params.max_slots // 2 + 1), ParameterError, "vectors"),
        (lambda: plan(np.ones((2, 2), complex), params, 32), TypeError, "real"),
        (lambda: plan(random(2, 2), params, 32, bits=12), ParameterError, "bits"),
        (lambda: plan(random(2, 2), params, 32, level=0), LevelError, None),
        (lambda: layer.pack(random(20, 31)), MismatchError, "vectors"),
        (lambda: layer.pack(random(20)), MismatchError, "vectors"),
        (lambda: layer.pack(random(0, 32)), MismatchError, "vectors"),
        (lambda: layer.unpack(np.ones((3, 5))), ParameterError, "values"),
        (lambda: layer.evaluate_clear(random(20, 31)), MismatchError, "multiplies"),
        (lambda: layer(x[:1]), MismatchError, "encrypt what pack makes"),
        (lambda: layer(other.bind(x)), MissingKeyError, None),
    )


def test_periodic_transforms(client, params):
    ctx, sk = client
    plan, small = circuits.PeriodicTransform, random(4, 4)
    layer = plan(random(16, 32), params, 16)
    ev, other = (ctx.bind(ctx.generate_keys(sk, plan=each)) for each in (layer, []))
    x = ev.encrypt(layer.pack(random(layer.vectors, 32)))
    for period in (0, 1, 12, params.max_slots):
        raises(ParameterError, r"power of two from 2 to 256", plan, small, params, period)
    refuse(
        (lambda: plan(np.zeros((4, 4)), params, 4), ParameterError, "weight"),
        (lambda: plan(np.full((4, 4), np.nan), params, 4), ParameterError, "weight"),
        (lambda: plan(1e80 * small, params, 4).prepare(hm.Context(params)), ParameterError, "does not fit"),
        (lambda: plan(small, params, 16, baby_steps=32), ParameterError, "baby_steps is 32"),
        (lambda: plan(random(4), params, 4), MismatchError, "two axes"),
        (lambda: plan(small, params, 4, level=0), LevelError, "periodic transform of depth 1"),
        (lambda: layer(x[:1]), MismatchError, r"batch of shape \(2,\)"),
        (lambda: layer(x.at_level(layer.level - 1)), LevelError, "below the plan's"),
        (lambda: layer(other.bind(x)), MissingKeyError, None),
        (lambda: layer.pack(random(3, 16)), MismatchError, "vectors"),
        (lambda: layer.unpack(np.zeros((2, params.max_slots)), 40), MismatchError, "no 40 entries"),
        (lambda: layer.evaluate_clear(random(3, 5)), MismatchError, "multiplies vectors of 32"),
    )


def test_grids(client, params):
    ctx, sk = client
    a, zeros = block(0, 1), {0: np.zeros(SLOTS)}
    for wrong in ([], [[]], [[a], [a, a]], [[a], [None]], [[a, None], [a, None]], [[zeros]]):
        raises(ParameterError, "", TransformGrid, wrong, params, slots=SLOTS)
    grid = TransformGrid([[a, a]], params, slots=SLOTS)
    ev, secret = ctx.bind(ctx.generate_keys(sk, plan=grid)), ctx.encrypt(random(SLOTS), sk)
    x = ev.encrypt(random(SLOTS))
    own = LinearTransform.from_diagonals(a, params, slots=SLOTS)
    same = {1: 1.0, 1 - SLOTS: 2.0}
    refuse(
        (lambda: TransformGrid([[{0: np.ones(3)}]], params, slots=SLOTS), ParameterError, "has shape"),
        (lambda: TransformGrid([[{SLOTS: 1.0}]], params, slots=SLOTS), ParameterError, "no diagonal"),
        (lambda: TransformGrid([[a]], params, slots=SLOTS, level=99), LevelError, None),
        (lambda: TransformGrid([[same]], params, slots=SLOTS), ParameterError, "are the same"),
        (lambda: grid(x), MismatchError, "takes 2"),
        (lambda: grid(), MismatchError, "takes 2"),
        (lambda: grid(x, ev.encrypt(random(2, SLOTS))), MismatchError, "different shapes"),
        (lambda: grid(secret, secret), MissingKeyError, None),
        (lambda: grid(1, 2), TypeError, "takes ciphertexts"),
        (lambda: ev.transform_all(own, x), TypeError, "TransformGrid"),
        (lambda: grid.evaluate_clear(random(SLOTS)), ParameterError, None),
        (lambda: grid.evaluate_clear(random(SLOTS), random(3)), ParameterError, None),
        (lambda: grid.evaluate_clear(random(SLOTS), random(2, SLOTS)), ParameterError, None),
    )
