"""The demo on a few rows: its JSON, its table, and its two sides that share nothing but bytes."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.cli import main
from hemera_apps.demo import client, model, pipeline, server
from hemera_apps.demo.layout import FEATURES, Layout

ROWS = 9


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """The JSON of one run, and the table."""
    path = tmp_path_factory.mktemp("demo") / "demo.json"
    with pytest.MonkeyPatch.context() as patch:
        import io
        import sys

        stream = io.StringIO()
        patch.setattr(sys, "stdout", stream)
        assert main(["demo", "--rows", str(ROWS), "--seed", "1", "--device", "cpu", "--json", str(path)]) == 0
    return json.loads(path.read_text()), stream.getvalue()


def test_stable_keys(output):
    runs = output[0]["runs"]
    assert [run["scheme"] for run in runs] == ["ckks", "bfv", "bgv"]
    for run in runs:
        assert run["rows"] == ROWS
        assert 0.8 <= run["accuracy_clear"] <= 1
        assert run["accuracy_encrypted"] == run["accuracy_clear"]
        assert run["security_bits"] in (128, 192, 256)
        assert set(run["bytes"]) == {"keys", "request", "response"}
        assert all(count > 1000 for count in run["bytes"].values())
        assert run["seconds"]
        assert all(seconds > 0 for seconds in run["seconds"].values())
        if run["scheme"] == "ckks":
            assert run["exact"] is None
            assert -40 < run["max_error_bits"] < -15
            assert -10 < run["sigmoid_error_bits"] < -2
        else:
            assert run["exact"] is True
            assert run["max_error_bits"] is None


def test_table(output):
    text = output[1]
    for word in ("CKKS", "BFV", "BGV", "accuracy, encrypted", "evaluate, s", "request", "security", "exact"):
        assert word in text
    run = output[0]["runs"][0]
    digits = re.search(r"encrypted scores .*right to (\d+) digits", text)
    assert digits is not None
    assert f"2^{run['max_error_bits']:.1f} " in text
    error = 2 ** run["max_error_bits"]
    assert 10.0 ** -(int(digits[1]) + 1) < error <= 10.0 ** -int(digits[1])
    assert f"within {2 ** run['sigmoid_error_bits']:.2f} of the sigmoid" in " ".join(text.split())


def test_a_wrong_score_fails_the_command(monkeypatch, capsys):
    """If a server answered falsely, the command would say so and fail."""
    honest = server.Server.score

    def dishonest(self, request):
        if isinstance(self._model, model.IntegerModel):
            wrong = model.IntegerModel(self._model.weights, self._model.bias + 1)
            monkeypatch.setattr(self, "_model", wrong)
        return honest(self, request)

    monkeypatch.setattr(server.Server, "score", dishonest)
    assert main(["demo", "--rows", "2", "--device", "cpu"]) == 1
    captured = capsys.readouterr()
    assert "NOT EXACT" in captured.out
    assert "BFV and BGV" in captured.err


@pytest.mark.parametrize("scheme", ["ckks", "bfv", "bgv"])
def test_layout(scheme):
    params = getattr(hm, scheme).Parameters.for_circuit(1)
    layout = Layout.of(params)
    assert layout.slots == params.max_slots
    random = np.random.default_rng(7)
    table = random.normal(size=(layout.rows + 3, 30))
    weights = random.normal(size=30)
    slots = layout.pack(table)
    assert slots.shape == (2, layout.slots)
    # The rotations of each ring, in the clear.
    total = (slots * layout.spread(weights)).reshape(2, layout.rings, -1)
    for steps in layout.rotations:
        total = total + np.roll(total, -steps, axis=-1)
    scores = layout.unpack(total.reshape(slots.shape), len(table))
    np.testing.assert_allclose(scores, table @ weights)
    assert len(layout.rotations) == FEATURES.bit_length() - 1


def test_models_stay_in_their_bounds():
    table = model.Table.load(3)
    preparation, logistic, integer = model.train(table)
    prepared = preparation.apply(table.held_out)
    assert np.abs(logistic.logits(prepared)).max() <= logistic.bound
    assert np.abs(integer.scores(preparation.quantise(table.held_out))).max() <= integer.bound
    assert np.abs(logistic.scores(prepared) - logistic.probabilities(prepared)).max() < 0.15
    for scheme in ("bfv", "bgv"):
        params = pipeline.choose_parameters(scheme, integer)
        assert params.plain_modulus > 2 * integer.bound


@pytest.mark.parametrize("module", [client, server])
def test_sides_do_not_import_each_other(module):
    tree = ast.parse(Path(module.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    other = {client: "hemera_apps.demo.server", server: "hemera_apps.demo.client"}[module]
    assert other not in imported
