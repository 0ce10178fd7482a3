"""A client of packaged models, over HTTP or by files, and of indexes: makes keys, encrypts, reads results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from hemera import _options
from hemera._files import read_files, write_atomically, write_files
from hemera.client.client import Client
from hemera.commands.tables import read_table, write_table
from hemera.errors import ParameterError
from hemera.inputs.fields import read_json
from hemera.inputs.source import read_bytes
from hemera.package.interface import Interface
from hemera.package.local_model import LocalModel
from hemera.package.rotation import reencrypted, rotate

_LABELS = {"upload": "sending keys", "predict": "predicting", "search": "searching"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")

    def action(name: str, text: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=text, description=text)

    child = action("models", "The models of a server.")
    _add_server(child)
    child = action("describe", "A model's description from a server, as JSON; the actions on files take it.")
    _add_server(child)
    child.add_argument("model", metavar="MODEL", help="name of the model")
    child = action("predict", "Results of a server's model for rows that only this client can read.")
    _add_server(child)
    _add_security(child)
    child.add_argument("model", metavar="MODEL", help="name of the model")
    child.add_argument("rows", metavar="ROWS", type=Path, help="a table of numbers, .csv or .npy")
    _add_results(child)
    _add_folder(child, required=False)

    child = action("indexes", "The indexes of a server.")
    _add_server(child)
    child = action("search", "Rows of a server's index for queries that it does not see, as JSON.")
    _add_server(child)
    child.add_argument("index", metavar="INDEX", help="name of the index")
    child.add_argument("queries", metavar="QUERIES", type=Path, help="a table of numbers, .csv or .npy")
    child.add_argument(
        "-k", type=_options.positive, default=10, help="number of rows for each query (default 10)"
    )
    child.add_argument(
        "--threshold",
        type=float,
        help="of an index with thresholds: the rows above it in place of the best k",
    )
    child.add_argument(
        "--secret-key", metavar="FILE", type=Path, help="of an encrypted index: its owner's secret key"
    )
    _add_folder(child, required=False)

    child = action("keys", "By files: makes the secret key, and writes the evaluation keys for the server.")
    _add_local(child)
    child.add_argument("keys", metavar="KEYS", type=Path, help="file to write")
    child = action("encrypt", "By files: encrypts rows.")
    _add_local(child)
    child.add_argument("rows", metavar="ROWS", type=Path, help="a table of numbers, .csv or .npy")
    child.add_argument(
        "request", metavar="REQUEST", type=Path, help="the file to write; a folder for several inputs"
    )
    child = action("decrypt", "By files: reads the server's answer.")
    _add_local(child)
    child.add_argument("answer", metavar="ANSWER", type=Path, help="the file, or folder, from the server")
    _add_results(child)
    child.add_argument(
        "--rows",
        dest="count",
        type=_options.positive,
        help="the number of encrypted rows (default: all of the answer)",
    )
    child = action("rotate", "By files: another secret key in place of the folder's.")
    _add_local(child)
    child.add_argument("switching", metavar="SWITCHING", type=Path, help="a new file, for the switching key")
    child = action("reencrypt", "By files: what the key before a rotation encrypted, for the key after it.")
    _add_description(child)
    child.add_argument("switching", metavar="SWITCHING", type=Path, help="the file of the rotation")
    child.add_argument("old", metavar="OLD", type=Path, help="the file, or folder, under the old key")
    child.add_argument("new", metavar="NEW", type=Path, help="the file, or folder, to write")
    _add_device(child)


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="address of the server")
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        type=Path,
        help="file with the token (default: HEMERA_TOKEN in the environment)",
    )
    parser.add_argument(
        "--certificates", metavar="PEM", help="certificates to trust in place of the usual ones"
    )
    parser.add_argument("--json", metavar="FILE", default="-", help='write JSON to FILE (default "-")')
    _add_device(parser)


def _add_description(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "description",
        metavar="DESCRIPTION",
        type=Path,
        help="file of `hemera client describe`, or `hemera run`",
    )


def _add_local(parser: argparse.ArgumentParser) -> None:
    _add_description(parser)
    _add_folder(parser, required=True)
    _add_security(parser)
    _add_device(parser)


def _add_folder(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        type=Path,
        required=required,
        help="folder of the secret key" + ("" if required else " (default: a new one each time)"),
    )


def _add_security(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--any-security",
        dest="security",
        action="store_const",
        const=None,
        default=128,
        help="also take parameters of less than 128 bits of security; the server chooses them",
    )


def _add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results",
        metavar="RESULTS",
        nargs="?",
        type=Path,
        help="table to write, .csv or .npy (default: JSON)",
    )


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="cpu", help='device that encrypts: "cpu" (default), "cuda", ...')


def run(options: argparse.Namespace) -> int:
    if options.action not in ("models", "indexes", "describe", "predict", "search"):
        return _by_files(options)
    try:
        return _over_http(options)
    except ImportError as error:
        raise ParameterError(str(error)) from None


def _over_http(options: argparse.Namespace) -> int:
    token = None
    if options.token_file is not None:
        token = read_bytes(options.token_file).decode("utf-8", "replace").strip()
    with (
        _Bars() as progress,
        Client(
            options.url,
            token=token,
            folder=getattr(options, "folder", None),
            device=options.device,
            certificates=options.certificates,
            progress=progress,
            security=getattr(options, "security", 128),
        ) as client,
    ):
        if options.action == "models":
            told: Mapping[str, Any] = {"models": client.models()}
        elif options.action == "indexes":
            told = {"indexes": client.indexes()}
        elif options.action == "search":
            told = {"index": options.index, **_found(client, options)}
        elif options.action == "describe":
            told = client.describe(options.model)
        else:
            results = client.predict(options.model, read_table(options.rows))
            if options.results is not None:
                write_table(options.results, results)
                return 0
            told = {"model": options.model, "results": _plain(results)}
    _options.write_json(options.json, told)
    return 0


def _found(client: Client, options: argparse.Namespace) -> dict[str, Any]:
    """The rows for each query: with scores, or with the ids of those that are near a threshold."""
    queries = np.atleast_2d(read_table(options.queries))
    index = client.index(options.index, secret_key=options.secret_key)
    found = index.query(queries, options.k, threshold=options.threshold)
    if isinstance(found, tuple):
        scores, ids = found
        return {"ids": ids.tolist(), "scores": scores.tolist()}
    return {
        "ids": [each.ids.tolist() for each in found],
        "doubtful": [each.doubtful.tolist() for each in found],
    }


def _by_files(options: argparse.Namespace) -> int:
    told = read_json(read_bytes(options.description), f"{options.description} is no description of a model")
    interface = Interface.from_dict(told)
    if options.action == "reencrypt":
        names = [each.name for each in interface.outputs] + [each.name for each in interface.inputs]
        old = read_files(options.old, names)
        write_files(options.new, reencrypted(interface, options.switching, old, device=options.device))
        return 0
    digest = told.get("digest")
    local = LocalModel(
        interface,
        folder=options.folder,
        device=options.device,
        security=options.security,
        digest=digest if isinstance(digest, str) else None,
    )
    if options.action == "rotate":
        rotate(local, options.switching, security=options.security)
    elif options.action == "keys":
        write_atomically(options.keys, local.generate_keys())
    elif options.action == "encrypt":
        arrays, _ = local.encode(read_table(options.rows))
        # Descriptions of older servers, which do not read files that name the model, do not say that they do.
        names_model = bool(told.get("takes_named_files"))
        write_files(options.request, local.encrypt(arrays, names_model=names_model))
    else:
        names = [each.name for each in interface.outputs]
        arrays = local.decrypt(read_files(options.answer, names))
        results = local.decode(arrays, False, options.count)
        if options.results is not None:
            write_table(options.results, results)
        else:
            _options.write_json("-", {"model": interface.name, "results": _plain(results)})
    return 0


def _plain(results: Any) -> Any:
    if isinstance(results, Mapping):
        return {name: _plain(value) for name, value in results.items()}
    return np.asarray(results).tolist()


class _Bars:
    """The progress of each part: a bar on a terminal, else a line when the part begins."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, Any] = {}

    def __call__(self, part: str, done: int, total: int) -> None:
        if part not in self._tasks:
            label = _LABELS.get(part, part)
            self._tasks[part] = self._bars.add_task(label, total=total)
            if self._bars.disable:
                print(label, file=sys.stderr, flush=True)
        self._bars.update(self._tasks[part], completed=done, total=total)

    def __enter__(self) -> _Bars:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()
