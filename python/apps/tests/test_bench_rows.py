"""Benchmarks on small sizes: the rows that they write, what they check, and what they refuse."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.arrays import conv
from hemera.cli import main
from hemera.errors import NoiseError
from hemera.search.comparisons import slots
from hemera.times.table import DeviceTimes, device_name
from hemera_apps import networks
from hemera_apps.bench import bootstraps, matrices, plans, replicas
from hemera_apps.trees import paper

pytestmark = pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
RESULTS = Path(__file__).parents[3] / "bench" / "results"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a benchmark on the CPU, and reads what it wrote. Its tables of times are the test's own, and
    comparisons have a small ring; examples have the real one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(slots, "RING", slots.Ring(1 << 11, None))
    file = tmp_path / "result.json"

    def called(words, *more):
        command = ["bench", *words.split(), "--device", "cpu", "--json", str(file), *more]
        assert main(command) == 0
        return json.loads(file.read_text(encoding="utf-8"))

    return called


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("apps --app training --n 8192", "--n is an option of trees"),
        ("serve --clients 0", "--clients takes"),
        ("replicas --clients 0", "--clients takes"),
        ("bootstraps --load missing.json --plot errors.svg", "missing.json"),
        ("bootstraps --load other.json --plot errors.svg", "bench bootstraps"),
        ("bootstraps --load other.json", "--plot"),
        ("bootstraps --preset test-40 --field limbs=3", "limbs"),
        pytest.param(
            "plans --only smoothing --device cpu --threads 1 --json plans.json",
            "hemera calibrate",
            marks=pytest.mark.fact_of_the_cpu("a table of the CPU's times"),
        ),
        ("pool --devices cpu --small --batches 0", "at least 1"),
        ("pool --devices cuda:99 --small", "cuda:99"),
        ("bert --wide", "--wide is of a network: give --blocks"),
        ("bert --blocks 2 --inputs 2", "a network takes one input, and 2 are asked for"),
    ],
)
def test_mistakes_are_told(words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    Path("other.json").write_text("{}", encoding="utf-8")
    assert main(["bench", *words.split()]) == 1
    assert told in capsys.readouterr().err


def test_trees_beside_seal(run):
    pytest.importorskip("tenseal")
    rows = run("apps --app trees --n 8192 --samples 2 --rounds 1")["rows"]
    kinds = [("paper", "8192-218"), ("paper", "8192-214"), ("packed", "8192-218"), ("packed", "8192-214")]
    assert [(row["workload"], row["parameters"]) for row in rows] == [*kinds, ("packed", "auto")]
    assert all(row["checked"] is True and row["hemera_ms"] > 0 and row["seal_ms"] > 0 for row in rows)
    assert rows[0]["operations_per_sample"] == paper.PER_SAMPLE


def test_training(run, tmp_path):
    for module in ("sklearn", "pandas", "matplotlib"):
        pytest.importorskip(module)
    plot = tmp_path / "apps.svg"
    rows = run("apps --app training --small --iterations 4", "--plot", str(plot))["rows"]
    assert [(row["models"], row["checked"], row["security"]) for row in rows] == [
        (models, True, "below 128") for models in (1, 8)
    ]
    for row in rows:
        assert row["difference"] < 1e-3
        assert 0 < row["iteration_ms"] < row["hemera_ms"]
        each = row["iteration_ms"] + row["bootstrap_ms"] / row["bootstrap_every"]
        assert row["hemera_ms"] == pytest.approx(each, rel=1e-3)
    assert "training" in plot.read_text()


@pytest.mark.fact_of_the_cpu("no graphs")
def test_a_small_residual_network(run):
    words = "networks --threads 2 --seconds 0.01 --small --activation square"
    (found,) = run(words)["rows"]
    # Slots of the image: no copies, which bootstraps would pay.
    assert (found["slots"], found["bits"] > 7, "graph_seconds" in found) == (4 * 8 * 8, True, False)
    assert found["bootstraps"] > 0 < found["seconds"]
    assert found["key_bytes"] > found["file_bytes"] > 0
    (found,) = run(f"{words} --samples 2 --images 3")["rows"]
    assert (found["samples"], found["images"], found["slots"]) == (2, 3, 2 * 4 * 8 * 8)
    assert found["bits"] > 7


def test_resnet_20_has_its_layers(monkeypatch):
    """Section 4.2: 6 n + 2 layers, of which one is the matrix at the end; 0.27 million weights with n = 3."""
    kernels = []

    def counted(x, weights, *others, **options):
        kernels.append(weights)
        return conv(x, weights, *others, **options)

    monkeypatch.setattr(networks, "conv", counted)
    assert networks.resnet(3)(np.zeros((3, 32, 32))).shape == (10,)
    assert sum(each.shape[-1] == 3 for each in kernels) == 19
    assert 0.26e6 < sum(each.size for each in kernels) < 0.28e6


@pytest.mark.fact_of_the_cpu("bytes that the CPU's pool hands out")
def test_plans_have_the_bits_and_bytes_of_runs(run):
    name = device_name(hm.Context(hm.ckks.Parameters.for_circuit(1), "cpu", threads=1).description)
    DeviceTimes(name, [("inner_product", 8192, 50, 1.0, 0.25)]).save()
    rows = run("plans --threads 1 --seconds 0.01", "--only", "matrix", "stock, exact")["rows"]
    assert [row["program"] for row in rows] == ["matrix", "stock, exact"]
    assert rows[0]["bits"] == pytest.approx(rows[0]["expected_bits"], abs=2)
    assert rows[1]["bits"] == rows[1]["expected_bits"] == "exact"
    for row in rows:
        assert row["key_bytes"] == row["expected_key_bytes"] > 0
        assert row["plaintext_bytes"] == row["expected_plaintext_bytes"] > 0
        assert 0 < row["seconds"] < 60
    assert len(plans.PROGRAMS) == 10


TIMES = "times --small --threads 1 --seconds 0.01"


@pytest.mark.fact_of_the_cpu("a table of the CPU's times")
def test_rows_have_estimates_and_times(run, tmp_path):
    def rows_of(seconds, *only):
        """Products with keys take so long, whatever they are, and nothing else takes time."""
        names = ("switch_keys", "hoisted_products")
        rows = [(name, 4096, 50, work, seconds) for name in names for work in (1.0, 1e9)]
        table = DeviceTimes("made-up", rows, made={"date": "today"})
        found = run(TIMES, "--table", str(table.save(tmp_path / "table.json")), "--only", *only)
        assert (found["table"], found["made"]["calibrated"]) == (table.device, table.made)
        return {f"{row['circuit']}, {row['degree']}": row for row in found["rows"]}

    once = rows_of(0.25, "applications", "models")
    assert len(once) == 3 + 5
    for row in once.values():
        assert row["measured"] > 0
        assert row["ratio"] == pytest.approx(row["estimated"] / row["measured"], rel=1e-2)
    # One score and 30 features: five rotations add up a block of 32 slots.
    assert once["model: linear, 30 x 1, 8192"]["estimated"] == pytest.approx(5 * 0.25)
    for name, row in rows_of(0.5, "models").items():
        assert row["estimated"] == pytest.approx(2 * once[name]["estimated"], rel=1e-3)
    found = rows_of(0.25, "circuits", "bootstraps")
    names = {name.rsplit(",", 1)[0] for name in found}
    assert {"transform of 16 rows", "sigmoid", "bootstrap test-40, 1024 slots"} <= names
    assert all(row["measured"] > 0 for row in found.values())


@pytest.mark.fact_of_the_cpu("a table of the CPU's times")
def test_a_table_can_be_measured_first(run):
    found = run(f"{TIMES} --calibrate 1 --only models")
    assert found["table"].startswith("cpu-")
    assert found["made"]["calibrated"]["date"]
    assert all(row["estimated"] > 0 for row in found["rows"])


def test_servers_are_asked(run, tmp_path):
    pytest.importorskip("matplotlib", reason="plots need the extra 'bench'")
    plot = tmp_path / "plot.svg"
    words = "serve --small --model linear --clients 1,2 --connections 3 --seconds 0.1"
    rows = run(words, "--plot", str(plot))["rows"]
    assert [(row["clients"], row["connections"]) for row in rows] == [(1, 3), (2, 3)]
    for row in rows:
        assert (row["checked"], row["device"]) == (True, "cpu")
        assert row["requests"] >= row["clients"] * row["connections"]
        assert 0 < row["median_ms"] <= row["p99_ms"] <= row["longest_ms"]
    assert "<svg" in plot.read_text()
    (row,) = run("serve --small --model deep --clients 1 --connections 1 --seconds 0.1")["rows"]
    assert (row["checked"], row["model"], row["n"]) == (True, "deep", 2048)


def test_replicas_are_asked(run):
    pytest.importorskip("ray", reason="Ray is not installed (extra 'ray'; docs/scaling.md)")
    (row,) = run("replicas --small --model linear --clients 2 --rounds 2 --seconds 0.2")["rows"]
    assert (row["clients"], len(row["rounds"]), row["checked"]) == (2, 2, True)
    assert all(each[side]["requests"] >= 2 for each in row["rounds"] for side in ("without", "with"))


def test_published_results():
    """Every answer was right, and Ray takes a tenth at most of any request's time."""
    files = sorted(RESULTS.glob("serve-*.json"))
    assert files
    for path in [*files, RESULTS / "replicas-cpu-2-threads.json"]:
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        assert all(row["checked"] for row in rows)
        assert {row["model"] for row in rows} >= {"linear", "network"}
    for row in rows:
        assert row["processor_ms_ratio"] <= 1.10
        assert row["processor_ms_ratio"] == replicas._summary(row["rounds"])["processor_ms_ratio"]


