"""Warnings name the rows that leave the ranges of samples, and none is silently wrong: the judge is NumPy."""

import contextlib
import re
import warnings

import numpy as np
import pytest

import hemera as hm
from hemera.errors import FormatError, NoiseError, RangeWarning
from hemera.package.encodings import Arrays, Table
from hemera.package.interface import Interface
from hemera.package.local_model import LocalModel
from hemera.serving import Package
from hemera.serving.home import Home

from ..refusals import raises
from ..serving.conftest import client_of
from ..serving.conftest import serving as running

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=12)
WEIGHTS /= np.linalg.norm(WEIGHTS)
SAMPLES = RNG.normal(size=(100, 12))
BITS = 10


def tanh(x):
    return np.tanh(2 * (x @ WEIGHTS))


def sigmoid(x):
    return 1 / (1 + np.exp(-2 * (x @ WEIGHTS)))


def root(x):
    return np.sqrt((x @ WEIGHTS) ** 2 + 0.1)


FUNCTIONS = [tanh, sigmoid, root]


def compiled(function=tanh, **options):
    own = {"calibrate": SAMPLES, "precision_bits": BITS, "security": None, **options}
    return hm.compile(function, SAMPLES[0], **own)


def told(run, *rows):
    """A result, and what warnings said."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        found = run(*rows)
    return found, [str(each.message) for each in given if each.category is RangeWarning]


def named(texts):
    """The rows that warnings name; of many the first."""
    found = set()
    for text in texts:
        numbers = re.match(r"rows? ([\d, ]+)", text)
        assert numbers is not None, text
        found.update(int(each) for each in numbers[1].replace(" ", "").strip(",").split(","))
    return found


def run_until_refused(plan, rows):
    """Results that wrapped are refused where nothing is watched: after warnings."""
    with contextlib.suppress(NoiseError):
        plan.local(threads=1)(rows)


def spread(count=8):
    """Rows inside of the range of each feature, whose projections go from far below to far above those of the
    samples."""
    rows = np.sign(WEIGHTS) * np.linspace(-2.8, 2.8, count)[:, None]
    return np.clip(rows, SAMPLES.min(), SAMPLES.max())


def limits_of(plan):
    found = [(each.low, each.high) for each in plan.package.outputs if each.watched]
    assert found
    return [(float(low or 0), float(high or 0)) for low, high in found]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("samples", [1, 4])
def test_no_wrong_row_is_silent(function, samples):
    plan, rows = compiled(function, samples=samples), spread()
    found, texts = told(plan.local(threads=1), rows)
    error = np.abs(found - function(rows))
    wrong = set(np.flatnonzero(~(error <= 4 * 2.0**-BITS)).tolist())
    assert named(texts) >= wrong
    assert wrong or function is root
    if samples == 1:  # else rows of one ciphertext are named together where its results wrapped
        clear, clear_texts = told(plan.evaluate_clear, rows)
        assert named(clear_texts) == named(texts)
        right = sorted(set(range(len(rows))) - named(texts))
        np.testing.assert_allclose(clear[right], function(rows[right]), atol=4 * 2.0**-BITS)


@pytest.mark.parametrize("function", [np.maximum, np.minimum, lambda x, y: np.maximum(y, x)])
def test_rows_are_told_by_each_operand(function):
    """Both operands have one interval; a row leaves it by either."""

    halves = np.concatenate([SAMPLES[:50, :6], SAMPLES[:50, :6]], axis=1)
    weights = np.concatenate([WEIGHTS[:6], WEIGHTS[:6]])

    def alike(x):
        return function(x[:6] @ weights[:6], x[6:] @ weights[6:])

    plan = hm.compile(alike, halves[0], calibrate=halves, precision_bits=6, security=None)
    far = np.clip(2.9 * np.sign(weights[:6]), halves.min(), halves.max())
    rows = np.stack([halves[0], np.concatenate([far, 0 * far]), np.concatenate([0 * far, far]), halves[1]])
    for run in (plan.local(threads=1), plan.evaluate_clear):
        _, texts = told(run, rows)
        assert named(texts) == {1, 2}


@pytest.mark.parametrize("watch", [True, False])
def test_rows_are_told_by_both_operands_of_one_interval(watch):
    larger = hm.circuits.compare(gap=0.5, largest=4.0)

    def program(x, y):
        return (2 * x).apply(larger, 2 * y)

    specs = hm.ArraySpec((3,), range=(-3, 3)), hm.ArraySpec((3,), range=(-3, 3))
    calibrate = np.full((2, 3), [[-1.9], [1.9]]), np.full((2, 3), [[1.9], [-1.9]])
    plan = hm.compile(program, *specs, calibrate=calibrate, precision_bits=6, security=None, watch=watch)
    inside, outside = np.full(3, 1.5), np.array([1.5, 2.5, 1.5])
    x, y = np.stack([inside, outside, inside]), -np.stack([inside, inside, outside])
    _, texts = told(plan.local(threads=1), x, y)
    assert named(texts) == {1, 2}


@pytest.mark.parametrize("swapped", [False, True])
def test_rows_are_told_by_the_narrower_of_two_intervals(swapped):
    narrow, wide = (hm.circuits.sigmoid((-low, low), bits=BITS) for low in (4.0, 20.0))

    def both(x):
        inner = 2 * (x @ WEIGHTS)
        first, second = (wide, narrow) if swapped else (narrow, wide)
        return inner.apply(first) + inner.apply(second)

    samples = SAMPLES / np.abs(SAMPLES @ WEIGHTS).max() / 2 * 3.9
    spec = hm.ArraySpec((12,), range=(-5, 5))
    plan = hm.compile(both, spec, calibrate=samples, precision_bits=6, security=None)
    rows = WEIGHTS[None] * np.array([[end * factor / 2] for end in (4.0, -4.0) for factor in (0.99, 1.01)])
    for run in (plan.local(threads=1), plan.evaluate_clear):
        _, texts = told(run, rows)
        assert named(texts) == {1, 3}


def test_the_rows_are_those_whose_values_leave_the_interval():
    """The formula: 2 x @ w next to the interval that the model's file has."""
    plan = compiled()
    ((low, high),) = limits_of(plan)
    inner = 2 * (SAMPLES @ WEIGHTS)
    assert low < inner.min()
    assert inner.max() < high
    edge = WEIGHTS[None] * np.array([[0.999 * high / 2], [1.001 * high / 2], [0.999 * low / 2]])
    _, texts = told(plan.local(threads=1), edge)
    assert len(texts) == 1
    line = test_the_rows_are_those_whose_values_leave_the_interval.__module__.rpartition(".")[2]
    assert re.match(
        rf"row 1 of 3 leaves the range from .* at {line}\.py:\d+, with {1.001 * high:.4g}", texts[0]
    )
    assert f"{low:.6g} to {high:.6g}" in texts[0]
    _, texts = told(plan.local(threads=1), edge[1])
    assert texts[0].startswith("the row leaves the range from")


