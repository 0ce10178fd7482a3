"""Bootstraps by roots of unity, from Python: plans, keys, files, automatic mode."""

import collections
import functools
import json

import numpy as np
import pytest

import hemera as hm

from .refusals import raises, refuse, refuse_each

SLOTS = 16


@pytest.fixture(scope="module")
def params():
    return hm.ckks.Parameters.for_bootstrapping("test-few")


@pytest.fixture(scope="module")
def boot(params):
    return hm.circuits.Bootstrap(params, SLOTS, real=True)


@pytest.fixture(scope="module")
def context(params):
    return hm.Context(params)


def values(count=SLOTS, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, count)


def test_a_plan_reports_itself(params, boot):
    assert (boot.blocks, boot.sine_range, boot.sine_degree, boot.doublings) == (64, 0, 0, 0)
    assert (boot.failure_log2, boot.levels_left) == (-np.inf, 4)
    report = boot.report()
    assert "by roots of unity" in report
    assert "never fails" in report
    assert "CoeffToSlot" not in report
    kinds = collections.Counter(need.kind for need in boot.needed_keys)
    assert (kinds["to a secret in blocks"], kinds["secret in blocks"], kinds["turned product"]) == (1, 32, 6)
    found = json.loads(json.dumps(boot.as_dict(), allow_nan=False))
    assert (found["blocks"], found["failure_log2"]) == (64, None)
    with pytest.raises(hm.errors.ParameterError, match="up to 16 have room with 64 blocks"):
        hm.circuits.Bootstrap(params, 32, real=True)


def test_keys_are_saved_and_two_plans_share_a_set(context, params, boot):
    other = hm.circuits.Bootstrap(params, 4, real=True)
    sk = context.generate_secret_key()
    keys = context.load(bytes(context.generate_keys(sk, plan=[boot, other])))
    for plan in (boot, other):
        ev = context.bind(keys, bootstrap=plan)
        x = ev.at_level(ev.encrypt(values(plan.slots)), plan.input_level)
        y = x.bootstrap()
        assert y.level == plan.result_level
        np.testing.assert_allclose(context.decrypt(y, sk).real, values(plan.slots), atol=2**-20)


def test_secrets_without_an_estimate_are_refused():
    make = hm.ckks.Parameters.for_bootstrapping
    refuse(
        (lambda: make("n16-40-few", blocks=32), hm.errors.SecurityError, r"32 blocks.*no estimate"),
        (lambda: make("n16-40-few", last_bits=46), hm.errors.SecurityError, "at most 95 have 128 bits"),
        (lambda: make("n16-40-few", security=192), hm.errors.SecurityError, r"192 bits of security"),
    )


@pytest.mark.parametrize(
    ("preset", "slots", "fields", "blocks"),
    [
        ("n16-40", 64, {"levels": 12}, 64),
        ("n16-40", 256, {}, 64),
        ("n16-40", 1024, {}, 0),
        ("n15-36", 64, {}, 64),
        ("n16-40", 64, {"last_bits": 47, "ratio_bits": 15}, 0),  # more bits than roots of unity have here
        ("n16-45", 64, {}, 0),
        ("n16-40", 64, {"order": "standard", "last_bits": 49, "ratio_bits": 9}, 0),
    ],
)
def test_parameters_are_those_of_the_faster_bootstrap(preset, slots, fields, blocks):
    make = functools.partial(hm.ckks.Parameters.for_bootstrapping, preset, real_slots=slots)
    params = make(ephemeral_secret="blocks", **fields)
    found = hm.circuits.Bootstrap(params, slots, real="order" not in fields)
    assert found.blocks == blocks
    levels = fields.get("levels", {"n16-40": 13, "n15-36": 4, "n16-45": 8}[preset])
    assert (found.levels_left, params == make(**fields)) == (levels, blocks == 0)


@pytest.mark.parametrize("slots", [None, 64])
def test_secrets_in_blocks_are_asked_for_by_name(slots):
    """Without their name parameters are the preset's, whose key is estimated without judgement."""
    make = functools.partial(hm.ckks.Parameters.for_bootstrapping, real_slots=slots)
    for fields in ({}, {"ephemeral_secret": "fixed weight"}):
        params = make(**fields)
        assert params == hm.ckks.Parameters.for_bootstrapping()
        plan = hm.circuits.Bootstrap(params, 64, real=True)
        assert plan.blocks == 0
        assert not any("blocks" in need.kind for need in plan.needed_keys)
    for unknown in ("block", "sparse", "", None, 64):
        raises(hm.errors.ParameterError, "'fixed weight' and 'blocks'", make, ephemeral_secret=unknown)
    if slots is None:
        refuse((lambda: make(ephemeral_secret="blocks"), hm.errors.ParameterError, "real_slots="))


@pytest.mark.parametrize("named", ["fixed weight", "blocks"])
def test_slots_that_no_bootstrap_has_are_refused(named):
    make = functools.partial(hm.ckks.Parameters.for_bootstrapping, ephemeral_secret=named)
    refuse_each(lambda slots: make(real_slots=slots), (1, 3, 2**16), hm.errors.ParameterError, "slots")


def test_few_values_take_less_than_with_eval_mod():
    """Counted, and with the table of a processor: half of the keys' bytes, and of the time."""
    few = hm.circuits.Bootstrap(hm.ckks.Parameters.for_bootstrapping("n16-40-few", levels=12), 64, real=True)
    whole = hm.circuits.Bootstrap(hm.ckks.Parameters.for_bootstrapping("n16-40"), 64, real=True)
    assert few.key_bytes < 0.55 * whole.key_bytes
    times = hm.times.DeviceTimes.find("nvidia-h200")
    counted = [times.seconds(plan._counted()[1], graph=True) for plan in (few, whole)]
    assert counted[0] < 0.0038 < counted[1]
