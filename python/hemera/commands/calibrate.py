"""Measure the times of this machine's operations, for `hemera plan` and `hemera.cost`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from hemera import _options
from hemera.times.table import known_devices


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _options.add_machine(parser)
    parser.add_argument(
        "--seconds", type=_options.positive, default=120, help="time it may take (default: 120)"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="file of the table (default: one in the cache folder)"
    )
    parser.add_argument("--list", action="store_true", help="list the devices with a table, and end")


def run(options: argparse.Namespace) -> int:
    console = Console()
    if options.list:
        for name in known_devices():
            console.print(name, highlight=False)
        return 0
    from hemera.objects.calibration import calibrate

    found = calibrate(
        options.device,
        threads=options.threads,
        seconds=options.seconds,
        report=lambda line: console.print(line, highlight=False),
    )
    path = found.save(options.output)
    console.print(
        f"{len(found.rows)} times of {found.device}, kept in {path}", highlight=False, soft_wrap=True
    )
    return 0
