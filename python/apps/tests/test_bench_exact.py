"""`hemera bench exact`, `bert` and `pool` on small sizes: the rows that they write."""

import argparse
import json

import numpy as np
import pytest

import hemera as hm
from hemera.cli import main
from hemera.errors import NoiseError, OutOfMemoryError
from hemera_apps.bench import bert, exact, pool


def rows_of(file, *arguments):
    assert main(["bench", *arguments, "--json", str(file)]) == 0
    return json.loads(file.read_text(encoding="utf-8"))["rows"]


EXACT = ("exact", "--device", "cpu", "--threads", "2", "--small", "--runs", "1")


def test_rows_of_bootstraps(tmp_path):
    words = "--only bootstraps --presets bfv11-test-40 --in-a-row 2 --schemes bfv"
    rows = rows_of(tmp_path / "rows.json", *EXACT, *words.split())
    single = [row for row in rows if row["measurement"] == "bootstrap"]
    kinds = [("bfv", 65537, way) for way in ("coefficients", "slots")]
    assert [(row["scheme"], row["plain_modulus"], row["encoding"]) for row in single] == [
        *kinds,
        ("bfv", 2**32, "coefficients"),  # which has no slots
    ]
    for row in single:
        assert row["values"] == 2048
        assert row["needed_budget"] < row["guaranteed_budget"] <= row["budget"] + 1
        assert row["milliseconds"] >= row["host_milliseconds"] > 0
        assert 0 < row["processor_milliseconds"] <= 3 * row["milliseconds"]  # of two threads
        assert row["process_peak_bytes"] > row["key_bytes"]
    assert [row["bootstraps"] for row in rows if row["measurement"].startswith("in a row")] == [2] * 3
    endless = [row["encoding"] for row in rows if row["measurement"].startswith("product without end")]
    assert endless == ["slots"]


def test_rows_of_integers(tmp_path):
    chosen = ["--only", "integers", "many", "chain", "--bits", "8", "--many", "4", "--ciphertexts", "1"]
    rows = rows_of(tmp_path / "rows.json", *EXACT, *chosen)
    timed = [row for row in rows if "per_second" in row]
    names = ("a + b", "a - b", "a < b", "a & b", "a * b", "where(a < b, a, b)", "table of 256")
    assert {row["measurement"] for row in timed} == set(names)
    for row in timed:
        assert row["values"] == (1024 if row["measurement"] == "table of 256" else 512)
        assert row["per_second"] == pytest.approx(1000 * row["values"] / row["milliseconds"], rel=1e-3)
        assert row.get("mode") == "graph" or row["failure_log2"] < -128
    assert sum(row.get("mode") == "graph" for row in timed) == len(timed) / 2
    many = [(row["operation"], row["dtype"]) for row in rows if row["measurement"] == "none wrong"]
    assert (many.count(("a * b", "int8")), len(many)) == (1, 13)
    last = {"measurement": "operations in a row, all right", "dtype": "int32", "operations": 4}
    assert rows[-1].items() > last.items()


def test_graphs_without_room_leave_the_other_rows(tmp_path, monkeypatch):
    def refuse(*_):
        raise OutOfMemoryError("out of memory of device cuda:0")

    monkeypatch.setattr(hm.integers.Context, "capture", refuse)
    two = exact._OPERATIONS[:2]
    monkeypatch.setattr(exact, "_cases", lambda _bits: two)
    rows = rows_of(tmp_path / "rows.json", *EXACT, "--only", "integers", "--bits", "8", "--ciphertexts", "1")
    assert [(row["measurement"], row.get("refused")) for row in rows] == [
        (name, refused) for name in ("a + b", "a - b") for refused in (None, "out of memory")
    ]


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


BERT = ("bert", "--device", "cpu", "--threads", "2", "--size", "8")


