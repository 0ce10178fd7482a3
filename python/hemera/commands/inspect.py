"""The contents of a file of Hemera, a packaged model, or a file of a client's library. It needs no context or
key."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

import hemera
from hemera import _options
from hemera._inspect import ForeignDescription
from hemera.errors import NoiseError
from hemera.interop import libraries, names_of_libraries
from hemera.objects.cost import Cost
from hemera.package.container import is_model
from hemera.package.package import Package


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help=f"a file of Hemera's format, a model, or a file of {names_of_libraries()}",
    )
    separate = " or ".join(library.name for library in libraries() if not library.context_in_files)
    parser.add_argument(
        "--with", dest="parms", metavar="PARMS", help=f"for a file of {separate}: its encryption parameters"
    )
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="of a model: also estimate the time of one request on this device (hemera calibrate --list)",
    )
    _options.add_json(parser, instead=True)


def run(options: argparse.Namespace) -> int:
    if is_model(options.file):
        return _show_model(Package.load(options.file), options.json, options.device)
    description = hemera.inspect(options.file, parms=options.parms)
    if options.json:
        told = {"library": description.library, **dataclasses.asdict(description)}
        _options.write_json(options.json, told)
        return 0
    console = Console()
    # Plain lines: values may be long lists, and the output may go to a program.
    console.print(str(description), markup=False, highlight=False, soft_wrap=True)
    if isinstance(description, ForeignDescription):
        return 0
    sections = Table(title="sections", title_justify="left", box=None, pad_edge=False)
    sections.add_column("tag")
    sections.add_column("in the file", justify="right")
    sections.add_column("unpacked", justify="right")
    for section in description.sections:
        sections.add_row(
            section.tag, _options.size_text(section.stored_bytes), _options.size_text(section.raw_bytes)
        )
    console.print()
    console.print(sections)
    return 0


def _show_model(package: Package, json: str | None, device: str | None) -> int:
    told = {"kind": "packaged model", **package.describe(), "operations": package.program.operations}
    counted: Cost | None = None
    try:
        counted = package.cost(device=device)
        counts = {"calls": counted._operations_line(), "memory": _memory(counted)}
        if counted.seconds is not None:
            counts["time"] = f"about {counted.seconds:.3g} s on {device}"
    except NoiseError as error:
        counts = {"calls": f"none: {error}"}
    if json:
        _options.write_json(json, {**told, "cost": None if counted is None else counted.as_dict()})
        return 0
    keys = package.interface.keys
    conjugation = "conjugation" if package.scheme == "ckks" else "swap of rows"
    needed = [
        *([] if keys.relinearization is None else [f"relinearization up to level {keys.relinearization}"]),
        *(f"rotation {steps} up to level {level}" for steps, level in sorted(keys.rotations.items())),
        *([] if keys.conjugation is None else [f"{conjugation} up to level {keys.conjugation}"]),
        *(str(each) for each in keys.own),
        *(_bootstrap(settings) for settings in keys.bootstraps),
        *(f"products of pairs of {size} x {size} at level {level}" for size, level in keys.pairs),
    ]
    rows = {
        "kind": "packaged model",
        "name": package.name,
        **({"description": package.description} if package.description else {}),
        "scheme": package.scheme,
        "degree": told["degree"],
        "security": told["security"],
        "depth": told["depth"],
        "operations": ", ".join(f"{count} {name}" for name, count in package.program.operations.items()),
        "inputs": "; ".join(f"{x.name} {(*x.shape, x.width)}" for x in package.inputs),
        "outputs": "; ".join(f"{y.name} {(*y.shape, y.width)}, read as {y.read}" for y in package.outputs),
        "rows": told["encoding"]["kind"],
        "keys": f"{len(needed)}, of {_options.size_text(told['key_bytes_at_most'])} at most",
        **{f"  {at}": key for at, key in enumerate(needed, 1)},
        **counts,
        "parameters": told["fingerprint"],
        "bytes": told["bytes"],
        "digest": told["digest"],
    }
    width = max(map(len, rows))
    text = "\n".join(f"{name:<{width}}  {value}" for name, value in rows.items())
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
    return 0


def _bootstrap(settings: Mapping[str, Any]) -> str:
    if "passes" in settings:
        return f"exact bootstrap of {settings['passes']} pass{'es' * (settings['passes'] > 1)}"
    return f"bootstrap of {settings['slots']} slots"


def _memory(counted: Cost) -> str:
    size = _options.size_text
    return (
        f"keys of {size(counted.key_bytes)}, plaintexts of {size(counted.plaintext_bytes)}, workspace of "
        f"{size(counted.workspace_bytes)} a request"
    )
