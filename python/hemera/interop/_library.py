"""The entry of a client library in the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hemera.interop._session import Session

KEY_FILES = {"public key": "public_key", "relinearization keys": "relinearization", "Galois keys": "galois"}
"""The kinds of files of keys, in words that all libraries share, and the argument of `Session.load_keys` that
takes each."""

Describe = Callable[[bytes, bytes | None], tuple[str, str, list[tuple[str, str]]] | None]
"""A function of an object's bytes and those of its context (None: not at hand). It returns the object's kind,
the library's version and the object's fields, or None if the bytes are not the library's."""


@dataclass(frozen=True)
class Library:
    """A library whose clients Hemera serves."""

    name: str
    """"SEAL": in texts, and in the tables of stored keys, where it never changes."""
    describe: Describe
    """The function that recognises a file of the library. It raises FormatError if the file is damaged, and
    MismatchError if it belongs to another context."""
    session: Callable[..., Session[Any]]
    """The function that opens a session from the source of a context, with the options of `Context`."""
    context_kind: str
    """The kind of file that holds a context, in the library's words."""
    formats: Mapping[str, Mapping[str, Any]]
    """The formats that sessions write, by their names for the command line: the arguments of `dump_...`."""
    context_in_files: bool = False
    """Whether every file holds its context. Then each file opens a session, and is described without
    others."""
    takes_scale: bool = False
    """Whether a session of CKKS needs `scale`, the scale that the client encodes with."""