@pytest.mark.parametrize(
    ("options", "inputs", "bootstraps", "stages"),
    [
        (["--check-stages", "--inputs", "3", "--tokens", "4", "--runs", "1"], 3, 8 + 1 + 1 + 8 + 1, 9),
        (["--inputs", "1"], 1, 5, 14),
    ],
)
def test_rows_of_a_small_block(options, inputs, bootstraps, stages, tmp_path):
    (row,) = rows_of(tmp_path / "rows.json", *BERT, *options)
    assert (row["inputs"], row["degree"], row["security"]) == (inputs, 2048, "below 128")
    for run in row["runs"]:
        assert run["bootstraps"] == bootstraps
        assert run["bits"] > row["least_bits"] > 14
        names = [each["stage"] for each in run["stages"]]
        assert len(set(names)) == len(names) == stages
        assert {"softmax", "first bootstraps", "output layer", "second layer norm"} <= set(names)
        assert sum(each["seconds"] for each in run["stages"]) == pytest.approx(run["seconds"], abs=1e-3)
        assert all(0 < each["peak_bytes"] <= run["peak_bytes"] for each in run["stages"])
        assert inputs == 1 or run["stages"][-1]["bits"]["output"] > 14


def test_plans_of_a_block(tmp_path):
    (row,) = rows_of(tmp_path / "rows.json", *BERT, "--plan", "nvidia-h200")
    assert row["seconds"] > 0
    assert [each["stage"] for each in row["stages"]][-2:] == ["second bootstraps", "second layer norm"]
    assert (row["device"], "runs" in row) == ("nvidia-h200", False)


def test_wrong_results_end_the_run(monkeypatch, capsys, refuse):
    monkeypatch.setattr(bert, "least_bits", lambda planned: planned + 20)
    parser = argparse.ArgumentParser()
    bert.add_arguments(parser)
    words = ["--device", "cpu", "--tokens", "4", "--size", "8", "--inputs", "3"]
    refuse((lambda: bert.run(parser.parse_args(words)), NoiseError, "agrees with the clear one in"))
    monkeypatch.setattr("hemera_apps.bench.bert_network.least_bits", lambda _: 60.0)
    assert main(["bench", "bert", "--blocks", "1", "--device", "cpu"]) != 0
    assert "logits agree with the clear ones in" in capsys.readouterr().err


def test_rows_of_a_network(tmp_path):
    network = tmp_path / "network.json", "bert", "--blocks", "2"
    (row,) = rows_of(*network, "--device", "cpu")
    (run,) = row["runs"]
    assert (row["blocks"], len(run["blocks"]), len(run["logits"])) == (2, 2, 2)
    assert min(run["logits_bits"], *(block["bits"] for block in run["blocks"])) > 13
    assert sum(run["stages"].values()) == pytest.approx(run["seconds"], rel=0.1)
    (row,) = rows_of(*network, "--plan", "nvidia-h200")
    assert sum(row["stages"].values()) == pytest.approx(row["seconds"], rel=0.05)
    (wide,) = rows_of(*network, "--plan", "nvidia-h200", "--wide")
    assert wide["wide"]
    assert 1.2 * row["seconds"] < wide["seconds"] < 4 * row["seconds"]
    assert wide["stages"]["output layer"] == pytest.approx(row["stages"]["output layer"], rel=0.01)
    (wide,) = rows_of(*network, "--device", "cpu", "--wide")
    assert wide["runs"][0]["logits_bits"] > 13


POOL = ("pool", "--threads", "1", "--small", "--seconds", "0.01", "--devices")


