"""What plans hand on: to servers, to counts of costs, and to clients in this process."""

import functools
import re
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse

import hemera as hm
from hemera.compiler.attempts import told
from hemera.compiler.packaged import Local
from hemera.errors import MismatchError, ParameterError
from hemera.package.local_model import LocalModel

SPEC = hm.ArraySpec((4,), (0, 1))


def plan_of(**options):
    return hm.compile(lambda x: x * 0.5, SPEC, security=None, name="half", **options)


def test_serve_hands_on_each_setting(tmp_path, monkeypatch):
    served = []

    def serve(given):
        names = [each.name for each in tmp_path.rglob("*.hemera-model")]
        served.append((names, given.home, given.device, given.batch, given.host, given.port))
        return 7

    monkeypatch.setattr("hemera.serving.at_home.serve_home", serve)
    assert plan_of().serve(tmp_path, host="::1", port=0, device="cuda:*", batch=8) == 7
    assert plan_of().serve(tmp_path) == 7
    assert served == [
        (["half.hemera-model"], tmp_path, "cuda:*", 8, "::1", 0),
        (["half.hemera-model"], tmp_path, "auto", 32, "127.0.0.1", 8000),
    ]


def test_each_device_has_its_own_cost():
    plan = plan_of()
    devices = [None, "cpu-avx512-16", "nvidia-h200", None, "cpu-avx512-16"]
    found = [plan.cost(device).seconds for device in devices]
    alone = [plan.package.cost(device=device).seconds for device in devices]
    assert found == alone
    assert found[0] is None
    assert found[1] != found[2]
    assert plan.cost("nvidia-h200") is plan.cost("nvidia-h200")


def test_what_has_no_sharing_says_why():
    with pytest.raises(ParameterError, match=r"'half' are for the key's owner alone.*share=True"):
        _ = plan_of().sharing
    exact = hm.compile(lambda x: x * 2, hm.ArraySpec((4,), (0, 1)), scheme="bfv", name="twice")
    with pytest.raises(ParameterError, match="'twice' are exact: they have no errors"):
        _ = exact.sharing


def test_local_models_take_one_array_or_several_and_no_others():
    two = hm.compile(lambda x, y: x - 2 * y, SPEC, SPEC, security=None)
    local = two.local(threads=1)
    x, y = np.linspace(0, 1, 8).reshape(2, 4), np.linspace(1, 0, 8).reshape(2, 4)
    for found in (local(x, y), local([x, y]), local({"y": y, "x": x})):
        np.testing.assert_allclose(found, x - 2 * y, atol=2.0**-12)
    np.testing.assert_allclose(local(x[0], y[0]), x[0] - 2 * y[0], atol=2.0**-12)
    assert np.shape(plan_of().local(threads=1)([[1, 0, 1, 0]])) == (1, 4)  # a list of one row is one row
    for run in (plan_of().local(threads=1), plan_of().evaluate_clear):
        with pytest.raises(MismatchError, match="2 arrays were given, and the program has 1 input; several"):
            run(x[0], y[0])
    for wrong in ((np.ones((3, 4)),), (np.ones((2, 4)),), (x, y, x), (x, y[:, :3])):
        with pytest.raises(hm.errors.Error):
            local(*wrong)
    seen = []
    watched = Local(plan_of().package, threads=1, watch=lambda *given: seen.append(given))
    watched(x)
    assert [count for _, count in seen] == [None]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.ones(4), (4,)),
        (np.ones((2, 4)), (2, 4)),
        ([np.ones(4)], (4,)),  # a sequence of arrays, one an input
        ({"x": np.ones((1, 4))}, (1, 4)),
        ([1, 1, 1, 1], (4,)),
        ([[1, 1, 1, 1]], (1, 4)),  # as np.array has it
        ([[1, 1, 1, 1]] * 3, (3, 4)),
        ([np.ones(4)] * 2, "2 arrays were given, and the model has 1 input; several samples are one array"),
        ({"x1": np.ones(4)}, "the model has the inputs x, not x1"),
        (np.ones((1, 4)).view(np.matrix), "x: np.matrix has products of its own"),
    ],
)
def test_clients_are_as_strict_as_plans(given, told):
    package = plan_of().package
    client = LocalModel(package.interface, security=None)

    def predicted(rows):
        """What `hm.Client.predict` gives, with a server that computes in the clear."""
        arrays, single = client.encode(rows)
        return client.decode(package.program.evaluate_clear(arrays), single, client.interface.count(rows))

    for call in (predicted, package.evaluate_clear):
        if isinstance(told, str):
            with pytest.raises((MismatchError, TypeError), match=re.escape(told)):
                call(given)
        else:
            np.testing.assert_allclose(call(given), np.full(told, 0.5))


