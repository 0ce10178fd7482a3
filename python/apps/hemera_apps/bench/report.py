"""The rows of a benchmark: printed as they come, and written where --json says."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from hemera import _machine, _options

Row = dict[str, Any]


class Report:
    """The rows found so far. `say` prints a line."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.rows: list[Row] = []
        self.console = Console(stderr=options.json == "-")
        self.say = functools.partial(self.console.print, highlight=False, markup=False, soft_wrap=True)
        self._options = options

    def add(self, row: Row, **unsaid: Any) -> None:
        """Print a row, and keep it with what is `unsaid`."""
        self.say(", ".join(f"{field} {value}" for field, value in row.items()))
        self.rows.append({**row, **unsaid})

    def write(self, facts: Mapping[str, Any], machine: str = "machine") -> None:
        """Write the machine under that name, the facts and the rows, if --json asks for it."""
        if self._options.json is not None:
            made = {machine: _machine.describe(self._options.threads)}
            _options.write_json(self._options.json, {**made, **facts, "rows": self.rows})


Column = str | Callable[[Row], str]
"""What a cell says: a format of the row's fields, as "{ms:.2f}", or a function of the row."""


def table_of(
    title: str, rows: Iterable[Row], texts: Mapping[str, Column], numbers: Mapping[str, Column]
) -> Table:
    """A table of checked rows, by heading: texts, numbers, and whether the result was right."""
    table = Table(title=title)
    for heading in texts:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(heading, justify="right")
    table.add_column("right")
    columns: list[Column] = [*texts.values(), *numbers.values()]
    for row in rows:
        cells = (each(row) if callable(each) else each.format_map(row) for each in columns)
        table.add_row(*cells, "yes" if row["checked"] else "NO")
    return table
