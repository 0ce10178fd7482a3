"""Matrices in the clear times encrypted matrices in packed rows, compared with NumPy."""

import numpy as np
import pytest

import hemera as hm


def random(*shape, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


@pytest.mark.parametrize(("shape", "vectors"), [((20, 24), 32), ((9, 5), 3), ((3, 40), 100)])
@pytest.mark.parametrize(("bits", "tolerance"), [(8, 0.15), (16, 6e-4)])
def test_packed_rows_are_multiplied(client, params, shape, vectors, bits, tolerance):
    ctx, sk = client
    weights, x = random(*shape), random(shape[1], vectors, seed=2)
    layer = hm.circuits.PackedRowsProduct(weights, params, vectors, bits=bits)
    filled = max(32, 1 << (vectors - 1).bit_length())
    assert (layer.shape, layer.vectors, layer.depth) == (shape, vectors, 1)
    assert layer.parts == params.max_slots // filled
    assert [need.kind for need in layer.needed_keys] == ["part of the secret"] * layer.parts
    ev = ctx.bind(ctx.generate_keys(sk, relinearization=False, plan=layer))
    packed = layer.pack(x)
    assert packed.shape == (-(-shape[1] // layer.parts), params.max_slots)
    y = layer(ev.encrypt(packed))
    assert (y.shape, y.level) == ((-(-shape[0] // layer.parts),), layer.result_level)
    found = layer.unpack(ctx.decrypt(y, sk))
    np.testing.assert_allclose(found, weights @ x, atol=tolerance)
    np.testing.assert_allclose(found, layer.evaluate_clear(x), atol=1e-5)
    np.testing.assert_allclose(layer.unpack(packed, shape[1]), x, atol=1e-12)
    mean, worst = layer.expected_error()
    assert np.sqrt((np.abs(found - weights @ x) ** 2).mean()) < mean <= worst


def test_layers_of_packed_rows_follow_each_other(client, params):
    ctx, sk = client
    first, second, x = random(18, 20), random(4, 18, seed=3), random(20, 32, seed=2)
    one = hm.circuits.PackedRowsProduct(first, params, 32)
    two = hm.circuits.PackedRowsProduct(second, params, 32, level=one.result_level)
    keys = ctx.generate_keys(sk, plan=[one, two])
    ev = ctx.bind(ctx.load(keys.to_bytes()))
    y = two(one(ev.encrypt(one.pack(x))))
    np.testing.assert_allclose(two.unpack(ctx.decrypt(y, sk)), second @ first @ x, atol=4e-3)


def test_what_does_not_fit_packed_rows_is_refused(client, params):
    ctx, sk = client
    errors = hm.errors
    layer = hm.circuits.PackedRowsProduct(random(20, 20), params, 32)
    ev = ctx.bind(ctx.generate_keys(sk, plan=layer))
    for vectors in (0, params.max_slots // 2 + 1):
        with pytest.raises(errors.ParameterError, match="vectors"):
            hm.circuits.PackedRowsProduct(random(2, 2), params, vectors)
    with pytest.raises(TypeError, match="real"):
        hm.circuits.PackedRowsProduct(np.ones((2, 2), complex), params, 32)
    with pytest.raises(errors.ParameterError, match="bits"):
        hm.circuits.PackedRowsProduct(random(2, 2), params, 32, bits=12)
    with pytest.raises(errors.LevelError):
        hm.circuits.PackedRowsProduct(random(2, 2), params, 32, level=0)
    for wrong in ((20, 31), (20,), (0, 32)):
        with pytest.raises(errors.MismatchError, match="vectors"):
            layer.pack(random(*wrong))
    with pytest.raises(errors.ParameterError, match="values"):
        layer.unpack(np.ones((3, 5)))
    with pytest.raises(errors.MismatchError, match="multiplies"):
        layer.evaluate_clear(random(20, 31))
    x = ev.encrypt(layer.pack(random(20, 32)))
    with pytest.raises(errors.MismatchError, match="encrypt what pack makes"):
        layer(x[:1])
    with pytest.raises(errors.MissingKeyError):
        layer(ctx.bind(ctx.generate_keys(sk)).bind(x))


def test_pools_multiply_packed_rows(params):
    weights, x = random(20, 24), random(24, 32, seed=2)
    with hm.Pool(params, ["cpu", "cpu"], threads=1) as pool:
        sk = pool.generate_secret_key()
        layer = hm.circuits.PackedRowsProduct(weights, params, 32)
        ev = pool.bind(pool.generate_keys(sk, plan=layer))
        y = layer(ev.encrypt(layer.pack(x)))
        np.testing.assert_allclose(layer.unpack(pool.decrypt(y, sk)), weights @ x, atol=6e-4)