def test_check_names_the_rows():
    """Also of functions with an interval of their own, that is narrower than the values' range."""
    rows = spread()
    for function, factor, ends in (
        (tanh, 2, limits_of(compiled())[0]),
        (lambda x: hm.circuits.sigmoid((-5, 5), bits=8)(x @ WEIGHTS), 1, (-5, 5)),
    ):
        agreed, _ = told(compiled(function).check, rows)
        inner = factor * (rows @ WEIGHTS)
        wanted = tuple(np.flatnonzero((inner < ends[0]) | (inner > ends[1])).tolist())
        assert agreed.rows_outside == wanted != ()
        assert f"they are of rows {', '.join(map(str, wanted))} of {len(rows)}" in str(agreed)
        assert sum(agreed.outside.values()) == len(wanted)
    agreed, _ = told(compiled().check, SAMPLES[:3])
    assert agreed.rows_outside == ()
    assert "they are of" not in str(agreed)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_few_new_rows_of_the_same_distribution_leave(function):
    """With a margin of 0.5, as estimators have it: 77 of 5,000 left with 0.1."""
    plan = compiled(function)
    new = RNG.normal(size=(5000, 12)).clip(SAMPLES.min(), SAMPLES.max())
    found, texts = told(plan.evaluate_clear, new)
    wrong = np.abs(found - function(new)) > 4 * 2.0**-BITS
    left = 0 if not texts else 8 + int(next(iter(re.findall(r"and (\d+) more", texts[0])), "0"))
    assert wrong.sum() <= left <= 40


