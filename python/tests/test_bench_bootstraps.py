"""`hemera bench bootstraps`: errors by the number of bootstraps and the kind of input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hemera.bench import bootstraps
from hemera.cli import main

COMMAND = ["bench", "bootstraps", "--preset", "test-40", "--slots", "16", "--device", "cpu"]


def test_errors_of_each_kind_are_written_and_drawn(tmp_path: Path) -> None:
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
    assert main(["bench", "bootstraps", "--load", str(file), "--figure", str(figure)]) == 0
    assert figure.read_text(encoding="utf-8").startswith("<?xml")


def test_mistakes_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figure = str(tmp_path / "errors.svg")
    assert main(["bench", "bootstraps", "--load", str(tmp_path / "missing.json"), "--figure", figure]) == 1
    assert "missing.json" in capsys.readouterr().err
    other = tmp_path / "other.json"
    other.write_text("{}", encoding="utf-8")
    assert main(["bench", "bootstraps", "--load", str(other), "--figure", figure]) == 1
    assert "bench bootstraps" in capsys.readouterr().err
    assert main(["bench", "bootstraps", "--load", str(other)]) == 1
    assert "--figure" in capsys.readouterr().err
