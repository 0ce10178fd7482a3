"""`hemera bench apps`: trees compared with SEAL, and training on a small ring."""

import json

import pytest

from hemera.cli import main
from hemera_apps.trees import paper


def test_trees_beside_seal(tmp_path):
    pytest.importorskip("tenseal")
    path = tmp_path / "apps.json"
    arguments = ["--app", "trees", "--device", "cpu", "--n", "8192", "--samples", "2", "--rounds", "1"]
    assert main(["bench", "apps", *arguments, "--json", str(path)]) == 0
    rows = json.loads(path.read_text())["rows"]
    assert [(row["workload"], row["parameters"]) for row in rows] == [
        ("paper", "8192-218"),
        ("paper", "8192-214"),
        ("packed", "8192-218"),
        ("packed", "8192-214"),
        ("packed", "auto"),
    ]
    for row in rows:
        assert row["checked"] is True
        assert row["hemera_ms"] > 0
        assert row["seal_ms"] > 0
    assert rows[0]["operations_per_sample"] == paper.PER_SAMPLE


def test_training(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    path, plot = tmp_path / "apps.json", tmp_path / "apps.svg"
    arguments = ["--app", "training", "--small", "--device", "cpu", "--iterations", "4"]
    assert main(["bench", "apps", *arguments, "--json", str(path), "--plot", str(plot)]) == 0
    rows = json.loads(path.read_text())["rows"]
    assert [row["models"] for row in rows] == [1, 8]
    for row in rows:
        assert row["checked"] is True
        assert row["difference"] < 1e-3
        assert row["security"] == "below 128"
        assert 0 < row["iteration_ms"] < row["hemera_ms"]
        assert row["bootstrap_ms"] > 0
        each = row["iteration_ms"] + row["bootstrap_ms"] / row["bootstrap_every"]
        assert row["hemera_ms"] == pytest.approx(each, rel=1e-3)
    assert "training" in plot.read_text()


def test_wrong_words(capsys):
    assert main(["bench", "apps", "--app", "training", "--n", "8192"]) == 1
    assert "--n is an option of trees" in capsys.readouterr().err
