"""Numbers that applications and benchmarks tell, by formulas: times, bounds, bytes, levels and checks."""

import itertools
import statistics
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import hemera as hm
from hemera.cli import main
from hemera_apps import logistic_regression as logistic
from hemera_apps._serve_client import Measured
from hemera_apps.bench import replicas, serve, timing
from hemera_apps.commands import train_logistic
from hemera_apps.demo.model import CLIP, FEATURE_STEPS, IntegerModel
from hemera_apps.logistic_regression import report
from hemera_apps.logistic_regression.clear import within_bounds
from hemera_apps.transformer.approximations import Approximations, Depths, Levels
from hemera_apps.transformer.clear import Ranges


class Clock:
    """Time that passes when something says so: of the clock and of the processors."""

    def __init__(self, monkeypatch):
        self.now = self.processors = 0.0
        clock = SimpleNamespace(perf_counter=lambda: self.now, process_time=lambda: self.processors)
        monkeypatch.setattr(timing, "time", clock)


RUNS = [(9.0, 4.0, 8.0), (1.0, 2.0, 3.0), (3.0, 4.0, 1.0), (2.0, 9.0, 6.0), (7.0, 1.0, 4.0), (1.0, 1.0, 2.0)]
"""Times of each call: seconds until it returns, seconds of the device after that, and of the processors."""


@pytest.mark.parametrize("runs", [1, 3, 5])
def test_the_first_run_does_not_count(monkeypatch, runs):
    clock, left = Clock(monkeypatch), iter(RUNS)
    pending = [100.0]  # work that the device has before

    def action():
        host, device, processors = next(left)
        clock.now += host
        clock.processors += processors
        pending.append(device)

    def synchronize():
        clock.now += sum(pending)
        pending.clear()

    found = timing.timed(SimpleNamespace(synchronize=synchronize), action, runs)
    own = RUNS[1 : runs + 1]
    whole = [host + device for host, device, _ in own]
    assert found == {
        "milliseconds": 1000 * statistics.median(whole),
        "spread": round((max(whole) - min(whole)) / statistics.median(whole), 3),
        "host_milliseconds": 1000 * statistics.median(host for host, *_ in own),
        "processor_milliseconds": 1000 * statistics.median(each[2] for each in own),
    }


@pytest.mark.parametrize(("seconds", "calls"), [(0.5, 1), (28.0, 2), (70.0, 5), (71.0, 5)])
def test_two_actions_take_turns(monkeypatch, seconds, calls):
    """b takes three times as long as a; both get half of the time, in seven rounds of some calls of a."""
    clock, done = Clock(monkeypatch), []

    def advance(name, by):
        clock.now += by
        done.append(name)

    found = timing.alternate(lambda: advance("a", 1.0), lambda: advance("b", 3.0), seconds)
    assert found == (1.0, 3.0, 3.0)
    each = max(1, int(seconds / 14 / 3))
    assert "".join(done) == "aabb" + ("a" * calls + "b" * each) * 7
    done.clear()
    assert timing.median_seconds(lambda: advance("a", 2.0), seconds, rounds=3) == 2.0
    assert len(done) == 2 + 3 * max(1, int(seconds / 3 / 2))


def measured(began, *seconds, answers=(b"right",)):
    ends = began + sum(seconds)
    return Measured(began, ends, list(seconds), [1, 3][: len(seconds)], set(answers))


def test_a_load_is_summed_up():
    clients = [[measured(10.0, 1.0, 3.0), measured(10.5, 0.5)], [measured(12.0, 4.0)]]
    found = serve._summary(clients, 2.0)
    seconds = [1.0, 3.0, 0.5, 4.0]
    assert found == {
        "requests": 4,
        "seconds": 6.0,  # from the first one's begin to the last one's end
        "requests_per_second": round(4 / 6, 2),
        "median_ms": 2000.0,
        "p99_ms": round(1e3 * float(np.percentile(seconds, 99)), 3),
        "longest_ms": 4000.0,
        "compute_ms": 500.0,
        "mean_batch": 1.5,
    }
    told = replicas._numbers(clients, own=3.0, others=2.0, elapsed=6.0, idle=0.5, checked=True)
    assert (told["processor_ms"], told["server_ms"], told["idle_percent"]) == (500.0, 750.0, 50.0)
    assert (told["requests"], told["median_ms"], told["mean_batch"]) == (4, 2000.0, 1.5)


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({}, True),
        ({"answers": {b"near"}}, True),
        ({"answers": {b"right", b"wrong"}}, False),
        ({"answers": set()}, False),
        ({"refused": [429]}, False),  # among others that were answered
        ({"refused": [503], "answers": set()}, False),
    ],
)
@pytest.mark.parametrize("place", [(0, 0), (0, 1), (1, 0)])
def test_every_answer_is_checked(change, right, place):
    values = {b"right": 2.0, b"near": 2.0 + serve._TOLERANCE / 2, b"wrong": 2.0 - 2 * serve._TOLERANCE}
    crowd = object.__new__(serve.Crowd)
    local = SimpleNamespace(decode=lambda value, *_: np.array(value), decrypt=lambda d: values[d["output"]])
    crowd._clients, crowd._expected = [local, local, local], np.array(2.0)
    found = [[measured(0.0, 1.0), measured(0.0, 1.0)], [measured(0.0, 1.0)]]
    client, connection = place
    found[client][connection] = replace(found[client][connection], **change)
    assert crowd.check(found) == right


