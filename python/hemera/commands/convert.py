"""Convert a file of a client's library to Hemera's format, or the other way round."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hemera
from hemera._inspect import HEMERA, ForeignDescription
from hemera.errors import FileError, MismatchError, ParameterError
from hemera.interop import libraries, library_of_name, names_of_libraries
from hemera.interop._library import KEY_FILES, Library


def targets() -> dict[str, tuple[str, Mapping[str, Any]]]:
    """The names of --to: for each the library, and the arguments of its session for writing."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {"hemera": (HEMERA, {})}
    for library in sorted(libraries(), key=lambda each: each.name):
        found |= {name: (library.name, form) for name, form in library.formats.items()}
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help=f"a file of Hemera, {names_of_libraries()}")
    parser.add_argument(
        "target",
        metavar="OUT",
        help="the file to write; keys of several kinds: OUT.public_key, OUT.relinearization, OUT.galois",
    )
    parser.add_argument("--to", required=True, choices=targets(), help="the format of OUT")
    parser.add_argument(
        "--with",
        dest="session",
        metavar="FILE",
        help="the file that opens the client's session: SEAL's encryption parameters, or a file of OpenFHE",
    )
    parser.add_argument(
        "--scale", type=scale, help="CKKS of SEAL: the scale that the client encodes with, like 2^40"
    )


def scale(text: str) -> float:
    """A number, or a power: "2^40"."""
    try:
        base, _, exponent = text.partition("^")
        return float(base) ** float(exponent) if exponent else float(base)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a scale like 2^40") from None


def run(options: argparse.Namespace) -> int:
    target, form = targets()[options.to]
    context = options.session if describes_others(options.session) else None
    described = hemera.inspect(options.source, parms=context)
    foreign = isinstance(described, ForeignDescription)
    if not foreign and target == HEMERA:
        raise ParameterError(f"{options.source} is a file of Hemera already")
    if foreign and target not in (HEMERA, described.library):
        raise MismatchError(
            f"{options.source} is a file of {described.library}, and {target} has other parameters; nothing "
            "converts one to the other"
        )
    library = library_of_name(described.library if foreign else target)
    session = open_session(options, library, described.kind)
    if foreign:
        thing = load_foreign(session, library, described.kind, options.source)
    elif described.kind == "parameters":
        thing = hemera.load_parameters(options.source)
        if thing != session.params:
            raise MismatchError(f"{options.source} holds other parameters than {options.session}")
    else:
        thing = session.context.load(options.source)
    if target == HEMERA:
        thing.save(options.target)
    else:
        # A secret key is for its owner alone.
        mode = 0o600 if isinstance(thing, hemera.SecretKey) else 0o666
        write(options.target, dump(session, thing, form), mode)
    return 0


def describes_others(path: str | None) -> bool:
    """Whether the file belongs to a library whose other files are described with its help."""
    found = None if path is None else hemera.inspect(path)
    return isinstance(found, ForeignDescription) and not library_of_name(found.library).context_in_files


def open_session(options: argparse.Namespace, library: Library, kind: str) -> Any:
    """A session from the file of --with, or from the source itself if it opens one."""
    opens = library.context_in_files or kind == library.context_kind
    path = options.session or (options.source if opens else None)
    if path is None:
        raise ParameterError(f"a file of {library.name} does not hold its parameters: give them, --with FILE")
    known = {} if options.scale is None else {"scale": options.scale}
    return library.session(path, device="cpu", **known)


def load_foreign(session: Any, library: Library, kind: str, path: str) -> Any:
    """Hemera's object of a foreign file."""
    if kind == library.context_kind:
        return session.params
    if kind in KEY_FILES:
        return session.load_keys(**{KEY_FILES[kind]: path})
    loads = {
        "ciphertext": session.load_ciphertext,
        "secret key": session.load_secret_key,
        "plaintext": getattr(session, "load_plaintext", None),
    }
    load = loads.get(kind)
    if load is None:
        raise MismatchError(
            f"{path} holds a {kind}, which does not convert; with --with FILE its kind may be known better"
        )
    return load(path)


def dump(session: Any, thing: Any, form: Mapping[str, Any]) -> dict[str, bytes]:
    """The library's files of the object, by the endings of their names."""
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
    """Write each file; new files get this mode."""
    for suffix, data in files.items():
        path = Path(target + suffix)
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
                file.write(data)
        except OSError as error:
            raise FileError(f"can not write {path}: {error.strerror}") from error
