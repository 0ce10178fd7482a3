"""Bootstraps to exponentials, as a user meets them: NumPy has the exponentials."""

import warnings

import numpy as np
import pytest

import hemera as hm
from hemera.integers.lookup import bits, lookup

SLOTS = 16


@pytest.fixture(scope="module")
def params():
    return hm.ckks.Parameters.for_bootstrapping("test-exact", levels=4)


def exponentials(x, period):
    return np.exp(2j * np.pi * np.asarray(x) / period)


def test_complex_slots_give_two_results_each(params):
    plan = hm.circuits.Bootstrap(params, SLOTS)
    assert plan.exponential
    assert plan.ratio == pytest.approx(256, rel=1e-6)
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, plan=plan))
    rng = np.random.default_rng(1)
    # Whatever multiples of the period there are, and none of them is a hint for the scale.
    x = rng.integers(-300, 2000, (3, SLOTS)) + 1j * rng.integers(0, 256, (3, SLOTS))
    z = plan(ev.encrypt(x))
    assert z.shape == (2, 3)
    assert z.level == plan.result_level
    expected = exponentials(np.stack([x.real, x.imag]), 256)
    np.testing.assert_allclose(ctx.decrypt(z, sk), expected, atol=2**-18)
    np.testing.assert_allclose(plan.simulate(x), expected, atol=2**-16)
    assert "to their exponentials" in plan.report()


def test_no_evaluator_refreshes_values_with_it(params):
    plan = hm.circuits.Bootstrap(params, SLOTS)
    ctx = hm.Context(params)
    keys = ctx.generate_keys(ctx.generate_secret_key(), plan=plan)
    for automatic in (False, True):
        with pytest.raises(hm.errors.ParameterError, match="exponentials"):
            ctx.bind(keys, bootstrap=plan, automatic=automatic)
    with pytest.raises(hm.errors.ParameterError, match="slots-first"):
        hm.ckks.Parameters.for_bootstrapping("test-exact", order="standard")


def test_a_pool_gives_them_without_a_warning(params):
    """They need no declared bound."""
    plan = hm.circuits.Bootstrap(params, SLOTS)
    with hm.Pool(params, ["cpu", "cpu"], threads=1) as pool:
        sk = pool.generate_secret_key()
        ev = pool.bind(pool.generate_keys(sk, plan=plan))
        x = np.arange(SLOTS) * (17.0 + 3.0j)
        own = ev.bind(ev.evaluators[1].encrypt(x))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            z = pool.circuit(plan, members=2)(own)
        assert bytes(z) == bytes(plan(own))
        expected = exponentials(np.stack([x.real, x.imag]), 256)
        np.testing.assert_allclose(pool.decrypt(z, sk), expected, atol=2**-18)


def test_a_ring_of_2_to_the_15_has_too_few_levels_for_integers():
    """A sum of encrypted integers takes seven levels, and a carry for each doubling of the digits."""
    fewest = {"slots_to_coefficients": [34, 34], "coefficients_to_slots": [42, 42], "special_primes": 3}
    make = hm.ckks.Parameters.for_bootstrapping
    assert make("n16-exact", degree=2**15, levels=4, **fewest).security_bits >= 128
    with pytest.raises(hm.errors.ParameterError, match=r"128 bits.*: at most 4 levels of this scale"):
        make("n16-exact", degree=2**15, levels=7, **fewest)
    digits = lookup(32, *bits(4), lambda s: s >= 16, lambda s: s == 15)
    assert digits.depth + 2 == 7  # of tables and their cleaning
