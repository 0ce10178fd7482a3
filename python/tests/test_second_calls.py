"""What a second call sees of the first: inputs that a circuit changes in place, operands of other levels."""

import numpy as np
import pytest

import hemera as hm

SLOTS = 8


@pytest.fixture(scope="module")
def client():
    params = hm.ckks.Parameters.for_circuit(depth=3, slots=SLOTS, security=None)
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    return ctx, sk, ctx.bind(ctx.generate_keys(sk))


def values(seed):
    return np.random.default_rng(seed).uniform(-1, 1, SLOTS)


def test_a_circuit_that_lowers_its_input_in_place_may_be_called_again(client):
    ctx, sk, ev = client

    def add_in_place(x, y):
        x += y  # y is lower, so x becomes lower
        return x

    def example(seed):
        return ev.encrypt(values(seed)), ev.at_level(ev.encrypt(values(seed + 1)), 1)

    graph = ev.capture(add_in_place, *example(1))
    for seed in (3, 5, 7):
        x, y = example(seed)
        result = graph(x, y)
        assert isinstance(result, hm.Ciphertext)
        assert (x.level, result.level) == (3, 1)
        np.testing.assert_allclose(ctx.decrypt(result, sk), values(seed) + values(seed + 1), atol=1e-6)
