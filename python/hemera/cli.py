"""The command line: `hemera COMMAND`. Each command is a module of `hemera.commands`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from hemera import __version__, _options
from hemera.commands import (
    bench,
    client,
    convert,
    demo,
    export,
    info,
    inspect,
    params,
    plan,
    run,
    score_trees,
    serve,
    train_logistic,
)
from hemera.errors import Error

COMMANDS = (
    info,
    params,
    plan,
    inspect,
    convert,
    demo,
    train_logistic,
    score_trees,
    export,
    serve,
    client,
    run,
    bench,
)


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands. Each command adds its own arguments and a function `run`."""
    parser = argparse.ArgumentParser(
        prog="hemera", description="Computing on encrypted numbers with BGV, BFV and CKKS."
    )
    parser.add_argument("--version", action="version", version=f"hemera {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2].replace("_", "-")
        summary = (command.__doc__ or "").strip().splitlines()[0]
        child = subparsers.add_parser(name, help=summary, description=summary)
        command.add_arguments(child)
        child.set_defaults(run=command.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit status: 0; 1 for an error that Hemera reports, said on standard error; 130 when interrupted.
        (Wrong usage exits with 2 by argparse.)
    """
    given = sys.argv[1:] if arguments is None else arguments
    options = make_parser().parse_args(_options.joined(given))
    try:
        status: int = options.run(options)
    except Error as error:
        print(f"hemera: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("hemera: interrupted", file=sys.stderr)
        return 130
    return status
