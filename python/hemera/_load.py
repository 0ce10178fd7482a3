"""Reading files without a context."""

from __future__ import annotations

from dataclasses import dataclass

from hemera import _core, bfv, bgv, ckks
from hemera._source import Source, read
from hemera.parameters import Parameters, warn_if_weak

_CLASSES: dict[str, type[Parameters]] = {
    "bfv": bfv.Parameters,
    "bgv": bgv.Parameters,
    "ckks": ckks.Parameters,
}


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


def load_parameters(source: Source) -> Parameters:
    """Parameters of any scheme from their bytes or a file's path. Weak ones load too, with a SecurityWarning.

    Raises:
        FormatError: when the bytes are damaged or not Hemera's.
        MismatchError: when they hold something else.
        FileError: when the file can not be read.
    """
    return parameters_of(read(source, _core.load_parameters, _core.load_parameters_file))


def parameters_of(core: _core.Parameters) -> Parameters:
    """Parameters that were read, as the class of their scheme; a SecurityWarning where they are weak."""
    loaded = _CLASSES[core.scheme.name]._wrap(core)
    warn_if_weak(loaded)
    return loaded


def inspect(source: Source) -> Description:
    """What some bytes or a file hold; needs no context. Everything is checked that needs none.

    Raises:
        FormatError: when they are damaged or not Hemera's.
        FileError: when the file can not be read.
    """
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
