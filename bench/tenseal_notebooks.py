"""Runs notebooks of TenSEAL's repository with Hemera and with TenSEAL: a cell with one, then with the other.

Notebooks are read from a clone, which stays as it is. Their import is changed, and data sets are cut to MOST
elements. Left out are commands of notebooks (`!`, `%`), the import of `tenseal.sealapi`, which no cell uses,
and contexts of BFV with one prime below twice the plaintext modulus, whose vectors TenSEAL decrypts to other
values. Cells before the import run once, for both. Of the others those are timed that use the import, or
what such cells define.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

Names = dict[str, Any]
Times = tuple[float, float]
"""Seconds by the clock, and of the processor."""
MOST = {"test_loader": 15, "enc_x_train": 100}
"""Elements of these names that later cells see: a test of 10,000 encrypted images takes hours."""
SEED = 2
"""The seed of each cell: the first 15 images of MNIST's test are of all digits, and a sampled file exists."""
_IMPORT = re.compile(r"^import tenseal as ts$", re.MULTILINE)
_LEFT_OUT = re.compile(r"^(?:[!%].*|import tenseal\.sealapi.*| *\(2048, \[20, 20\]\),)$", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
_OF_THE_RUN = re.compile(r"\btime\b|\btook\b|seconds|0x")
"""Words of printed lines that differ from run to run: of times and of addresses."""


def cells_of(path: Path) -> list[str]:
    """The code of a notebook, a cell a string."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def prepared(source: str, library: str = "tenseal") -> str:
    """A cell that imports this library, without commands of notebooks."""
    return _IMPORT.sub(f"import {library} as ts", _LEFT_OUT.sub("", source))


def using(source: str, names: set[str]) -> bool:
    """Whether a cell uses one of these names; then the names that it defines are added to them."""
    nodes = list(ast.walk(ast.parse(source)))
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if not used & names:
        return False
    names |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return True


@contextlib.contextmanager
def quietly(folder: Path) -> Iterator[io.StringIO]:
    """What is printed in the folder of the notebook, without windows and displays."""
    here, written = Path.cwd(), io.StringIO()
    os.environ["MPLBACKEND"] = "Agg"
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(written), contextlib.redirect_stderr(io.StringIO()):
            yield written
    finally:
        os.chdir(here)


def run(source: str, names: Names, folder: Path) -> tuple[Times, str, str | None]:
    """The times of a cell, the text that it prints, and its error if it raises one."""
    random.seed(SEED)
    np.random.seed(SEED)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(SEED)
    error = None
    with quietly(folder) as written:
        code = compile(source, names["__name__"], "exec")
        start, before = time.perf_counter(), time.process_time()
        try:
            exec(code, names)
        except Exception as raised:  # whatever another's cell raises: the row has it
            error = f"{type(raised).__name__}: {raised}".partition("\n")[0]
        times = time.perf_counter() - start, time.process_time() - before
    for name in MOST.keys() & names.keys():
        names[name] = list(itertools.islice(names[name], MOST[name]))
    return times, written.getvalue(), error


def distance(ours: str, theirs: str) -> float | None:
    """The largest distance of numbers that both print in the same places; None if none are."""

    def numbers(text: str) -> Iterator[list[float]]:
        for line in text.splitlines():
            if not _OF_THE_RUN.search(line):
                yield [float(each) for each in _NUMBER.findall(line)]

    pairs = [
        pair
        for lines in zip(numbers(ours), numbers(theirs), strict=False)
        for pair in zip(*lines, strict=False)
    ]
    return max((abs(own - their) for own, their in pairs), default=None)


def compared(path: Path, libraries: Mapping[str, Callable[[], AbstractContextManager[None]]]) -> Names:
    """A row of one notebook: sums over its cells without those that raise an error.

    Args:
        path: The notebook; its folder is that of the files that it opens.
        libraries: Hemera's and TenSEAL's modules, with the settings that their cells run under.
    """
    shared: Names = {"__name__": path.stem}
    cells = cells_of(path)
    first = next(at for at, source in enumerate(cells) if _IMPORT.search(source))
    for source in cells[:first]:
        _, _, error = run(prepared(source), shared, path.parent)
        if error is not None:
            raise RuntimeError(f"{path.name}, before the import: {error}")
    spaces = [dict(shared) for _ in libraries]
    sums, distances = np.zeros((2, 2)), [0.0]
    failed: list[list[str]] = [[], []]
    of_library = {"ts"}
    for at in range(first, len(cells)):
        runs = []
        for (library, settings), names in zip(libraries.items(), spaces, strict=True):
            with settings():
                runs.append(run(prepared(cells[at], library), names, path.parent))
        for told, (_, _, error) in zip(failed, runs, strict=True):
            told += [f"cell {at}: {error}"] if error else []
        if any(error for *_, error in runs):
            continue
        if using(prepared(cells[at]), of_library):
            sums += [times for times, *_ in runs]
        if (found := distance(*(text for _, text, _ in runs))) is not None:
            distances.append(found)
    return {
        "notebook": path.name,
        "cells": len(cells),
        "cells_that_run": [len(cells) - len(each) for each in failed],
        "failed": failed,
        "seconds": [round(float(each), 3) for each in sums[:, 0]],
        "faster": round(float(sums[1, 0] / sums[0, 0]), 2),
        "processor_seconds": [round(float(each), 3) for each in sums[:, 1]],
        "less_processor_time": round(float(sums[1, 1] / sums[0, 1]), 2),
        "distance_of_printed": max(distances),
    }