BURN = "import time\nwhile time.process_time() < {}: pass\n"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads times of processes from /proc")
def test_processors_time_of_a_tree_of_processes():
    """A process computes for 0.2 s; its child computes for 0.4 s, and has ended or not."""
    child = BURN.format(0.4) + "print(flush=True)\nimport sys\nsys.stdin.read()"
    called = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}], check=True)"
    words = [sys.executable, "-c", BURN.format(0.2) + called]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        own, others = replicas._seconds(process.pid)
        process.stdin.close()
    assert 0.19 <= own < 0.4
    assert 0.39 <= others < 0.8
    assert sum(replicas._seconds(os.getpid())) >= own + others  # of ended ones, too


def test_ratios_are_of_each_round():
    def side(value):
        return {"processor_ms": value, "requests_per_second": 10 / value, "median_ms": 2 * value}

    told = replicas._summary(
        [{"without": side(a), "with": side(b)} for a, b in ((1.0, 2.0), (10.0, 11.0), (4.0, 6.0))]
    )
    assert (told["processor_ms_without"], told["processor_ms_with"]) == (4.0, 6.0)
    assert told["processor_ms_ratio"] == 1.5
    assert told["requests_per_second_ratio"] == pytest.approx(2 / 3, abs=1e-3)


OF_TEST_40 = "bootstraps --preset test-40 --slots 16"