def test_results_beyond_what_decrypts_are_missing_and_told():
    plan = compiled(lambda x: np.tanh(4 * (x @ WEIGHTS)))
    rows = np.stack([SAMPLES[0], np.sign(WEIGHTS) * 2.8])
    found, texts = told(plan.local(threads=1), rows)
    assert np.isnan(found[1]) or abs(found[1]) > 1.1
    assert found[0] == pytest.approx(np.tanh(4 * SAMPLES[0] @ WEIGHTS), abs=2.0**-8)
    assert {text.partition("range")[0] for text in texts} == {"row 1 of 2 leaves the "}
    assert any("result 'output'" in text for text in texts)


def test_what_inputs_can_lead_to_needs_no_watch():
    """Declared ranges make the ranges of values in between certain, and so do inputs that functions take."""
    of_ranges = hm.compile(np.tanh, hm.ArraySpec((4,), range=(-3, 3)), precision_bits=BITS, security=None)
    of_samples = hm.compile(
        lambda x: np.tanh(x), SAMPLES[0], calibrate=SAMPLES, precision_bits=BITS, security=None
    )
    for plan in (of_ranges, of_samples):
        assert [each.name for each in plan.package.outputs] == ["output"]
        assert plan.package.outputs[0].watched == ""
    (spec,) = of_samples.inputs
    assert spec.range is not None
    _, texts = told(of_samples.local(threads=1), np.linspace(*spec.range, 12))
    assert texts == []


def test_results_that_samples_do_not_show_are_right_where_they_are_certain():
    """A linear result of twice the samples' range has room, and needs no warning."""
    plan = compiled(lambda x: {"sum": 3 * (x @ WEIGHTS) + 1, "tanh": tanh(x)})
    rows = 1.8 * SAMPLES[np.argsort(SAMPLES @ WEIGHTS)[[0, -1]]].clip(SAMPLES.min(), SAMPLES.max()) / 1.8
    found, _ = told(plan.local(threads=1), spread())
    np.testing.assert_allclose(found["sum"], 3 * (spread() @ WEIGHTS) + 1, atol=2.0**-6)
    assert list(plan.outputs) == ["sum", "tanh"]
    assert set(plan.clear(rows[0])) == {"sum", "tanh"}


def test_names_of_results_stay_the_users():
    plan = compiled(lambda x: {"watched-0": tanh(x), "b": x.sum()})
    assert plan.outputs == {"watched-0": (), "b": ()}
    found, texts = told(plan.local(threads=1), spread())
    assert set(found) == {"watched-0", "b"}
    assert texts


def test_clients_of_a_server_are_told(tmp_path):
    plan, rows = compiled(), spread()
    wanted = named(told(plan.local(threads=1), rows)[1])
    home = Home(tmp_path)
    home.add_model(plan.package)
    token = home.clients.add("someone")
    with running(home) as server, client_of(server.url, token) as client:
        name = plan.package.name
        found, texts = told(client.predict, name, rows)
        assert named(texts) == wanted != set()
        right = sorted(set(range(len(rows))) - wanted)
        np.testing.assert_allclose(found[right], tanh(rows[right]), atol=2.0**-8)
        assert told(client.predict, name, SAMPLES[:2])[1] == []


def test_files_keep_what_is_watched():
    plan = compiled()
    loaded = Package.load(bytes(plan.package))
    assert loaded.interface == plan.package.interface
    assert [spec.watched != "" for spec in loaded.outputs] == [False, True]
    _, texts = told(loaded.evaluate_clear, spread())
    assert named(texts) == named(told(plan.evaluate_clear, spread())[1]) != set()
    data = plan.package.interface.describe()
    data["outputs"][1]["low"] = "nothing"
    raises(FormatError, "", Interface.from_dict, data)
    untouched = hm.compile(lambda x: x + 1, hm.ArraySpec((4,), range=(0, 1)), security=None)
    told_outputs = untouched.package.interface.describe()["outputs"]
    assert not {"watched", "low", "high", "reach"} & set(told_outputs[0])


