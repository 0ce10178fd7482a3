"""Figures: one way to open and to save them for all commands."""

import sys
from pathlib import Path

import pytest

from hemera.cli import main
from hemera.errors import FileError, ParameterError
from hemera_apps import _figures

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
