"""`hemera bench bert`: a small block, its stages, and plans."""

import argparse
import json

import pytest

from hemera.cli import main
from hemera.errors import NoiseError
from hemera_apps.bench import bert


def row_of(file, *arguments):
    command = ["bench", "bert", "--device", "cpu", "--threads", "2", "--size", "8"]
    assert main([*command, "--json", str(file), *arguments]) == 0
    (row,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert isinstance(row, dict)
    return row


def test_rows_of_a_small_block(tmp_path):
    row = row_of(tmp_path / "rows.json", "--check-stages", "--inputs", "3", "--tokens", "4", "--runs", "2")
    assert (row["tokens"], row["features"], row["inputs"], row["degree"]) == (4, 16, 3, 2048)
    assert row["security"] == "below 128"
    first, second = row["runs"]
    assert first["bootstraps"] == second["bootstraps"] == 8 + 1 + 1 + 8 + 1
    for run in (first, second):
        assert run["bits"] > row["least_bits"] > 14
        assert [each["stage"] for each in run["stages"]] == [
            "head 1",
            "head 2",
            "softmax",
            "first bootstraps",
            "output layer",
            "first layer norm",
            "hidden layers",
            "second bootstraps",
            "second layer norm",
        ]
        assert sum(each["seconds"] for each in run["stages"]) == pytest.approx(run["seconds"], abs=1e-3)
        assert all(0 < each["peak_bytes"] <= run["peak_bytes"] for each in run["stages"])
        assert run["stages"][-1]["bits"]["output"] > 14


def test_rows_of_one_input(tmp_path):
    row = row_of(tmp_path / "rows.json", "--inputs", "1")
    assert (row["inputs"], row["degree"]) == (1, 2048)
    (run,) = row["runs"]
    assert run["bits"] > row["least_bits"] > 14
    assert run["bootstraps"] == 5
    assert [each["stage"] for each in run["stages"]] == [
        "queries and keys",
        "scores",
        "exponentials",
        "values",
        "weighted sums",
        "softmax",
        "first bootstraps",
        "output layer",
        "first layer norm",
        "hidden layer",
        "GELU",
        "second layer",
        "second bootstraps",
        "second layer norm",
    ]


def test_plans_count(tmp_path):
    row = row_of(tmp_path / "rows.json", "--plan", "nvidia-h200")
    assert row["seconds"] > 0
    assert [each["stage"] for each in row["stages"]][-2:] == ["second bootstraps", "second layer norm"]
    assert row["device"] == "nvidia-h200"
    assert "runs" not in row


def test_wrong_results_end_the_run(monkeypatch):
    monkeypatch.setattr(bert, "least_bits", lambda planned: planned + 20)
    with pytest.raises(NoiseError, match="agrees with the clear one in"):
        bert.run(_parsed("--device", "cpu", "--tokens", "4", "--size", "8", "--inputs", "3"))


def _parsed(*arguments):
    parser = argparse.ArgumentParser()
    bert.add_arguments(parser)
    return parser.parse_args(arguments)


def test_rows_of_a_network(tmp_path, monkeypatch, capsys):
    file = tmp_path / "network.json"
    options = ["bench", "bert", "--blocks", "2", "--json", str(file)]
    assert main([*options, "--device", "cpu"]) == 0
    (row,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    (run,) = row["runs"]
    assert (row["blocks"], len(run["blocks"]), len(run["logits"])) == (2, 2, 2)
    assert min(run["logits_bits"], *(block["bits"] for block in run["blocks"])) > 13
    assert sum(run["stages"].values()) == pytest.approx(run["seconds"], rel=0.1)
    assert main([*options, "--plan", "nvidia-h200"]) == 0
    (row,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert sum(row["stages"].values()) == pytest.approx(row["seconds"], rel=0.05)
    assert main([*options, "--plan", "nvidia-h200", "--wide"]) == 0
    (wide,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert wide["wide"]
    assert 1.2 * row["seconds"] < wide["seconds"] < 4 * row["seconds"]
    assert wide["stages"]["output layer"] == pytest.approx(row["stages"]["output layer"], rel=0.01)
    assert main([*options, "--device", "cpu", "--wide"]) == 0
    (wide,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert wide["runs"][0]["logits_bits"] > 13
    assert main(["bench", "bert", "--wide"]) != 0
    assert "--wide is of a network: give --blocks" in capsys.readouterr().err
    assert main([*options, "--inputs", "2"]) != 0
    assert "a network takes one input, and 2 are asked for" in capsys.readouterr().err
    monkeypatch.setattr("hemera_apps.bench.bert_network.least_bits", lambda _: 60.0)
    assert main(["bench", "bert", "--blocks", "1", "--device", "cpu"]) != 0
    assert "logits agree with the clear ones in" in capsys.readouterr().err
