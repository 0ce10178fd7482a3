"""Evaluates a packaged model on encrypted files, without a server."""

from __future__ import annotations

import argparse
from pathlib import Path

from hemera import _options
from hemera._files import read_files, write_files
from hemera.client.problems import Refused
from hemera.client.wire import KEYS_FILE
from hemera.errors import ParameterError
from hemera.inputs.source import named, opened
from hemera.interop import names_of_libraries
from hemera.objects.devices import DeviceOptions
from hemera.package.local_model import require_model
from hemera.package.package import Package
from hemera.serving.sessions import Loader
from hemera.serving.uploads import FOREIGN, library_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", type=Path, help="file of `hemera export`")
    parser.add_argument(
        "keys",
        metavar="KEYS",
        nargs="?",
        type=Path,
        help=f"the client's file; a folder for {names_of_libraries()}",
    )
    parser.add_argument(
        "request",
        metavar="REQUEST",
        nargs="?",
        type=Path,
        help="the client's file; a folder for several inputs",
    )
    parser.add_argument(
        "answer",
        metavar="ANSWER",
        nargs="?",
        type=Path,
        help="the file to write; a folder for several outputs",
    )
    parser.add_argument(
        "--describe", metavar="FILE", help='write the description for clients as JSON ("-": standard output)'
    )
    parser.add_argument(
        "--digest",
        metavar="DIGEST",
        help="refuse another model than the one of this digest, which its description has: for clients whose "
        f"files do not name it, as those of {names_of_libraries()}",
    )
    _options.add_machine(parser)


def run(options: argparse.Namespace) -> int:
    package = Package.load(options.model)
    if options.digest is not None:
        require_model({options.digest}, package.digest, "--digest is", package.name)
    if options.describe:
        _options.write_json(options.describe, package.describe())
    if options.answer is None:
        if options.describe and options.keys is None:
            return 0
        raise ParameterError("KEYS, REQUEST and ANSWER are needed, or --describe FILE alone")
    if options.keys.is_dir():
        keys = {name: options.keys / name for name in FOREIGN if (options.keys / name).exists()}
    else:
        keys = {KEYS_FILE: options.keys}
    try:
        session = Loader(DeviceOptions(options.device, options.threads)).load(package, library_of(keys), keys)
        files, digests = opened(read_files(options.request, [each.name for each in package.inputs]))
        require_model(digests, package.digest, "the request is", package.name)
        inputs = session.load(files)
        (outputs,) = session.run([inputs.values])
        answer = session.dump(outputs, inputs.single)
        if digests:
            answer = {name: named(data, package.digest) for name, data in answer.items()}
        write_files(options.answer, answer)
    except Refused as refused:
        raise ParameterError(refused.message) from None
    return 0
