"""`hemera bench pool`: rates by the number of members, and copies between them, on members of the CPU."""

import json

import pytest

import hemera as hm
from hemera.cli import main
from hemera_apps.bench import pool

COMMAND = ["bench", "pool", "--devices", "cpu,cpu,cpu", "--threads", "1", "--small", "--seconds", "0.01"]


@pytest.mark.fact_of_the_cpu("names of devices")
def test_rows_of_one_member_two_and_all(tmp_path):
    file = tmp_path / "pool.json"
    groups = [name for name in pool.GROUPS if name != "models"]
    options = ["--batches", "2,1", "--in-flight", "2", "--only", *groups, "--json", str(file)]
    assert main([*COMMAND, *options]) == 0
    result = json.loads(file.read_text(encoding="utf-8"))
    assert result["devices"] == ["cpu", "cpu", "cpu"]
    rows = result["rows"]
    scaled = [row for row in rows if row["measurement"] in ("product", "NumPy to NumPy", "bootstrap")]
    assert [(row["measurement"], row["members"], row["batch"]) for row in scaled] == [
        *(("product", members, batch) for members in (1, 2, 3) for batch in (2, 1)),
        *(("NumPy to NumPy", members, 2) for members in (1, 2, 3)),
        *(("bootstrap", members, 1) for members in (1, 2, 3)),
    ]
    for row in rows:
        assert row["per_second"] > 0
        assert row["devices"] == ",".join(["cpu"] * row["members"])
        if row["members"] == 1:
            assert row["scaling"] == 1
    first = {(row["measurement"], row["batch"]): row["per_second"] for row in scaled if row["members"] == 1}
    for row in scaled:
        assert row["scaling"] == pytest.approx(
            row["per_second"] / first[row["measurement"], row["batch"]], abs=1e-3
        )
    copies = [row for row in rows if row["measurement"].startswith("copy")]
    # Two polynomials of three limbs with 1024 coefficients of eight bytes.
    assert [row["bytes"] for row in copies[:2]] == [2 * 2 * 3 * 1024 * 8, 2 * 3 * 1024 * 8]
    for row in copies:
        assert row["gigabytes_per_second"] == pytest.approx(row["bytes"] * row["per_second"] / 1e9, abs=0.01)
    shared = [row for row in rows if row["measurement"].endswith("of one ciphertext")]
    # 64 diagonals have giant steps for all, and a bootstrap has steps for all.
    assert [(row["measurement"].split()[0], row["members"], row["computing"]) for row in shared] == [
        (name, members, members) for name in ("transform", "bootstrap") for members in (1, 2, 3)
    ]
    exchanged = [row for row in rows if row["measurement"] in ("all-reduce", "broadcast")]
    assert [(row["measurement"], row["members"]) for row in exchanged] == [
        (name, members) for members in (2, 3) for name in ("all-reduce", "broadcast")
    ]
    assert {row["bytes"] for row in exchanged} == {2 * 3 * 1024 * 8}
    beside = [row for row in rows if row["measurement"].endswith("beside copies")]
    assert [row["copies_per_second"] > 0 for row in beside] == [True, True]


def test_a_packaged_model_on_one_member_and_two(tmp_path):
    params = hm.ckks.Parameters.from_bits(
        degree=1024, prime_bits=[50, 40, 40], special_bits=[50], scale_bits=40, security=None
    )
    plan = hm.compile(lambda x: x * x + 1, hm.ArraySpec((2, 4), range=(-1, 1)), params=params)
    plan.package.save(tmp_path / "square.model")
    file = tmp_path / "pool.json"
    alone = [*COMMAND[:2], "--devices", "cpu,cpu", *COMMAND[4:], "--only", "models", "--json", str(file)]
    assert main([*alone, "--model", str(tmp_path / "square.model"), "--shape", "2,4"]) == 0
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [(row["model"], row["members"], row["per_second"] > 0) for row in rows] == [
        ("square", 1, True),
        ("square", 2, True),
    ]
    assert rows[1]["scaling"] == pytest.approx(rows[1]["per_second"] / rows[0]["per_second"], abs=1e-3)


def test_predictions_need_no_device(tmp_path):
    file = tmp_path / "predicted.json"
    assert main(["bench", "pool", "--predict", "nvidia-h200", "--small", "--json", str(file)]) == 0
    result = json.loads(file.read_text(encoding="utf-8"))
    assert result["predicted"] == "nvidia-h200"
    seconds = {
        (row["circuit"], row["links"], row["members"]): row["predicted_seconds"] for row in result["rows"]
    }
    assert len(seconds) == len(result["rows"]) == 2 * 2 * 4
    for circuit in ("transform", "bootstrap"):
        # More members are no slower, as all need not be used; links do not matter to one.
        for links in ("NVLink", "PCIe"):
            assert seconds[circuit, links, 8] <= seconds[circuit, links, 1] * 1.001
        assert seconds[circuit, "NVLink", 1] == seconds[circuit, "PCIe", 1]
        assert seconds[circuit, "NVLink", 4] <= seconds[circuit, "PCIe", 4]


def test_mistakes_are_told(capsys):
    assert main([*COMMAND, "--batches", "0"]) == 1
    assert "at least 1" in capsys.readouterr().err
    assert main([*COMMAND[:2], "--devices", "cuda:99", *COMMAND[4:]]) == 1
    assert "cuda:99" in capsys.readouterr().err
    assert [len(chosen) for chosen in pool._choices(["cpu"] * 8)] == [1, 2, 4, 8]
    assert [len(chosen) for chosen in pool._choices(["cpu"] * 6)] == [1, 2, 4, 6]
    assert pool._choices(["cpu:*"]) == ["cpu", "cpu:*"]
