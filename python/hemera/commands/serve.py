"""A server for packaged models and indexes: computes for clients that keep their secret keys."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hemera.serving.at_home import open_home, serve_home
from hemera.serving.configuration import PREFIX, Configuration, configure

if TYPE_CHECKING:
    from hemera.serving.home import Home
    from hemera.serving.service import Service
    from hemera.serving.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "home",
        metavar="HOME",
        type=Path,
        nargs="?",
        help="folder of the server: models, indexes, clients, and clients' keys",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="a file of TOML with all of it (--print-config prints one)",
    )
    for each in dataclasses.fields(Configuration):
        option, default = each.metadata["option"], each.default
        if option is None:
            continue
        more = {name: each.metadata[name] for name in ("metavar", "nargs", "const") if name in each.metadata}
        if each.type == "Sequence[str]":
            more["action"] = "append"
        told = f" (default {default})" if default not in (None, ()) else ""
        text = (
            argparse.SUPPRESS
            if each.metadata.get("former")
            else each.metadata["text"].replace("%", "%%") + told
        )
        parser.add_argument(option, **{"dest": each.name, "metavar": "VALUE", "help": text, **more})
    changes = parser.add_argument_group(
        "changes of HOME (each ends the command)"
    ).add_mutually_exclusive_group()
    changes.add_argument("--add-model", metavar="FILE", type=Path, help="copy a packaged model into HOME")
    changes.add_argument("--remove-model", metavar="NAME", help="remove a model")
    changes.add_argument(
        "--add-index",
        metavar="FILE",
        type=Path,
        help="copy an index for encrypted search into HOME, under FILE's name without its ending",
    )
    changes.add_argument("--remove-index", metavar="NAME", help="remove an index")
    changes.add_argument(
        "--add-client",
        metavar="NAME",
        help="add a client, and print its token, which the server does not keep",
    )
    changes.add_argument("--remove-client", metavar="NAME", help="remove a client and its keys")
    changes.add_argument(
        "--print-config",
        action="store_true",
        help="print the configuration, of --config, HEMERA_SERVE_... and these options, as such a file",
    )


def _on_cluster(address: str, replicas: int | None) -> Callable[[Home, Settings], Service]:
    """Makes the service of a server whose replicas compute."""
    from hemera.ray.service import on_cluster

    return functools.partial(on_cluster, address=address, replicas=replicas)


def _print_address(url: str) -> None:
    print(f"Serving at {url} (Ctrl-C stops it)", flush=True)


def run(options: argparse.Namespace) -> int:
    names = [each.name for each in dataclasses.fields(Configuration)]
    given = {name: value for name in names if (value := getattr(options, name, None)) is not None}
    for each in dataclasses.fields(Configuration):
        if each.metadata.get("former") and each.name in given:
            variable = f"{PREFIX}{each.name.upper()}"
            warnings.warn(
                f"{each.metadata['option']} goes: set {each.name} in the file of --config, or {variable}",
                DeprecationWarning,
                stacklevel=1,
            )
    configuration = configure(given, file=options.config)
    if options.print_config:
        print(configuration.text(), end="")
        return 0
    home = open_home(configuration.home)
    if options.add_model:
        print(home.add_model(options.add_model))
    elif options.remove_model:
        home.remove_model(options.remove_model)
    elif options.add_index:
        print(home.add_index(options.add_index))
    elif options.remove_index:
        home.remove_index(options.remove_index)
    elif options.add_client:
        print(home.clients.add(options.add_client))
    elif options.remove_client:
        home.remove_client(options.remove_client)
    else:
        return serve_home(
            configuration,
            make=None
            if configuration.ray is None
            else _on_cluster(configuration.ray, configuration.replicas),
            # Where somebody looks; else the log has it.
            listening=_print_address if sys.stdout.isatty() else None,
        )
    return 0
