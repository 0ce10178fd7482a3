"""Logistic regression trained on ciphertexts of a small ring, compared with the same in the clear."""

import ast
import functools
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, MismatchError, NoiseError, ParameterError
from hemera_apps import logistic_regression as logistic
from hemera_apps.logistic_regression import client, server
from hemera_apps.logistic_regression.measures import Quality
from hemera_apps.logistic_regression.run import Mark, Run

SMALL = logistic.Settings(features=7, batch=64, iterations=7, rates=(0.6,))


@pytest.fixture(scope="module")
def params():
    return hm.ckks.Parameters.for_bootstrapping("test-40", levels=5)


def of_levels(levels):
    return hm.ckks.Parameters.for_bootstrapping("test-40", levels=levels)


@functools.cache
def table(rows=400):
    whole = logistic.loan_applications(rows, 2)
    return logistic.Table(whole.name, whole.columns[:7], whole.features[:, :7], whole.labels)


def batches_of(settings, *tables):
    preparation = logistic.Preparation.of(tables[0].features)
    return logistic.make_batches(settings, preparation, tables if len(tables) > 1 else tables[0], 4)


def trained(plan, batches):
    """The decrypted weights after each iteration, of shape (iterations, models, width)."""
    own = logistic.Client(plan, device="cpu")
    far = logistic.Server(plan, own.context, own.keys())
    for number in range(batches.shape[-3]):
        far.add_batch(own.encrypt(batches[..., number, :, :]))
    return np.stack([own.decrypt(far.weights()) for _ in far.train(own.start())])


LEVELS_4, FEW = ("test-40", 4), ("test-few", 4)
WAYS = {
    "gradient": {"method": "gradient"},
    "lines": {"degree": 1, "interval": 4.0},
    "degree 7": {"degree": 7, "fit": "chebyshev", "decay": 0.0},
    "momentum": {"momentum": 0.5, "weight_bound": 2.0},
    "a batch that is not full": {"batch": 60},
    "three ciphertexts": {"batch": 300, "iterations": 3, "samples": 128, "ciphertexts": 3},
    "gradients of three": {"batch": 300, "iterations": 3, "method": "gradient", "ciphertexts": 3},
    # Four states of 8 slots: 32 samples of each model to a ciphertext, and one bootstrap for all.
    "rates": {"rates": (0.2, 1.0, 0.6), "state_slots": 32, "samples": 32, "ciphertexts": 2},
    "folds": {"models": 3, "iterations": 6, "state_slots": 32, "samples": 32, "ciphertexts": 2},
    "as many models as rows": {"models": 100, "batch": 2, "iterations": 2, "samples": 1, "ciphertexts": 2},
    # Bootstraps leave the two parts of the state side by side, as real slots.
    "parts": {"of": LEVELS_4, "parts_apart": True},
    "parts of three": {"of": LEVELS_4, "batch": 300, "iterations": 3, "parts_apart": True},
    "parts of models": {"of": LEVELS_4, "rates": (0.2, 1.0, 0.6), "iterations": 4, "parts_apart": True},
    "parts of degree 7": {"degree": 7, "interval": 16.0, "iterations": 5, "parts_apart": True},
    "parts, every second": {"of": ("test-40", 8), "every": 2, "iterations": 5, "parts_apart": True},
    # States of 8 slots are bootstrapped by roots of unity, both parts or one.
    "few": {"of": FEW, "iterations": 4, "parts_apart": True},
    "few, joined": {"of": ("test-few", 5), "iterations": 4, "parts_apart": False},
    "few, gradient": {"of": FEW, "iterations": 4, "method": "gradient", "parts_apart": False},
}
FACTS = ("samples", "ciphertexts", "state_slots", "parts_apart")


