"""A server for packaged models and indexes: computes for clients that keep their secret keys."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hemera import _options
from hemera.errors import ParameterError
from hemera.objects.devices import FORMER_STORAGE, KEY_PLACES, STORAGES
from hemera.serving.at_home import open_home, serve_home
from hemera.serving.settings import Settings

if TYPE_CHECKING:
    from hemera.serving.home import Home
    from hemera.serving.service import Service

_UNITS = {"": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}


def _size(text: str) -> int:
    """An argument that is a number of bytes: "512", "8GiB"."""
    found = re.fullmatch(r"(\d+) ?([KMGT]iB)?", text)
    if found is None or int(found[1]) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no size, like 512MiB or 8GiB")
    return int(found[1]) << _UNITS[found[2] or ""]


def _positive(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of {what}")
    return value


def _seconds(text: str) -> float:
    return _positive(text, "seconds")


def _rate(text: str) -> float:
    return _positive(text, "requests a second")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "home",
        metavar="HOME",
        type=Path,
        help="folder of the server: models, indexes, clients, and clients' keys",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port; 0: any that is free (default 8000)")
    parser.add_argument(
        "--tls-certificate", metavar="PEM", type=Path, help="serve https with this certificate"
    )
    parser.add_argument("--tls-key", metavar="PEM", type=Path, help="the certificate's key")
    parser.add_argument(
        "--origin",
        dest="origins",
        metavar="URL",
        action="append",
        help="an origin whose pages may ask in a browser, as https://app.example.org (repeatable)",
    )
    parser.add_argument(
        "--federation",
        dest="federations",
        metavar="NAME",
        action="append",
        help="keep the shared folder of a federation, HOME/federations/NAME, whose parties are clients "
        "(repeatable)",
    )
    _options.add_machine(parser, several=True)
    parser.add_argument(
        "--storage",
        choices=(*STORAGES, FORMER_STORAGE),
        metavar=f"{{{','.join(STORAGES)}}}",
        default="auto",
        help="of evaluation keys in a GPU's memory: packed takes 22 %% less (default auto)",
    )
    parser.add_argument(
        "--key-place",
        dest="keys",
        choices=KEY_PLACES,
        default="device",
        help="of evaluation keys and models' plaintexts: host, if a GPU lacks room (default device)",
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        nargs="?",
        const="local",
        help="compute on replicas, by Ray: HOST:PORT of a cluster's head, auto for the one of this machine; "
        "without an address on this machine alone. HOME lies where all hosts can read it",
    )
    parser.add_argument(
        "--replicas",
        metavar="N",
        type=_options.positive,
        help="processes that compute, with a device each (default: one for each GPU, or each node)",
    )
    _add_limits(parser.add_argument_group("limits"))
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
    changes.add_argument("--list", action="store_true", help="print the models, indexes and clients")


def _add_limits(group: argparse._ArgumentGroup) -> None:
    sizes = {
        "request": ("request_bytes", "a request's body (default 256MiB)"),
        "keys": ("key_bytes", "an upload of keys, or a federation's file (default 8GiB)"),
        "store": ("store_bytes", "all keys and federations on disk; nothing is evicted (default 64GiB)"),
        "loaded-keys": ("loaded_key_bytes", "keys in the device's memory (default 8GiB)"),
        "prepared": (
            "prepared_bytes",
            "prepared answers of one client and index in the device's memory (default 256MiB)",
        ),
        "index": (
            "index_bytes",
            "rows of an index in the device's memory, unless its file has a 128th of it (default 4GiB)",
        ),
        "client-store": ("client_store_bytes", "on disk of one client or party (default: a quarter of all)"),
        "waiting": ("waiting_bytes", "all requests that arrive, wait or are computed (default 1GiB)"),
        "client-waiting": ("client_waiting_bytes", "the same for one client (default: a quarter of all)"),
    }
    for name, (target, text) in sizes.items():
        group.add_argument(f"--max-{name}", dest=target, metavar="SIZE", type=_size, help=text)
    counts = {
        "queue": ("waiting_requests", "requests of one client and model that wait (default 64)"),
        "batch": ("batch", "evaluations that run together, or in one request (default 32)"),
        "uploads": ("uploads", "uploads of keys at once (default 16)"),
        "client-uploads": ("client_uploads", "the same for one client (default 2)"),
        "connections": ("connections", "connections at once (default 512)"),
        "address-connections": ("address_connections", "the same from one address (default 256)"),
    }
    for name, (target, text) in counts.items():
        group.add_argument(f"--max-{name}", dest=target, metavar="N", type=_options.positive, help=text)
    group.add_argument(
        "--max-graphs",
        dest="graphs",
        metavar="N",
        type=int,
        help="graphs captured for one client and model on a GPU; 0: none (default 8)",
    )
    group.add_argument(
        "--rate-requests",
        dest="requests_per_second",
        metavar="N",
        type=_rate,
        help="requests of each client a second, on average, else 429 (default: no limit)",
    )
    group.add_argument(
        "--rate-bytes",
        dest="bytes_per_second",
        metavar="SIZE",
        type=_size,
        help="bytes of each client's bodies a second, on average (default: no limit)",
    )
    group.add_argument(
        "--burst-seconds",
        metavar="S",
        type=_seconds,
        help="seconds of unused rates that a client may save up (default 10)",
    )
    group.add_argument(
        "--request-seconds", metavar="S", type=_seconds, help="time from arrival to answer (default 300)"
    )
    group.add_argument(
        "--body-seconds",
        metavar="S",
        type=_seconds,
        help="time that a body may lag behind 16 KiB/s (default 60)",
    )
    group.add_argument(
        "--header-seconds", metavar="S", type=_seconds, help="time for the header of a request (default 10)"
    )
    group.add_argument(
        "--shutdown-seconds",
        metavar="S",
        type=_options.positive,
        help="time for running requests when the server stops (default 30)",
    )


def _on_cluster(address: str, replicas: int | None) -> Callable[[Home, Settings], Service]:
    """Makes the service of a server whose replicas compute."""
    from hemera.ray.service import on_cluster

    return functools.partial(on_cluster, address=address, replicas=replicas)


def _print_address(url: str) -> None:
    print(f"Serving at {url} (Ctrl-C stops it)", flush=True)


def run(options: argparse.Namespace) -> int:
    home = open_home(options.home)
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
    elif options.list:
        models, damaged = home.models()
        for package in models.values():
            print(f"model   {package.name}  {package.digest[:16]}  {package.description}")
        indexes, clashing = home.indexes()
        for name, path in indexes.items():
            print(f"index   {name}  {path.stat().st_size} bytes")
        for name, why in {**damaged, **clashing}.items():
            print(f"damaged {name}  {why}")
        for name in home.clients.names():
            print(f"client  {name}")
    else:
        given = ((field.name, getattr(options, field.name, None)) for field in dataclasses.fields(Settings))
        if options.replicas and options.ray is None:
            raise ParameterError("--replicas needs --ray: without Ray, --device names a server's devices")
        if options.ray is not None and any(each in options.device for each in ",*"):
            raise ParameterError(
                f"--ray gives each replica one device, and --device is {options.device!r}; leave it out, or "
                "name one, and say by --replicas how many there are"
            )
        return serve_home(
            home,
            make=None if options.ray is None else _on_cluster(options.ray, options.replicas),
            settings={name: value for name, value in given if value is not None},
            host=options.host,
            port=options.port,
            certificate=options.tls_certificate,
            certificate_key=options.tls_key,
            # Where somebody looks; else the log has it.
            listening=_print_address if sys.stdout.isatty() else None,
        )
    return 0
