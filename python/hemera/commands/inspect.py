"""What a file of Hemera, or of a client's library, holds; needs neither a context nor a key."""

from __future__ import annotations

import argparse
import dataclasses

from rich.console import Console
from rich.table import Table

import hemera
from hemera import _options
from hemera._load import ForeignDescription


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file of Hemera's format, or of SEAL or OpenFHE")
    parser.add_argument(
        "--with",
        dest="parms",
        metavar="PARMS",
        help="of a file of SEAL: the encryption parameters it belongs to",
    )
    parser.add_argument("--json", metavar="FILE", help='write JSON to FILE ("-": standard output) instead')


def run(options: argparse.Namespace) -> int:
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
