"""Benchmarks of each operation; `hemera bench SUITE --help` describes the other suites."""

from __future__ import annotations

import argparse

from rich.console import Console

from hemera import _options
from hemera.errors import ParameterError
from hemera_apps.bench import gpu, operations
from hemera_apps.bench.suites import SUITES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    operations.add_arguments(parser)
    parser.add_argument(
        "--compare",
        metavar="FILE",
        help="measure nothing: print the times in a file of hemera_gpu_bench next to other libraries'",
    )
    parser.add_argument("--plot", metavar="FOLDER", help="with --compare: also write plots to FOLDER")
    parser.set_defaults(run_suite=operations.run)
    subparsers = parser.add_subparsers(title="suites", metavar="SUITE")
    for suite in SUITES:
        summary = _options.summary(suite)
        name = suite.__name__.rpartition(".")[2].replace("_", "-")
        child = subparsers.add_parser(name, help=summary, description=summary)
        suite.add_arguments(child)
        child.set_defaults(run_suite=suite.run)


def run(options: argparse.Namespace) -> int:
    if options.plot and not options.compare:
        raise ParameterError("--plot draws the results of a file: add --compare FILE")
    if options.compare:
        results = gpu.load(options.compare)
        console = Console()
        gpu.compare(results, console)
        for path in gpu.plot(results, options.plot) if options.plot else ():
            console.print(f"wrote {path}", markup=False, highlight=False)
        return 0
    status: int = options.run_suite(options)
    return status
