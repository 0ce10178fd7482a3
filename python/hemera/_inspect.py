"""What files hold, without a context."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hemera import _core
from hemera.inputs.source import Source, read, read_bytes
from hemera.interop import libraries

__all__ = ["HEMERA", "MAGIC", "Description", "ForeignDescription", "Section", "inspect"]

HEMERA = "Hemera"
"""The library whose files are Hemera's own."""

MAGIC = b"\x89HEM\r\n\x1a\n"
"""What Hemera's files begin with."""


@dataclass(frozen=True)
class Section:
    """A section of a file."""

    tag: str
    """Four characters that name it."""
    stored_bytes: int
    """Bytes that it takes in the file."""
    raw_bytes: int
    """Bytes after decompression."""
    compressed: bool


@dataclass(frozen=True)
class Description:
    """What a file holds."""

    library: ClassVar[str] = HEMERA
    """Whose file it is."""
    kind: str
    """"ciphertext", "secret key", ..."""
    version: int
    """Version of the file format."""
    fingerprint: str
    """Of the parameters that the object belongs to: 64 hexadecimal digits."""
    bytes: int
    """Size of the file."""
    fields: dict[str, str]
    """What the kind has to tell: scheme, level, scale, ... Nothing secret."""
    sections: list[Section]

    def __str__(self) -> str:
        rows = {
            "kind": self.kind,
            "format version": str(self.version),
            "parameters": self.fingerprint,
            "bytes": str(self.bytes),
            **self.fields,
        }
        width = max(map(len, rows))
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows.items())


@dataclass(frozen=True)
class ForeignDescription:
    """What a file of another library holds, as far as it tells."""

    library: str
    """"SEAL", "OpenFHE"."""
    kind: str
    """"crypto context", "encryption parameters", "ciphertext", "plaintext", "secret key", "public key",
    "relinearization keys", "Galois keys"; "... or ..." where the file alone does not tell which."""
    version: str
    """Of the library, as far as the file tells."""
    bytes: int
    """Size of the file."""
    fields: dict[str, str]
    """What the kind has to tell, in the library's terms. Nothing secret."""

    def __str__(self) -> str:
        rows = {
            "library": f"{self.library} {self.version}".rstrip(),
            "kind": self.kind,
            "bytes": str(self.bytes),
            **self.fields,
        }
        width = max(map(len, rows))
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows.items())


def inspect(source: Source, *, parms: Source | None = None) -> Description | ForeignDescription:
    """What some bytes or a file hold; needs no context. Everything is checked that needs none.

    Files of other libraries are told, too (docs/clients.md).

    Args:
        source: bytes, or the path of a file.
        parms: for files of SEAL, which do not say all: the encryption parameters that they belong to.

    Raises:
        FormatError: when they are damaged, or neither Hemera's nor another library's.
        MismatchError: when they belong to other parameters than `parms`.
        FileError: when the file can not be read.
    """
    if not _begins_like_hemera(source):
        foreign = _inspect_foreign(read_bytes(source), None if parms is None else read_bytes(parms))
        if foreign is not None:
            return foreign
    found = read(source, _core.describe, _core.describe_file)
    fields: dict[str, str] = {}
    for name, value in found.fields:
        fields[name] = value
        if name == "Galois elements" and value != "none":
            fields["rotation steps"] = _rotation_steps(dict(found.fields), value)
    return Description(
        kind=found.kind,
        version=found.version,
        fingerprint=found.fingerprint,
        bytes=found.bytes,
        fields=fields,
        sections=[
            Section(part.tag, part.stored_bytes, part.raw_bytes, part.compressed) for part in found.sections
        ],
    )


def _begins_like_hemera(source: Source) -> bool:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source[: len(MAGIC)]) == MAGIC
    try:
        with Path(source).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, TypeError):
        return True  # `read` says what is wrong


def _inspect_foreign(data: bytes, parms: bytes | None) -> ForeignDescription | None:
    for library in libraries():
        found = library.describe(data, parms)
        if found is not None:
            kind, version, fields = found
            return ForeignDescription(library.name, kind, version, len(data), dict(fields))
    return None


def _rotation_steps(fields: dict[str, str], elements: str) -> str:
    """What each Galois element does, by the generator that all can be of: the file does not name it."""
    degree = int(fields["degree"])
    conjugation = "conjugation" if fields["scheme"] == "CKKS" else "swap of rows"
    wanted = [int(element) for element in elements.split(", ")]
    for generator in (5, 3):
        steps = {2 * degree - 1: conjugation}
        element = 1
        for step in range(degree // 2):
            steps[element] = str(step if step <= degree // 4 else step - degree // 2)
            element = element * generator % (2 * degree)
        if all(element in steps for element in wanted):
            return f"{', '.join(steps[element] for element in wanted)} (by the generator {generator})"
    return "none by the generators 5 and 3"
