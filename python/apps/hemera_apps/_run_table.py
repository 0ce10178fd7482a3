"""The table of a command's runs: a column for each run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from rich.table import Table

from hemera.circuits.needs import size_text
from hemera.parameters import Parameters


class Run(Protocol):
    """The facts of a run for the rows that all tables have."""

    @property
    def seconds(self) -> Mapping[str, float]: ...
    @property
    def bytes(self) -> Mapping[str, int]: ...
    @property
    def params(self) -> Parameters: ...


R = TypeVar("R", bound=Run)


class RunTable(Generic[R]):
    """Rows of texts, one for each run.

    Args:
        title: the title of the table.
        runs: the runs, one a column.
        heading: the heading of a run's column.
    """

    def __init__(self, title: str, runs: Sequence[R], heading: Callable[[R], str]) -> None:
        self._runs = runs
        self.table = Table(title=title, title_justify="left")
        self.table.add_column("")
        for run in runs:
            self.table.add_column(heading(run), justify="right")

    def row(self, name: str, text: Callable[[R], str]) -> None:
        self.table.add_row(name, *map(text, self._runs))

    def section(self) -> None:
        """Draw a line below the last row."""
        self.table.add_section()

    def stages(self, names: Iterable[str], digits: int) -> None:
        """Add a row with the seconds of each stage."""
        for name in names:
            texts = (f"{run.seconds[name]:.{digits}f}" for run in self._runs)
            self.table.add_row(f"{name.replace('_', ' ')}, s", *texts)

    def sizes_and_parameters(self) -> None:
        """Add two sections: the bytes that client and server exchange, and the parameters."""
        self.section()
        for name, title in (("keys", "keys to the server"), ("request", "request"), ("response", "response")):
            self.table.add_row(title, *(size_text(run.bytes[name]) for run in self._runs))
        self.section()
        self.row("degree N", lambda run: str(run.params.degree))
        self.row("modulus, all primes", lambda run: f"{run.params.log_modulus:.0f} bits")
        self.row("security, bits", lambda run: run.params.security)
