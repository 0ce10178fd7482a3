"""Results of the GPU benchmark, compared with other libraries, and as plots."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hemera.errors import FileError, FormatError, ParameterError
from hemera_apps._figures import new_figure, save_figure

MODES = ("eager", "graph")


@dataclass(frozen=True)
class Row:
    """One measurement of `hemera_gpu_bench` (docs/gpu.md): the time of one call, in microseconds."""

    scheme: str
    operation: str
    n: int
    log_q: float
    limbs: int
    special: int
    dnum: int
    level: int
    batch: int
    arithmetic: str
    security: str
    mode: str
    microseconds: float
    spread: float
    checked: bool
    storage: str = "auto"


@dataclass(frozen=True)
class BootstrapRow:
    """One measurement of a bootstrap, or of a step of one."""

    operation: str
    preset: str
    slots: int
    real: bool
    level: int
    batch: int
    mode: str
    microseconds: float
    checked: bool
    iterations: int = 1
    merges_parts: bool = False


@dataclass(frozen=True)
class Results:
    """A file of `hemera_gpu_bench`."""

    gpu: str
    driver: str
    commit: str
    date: str
    rows: list[Row]
    bootstraps: list[BootstrapRow]


def load(path: str) -> Results:
    """Read a file of results.

    Raises:
        FileError: if it can not be read.
        FormatError: if it is no file of results.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"can not read {path}: {error.strerror}") from error
    try:
        data = json.loads(text)
        wanted = [field.name for field in fields(Row)]
        rows = [
            Row(**{name: row[name] for name in wanted if name in row})
            for row in data["rows"]
            if "preset" not in row
        ]
        wanted = [field.name for field in fields(BootstrapRow)]
        bootstraps = [
            BootstrapRow(**{name: row[name] for name in wanted if name in row})
            for row in data["rows"]
            if "preset" in row and row["operation"] != "client_bootstrap"  # it has no steps
        ]
        about = {name: str(data[name]) for name in ("gpu", "driver", "commit", "date")}
        return Results(**about, rows=rows, bootstraps=bootstraps)
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path} holds no results of hemera_gpu_bench: {error!r}") from error


