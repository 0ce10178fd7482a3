"""The clients of a server's folder: their tokens, what these may ask for, and when they end."""

from __future__ import annotations

import argparse
import collections
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hemera import _options
from hemera.serving.at_home import open_home

if TYPE_CHECKING:
    from hemera.serving.home import Home

_DAY = 86400.0


def _days(text: str) -> float | None:
    """An argument that is a number of days, or "never": in seconds."""
    try:
        return None if text == "never" else float(text) * _DAY
    except ValueError:
        raise argparse.ArgumentTypeError(f'{text!r} is no number of days, and not "never"') from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("home", metavar="HOME", type=Path, help="folder of the server")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")

    def action(name: str, text: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=text, description=text)

    action("list", "Clients, their tokens and the bytes of their keys.")
    child = action("token", "Print another token of a client, which the server does not keep.")
    child.add_argument("client", metavar="CLIENT")
    child.add_argument("seconds", metavar="DAYS", type=_days, help="for which it counts, or never")
    child.add_argument(
        "allow", metavar="NAME", nargs="*", help="a model, index or federation that it is for (default: all)"
    )
    child = action("end", "End a token of a client.")
    child.add_argument("client", metavar="CLIENT")
    child.add_argument("token", metavar="TOKEN", help="its id, as list has it")


def run(options: argparse.Namespace) -> int:
    home = open_home(options.home)
    if options.action == "token":
        allow = options.allow or None
        print(home.clients.add_token(options.client, seconds=options.seconds, allow=allow))
    elif options.action == "end":
        home.clients.end_token(options.client, options.token)
    else:
        for line in _lines(home):
            print(line)
    return 0


def _lines(home: Home) -> list[str]:
    """A line for each client, token, and model that the client has keys for."""
    clients, lines = home.clients, []
    kept = collections.defaultdict(list)
    for found in home.key_sets():
        kept[found.client].append(found)
    for name in clients.names():
        lines.append(f"client  {name}")
        for token in clients.tokens(name):
            ends = (
                "never"
                if token.expires is None
                else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(token.expires))
            )
            lines.append(f"token   {name}  {token.id}  ends {ends}  for {' '.join(token.allow or ['all'])}")
        for found in kept[clients.identity(name) or ""]:
            lines.append(f"keys    {name}  {found.model}  {_options.size_text(found.bytes)}")
    return lines
