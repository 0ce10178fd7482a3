"""Levels, keys and costs of training and of trees, counted without values, and as they run."""

from dataclasses import replace

import numpy as np
import pytest

import hemera as hm
from hemera import _core
from hemera.objects.calibration import TimedContext
from hemera.trees import Quantiser
from hemera.trees.ensemble import random_ensemble
from hemera_apps import logistic_regression as logistic
from hemera_apps.trees.sides import packaged

pytestmark = pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")

SMALL = logistic.Settings(features=7, batch=64, iterations=9, rates=(0.6,))
TRAININGS = {
    "several levels": (None, SMALL),
    "several ciphertexts": (5, replace(SMALL, batch=300)),
    "gradient descent": (5, replace(SMALL, method="gradient")),
    "several models": (5, replace(SMALL, rates=(0.2, 1.0, 0.6))),
    "another degree": (5, replace(SMALL, degree=7)),
}


def training(name):
    levels, settings = TRAININGS[name]
    fields = {} if levels is None else {"levels": levels}
    return logistic.TrainingPlan(hm.ckks.Parameters.for_bootstrapping("test-40", **fields), settings)


class Training:
    """A server on the CPU, where operations are counted while they run, with mini-batches of zeros."""

    def __init__(self, plan, keys=None):
        self.plan = plan
        self.ctx = TimedContext(plan.params, "cpu", threads=1)
        self.client = logistic.Client(plan, device="cpu")
        self.client._context = self.ctx
        self.client._secret_key = self.ctx.generate_secret_key()
        if keys is not None:
            made = _core.generate_needed_keys(self.client._secret_key._native, keys)
            keys = hm.Keys(made, self.ctx)
        self.keys = keys or self.client.keys()
        self.server = logistic.Server(plan, self.ctx, self.keys, capture=False)
        own = plan.settings
        self.server.add_batch(self.client.encrypt(np.zeros((own.batch, own.width))))
        start = self.client.start().to(self.server._evaluator).with_slots(plan.slots)
        self.states = [self.server._evaluator.at_level(start, plan.iterations[0].level)]
        """Before each iteration, and before the bootstrap."""
        for position in range(plan.bootstrap_every):
            self.states.append(self.iterate(position))

    def iterate(self, position):
        self.server._scaled = None
        return self.server._advanced(self.states[position], self.plan.bootstrap_every + position)

    def counted(self, step):
        """The operations of a step, and the peak of its memory."""
        step()
        self.server._scaled = None
        native = self.ctx._native
        _core.clear_ledger(native)
        native.reset_memory_peak()
        before = native.memory_used
        result = step()
        peak = native.memory_peak - before
        assert result.shape == ()
        return _core.counted_cost(native), peak


@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.fact_of_the_cpu("bytes of the CPU's keys and workspaces")
def test_an_iteration_and_a_bootstrap_are_counted_as_they_run(name):
    """z v, the polynomial with its mask, and the product with the gradient's z take levels."""
    plan = training(name)
    run, own = Training(plan), plan.settings
    start = plan.bootstrap.input_level + plan.bootstrap_every * own.depth
    for position, (counted, one) in enumerate(zip(plan.costs, plan.iterations, strict=True)):
        found, peak = run.counted(lambda position=position: run.iterate(position))
        assert counted._cost.calls == found.calls
        assert counted._cost.calls
        assert counted.workspace_bytes == peak
        assert {**counted.operations, "rotations": None} == {**plan.operations(position), "rotations": None}
        level = start - position * own.depth
        after = level - 1 - own.sigmoid.depth
        assert (run.states[position].level, one.level, one.result_level) == (level, level, level - own.depth)
        assert (one.scores.level, one.sigmoid.level, one.copies.level) == (level - 1, level - 1, after)
        assert (one.gradient_level, one.gradient.level) == (after, after - 1)
    assert run.states[-1].level == plan.bootstrap.input_level
    found, peak = run.counted(lambda: run.server._bootstrap(run.states[-1]))
    assert plan.bootstrap_cost._cost.calls == found.calls
    assert plan.bootstrap_cost.workspace_bytes == peak


def whole_training(plan, needs):
    """All iterations from one bootstrap to the next, and the bootstrap."""
    run = Training(plan, needs)
    run.server._bootstrap(run.states[-1])


def test_training_has_the_keys_that_it_asks_for_and_none_is_spare():
    plan = training("gradient descent")
    needs = plan.cost.needed_keys
    assert Training(plan).keys.memory_bytes == plan.key_bytes == plan.cost.key_bytes
    lacking = 0
    for at in range(0, len(needs), 3):
        if needs[at].kind.endswith("ephemeral"):
            continue
        with pytest.raises((hm.errors.MissingKeyError, hm.errors.LevelError)):
            whole_training(plan, [*needs[:at], *needs[at + 1 :]])
        lacking += 1
    assert lacking > 8


def test_seconds_of_training_are_those_of_the_table(refuse):
    plan = training("several levels")
    found = plan.seconds("cpu-avx2-16")
    assert len(found["iteration_by_level"]) == 3
    # Keys and ciphertexts are smaller from one iteration to the next.
    assert found["iteration_by_level"][0] > found["iteration_by_level"][2] > 0
    assert found["bootstrap"] > found["iteration_by_level"][0]
    refuse((lambda: plan.seconds("none"), hm.errors.DeviceError, "hemera calibrate"))


def small(primes=5):
    return hm.bfv.Parameters.from_bits(
        degree=2048, plain_modulus=786433, prime_bits=[50] * primes, special_bits=[50], security=None
    )


def test_stumps_need_no_products():
    model = random_ensemble(1, 4, 1, feature_count=3, levels=3, seed=2)
    quantiser, rows = Quantiser.of_levels(3, 3), np.array([[0, 1, 2], [2, 1, 0]])
    own = packaged(model, quantiser, samples=4, workload="packed", parameters=small())
    assert own.package.interface.keys.relinearization is None
    slots = np.asarray(own.package.program.evaluate_clear([own.encoded(rows)], 786433)[0])
    np.testing.assert_array_equal(own.unpacked(slots, 2), own.model.scores(rows))
