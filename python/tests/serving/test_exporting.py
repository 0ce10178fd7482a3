"""What is packaged of a function or a model, and when a package is refused for its results."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import KBinsDiscretizer

import hemera as hm
from hemera import errors
from hemera.arrays.layout import FREE, Layout
from hemera.compiler.estimators import trees
from hemera.exporting.agreement import _tied, of_library, require_agreement, thinned
from hemera.package.encodings import Arrays, Scaling, Table
from hemera.package.finishing import Method
from hemera.serving import InputSpec, export

from ..refusals import raises


@pytest.mark.parametrize("count", [1, 9, 10, 11, 19, 20, 21, 100, 101])
def test_no_more_rows_are_compared_than_told(count):
    rows = np.arange(count)[:, None]
    found = thinned(rows, 10)[:, 0]
    assert len(found) <= 10
    assert len(found) > 10 / 2 or len(found) == count
    steps = np.diff(found)
    assert found[0] == 0
    assert (steps == steps[:1]).all()  # evenly
    frame = thinned(pd.DataFrame(rows), 10)
    assert isinstance(frame, pd.DataFrame)
    assert frame[0].tolist() == found.tolist()
    assert len(thinned(np.zeros((501, 1)))) <= 500


@pytest.mark.parametrize(
    ("scores", "slack", "read", "tied"),
    [
        ([[0.5], [-0.5], [0.51]], 0.5, "sign", [[True], [True], [False]]),
        ([[1, 2.0, 0], [3, 1, 2.1]], 0.5, "argmax", [True, True]),
        ([[1, 2.1, 0], [3, 1, 2.0]], 0.5, "argmax", [False, True]),
        ([[0.1], [0.6]], 0.5, "argmax", [[True], [False]]),
    ],
)
def test_scores_that_are_near_a_tie(scores, slack, read, tied):
    given = np.array(scores)
    assert _tied(given, np.full(given.shape, slack), read).tolist() == tied


def line():
    """x - 2 y + 0.5 of rows (x, y)."""

    def circuit(x):
        terms = x * np.array([1.0, -2.0])
        return terms + terms.rotate(1) + 0.5

    spec, method = InputSpec("rows", 2, 2), Method((), "float64", ())
    layouts = Layout.raster((1, 2)), Layout((1, 1), (FREE,))
    rows = Table(Scaling((0.0, 0.0), (1.0, 1.0), 2.0), (), *layouts, {"values": method})
    return export(circuit, inputs=spec, name="line", encoding=rows)


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize(("off", "is_refused"), [(0.009, False), (0.011, True), (-0.011, True)])
def test_a_package_that_differs_from_its_library_is_refused(at, off, is_refused):
    package = line()
    rows = np.array([[1.0, 1.0], [0.5, -0.5], [-1.0, 2.0]])
    expected = rows @ [1.0, -2.0] + 0.5
    wrong = expected.copy()
    wrong[at] += off
    slack = np.full((3, 1), 0.01)
    require_agreement(package, rows, expected, slack, "Line.predict")
    if not is_refused:
        require_agreement(package, rows, wrong, slack, "Line.predict")
        return
    told = rf"Line.predict gives {wrong[at]:g}.* for row {at}, and the package {expected[at]:g}.*1 of 3 rows"
    raises(errors.MismatchError, told, require_agreement, package, rows, wrong, slack, "Line.predict")
    with pytest.raises(errors.MismatchError, match=r"shape \(3, 1\), and the package one of \(3,\)"):
        require_agreement(package, rows, expected[:, None], slack, "Line.predict")


def test_a_library_that_fails_is_told():
    class Model:
        def predict(self, rows, **options):
            return [len(rows), *options]

    assert of_library(Model(), "predict", [1, 2], raw=True).tolist() == ["2", "raw"]
    with pytest.raises(
        errors.ParameterError, match=r"Model\.predict does not take .* has no len.*calibrate="
    ):
        of_library(Model(), "predict", 5)


@pytest.mark.parametrize("largest", [None, 4.0, 1000.0])
@pytest.mark.parametrize("scale_bits", [30, 40])
def test_parameters_of_an_export_are_those_of_its_circuit(largest, scale_bits):
    package = export(
        lambda x: (x * x + 1) * x,
        inputs=[InputSpec("x", 5)],
        name="m",
        scale_bits=scale_bits,
        largest=largest,
        security=None,
    )
    wanted = hm.ckks.Parameters.for_circuit(
        2, scale_bits=scale_bits, slots=8, largest=largest, security=None
    ).with_rescaling("automatic")
    assert package.params == wanted
    assert package.interface.depth == 2


@pytest.mark.parametrize(
    ("inputs", "specs"),
    [
        (1, [("input", 1, 1)]),
        (4, [("input", 4, 4)]),
        (5, [("input", 5, 8)]),
        ([3, 9], [("input0", 3, 16), ("input1", 9, 16)]),
        (InputSpec("x", 3), [("x", 3, 4)]),
        ([InputSpec("x", 3, 32), 5], [("x", 3, 32), ("input1", 5, 8)]),
        ([InputSpec("x", 4, 4)], [("x", 4, 4)]),
        (0, "at least one value"),
        ([4, -1], "at least one value"),
        ([], "needs an input"),
        (InputSpec("x", 5, 4), "'x': 5 values in 4 slots"),
        (InputSpec("x", 3, 6), "'x': 3 values in 6 slots"),
    ],
)
def test_inputs_of_an_export(inputs, specs):
    def first(*given):
        return given[0] + 1

    if isinstance(specs, str):
        raises(errors.ParameterError, specs, export, first, inputs=inputs, name="m", security=None)
        return
    found = export(first, inputs=inputs, name="m", description="told", security=None)
    assert [(spec.name, spec.width, spec.slots) for spec in found.inputs] == specs
    assert (found.name, found.description) == ("m", "told")


@pytest.mark.parametrize(
    ("told", "spec"),
    [
        (None, (4, "values")),
        (1, (1, "values")),
        (4, (4, "values")),
        ("argmax", (4, "argmax")),
        ((2, "softmax"), (2, "softmax")),
        (0, None),
        (5, None),
        ((2, "eval"), None),
        ("eval", None),
    ],
)
def test_outputs_of_an_export(told, spec):
    def both(x):
        return {"a": x + 1, "b": x * 2}

    options = {"inputs": 4, "name": "m", "security": None}
    given = {} if told is None else {"b": told}
    if spec is None:
        with pytest.raises(errors.ParameterError, match="output 'b': 1 to 4 values, read as one of"):
            export(both, outputs=given, **options)
        return
    a, b = export(both, outputs=given, **options).outputs
    assert (a.name, a.width, a.read, b.name, b.width, b.read) == ("a", 4, "values", "b", *spec)
    with pytest.raises(errors.ParameterError, match="the outputs are a, b; there is no c, d"):
        export(both, outputs={"d": 1, "a": 1, "c": 1}, **options)


def test_inputs_are_encrypted_where_the_program_begins():
    """At the highest level, or at that which is asked for."""
    params = hm.ckks.Parameters.for_circuit(3, slots=4, security=None)
    for given in (params, params.with_rescaling("manual")):
        package = export(lambda x: x * x, inputs=4, name="m", params=given)
        assert package.params == params.with_rescaling("automatic")
        assert package.inputs[0].level == 3
        low = export(lambda x: x * x, inputs=InputSpec("x", 4, level=1), name="m", params=given)
        assert low.inputs[0].level == 1
    exact = hm.bfv.Parameters.for_circuit(1, slots=1024, security=None)
    whole = export(lambda x: x * x, inputs=5, name="m", params=exact)
    assert (whole.scheme, whole.inputs[0].slots, whole.inputs[0].width) == ("bfv", exact.max_slots, 5)
    with pytest.raises(errors.ParameterError, match=f"inputs of BFV have all {exact.max_slots} slots"):
        export(lambda x: x * x, inputs=InputSpec("x", 4, 8), name="m", params=exact)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (None, ()),
        (["Column_0", "Column_1"], ()),  # LightGBM's own, without a frame
        (["Column_1", "Column_0"], ("Column_1", "Column_0")),
        (["Column_0", "b"], ("Column_0", "b")),
    ],
)
def test_names_of_features_of_trees(names, told):
    assert trees._names(SimpleNamespace(**({} if names is None else {"feature_names_in_": names}))) == told


@pytest.mark.parametrize(
    ("classes", "margins", "results"),
    [
        (2, [-1.0, 0.0, 2.0], [0, 0, 1]),
        (3, [[0.0, 1.0, 2.0], [5.0, 1.0, 5.0]], [2, 0]),
        (0, [-1.0, 0.0, 2.0], [-1.0, 0.0, 2.0]),
        (0, [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]),
    ],
)
def test_margins_of_boosters_are_classes_where_they_are(classes, margins, results):
    booster = type("Booster", (), {"predict": lambda *_, **__: np.array(margins)})
    booster.__module__ = "lightgbm.basic"
    assert trees._predicted(booster(), np.zeros((len(margins), 1)), classes).tolist() == results


def test_bins_come_once():
    steps = [("bins", KBinsDiscretizer(encode="ordinal")), ("trees", GradientBoostingClassifier())]
    with pytest.raises(errors.ParameterError, match="give no quantiser with it"):
        hm.compile(Pipeline(steps), quantiser=object())


def test_a_package_with_another_encoding_is_the_same_file():
    package = export(lambda x: x + 1, inputs=4, name="m", security=None)
    rows = Arrays((Layout.raster((4,)),), (Layout.raster((4,)),))
    found = package.with_encoding(rows)
    assert (found.interface.encoding, bytes(found)) == (rows, bytes(package))
    assert package.interface.encoding is not rows
