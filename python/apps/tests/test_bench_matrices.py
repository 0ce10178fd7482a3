"""`hemera bench matrices`: rows of products and of search, in small sizes."""

import json

import numpy as np
import pytest

from hemera.cli import main
from hemera.errors import NoiseError
from hemera.search.comparisons import slots
from hemera_apps.bench import matrices


def rows_of(file, *arguments):
    command = ["bench", "matrices", "--device", "cpu", "--threads", "2", "--runs", "1"]
    assert main([*command, "--json", str(file), *arguments]) == 0
    return json.loads(file.read_text(encoding="utf-8"))["rows"]


def test_rows_of_layers(tmp_path):
    rows = rows_of(tmp_path / "rows.json", "--only", "layers", "--layers", "3x8x4096")
    assert [(row["shape"], row["inputs"], row["bits"]) for row in rows] == [
        ("3x8", 4096, 8),
        ("3x8", 4096, 16),
    ]
    # Weights of 8 bits are rounded to 1/254 of the largest.
    assert 4 < rows[0]["worst_bits"] < 11 < rows[1]["worst_bits"] < 30
    assert all(row["milliseconds"] > 0 for row in rows)


def test_rows_of_packed_vectors(tmp_path):
    (row,) = rows_of(tmp_path / "rows.json", "--only", "packed", "--packed", "6x40x128")
    assert (row["shape"], row["vectors"], row["bits"], row["degree"]) == ("6x40", 128, 8, 8192)
    assert 4 < row["worst_bits"] < 11
    assert row["milliseconds"] > 0


def test_rows_of_pairs(tmp_path):
    (row,) = rows_of(tmp_path / "rows.json", "--only", "pairs", "--pairs", "512x8")
    assert (row["pairs"], row["size"]) == (512, 8)
    assert row["degree"] >= 2 * 512 * 8
    assert row["worst_bits"] > 8


def test_rows_of_search(tmp_path):
    rows = rows_of(tmp_path / "rows.json", "--only", "search", "--databases", "500x16")
    assert [row["measurement"] for row in rows] == ["search", "search, prepared"]
    assert all((row["rows"], row["dims"]) == (500, 16) for row in rows)


@pytest.fixture(autouse=True)
def small_ring(monkeypatch):
    """Comparisons take it; examples have the real one."""
    monkeypatch.setattr(slots, "RING", slots.Ring(1 << 11, None))


def test_rows_of_thresholds(tmp_path):
    rows = rows_of(tmp_path / "rows.json", "--only", "thresholds", "--thresholds", "100x128")
    assert [row["measurement"] for row in rows] == [
        f"thresholds, {want}" for want in ("mask", "count", "payloads")
    ]
    assert all((row["rows"], row["degree"]) == (100, 1 << 11) for row in rows)


def test_rows_of_ranks(tmp_path):
    (row,) = rows_of(tmp_path / "rows.json", "--only", "ranked", "--ranked", "4x16")
    assert (row["measurement"], row["rows"], row["levels"] > 15) == ("first rows", 4, True)


def test_wrong_results_end_the_run():
    with pytest.raises(
        NoiseError, match=r"a layer: a value is wrong by 5\.00e-01, expected at most 1\.00e-01"
    ):
        matrices._require_close("a layer", np.array([1.0, 2.5]), np.array([1.0, 2.0]), 0.1)
    for values in ([np.nan, 2.0], [1.0, np.nan]):
        with pytest.raises(NoiseError, match="a value is wrong by nan"):
            matrices._require_close("a layer", np.array(values), np.array([1.0, 2.0]), 0.1)
    with pytest.raises(NoiseError, match="cosine nan"):
        matrices._require_best((np.array([np.nan]), np.array([3])), 3)
    with pytest.raises(NoiseError, match="row 3 was asked, row 2 found"):
        matrices._require_best((np.array([1.0]), np.array([2])), 3)
    with pytest.raises(NoiseError, match=r"cosine 0\.5"):
        matrices._require_best((np.array([0.5]), np.array([3])), 3)
