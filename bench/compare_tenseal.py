"""Times programs of TenSEAL's interface with Hemera and with TenSEAL in turn: their imports differ alone.

A program is timed once until it is ready, with its context, its keys and a first run; then its runs are:
encryption, evaluation and decryption, by the clock and in time of the processor. All contexts have the same
number of threads.

pip install tenseal
python bench/compare_tenseal.py --json tenseal.json
python bench/compare_tenseal.py --notebooks CLONE --json notebooks.json    # of TenSEAL's repository

Notebooks take torch, torchvision, pandas 1.5, numpy 1, matplotlib, scikit-image, tabulate, ipython, pytest,
and MNIST's files in CLONE/tutorials/data/MNIST/raw, where torchvision puts them too.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import io
import json
import re
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tenseal_notebooks
from hemera import _machine

ROOT = Path(__file__).parents[1]
FOLDERS = [ROOT / "examples" / "tenseal", ROOT / "examples" / "recipes" / "tenseal"]
PROGRAMS = sorted(path for folder in FOLDERS for path in folder.glob("*.py"))
LIBRARIES = ("hemera.compat.tenseal", "tenseal")
ROUNDS, SHARE = 5, 0.2
"""Rounds, and the least seconds of one."""
_IMPORT = re.compile(r"^import (hemera\.compat\.)?tenseal as ts$", re.MULTILINE)


@contextlib.contextmanager
def threads_of(library: Any, threads: int) -> Iterator[None]:
    """Contexts of the library with this number of threads, whatever a program asks for."""
    original = library.context

    @functools.wraps(original)
    def context(*arguments: Any, **named: Any) -> Any:
        return original(*arguments[:5], **{**named, "n_threads": threads})

    library.context = context
    try:
        yield
    finally:
        library.context = original


def loaded(path: Path, library: str, threads: int = 1) -> dict[str, Any]:
    """The names of a program that imports this library, as "tenseal", and the seconds until it is ready."""
    source, changed = _IMPORT.subn(f"import {library} as ts", path.read_text(encoding="utf-8"))
    assert changed == 1, path
    names: dict[str, Any] = {"__name__": path.stem}
    start = time.perf_counter()
    with threads_of(importlib.import_module(library), threads), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, str(path), "exec"), names)
    names["seconds"] = time.perf_counter() - start
    return names


def seconds_of(action: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Times of one call: by the clock, and of the processor, which other programs change less."""
    begin, before = time.perf_counter(), time.process_time()
    for _ in range(repeats):
        action()
    return (time.perf_counter() - begin) / repeats, (time.process_time() - before) / repeats


def compared(path: Path, threads: int) -> dict[str, Any]:
    """A row of one program: medians of rounds in turn, and of their ratios."""
    both = [loaded(path, library, threads) for library in LIBRARIES]
    runs = [functools.partial(each["run"], each["values"]) for each in both]
    repeats = [max(1, int(SHARE / seconds_of(run, 1)[1])) for run in runs]
    rounds = [[seconds_of(*pair) for pair in zip(runs, repeats, strict=True)] for _ in range(ROUNDS)]
    errors = [float(np.abs(each["run"](each["values"]) - each["expected"]).max()) for each in both]
    medians = [[statistics.median(each[at][kind] for each in rounds) for at in (0, 1)] for kind in (0, 1)]
    ratios = [statistics.median(theirs[kind] / own[kind] for own, theirs in rounds) for kind in (0, 1)]
    return {
        "program": str(path.relative_to(ROOT)),
        "milliseconds": [round(1e3 * each, 3) for each in medians[0]],
        "faster": round(ratios[0], 2),
        "processor_milliseconds": [round(1e3 * each, 3) for each in medians[1]],
        "less_processor_time": round(ratios[1], 2),
        "seconds_until_ready": [round(each["seconds"], 3) for each in both],
        "errors": errors,
    }


def shown_programs(threads: int) -> list[dict[str, Any]]:
    """Rows of all programs, after a table of them."""
    rows = [compared(path, threads) for path in PROGRAMS]
    table = Table("program", "ms", "TenSEAL's ms", "faster", "processor", "error", "TenSEAL's error")
    for row in rows:
        errors = [f"{each:.1e}" for each in row["errors"]]
        times = [*row["milliseconds"], row["faster"], row["less_processor_time"]]
        table.add_row(row["program"], *map(str, times), *errors)
    Console().print(table)
    return rows


def shown_notebooks(clone: Path, threads: int) -> list[dict[str, Any]]:
    """Rows of all notebooks of a clone of TenSEAL's repository, after a table of them."""
    libraries = {
        library: functools.partial(threads_of, importlib.import_module(library), threads)
        for library in LIBRARIES
    }
    notebooks = sorted((clone / "tutorials").rglob("*.ipynb"))
    rows = [tenseal_notebooks.compared(path, libraries) for path in notebooks]
    table = Table("notebook", "s", "TenSEAL's s", "faster", "processor", "printed apart", "failed")
    for row in rows:
        times = [*row["seconds"], row["faster"], row["less_processor_time"]]
        table.add_row(row["notebook"], *map(str, [*times, row["distance_of_printed"], row["failed"]]))
    Console().print(table)
    return rows


def main() -> None:
    """Compare all programs, or all notebooks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE")
    parser.add_argument("--threads", type=int, default=1, help="of each context")
    parser.add_argument("--notebooks", type=Path, metavar="CLONE", help="of TenSEAL's repository")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.notebooks is None:
        which, rows = "", shown_programs(options.threads)
    else:
        which, rows = "--notebooks CLONE ", shown_notebooks(options.notebooks, options.threads)
    if options.json is not None:
        made = {
            **_machine.describe(options.threads),
            "tenseal": version("tenseal"),
            "date": date.today().isoformat(),
            "command": f"python bench/compare_tenseal.py {which}--threads {options.threads} --json FILE",
        }
        text = json.dumps({"made": made, "rows": rows}, indent=2)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