@pytest.mark.parametrize(
    "options", [{"share": True}, {"watch": False}, {"samples": 512, "layout": "ciphertexts"}]
)
def test_what_no_output_shows_is_told_as_such(options):
    """In this process by the program in the clear, by rows; to others in general."""
    plan = compiled(**options)
    rows = spread(512 if "samples" in options else 8) * 0.72
    ((low, high),) = limits_of(compiled())
    encoding = plan.package.interface.encoding
    assert isinstance(encoding, Arrays)
    assert encoding.unwatched
    assert all(re.fullmatch(r"test_watching\.py:\d+", each) for each in encoding.unwatched)
    assert Arrays.from_data(encoding.to_data()) == encoding
    _, texts = told(run_until_refused, plan, rows)
    inner = 2 * (rows @ WEIGHTS)
    left = set(np.flatnonzero((inner < low) | (inner > high)).tolist())
    assert named(texts) == set(sorted(left)[:8]) != set()
    assert all("leave" in text for text in texts)
    assert texts
    local = LocalModel(plan.package.interface, security=None)
    arrays, single = local.encode(rows)
    outputs = [
        np.zeros((*each.shape[:1], *spec.shape, spec.width))
        for each, spec in zip(arrays, plan.package.outputs, strict=False)
    ]
    _, texts = told(local.decode, outputs, single, len(rows))
    assert ["nothing shows here" in text for text in texts] == [True]


def test_estimators_name_rows_of_the_table():
    svm = pytest.importorskip("sklearn.svm")
    labels = (SAMPLES[:, :3].sum(axis=1) > 0).astype(int)
    model = svm.SVC(gamma=0.05).fit(SAMPLES[:, :3], labels)
    plan = hm.compile(model, calibrate=SAMPLES[:, :3], rows=4, precision_bits=BITS, security=None)
    assert isinstance(plan.package.interface.encoding, Table)
    assert plan.package.interface.encoding.watched
    loaded = Package.load(bytes(plan.package))
    rows = np.concatenate([SAMPLES[:5, :3], [[4.0, -4.0, 4.0]], SAMPLES[5:6, :3]])
    results, texts = told(plan.local(threads=1).decision_function, rows)
    assert len(results) == 7
    left = [text for text in texts if "leave" in text]
    assert all("of 7" in text for text in left)
    assert told(loaded.evaluate_clear, SAMPLES[:3, :3])[1] == []


def test_without_watch_clients_see_results_alone(tmp_path):
    """Next to the default, which has an output more for the one function; within ranges NumPy judges."""
    plan, hidden = compiled(watch=True), compiled(watch=False)
    assert [bool(each.watched) for each in compiled().package.outputs] == [False, True]
    assert [bool(each.watched) for each in plan.package.outputs] == [False, True]
    assert [each.name for each in hidden.package.outputs] == ["output"]
    assert len(hidden.package.interface.encoding.outputs) == 1
    assert hidden.outputs == plan.outputs
    found, texts = told(hidden.local(threads=1), SAMPLES[:5])
    np.testing.assert_allclose(found, tanh(SAMPLES[:5]), atol=4 * 2.0**-BITS)
    assert texts == []
    agreed = hidden.check(spread(), encrypted=0)
    assert agreed.rows_outside == plan.check(spread(), encrypted=0).rows_outside != ()
    _, texts = told(run_until_refused, hidden, SAMPLES[0])
    assert texts == []
    _, texts = told(run_until_refused, hidden, np.sign(WEIGHTS) * 2.8)
    assert [text.startswith("the row leaves the range") for text in texts] == [True]
    home = Home(tmp_path)
    home.add_model(hidden.package)
    token = home.clients.add("someone")
    with running(home) as server, client_of(server.url, token) as client:
        for _ in range(2):  # at each result
            found, texts = told(client.predict, hidden.package.name, SAMPLES[:2])
            np.testing.assert_allclose(found, tanh(SAMPLES[:2]), atol=4 * 2.0**-BITS)
            assert ["nothing shows here" in text for text in texts] == [True]


