"""Ways out that refusals name: each is followed as it is told, and the program then has its bits. The judge
is NumPy in float64 on encrypted inputs."""

import ast
import dataclasses
import math
import re

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import hemera as hm
from hemera import errors

from .onnx_models import model, node

ROOM = 0.75


def z_scores(x, more=0):
    return (x - x.mean()) / np.sqrt(x.var() + more)


def standardized(x, more=0):
    spread = x.std() if not more else np.sqrt(x.var() + more)
    return (x - x.mean()) / spread


def cosine(x, y, more=0):
    return x @ y / (np.sqrt(x @ x + more) * np.sqrt(y @ y + more))


def weighted(x, w, more=0):
    return (x * w).sum() / (w.sum() + more)


def slope(x, y, more=0):
    apart = x - x.mean()
    return (apart * (y - y.mean())).sum() / ((apart**2).sum() + more)


def logarithm(x, more=0):
    return np.log(x + more)


def root(x, more=0):
    return np.sqrt(x + more)


CASES = {
    "z-scores": (z_scores, [(0, 100)], {}, {"number", "samples"}),
    "standardized": (standardized, [(0, 100)], {}, {"number", "samples"}),
    "cosine": (cosine, [(-1, 1)] * 2, {}, {"number", "samples"}),
    "weighted mean": (weighted, [(0, 1)] * 2, {}, {"number", "samples", "range"}),
    "slope": (slope, [(0, 10), (0, 100)], {}, {"number", "samples"}),
    "logarithm": (logarithm, [(0, 4)], {}, {"number", "range"}),
    "logarithm near 0": (logarithm, [(1e-9, 4)], {}, {"number", "range"}),
    "root of 22 bits": (root, [(0, 4)], {"precision_bits": 22}, {"number", "range", "bits"}),
    "inverse sine": (np.arcsin, [(-1, 1)], {}, {"bits"}),
}
SHAPE = (16,)
ADDED = r"([\d.e+-]+) added (?:to the divisor |below the root )?in test_ways_out.py:\d+"


def refusal(function, ends, options):
    with pytest.raises((errors.RangeError, errors.PrecisionError)) as told:
        hm.compile(function, *(hm.ArraySpec(SHAPE, range=own) for own in ends), security=None, **options)
    return str(told.value)


def assert_has(function, ends, bits, **options):
    specs = [hm.ArraySpec(SHAPE, range=own) for own in ends]
    plan = hm.compile(function, *specs, security=None, precision_bits=bits, **options)
    run, random = plan.local(threads=1), np.random.default_rng(5)
    rows = [[random.uniform(*own, SHAPE) for own in ends] for _ in range(3)]
    pairs = [(np.asarray(run(*each)), function(*each)) for each in rows]
    size = max(np.abs(wanted).max() for _, wanted in pairs)
    error = max(np.abs(found - wanted).max() for found, wanted in pairs)
    assert -math.log2(error / size) >= bits - ROOM


@pytest.mark.parametrize("name", CASES)
def test_ways_out_are_ways_out(name):
    function, ends, options, kinds = CASES[name]
    message = refusal(function, ends, options)
    told = message.partition("These were tried, and compile: ")[2]
    bits, found = options.get("precision_bits", 16), set()
    for way in told.split("; "):
        if number := re.match(ADDED, way):
            found.add("number")
            more = float(number[1])
            assert 0 < more <= 2
            assert_has(lambda *x, more=more: function(*x, more), ends, bits)
        elif way.startswith("calibrate="):
            found.add("samples")
            drawn = [np.random.default_rng(9).uniform(*own, (64, *SHAPE)) for own in ends]
            assert_has(function, ends, bits, calibrate=drawn)
        elif fewer := re.fullmatch(r"precision_bits=(\d+)", way):
            found.add("bits")
            assert_has(function, ends, int(fewer[1]))
            refusal(function, ends, {"precision_bits": int(fewer[1]) + 1})  # they are the most
        else:
            found.add("range")
            narrower = re.findall(r"range=\(([\d.e+-]+), ([\d.e+-]+)\)", way)
            assert_has(function, [(float(low), float(high)) for low, high in narrower], bits)
    assert found == kinds


def test_no_number_is_told_where_values_have_both_signs():
    message = refusal(lambda x: x[0] / (x[1] - x[2]), [(0, 4)], {})
    assert "the range has 0 in it" in message
    assert "added" not in message


def test_roots_of_values_that_may_be_below_0_take_a_maximum():
    def risk(w, c, of=lambda x: x):
        return np.sqrt(of(w @ c @ w))

    specs = hm.ArraySpec(3, range=(0, 1)), hm.ArraySpec((3, 3), range=(-1, 1))
    with pytest.raises(errors.RangeError, match=r"sqrt of values from -9 on") as told:
        hm.compile(risk, *specs, security=None)
    way = r"compile: np.sqrt\(np.maximum\(x, 0\) \+ ([\d.e+-]+)\) in test_ways_out.py:\d+"
    more = float(re.search(way, str(told.value))[1])
    assert 0 < more <= 9 * 2.0**-9
    followed = lambda w, c: risk(w, c, lambda x: np.maximum(x, 0) + more)  # noqa: E731
    run = hm.compile(followed, *specs, security=None).local(threads=1)
    for w in (np.ones(3), np.zeros(3), np.array([0.5, 0.25, 0.25])):
        for c in (np.eye(3), -np.eye(3), np.ones((3, 3)), np.zeros((3, 3))):
            assert abs(float(run(w, c)) - followed(w, c)) <= 2.0 ** (ROOM - 16) * 3


