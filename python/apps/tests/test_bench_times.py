"""`hemera bench times`: estimates of a table, compared with measured times."""

import json

import pytest

from hemera.cli import main
from hemera.times import DeviceTimes

pytestmark = pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
COMMAND = ["bench", "times", "--small", "--device", "cpu", "--threads", "1", "--seconds", "0.01"]


def rows_of(tmp_path, table, *options):
    path, file = table.save(tmp_path / "table.json"), tmp_path / "times.json"
    assert main([*COMMAND, "--table", str(path), *options, "--json", str(file)]) == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["table"] == table.device
    assert found["made"]["calibrated"] == table.made
    return {f"{row['circuit']}, {row['degree']}": row for row in found["rows"]}


def table(seconds):
    """Products with keys take so long, whatever they are, and nothing else takes time."""
    rows = [
        (name, 4096, 50, work, seconds) for name in ("switch_keys", "hoisted_products") for work in (1.0, 1e9)
    ]
    return DeviceTimes("made-up", rows, made={"date": "today"})


@pytest.mark.fact_of_the_cpu("a table of the CPU's times")
def test_rows_have_estimates_and_times(tmp_path):
    once = rows_of(tmp_path, table(0.25), "--only", "applications", "models")
    assert len(once) == 3 + 5
    assert sum(name.startswith("model: ") for name in once) == 5
    for row in once.values():
        assert row["measured"] > 0
        assert row["ratio"] == pytest.approx(row["estimated"] / row["measured"], rel=1e-2)
    # One score and 30 features: five rotations add up a block of 32 slots.
    assert once["model: linear, 30 x 1, 8192"]["estimated"] == pytest.approx(5 * 0.25)
    twice = rows_of(tmp_path, table(0.5), "--only", "models")
    for name, row in twice.items():
        assert row["estimated"] == pytest.approx(2 * once[name]["estimated"], rel=1e-3)


def test_circuits_and_bootstraps(tmp_path):
    found = rows_of(tmp_path, table(0.25), "--only", "circuits", "bootstraps")
    names = {name.rsplit(",", 1)[0] for name in found}
    assert {"transform of 16 rows", "sigmoid", "bootstrap test-40, 1024 slots"} <= names
    assert all(row["measured"] > 0 for row in found.values())


@pytest.mark.fact_of_the_cpu("a table of the CPU's times")
def test_a_table_can_be_measured_first(tmp_path):
    file = tmp_path / "times.json"
    assert main([*COMMAND, "--calibrate", "1", "--only", "models", "--json", str(file)]) == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["table"].startswith("cpu-")
    assert found["made"]["calibrated"]["date"]
    assert all(row["estimated"] > 0 for row in found["rows"])
