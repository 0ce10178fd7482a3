"""What the demo prints: progress while it runs, a table at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from hemera._options import size_text
from hemera.demo.pipeline import STAGES, Run


def make_report(runs: Sequence[Run]) -> RenderableType:
    """One column a scheme."""
    table = Table(title="Scores of tumours that the server can not see", title_justify="left")
    table.add_column("")
    for run in runs:
        table.add_column(run.scheme.upper(), justify="right")

    def row(name: str, *cells: str) -> None:
        table.add_row(name, *cells)

    row("held-out rows", *(str(run.rows) for run in runs))
    row("ciphertexts", *(str(run.ciphertexts) for run in runs))
    row("accuracy, clear model", *(f"{run.accuracy_clear:.1%}" for run in runs))
    row("accuracy, encrypted", *(f"{run.accuracy_encrypted:.1%}" for run in runs))
    row("same class as the clear model", *(f"{run.agreement:.1%}" for run in runs))
    row("encrypted scores", *(_scores_text(run) for run in runs))
    row("largest score error", *(_error_text(run) for run in runs))
    table.add_section()
    for stage in STAGES:
        row(f"{stage.replace('_', ' ')}, s", *(f"{run.seconds[stage]:.3f}" for run in runs))
    row("all, s", *(f"{sum(run.seconds.values()):.3f}" for run in runs))
    table.add_section()
    for name, title in (("keys", "keys to the server"), ("request", "request"), ("response", "response")):
        row(title, *(size_text(run.bytes[name]) for run in runs))
    table.add_section()
    row("degree N", *(str(run.params.degree) for run in runs))
    row("modulus, all primes", *(f"{run.params.log_modulus:.0f} bits" for run in runs))
    row("security, bits", *(run.params.security for run in runs))
    return Group(table, *_notes(runs))


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
    """How many digits after the point are right for an error of 2^bits, in words."""
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
