"""A request of a client: bytes in, multiply, rotate, bytes out, compared with its library on the CPU."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hemera import _machine, _options
from hemera.errors import ParameterError
from hemera_apps.bench.report import Column, table_of
from hemera_apps.bench.request_clients import (
    CASES,
    CLIENTS,
    LIBRARIES,
    Case,
    Client,
    LiveClient,
    PreparedClient,
    client_of,
    open_session,
)
from hemera_apps.bench.timing import alternate, median_seconds

PARTS = ("load", "multiply", "rotate", "dump", "request")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    parser.add_argument(
        "--library", choices=CLIENTS, default="seal", help="the client's library (default seal)"
    )
    schemes = sorted({case.scheme for case in CASES})
    degrees = sorted({case.degree for case in CASES})
    _options.add_scheme(parser, schemes)
    _options.add_degree(parser, degrees)
    parser.add_argument(
        "--prepare",
        metavar="FOLDER",
        type=Path,
        help="time nothing, but leave in FOLDER what --files needs, about 50 MB for all of a library",
    )
    parser.add_argument(
        "--files",
        metavar="FOLDER",
        type=Path,
        help="time Hemera alone, without the library, by the contexts and secret keys in FOLDER",
    )
    _options.add_seconds(parser, 2.0, "time to measure a part")
    _options.add_json(parser, instead=True)
    _options.add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run the suite; 1 if any answer was wrong."""
    rows = []
    for case in _chosen(options):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if options.prepare is not None:
                client_of(case, folder).prepare(options.prepare)
                continue
            client: Client
            if options.files is not None:
                client = PreparedClient(case, options.files, folder)
            else:
                client = client_of(case, folder)
            rows += list(_rows(client, options))
    if options.prepare is not None:
        return 0
    if options.json:
        _options.write_json(options.json, {**_machine.describe(options.threads), "rows": rows})
    else:
        Console().print(_table(rows))
    return 0 if all(row["checked"] for row in rows) else 1


def _chosen(options: argparse.Namespace) -> list[Case]:
    cases = [
        case
        for case in CASES
        if case.library == options.library
        and case.scheme in (options.scheme or [case.scheme])
        and case.degree in (options.n or [case.degree])
    ]
    if options.files is not None:
        cases = [case for case in cases if (options.files / case.name).is_dir()]
        if not cases:
            raise ParameterError(f"--files: {options.files} has none of these; --prepare makes them")
    return cases


def _rows(client: Client, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    case, folder = client.case, client.folder
    session = open_session(case, folder / "context", device=options.device, threads=options.threads)
    session.load_keys(relinearization=folder / "relin", galois=folder / "galois")
    context = session.context

    def finished(value: Any) -> Any:
        context.synchronize()
        return value

    def load() -> Any:
        return finished(session.load_ciphertext((folder / "x").read_bytes()))

    def multiply(x: Any) -> Any:
        product = x * x
        return finished(product.rescale() if case.ckks and CLIENTS[case.library].rescales else product)

    def rotate(x: Any) -> Any:
        return finished(x.rotate(1))

    def dump(x: Any) -> bytes:
        data = session.dump_ciphertext(x)
        assert isinstance(data, bytes)
        (folder / "y").write_bytes(data)
        return data

    x = load()
    product = multiply(x)
    turned = rotate(product)
    ours: dict[str, Callable[[], object]] = {
        "load": load,
        "multiply": lambda: multiply(x),
        "rotate": lambda: rotate(product),
        "dump": lambda: dump(turned),
        "request": lambda: dump(rotate(multiply(load()))),
    }
    theirs = _library_parts(client) if isinstance(client, LiveClient) else None
    right = client.is_right(dump(turned))
    for part in PARTS:
        if theirs is None:
            our_seconds, their_seconds, ratio = median_seconds(ours[part], options.seconds), None, None
        else:
            our_seconds, their_seconds, ratio = alternate(ours[part], theirs[part], options.seconds)
        yield {
            "library": LIBRARIES[case.library].name,
            "scheme": case.scheme,
            "n": case.degree,
            "primes": len(context.params.primes[-1]) + len(context.params.special_primes),
            "special_primes": len(context.params.special_primes),
            "part": part,
            "device": context.device,
            "hemera_ms": round(our_seconds * 1e3, 3),
            "library_ms": None if their_seconds is None else round(their_seconds * 1e3, 3),
            "ratio": None if ratio is None else round(ratio, 3),
            "bytes_in": (folder / "x").stat().st_size,
            "bytes_out": (folder / "y").stat().st_size,
            "checked": right,
        }


def _library_parts(client: LiveClient) -> dict[str, Callable[[], object]]:
    x = client.load()
    product = client.multiply(x)
    turned = client.rotate(product)
    return {
        "load": client.load,
        "multiply": lambda: client.multiply(x),
        "rotate": lambda: client.rotate(product),
        "dump": lambda: client.dump(turned),
        "request": lambda: client.dump(client.rotate(client.multiply(client.load()))),
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    texts: dict[str, Column] = {name: f"{{{name}}}" for name in ("library", "primes", "part", "device")}
    texts |= {"scheme": lambda row: row["scheme"].upper(), "N": "{n}"}
    numbers: dict[str, Column] = {
        "Hemera": "{hemera_ms:.2f}",
        "library": lambda row: "" if row["library_ms"] is None else f"{row['library_ms']:.2f}",
        "library / Hemera": lambda row: "" if row["ratio"] is None else f"{row['ratio']:.2f}",
    }
    title = "A request: bytes in, multiply, rotate, bytes out (milliseconds, median)"
    return table_of(title, rows, texts, numbers)