def test_without_watch_clients_are_told_of_results_that_no_sample_gives():
    hidden = compiled(watch=False)
    (spec,) = hidden.package.outputs
    assert spec.high is not None
    local = LocalModel(hidden.package.interface, security=None)
    for part, wrong in ((1.0, False), (1.1, True)):
        _, texts = told(local.decode, [np.full((3, spec.width), part * spec.high)], False, 3)
        assert ["range of result 'output'" in text for text in texts] == [False] + [True] * wrong
        assert ["the result is wrong" in text for text in texts] == [False] + [True] * wrong
    plan = compiled(lambda x: {"sum": 3 * (x @ WEIGHTS), "tanh": tanh(x)}, watch=False)
    spec, other = plan.package.outputs
    assert spec.high is not None
    lowest, highest = plan.inputs[0].range or (0.0, 0.0)
    reach = 3 * np.maximum(WEIGHTS * lowest, WEIGHTS * highest).sum()  # a row in the inputs' range gives it
    local = LocalModel(plan.package.interface, security=None)
    for value, word in ((0.9 * reach, "may be"), (1.3 * reach, "is")):
        assert value > spec.high
        _, texts = told(local.decode, [np.full((1, spec.width), value), np.zeros((1, other.width))], False, 1)
        assert [f"the result {word} wrong" in text for text in texts] == [False, True]


@pytest.mark.parametrize("watch", [True, False])
def test_what_has_nothing_to_watch_is_the_same_without(watch):
    spec = hm.ArraySpec((4,), range=(-3, 3))
    own, other = (
        hm.compile(np.tanh, spec, precision_bits=BITS, security=None, **options)
        for options in ({}, {"watch": watch})
    )
    assert bytes(own.package) == bytes(other.package)
    exact = hm.compile(lambda x: x + 1, hm.ArraySpec((4,), range=(0, 5)), scheme="bfv", watch=watch)
    assert told(exact.local(threads=1), np.arange(4))[0].tolist() == [1, 2, 3, 4]


def test_estimators_without_watch():
    """scikit-learn's own decisions judge, and the ends of the default's file which rows leave."""
    svm = pytest.importorskip("sklearn.svm")
    labels = (SAMPLES[:, :3].sum(axis=1) > 0).astype(int)
    model = svm.SVC(gamma=0.05).fit(SAMPLES[:, :3], labels)
    options = {"calibrate": SAMPLES[:, :3], "rows": 4, "precision_bits": BITS, "security": None}
    plan, hidden = (hm.compile(model, watch=watch, **options) for watch in (True, False))
    assert len(plan.package.outputs) > len(hidden.package.outputs) == 1
    encoding = Package.load(bytes(hidden.package)).interface.encoding
    assert isinstance(encoding, Table)
    assert encoding.watched == ()
    assert encoding.unwatched != ()
    assert encoding.unwatched == hidden.package.interface.encoding.unwatched
    raises(FormatError, "", lambda: Table.from_data({**encoding.to_data(), "unwatched": [1]}))
    inside = SAMPLES[:5, :3]
    results, texts = told(hidden.local(threads=1).decision_function, inside)
    wanted = model.decision_function(inside)
    np.testing.assert_allclose(results, wanted, atol=2.0**-6 * np.abs(wanted).max())
    assert texts == []
    far = np.concatenate([inside, [[4.0, -4.0, 4.0], [-4.0, 4.0, -4.0]]])
    watched = [text for text in told(plan.local(threads=1).decision_function, far)[1] if "leave" in text]
    named_here = [text for text in told(hidden.local(threads=1).decision_function, far)[1] if "leave" in text]
    assert named(named_here) == named(watched) == {5, 6}
    assert "rows 5, 6 of 7 leave" in named_here[0]
    local = LocalModel(hidden.package.interface, security=None)
    arrays, single = local.encode(inside)
    outputs = [np.zeros((len(arrays[0]), spec.width)) for spec in hidden.package.outputs]
    _, texts = told(local.decode, outputs, single, len(inside))
    assert ["nothing shows here" in text for text in texts] == [True]


def test_studies_of_tables_without_watch_are_told_by_local():
    pandas = pytest.importorskip("pandas")

    def study(table):
        return (1 / (1 + np.exp(-table.a * table.a.mean()))).mean()

    frames = [pandas.DataFrame({"a": RNG.normal(size=32)}) for _ in range(10)]
    spec = hm.TableSpec.of(frames[0], ranges={"a": (-8, 8)})
    options = {"calibrate": frames, "precision_bits": BITS, "security": None}
    plan = hm.compile(study, spec, watch=False, **options)
    assert [each.name for each in plan.package.outputs] == ["result"]
    local = plan.local(threads=1)
    found, texts = told(local, frames[0])
    assert found == pytest.approx(study(frames[0]), abs=2.0**-BITS)
    assert texts == []
    wide = frames[0] + 2
    _, texts = told(local, wide)
    farthest = (wide.a * wide.a.mean()).abs().max()
    assert len(texts) == 1
    assert texts[0].startswith("the row leaves the range from")
    assert f"with -{farthest:.4g}"[:-1] in texts[0]


