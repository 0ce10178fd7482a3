"""Matrices in the clear times encrypted matrices whose rows are ciphertexts, compared with NumPy."""

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, MismatchError, ParameterError, RangeError

from .conftest import CIRCUIT_SLOTS as SLOTS
from .refusals import refuse


def random(*shape, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


@pytest.fixture
def ev(client):
    ctx, sk = client
    return ctx.bind(ctx.generate_keys(sk, relinearization=False))


@pytest.mark.parametrize(("bits", "tolerance"), [(8, 0.1), (16, 4e-4)])
@pytest.mark.parametrize("shape", [(8, 8), (3, 20), (20, 3), (1, 16), (16, 1)])
def test_plans_multiply_rows(client, params, ev, shape, bits, tolerance):
    ctx, sk = client
    weights = random(*shape)
    layer = hm.circuits.PlainMatrixProduct(weights, params, bits=bits)
    assert (layer.shape, layer.bits, layer.depth, layer.needed_keys) == (shape, bits, 1, [])
    assert layer.weight_bytes == weights.size * bits // 8
    assert np.abs(layer.integers).max() <= 2 ** (bits - 1) - 1
    assert np.abs(layer.integers).max() > 2 ** (bits - 1) - 3
    x = random(shape[1], SLOTS, seed=2)
    y = layer(ev.encrypt(x))
    assert (y.shape, y.level) == ((shape[0],), layer.result_level)
    found = ctx.decrypt(y, sk)
    np.testing.assert_allclose(found, weights @ x, atol=tolerance)
    # The rounded weights' product, to the precision of the scheme.
    np.testing.assert_allclose(found, layer.evaluate_clear(x).real, atol=1e-5)
    mean, worst = layer.expected_error()
    measured = np.sqrt(((found - weights @ x) ** 2).mean())
    assert mean / 4 < measured < mean <= worst


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.bool_, np.uint16])
def test_integers_of_16_bits_take_no_level(client, ev, kind):
    ctx, sk = client
    weights = (
        np.array([[1, 0, 1], [0, 1, 1]]).astype(kind)
        if kind is np.bool_
        else (np.array([[1, 0, 127], [3, 2, 100]], dtype=kind))
    )
    x = random(3, SLOTS)
    before = ev.encrypt(x)
    y = ev.multiply_rows(weights, before)
    assert (y.level, y.scale) == (before.level, before.scale)
    wanted = weights.astype(float) @ x
    np.testing.assert_allclose(ctx.decrypt(y, sk), wanted, atol=1e-5)
    assert y.largest >= np.abs(wanted).max()
    # Before its rescale, too.
    full = ctx.bind(ctx.generate_keys(sk))
    square = full.bind(before) ** 2
    np.testing.assert_allclose(
        ctx.decrypt(ev.multiply_rows(weights, square), sk), weights.astype(float) @ x**2, atol=1e-4
    )


@pytest.mark.parametrize("scheme", [hm.bfv, hm.bgv])
def test_integers_are_exact(scheme):
    params = scheme.Parameters.for_circuit(depth=2, slots=8)
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk))
    generator = np.random.default_rng(5)
    t = params.plain_modulus
    for low, high in ((-128, 128), (-32768, 32768)):
        w = generator.integers(low, high, (3, 6))
        a = generator.integers(0, t, (6, 8))
        y = w @ hm.EncryptedMatrix.encrypt(a, ev)
        expected = (w.astype(object) @ a.astype(object)) % t
        assert (y.decrypt(sk, dtype=np.uint64) == expected.astype(np.uint64)).all()
        assert y.level == ev.encrypt(a).level
        assert y.ciphertexts.guaranteed_noise_budget > 0
    x = hm.EncryptedMatrix.encrypt(a, ev)
    refuse(
        (lambda: np.array([[40000] * 6]) @ x, RangeError, "16 bits"),
        (lambda: np.ones((2, 6)) @ x, TypeError, "integers"),
        (lambda: np.ones(6, int) @ x, MismatchError, "two axes"),
    )


def test_what_does_not_fit_is_refused(params, ev):
    x = hm.EncryptedMatrix.encrypt(random(3, 5), ev)
    layer = hm.circuits.PlainMatrixProduct(random(2, 3), params)
    refuse(
        (lambda: layer(ev.encrypt(random(4, SLOTS))), MismatchError, "first axis"),
        (lambda: layer(ev.encrypt(random(SLOTS))), MismatchError, "first axis"),
        (lambda: layer.evaluate_clear(random(4, 2)), MismatchError, "first axis"),
        (lambda: hm.circuits.PlainMatrixProduct(np.ones((2, 2), complex), params), TypeError, "complex128"),
        (lambda: hm.circuits.PlainMatrixProduct([1.0, 2.0], params), MismatchError, "two axes"),
        (lambda: hm.circuits.PlainMatrixProduct(random(2, 2), params, bits=12), ParameterError, "8 or 16"),
        (lambda: hm.circuits.PlainMatrixProduct([[np.nan]], params), ParameterError, "not finite"),
        (lambda: hm.circuits.PlainMatrixProduct(random(2, 2), params, level=0), LevelError, "more depth"),
    )
    bfv = hm.bfv.Parameters.for_circuit(depth=1, slots=8)
    refuse(
        (lambda: hm.circuits.PlainMatrixProduct(random(2, 2), bfv), MismatchError, "integers"),
        (lambda: hm.EncryptedMatrix.encrypt(random(3), ev), MismatchError, "two axes"),
        (lambda: x + hm.EncryptedMatrix.encrypt(random(3, 4), ev), MismatchError, "do not fit"),
        (lambda: x + random(3, 4), MismatchError, "broadcast"),
        (lambda: x @ random(4, 4), MismatchError, "needs 5 rows"),
        (lambda: x @ x, TypeError, "MatrixProduct"),
        (lambda: x + ev.encrypt(random(5)), TypeError, "encrypted matrices"),
        (lambda: x[0, 1], IndexError, None),
        (lambda: x[5], IndexError, None),
    )
    with pytest.raises(AttributeError, match="encrypt the transposed"):
        _ = x.T
    with pytest.raises(TypeError, match="decrypt"):
        np.sum(x)
