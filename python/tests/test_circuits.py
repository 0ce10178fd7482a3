"""Matrices times encrypted vectors, compared with NumPy."""

import numpy as np
import pytest

import hemera as hm

from .conftest import CIRCUIT_SLOTS as SLOTS


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


def test_transforms_tell_what_they_need(params):
    plan = hm.circuits.LinearTransform(np.eye(SLOTS) + np.eye(SLOTS, k=2), params)
    assert plan.rotations == [2]
    assert plan.depth == 1
    assert plan.shape == (SLOTS, SLOTS)
    assert plan.slots == SLOTS
    assert "rotations by 2" in plan.report()
    assert "2 diagonals" in plan.report()
    assert plan.key_bytes > 0
    assert plan.plaintext_bytes > 0
    assert plan.workspace_bytes > 0
    assert plan.result_level == plan.level - 1
    np.testing.assert_allclose([plan.scale, plan.result_scale], 2.0**40, rtol=1e-3)
    (key,) = plan.needed_keys
    assert (key.power, key.galois_element, len(key.primes)) == (1, 25, params.levels + 1)
    assert len(key.special_primes) > 0
    assert f"Galois element 25, {params.levels + 1} + " in repr(key)
    mean, worst = plan.expected_error()
    assert plan.expected_error(0)[0] < mean <= worst < plan.expected_error(1e-3)[1]
    assert "expected noise" in plan.report()
    assert isinstance(plan, hm.circuits.Plan)
    assert plan.operations["plain_products"] == 2
    (told,) = plan.as_dict()["keys"]
    assert (told["kind"], told["rotation"], told["bytes"]) == ("rotation", 2, plan.key_bytes)
    clear = plan.evaluate_clear(np.ones((3, SLOTS)))
    noise = plan.simulate(np.ones((3, SLOTS)), seed=1) - clear
    np.testing.assert_array_equal(plan.simulate(np.ones((3, SLOTS)), seed=1) - clear, noise)


PLANS = {
    "transform": lambda params: hm.circuits.LinearTransform(matrix_of(SLOTS, SLOTS), params),
    "diagonals": lambda params: hm.circuits.LinearTransform(np.eye(SLOTS), params),
    "polynomial": lambda params: hm.circuits.Polynomial(np.arange(1, 9), basis="chebyshev").plan(params),
    "formula": lambda params: hm.circuits.function(lambda x: x * x - x, [(-1, 1)]).plan(params, slots=SLOTS),
    "sum": lambda params: hm.circuits.InnerSum(params, slots=SLOTS, count=8, level=3),
}


@pytest.mark.parametrize("name", PLANS)
def test_simulated_noise_has_the_expected_size(params, name):
    """The root of the mean square of complex numbers, of which each part has a half."""
    plan, ones = PLANS[name](params), np.ones((100, SLOTS))
    noise = plan.simulate(ones, seed=1) - plan.evaluate_clear(ones)
    for part in (noise.real, noise.imag):
        assert np.sqrt((part**2).mean()) == pytest.approx(plan.expected_error()[0] / np.sqrt(2), rel=0.05)


def test_what_does_not_fit_is_refused(client, params):
    ctx, sk = client
    plan = hm.circuits.LinearTransform(matrix_of(SLOTS, SLOTS), params)
    ev = ctx.bind(ctx.generate_keys(sk))
    e = ev.encrypt(np.ones(SLOTS))
    with pytest.raises(hm.errors.MissingKeyError, match="rotation by"):
        plan(e)
    with pytest.raises(hm.errors.MismatchError, match="slots"):
        plan(ev.encrypt(np.ones(2 * SLOTS)))
    with pytest.raises(TypeError, match="two axes"):
        e @ np.ones((2, SLOTS, 2))
    with pytest.raises(hm.errors.ParameterError, match="two axes"):
        hm.circuits.LinearTransform(np.ones(3), params)
    with pytest.raises(hm.errors.ParameterError, match="zero"):
        hm.circuits.LinearTransform(np.zeros((2, 2)), params)
    with pytest.raises(hm.errors.ParameterError, match="columns"):
        plan.evaluate_clear(np.ones(3))
    with pytest.raises(hm.errors.LevelError):
        hm.circuits.LinearTransform(np.eye(2), params, level=0)
    integers = hm.bfv.Parameters.for_circuit(depth=1, security=None, degree=1024)
    with pytest.raises(hm.errors.MismatchError, match="CKKS"):
        hm.circuits.LinearTransform(np.eye(2), integers)
