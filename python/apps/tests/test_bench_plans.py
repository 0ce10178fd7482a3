"""`hemera bench plans`: what plans of compiled programs say, compared with runs."""

import json

import pytest

import hemera as hm
from hemera.cli import main
from hemera.times.table import DeviceTimes, device_name
from hemera_apps.bench import plans

COMMAND = ["bench", "plans", "--device", "cpu", "--threads", "1", "--seconds", "0.01"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def rows_of(tmp_path, *names):
    params = hm.ckks.Parameters.for_circuit(1)
    name = device_name(hm.Context(params, "cpu", threads=1).description)
    DeviceTimes(name, [("inner_product", 8192, 50, 1.0, 0.25)]).save()
    file = tmp_path / "plans.json"
    assert main([*COMMAND, "--only", *names, "--json", str(file)]) == 0
    found = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [row["program"] for row in found] == list(names)
    return found


@pytest.mark.fact_of_the_cpu("bytes that the CPU's pool hands out")
def test_plans_have_the_bits_and_bytes_of_runs(tmp_path):
    matrix, stock = rows_of(tmp_path, "matrix", "stock, exact")
    assert matrix["bits"] == pytest.approx(matrix["expected_bits"], abs=2)
    assert stock["bits"] == stock["expected_bits"] == "exact"
    for row in (matrix, stock):
        assert row["key_bytes"] == row["expected_key_bytes"] > 0
        assert row["plaintext_bytes"] == row["expected_plaintext_bytes"] > 0
        assert 0 < row["seconds"] < 60


@pytest.mark.fact_of_the_cpu("no table of times")
def test_a_machine_without_a_table_is_told_to_make_one(tmp_path, capsys):
    assert main([*COMMAND, "--only", "smoothing", "--json", str(tmp_path / "plans.json")]) != 0
    assert "hemera calibrate" in capsys.readouterr().err


def test_ten_programs_are_compared():
    assert len(plans.PROGRAMS) == 10
