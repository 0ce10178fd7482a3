"""Checks the direction of imports in the Python packages: python tools/check_imports.py [REPOSITORY].

Every module of python/hemera stands in a row of ROWS, one of python/apps/hemera_apps in a row of APP_ROWS,
which stand above those. It imports modules of lower rows only; modules of one row do not import each other. A
folder (trees, serving, commands) is one entry, except those of BY_FILE, whose files are entries: inside it
modules may import each other, but not in a circle. Imports inside of functions count like any others.

Imports under `if TYPE_CHECKING:` do not run. They point down too, except for the few of TYPES: objects tell
their context, and the context makes objects, so annotations of the two name each other.

Modules whose annotations name each other form a circle. The largest circle and the arrows in all circles have
limits: MOST_FILES and MOST_ARROWS. Folders form no circle with imports that run.

Reports each clash as file:line. Exit status: 0 clean, 1 clashes, 2 nothing to check.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "hemera"
APPS = "hemera_apps"
FOLDERS = {PACKAGE: Path("python"), APPS: Path("python", "apps")}
"""Where the packages lie."""
# Lowest first. "hemera" is the package's __init__: what a user imports.
ROWS = (
    ("_core", "_extras"),
    ("errors", "inputs", "multiply", "_html", "_machine", "_process"),
    ("_files",),
    (
        "parameters",
        "_noise_warning",
        "objects",
        "objects.array_hints",
        "objects.operands",
        "times",
    ),
    ("_bootstrap_search",),
    (
        "bfv",
        "bgv",
        "ckks",
        "circuits.handles",
        "circuits.needs",
        "objects.rotations",
        "objects.stored",
    ),
    ("circuits.plans", "objects.codec", "objects.devices", "objects.load", "_options"),
    (
        "circuits.bootstrap",
        "circuits.functions",
        "circuits.integer_bootstrap",
        "circuits.matrices",
        "circuits.slots",
    ),
    ("circuits.elementary",),
    (
        "circuits.activations",
        "circuits.composition",
        "circuits.linear",
        "circuits.packed_rows",
        "circuits.periodic",
    ),
    ("circuits.grid", "circuits.recipes", "circuits.selection"),
    ("circuits",),
    ("arrays", "objects.ciphertext", "objects.keys"),
    ("objects.circuit_evaluator", "objects.client", "objects.graph"),
    ("objects.arithmetic",),
    ("objects.evaluator",),
    ("objects.batches", "objects.context", "objects.encrypted_matrix"),
    ("objects.cost", "pool"),
    ("integers", "objects.calibration", "search"),
    ("interop",),
    ("_inspect", "compat"),
    ("hemera",),
    ("trees",),
    ("program",),
    ("package",),
    ("client", "exporting"),
    ("serving",),
    ("compiler", "ray"),
    ("commands",),
    ("cli",),
    ("__main__",),
)
APP_ROWS = (
    ("hemera_apps",),
    ("hemera_apps._extras", "hemera_apps._progress", "hemera_apps._run_table", "hemera_apps._serve_client"),
    ("hemera_apps._figures", "hemera_apps.table_files"),
    (
        "hemera_apps.demo",
        "hemera_apps.logistic_regression",
        "hemera_apps.networks",
        "hemera_apps.transformer",
        "hemera_apps.trees",
    ),
    ("hemera_apps.bench",),
    ("hemera_apps.commands",),
    ("hemera_apps.__main__",),
)
# Folders whose files stand in rows of their own; their __init__ is the entry with the folder's name.
BY_FILE = ("circuits", "objects")
RANK = {name: rank for rank, row in enumerate(ROWS + APP_ROWS) for name in row}
# What annotations may name of higher rows: the context and the evaluator that an object belongs to,
# and what is imported when it is first used.
TYPES = {
    "hemera": ("client", "compiler", "ray", "serving"),
    "objects.ciphertext": ("objects.context", "objects.evaluator"),
    "objects.keys": ("objects.context",),
    "objects.circuit_evaluator": ("objects.context", "objects.evaluator"),
    "objects.client": ("objects.context",),
    "objects.evaluator": ("objects.context",),
}

# Of the largest circle, and of all circles together; imports for annotations count.
MOST_FILES = 8
MOST_ARROWS = 22


@dataclass(frozen=True)
class Import:
    """One import of a module of the packages by another; modules as "hemera.trees.read"."""

    file: Path  # relative to the repository
    line: int
    module: str
    target: str
    for_types: bool


@dataclass(frozen=True)
class Clash:
    """An import that breaks a rule."""

    found: Import
    reason: str

    def __str__(self) -> str:
        return f"{self.found.file}:{self.found.line}: imports {self.found.target}: {self.reason}"


def entry(module: str) -> str:
    """The entry of ROWS or APP_ROWS that a module belongs to."""
    parts = module.split(".")
    if parts[0] == APPS:
        return ".".join(parts[:2])
    if len(parts) == 1:
        return PACKAGE
    return ".".join(parts[1:]) if parts[1] in BY_FILE else parts[1]


def modules(root: Path) -> dict[str, Path]:
    """Every module of the packages with its file."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in sorted((root / folder / package).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _is_own(name: str) -> bool:
    """Whether a module is of one of the packages."""
    return name.partition(".")[0] in FOLDERS


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
        names = [alias.name for alias in node.names]
        return [name for name in names if _is_own(name)]
    assert isinstance(node, ast.ImportFrom)
    source = node.module or ""
    if node.level:
        parts = module.split(".")
        above = parts[: len(parts) - node.level + is_package]
        source = ".".join([*above, source] if source else above)
    if not _is_own(source):
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
        Import(path.relative_to(root), node.lineno, module, target, for_types)
        for module, path in files.items()
        for node, for_types in _import_nodes(ast.parse(path.read_text(encoding="utf-8")))
        for target in _targets(node, module, path.name == "__init__.py", known)
        if target != module
    ]


def why_not(found: Import) -> str | None:
    """What is wrong with an import from one entry to another; None if nothing is, or within a folder."""
    source, target = entry(found.module), entry(found.target)
    for name in (source, target):
        if name not in RANK:
            return f"{name} stands in no row of tools/check_imports.py"
    if source == target or RANK[target] < RANK[source]:
        return None
    if found.for_types and target in TYPES.get(source, ()):
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
                clashes.append(Clash(each, f"a circle, {circle}"))
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
    """The names of each circle, of what each name points to."""

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


def find_clashes(root: Path) -> list[Clash]:
    """All imports that break a rule."""
    found = imports(root)
    direction = [Clash(each, reason) for each in found if (reason := why_not(each))]
    return direction + circles(found)


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    count = len(modules(root))
    if count == 0:
        print(f"check_imports: no modules below {root / 'python' / PACKAGE}", file=sys.stderr)
        return 2
    found = imports(root)
    reports = [*map(str, find_clashes(root)), *folder_circles(found), *beyond_limits(found)]
    for report in reports:
        print(report)
    print(f"check_imports: {count} modules, {len(reports)} clashes")
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
