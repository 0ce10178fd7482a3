"""The results of a run for people: a table, and the losses as a plot."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from hemera._options import size_text
from hemera_apps._figures import new_figure, save_figure
from hemera_apps.logistic_regression.run import Run

_HUES = tuple(
    (f"#{dark}", f"#{light}")
    for dark, light in (
        ("1f77b4", "aec7e8"),
        ("ff7f0e", "ffbb78"),
        ("2ca02c", "98df8a"),
        ("d62728", "ff9896"),
        ("9467bd", "c5b0d5"),
        ("8c564b", "c49c94"),
        ("e377c2", "f7b6d2"),
        ("7f7f7f", "c7c7c7"),
        ("bcbd22", "dbdb8d"),
        ("17becf", "9edae5"),
    )
)
"""A dark and a light colour of each hue."""
_MARKS = ("o", "s", "^", "D", "v", "P", "X")


def make_report(run: Run) -> RenderableType:
    """Accuracy by epoch, then times and memory."""
    own = run.plan.settings
    marks = Table(
        title=f"{run.table}: {run.samples} samples x {own.features} features, encrypted; {run.held_out} held "
        "out",
        title_justify="left",
    )
    several = own.models > 1
    for name in ("iterations", *(["model"] if several else [])):
        marks.add_column(name, justify="right")
    for name in ("accuracy, encrypted", "clear", "AUC, encrypted", "clear", "largest difference of weights"):
        marks.add_column(name, justify="right")
    for mark in run.marks:
        marks.add_row(
            str(mark.iteration),
            *([str(mark.model)] if several else []),
            f"{mark.encrypted.accuracy:.2%}",
            f"{mark.clear.accuracy:.2%}",
            f"{mark.encrypted.auc:.4f}",
            f"{mark.clear.auc:.4f}",
            f"{mark.difference:.1e}",
        )
    marks.add_section()
    for number, quality in enumerate(run.scikit_learn):
        name = "sklearn" if len(run.scikit_learn) == 1 else f"sklearn {number}"
        spare = [""] if several else []
        marks.add_row(name, *spare, "", f"{quality.accuracy:.2%}", "", f"{quality.auc:.4f}", "")
    return Group(marks, *_lines(run))


def _lines(run: Run) -> list[Text]:
    own, seconds = run.plan.settings, run.seconds
    lines = []
    if run.largest_logit > own.interval:
        lines.append(
            f"Logits went up to {run.largest_logit:.1f}, beyond the sigmoid's interval of {own.interval:g}: "
            "a wider one is safer."
        )
    if run.class_accuracy is not None:
        found = run.class_accuracy
        lines.append(
            f"by the largest logit of {own.models} classes: {found['encrypted']:.2%} right encrypted, "
            f"{found['clear']:.2%} clear, {found['scikit_learn']:.2%} scikit-learn"
        )
    lines.append(
        f"sigmoid: degree {own.degree} on -{own.interval:g} to {own.interval:g}, {own.fit}, within "
        f"{own.sigmoid.error:.3f}; the largest logit was {run.largest_logit:.1f}"
    )
    models = f" of {own.models} models" if own.models > 1 else ""
    lines.append(f"iteration{models}: {_time(seconds['iteration'])}")
    if "bootstrap" in seconds:
        lines[-1] += (
            f"; with a bootstrap: {_time(seconds['iteration_with_bootstrap'])}; on average, with a "
            f"bootstrap every {run.plan.bootstrap_every}: {_time(seconds['iteration_on_average'])}"
        )
    levels = ", ".join(str(one.level) for one in run.plan.iterations)
    lines.append(
        f"levels: {own.depth} an iteration, which begin at {levels}; {run.plan.bootstraps} bootstraps to "
        f"level {run.plan.bootstrap.result_level}"
    )
    lines.append(
        f"memory: keys {size_text(run.memory['keys'])}, in all {size_text(run.memory['device'])}; keys "
        f"made in {seconds['keys']:.1f} s, mini-batches encrypted in {seconds['encrypt']:.1f} s"
    )
    lines.append(f"N = {run.plan.params.degree}, security {run.plan.params.security}; {run.description}")
    if run.plan.params.security_bits < 128:
        lines.append("These parameters are NOT SECURE: they are for trying things out and for comparisons.")
    return [Text(line) for line in lines]


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"


def show(console: Console, run: Run) -> None:
    """Print the report."""
    console.print(make_report(run))


def draw(run: Run, path: str | Path) -> None:
    """Draw the losses on the training samples by iteration, encrypted and clear. The file's ending names the
    format.

    Raises:
        ParameterError: if matplotlib is not installed, or does not know the format.
        FileError: if the file can not be written.
    """
    figure = new_figure(7, 4.2)
    axes = figure.add_subplot(title=f"{run.table}: loss on the training samples")
    axes.set(xlabel="iteration (a mini-batch each)", ylabel="mean logistic loss of a sample")
    iterations = range(1, len(run.losses["clear"]) + 1)
    for model in range(run.plan.settings.models):
        name = f", model {model}" if run.plan.settings.models > 1 else ""
        encrypted, clear = ([losses[model] for losses in run.losses[kind]] for kind in ("encrypted", "clear"))
        # One model: blue on orange. Several: dark on light of one hue each; ten hues, then other marks.
        dark, light = ("C0", "C1") if run.plan.settings.models == 1 else _HUES[model % len(_HUES)]
        mark = _MARKS[model // len(_HUES) % len(_MARKS)]
        axes.plot(iterations, clear, color=light, linewidth=2.5, label=f"clear{name}")
        axes.plot(iterations, encrypted, mark, color=dark, markersize=4, label=f"encrypted{name}")
    for number in range(run.batches, len(run.losses["clear"]), run.batches):
        axes.axvline(
            number,
            color="0.5",
            linestyle=":",
            linewidth=1,
            label="end of an epoch" if number == run.batches else None,
        )
    axes.locator_params(axis="x", integer=True)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    save_figure(figure, path)
