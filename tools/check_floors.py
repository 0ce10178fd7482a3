"""Holds sources to the floors of tools/floors.toml: python tools/check_floors.py [REPOSITORY].

C++: an `#include "..."` of src/ and include/hemera/ points to a lower layer, or within its own part of a
layer; a public header includes no private one, and backends are seen through their public headers alone.

Python: a module of python/hemera or python/apps/hemera_apps imports modules of lower rows. Inside a folder
that is one entry modules import each other, but not in a circle. Imports inside of functions count like
others. Those under `if TYPE_CHECKING:` do not run; they point down too, except for those that the list names.
Modules whose annotations name each other form a circle, of limited size; folders form none with imports that
run.

Reports each clash as file:line. Exit status: 0 clean, 1 clashes, 2 nothing to check.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

FLOORS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("floors.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Clash:
    """A line that breaks a rule."""

    file: PurePosixPath
    """Relative to the repository."""
    line: int
    what: str
    """The include, or the import."""
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}: {self.reason}"


# --- C++. ---

LAYERS: list[list[str]] = FLOORS["layers"]
ORDER = " < ".join(", ".join(row) for row in LAYERS)
LAYER_RANK = {layer: rank for rank, row in enumerate(LAYERS) for layer in row}
SUFFIXES = {".hpp", ".h", ".cuh", ".cpp", ".cu", ".inl"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
PUBLIC = PurePosixPath("include/hemera")
PRIVATE = PurePosixPath("src")
# What programs of users include: it names headers of all layers, and none of them includes it.
UMBRELLA = PUBLIC / "hemera.hpp"
VERSION = PUBLIC / "version.hpp"
"""Numbers alone, which any layer may read."""

NOT_FOUND = 'no such file; headers of other projects are written <...>, our own without ".."'


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
    if len(inside) < 2 or inside[0] not in LAYER_RANK:
        return None
    # schemes/bfv/encoder.hpp and schemes/bfv.hpp both belong to the part bfv.
    name = inside[1].split(".")[0]
    parts = (*FLOORS["parts"].get(inside[0], ()), FLOORS["joints"].get(inside[0]))
    return Place(inside[0], name if name in parts else "")


def resolve(root: Path, file: PurePosixPath, include: str) -> PurePosixPath | None:
    """The included file relative to the repository, or None if no such file is there."""
    for folder in (PurePosixPath("include"), PRIVATE, file.parent):
        candidate = folder / include
        if ".." not in candidate.parts and (root / candidate).is_file():
            return candidate
    return None


def why_no_include(file: PurePosixPath, target: PurePosixPath) -> str | None:
    """What is wrong with `file` including `target`; None if nothing is."""
    if file.is_relative_to(PUBLIC) and not target.is_relative_to(PUBLIC):
        return "a public header may not include a private one; public headers stand in include/hemera/"
    if file == UMBRELLA or target == VERSION:
        return None
    source, included = place_of(file), place_of(target)
    if source is None or included is None:
        stray = file if source is None else target
        return f"{stray} is in no layer; the layers are {ORDER}"
    below = FLOORS["below"].get(str(source), ())
    if LAYER_RANK[included.layer] > LAYER_RANK[source.layer]:
        return f"{source} may not include {included}: an include points to a lower layer ({ORDER})"
    if LAYER_RANK[included.layer] == LAYER_RANK[source.layer] and source.layer != included.layer:
        return f"{source} may not include {included}: they are neighbours ({ORDER})"
    allowed = source.part == FLOORS["joints"].get(source.layer) or str(included) in below
    if source.layer == included.layer and included.part and source.part != included.part and not allowed:
        if source.part:
            return f"{source} may not include {included}: they are neighbours"
        return f"{source} may not include {included}: what its parts share may not depend on one of them"
    if str(included) in below:
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


def include_clashes(root: Path) -> list[Clash]:
    """Includes below `root` that break a rule, by file and line."""
    clashes = []
    for file in sources(root):
        for number, line in enumerate((root / file).read_text(encoding="utf-8").splitlines(), start=1):
            if match := INCLUDE.match(line):
                target = resolve(root, file, match.group(1))
                reason = NOT_FOUND if target is None else why_no_include(file, target)
                if reason:
                    clashes.append(Clash(file, number, f'#include "{match.group(1)}"', reason))
    return clashes


# --- Python. ---

PACKAGE = "hemera"
APPS = "hemera_apps"
FOLDERS = {PACKAGE: Path("python"), APPS: Path("python", "apps")}
"""Where the packages lie."""
RANK = {name: rank for rank, row in enumerate(FLOORS["modules"]) for name in row}
MOST_FILES: int = FLOORS["most_files"]
MOST_ARROWS: int = FLOORS["most_arrows"]


@dataclass(frozen=True)
class Import:
    """One import of a module of the packages by another; modules as "hemera.trees.read"."""

    file: PurePosixPath
    """Relative to the repository."""
    line: int
    module: str
    target: str
    for_types: bool

    def clash(self, reason: str) -> Clash:
        """What is wrong with it."""
        return Clash(self.file, self.line, f"imports {self.target}", reason)


def entry(module: str) -> str:
    """The entry of the list that a module belongs to."""
    parts = module.split(".")
    if parts[0] == APPS:
        return ".".join(parts[:2])
    if len(parts) == 1:
        return PACKAGE
    return ".".join(parts[1:]) if parts[1] in FLOORS["by_file"] else parts[1]


def modules(root: Path) -> dict[str, Path]:
    """Every module of the packages with its file."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in sorted((root / folder / package).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _is_type_checking(node: ast.AST) -> bool:
    test = node.test if isinstance(node, ast.If) else None
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _import_nodes(node: ast.AST, for_types: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, for_types
        elif isinstance(child, ast.If) and _is_type_checking(child):
            for part in child.body:
                yield from _import_nodes(ast.Module([part], []), True)
            for part in child.orelse:
                yield from _import_nodes(ast.Module([part], []), for_types)
        else:
            yield from _import_nodes(child, for_types)


def _targets(node: ast.stmt, module: str, is_package: bool, known: set[str]) -> list[str]:
    """The modules of the packages that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name.partition(".")[0] in FOLDERS]
    assert isinstance(node, ast.ImportFrom)
    source = node.module or ""
    if node.level:
        parts = module.split(".")
        above = parts[: len(parts) - node.level + is_package]
        source = ".".join([*above, source] if source else above)
    if source.partition(".")[0] not in FOLDERS:
        return []
    # `from hemera import _core` imports a module of that name; `from hemera import Context` the package.
    return sorted(
        {f"{source}.{alias.name}" if f"{source}.{alias.name}" in known else source for alias in node.names}
    )


def imports(root: Path) -> list[Import]:
    """All imports of the packages' modules by each other."""
    files = modules(root)
    known = {*files, f"{PACKAGE}._core"}  # the compiled one has no source here
    return [
        Import(PurePosixPath(path.relative_to(root).as_posix()), node.lineno, module, target, for_types)
        for module, path in files.items()
        for node, for_types in _import_nodes(ast.parse(path.read_text(encoding="utf-8")))
        for target in _targets(node, module, path.name == "__init__.py", known)
        if target != module
    ]


def why_no_import(found: Import) -> str | None:
    """What is wrong with an import from one entry to another; None if nothing is, or within a folder."""
    source, target = entry(found.module), entry(found.target)
    for name in (source, target):
        if name not in RANK:
            return f"{name} stands in no row of tools/floors.toml"
    if source == target or RANK[target] < RANK[source]:
        return None
    if found.for_types and target in FLOORS["types"].get(source, ()):
        return None
    where = "of its own row" if RANK[target] == RANK[source] else "above it"
    return f"{source} may not import {target}, which stands {where}: imports point down"


def circles(found: list[Import]) -> list[Clash]:
    """Imports that close a circle inside of a folder."""
    inside: dict[str, list[Import]] = {}
    for each in found:
        if entry(each.module) == entry(each.target) and not each.for_types:
            inside.setdefault(each.module, []).append(each)
    clashes = []
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        for each in inside.get(module, []):
            if each.target in path:
                circle = " -> ".join((*path[path.index(each.target) :], each.target))
                clashes.append(each.clash(f"a circle, {circle}"))
            elif each.target not in done:
                visit(each.target, (*path, each.target))
        done.add(module)

    for module in inside:
        if module not in done:
            visit(module, (module,))
    return clashes


def folder_circles(found: list[Import]) -> list[str]:
    """What is wrong with imports between folders of one package: those that run form no circle."""
    below: dict[str, set[str]] = {}
    for each in found:
        if each.for_types:
            continue
        source, target = (".".join(name.split(".")[:2]) for name in (each.module, each.target))
        if source != target:
            below.setdefault(source, set()).add(target)
    return [f"a circle of folders, {', '.join(sorted(circle))}" for circle in _circles_of(below)]


Arrow = tuple[str, str]


def knots(found: list[Import]) -> list[tuple[set[str], set[Arrow]]]:
    """The modules of each circle with the arrows between them, imports for annotations among them. The
    package's __init__, which imports what users name, is in none."""
    below: dict[str, set[str]] = {}
    for each in found:
        if PACKAGE not in (each.module, each.target):
            below.setdefault(each.module, set()).add(each.target)
    return [
        (set(circle), {(one, other) for one in circle for other in below[one] & circle})
        for circle in _circles_of(below)
    ]


def _circles_of(below: dict[str, set[str]]) -> list[frozenset[str]]:
    """The names of each circle, by the names that each one points to."""

    def reached(module: str) -> set[str]:
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            new = below.get(waiting.pop(), set()) - seen
            seen |= new
            waiting.extend(new)
        return seen

    all_below = {module: reached(module) for module in below}
    circles_found = {
        frozenset(other for other in all_below[module] if module in all_below.get(other, ()))
        for module in below
    }
    return [circle for circle in sorted(circles_found, key=sorted) if circle]


def beyond_limits(found: list[Import]) -> list[str]:
    """What is wrong with the sizes of circles."""
    tied = knots(found)
    largest = max((modules for modules, _ in tied), key=len, default=set())
    arrows = sum(len(own) for _, own in tied)
    reports = []
    if len(largest) > MOST_FILES:
        reports.append(
            f"a circle of {len(largest)} files, more than {MOST_FILES}: {', '.join(sorted(largest))}"
        )
    if arrows > MOST_ARROWS:
        reports.append(f"{arrows} arrows in circles, more than {MOST_ARROWS}")
    return reports


def import_clashes(found: list[Import]) -> list[Clash]:
    """Imports that break a rule."""
    return [each.clash(reason) for each in found if (reason := why_no_import(each))] + circles(found)


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    count = sum(1 for _ in sources(root)) + len(modules(root))
    if count == 0:
        print(f"check_floors: no sources below {root}", file=sys.stderr)
        return 2
    found = imports(root)
    clashes = map(str, [*include_clashes(root), *import_clashes(found)])
    reports = [*clashes, *folder_circles(found), *beyond_limits(found)]
    print(*reports, sep="\n", end="\n" * bool(reports))
    print(f"check_floors: {count} files, {len(reports)} clashes")
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
