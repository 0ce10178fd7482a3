"""A client library as the rest of Hemera sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hemera.interop._session import Session

__all__ = ["KEY_FILES", "Describe", "Library"]

KEY_FILES = {
    "public key": "public_key",
    "relinearization keys": "relinearization",
    "Galois keys": "galois",
}
"""The kinds of files of keys, in words that all libraries share, and the argument of `Session.load_keys` that
takes each."""

Describe = Callable[[bytes, bytes | None], tuple[str, str, list[tuple[str, str]]] | None]
"""Kind, version of the library, and fields of an object from its bytes and those of its context (None where
they are not at hand); None for bytes that are not the library's."""


@dataclass(frozen=True)
class Library:
    """A library whose clients Hemera serves."""

    name: str
    """"SEAL": in texts, and in the tables of stored keys, where it never changes."""
    describe: Describe
    """Recognises a file of the library. Raises FormatError when it is damaged, MismatchError when it is of
    another context."""
    session: Callable[..., Session[Any]]
    """Opens a session from the source of a context, with the options of `Context`."""
    context_kind: str
    """The kind of file that holds a context, in the library's words."""
    formats: Mapping[str, Mapping[str, Any]]
    """The formats that its sessions write: a name for the command line, and the arguments of `dump_...`."""
    context_in_files: bool = False
    """Whether every file holds its context: then each opens a session, and is described without another."""
    takes_scale: bool = False
    """Whether a session of CKKS needs `scale`, the scale that the client encodes with."""
