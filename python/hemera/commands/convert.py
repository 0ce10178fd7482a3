"""Convert a file of a client's library to Hemera's format, or the other way round."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hemera
from hemera._load import ForeignDescription
from hemera.errors import FileError, MismatchError, ParameterError
from hemera.interop import openfhe, seal

# What --to names: the library, and how its session writes.
TARGETS: dict[str, tuple[str, dict[str, Any]]] = {
    "hemera": ("Hemera", {}),
    "openfhe": ("OpenFHE", {"format": "binary"}),
    "openfhe-json": ("OpenFHE", {"format": "json"}),
    "seal": ("SEAL", {"compression": "zstd"}),
    "seal-zlib": ("SEAL", {"compression": "zlib"}),
    "seal-none": ("SEAL", {"compression": "none"}),
}
# What opens a session with each library.
SESSIONS: dict[str, Callable[..., Any]] = {"OpenFHE": openfhe.Session, "SEAL": seal.Session}
# The files that a library's sessions open with, by kind.
CONTEXTS = ("encryption parameters", "crypto context")
KEYS = {
    "public key": "public_key",
    "relinearization keys": "relinearization",
    "Galois keys": "galois",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help="a file of Hemera, SEAL or OpenFHE")
    parser.add_argument(
        "target",
        metavar="OUT",
        help="the file to write; of several kinds of keys OUT.public_key, OUT.relinearization and OUT.galois",
    )
    parser.add_argument("--to", required=True, choices=TARGETS, help="the format of OUT")
    parser.add_argument(
        "--with",
        dest="session",
        metavar="FILE",
        help="of the session to read or write for: SEAL's encryption parameters, or a file of OpenFHE",
    )
    parser.add_argument(
        "--scale", type=scale, help="SEAL's CKKS: the scale that the client encodes with, like 2^40"
    )


def scale(text: str) -> float:
    """A number, or a power: "2^40"."""
    try:
        base, _, exponent = text.partition("^")
        return float(base) ** float(exponent) if exponent else float(base)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a scale like 2^40") from None


def run(options: argparse.Namespace) -> int:
    library, form = TARGETS[options.to]
    described = hemera.inspect(options.source, parms=options.session if is_of_seal(options.session) else None)
    foreign = isinstance(described, ForeignDescription)
    if not foreign and library == "Hemera":
        raise ParameterError(f"{options.source} is a file of Hemera already")
    if foreign and library not in ("Hemera", described.library):
        raise MismatchError(
            f"{options.source} is a file of {described.library}, and {library} has other parameters; nothing "
            "converts one to the other"
        )
    session = open_session(options, described.library if foreign else library, described.kind)
    if foreign:
        thing = load_foreign(session, described.kind, options.source)
    elif described.kind == "parameters":
        thing = hemera.load_parameters(options.source)
        if thing != session.params:
            raise MismatchError(f"{options.source} holds other parameters than {options.session}")
    else:
        thing = session.context.load(options.source)
    if library == "Hemera":
        thing.save(options.target)
    else:
        # A secret key is for its owner alone.
        mode = 0o600 if isinstance(thing, hemera.SecretKey) else 0o666
        write(options.target, dump(session, thing, form), mode)
    return 0


def is_of_seal(path: str | None) -> bool:
    return path is not None and hemera.inspect(path).library == "SEAL"


def open_session(options: argparse.Namespace, library: str, kind: str) -> Any:
    """With the file that --with names, or the source itself where it opens one."""
    path = options.session or (options.source if kind in CONTEXTS or library == "OpenFHE" else None)
    if path is None:
        raise ParameterError(
            f"a file of {library} belongs to parameters that it does not hold: give them, --with FILE"
        )
    known = {} if options.scale is None else {"scale": options.scale}
    return SESSIONS[library](path, device="cpu", **known)


def load_foreign(session: Any, kind: str, path: str) -> Any:
    """The object of a foreign file as Hemera's."""
    if kind in CONTEXTS:
        return session.params
    if kind in KEYS:
        return session.load_keys(**{KEYS[kind]: path})
    loads = {
        "ciphertext": session.load_ciphertext,
        "secret key": session.load_secret_key,
        "plaintext": getattr(session, "load_plaintext", None),
    }
    load = loads.get(kind)
    if load is None:
        raise MismatchError(
            f"{path} holds a {kind}, which does not convert; with --with FILE it may be known better"
        )
    return load(path)


def dump(session: Any, thing: Any, form: dict[str, Any]) -> dict[str, bytes]:
    """The files of a library that hold the object, by what their names end with."""
    if isinstance(thing, hemera.Parameters):
        return {"": session.dump_context(**form)}
    if isinstance(thing, hemera.Keys):
        files = session.dump_keys(thing, **form)
        return {"": next(iter(files.values()))} if len(files) == 1 else {f".{k}": v for k, v in files.items()}
    dumps: dict[type, str] = {
        hemera.Ciphertext: "dump_ciphertext",
        hemera.Plaintext: "dump_plaintext",
        hemera.SecretKey: "dump_secret_key",
    }
    name = dumps.get(type(thing))
    if name is None or not hasattr(session, name):
        raise MismatchError(f"the library has no file for a {type(thing).__name__}")
    found = getattr(session, name)(thing, **form)
    return {"": found} if isinstance(found, bytes) else {f".{i}": part for i, part in enumerate(found)}


def write(target: str, files: dict[str, bytes], mode: int) -> None:
    """Each file, new ones with this mode."""
    for suffix, data in files.items():
        path = Path(target + suffix)
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
                file.write(data)
        except OSError as error:
            raise FileError(f"can not write {path}: {error.strerror}") from error
