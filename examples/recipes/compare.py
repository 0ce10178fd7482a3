"""Times each recipe and its TenSEAL twin in turn: encryption, evaluation and decryption, on two threads each.

pip install tenseal
python examples/recipes/compare.py --json recipes.json
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import io
import json
import runpy
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from hemera import _machine
from hemera_apps.bench.timing import alternate

HERE = Path(__file__).parent


def code_lines(path: Path) -> int:
    """Lines of code: without blank ones, comments and docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef)) and ast.get_docstring(node):
            first = node.body[0]
            told.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = path.read_text(encoding="utf-8").splitlines()
    return sum(
        at not in told and bool(line.strip()) and not line.strip().startswith("#")
        for at, line in enumerate(lines, start=1)
    )


def loaded(path: Path) -> dict[str, Any]:
    """The names of a recipe, which prints nothing here."""
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(path))


def compared(name: str) -> dict[str, Any]:
    """A row of one recipe."""
    paths = HERE / f"{name}.py", HERE / "tenseal" / f"{name}.py"
    own, twin = map(loaded, paths)
    np.testing.assert_allclose(twin["expected"], own["expected"])
    first, second = (functools.partial(each["run"], each["values"]) for each in (own, twin))
    mine, theirs, ratio = alternate(first, second, seconds=3)
    errors = [float(np.abs(each["run"](each["values"]) - each["expected"]).max()) for each in (own, twin)]
    return {
        "recipe": name,
        "lines": [code_lines(path) for path in paths],
        "milliseconds": [round(1e3 * each, 3) for each in (mine, theirs)],
        "faster": round(ratio, 2),
        "errors": errors,
    }


def main() -> None:
    """Compare all recipes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE")
    options = parser.parse_args()
    rows = [compared(path.stem) for path in sorted((HERE / "tenseal").glob("*.py"))]
    table = Table("recipe", "lines", "TenSEAL's", "ms", "TenSEAL's ms", "faster", "error", "TenSEAL's error")
    for row in rows:
        errors = [f"{each:.1e}" for each in row["errors"]]
        cells = [*row["lines"], *row["milliseconds"], row["faster"], *errors]
        table.add_row(row["recipe"], *map(str, cells))
    Console().print(table)
    if options.json is not None:
        made = {**_machine.describe(2), "tenseal": version("tenseal"), "date": date.today().isoformat()}
        text = json.dumps({"made": made, "rows": rows}, indent=2)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
