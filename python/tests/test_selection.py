"""Softmax and argmax of vectors, beside NumPy."""

import math

import numpy as np
import pytest

import hemera as hm
from hemera import circuits

from .refusals import raises, refuse


def softmax_of(values):
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def one_hot(values):
    return np.eye(values.shape[-1])[values.argmax(axis=-1)]


def distinct(values, gap):
    """The vectors whose largest value is larger than the others by the gap."""
    ordered = np.sort(values, axis=-1)
    return values[ordered[:, -1] - ordered[:, -2] >= gap]


def level_of(y):
    """The level of y; one below for a product that waits for its rescale."""
    return y.level - (y._native.noise_scale_degree - 1)


@pytest.fixture(scope="module")
def deep():
    params = hm.ckks.Parameters.for_circuit(20, scale_bits=40, slots=32, security=None, degree=1024)
    ctx = hm.Context(params, device="cpu")
    sk = ctx.generate_secret_key()
    return ctx, sk, ctx.bind(ctx.generate_keys(sk, rotations=range(1, 32)))


@pytest.mark.parametrize(("count", "interval", "bits"), [(2, (-1, 1), 12), (10, (2, 5), 9)])
def test_softmax_is_that_of_numpy(deep, count, interval, bits):
    ctx, sk, ev = deep
    function = circuits.softmax(count, interval, bits=bits)
    assert function.error <= 2**-bits
    rng = np.random.default_rng(count)
    values = rng.uniform(*interval, (4000, count))
    values[:64] = rng.choice(interval, (64, count))  # corners
    values[0], values[1] = interval[0], interval[1]
    assert np.abs(function(values) - softmax_of(values)).max() <= function.error
    x = ev.encrypt(values[:40], largest=max(map(abs, interval)))
    y = function(x)
    assert ((y.shape, y.filled), x.level - level_of(y)) == (((40,), count), function.depth)
    np.testing.assert_allclose(ctx.decrypt(y, sk), softmax_of(values[:40]), atol=function.error + 1e-4)
    assert np.abs(ctx.decrypt(y, sk).sum(axis=-1) - 1).max() < count * (function.error + 1e-4)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_argmax_is_that_of_numpy(deep, count):
    ctx, sk, ev = deep
    function = circuits.argmax(count, gap=0.3, bits=6, largest=2)
    assert function.error <= 2**-6
    values = distinct(np.random.default_rng(count).uniform(-2, 2, (3000, count)), 0.3)
    assert len(values) > 500
    assert np.abs(function(values) - one_hot(values)).max() <= function.error
    values = values[:6]
    # Each place is the largest one once, and all values lie at an end.
    values[:count] = np.where(np.eye(count)[: len(values)] == 1, 2.0, -2.0)[: len(values[:count])]
    # The largest value is below whatever fills slots up.
    values[-1] = np.where(np.arange(count) == 1, -1.7, -2.0)
    x = ev.encrypt(values, largest=2)
    y = function(x)
    assert x.level - level_of(y) == function.depth
    found = ctx.decrypt(y, sk)
    assert found.shape == (6, x.slots)
    np.testing.assert_allclose(found[:, :count], one_hot(values), atol=function.error + 1e-3)
    np.testing.assert_allclose(found[:, count:], 0, atol=function.error + 1e-3)


def test_more_slots_than_values(deep):
    """As after a product with a matrix that has few columns."""
    ctx, sk, ev = deep
    values = distinct(np.random.default_rng(1).uniform(-1, 1, (50, 3)), 0.4)[:4]
    matrix = np.random.default_rng(2).uniform(-1, 1, (16, 3))
    inputs = values @ np.linalg.pinv(matrix)
    x = ev.declare(ev.encrypt(inputs) @ matrix, 1)
    assert (x.filled, x.slots) == (3, 16)
    weights, place = circuits.softmax(3, (-1, 1), bits=9), circuits.argmax(3, gap=0.4, bits=5)
    y = weights(x)
    np.testing.assert_allclose(ctx.decrypt(y, sk), softmax_of(values), atol=2**-9 + 1e-4)
    y = place(x)
    assert x.level - level_of(y) <= place.depth + 2
    found = ctx.decrypt(y, sk)
    np.testing.assert_allclose(found[:, :3], one_hot(values), atol=2**-5 + 1e-3)
    np.testing.assert_allclose(found[:, 3:], 0, atol=1e-3)


def test_values_that_are_near_share_the_place():
    place = circuits.argmax(4, gap=0.1, bits=8)
    np.testing.assert_allclose(place([0.5, 0.5, -0.5, -1]), [0.5, 0.5, 0, 0], atol=2**-7)
    np.testing.assert_allclose(place([0.5, 0.5, 0.5, -1]), [0.25, 0.25, 0.25, 0], atol=2**-7)
    assert place([0.5, 0.45, -0.5, -1])[0] > place([0.5, 0.45, -0.5, -1])[1] > 0


def test_what_they_need_is_counted(deep):
    ctx, sk, _ = deep
    for function in (circuits.softmax(5, (-2, 2), bits=8), circuits.argmax(5, gap=0.4, bits=5)):
        cost = hm.cost(function, 5, params=ctx.params)
        assert cost.depth == function.depth
        ev = ctx.bind(ctx.generate_keys(sk, relinearization=False, plan=cost))
        values = np.array([0.9, -0.3, 0.2, -0.9, 0.4])
        y = ctx.decrypt(function(ev.encrypt(values, largest=1)), sk)
        expected = function(values)
        np.testing.assert_allclose(y[:5], expected, atol=2 * function.error)


def test_what_does_not_fit_is_refused(deep):
    _, _, ev = deep
    weights, place = circuits.softmax(4, (-2, 2), bits=6), circuits.argmax(4, gap=0.2, bits=4)
    for function in (weights, place):
        with pytest.raises(hm.errors.MismatchError, match="4 values and a ciphertext of 5"):
            function(ev.encrypt(np.zeros(5)))
        raises(hm.errors.ParameterError, "last axis", function, np.zeros((4, 5)))
        raises(hm.errors.ParameterError, "last axis", function, 0.5)
        raises(hm.errors.RangeError, "outside", function, [0, 0, 0, 2.1])
        raises(hm.errors.RangeError, "outside", function, [0, 0, 0, math.nan])
        raises(hm.errors.RangeError, "declared", function, ev.encrypt(np.zeros(4), largest=3))
        with pytest.warns(hm.errors.RangeWarning, match=f"{function.name}: values"):
            function(ev.encrypt(np.zeros(4)))
    for count in (1, 0, -3, 1 << 20):
        raises(hm.errors.ParameterError, "values, not", circuits.softmax, count, (-1, 1))
        raises(hm.errors.ParameterError, "values, not", circuits.argmax, count, gap=0.1)
    refuse((lambda: circuits.softmax(2.5, (-1, 1)), TypeError, "integer"))
    for interval in ((1, 1), (1, -1), (0, math.inf), (math.nan, 1), (-400, 400)):
        raises(hm.errors.ParameterError, "", circuits.softmax, 4, interval)
    for gap, largest in ((0, 1), (1, 1), (-0.1, 1), (math.nan, 1), (0.1, math.inf)):
        raises(hm.errors.ParameterError, "gap", circuits.argmax, 4, gap=gap, largest=largest)
    for bits in (-2000, 2000, math.nan, math.inf):
        raises(hm.errors.ParameterError, "", circuits.softmax, 4, (-1, 1), bits=bits)
        raises(hm.errors.ParameterError, "", circuits.argmax, 4, gap=0.1, bits=bits)
