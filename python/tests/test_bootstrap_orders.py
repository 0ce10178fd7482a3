"""Bootstraps to exponentials, and of coefficients to slots, as a user meets them, beside NumPy."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.integers.lookup import bits, lookup

from .refusals import refuse

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
    assert (z.shape, z.level) == ((2, 3), plan.result_level)
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


COARSE = {
    "levels": 3,
    "scale_bits": 30,
    "order": "from-coefficients",
    "last_bits": 34,
    "ratio_bits": 4,
    "slots_to_coefficients": [],
    "coefficients_to_slots": [30, 30, 30],
    "eval_mod_error": -14,
    "constant_bits": 18,
}


@pytest.fixture(scope="module")
def coarse():
    return hm.ckks.Parameters.for_bootstrapping("test-40", **COARSE)


@pytest.fixture(scope="module")
def plan(coarse):
    return hm.circuits.Bootstrap(coarse)


def in_slots(coefficients):
    """[2, ..., slots]: both halves, with the bits of the places in reverse."""
    half = coefficients.shape[-1] // 2
    bits = half.bit_length() - 1
    order = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(half)]
    return np.stack([coefficients[..., order], coefficients[..., half:][..., order]])


def test_products_of_coefficients_come_to_slots(coarse, plan):
    ctx = hm.Context(coarse, "cpu")
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, public_key=False, plan=plan))
    plan.prepare(ctx)
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (3, 2, coarse.degree))
    weights = np.array([0.5, -0.25, 0.125])
    columns = ctx.encrypt(ctx.encode(rows, encoding="coefficients", level=0, scale=2.0**10), sk)
    constants = ctx.encode(weights[:, None], encoding="coefficients", level=0, scale=2.0**20)
    sums = ev.dot(list(ctx.encrypt(constants, sk).to(ev)), list(ev.load(bytes(columns))))
    found = plan(sums)
    assert found.shape == (2, 2)
    assert found.level == plan.levels_left == 3
    expected = in_slots(np.tensordot(weights, rows, 1))
    np.testing.assert_allclose(ctx.decrypt(found, sk), expected, rtol=0, atol=0.04)
    square = ctx.decrypt(found * found, sk)
    np.testing.assert_allclose(square, expected**2, rtol=0, atol=0.08)


def test_the_plan_says_what_it_does(plan):
    assert plan.order == "from-coefficients"
    assert plan.gives_parts
    assert not plan.exponential
    assert "from coefficients" in plan.report()
    assert "SlotToCoeff" not in plan.report()
    values = np.random.default_rng(2).uniform(-1, 1, (3, 2, plan.slots))
    simulated = plan.simulate(values[:, 0] + 1j * values[:, 1])
    assert simulated.shape == (2, 3, plan.slots)
    np.testing.assert_allclose(simulated, values.transpose(1, 0, 2), rtol=0, atol=0.04)


def test_what_coefficients_can_not_be():
    ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=8, degree=1024, security=None), "cpu")
    numbers = np.ones(4)
    for values, options in (
        (numbers, {}),  # of no level
        (numbers, {"level": 0, "largest": 2}),
        (numbers * 1j, {"level": 0}),
        (numbers * np.nan, {"level": 0}),
        (numbers * np.inf, {"level": 0}),
        (numbers, {"level": 0, "scale": 2.0**70}),
        (np.ones(1025), {"level": 0}),
    ):
        with pytest.raises(hm.errors.ParameterError):
            ctx.encode(values, encoding="coefficients", **options)
    refuse((lambda: ctx.encode(numbers, encoding="coefficients", level=9), hm.errors.LevelError, None))


def test_no_evaluator_refreshes_coefficients(coarse, plan):
    ctx = hm.Context(coarse, "cpu")
    keys = ctx.generate_keys(ctx.generate_secret_key(), plan=plan)
    with pytest.raises(hm.errors.ParameterError, match="call the plan"):
        ctx.bind(keys, bootstrap=plan)
    with pytest.raises(hm.errors.ParameterError, match="from coefficients"):
        hm.circuits.Bootstrap(coarse, iterations=2)
    with pytest.raises(hm.errors.ParameterError, match="from-coefficients"):
        hm.ckks.Parameters.for_bootstrapping("test-40", order="coefficients")
    with pytest.raises(hm.errors.ParameterError, match="slots_to_coefficients"):
        hm.ckks.Parameters.for_bootstrapping("test-40", **(COARSE | {"slots_to_coefficients": [30]}))


def test_the_page_has_such_a_program():
    page = (Path(__file__).parents[2] / "docs" / "bootstrapping.md").read_text(encoding="utf-8")
    section = page.partition("## From coefficients")[2]
    programs = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    small = programs[0].replace("degree=2**15", "degree=2**11, security=None")
    rng = np.random.default_rng(3)
    names = {
        "hm": hm,
        "columns": rng.uniform(-1, 1, (2, 2048)),
        "entries": np.array([0.5, -0.5]),
    }
    exec(compile(small, "From coefficients", "exec"), names)
    expected = in_slots(names["entries"] @ names["columns"])
    np.testing.assert_allclose(names["ctx"].decrypt(names["y"], names["sk"]), expected, rtol=0, atol=0.04)