@pytest.mark.parametrize("name", WAYS)
def test_weights_are_those_of_the_clear_algorithm(name):
    fields = dict(WAYS[name])
    preset, levels = fields.pop("of", ("test-40", 5))
    every = fields.pop("every", None)
    facts = {fact: fields.pop(fact) for fact in FACTS if fact in fields}
    settings = replace(SMALL, **fields)
    plan = logistic.TrainingPlan(
        hm.ckks.Parameters.for_bootstrapping(preset, levels=levels), settings, bootstrap_every=every
    )
    assert {fact: getattr(plan, fact) for fact in facts} == facts
    assert plan.bootstraps > 0
    assert plan.bootstrap.blocks == (64 if preset == "test-few" else 0)
    own = table(800 if settings.batch > 100 else 400)
    if name == "as many models as rows":
        batches = np.stack([batches_of(settings, own)[model : model + 2] for model in range(100)])
    else:
        batches = batches_of(settings, *(own.folds(3, 0) if name == "folds" else [own]))
    found = trained(plan, batches)
    expected = np.stack(list(logistic.train_clear(settings, batches)))
    assert np.abs(expected[-1]).max() > 0.1 or settings.models == 100
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    if settings.models == 3:  # they do differ
        assert min(np.abs(expected[-1][i] - expected[-1][i - 1]).max() for i in range(3)) > 1e-2
    if name == "three ciphertexts":  # each teaches: without its samples the weights are others
        for part in range(3):
            less = batches.copy()
            less[:, 128 * part : 128 * (part + 1)] = 0
            assert np.abs(list(logistic.train_clear(settings, less))[-1] - expected[-1]).max() > 1e-2


def test_client_and_server_exchange_bytes(params):
    plan = logistic.TrainingPlan(params, replace(SMALL, iterations=2))
    batches = batches_of(SMALL, table())
    own = logistic.Client(plan, device="cpu")
    with pytest.warns(hm.errors.SecurityWarning):
        far_params = hm.load_parameters(own.parameters())
    fields = plan.settings.as_dict()
    far_plan = logistic.TrainingPlan(far_params, logistic.Settings(**fields))
    far = logistic.Server(far_plan, hm.Context(far_params, "cpu"), bytes(own.keys()))
    for batch in batches:
        far.add_batch(bytes(own.encrypt(batch)))
    # From weights that are there already.
    begin = np.zeros((1, 8))
    begin[0, :3] = (0.5, -1, 0.25)
    assert [*far.train(bytes(own.start(begin)), measure=True)] == [1, 2]
    assert [len(far.seconds[kind]) for kind in ("iterations", "bootstraps")] == [2, 1]
    answer = bytes(far.weights())
    found = own.decrypt(answer)
    # Computed by hand: v and w both begin there.
    ahead = weights = begin[0]
    for t in range(2):
        scores = plan.settings.sigmoid(-batches[t] @ ahead)
        following = ahead + plan.settings.rates_at(t)[0] / 64 * (scores @ batches[t])
        ahead = following + plan.settings.momentum_at(t) * (following - weights)
        weights = following
    np.testing.assert_allclose(found[0], weights, atol=1e-4)
    # What goes back is small: one limb or few, and no secret or public key went there.
    assert len(answer) < len(bytes(own.encrypt(batches[0])))
    assert not far._evaluator.keys.has_public_key


