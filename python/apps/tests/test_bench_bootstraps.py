"""`hemera bench bootstraps`: errors by the number of bootstraps and the kind of input."""

import json

import numpy as np
import pytest

from hemera.cli import main
from hemera_apps.bench import bootstraps

COMMAND = ["bench", "bootstraps", "--preset", "test-40", "--slots", "16", "--device", "cpu"]


def test_errors_of_each_kind_are_written_and_drawn(tmp_path):
    file = tmp_path / "errors.json"
    assert main([*COMMAND, "--count", "2", "--json", str(file)]) == 0
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [(row["kind"], row["count"]) for row in rows] == [
        (kind, count) for count in (1, 2) for kind in bootstraps.KINDS
    ]
    for first, second in zip(rows[:4], rows[4:], strict=True):
        assert 20 < first["worst_bits"] < first["mean_bits"] < 30
        assert second["mean_bits"] < first["mean_bits"] + 1
    pytest.importorskip("matplotlib")
    figure = tmp_path / "errors.svg"
    assert main(["bench", "bootstraps", "--load", str(file), "--plot", str(figure)]) == 0
    assert figure.read_text(encoding="utf-8").startswith("<?xml")


def test_fields_change_the_preset_and_time_is_told(tmp_path):
    file = tmp_path / "times.json"
    fields = ["--field", "levels=3", "--field", "security=None", "--field", "order=slots-first"]
    assert main([*COMMAND, *fields, "--count", "1", "--time", "2", "--merge-parts", "--json", str(file)]) == 0
    result = json.loads(file.read_text(encoding="utf-8"))
    assert result["preset"] == "test-40:levels=3:security=None:order=slots-first"
    assert result["levels_left"] == 2
    assert result["merge_parts"] is True
    assert result["security"] == "below 128"
    assert 800 < result["log_qp"] < 1400
    assert result["upload_bytes"] < result["key_bytes"] < result["memory_bytes"]
    assert result["seconds"]["runs"] == 2
    assert 0 < result["seconds"]["best"] <= result["seconds"]["median"]


def test_real_values_are_bootstrapped_as_such(tmp_path):
    file = tmp_path / "real.json"
    assert main([*COMMAND, "--real", "--count", "1", "--json", str(file)]) == 0
    result = json.loads(file.read_text(encoding="utf-8"))
    whole = tmp_path / "complex.json"
    assert main([*COMMAND, "--count", "1", "--json", str(whole)]) == 0
    assert result["real"] is True
    assert result["memory_bytes"] < json.loads(whole.read_text(encoding="utf-8"))["memory_bytes"]
    assert all(20 < row["worst_bits"] < 32 for row in result["rows"])
    assert not np.any(np.imag(list(bootstraps.inputs(16, real=True).values())))


def test_mistakes_are_told(tmp_path, capsys):
    figure = str(tmp_path / "errors.svg")
    assert main(["bench", "bootstraps", "--load", str(tmp_path / "missing.json"), "--plot", figure]) == 1
    assert "missing.json" in capsys.readouterr().err
    other = tmp_path / "other.json"
    other.write_text("{}", encoding="utf-8")
    assert main(["bench", "bootstraps", "--load", str(other), "--plot", figure]) == 1
    assert "bench bootstraps" in capsys.readouterr().err
    assert main([*COMMAND, "--field", "limbs=3"]) == 1
    assert "limbs" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*COMMAND, "--field", "levels"])
    assert "levels=16" in capsys.readouterr().err
    assert main(["bench", "bootstraps", "--load", str(other)]) == 1
    assert "--plot" in capsys.readouterr().err
