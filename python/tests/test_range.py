"""The range of CKKS values: defaults that hold what a user computes first, declared bounds, and the net."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hemera as hm
from hemera.errors import NoiseError, ParameterError


def make_session(params: hm.Parameters) -> tuple[hm.Context, hm.SecretKey, hm.Evaluator]:
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    return ctx, sk, ctx.bind(ctx.generate_keys(sk, sum_slots=4))


def test_squares_of_hundreds_are_right() -> None:
    ctx, sk, ev = make_session(hm.ckks.Parameters.for_circuit(depth=1, slots=4))
    x = ev.encrypt([100, 600, 1000, 5])
    np.testing.assert_allclose(ctx.decrypt(x * x, sk), [10000, 360000, 1000000, 25], atol=0.1)
    assert x.largest == math.inf
    assert ctx.params.checks_range


def test_a_mean_of_squares_is_right() -> None:
    heights = np.random.default_rng(1).normal(170, 8, 1000)
    params = hm.ckks.Parameters.for_circuit(depth=2, slots=1024)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    x = ctx.bind(ctx.generate_keys(sk, sum_slots=1024)).encrypt(heights)
    found = ctx.decrypt((x * x * (1 / 1000)).sum().shrink(), sk)
    np.testing.assert_allclose(found, np.mean(heights**2), rtol=1e-5)


def test_a_wrap_is_a_noise_error() -> None:
    ctx, sk, ev = make_session(hm.ckks.Parameters.for_circuit(depth=1, slots=4))
    x = ev.encrypt([1500.0] * 4)
    with pytest.raises(NoiseError, match=r"quarter.*range_bits.*largest="):
        ctx.decrypt(x * x, sk)
    small = hm.ckks.Parameters.for_circuit(depth=1, slots=4, range_bits=10)
    assert not small.checks_range
    assert small.range_bits == 10


def test_a_declared_bound() -> None:
    params = hm.ckks.Parameters.for_circuit(depth=1, slots=4, largest=3e6)
    assert params.largest == 3e6
    assert params.range_bits == 23
    ctx, sk, ev = make_session(params)
    x = ev.encrypt([1500.0] * 4)
    np.testing.assert_allclose(ctx.decrypt(x * x, sk), [2250000] * 4, rtol=1e-4)
    assert x.largest == 3e6
    assert (x * x).largest == 9e12
    assert (2 * x - 1).largest == 6e6 + 1
    assert x.sum().largest == 1.2e7
    with pytest.raises(ParameterError, match="exceeds the declared bound 3000000"):
        ev.encrypt([4e6])
    assert hm.ckks.Parameters.for_circuit(1).largest is None
    for bound in (0, -1, math.nan, math.inf, 1e30):
        with pytest.raises(ParameterError, match="largest"):
            hm.ckks.Parameters.for_circuit(1, largest=bound)
    with pytest.raises(ParameterError, match="one of them"):
        hm.ckks.Parameters.for_circuit(1, largest=10, range_bits=20)


def test_shrink_keeps_a_right_sum_right() -> None:
    ctx, sk, ev = make_session(hm.ckks.Parameters.for_circuit(depth=2, slots=4, largest=1000))
    total = 4096 * ev.encrypt([1000.0] * 4)
    assert total.largest == 4096000
    shrunk = total.shrink()
    assert shrunk.level == 1
    for result in (total, shrunk):
        np.testing.assert_allclose(ctx.decrypt(result, sk), [4096000] * 4, rtol=1e-6)
    assert ev.encrypt([1000.0] * 4).shrink().level == 0


def test_numbers_too_large_for_the_modulus() -> None:
    ctx, sk, ev = make_session(hm.ckks.Parameters.for_circuit(depth=1, slots=4))
    x = ev.encrypt([1.0, 2.0, 3.0, 4.0])
    for operation in (lambda: x + 1e30, lambda: x - 1e30, lambda: x * 1e30, lambda: x * 1e30j):
        with pytest.raises(ParameterError, match=r"does not fit level 1, whose largest is"):
            operation()
    np.testing.assert_allclose(ctx.decrypt(x * 1e4 + 1e5, sk)[:2], [110000, 120000], rtol=1e-6)
