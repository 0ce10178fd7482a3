"""The command line: `hemera COMMAND`. Hemera's own commands are modules of `hemera.commands`; other packages
add theirs by entry points of the group "hemera.commands", each a module of the same form."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from types import ModuleType

from hemera import __version__, _options
from hemera.errors import Error

GROUP = "hemera.commands"
_OWN = (
    *("info", "doctor", "params", "plan", "calibrate", "inspect", "convert"),
    *("export", "serve", "models", "clients", "client", "run"),
)


class _Commands(Mapping[str, ModuleType]):
    """Commands by name, in the order of the help; the module of each is imported at its first use."""

    def __getitem__(self, name: str) -> ModuleType:
        if name not in _OWN:
            raise KeyError(name)
        return importlib.import_module(f"hemera.commands.{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(_OWN)

    def __len__(self) -> int:
        return len(_OWN)


COMMANDS = _Commands()
OF_THE_APPLICATIONS = ("demo", "train-logistic", "score-trees", "bench")
"""Commands of the package hemera-apps. If it is not installed, messages name it."""


def installed_commands() -> dict[str, ModuleType]:
    """The commands that other packages have installed, by name."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    known = [name for name in OF_THE_APPLICATIONS if name in found]
    return {name: found[name].load() for name in [*known, *sorted(set(found) - set(known))]}


def make_parser(commands: Mapping[str, ModuleType]) -> argparse.ArgumentParser:
    """The parser of commands, by name. Each command adds its own arguments and a function `run`."""
    absent = [name for name in OF_THE_APPLICATIONS if name not in commands]
    parser = _options.Parser(
        prog="hemera",
        description="Computing on encrypted numbers with BGV, BFV and CKKS.",
        epilog=f"{', '.join(absent)}: in the package hemera-apps, which is not installed" if absent else None,
    )
    parser.add_argument("--version", action="version", version=f"hemera {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in commands.items():
        summary = _options.summary(command)
        child = subparsers.add_parser(name, help=summary, description=summary)
        command.add_arguments(child)
        child.set_defaults(run=command.run)
    return parser


def main(arguments: Sequence[str] | None = None, commands: Mapping[str, ModuleType] | None = None) -> int:
    """Run a command.

    Args:
        arguments: None: those of the process.
        commands: commands in addition to Hemera's own, by name; None: the installed ones.

    Returns:
        The exit status: 0; 1 for an error of Hemera's, whose message goes to standard error; 130 when
        interrupted. (With wrong usage argparse exits with 2.)
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    # A command of Hemera's own needs no other package, nor the modules of other commands.
    own = {given[0]: COMMANDS[given[0]]} if given and given[0] in COMMANDS else None
    others = {} if own else installed_commands() if commands is None else commands
    if given and given[0] in OF_THE_APPLICATIONS and given[0] not in others:
        print(
            f"hemera: {given[0]} is a command of the package hemera-apps, which is not installed (in a clone "
            "of Hemera: pip install './python/apps[demo]')",
            file=sys.stderr,
        )
        return 1
    options = make_parser(own or {**COMMANDS, **others}).parse_args(_options.joined(given))
    try:
        status: int = options.run(options)
    except Error as error:
        print(f"hemera: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # a file that the user named, or an output that nobody reads
        told = f"cannot use {error.filename}: {error.strerror}" if error.filename else error.strerror
        print(f"hemera: {told}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("hemera: interrupted", file=sys.stderr)
        return 130
    return status