def test_errors_of_each_kind_are_written_and_drawn(run, tmp_path):
    rows = run(f"{OF_TEST_40} --count 2")["rows"]
    assert [(row["kind"], row["count"]) for row in rows] == [
        (kind, count) for count in (1, 2) for kind in bootstraps.KINDS
    ]
    for first, second in zip(rows[:4], rows[4:], strict=True):
        assert 20 < first["worst_bits"] < first["mean_bits"] < 30
        assert second["mean_bits"] < first["mean_bits"] + 1
    pytest.importorskip("matplotlib")
    figure = tmp_path / "errors.svg"
    assert main(["bench", "bootstraps", "--load", str(tmp_path / "result.json"), "--plot", str(figure)]) == 0
    assert figure.read_text(encoding="utf-8").startswith("<?xml")


def test_fields_change_the_preset_and_time_is_told(run, capsys, refuse):
    fields = "--field levels=3 --field security=None --field order=slots-first"
    result = run(f"{OF_TEST_40} {fields} --count 1 --time 2 --merge-parts")
    wanted = {"preset": "test-40:levels=3:security=None:order=slots-first", "levels_left": 2}
    assert result.items() > {**wanted, "merge_parts": True, "security": "below 128"}.items()
    assert 800 < result["log_qp"] < 1400
    assert result["upload_bytes"] < result["key_bytes"] < result["memory_bytes"]
    assert result["seconds"]["runs"] == 2
    assert 0 < result["seconds"]["best"] <= result["seconds"]["median"]
    refuse((lambda: main(["bench", *OF_TEST_40.split(), "--field", "levels"]), SystemExit, None))
    assert "levels=16" in capsys.readouterr().err


