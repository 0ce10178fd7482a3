"""Training whose bootstraps leave the two parts of the state side by side, as real slots."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, ParameterError
from hemera_apps import logistic_regression as logistic
from hemera_apps.logistic_regression.measures import Quality
from hemera_apps.logistic_regression.run import Mark, Run

SMALL = logistic.Settings(features=7, batch=64, iterations=5, rates=(0.6,))


def parameters(levels):
    return hm.ckks.Parameters.for_bootstrapping("test-40", levels=levels)


@pytest.fixture(scope="module")
def table():
    whole = logistic.loan_applications(900, 4)
    return logistic.Table(whole.name, whole.columns[:7], whole.features[:, :7], whole.labels)


def batches_of(settings, table):
    return logistic.make_batches(settings, logistic.Preparation.of(table.features), table, 4)


def test_parts_are_apart_where_joining_them_has_no_level():
    apart = logistic.TrainingPlan(parameters(4), SMALL)
    assert apart.parts_apart
    assert apart.bootstrap.merge_parts
    assert not apart.bootstrap.join_parts
    assert (apart.state_slots, apart.start_slots, apart.batch_shape) == (8, 16, (2,))
    assert apart.as_dict()["parts_apart"]
    joined = logistic.TrainingPlan(parameters(5), SMALL)
    assert joined.bootstrap.merge_parts
    assert not joined.parts_apart
    assert (joined.state_slots, joined.start_slots, joined.batch_shape) == (8, 8, ())
    # Gradient descent has one part, and states of all slots have no room for two.
    real = logistic.TrainingPlan(parameters(4), replace(SMALL, method="gradient"))
    assert real.bootstrap.real
    assert not real.parts_apart
    assert real.start_slots == 8
    full = logistic.TrainingPlan(parameters(4), replace(SMALL, models=100, batch=1))
    assert not full.parts_apart
    assert full.start_slots == full.slots


@pytest.mark.parametrize(
    ("levels", "every", "fields"),
    [
        (4, None, {}),
        (4, None, {"batch": 300, "iterations": 3}),
        (4, None, {"rates": (0.2, 1.0, 0.6), "iterations": 4}),
        (5, None, {"degree": 7, "interval": 16.0}),
        (8, 2, {}),
    ],
    ids=["one ciphertext", "three", "models", "degree 7", "every second"],
)
def test_weights_are_those_of_the_clear_algorithm(table, levels, every, fields):
    settings = replace(SMALL, **fields)
    plan = logistic.TrainingPlan(parameters(levels), settings, bootstrap_every=every)
    assert plan.parts_apart
    assert plan.bootstraps > 0
    batches = batches_of(settings, table)
    client = logistic.Client(plan, device="cpu")
    server = logistic.Server(plan, client.context, client.keys())
    for number in range(batches.shape[-3]):
        server.add_batch(bytes(client.encrypt(batches[..., number, :, :])))
    found = np.stack([client.decrypt(server.weights()) for _ in server.train(client.start())])
    expected = np.stack(list(logistic.train_clear(settings, batches)))
    assert np.abs(expected[-1]).max() > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("method", "levels"), [("nesterov", 4), ("nesterov", 5), ("gradient", 4)])
def test_states_are_bootstrapped_by_roots_of_unity(table, method, levels):
    """States of 8 slots, both parts or one: at most 16 values."""
    settings = replace(SMALL, method=method, iterations=4)
    params = hm.ckks.Parameters.for_bootstrapping("test-few", levels=levels)
    plan = logistic.TrainingPlan(params, settings)
    assert plan.bootstrap.blocks == 64
    assert plan.parts_apart == (method == "nesterov" and levels == 4)
    batches = batches_of(settings, table)
    client = logistic.Client(plan, device="cpu")
    server = logistic.Server(plan, client.context, client.keys())
    for number in range(batches.shape[-3]):
        server.add_batch(bytes(client.encrypt(batches[..., number, :, :])))
    found = np.stack([client.decrypt(server.weights()) for _ in server.train(client.start())])
    expected = np.stack(list(logistic.train_clear(settings, batches)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("preset", "dtype"), [("test-40", np.complex128), ("test-few", np.float64)])
def test_captured_iterations_have_the_same_bits(table, preset, dtype, monkeypatch):
    """Also with clients who send a start of complex slots, where states after a bootstrap are real."""
    settings = replace(SMALL, iterations=3)
    params = hm.ckks.Parameters.for_bootstrapping(preset, levels=4)
    plan = logistic.TrainingPlan(params, settings)
    client = logistic.Client(plan, device="cpu")
    pack = plan.pack_weights
    assert pack(np.zeros((1, 8))).dtype == np.float64
    monkeypatch.setattr(plan, "pack_weights", lambda weights: pack(weights).astype(dtype))
    start, keys = client.start(), client.keys()
    assert start.dtype == dtype
    batches = [client.encrypt(each) for each in np.moveaxis(batches_of(settings, table), -3, 0)]
    answers = []
    for capture in (False, True):
        server = logistic.Server(plan, client.context, keys, capture=capture)
        for batch in batches:
            server.add_batch(batch)
        assert list(server.train(start)) == [1, 2, 3]
        answers.append(bytes(server.weights()))
    assert answers[0] == answers[1]


def test_each_half_of_a_mini_batch_has_every_other_sample(table):
    plan = logistic.TrainingPlan(parameters(4), replace(SMALL, batch=300))
    z = batches_of(plan.settings, table)[0]
    halves = plan.pack(z)
    assert halves.shape == (2, 3, plan.slots)
    rows = halves.reshape(2, -1, 8) / plan.feature_factor
    np.testing.assert_allclose(rows[0, 0:300:2], z[0::2])
    np.testing.assert_allclose(rows[1, 1:300:2], z[1::2])
    assert not rows[0, 1::2].any()
    assert not rows[1, 0::2].any()
    assert not rows[:, 300:].any()
    usual = logistic.TrainingPlan(parameters(5), replace(SMALL, batch=300))
    np.testing.assert_allclose(halves.sum(axis=0), usual.pack(z))
    # Their bytes are twice those of whole ciphertexts at the same level.
    limbs = len(plan.params.primes[plan.iterations[0].level])
    assert plan.batch_bytes == 2 * 3 * 2 * 8 * limbs * plan.params.degree


@pytest.mark.parametrize(
    ("fields", "every", "degree", "found"),
    [
        ({}, None, 2**15, 2),
        ({}, 1, 2**15, 1),
        ({"degree": 7, "interval": 16.0}, None, 2**15, 1),  # 10 levels are too many for N = 2^15
    ],
)
def test_the_fastest_plan(fields, every, degree, found):
    settings = logistic.Settings(**{"features": 25, "batch": 1024, **fields})
    plan = logistic.fastest_plan(settings, bootstrap_every=every, ephemeral_secret="blocks")
    assert (plan.params.degree, plan.bootstrap.blocks, plan.bootstrap_every) == (degree, 64, found)
    assert plan.bootstrap.levels_left == found * settings.depth
    assert plan.params.security != "below 128"


def test_states_beyond_roots_of_unity_have_the_other_bootstrap():
    plan = logistic.fastest_plan(logistic.Settings(features=600, batch=16), ephemeral_secret="blocks")
    assert (plan.params.degree, plan.bootstrap.blocks, plan.bootstrap_every) == (2**16, 0, 3)
    with pytest.raises(LevelError, match="bootstrap every 3 iterations or fewer"):
        logistic.fastest_plan(plan.settings, bootstrap_every=4, ephemeral_secret="blocks")


@pytest.mark.parametrize("every", [None, 1])
def test_secrets_in_blocks_are_asked_for(every):
    settings = logistic.Settings(features=25, batch=1024)
    plan = logistic.fastest_plan(settings, bootstrap_every=every)
    assert plan.params == hm.ckks.Parameters.for_bootstrapping("n16-40")
    assert (plan.bootstrap.blocks, plan.bootstrap_every) == (0, every or 3)
    with pytest.raises(ParameterError, match='"fixed weight" or "blocks"'):
        logistic.fastest_plan(settings, ephemeral_secret="few")
    with pytest.raises(LevelError, match="bootstrap every 3 iterations or fewer"):
        logistic.fastest_plan(settings, bootstrap_every=4)


@pytest.mark.parametrize("order", itertools.permutations([1e-3, np.nan, 2e-3]))
def test_a_training_differs_where_a_weight_is_no_number(order):
    """Any model's weight counts, but only at the end."""
    some = Quality(0.5, 0.5)
    marks = [
        Mark(2, 0, some, some, np.nan),
        *(Mark(4, at, some, some, each) for at, each in enumerate(order)),
    ]
    run = Run.__new__(Run)
    run.marks = marks
    assert np.isnan(run.difference)
    run.marks = [each for each in marks if not np.isnan(each.difference) or each.iteration == 2]
    assert run.difference == 2e-3