@pytest.mark.parametrize("bias", [-1000, -3, 0, 3, 1000])
def test_the_bound_of_integer_scores_is_reached(bias):
    weights = np.array([5, -7, 0, 2])
    model = IntegerModel(weights, bias)
    corners = np.array(list(itertools.product([-1, 1], repeat=4))) * int(CLIP * FEATURE_STEPS)
    assert np.abs(model.scores(corners)).max() == model.bound


@pytest.mark.parametrize(("bound", "kept"), [(1.0, 4), (4.0, 4), (4.1, 8), (6.0, 8), (10.0, 16), (16.0, 16)])
def test_settings_nearby_keep_a_bound_that_was_given(bound, kept):
    """Also where those that train well would do with a smaller one."""
    table = logistic.loan_applications(600, 2)
    given = logistic.Settings(25, batch=256, iterations=12, rates=(6.0,), weight_bound=bound)
    batches = logistic.make_batches(given, logistic.Preparation.of(table.features), table, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        assert not np.abs(np.stack(list(logistic.train_clear(given, batches)))).max() <= bound  # it diverges
    found = within_bounds(given, batches)
    assert found.weight_bound == kept
    assert np.abs(np.stack(list(logistic.train_clear(found, batches)))).max() <= 0.9 * min(4, kept)
    easy = replace(given, rates=(0.5,))
    assert within_bounds(easy, batches) is easy


@pytest.mark.parametrize("method", ["nesterov", "gradient"])
@pytest.mark.parametrize(("iterations", "every", "count"), [(1, 1, 0), (2, 1, 1), (5, 2, 2), (4, 2, 1)])
def test_a_plan_of_a_training_tells_its_bytes(method, iterations, every, count):
    settings = logistic.Settings(7, batch=64, iterations=iterations, method=method)
    levels = every * settings.depth + 1
    plan = logistic.TrainingPlan(
        hm.ckks.Parameters.for_bootstrapping("test-40", levels=levels), settings, bootstrap_every=every
    )
    assert plan.bootstraps == len([number for number in range(1, iterations) if number % every == 0]) == count
    told, costs = plan.as_dict(), [*plan.costs, plan.bootstrap_cost]
    assert len(costs) == every + 1
    assert told["bytes"]["workspace"] == max(cost.workspace_bytes for cost in costs)
    # A bootstrap takes more than an iteration, and less is no room for it.
    assert plan.bootstrap_cost.workspace_bytes > max(cost.workspace_bytes for cost in plan.costs)
    client = logistic.Client(plan, device="cpu")
    assert told["bytes"]["keys"] == client.keys().memory_bytes
    first = told["levels"][0]
    assert told["levels"] == [first - at * settings.depth for at in range(every)]
    assert told["lowest_level"] <= told["levels"][-1] - settings.depth


@pytest.mark.parametrize(
    ("exponential", "gelu", "inverse", "roots", "levels"),
    [
        # base, fresh, attention, values, centred, top
        (4, 4, 8, (6, 8), Levels(2, 11, 11, 5, 10, 13)),
        (1, 4, 8, (6, 8), Levels(2, 11, 8, 5, 10, 13)),  # the layer norm comes one level below the input
        (4, 7, 8, (6, 8), Levels(2, 14, 11, 5, 13, 16)),
        (4, 1, 8, (9, 8), Levels(2, 13, 11, 5, 12, 15)),  # the first inverse root decides
        (4, 4, 20, (6, 8), Levels(2, 11, 11, 5, 10, 23)),
        (4, 4, 8, (6, 30), Levels(2, 11, 11, 5, 10, 33)),
    ],
)
def test_levels_of_a_block(exponential, gelu, inverse, roots, levels):
    functions = object.__new__(Approximations)
    functions.depths = Depths(exponential, gelu, inverse, roots)
    found = functions.levels(2)
    assert found == levels
    assert found.fresh >= found.centred + 1
    assert found.fresh >= found.attention
    assert found.centred >= 2 + 1 + roots[0]


# --- Reports. ---


@pytest.mark.parametrize(
    ("difference", "status"), [(0.0, 0), (1e-3, 0), (1.01e-3, 1), (0.5, 1), (float("nan"), 1)]
)
def test_weights_that_are_far_from_the_clear_ones_fail(difference, status, monkeypatch, capsys):
    monkeypatch.setattr(train_logistic.whole, "run", lambda *_, **__: SimpleNamespace(difference=difference))
    monkeypatch.setattr(report, "show", lambda *_: None)
    assert main(["train-logistic", "--small", "--rows", "200"]) == status
    assert ("see --interval, --weight-bound and --rates" in capsys.readouterr().err) == bool(status)


@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_ranges_are_those_seen_and_a_margin(margin):
    random = np.random.default_rng(5)
    signed = ("scores", "mixed", "hidden", "centred2")
    trace = {name: random.normal(size=(2, 3)) for name in signed}
    trace |= {name: random.uniform(1, 5, (2, 3)) for name in ("sums", "variance1", "variance2")}
    found, more = Ranges.seen(trace, margin), 1 + margin
    largest = {name: max(abs(float(value)) for value in trace[name].ravel()) for name in signed}
    assert (found.score, found.mixed, found.hidden, found.centred) == pytest.approx(
        tuple(more * each for each in largest.values())
    )
    ends = {
        name: (trace[name].min() / more, trace[name].max() * more) for name in trace if name not in signed
    }
    low, high = ends["sums"]
    assert found.sums == pytest.approx((low, high * np.exp(margin * largest["scores"] / 2)))
    assert found.variances == (pytest.approx(ends["variance1"]), pytest.approx(ends["variance2"]))