def others() -> dict[str, Any]:
    """The times of other libraries, and the goals, by parameter set."""
    text = resources.files("hemera_apps.bench").joinpath("others.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def matches(row: Row, match: Mapping[str, Any]) -> bool:
    """Whether a row is of the parameter set that `match` describes. A list is a range."""
    for name, wanted in match.items():
        value = getattr(row, name)
        if isinstance(wanted, list):
            if not wanted[0] <= value <= wanted[1]:
                return False
        elif value != wanted:
            return False
    return True


def compare(results: Results, console: Console) -> None:
    """Print a table for each parameter set of other libraries: Hemera's times next to theirs."""
    known = others()
    console.print(
        f"{results.gpu}, driver {results.driver}, Hemera {results.commit}, {results.date}; microseconds",
        highlight=False,
    )
    for name, version in known["libraries"].items():
        console.print(f"  {name} {version}", highlight=False)
    for entry in known["sets"]:
        # Sets of other primes, or a secure neighbour of as many limbs, get tables of their own.
        sets: dict[tuple[str, int, float, str], list[Row]] = {}
        for row in results.rows:
            if row.batch == 1 and matches(row, entry["match"]):
                sets.setdefault((row.arithmetic, row.limbs, row.log_q, row.storage), []).append(row)
        for rows in sets.values():
            console.print()
            console.print(_table(rows, entry["microseconds"]))
    wrong = [row for row in results.rows if not row.checked]
    if wrong:
        console.print(f"{len(wrong)} rows gave wrong results, and are marked '!'.", style="bold")


def _table(rows: list[Row], theirs: Mapping[str, Mapping[str, float]]) -> Table:
    first = rows[0]
    storage = "" if first.storage == "auto" else f", {first.storage}"
    table = Table(
        title=f"{first.scheme.upper()}, N = {first.n}, {first.limbs} limbs (log Q {first.log_q:.0f}), "
        f"{first.special} special, {first.dnum} digits, {first.arithmetic}{storage}, "
        f"security {first.security}",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_column("operation", no_wrap=True)
    libraries = [name for name in theirs if name != "goal"]
    for name in (*MODES, *libraries, "goal", "gain"):
        table.add_column(name, justify="right")
    for operation in dict.fromkeys(row.operation for row in rows):
        own = {row.mode: row for row in rows if row.operation == operation}
        times = {name: theirs[name][operation] for name in theirs if operation in theirs[name]}
        peers = [time for name, time in times.items() if name != "goal"]
        eager = own.get("eager")
        gain = f"{min(peers) / eager.microseconds:.2f}x" if peers and eager is not None else ""
        table.add_row(
            operation,
            *(_time(own.get(mode)) for mode in MODES),
            *(_number(times.get(name)) for name in libraries),
            _number(times.get("goal")),
            gain,
        )
    return table


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _time(row: Row | None) -> str:
    return "" if row is None else _number(row.microseconds) + ("" if row.checked else "!")


def plot(results: Results, folder: str) -> list[Path]:
    """Plots as SVG files: NTT throughput against the number of limbs, multiplication against the level,
    bootstraps by their steps.

    Raises:
        ParameterError: if matplotlib is not installed, or the results have nothing to plot.
        FileError: if the files can not be written.
    """
    made: list[tuple[str, Any]] = []
    transforms = _series(results, "ntt", lambda row: (row.limbs, row.limbs * row.n / row.microseconds))
    if transforms:
        figure = new_figure(7, 4.2)
        axes = figure.add_subplot(title=f"NTT throughput, {results.gpu}")
        axes.set(xlabel="limbs in one call", ylabel="coefficients a microsecond")
        _draw(axes, transforms)
        made.append(("ntt-throughput.svg", figure))
    products = _series(results, "multiply_relinearize", lambda row: (row.level, row.microseconds))
    if products:
        figure = new_figure(7, 4.2)
        axes = figure.add_subplot(title=f"Multiplication with relinearization, {results.gpu}")
        axes.set(xlabel="level", ylabel="microseconds")
        _draw(axes, products)
        made.append(("multiplication-by-level.svg", figure))
    bars = _bootstrap_steps(results)
    if bars:
        figure = new_figure(8, 1.2 + 0.5 * len(bars))
        axes = figure.add_subplot(title=f"Bootstraps by their steps, {results.gpu}")
        axes.set(xlabel="milliseconds")
        _draw_bars(axes, bars)
        made.append(("bootstrap-steps.svg", figure))
    if not made:
        raise ParameterError(
            "the results have no operation at three levels or limb counts, and no bootstraps: use --sweep "
            "or --bootstraps"
        )
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"can not write plots to {folder}: {error.strerror}") from error
    for name, figure in made:
        save_figure(figure, target / name)
    return [target / name for name, _ in made]


def _series(results: Results, operation: str, point: Any) -> dict[str, list[tuple[float, float]]]:
    """Points by curve: one for each parameter set and mode that has at least three."""
    curves: dict[str, dict[float, float]] = {}
    for row in results.rows:
        if row.operation != operation or row.batch != 1 or not row.checked:
            continue
        prime_bits = round(row.log_q / row.limbs)
        label = (
            f"{row.scheme.upper()}, N = {row.n}, {prime_bits}-bit primes, {row.special} special, "
            f"{row.arithmetic}, {row.mode}"
        )
        x, y = point(row)
        curves.setdefault(label, {})[x] = y
    return {label: sorted(points.items()) for label, points in curves.items() if len(points) >= 3}


def _bootstrap_steps(results: Results) -> dict[str, dict[str, float]]:
    """The milliseconds of each step, by bootstrap. Single bootstraps, as graphs if there are any."""
    steps = {"linear_transform": "", "mod_raise": "ModRaise", "eval_mod": "EvalMod"}
    bars: dict[str, dict[str, float]] = {}
    chosen = [row for row in results.bootstraps if row.batch == row.iterations == 1 and row.checked]
    for whole in chosen:
        if whole.operation != "bootstrap" or (
            whole.mode == "eager" and any(row.mode == "graph" and _is_same_plan(row, whole) for row in chosen)
        ):
            continue
        own = [row for row in chosen if _is_same_plan(row, whole) and row.mode == whole.mode]
        top = max(row.level for row in own)
        bar: dict[str, float] = dict.fromkeys(("SlotToCoeff", "ModRaise", "CoeffToSlot", "EvalMod"), 0.0)
        for row in own:
            if row.operation in steps:
                # SlotToCoeff's levels are the lower ones.
                name = steps[row.operation] or ("CoeffToSlot" if 2 * row.level > top else "SlotToCoeff")
                bar[name] += row.microseconds / 1000
        bar["the rest"] = max(0.0, whole.microseconds / 1000 - sum(bar.values()))
        parts = "real" if whole.real else "merged" if whole.merges_parts else "complex"
        bars[f"{whole.preset}, {whole.slots} {parts} slots"] = bar
    return bars


def _is_same_plan(a: BootstrapRow, b: BootstrapRow) -> bool:
    return (a.preset, a.slots, a.real, a.merges_parts) == (b.preset, b.slots, b.real, b.merges_parts)


def _draw_bars(axes: Any, bars: dict[str, dict[str, float]]) -> None:
    labels = list(bars)
    left = [0.0] * len(labels)
    for step in next(iter(bars.values())):
        widths = [bars[label][step] for label in labels]
        axes.barh(labels, widths, left=left, label=step)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    # Labels of many fields would leave no room for the bars.
    lines = [textwrap.fill(label.replace(":", " "), 28, break_long_words=False) for label in labels]
    axes.set_yticks(range(len(labels)), lines, fontsize="x-small")
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.figure.legend(loc="outside lower center", fontsize="x-small", ncols=5)


def _draw(axes: Any, series: dict[str, list[tuple[float, float]]]) -> None:
    for label, points in series.items():
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=label)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small")