def test_real_values_are_bootstrapped_as_such(run):
    real, whole = (run(f"{OF_TEST_40} --count 1", *own) for own in (["--real"], []))
    assert real["real"] is True
    assert real["memory_bytes"] < whole["memory_bytes"]
    assert all(20 < row["worst_bits"] < 32 for row in real["rows"])
    assert not np.any(np.imag(list(bootstraps.inputs(16, real=True).values())))


@pytest.mark.parametrize(
    ("only", "size", "wanted"),
    [
        ("layers", "3x8x4096", [{"shape": "3x8", "inputs": 4096, "bits": bits} for bits in (8, 16)]),
        ("packed", "6x40x128", [{"shape": "6x40", "vectors": 128, "bits": 8, "degree": 8192}]),
        ("pairs", "512x8", [{"pairs": 512, "size": 8}]),
        ("search", "500x16", [{"measurement": f"search{way}", "rows": 500} for way in ("", ", prepared")]),
        (
            "thresholds",
            "100x128",
            [
                {"measurement": f"thresholds, {want}", "rows": 100, "degree": 1 << 11}
                for want in ("mask", "count", "payloads")
            ],
        ),
        ("ranked", "4x16", [{"measurement": "first rows", "rows": 4}]),
    ],
)
def test_rows_of_matrices(only, size, wanted, run):
    option = {"search": "databases"}.get(only, only)
    rows = run(f"matrices --threads 2 --runs 1 --only {only} --{option} {size}")["rows"]
    for row, facts in zip(rows, wanted, strict=True):
        assert row.items() >= facts.items()
        assert row["milliseconds"] > 0
        if only in ("layers", "packed"):  # weights of 8 bits are rounded to 1/254 of the largest
            assert 4 < row["worst_bits"] < 11 if row["bits"] == 8 else 11 < row["worst_bits"] < 30
    assert only != "pairs" or (row["degree"] >= 2 * 512 * 8 and row["worst_bits"] > 8)


def test_wrong_results_end_the_run():
    wanted = np.array([1.0, 2.0])
    for values, told in (([1.0, 2.5], r"5\.00e-01, expected at most 1\.00e-01"), ([np.nan, 2.0], "nan")):
        with pytest.raises(NoiseError, match=f"a value is wrong by {told}"):
            matrices._require_close("a layer", np.array(values), wanted, 0.1)
    for score, row, told in (
        (np.nan, 3, "cosine nan"),
        (1.0, 2, "row 3 was asked, row 2 found"),
        (0.5, 3, r"cosine 0\.5"),
    ):
        with pytest.raises(NoiseError, match=told):
            matrices._require_best((np.array([score]), np.array([row])), 3)
