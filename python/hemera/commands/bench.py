"""Benchmarks: of each operation by default; `hemera bench SUITE --help` tells about the other suites."""

from __future__ import annotations

import argparse

from hemera.bench import SUITES, operations


def add_arguments(parser: argparse.ArgumentParser) -> None:
    operations.add_arguments(parser)
    parser.set_defaults(run_suite=operations.run)
    subparsers = parser.add_subparsers(title="suites", metavar="SUITE")
    for suite in SUITES:
        summary = (suite.__doc__ or "").strip().splitlines()[0]
        name = suite.__name__.rpartition(".")[2].replace("_", "-")
        child = subparsers.add_parser(name, help=summary, description=summary)
        suite.add_arguments(child)
        child.set_defaults(run_suite=suite.run)


def run(options: argparse.Namespace) -> int:
    status: int = options.run_suite(options)
    return status
