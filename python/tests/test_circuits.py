"""Matrices times encrypted vectors, compared with NumPy."""

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, MismatchError, MissingKeyError, ParameterError

from .conftest import CIRCUIT_SLOTS as SLOTS
from .refusals import refuse


def matrix_of(rows, columns, seed=1):
    generator = np.random.default_rng(seed)
    return generator.uniform(-1, 1, (rows, columns)) + 1j * generator.uniform(-1, 1, (rows, columns))


@pytest.mark.parametrize("shape", [(SLOTS, SLOTS), (5, SLOTS), (SLOTS, 3), (1, 1)])
@pytest.mark.parametrize("fewest_keys", [False, True])
def test_a_transform_is_the_product_of_the_matrix(client, params, shape, fewest_keys):
    ctx, sk = client
    matrix = matrix_of(*shape)
    transform = hm.circuits.LinearTransform(matrix, params, slots=SLOTS, fewest_keys=fewest_keys)
    ev = ctx.bind(ctx.generate_keys(sk, plan=transform))
    x = np.zeros((2, SLOTS))
    x[:, : shape[1]] = np.random.default_rng(2).uniform(-1, 1, (2, shape[1]))
    y = transform(ev.encrypt(x))
    expected = x[:, : shape[1]] @ matrix.T
    found = ctx.decrypt(y, sk, dtype=complex)
    assert found.shape == (2, shape[0])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(transform.evaluate_clear(x[:, : shape[1]]), expected, atol=1e-12)
    assert y.level == transform.level - transform.depth


def test_matmul_works_from_both_sides(client):
    ctx, sk = client
    matrix = matrix_of(SLOTS, 4).real
    ev = ctx.bind(ctx.generate_keys(sk, rotations=range(1, SLOTS)))
    x = np.random.default_rng(3).uniform(-1, 1, SLOTS)
    e = ev.encrypt(x)
    np.testing.assert_allclose(ctx.decrypt(e @ matrix, sk), x @ matrix, atol=1e-5)
    np.testing.assert_allclose(ctx.decrypt(matrix.T @ e, sk), matrix.T @ x, atol=1e-5)


def test_what_does_not_fit_is_refused(client, params):
    ctx, sk = client
    plan = hm.circuits.LinearTransform(matrix_of(SLOTS, SLOTS), params)
    ev = ctx.bind(ctx.generate_keys(sk))
    e = ev.encrypt(np.ones(SLOTS))
    refuse(
        (lambda: plan(e), MissingKeyError, "rotation by"),
        (lambda: plan(ev.encrypt(np.ones(2 * SLOTS))), MismatchError, "slots"),
        (lambda: e @ np.ones((2, SLOTS, 2)), TypeError, "two axes"),
        (lambda: hm.circuits.LinearTransform(np.ones(3), params), ParameterError, "two axes"),
        (lambda: hm.circuits.LinearTransform(np.zeros((2, 2)), params), ParameterError, "zero"),
        (lambda: plan.evaluate_clear(np.ones(3)), ParameterError, "columns"),
        (lambda: hm.circuits.LinearTransform(np.eye(2), params, level=0), LevelError, None),
    )
    integers = hm.bfv.Parameters.for_circuit(depth=1, security=None, degree=1024)
    with pytest.raises(MismatchError, match="CKKS"):
        hm.circuits.LinearTransform(np.eye(2), integers)
