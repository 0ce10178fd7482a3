"""Files of GPU results: compared with other libraries, and as plots."""

import json
import sys
from pathlib import Path

import pytest

from hemera.cli import main
from hemera.errors import FileError, ParameterError
from hemera_apps import _figures
from hemera_apps.bench import gpu


def row(**changes):
    sizes = {"n": 65536, "log_q": 1770.0, "limbs": 30, "special": 8, "dnum": 4, "level": 28, "batch": 1}
    names = {"scheme": "ckks", "operation": "multiply_relinearize", "arithmetic": "u64", "mode": "eager"}
    found = {"security": "below 128", "microseconds": 394.5, "spread": 1.25, "checked": True}
    return {**sizes, **names, **found, **changes}


def bootstrap_row(operation, level, **changes):
    sizes = {"n": 65536, "preset": "n16-40", "slots": 32768, "real": False, "limbs": 3, "batch": 1}
    names = {"scheme": "ckks", "operation": operation, "level": level, "mode": "graph"}
    return {**sizes, **names, "microseconds": 1000.0, "spread": 1.0, "checked": True, **changes}


def write(path, rows):
    results = {"gpu": "a GPU", "driver": "1.2.3", "commit": "abc", "date": "2026-11-20", "rows": rows}
    path.write_text(json.dumps(results), encoding="utf-8")
    return str(path)


def test_results_stand_beside_those_of_others(tmp_path, capsys):
    rows = [row(), row(mode="graph", microseconds=377.25), row(operation="rotate", checked=False)]
    # Neither another batch nor another set.
    rows += [row(batch=8, microseconds=12345), row(n=8192, limbs=2, microseconds=54321)]
    assert main(["bench", "--compare", write(tmp_path / "r.json", rows)]) == 0
    lines = capsys.readouterr().out.splitlines()
    product = next(line.split() for line in lines if line.startswith("multiply_relinearize"))
    # Hemera's two modes, Phantom, FIDESlib, HEonGPU, the goal, and FIDESlib's time over Hemera's.
    assert product[1:] == ["394", "377", "855", "789", "1,806", "350", "2.00x"]
    assert next(line.split() for line in lines if line.startswith("rotate"))[1] == "394!"
    assert "wrong" in lines[-1]
    assert not any("12,345" in line or "54,321" in line for line in lines)


def test_every_set_of_others_is_of_known_operations():
    operations = {
        *("add", "add_plain", "multiply_plain", "multiply_scalar", "rescale", "mod_switch", "ntt", "intt"),
        *("multiply_relinearize", "square_relinearize", "rotate", "rotate_hoisted_8", "encode", "decode"),
        *("encrypt_public", "encrypt_symmetric", "decrypt", "relinearization_key"),
    }
    known = gpu.others()
    assert len(known["sets"]) >= 10
    fields = set(row())
    for entry in known["sets"]:
        assert set(entry["match"]) <= fields
        for library, times in entry["microseconds"].items():
            assert library == "goal" or library in known["libraries"]
            assert times.keys() <= operations
            assert all(time > 0 for time in times.values())


