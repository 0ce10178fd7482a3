"""`hemera bench serve` on a small ring: a server and its clients in processes of their own."""

import json
from pathlib import Path

import pytest

from hemera.cli import main


def test_a_small_run(tmp_path):
    pytest.importorskip("matplotlib", reason="plots need the extra 'bench'")
    results, plot = tmp_path / "results.json", tmp_path / "plot.svg"
    words = ["bench", "serve", "--small", "--model", "linear", "--clients", "1,2", "--connections", "1,3"]
    words += ["--seconds", "0.1", "--device", "cpu", "--json", str(results), "--plot", str(plot)]
    assert main(words) == 0
    told = json.loads(results.read_text())
    assert [(row["clients"], row["connections"]) for row in told["rows"]] == [(1, 1), (2, 1), (1, 3), (2, 3)]
    for row in told["rows"]:
        assert row["checked"]
        assert row["requests"] >= row["clients"] * row["connections"]
        assert 0 < row["median_ms"] <= row["p99_ms"] <= row["longest_ms"]
        assert row["device"] == "cpu"
    assert "<svg" in plot.read_text()


def test_a_model_with_bootstraps(tmp_path):
    results = tmp_path / "results.json"
    words = ["bench", "serve", "--small", "--model", "deep", "--clients", "1", "--connections", "1"]
    assert main([*words, "--seconds", "0.1", "--device", "cpu", "--json", str(results)]) == 0
    (row,) = json.loads(results.read_text())["rows"]
    assert row["checked"]
    assert (row["model"], row["n"]) == ("deep", 2048)


def test_wrong_words(capsys):
    assert main(["bench", "serve", "--clients", "0"]) == 1
    assert "--clients takes" in capsys.readouterr().err


def test_results_that_are_kept():
    """The published ones have every answer right."""
    folder = Path(__file__).parents[3] / "bench" / "results"
    files = sorted(folder.glob("serve-*.json"))
    assert files
    for path in files:
        rows = json.loads(path.read_text())["rows"]
        assert all(row["checked"] for row in rows)
        assert {row["model"] for row in rows} >= {"linear", "network"}
