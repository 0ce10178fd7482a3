"""Runs notebooks with the installed hemera, by the standard library alone.

    python tools/run_notebooks.py [--write] NOTEBOOK...

Cells of code run in order, in one namespace. What a cell prints, and the value of its last line as a notebook
shows it (`_repr_html_`, else `repr`), are compared with the results in the file; --write puts them there.
Exit status: 0 equal or written, 1 different.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["dumped", "results", "stored"]


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _shown(value: object) -> dict[str, list[str]]:
    """A value by MIME type, as notebooks keep it."""
    data = {"text/plain": _lines(repr(value))}
    as_html = getattr(type(value), "_repr_html_", None)
    if as_html is not None:
        data = {"text/html": _lines(as_html(value)), **data}
    return data


def _run(source: str, title: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """The outputs of one cell."""
    tree = ast.parse(source, title)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, title, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), title, "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        shown = {"data": _shown(value), "execution_count": None, "metadata": {}}
        outputs.append({**shown, "output_type": "execute_result"})
    return outputs


def _code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def stored(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs that a notebook has, of each cell of code."""
    return [cell["outputs"] for cell in _code(notebook)]


def results(notebook: dict[str, Any], name: str) -> list[list[dict[str, Any]]]:
    """The outputs of each cell of code, run now. An error of a cell is raised."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [
        _run("".join(cell["source"]), f"{name}, cell {at + 1}", names)
        for at, cell in enumerate(_code(notebook))
    ]


def dumped(notebook: dict[str, Any], outputs: list[list[dict[str, Any]]]) -> str:
    """The file's text, with these outputs."""
    for cell, own in zip(_code(notebook), outputs, strict=True):
        cell["outputs"] = own
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main(arguments: list[str]) -> int:
    write = "--write" in arguments
    different = False
    for name in arguments:
        if name == "--write":
            continue
        path = Path(name)
        notebook = json.loads(path.read_text(encoding="utf-8"))
        before = stored(notebook)
        found = results(notebook, path.name)
        if write:
            path.write_text(dumped(notebook, found), encoding="utf-8")
        elif found != before:
            different = True
            print(f"{path}: the results are others than those in the file; --write puts them there")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