def attention(x):
    """The sum of exponentials is a divisor: its range keeps its sign, however few samples there are."""
    scores = x @ x.T / 2
    powers = np.exp(scores)
    return (powers / powers.sum(axis=-1, keepdims=True)) @ x


def test_values_that_are_known_to_be_positive_stay_so():
    samples = np.random.default_rng(5).normal(size=(12, 4, 3))
    plan = hm.compile(attention, samples[0], calibrate=samples, precision_bits=8)
    lows = [each.low for each in plan.package.outputs if each.watched]
    assert any(low is not None and low > 0 for low in lows)
    found, _ = told(plan.evaluate_clear, samples)
    np.testing.assert_allclose(found, [attention(x) for x in samples], atol=2.0**-5)


METHODS = {
    "sigmoid": lambda x: (x @ WEIGHTS).sigmoid(),
    "gelu": lambda x: (x @ WEIGHTS).gelu(),
    "approximated": lambda x: (x @ WEIGHTS).approximated(np.sinc),
    "exp": lambda x: (x @ WEIGHTS).exp(),
    "power": lambda x: {"a": (x @ WEIGHTS).square(), "b": (x @ WEIGHTS).power(3)},
    "circuits": lambda x: hm.circuits.sigmoid((-20, 20), bits=8)(x @ WEIGHTS),
    "narrow circuits": lambda x: hm.circuits.sigmoid((-5, 5), bits=8)(x @ WEIGHTS),
    "apply": lambda x: (x @ WEIGHTS).apply(hm.circuits.tanh((-20, 20), bits=8)),
    "free": lambda x: hm.silu(x @ WEIGHTS),
    "numpy": lambda x: np.log(2 + np.tanh(x @ WEIGHTS)),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("samples", [1, 2])
def test_plans_that_run_report_whatever_methods_they_call(name, samples):
    plan = compiled(METHODS[name], precision_bits=7, samples=samples)
    rows = spread()
    assert "operation" in plan.report()
    plan.expected_bits()
    told(plan.expected_bits, rows)
    agreed, _ = told(plan.check, rows)
    assert agreed.samples == len(rows)
    inner = rows[3] @ WEIGHTS
    wanted = {
        "sigmoid": 1 / (1 + np.exp(-inner)),
        "approximated": np.sinc(inner),
        "exp": np.exp(inner),
        "numpy": np.log(2 + np.tanh(inner)),
    }
    if name in wanted:
        assert plan.clear(rows[3]) == pytest.approx(wanted[name], rel=1e-12)
    if name == "power":
        assert plan.clear(rows[3]) == pytest.approx({"a": inner**2, "b": inner**3})
    assert plan._repr_html_()


def test_watched_values_of_several_ciphertexts():
    """Each has a name of its own, and none is a result."""
    params = hm.ckks.Parameters.for_circuit(8, scale_bits=40, degree=4096, security=None)
    size = params.max_slots + 1
    samples = [RNG.uniform(-1, 1, (3, size)) for _ in "xy"]
    specs = [hm.ArraySpec((size,)) for _ in samples]
    plan = hm.compile(lambda x, y: np.tanh(x + y), *specs, calibrate=samples, precision_bits=7, params=params)
    names = [(each.name, bool(each.watched)) for each in plan.package.outputs]
    assert names == [(f"{name}.{at}", name != "output") for name in ("output", "watched-0") for at in (0, 1)]
    rows = [each[0] for each in samples]
    assert plan.clear(*rows) == pytest.approx(np.tanh(rows[0] + rows[1]))
    assert plan.expected_bits() > 6
    found, _ = told(plan.local(), *rows)
    np.testing.assert_allclose(found, np.tanh(rows[0] + rows[1]), atol=2.0**-6)
