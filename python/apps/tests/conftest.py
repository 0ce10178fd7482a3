"""Stages of the entries in bench/official."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def run_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs a program of an entry in the test's folder, as `run_stage(entry, stage, *arguments)`. Each has
    nothing of the others but their files: modules that it imports from the entry are forgotten after it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEMERA_DEVICE", "cpu")

    def run(entry: Path, stage: str, *arguments: str) -> None:
        program = entry / f"{stage}.py"
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(entry))
            patch.setattr("sys.argv", [str(program), *arguments])
            before = set(sys.modules)
            try:
                runpy.run_path(str(program), run_name="__main__")
            finally:
                for name in set(sys.modules) - before:
                    if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(entry)):
                        del sys.modules[name]

    return run
