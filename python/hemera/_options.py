"""Arguments that several commands have."""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from hemera.circuits.needs import size_text as size_text
from hemera.errors import FileError
from hemera.inputs.arguments import did_you_mean

Arguments = argparse.ArgumentParser | argparse._ArgumentGroup
"""A parser, or a group of one, to which options are added."""


def summary(command: ModuleType) -> str:
    """The first paragraph of a command's docstring, as one line."""
    return " ".join((command.__doc__ or "").split("\n\n")[0].split())


_WRONG = re.compile(r"invalid choice: '(?P<choice>[^']*)'|unrecognized arguments: .*?(?P<option>--[\w-]+)")


class Parser(argparse.ArgumentParser):
    """A parser whose errors name the nearest command, choice or option. Its subparsers are of this class."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2, the usage and the message on standard error."""
        if found := _WRONG.search(message):
            known = _options_of(self) if found["option"] else re.findall(r"'?([\w.-]+)'?[,)]", message)
            message += did_you_mean(found["option"] or found["choice"], known)
        super().error(message)


def _options_of(parser: argparse.ArgumentParser) -> Iterable[str]:
    """The options of a parser and of all its subparsers."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _options_of(child)


_NEGATIVE = re.compile(r"-\.?\d[^=]*")


def joined(arguments: Sequence[str]) -> list[str]:
    """The arguments with "--interval", "-8,8" as "--interval=-8,8": argparse takes "-8" for a number, but a
    list like "-8,8" for an option."""
    found: list[str] = []
    for argument in arguments:
        follows_option = found and found[-1].startswith("--") and found[-1] != "--" and "=" not in found[-1]
        if follows_option and "," in argument and _NEGATIVE.fullmatch(argument):
            found[-1] += f"={argument}"
        else:
            found.append(argument)
    return found


def positive(text: str) -> int:
    """An argument that is an integer of at least 1."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not 1 or more")
    return value


def integers(text: str) -> list[int]:
    """An argument that is a list of integers with commas: "1,2,-4"."""
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of integers like 1,2,4") from None


def field(text: str) -> tuple[str, Any]:
    """An argument that gives a field its value: "levels=16", "security=None", "order=standard"."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, like levels=16")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def add_bootstrap_fields(parser: Arguments) -> None:
    """--field, for parameters that differ from a preset."""
    parser.add_argument(
        "--field",
        type=field,
        action="append",
        default=[],
        dest="fields",
        metavar="NAME=VALUE",
        help="a field of for_bootstrapping in place of the preset's, like levels=16; may be repeated",
    )


def add_bootstrap(parser: Arguments) -> None:
    """The arguments of a bootstrap of a preset, and --field."""
    add_bootstrap_fields(parser)
    parser.add_argument("--slots", type=positive, help="slots of the ciphertexts (default: all)")
    parser.add_argument("--real", action="store_true", help="slots are real: less time")
    parser.add_argument("--merge-parts", action="store_true", help="few slots: less time, and a level fewer")
    parser.add_argument(
        "--iterations", type=positive, default=1, help="bootstraps whose precisions add up (default: 1)"
    )
    parser.add_argument("--upload", type=size, metavar="SIZE", help="bytes of keys to upload (default: any)")


_UNITS = {"": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}


def size(text: str) -> int:
    """A number of bytes: "1000000", "64MiB", "1.5 GiB"."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d+)?(?:e\d{1,2})?) ?([KMGT]iB)?", text)
    count = int(float(found[1]) * (1 << _UNITS[found[2] or ""])) if found else 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size like 64MiB or 4GiB")
    return count


def add_machine(parser: Arguments) -> None:
    """--device and --threads."""
    parser.add_argument("--device", default="auto", help='"cpu", "cuda", "cuda:1", or "auto" (default)')
    add_threads(parser)


def add_threads(parser: Arguments, *, default: int | None = None) -> None:
    """--threads, of the CPU. `default`: None: as many as there are processors."""
    told = "all processors" if default is None else default
    parser.add_argument(
        "--threads", type=positive, default=default, help=f"threads of the CPU (default: {told})"
    )


def add_json(parser: Arguments, *, instead: bool = False) -> None:
    """--json, the path of `write_json`. `instead`: nothing else is printed then."""
    more = " instead" if instead else ""
    parser.add_argument(
        "--json", metavar="FILE", help=f'write the results to FILE as JSON ("-": standard output){more}'
    )


def add_only(parser: Arguments, groups: Iterable[str], default: Sequence[str] | None = None) -> None:
    """--only, the groups of a benchmark. `default`: None: all."""
    names = list(groups)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=names,
        default=names if default is None else default,
        help=f"which groups (default: {'all' if default is None else ' '.join(default)})",
    )


def add_scheme(parser: Arguments, schemes: Sequence[str]) -> None:
    """--scheme, of which there may be several."""
    parser.add_argument("--scheme", choices=schemes, action="append", help="only this scheme (repeatable)")


def add_degree(parser: Arguments, degrees: Iterable[int]) -> None:
    """--n, a degree, of which there may be several."""
    parser.add_argument(
        "--n", type=int, choices=list(degrees), action="append", help="only this degree (repeatable)"
    )


def add_seconds(parser: Arguments, default: float, what: str) -> None:
    """--seconds, a time. `what`: a noun or a verb for the help."""
    parser.add_argument("--seconds", type=float, default=default, help=f"{what} (default: {default:g})")


def add_runs(parser: Arguments, default: int) -> None:
    """--runs, of which a benchmark takes the median or the least."""
    parser.add_argument("--runs", type=positive, default=default, help=f"timed runs (default: {default})")


def add_plot(parser: Arguments, what: str) -> None:
    """--plot, a file of a drawing of `what`."""
    parser.add_argument(
        "--plot", dest="plot_file", metavar="FILE", help=f"also draw {what} to FILE (.svg, .png, .pdf)"
    )


def add_seed(parser: Arguments, what: str, *, default: int = 0) -> None:
    """--seed, of `what`."""
    parser.add_argument("--seed", type=int, default=default, help=f"seed of {what} (default: {default})")


def add_small(parser: Arguments, what: str) -> None:
    """--small, for tests of a command: `what` is small."""
    parser.add_argument("--small", action="store_true", help=f"{what}: NOT SECURE")


def write_json(path: str, value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write JSON to a file, or to standard output for "-". Raises FileError."""
    text = json.dumps(value, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"can not write {path}: {error.strerror}") from error
