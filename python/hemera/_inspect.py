"""The contents of files, read without a context."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from hemera import _core
from hemera.inputs.source import Source, read, read_bytes
from hemera.interop import libraries

HEMERA = "Hemera"
"""The library whose files are Hemera's own."""

MAGIC = b"\x89HEM\r\n\x1a\n"
"""The first bytes of Hemera's files."""


@dataclass(frozen=True)
class Section:
    """A section of a file."""

    tag: str
    """The four characters that name the section."""
    stored_bytes: int
    """The number of bytes in the file."""
    raw_bytes: int
    """The number of bytes after decompression."""
    compressed: bool


@dataclass(frozen=True)
class Description:
    """The contents of a file of Hemera's."""

    library: ClassVar[str] = HEMERA
    """The library whose file this is."""
    kind: str
    """"ciphertext", "secret key", ..."""
    version: int
    """The version of the file format."""
    fingerprint: str
    """The fingerprint of the object's parameters: 64 hexadecimal digits."""
    bytes: int
    """The size of the file."""
    fields: dict[str, str]
    """The fields of this kind of object: scheme, level, scale, ... None is secret."""
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
    """The contents of a file of another library, as far as the file alone shows them."""

    library: str
    """"SEAL", "OpenFHE"."""
    kind: str
    """"crypto context", "encryption parameters", "ciphertext", "plaintext", "secret key", "public key",
    "relinearization keys", "Galois keys"; "... or ..." if the file alone does not show which."""
    version: str
    """The version of the library, as far as the file shows it."""
    bytes: int
    """The size of the file."""
    fields: dict[str, str]
    """The fields of this kind of object, in the library's terms. None is secret."""

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
    """Describe the contents of bytes or a file, and check all that needs no context.

    Files of encrypted integers (docs/integers.md), of other libraries (docs/clients.md), and those that name
    a model (docs/serving.md) are described, too.

    Args:
        source: bytes, or the path of a file.
        parms: for files of SEAL, which hold fewer facts: their encryption parameters.

    Raises:
        FormatError: if the bytes are damaged, or neither Hemera's nor another library's.
        MismatchError: if the bytes belong to other parameters than `parms`.
        FileError: if the file can not be read.

    Examples:
        >>> found = hm.inspect(bytes(hm.ckks.Parameters.for_circuit(depth=1)))
        >>> found.kind, found.fields["scheme"]
        ('parameters', 'CKKS')
    """
    if not _begins_like_hemera(source):
        of_model = _inspect_named(read_bytes(source))
        if of_model is not None:
            return of_model
        integers = _inspect_integers(read_bytes(source))
        if integers is not None:
            return integers
        foreign = _inspect_foreign(read_bytes(source), None if parms is None else read_bytes(parms))
        if foreign is not None:
            return foreign
    return _described(read(source, _core.describe, _core.describe_file))


def _described(found: _core.Description) -> Description:
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
        return True  # `read` reports the error


def _inspect_named(data: bytes) -> Description | None:
    """The model that the file of a request or an answer names, then the file's own fields; None of others."""
    from hemera.inputs.source import model_of

    digest, file = model_of(data)
    if digest is None:
        return None
    inner = _described(_core.describe(file))
    return replace(inner, bytes=len(data), fields={"model": digest, **inner.fields})


def _inspect_integers(data: bytes) -> Description | None:
    """The public facts of encrypted integers, then their ciphertext's fields; None of other files."""
    from hemera.integers import files

    if data[: len(files.MAGIC)] != files.MAGIC:
        return None
    header, ciphertext = files.read(data)
    inner = _described(_core.describe(ciphertext))
    if inner.kind != "ciphertext":
        raise _core.FormatError(f"encrypted integers stand in a ciphertext, and this is a {inner.kind}")
    is_boolean, failure = header.dtype == "bool", header.failure_log2
    fields = {
        "dtype": header.dtype,
        "shape": str(tuple(header.shape)),
        "bits of the context": str(header.bits),
        "error of a digit": f"{header.error:.3g}",
        "failure": "0" if failure is None else f"2^{failure:.1f}",
        "secrets": "none: encrypted values, and public bounds of their errors",
    }
    return Description(
        kind=f"encrypted {'booleans' if is_boolean else 'integers'}",
        version=files.VERSION,
        fingerprint=inner.fingerprint,
        bytes=len(data),
        fields={**fields, **inner.fields},
        sections=inner.sections,
    )


def _inspect_foreign(data: bytes, parms: bytes | None) -> ForeignDescription | None:
    for library in libraries():
        found = library.describe(data, parms)
        if found is not None:
            kind, version, fields = found
            return ForeignDescription(library.name, kind, version, len(data), dict(fields))
    return None


def _rotation_steps(fields: dict[str, str], elements: str) -> str:
    """The rotation of each Galois element, by the first generator that fits all. (The file names none.)"""
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
