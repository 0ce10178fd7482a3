"""`hemera bench exact`: rows of bootstraps and of encrypted integers, in small rings."""

import json

import numpy as np
import pytest

import hemera as hm
from hemera.cli import main
from hemera.errors import OutOfMemoryError
from hemera_apps.bench import exact


def rows_of(file, *arguments):
    command = ["bench", "exact", "--device", "cpu", "--threads", "2", "--small", "--runs", "1"]
    assert main([*command, "--json", str(file), *arguments]) == 0
    return json.loads(file.read_text(encoding="utf-8"))["rows"]


def test_rows_of_bootstraps(tmp_path):
    chosen = ["--only", "bootstraps", "--presets", "bfv11-test-40", "--in-a-row", "2"]
    rows = rows_of(tmp_path / "rows.json", *chosen)
    single = [row for row in rows if row["measurement"] == "bootstrap"]
    # 2^32 has no slots.
    assert [(row["scheme"], row["plain_modulus"], row["encoding"]) for row in single] == [
        ("bfv", 65537, "coefficients"),
        ("bfv", 65537, "slots"),
        ("bgv", 65537, "coefficients"),
        ("bgv", 65537, "slots"),
        ("bfv", 2**32, "coefficients"),
    ]
    for row in single:
        assert row["values"] == 2048
        assert row["needed_budget"] < row["guaranteed_budget"] <= row["budget"] + 1
        assert row["milliseconds"] >= row["host_milliseconds"] > 0
        assert 0 < row["processor_milliseconds"] <= 3 * row["milliseconds"]  # of two threads
    assert [row["bootstraps"] for row in rows if row["measurement"].startswith("in a row")] == [2] * 5
    endless = [row["encoding"] for row in rows if row["measurement"].startswith("product without end")]
    assert endless == ["slots", "slots"]
    assert all(row["process_peak_bytes"] > row["key_bytes"] for row in single)
    only = rows_of(tmp_path / "rows.json", *chosen, "--schemes", "bfv", "--moduli", str(2**32))
    assert {(row["scheme"], row["plain_modulus"]) for row in only} == {("bfv", 2**32)}


def test_rows_of_integers(tmp_path):
    chosen = ["--only", "integers", "many", "chain", "--bits", "8", "--many", "4", "--ciphertexts", "1"]
    rows = rows_of(tmp_path / "rows.json", *chosen)
    timed = [row for row in rows if "per_second" in row]
    assert {row["measurement"] for row in timed} == {
        *("a + b", "a - b", "a < b", "a & b", "a * b", "where(a < b, a, b)", "table of 256")
    }
    for row in timed:
        assert row["values"] == (1024 if row["measurement"] == "table of 256" else 512)
        assert row["per_second"] == pytest.approx(1000 * row["values"] / row["milliseconds"], rel=1e-3)
        assert row.get("mode") == "graph" or row["failure_log2"] < -128
    assert sum(row.get("mode") == "graph" for row in timed) == len(timed) / 2
    many = [
        (row["operation"], row["dtype"], row["values"]) for row in rows if row["measurement"] == "none wrong"
    ]
    assert many.count(("a * b", "int8", 4)) == 1
    assert len(many) == 13
    last = {"measurement": "operations in a row, all right", "dtype": "int32", "operations": 4}
    assert rows[-1].items() > last.items()


def test_graphs_without_room_leave_the_other_rows(tmp_path, monkeypatch):
    def refuse(*_):
        raise OutOfMemoryError("out of memory of device cuda:0")

    monkeypatch.setattr(hm.integers.Context, "capture", refuse)
    two = exact._OPERATIONS[:2]
    monkeypatch.setattr(exact, "_cases", lambda _bits: two)
    rows = rows_of(tmp_path / "rows.json", "--only", "integers", "--bits", "8", "--ciphertexts", "1")
    assert [row.get("refused") for row in rows] == [None, "out of memory"] * 2
    assert [row["measurement"] for row in rows] == ["a + b", "a + b", "a - b", "a - b"]


@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
def test_squares_are_those_of_the_ring(encoding):
    values = np.random.default_rng(1).integers(0, 2**32, 64)
    values[:3] = [0, 1, 2**32 - 1]
    if encoding == "slots":
        expected = [int(value) ** 2 % 2**32 for value in values]
    else:  # by the definition
        expected = [0] * 64
        for i, a in enumerate(values):
            for j, b in enumerate(values):
                expected[(i + j) % 64] += (-1) ** ((i + j) // 64) * int(a) * int(b)
        expected = [each % 2**32 for each in expected]
    np.testing.assert_array_equal(exact._square(values, 2**32, encoding), expected)


def test_operands_begin_with_all_pairs_of_edges():
    a, b = exact._operands(np.dtype(np.int8), 400, 0)
    edges = {-128, -127, 0, 1, 2, 15, 16, 17, 63, 126, 127, 0x55}
    assert set(zip(a[:144].tolist(), b[:144].tolist(), strict=True)) == {(x, y) for x in edges for y in edges}
    assert len(set(a[144:].tolist())) > 100
