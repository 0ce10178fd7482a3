"""Exact programs as packaged models: the plan, its check, files, servers, and what inputs are encoded."""

import functools

import numpy as np
import pytest

import hemera as hm
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.package.encodings import Arrays, encoding_from_data
from hemera.serving import Package
from hemera.serving.home import Home

from ..refusals import raises
from ..serving.conftest import client_of
from ..serving.conftest import serving as running
from .exact_cases import Spec, assert_equal, both_schemes


def survey(answers):
    return {"counts": np.histogram(answers, [1, 2, 3, 4, 5, 6])[0], "high": (answers > 3).sum()}


@functools.cache
def plan_of(scheme):
    return hm.compile(survey, Spec((30,), (1, 5)), scheme=scheme, security=None, name="survey")


def answers(count, seed=1):
    return np.random.default_rng(seed).integers(1, 6, (count, 30))


@both_schemes
def test_the_plan_states_what_it_is(scheme):
    plan = plan_of(scheme)
    assert plan.outputs == {"counts": (5,), "high": ()}
    assert plan.inputs[0].step == 1
    assert plan.slots == plan.params.max_slots
    report = plan.report()
    assert "look-up of 5 values" in report
    assert "test_exact_models.py:" in report
    assert plan.cost().report()
    with pytest.raises(ParameterError, match="are exact: they have no errors"):
        _ = plan.sharing


def test_check_compares_without_rounding():
    plan = plan_of("bfv")
    found = plan.check(answers(4), encrypted=2, threads=1)
    assert (found.samples, found.encrypted, found.error, found.clear_error) == (4, 2, 0, 0)
    assert "exactly equal" in str(found)
    plan._function = lambda x: {**survey(x), "high": (x > 3).sum() + 1}
    try:
        assert plan.check(answers(1), threads=1).error == 1
        plan._function = lambda x: {**survey(x), "high": (x > 3)}
        raises(MismatchError, "other shapes", lambda: plan.check(answers(1), encrypted=0))
    finally:
        plan._function = survey
    large = hm.compile(lambda x: x * 2**40, Spec((1,), (0, 2**15)), scheme="bfv", security=None)
    large._function = lambda x: x * 2**40 + 1
    # As numbers of float64 the results would be equal.
    assert large.check(np.full((1, 1), 2**15), threads=1).error == 1


@both_schemes
def test_files(scheme, tmp_path):
    plan = plan_of(scheme)
    plan.save(tmp_path / "survey.hemera-model")
    again = Package.load(tmp_path / "survey.hemera-model")
    assert again.to_bytes() == plan.package.to_bytes()
    x = answers(1)[0]
    assert_equal(again.evaluate_clear(x), survey(x))
    context = hm.Context(again.params, threads=1)
    sk = context.generate_secret_key()
    model = again.prepare(context)
    slots = again.interface.encode(x)[0]
    assert slots.dtype == np.int64
    given = context.encrypt(context.encode(slots), sk)
    results = model.run(again.generate_keys(context, sk), [given])
    assert_equal(again.interface.decode([context.decrypt(each, sk) for each in results]), survey(x))


def test_a_server(tmp_path):
    plan_of("bfv").save(tmp_path / "survey.hemera-model")
    home = Home(tmp_path / "home")
    home.add_model(tmp_path / "survey.hemera-model")
    token = home.clients.add("clinic")
    x = answers(3)
    with running(home) as server, client_of(server.url, token) as client:
        found = client.predict("survey", x)
        for at in range(3):
            assert_equal({name: value[at] for name, value in found.items()}, survey(x[at]))
        raises(ParameterError, r"values from 1\.0 to 5\.0", lambda: client.predict("survey", x + 1))


def test_encodings_take_whole_numbers_alone():
    plan = hm.compile(lambda x: x > 6, Spec((2,), (-12, 12), step=3), scheme="bfv", security=None)
    interface = plan.package.interface
    for given in ([3, 9], [3.0, 9.0], np.array([3, 9], np.uint8), np.array([3, 9], object)):
        assert interface.encode(np.asarray(given))[0].dtype == np.int64
    for wrong in (
        [3, 1],
        [3, 1.5],
        [3, 15],
        [3, np.nan],
        [3, 2**70],
        [3, np.inf],
        ["a", "b"],
        [3, 1j],
        [3, None],
    ):
        raises(ParameterError, r"^x: ", interface.encode, np.asarray(wrong))
    raises(MismatchError, "", interface.encode, np.zeros(3, int))


def test_damaged_encodings_are_refused():
    data = plan_of("bfv").package.interface.encoding.to_data()
    read = encoding_from_data(data, (), ())
    assert isinstance(read, Arrays)
    assert (read.whole, read.to_data()) == (True, data)
    for steps in ([], [1, 1], [0], [1.5], ["1"]):
        with pytest.raises((FormatError, ParameterError, TypeError)):
            encoding_from_data({**data, "steps": steps}, (), ())