def test_mini_batches_may_come_while_it_trains_and_training_may_begin_anew(params):
    settings = replace(SMALL, iterations=3)
    plan = logistic.TrainingPlan(params, settings)
    own = logistic.Client(plan, device="cpu")
    far = logistic.Server(plan, own.context, own.keys())
    batches = batches_of(settings, table())[:3]
    expected = list(logistic.train_clear(settings, batches))[-1]
    begun = far.train(own.start())
    for number, batch in enumerate(batches):
        far.add_batch(own.encrypt(batch))
        assert next(begun) == number + 1
    np.testing.assert_allclose(own.decrypt(far.weights()), expected, rtol=0, atol=1e-4)
    next(far.train(own.start()))
    list(far.train(own.start()))
    np.testing.assert_allclose(own.decrypt(far.weights()), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("module", [client, server])
def test_sides_do_not_import_each_other(module):
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(name.endswith((".client", ".server")) for name in imported)
    if module is server:
        assert "decrypt" not in {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_plans_tell_levels_keys_and_operations():
    whole = hm.ckks.Parameters.for_bootstrapping("test-40")
    plan = logistic.TrainingPlan(whole, SMALL)
    assert [one.level for one in plan.iterations] == [15, 11, 7]
    assert plan.bootstrap.merge_parts
    assert (plan.bootstrap.slots, plan.bootstrap.levels_left) == (8, 12)
    assert plan.bootstrap.join_parts
    operations = plan.operations()
    assert operations["products"] == 4  # two with z, two of a polynomial of degree 3
    log_steps = 3 + 3 + 7  # along rows of 8, back, and over 128 rows
    assert log_steps < operations["rotations"] <= 2 * log_steps + 1
    # Three ciphertexts take all but the sums over rows and the step three times, and one relinearization of
    # the gradients' products.
    more = logistic.TrainingPlan(whole, replace(SMALL, batch=300)).operations()
    one = plan.iterations[0]
    sums = one.gradient.operations["key_products"]
    assert more["products"] == 3 * 4
    assert more["rotations"] == 3 * (operations["rotations"] - sums - 1) + sums + 1
    assert more["key_products"] == 3 * (operations["key_products"] - sums - 2) + sums + 2
    assert more["rescales"] == 3 * (operations["rescales"] - 4) + 4
    # Keys are over the primes of the level where they are used, and no others.
    for at, circuit in ((14, one.scores), (12, one.copies), (11, one.gradient)):
        assert {tuple(need.primes) for need in circuit.needed_keys} == {tuple(whole.primes[at])}
    products = {tuple(need.primes) for need in plan.cost.needed_keys if need.kind == "relinearization"}
    own = {tuple(whole.primes[start - at]) for start in (15, 11, 7) for at in range(4)}
    assert products >= own
    boot = {tuple(need.primes) for need in plan.bootstrap.needed_keys if need.kind == "relinearization"}
    assert products == own | boot
    deeper = logistic.TrainingPlan(whole, replace(SMALL, degree=7))
    assert (deeper.settings.depth, deeper.bootstrap_every) == (5, 2)
    assert deeper.operations()["products"] > 4
    own = logistic.Client(plan, device="cpu")
    assert own.keys().memory_bytes == plan.key_bytes
    text = plan.report()
    for words in ("an iteration takes 4 levels", "level 3 to 15", "4 ciphertext products", "below 128"):
        assert words in text
    told = plan.as_dict()
    assert (told["levels"], told["bytes"]["keys"]) == ([15, 11, 7], plan.key_bytes)
    assert own.encrypt(np.zeros((64, 8))).memory_bytes == told["bytes"]["batch"]


def test_plans_refuse_what_does_not_fit(params):
    few = hm.ckks.Parameters.for_bootstrapping("test-40", levels=3)
    with pytest.raises(LevelError, match=r"4 levels do not fit the 3 levels.*for_bootstrapping\(levels=\)"):
        logistic.TrainingPlan(few, SMALL)
    assert logistic.TrainingPlan(few, replace(SMALL, degree=1)).bootstrap_every == 1
    with pytest.raises(
        LevelError, match=r"2 iterations of 4 levels .* bootstrap every 1 iterations or fewer"
    ):
        logistic.TrainingPlan(params, SMALL, bootstrap_every=2)
    with pytest.raises(LevelError, match="bootstrap every 1 iterations or fewer"):
        logistic.TrainingPlan(params, SMALL, bootstrap_every=0)
    with pytest.raises(
        ParameterError, match=r"each of 129 models .* at most 128 models, or parameters of a larger"
    ):
        logistic.TrainingPlan(params, replace(SMALL, models=129))
    with pytest.raises(ParameterError, match="for_bootstrapping"):
        logistic.TrainingPlan(hm.ckks.Parameters.for_circuit(4), SMALL)


def test_what_does_not_fit_the_plan_is_refused(params, refuse):
    plan = logistic.TrainingPlan(params, SMALL)
    own = logistic.Client(plan, device="cpu")
    far = logistic.Server(plan, own.context, own.keys())
    refuse(
        (lambda: next(far.train(own.start())), ParameterError, "add_batch"),
        (lambda: far.weights(), ParameterError, "train"),
        (lambda: far.add_batch(own.start()), MismatchError, "Client of the same plan"),
    )
    two = logistic.Client(logistic.TrainingPlan(params, replace(SMALL, batch=200)), device="cpu")
    with pytest.raises(MismatchError, match=r"shape \(2,\) .* plan's shape \(\)"):
        far.add_batch(bytes(two.encrypt(np.zeros((200, 8)))))
    low = far._evaluator.at_level(own.encrypt(np.zeros((64, 8))), plan.iterations[0].level - 1)
    refuse((lambda: far.add_batch(low), LevelError, "at level 6, where iterations begin at 7"))
    far.add_batch(own.encrypt(np.zeros((64, 8))))
    refuse(
        (lambda: next(far.train(own.encrypt(np.zeros((64, 8))))), MismatchError, r"Client\.start"),
        (lambda: own.encrypt(np.zeros((8, 64))), ParameterError, r"\(64, 8\)"),
        (lambda: own.start(np.full((1, 8), 5.0)), ParameterError, "at most 4"),
        (lambda: own.start(np.zeros((2, 8))), ParameterError, r"\(1, 8\)"),
    )


def test_weights_beyond_their_bound_are_told(params, refuse):
    settings = replace(SMALL, iterations=1, rates=(4.0,), weight_bound=0.1)
    plan = logistic.TrainingPlan(params, settings)
    batches = batches_of(settings, table())
    assert np.abs(next(logistic.train_clear(settings, batches))).max() > 0.2
    refuse((lambda: trained(plan, batches), NoiseError, "larger weight_bound"))


def test_parts_are_apart_where_joining_them_has_no_level():
    apart = logistic.TrainingPlan(of_levels(4), SMALL)
    assert apart.parts_apart
    assert apart.bootstrap.merge_parts
    assert not apart.bootstrap.join_parts
    assert (apart.state_slots, apart.start_slots, apart.batch_shape) == (8, 16, (2,))
    assert apart.as_dict()["parts_apart"]
    joined = logistic.TrainingPlan(of_levels(5), SMALL)
    assert joined.bootstrap.merge_parts
    assert not joined.parts_apart
    assert (joined.state_slots, joined.start_slots, joined.batch_shape) == (8, 8, ())
    # Gradient descent has one part, and states of all slots have no room for two.
    real = logistic.TrainingPlan(of_levels(4), replace(SMALL, method="gradient"))
    assert real.bootstrap.real
    assert not real.parts_apart
    assert real.start_slots == 8
    full = logistic.TrainingPlan(of_levels(4), replace(SMALL, models=100, batch=1))
    assert not full.parts_apart
    assert full.start_slots == full.slots


@pytest.mark.parametrize(("preset", "dtype"), [("test-40", np.complex128), ("test-few", np.float64)])
def test_captured_iterations_have_the_same_bits(preset, dtype, monkeypatch):
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
    batches = [client.encrypt(each) for each in np.moveaxis(batches_of(settings, table()), -3, 0)]
    answers = []
    for capture in (False, True):
        server = logistic.Server(plan, client.context, keys, capture=capture)
        for batch in batches:
            server.add_batch(batch)
        assert list(server.train(start)) == [1, 2, 3]
        answers.append(bytes(server.weights()))
    assert answers[0] == answers[1]


def test_each_half_of_a_mini_batch_has_every_other_sample():
    plan = logistic.TrainingPlan(of_levels(4), replace(SMALL, batch=300))
    z = batches_of(plan.settings, table(900))[0]
    halves = plan.pack(z)
    assert halves.shape == (2, 3, plan.slots)
    rows = halves.reshape(2, -1, 8) / plan.feature_factor
    np.testing.assert_allclose(rows[0, 0:300:2], z[0::2])
    np.testing.assert_allclose(rows[1, 1:300:2], z[1::2])
    assert not rows[0, 1::2].any()
    assert not rows[1, 0::2].any()
    assert not rows[:, 300:].any()
    usual = logistic.TrainingPlan(of_levels(5), replace(SMALL, batch=300))
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
