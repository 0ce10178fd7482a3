"""Parameters of bootstraps without cliffs: digits in any order, secure keys, refusals with the way out."""

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.errors import ParameterError
from hemera.integers.lookup import bits, lookup

from .refusals import raises, refuse

of = hm.ckks.Parameters.for_bootstrapping

_LARGEST = 1747
"""log2 of the largest modulus of 128 bits at N = 2^16: J.-P. Bossuat et al., 2024/463, Table 5.2."""


def widest_key(params):
    """log2 of the largest modulus of a key: of the bootstrap's, and of the user's own."""
    needs = hm.circuits.Bootstrap(params, 2**15).needed_keys
    own = [sum(map(math.log2, [*need.primes, *need.special_primes])) for need in needs]
    return max(*own, params.log_modulus)


# Scales with few levels or many, and at the preset's 14, where the number of digits changes.
@pytest.mark.parametrize(("levels", "scale_bits"), [(5, 36), (14, 39), (16, 40)])
def test_found_parameters_are_secure_and_bootstrap(levels, scale_bits):
    params = of(levels=levels, scale_bits=scale_bits)
    assert widest_key(params) <= _LARGEST
    assert hm.circuits.Bootstrap(params, 2**15).levels_left == levels
    assert params.scale == pytest.approx(2.0**scale_bits, rel=0.05)


@pytest.mark.parametrize(
    ("preset", "fingerprint"),
    [
        ("n16-40", "6dff9c88c905851e"),
        ("n16-40-light", "b2faead4617a590e"),
        ("n16-40-sparse128", "308a44540486a532"),
        ("n16-40-precise", "c8d8d970e7889182"),
        ("n16-45", "88b4a272322f9154"),
        ("n16-59", "e6f111ca810b1218"),
        ("n15-31", "8bf928b191b7aebd"),
        ("n15-40", "a7de8f487884568a"),
        ("n15-36", "fe07a0adef21275a"),
        ("n15-34", "00a5fee2e002c133"),
        ("n15-30", "a2d41c4f02527c90"),
        ("n16-exact", "a6345a8aa348c6c7"),
        ("test-40", "e21a8a615d1f8f1f"),
        ("test-exact", "036a427af03dc038"),
    ],
)
def test_presets_are_as_they_were(preset, fingerprint):
    assert of(preset).fingerprint[:16] == fingerprint


def test_digits_of_the_preset_stay_where_they_are_secure():
    assert (of(levels=14), of(levels=15)) == (of(levels=14, digits=2), of(levels=15, digits=3))
    assert of(levels=13, scale_bits=38) == of(levels=13, scale_bits=38, digits=5)


@pytest.mark.parametrize(("levels", "scale_bits"), [(20, 38)])
def test_too_many_levels_are_refused_with_the_most_that_fit(levels, scale_bits):
    with pytest.raises(ParameterError, match=r"do not have 128 bits .* is below 128") as told:
        of(levels=levels, scale_bits=scale_bits)
    found = re.search(r"at most (\d+) levels", str(told.value))
    assert found is not None
    most = int(found[1])
    assert widest_key(of(levels=most, scale_bits=scale_bits)) <= _LARGEST
    refuse((lambda: of(levels=most + 1, scale_bits=scale_bits), ParameterError, f"at most {most} levels"))


def test_too_much_security_is_refused_with_the_largest():
    # No estimate gives 192 bits to the ephemeral secret, whatever the levels.
    raises(ParameterError, r"192 bits .* no level .* security of 13 levels is 128", of, security=192)


def test_other_reasons_and_digits_by_hand_are_told_as_they_are():
    refuse(
        (lambda: of(levels=15, digits=2), ParameterError, "digits"),
        (lambda: of(digits=99), ParameterError, "at least as many primes"),
        (lambda: of(levels=0), ParameterError, "needs a level of the user's"),
    )
    # The widest key of a bootstrap, though the user's own keys were secure.
    refuse((lambda: of(levels=23, digits=12), ParameterError, "a key of a bootstrap is over"))


def test_deep_circuits_name_the_way_out():
    circuit = hm.ckks.Parameters.for_circuit
    refuse((lambda: circuit(42), ParameterError, r"depth 42 .*for_bootstrapping, or degree=2\*\*17"))
    assert (circuit(42, degree=2**17).degree, circuit(2, slots=2**16).degree) == (2**17, 2**17)
    assert circuit(34).degree == 2**16


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
        raises(hm.errors.ParameterError, "exponentials", ctx.bind, keys, bootstrap=plan, automatic=automatic)
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
        raises(hm.errors.ParameterError, "", ctx.encode, values, encoding="coefficients", **options)
    refuse((lambda: ctx.encode(numbers, encoding="coefficients", level=9), hm.errors.LevelError, None))


def test_no_evaluator_refreshes_coefficients(coarse, plan):
    ctx = hm.Context(coarse, "cpu")
    keys = ctx.generate_keys(ctx.generate_secret_key(), plan=plan)
    refuse((lambda: ctx.bind(keys, bootstrap=plan), hm.errors.ParameterError, "call the plan"))
    raises(hm.errors.ParameterError, "from coefficients", hm.circuits.Bootstrap, coarse, iterations=2)
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
    names = {"hm": hm, "columns": rng.uniform(-1, 1, (2, 2048)), "entries": np.array([0.5, -0.5])}
    exec(compile(small, "From coefficients", "exec"), names)
    expected = in_slots(names["entries"] @ names["columns"])
    np.testing.assert_allclose(names["ctx"].decrypt(names["y"], names["sk"]), expected, rtol=0, atol=0.04)
