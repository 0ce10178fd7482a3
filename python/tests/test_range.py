"""The range of CKKS values: defaults that hold what a user computes first, declared bounds, and the net."""

import math

import numpy as np
import pytest

import hemera as hm
from hemera.errors import NoiseError, ParameterError

from .refusals import refuse


def make_session(params):
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    return ctx, sk, ctx.bind(ctx.generate_keys(sk, sum_slots=4))


def test_a_wrap_is_a_noise_error():
    ctx, sk, ev = make_session(hm.ckks.Parameters.for_circuit(depth=1, slots=4))
    x = ev.encrypt([1500.0] * 4)
    refuse((lambda: ctx.decrypt(x * x, sk), NoiseError, r"quarter.*range_bits.*largest="))
    small = hm.ckks.Parameters.for_circuit(depth=1, slots=4, range_bits=10)
    assert not small.checks_range
    assert small.range_bits == 10


def test_a_declared_bound():
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
    refuse((lambda: ev.encrypt([4e6]), ParameterError, "exceeds the declared bound 3000000"))
    assert hm.ckks.Parameters.for_circuit(1).largest is None
    for bound in (0, -1, math.nan, math.inf, 1e30):
        with pytest.raises(ParameterError, match="largest"):
            hm.ckks.Parameters.for_circuit(1, largest=bound)
    with pytest.raises(ParameterError, match="one of them"):
        hm.ckks.Parameters.for_circuit(1, largest=10, range_bits=20)
