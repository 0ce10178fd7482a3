"""The demo's output: progress while it runs, a table at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.text import Text

from hemera_apps._run_table import RunTable
from hemera_apps.demo.pipeline import STAGES, Run


def make_report(runs: Sequence[Run]) -> RenderableType:
    """One column a scheme."""
    table = RunTable("Scores of tumours that the server can not see", runs, lambda run: run.scheme.upper())
    table.row("held-out rows", lambda run: str(run.rows))
    table.row("ciphertexts", lambda run: str(run.ciphertexts))
    table.row("accuracy, clear model", lambda run: f"{run.accuracy_clear:.1%}")
    table.row("accuracy, encrypted", lambda run: f"{run.accuracy_encrypted:.1%}")
    table.row("same class as the clear model", lambda run: f"{run.agreement:.1%}")
    table.row("encrypted scores", _scores_text)
    table.row("largest score error", _error_text)
    table.section()
    table.stages(STAGES, digits=3)
    table.row("all, s", lambda run: f"{sum(run.seconds.values()):.3f}")
    table.sizes_and_parameters()
    return Group(table.table, *_notes(runs))


def show(console: Console, runs: Sequence[Run]) -> None:
    """Print the table."""
    console.print(make_report(runs))


def _scores_text(run: Run) -> str:
    if run.max_error_bits is not None:
        return _digits(run.max_error_bits)
    return "exact" if run.exact else "NOT EXACT"


def _error_text(run: Run) -> str:
    if run.max_error_bits is not None:
        return f"2^{run.max_error_bits:.1f}"
    return "none" if run.exact else "-"


def _digits(bits: float) -> str:
    """The number of right digits after the point for an error of 2^bits, in words."""
    digits = math.floor(-bits * math.log10(2))
    if digits < 1:
        return "no digit right"
    return f"right to {digits} digit{'s' if digits > 1 else ''}"


def _notes(runs: Sequence[Run]) -> list[Text]:
    notes = [
        Text(
            f"CKKS error: against the same polynomial score in double precision. That polynomial is within "
            f"{2**run.sigmoid_error_bits:.2f} of the sigmoid here (2^{run.sigmoid_error_bits:.1f})."
        )
        for run in runs
        if run.sigmoid_error_bits is not None
    ]
    if runs:
        notes.append(Text(f"Computed on {runs[0].device}."))
    return notes