def test_what_is_tried_is_told_to_nobody():
    told = []
    with pytest.raises(errors.RangeError, match="These were tried"):
        hm.compile(
            z_scores,
            hm.ArraySpec(SHAPE, range=(0, 1)),
            security=None,
            progress=lambda stage, *_: told.append(stage),
        )
    assert told.count("trace") <= 6  # of the program that was asked for, with more bits, too


def test_samples_that_were_given_are_no_way_out():
    samples = np.zeros((8, *SHAPE))
    with pytest.raises(errors.RangeError) as told:
        hm.compile(z_scores, hm.ArraySpec(SHAPE, range=(0, 1)), calibrate=samples, security=None)
    assert "calibrate= of" not in str(told.value)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x > 3).sum(),
        lambda x: np.argmax(x),
        lambda x: np.where(x >= 3, x, 0 * x),
        lambda x: np.digitize(x, [1, 3]).sum(),
    ],
)
def test_steps_are_ways_out_of_comparisons(function):
    spec = hm.ArraySpec((6,), range=(0, 8))
    with pytest.raises(TypeError, match="known step") as told:
        hm.compile(function, spec, security=None)
    step = float(re.search(r"compile: step=([\d.]+), where values are multiples of it", str(told.value))[1])
    plan = hm.compile(function, dataclasses.replace(spec, step=step), security=None)
    x = np.array([3.0, 3 + step, 3 - step, 0.0, 8.0, 8 - step])
    for rows in (x, x[::-1]):
        np.testing.assert_allclose(plan.local(threads=1)(rows), function(rows), atol=2.0**-8)


TABLE = {"cost": np.arange(11.0), "days": 90 - 9 * np.arange(11.0), "sex": np.array(list("mfmfmfmfmfm"))}
TABLE_RANGES = {"cost": (0, 10), "days": (0, 90)}


@pytest.mark.parametrize(
    ("study", "options", "told"),
    [
        (lambda t, more=0: np.log(t.cost + more).mean(), {}, ADDED),
        (lambda t: np.sqrt(t.cost).mean(), {"precision_bits": 24}, r"(precision_bits=\d+)"),
        (lambda t: t[t.cost > 5].days.mean(), {}, r"(steps=\{.*\})"),
    ],
)
def test_ways_out_of_tables(study, options, told):
    spec = hm.TableSpec.of(TABLE, ranges=TABLE_RANGES)
    with pytest.raises((errors.RangeError, errors.PrecisionError, TypeError)) as refused:
        hm.compile(study, spec, security=None, **options)
    way = re.search(told, str(refused.value).partition("compile: ")[2])[1]
    if way.startswith("steps="):
        spec = hm.TableSpec.of(TABLE, ranges=TABLE_RANGES, steps=ast.literal_eval(way[6:]))
        frame, wanted, bits = TABLE, TABLE["days"][TABLE["cost"] > 5].mean(), 12
    elif way.startswith("precision"):
        options, frame, wanted = {"precision_bits": int(way[15:])}, TABLE, np.sqrt(TABLE["cost"]).mean()
        bits = options["precision_bits"]
    else:
        more, own, frame, bits = float(way), study, TABLE, 16
        study, wanted = (lambda t: own(t, more)), np.log(TABLE["cost"] + more).mean()
    found = hm.compile(study, spec, security=None, **options).local(threads=1)(frame)
    assert abs(float(found) - wanted) <= 2.0 ** (ROOM - bits) * max(1, abs(wanted))


def test_ways_out_of_networks_and_estimators():
    """They have no lines of the user's that numbers could be added to."""
    x = np.linspace(0.0156, 1, 8).reshape(2, 4)
    network = model([node("Log", ["x"], ["y"])])
    with pytest.raises(errors.RangeError, match=r"range=\(0.0156, 1\)") as refused:
        hm.compile(network, hm.ArraySpec(4, range=(0, 1)), security=None)
    assert "compile: calibrate= of samples" in str(refused.value)
    assert re.search(ADDED, str(refused.value)) is None
    plan = hm.compile(network, hm.ArraySpec(4, range=(0.0156, 1)), security=None)
    np.testing.assert_allclose(plan.local(threads=1)(x), np.log(x), atol=2.0**-13)
    rows = np.random.default_rng(3).normal(size=(40, 3))
    estimator = make_pipeline(StandardScaler(), SVC()).fit(rows, rows[:, 0] > 0)
    with pytest.raises(errors.PrecisionError) as lacking:
        hm.compile(estimator, calibrate=rows, precision_bits=44, security=None)
    bits = int(re.search(r"compile: precision_bits=(\d+)", str(lacking.value))[1])
    plan = hm.compile(estimator, calibrate=rows, precision_bits=bits, security=None)
    found, wanted = plan.local(threads=1).decision_function(rows), estimator.decision_function(rows)
    assert np.abs(found - wanted).max() <= 2.0 ** (ROOM - bits) * np.abs(wanted).max()