def test_plots(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [row(level=level, limbs=level + 2, log_q=59.0 * (level + 2)) for level in (5, 10, 28)]
    rows += [row(operation="ntt", limbs=limbs, log_q=59.0 * limbs) for limbs in (1, 8, 30)]
    path = write(tmp_path / "r.json", rows)
    assert main(["bench", "--compare", path, "--plot", str(tmp_path / "plots")]) == 0
    names = sorted(file.name for file in (tmp_path / "plots").iterdir())
    assert names == ["multiplication-by-level.svg", "ntt-throughput.svg"]
    for file in (tmp_path / "plots").iterdir():
        assert file.read_text(encoding="utf-8").startswith("<?xml")


def test_bootstraps_are_drawn_by_their_steps(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [
        bootstrap_row("bootstrap", 3, microseconds=13000.0),
        bootstrap_row("bootstrap", 3, microseconds=14000.0, mode="eager"),
        bootstrap_row("linear_transform", 3),
        bootstrap_row("linear_transform", 27, microseconds=2000.0),
        bootstrap_row("mod_raise", 27, microseconds=500.0),
        bootstrap_row("eval_mod", 24, microseconds=5000.0),
        bootstrap_row("eval_mod", 24, microseconds=9000.0, batch=8),
        bootstrap_row("bootstrap", 3, microseconds=7000.0, merges_parts=True),
        bootstrap_row("polynomial", 16, microseconds=800.0, merges_parts=True),
        bootstrap_row("eval_mod", 24, microseconds=3000.0, merges_parts=True),
        {"operation": "client_bootstrap", "preset": "openfhe", "slots": 64, "microseconds": 14000.0},
    ]
    results = gpu.load(write(tmp_path / "r.json", rows))
    assert gpu._bootstrap_steps(results) == {
        "n16-40, 32768 complex slots": {
            "SlotToCoeff": 1.0,
            "ModRaise": 0.5,
            "CoeffToSlot": 2.0,
            "EvalMod": 5.0,
            "the rest": 4.5,
        },
        "n16-40, 32768 merged slots": {
            "SlotToCoeff": 0.0,
            "ModRaise": 0.0,
            "CoeffToSlot": 0.0,
            "EvalMod": 3.0,
            "the rest": 4.0,
        },
    }
    assert [path.name for path in gpu.plot(results, str(tmp_path))] == ["bootstrap-steps.svg"]


def test_mistakes_are_told(tmp_path, capsys):
    assert main(["bench", "--compare", str(tmp_path / "missing.json")]) == 1
    assert "missing.json" in capsys.readouterr().err
    (tmp_path / "other.json").write_text('{"rows": [{}]}', encoding="utf-8")
    assert main(["bench", "--compare", str(tmp_path / "other.json")]) == 1
    assert "hemera_gpu_bench" in capsys.readouterr().err
    assert main(["bench", "--plot", str(tmp_path)]) == 1
    assert "--compare" in capsys.readouterr().err
    pytest.importorskip("matplotlib")
    # Nothing to plot.
    path = write(tmp_path / "r.json", [row()])
    assert main(["bench", "--compare", path, "--plot", str(tmp_path)]) == 1
    assert "--sweep" in capsys.readouterr().err


REPOSITORY = Path(__file__).resolve().parents[3]


def test_without_matplotlib_the_way_out_is_told(monkeypatch, tmp_path, capsys, refuse):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    refuse((lambda: _figures.new_figure(3, 2), ParameterError, r"pip install matplotlib"))
    known = REPOSITORY / "bench" / "results" / "bootstrap-errors.json"
    figure = str(tmp_path / "errors.svg")
    assert main(["bench", "bootstraps", "--load", str(known), "--plot", figure]) == 1
    assert "pip install matplotlib" in capsys.readouterr().err


def test_only_one_module_opens_matplotlib():
    packages = [REPOSITORY / "python" / "hemera", REPOSITORY / "python" / "apps" / "hemera_apps"]
    users = [
        path.relative_to(package).as_posix()
        for package in packages
        for path in package.rglob("*.py")
        if "import matplotlib" in (text := path.read_text(encoding="utf-8")) or "from matplotlib" in text
    ]
    assert users == ["_figures.py"]


def test_the_same_figure_is_the_same_file(tmp_path):
    pytest.importorskip("matplotlib")
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        figure = _figures.new_figure(3, 2)
        figure.add_subplot(title="a title").plot([1, 2], [3, 4], label="a line")
        _figures.save_figure(figure, file)
    text = files[0].read_text(encoding="utf-8")
    assert text == files[1].read_text(encoding="utf-8")
    assert "a title" in text


def test_files_that_can_not_be_written(tmp_path):
    pytest.importorskip("matplotlib")
    figure = _figures.new_figure(3, 2)
    with pytest.raises(FileError, match=r"can not write .*nowhere"):
        _figures.save_figure(figure, tmp_path / "nowhere" / "a.svg")
    with pytest.raises(ParameterError, match=r"can not draw .*a\.picture.*upported"):
        _figures.save_figure(figure, tmp_path / "a.picture")