def test_sparse_arrays_and_too_few_slots_are_refused():
    with pytest.raises(TypeError, match=r"x: it is sparse; give values\.toarray\(\)"):
        plan_of().evaluate_clear(sparse.csr_matrix(np.ones((1, 4))))
    for slots in (np.zeros(3), np.float64(1)):
        with pytest.raises(MismatchError, match="output: decrypted values of 4 slots, not"):
            plan_of().package.interface.decode([slots])


def test_inputs_of_one_name_are_refused():
    """One would stand in the other's place, in a dict and in a request."""
    named = hm.ArraySpec((4,), (0, 1), name="x1")
    with pytest.raises(MismatchError, match="two inputs of one name: 'x1'"):
        hm.compile(lambda x, y: x - y, named, named, security=None)


def risk(income, *others):
    return sum(others, income)


NAMED = hm.ArraySpec((4,), (0, 1), name="x1")


@pytest.mark.parametrize(
    ("what", "specs", "names"),
    [
        (lambda income, debt: income - debt, (SPEC, SPEC), ["income", "debt"]),
        (lambda income, debt: income - debt, (SPEC, NAMED), ["income", "x1"]),
        (risk, (SPEC, NAMED, SPEC), ["income", "x1", "x2"]),
        (risk, (SPEC, SPEC, NAMED), ["income", "x1_", "x1"]),
        (functools.partial(risk, 1.0), (SPEC, SPEC), ["x", "x1"]),
        (functools.partial(lambda rate, debt: rate * debt, 0.5), (SPEC,), ["debt"]),
        (np.negative, (SPEC,), ["x"]),
    ],
)
def test_inputs_are_named_as_parameters_are(what, specs, names):
    """In plans, in interfaces that clients of other languages read, in tables and in errors."""
    plan = hm.compile(what, *specs, security=None)
    assert [each.name for each in plan.inputs] == names
    assert [each["name"] for each in plan.package.interface.describe()["inputs"]] == names
    assert [f"input {name}" in plan.report() for name in names] == [True] * len(names)
    given = {name: np.full(4, 0.25) for name in names}
    np.testing.assert_allclose(plan.evaluate_clear(given), what(*given.values()), atol=2.0**-12)
    with pytest.raises(ParameterError, match=f"{names[0]}: the model is for values from 0"):
        plan.evaluate_clear({**given, names[0]: np.full(4, 2.0)})


@pytest.mark.parametrize("fails", [False, True])
def test_progress_ends_with_its_compilation(fails):
    """Also where the user's function ends it; another compilation within has its own."""
    stages = []

    def progress(stage, *_):
        stages.append(stage)
        if fails and stage == "lower":
            raise KeyboardInterrupt

    def study(x):
        plan_of(progress=lambda *_: None)
        return x * 0.5

    with pytest.raises(KeyboardInterrupt) if fails else nullcontext():
        hm.compile(study, SPEC, security=None, progress=progress)
    assert stages[:3] == ["trace", "trace", "lower"]
    assert ("package" in stages) != fails
    seen = len(stages)
    told("trace", 0, 1)
    plan_of()
    assert len(stages) == seen


def test_facts_of_the_table_for_notebooks():
    plan = hm.compile(lambda x: {"a": x * 0.5, "b": x.sum()}, SPEC, samples=4, security=None)
    facts = plan._html_facts()
    assert facts["samples in a ciphertext"] == 4
    assert facts["slots"] == plan.slots == 16
    assert facts["input x"] == "shape (4,), from 0 to 1"
    assert (facts["result a"], facts["result b"]) == ("shape (4,)", "shape ()")
    assert facts["depth"] == plan.depth == 1
    two = hm.compile(lambda x, y: x + y, SPEC, hm.ArraySpec((4,), (-2.5, 7)), security=None)._html_facts()
    assert [two[f"input {name}"] for name in ("x", "y")] == [facts["input x"], "shape (4,), from -2.5 to 7"]
    counts = plan.package.program.operations
    assert facts["operations"] == ", ".join(f"{count} {kind}" for kind, count in counts.items())
