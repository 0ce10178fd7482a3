"""Version, instruction set, threads and the devices found."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from hemera import _machine, _options, devices


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _options.add_json(parser, instead=True)


def run(options: argparse.Namespace) -> int:
    found = {**_machine.describe(), "gpus": _machine.gpus(), "devices": devices()}
    if options.json:
        _options.write_json(options.json, found)
        return 0
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in found.items():
        text = "\n".join(value) if isinstance(value, list) else str("unknown" if value is None else value)
        table.add_row(name, text)
    Console().print(table)
    return 0