@pytest.mark.fact_of_the_cpu("names of devices")
def test_rows_of_one_member_and_two(tmp_path):
    groups = [name for name in pool.GROUPS if name != "models"]
    options = ["cpu,cpu", "--batches", "2,1", "--in-flight", "2", "--only", *groups]
    rows = rows_of(tmp_path / "pool.json", *POOL, *options)
    for row in rows:
        assert row["per_second"] > 0
        assert row["devices"] == ",".join(["cpu"] * row["members"])
        assert row["members"] > 1 or row["scaling"] == 1
    scaled = {
        (row["measurement"], row["batch"], row["members"]): row
        for row in rows
        if row["measurement"] in ("product", "NumPy to NumPy", "bootstrap")
    }
    kinds = [("product", 2), ("product", 1), ("NumPy to NumPy", 2), ("bootstrap", 1)]
    assert set(scaled) == {(*kind, members) for kind in kinds for members in (1, 2)}
    for (name, batch, _), row in scaled.items():
        ratio = row["per_second"] / scaled[name, batch, 1]["per_second"]
        assert row["scaling"] == pytest.approx(ratio, abs=1e-3)
    copies = [row for row in rows if row["measurement"].startswith("copy")]
    # Two polynomials of three limbs with 1024 coefficients of eight bytes.
    assert [row["bytes"] for row in copies[:2]] == [2 * 2 * 3 * 1024 * 8, 2 * 3 * 1024 * 8]
    for row in copies:
        assert row["gigabytes_per_second"] == pytest.approx(row["bytes"] * row["per_second"] / 1e9, abs=0.01)
    shared = [row for row in rows if row["measurement"].endswith("of one ciphertext")]
    # 64 diagonals have giant steps for all, and a bootstrap has steps for all.
    assert [(row["measurement"].split()[0], row["members"], row["computing"]) for row in shared] == [
        (name, members, members) for name in ("transform", "bootstrap") for members in (1, 2)
    ]
    exchanged = [row for row in rows if row["measurement"] in ("all-reduce", "broadcast")]
    assert [(row["measurement"], row["members"], row["bytes"]) for row in exchanged] == [
        (name, 2, 2 * 3 * 1024 * 8) for name in ("all-reduce", "broadcast")
    ]
    beside = [row for row in rows if row["measurement"].endswith("beside copies")]
    assert [row["copies_per_second"] > 0 for row in beside] == [True, True]


def test_a_packaged_model_on_one_member_and_two(tmp_path):
    params = hm.ckks.Parameters.from_bits(
        degree=1024, prime_bits=[50, 40, 40], special_bits=[50], scale_bits=40, security=None
    )
    plan = hm.compile(lambda x: x * x + 1, hm.ArraySpec((2, 4), range=(-1, 1)), params=params)
    plan.package.save(tmp_path / "square.model")
    options = ["cpu,cpu", "--only", "models", "--model", str(tmp_path / "square.model"), "--shape", "2,4"]
    rows = rows_of(tmp_path / "pool.json", *POOL, *options)
    assert [(row["model"], row["members"]) for row in rows] == [("square", 1), ("square", 2)]
    assert rows[1]["scaling"] == pytest.approx(rows[1]["per_second"] / rows[0]["per_second"], abs=1e-3)


def test_predictions_need_no_device(tmp_path):
    rows = rows_of(tmp_path / "predicted.json", "pool", "--predict", "nvidia-h200", "--small")
    seconds = {(row["circuit"], row["links"], row["members"]): row["predicted_seconds"] for row in rows}
    assert len(seconds) == len(rows) == 2 * 2 * 4
    for circuit in ("transform", "bootstrap"):
        # More members are no slower, as all need not be used; links do not matter to one.
        for links in ("NVLink", "PCIe"):
            assert seconds[circuit, links, 8] <= seconds[circuit, links, 1] * 1.001
        assert seconds[circuit, "NVLink", 1] == seconds[circuit, "PCIe", 1]
        assert seconds[circuit, "NVLink", 4] <= seconds[circuit, "PCIe", 4]


def test_choices_of_members():
    assert [len(chosen) for chosen in pool._choices(["cpu"] * 8)] == [1, 2, 4, 8]
    assert [len(chosen) for chosen in pool._choices(["cpu"] * 6)] == [1, 2, 4, 6]
    assert pool._choices(["cpu:*"]) == ["cpu", "cpu:*"]
