"""Checks the direction of includes: python tools/check_includes.py [REPOSITORY].

Reads every `#include "..."` of the sources in src/ and include/hemera/ and reports, as file:line, each that
breaks the order of layers (docs/design.md). Exit status: 0 clean, 1 clashes, 2 nothing to check.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# Lowest first; layers of one row are neighbours and do not include each other.
LAYERS = (
    ("arith",),
    ("runtime",),
    ("poly",),
    ("multiply", "rlwe"),
    ("schemes",),
    ("circuits",),
    ("io",),
    ("interop",),
    ("adapters",),
)
ORDER = " < ".join(", ".join(row) for row in LAYERS)
RANK = {layer: rank for rank, row in enumerate(LAYERS) for layer in row}
# Parts of one layer that do not include each other; the rest of the layer does not include them either.
PARTS = {
    "poly": ("cpu", "cuda", "ledger"),
    "schemes": ("integer", "bgv", "bfv", "ckks"),
    "circuits": ("linear", "functions", "bootstrap", "search"),
    "interop": ("openfhe", "seal"),
    "adapters": ("openfhe", "seal"),
}
# Parts that others of their layer may include.
BELOW = {
    "schemes/bgv": ("schemes/integer",),
    "schemes/bfv": ("schemes/integer",),
    "circuits/bootstrap": ("circuits/linear", "circuits/functions"),
}
# What chooses among the parts of a layer may include them, and is included by higher layers alone.
JOINTS = {"schemes": "any_scheme", "circuits": "automatic"}
# The engines of multiply/ are CPU code: they share the kernels' vector arithmetic.
KERNEL_USERS = {"multiply": ("poly/cpu",)}

SUFFIXES = {".hpp", ".h", ".cuh", ".cpp", ".cu", ".inl"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
PUBLIC = PurePosixPath("include/hemera")
PRIVATE = PurePosixPath("src")
# What programs of users include: it names headers of all layers, and none of them includes it.
UMBRELLA = PUBLIC / "hemera.hpp"

NOT_FOUND = 'no such file; headers of other projects are written <...>, our own without ".."'


@dataclass(frozen=True)
class Clash:
    """One include that breaks a rule."""

    file: PurePosixPath  # relative to the repository
    line: int
    include: str
    reason: str

    def __str__(self) -> str:
        return f'{self.file}:{self.line}: #include "{self.include}": {self.reason}'


@dataclass(frozen=True)
class Place:
    """Where a file stands: its layer and, in a layer that has parts, its part ("" outside of them)."""

    layer: str
    part: str

    def __str__(self) -> str:
        return f"{self.layer}/{self.part}" if self.part else self.layer


def place_of(file: PurePosixPath) -> Place | None:
    """The place of a file given relative to the repository; None outside of the layers."""
    for root in (PUBLIC, PRIVATE):
        if file.is_relative_to(root):
            inside = file.relative_to(root).parts
            break
    else:
        return None
    if len(inside) < 2 or inside[0] not in RANK:
        return None
    # schemes/bfv/encoder.hpp and schemes/bfv.hpp both belong to the part bfv.
    name = inside[1].split(".")[0]
    parts = (*PARTS.get(inside[0], ()), JOINTS.get(inside[0]))
    return Place(inside[0], name if name in parts else "")


def resolve(root: Path, file: PurePosixPath, include: str) -> PurePosixPath | None:
    """The included file relative to the repository, or None if no such file is there."""
    for folder in (PurePosixPath("include"), PRIVATE, file.parent):
        candidate = folder / include
        if ".." not in candidate.parts and (root / candidate).is_file():
            return candidate
    return None


def why_not(file: PurePosixPath, target: PurePosixPath) -> str | None:
    """What is wrong with `file` including `target`; None if nothing is."""
    if file.is_relative_to(PUBLIC) and not target.is_relative_to(PUBLIC):
        return "a public header may not include a private one; public headers stand in include/hemera/"
    if file == UMBRELLA:
        return None
    source, included = place_of(file), place_of(target)
    if source is None or included is None:
        stray = file if source is None else target
        return f"{stray} is in no layer; the layers are {ORDER}"
    if RANK[included.layer] > RANK[source.layer]:
        return f"{source} may not include {included}: an include points to a lower layer ({ORDER})"
    if RANK[included.layer] == RANK[source.layer] and source.layer != included.layer:
        return f"{source} may not include {included}: they are neighbours ({ORDER})"
    allowed = source.part == JOINTS.get(source.layer) or str(included) in BELOW.get(str(source), ())
    if source.layer == included.layer and included.part and source.part != included.part and not allowed:
        if source.part:
            return f"{source} may not include {included}: they are neighbours"
        return f"{source} may not include {included}: what its parts share may not depend on one of them"
    if str(included) in KERNEL_USERS.get(source.layer, ()):
        return None
    is_private = not target.is_relative_to(PUBLIC)
    if source.layer != included.layer and included.layer == "poly" and included.part and is_private:
        return f"{source} may not include {included}: a backend is seen only through its public header"
    return None


def sources(root: Path) -> Iterator[PurePosixPath]:
    """The C++ and CUDA sources of the layers, relative to the repository, sorted."""
    for folder in (PUBLIC, PRIVATE):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield PurePosixPath(path.relative_to(root).as_posix())


def find_clashes(root: Path) -> list[Clash]:
    """All includes below `root` that break a rule, by file and line."""
    clashes = []
    for file in sources(root):
        text = (root / file).read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), start=1):
            match = INCLUDE.match(line)
            if not match:
                continue
            include = match.group(1)
            target = resolve(root, file, include)
            if target is None:
                reason: str | None = (
                    'no such file; headers of other projects are written <...>, our own without ".."'
                )
            else:
                reason = why_not(file, target)
            if reason:
                clashes.append(Clash(file, number, include, reason))
    return clashes


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    count = sum(1 for _ in sources(root))
    if count == 0:
        print(f"check_includes: no sources below {root}", file=sys.stderr)
        return 2
    clashes = find_clashes(root)
    for clash in clashes:
        print(clash)
    print(f"check_includes: {count} files, {len(clashes)} clashes")
    return 1 if clashes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
