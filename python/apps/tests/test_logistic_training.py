"""Logistic regression trained on ciphertexts of a small ring, compared with the same in the clear."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, MismatchError, NoiseError, ParameterError
from hemera_apps import logistic_regression as logistic
from hemera_apps.logistic_regression import client, server

SMALL = logistic.Settings(features=7, batch=64, iterations=7, rates=(0.6,))


@pytest.fixture(scope="module")
def params():
    return hm.ckks.Parameters.for_bootstrapping("test-40", levels=5)


@pytest.fixture(scope="module")
def table():
    whole = logistic.loan_applications(400, 2)
    return logistic.Table(whole.name, whole.columns[:7], whole.features[:, :7], whole.labels)


def batches_of(settings, *tables):
    preparation = logistic.Preparation.of(tables[0].features)
    return logistic.make_batches(settings, preparation, tables if len(tables) > 1 else tables[0], 4)


def trained(plan, batches, **options):
    """The decrypted weights after each iteration, of shape (iterations, models, width)."""
    own = logistic.Client(plan, device="cpu")
    far = logistic.Server(plan, own.context, own.keys(), **options)
    for number in range(batches.shape[-3]):
        far.add_batch(own.encrypt(batches[..., number, :, :]))
    return np.stack([own.decrypt(far.weights()) for _ in far.train(own.start())]), far


def test_weights_are_those_of_the_clear_algorithm_after_30_iterations():
    table = logistic.loan_applications(400, 1)
    settings = logistic.Settings(features=25, batch=32, iterations=30)
    plan = logistic.TrainingPlan(hm.ckks.Parameters.for_bootstrapping("test-40"), settings)
    assert (plan.bootstrap_every, plan.bootstraps) == (3, 9)
    batches = batches_of(settings, table)
    found, _ = trained(plan, batches)
    expected = np.stack(list(logistic.train_clear(settings, batches)))
    assert np.abs(expected[-1]).max() > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)  # the goal is 1e-3
    # The columns that fill up learn nothing.
    np.testing.assert_allclose(found[-1, 0, 26:], 0, atol=1e-5)


@pytest.mark.parametrize(
    "fields",
    [
        {"method": "gradient"},
        {"degree": 1, "interval": 4.0},
        {"degree": 7, "fit": "chebyshev", "decay": 0.0},
        {"momentum": 0.5, "weight_bound": 2.0},
        {"batch": 60, "features": 7},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_each_way_of_training(params, table, fields):
    settings = replace(SMALL, **fields)
    plan = logistic.TrainingPlan(params, settings)
    assert plan.bootstraps > 0
    batches = batches_of(settings, table)
    found, _ = trained(plan, batches)
    expected = np.stack(list(logistic.train_clear(settings, batches)))
    assert np.abs(expected[-1]).max() > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("method", ["nesterov", "gradient"])
def test_a_mini_batch_of_several_ciphertexts(params, method):
    # The last of the three is not full, and neither is the last mini-batch.
    settings = replace(SMALL, method=method, batch=300, iterations=3)
    plan = logistic.TrainingPlan(params, settings)
    assert (plan.samples, plan.ciphertexts, plan.batch_shape, plan.bootstraps) == (128, 3, (3,), 2)
    whole = logistic.loan_applications(800, 3)
    table = logistic.Table(whole.name, whole.columns[:7], whole.features[:, :7], whole.labels)
    batches = batches_of(settings, table)
    assert batches.shape == (3, 300, 8)
    found, _ = trained(plan, batches)
    expected = np.stack(list(logistic.train_clear(settings, batches)))
    assert np.abs(expected[-1]).max() > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    # Each ciphertext teaches: without its samples the weights are others.
    for part in range(3):
        less = batches.copy()
        less[:, 128 * part : 128 * (part + 1)] = 0
        assert np.abs(list(logistic.train_clear(settings, less))[-1] - expected[-1]).max() > 1e-2


def test_several_rates_and_several_tables_train_in_one_state(params, table):
    rates = replace(SMALL, rates=(0.2, 1.0, 0.6))
    folds = replace(SMALL, models=3, iterations=6)
    for settings, tables in ((rates, [table]), (folds, table.folds(3, 0))):
        plan = logistic.TrainingPlan(params, settings)
        # Four states of 8 slots: 32 samples of each model to a ciphertext, and one bootstrap for all.
        assert (plan.state_slots, plan.bootstrap.slots, plan.samples, plan.ciphertexts) == (32, 32, 32, 2)
        batches = batches_of(settings, *tables)
        found, far = trained(plan, batches)
        assert far.weights().shape == ()
        expected = np.stack(list(logistic.train_clear(settings, batches)))
        assert found.shape == (settings.iterations, 3, 8)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
        # They do differ.
        assert min(np.abs(expected[-1][i] - expected[-1][i - 1]).max() for i in range(3)) > 1e-2


def test_as_many_models_as_rows(params, table):
    settings = replace(SMALL, models=100, batch=2, iterations=2)
    plan = logistic.TrainingPlan(params, settings)
    assert (plan.state_slots, plan.samples, plan.ciphertexts) == (plan.slots, 1, 2)
    batches = np.stack([batches_of(settings, table)[model : model + 2] for model in range(100)])
    found, _ = trained(plan, batches)
    np.testing.assert_allclose(
        found, np.stack(list(logistic.train_clear(settings, batches))), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("batch", [64, 150])
def test_captured_iterations_have_the_same_bits(params, table, batch):
    settings = replace(SMALL, batch=batch)
    plan = logistic.TrainingPlan(params, settings)
    own = logistic.Client(plan, device="cpu")
    keys, start = own.keys(), own.start()
    z = [own.encrypt(one) for one in batches_of(settings, table)]
    answers = []
    for capture in (False, True):
        far = logistic.Server(plan, own.context, keys, capture=capture)
        for batch in z:
            far.add_batch(batch)
        assert list(far.train(start)) == list(range(1, 8))
        answers.append(bytes(far.weights()))
    assert answers[0] == answers[1]


def test_client_and_server_exchange_bytes(params, table):
    plan = logistic.TrainingPlan(params, replace(SMALL, iterations=2))
    batches = batches_of(SMALL, table)
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


def test_mini_batches_may_come_while_it_trains_and_training_may_begin_anew(params, table):
    settings = replace(SMALL, iterations=3)
    plan = logistic.TrainingPlan(params, settings)
    own = logistic.Client(plan, device="cpu")
    far = logistic.Server(plan, own.context, own.keys())
    batches = batches_of(settings, table)[:3]
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
    assert plan.bootstrap.slots == 8
    assert plan.bootstrap.levels_left == 12
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
    assert told["levels"] == [15, 11, 7]
    assert told["bytes"]["keys"] == plan.key_bytes
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


def test_what_does_not_fit_the_plan_is_refused(params):
    plan = logistic.TrainingPlan(params, SMALL)
    own = logistic.Client(plan, device="cpu")
    far = logistic.Server(plan, own.context, own.keys())
    with pytest.raises(ParameterError, match="add_batch"):
        next(far.train(own.start()))
    with pytest.raises(ParameterError, match="train"):
        far.weights()
    with pytest.raises(MismatchError, match="Client of the same plan"):
        far.add_batch(own.start())
    two = logistic.Client(logistic.TrainingPlan(params, replace(SMALL, batch=200)), device="cpu")
    with pytest.raises(MismatchError, match=r"shape \(2,\) .* plan's shape \(\)"):
        far.add_batch(bytes(two.encrypt(np.zeros((200, 8)))))
    low = far._evaluator.at_level(own.encrypt(np.zeros((64, 8))), plan.iterations[0].level - 1)
    with pytest.raises(LevelError, match="at level 6, where iterations begin at 7"):
        far.add_batch(low)
    far.add_batch(own.encrypt(np.zeros((64, 8))))
    with pytest.raises(MismatchError, match=r"Client\.start"):
        next(far.train(own.encrypt(np.zeros((64, 8)))))
    with pytest.raises(ParameterError, match=r"\(64, 8\)"):
        own.encrypt(np.zeros((8, 64)))
    with pytest.raises(ParameterError, match="at most 4"):
        own.start(np.full((1, 8), 5.0))
    with pytest.raises(ParameterError, match=r"\(1, 8\)"):
        own.start(np.zeros((2, 8)))


def test_weights_beyond_their_bound_are_told(params, table):
    settings = replace(SMALL, iterations=1, rates=(4.0,), weight_bound=0.1)
    plan = logistic.TrainingPlan(params, settings)
    batches = batches_of(settings, table)
    assert np.abs(next(logistic.train_clear(settings, batches))).max() > 0.2
    with pytest.raises(NoiseError, match="larger weight_bound"):
        trained(plan, batches)


def test_with_slots(params):
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    values = np.array([0.5, -0.25, 1, 0.125])
    x = ctx.encrypt(values, sk)
    wide = x.with_slots(16)
    assert (x.slots, wide.slots) == (4, 16)
    np.testing.assert_allclose(ctx.decrypt(wide, sk), np.tile(values, 4), atol=2**-25)
    np.testing.assert_allclose(ctx.decrypt(wide.with_slots(4), sk), values, atol=2**-25)
    for wrong in (0, 3, 2048):
        with pytest.raises(ParameterError, match="power of two up to 1024"):
            x.with_slots(wrong)
    integers = hm.Context(hm.bfv.Parameters.for_circuit(1), "cpu")
    with pytest.raises(MismatchError, match="CKKS"):
        integers.encrypt([1, 2], integers.generate_secret_key()).with_slots(4)
