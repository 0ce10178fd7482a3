"""The table of `hemera score-trees`, and its plot."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.console import Console

from hemera_apps._figures import new_figure, save_figure, use_logarithms
from hemera_apps._run_table import RunTable
from hemera_apps.trees.pipeline import STAGES, Run
from hemera_apps.trees.sides import NAMES


def show(console: Console, runs: Sequence[Run]) -> None:
    """Print one column a run."""
    table = RunTable(
        "Scores of samples that the server can not see", runs, lambda run: f"{run.workload}, {run.parameters}"
    )
    table.row("samples", lambda run: str(run.samples))
    shape = "{trees} x {depth}, {scores}"
    table.row("trees x depth, scores", lambda run: shape.format_map(run.shape))
    table.row("accuracy, float model", lambda run: _percent(run.accuracy_float))
    table.row("accuracy, encrypted", lambda run: _percent(run.accuracy_encrypted))
    table.row("same class as the float model", lambda run: _percent(run.agreement))
    table.row("encrypted = integer scores", lambda run: "all, exactly" if run.exact else "NOT EXACT")
    table.row("leaf scores in steps of", lambda run: f"1 / {run.scale}")
    table.row("largest distance from float", lambda run: f"{run.largest_error:.2g}")
    table.section()
    for name in NAMES:
        table.row(f"{name.replace('_', ' ')} (a sample)", partial(_count_text, name))
    table.section()
    table.stages(STAGES, digits=4)
    table.row("evaluate, ms a sample", lambda run: f"{1e3 * run.seconds['evaluate'] / run.samples:.4f}")
    table.sizes_and_parameters()
    console.print(table.table)
    console.print(f"Computed on {runs[0].device}.")


def plot(path: str, runs: Sequence[Run]) -> None:
    """Draw the stages' times and the operations of each run.

    Raises:
        ParameterError: if matplotlib is not installed, or does not know the format.
        FileError: if the file can not be written.
    """
    figure = new_figure(11, 4.4)
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
    for axis, names, title, across, up in (
        (times, STAGES, f"Time for {runs[0].samples} samples", "stage", "seconds, logarithmic"),
        (counts, NAMES, "Operations", "operation", "ciphertexts that it makes, a sample"),
    ):
        axis.set_xticks(range(len(names)), [name.replace("_", "\n") for name in names], fontsize=7)
        axis.set(title=title, xlabel=across, ylabel=up)
        axis.grid(True, axis="y", alpha=0.3)
        axis.legend(fontsize=7)
    use_logarithms(times)
    save_figure(figure, path)


def _count_text(name: str, run: Run) -> str:
    return f"{run.operations[name]} ({run.operations[name] / run.samples:.2g})"


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{part:.1%}"
