"""Stages of the entries in bench/official."""

import runpy
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

REFUSALS = Path(__file__).parents[2] / "tests" / "refusals.py"


@contextmanager
def _modules_of(entry):
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(entry))
        try:
            yield
        finally:
            for name in set(sys.modules) - before:
                if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(entry)):
                    del sys.modules[name]


@pytest.fixture(scope="session")
def refuse():
    """Calls with the errors that they give."""
    return runpy.run_path(str(REFUSALS))["refuse"]


@pytest.fixture
def modules_of():
    """Where the modules of an entry, whose folder is given, are found. They are forgotten afterwards: other
    entries have modules of the same names."""
    return _modules_of


@pytest.fixture
def load_program():
    """What a module of an entry has, as `load_program(entry, name)`."""

    def load(entry, name):
        with _modules_of(entry):
            return runpy.run_path(str(entry / f"{name}.py"))

    return load


@pytest.fixture
def run_stage(tmp_path, monkeypatch):
    """Runs a program of an entry in the test's folder, as `run_stage(entry, stage, *arguments)`. Each has
    nothing of the others but their files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEMERA_DEVICE", "cpu")

    def run(entry, stage, *arguments):
        program = entry / f"{stage}.py"
        with monkeypatch.context() as patch, _modules_of(entry):
            patch.setattr("sys.argv", [str(program), *arguments])
            runpy.run_path(str(program), run_name="__main__")

    return run
