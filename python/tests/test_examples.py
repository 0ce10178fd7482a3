"""Every example runs, and its types check."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
EXPECTED = {
    "01_first_steps": ["BFV:  [  5  35  85 155]"],
    "02_statistics_on_a_table": ["correlation of height and weight"],
    "03_client_and_server": ["totals: [325 250 980]"],
    "04_choosing_parameters": ["refused:", "accepted:", "[-2, -1, 1, 2, 4, 8]"],
}


def test_examples_are_numbered() -> None:
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
    assert set(EXPECTED) <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, capsys: Any) -> None:
    runpy.run_path(str(path), run_name="__main__")
    text = capsys.readouterr().out
    assert text
    for part in EXPECTED.get(path.stem, []):
        assert part in text


def test_types() -> None:
    """mypy on the examples and on the package, with the generated stub of the compiled module."""
    pytest.importorskip("mypy")
    import hemera

    shown = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--config-file",
            str(ROOT / "pyproject.toml"),
            *map(str, EXAMPLES),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "MYPYPATH": str(Path(hemera.__file__).parents[1])},
    )
    errors = [line for line in shown.stdout.splitlines() if line.startswith("examples")]
    assert errors == []
    assert "error: Cannot find implementation" not in shown.stdout


def test_stub_names_what_the_compiled_module_has() -> None:
    import ast

    import hemera
    from hemera import _core

    stub = Path(hemera.__file__).parent / "_core.pyi"
    names: set[str] = set()
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name)
    found = {name for name in dir(_core) if not name.startswith("_")}
    assert names == found
