"""What `hemera score-trees` prints, and its plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hemera._options import size_text
from hemera.applications.trees.counting import NAMES
from hemera.applications.trees.pipeline import STAGES, Run
from hemera.errors import FileError, ParameterError


def show(console: Console, runs: Sequence[Run]) -> None:
    """Print one column a run."""
    table = Table(title="Scores of samples that the server can not see", title_justify="left")
    table.add_column("")
    for run in runs:
        table.add_column(f"{run.workload}, {run.parameters}", justify="right")

    def row(name: str, *cells: str) -> None:
        table.add_row(name, *cells)

    row("samples", *(str(run.samples) for run in runs))
    row("trees x depth, scores", *(_model_text(run) for run in runs))
    row("accuracy, float model", *(_percent(run.accuracy_float) for run in runs))
    row("accuracy, encrypted", *(_percent(run.accuracy_encrypted) for run in runs))
    row("same class as the float model", *(_percent(run.agreement) for run in runs))
    row("encrypted = integer scores", *("all, exactly" if run.exact else "NOT EXACT" for run in runs))
    row("leaf scores in steps of", *(f"1 / {run.scale}" for run in runs))
    row("largest distance from float", *(f"{run.largest_error:.2g}" for run in runs))
    table.add_section()
    for name in NAMES:
        row(
            f"{name.replace('_', ' ')} (a sample)",
            *(f"{run.operations[name]} ({run.operations[name] / run.samples:.2g})" for run in runs),
        )
    table.add_section()
    for stage in STAGES:
        row(f"{stage.replace('_', ' ')}, s", *(f"{run.seconds[stage]:.4f}" for run in runs))
    row("evaluate, ms a sample", *(f"{1e3 * run.seconds['evaluate'] / run.samples:.4f}" for run in runs))
    table.add_section()
    for name, title in (("keys", "keys to the server"), ("request", "request"), ("response", "response")):
        row(title, *(size_text(run.bytes[name]) for run in runs))
    table.add_section()
    row("degree N", *(str(run.params.degree) for run in runs))
    row("modulus, all primes", *(f"{run.params.log_modulus:.0f} bits" for run in runs))
    row("security, bits", *(run.params.security for run in runs))
    console.print(table)
    console.print(f"Computed on {runs[0].device}.")


def plot(path: str, runs: Sequence[Run]) -> None:
    """Draw the stages' times and the operations of each run.

    Raises:
        ParameterError: without matplotlib.
        FileError: when the file can not be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ParameterError('plots need matplotlib: pip install "hemera[bench]"') from None
    figure = Figure(figsize=(10, 4), layout="constrained")
    times, counts = figure.subplots(1, 2)
    width = 0.8 / len(runs)
    for index, run in enumerate(runs):
        shift = (index - (len(runs) - 1) / 2) * width
        label = f"{run.workload}, {run.parameters}"
        times.bar(
            [at + shift for at in range(len(STAGES))],
            [run.seconds[stage] for stage in STAGES],
            width,
            label=label,
        )
        counts.bar(
            [at + shift for at in range(len(NAMES))],
            [run.operations[name] / run.samples for name in NAMES],
            width,
            label=label,
        )
    for axis, names, title in (
        (times, STAGES, f"seconds for {runs[0].samples} samples"),
        (counts, NAMES, "operations a sample"),
    ):
        axis.set_xticks(range(len(names)), [name.replace("_", "\n") for name in names], fontsize=7)
        axis.set_title(title)
        axis.grid(True, axis="y", alpha=0.3)
    times.set_yscale("log")
    times.legend(fontsize=7)
    try:
        figure.savefig(Path(path))
    except (OSError, ValueError) as error:
        raise FileError(f"can not write {path}: {error}") from error


def _model_text(run: Run) -> str:
    return f"{run.shape['trees']} x {run.shape['depth']}, {run.shape['scores']}"


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{part:.1%}"
