"""Checks the direction of imports in the Python package: python tools/check_imports.py [REPOSITORY].

Every module of python/hemera stands in a row of ROWS and imports modules of lower rows only; modules of one
row do not import each other. A folder (demo, bench, commands) is one entry: inside it modules may import each
other, but not in a circle. Imports inside of functions count like any others.

Imports under `if TYPE_CHECKING:` do not run. They point down too, except for the few of TYPES: objects tell
their context, and the context makes objects, so annotations of the two name each other.

Reports each clash as file:line. Exit status: 0 clean, 1 clashes, 2 nothing to check.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "hemera"
# Lowest first. "hemera" is the package's __init__: what a user imports.
ROWS = (
    ("_core",),
    (
        "errors",
        "multiply",
        "_arguments",
        "_array_protocols",
        "_device",
        "_encoding",
        "_extras",
        "_machine",
        "_progress",
        "_source",
    ),
    ("parameters", "_figures", "_noise_warning", "_options", "_stored"),
    ("_needs",),
    ("bfv", "bgv", "ckks", "_codec", "_plans", "_run_table"),
    ("_functions",),
    ("ciphertext", "keys"),
    ("bootstrapping",),
    ("_load", "_matrices", "_operands", "_slots", "graph"),
    ("circuits",),
    ("_circuit_methods",),
    ("evaluator",),
    ("context",),
    ("_cost",),
    ("interop",),
    ("hemera",),
    ("demo", "applications"),
    ("serving",),
    ("bench",),
    ("commands",),
    ("cli",),
    ("__main__",),
)
RANK = {name: rank for rank, row in enumerate(ROWS) for name in row}
# What annotations may name of higher rows: the context and the evaluator that an object belongs to,
# and what is imported when it is first used.
TYPES = {
    "hemera": ("serving",),
    "keys": ("context",),
    "_plans": ("context", "evaluator"),
    "bootstrapping": ("context",),
    "_functions": ("context", "evaluator"),
    "_matrices": ("context",),
    "_slots": ("context",),
    "circuits": ("context",),
    "_circuit_methods": ("context", "evaluator"),
    "ciphertext": ("context", "evaluator"),
    "evaluator": ("context",),
}


@dataclass(frozen=True)
class Import:
    """One import of a module of the package by another; modules as "hemera.demo.client"."""

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
    """The entry of ROWS that a module belongs to."""
    return PACKAGE if module == PACKAGE else module.split(".")[1]


def modules(root: Path) -> dict[str, Path]:
    """Every module of the package with its file."""
    found = {}
    for path in sorted((root / "python" / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root / "python").with_suffix("").parts
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
    """The modules of the package that a statement imports."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
        return [name for name in names if name == PACKAGE or name.startswith(PACKAGE + ".")]
    assert isinstance(node, ast.ImportFrom)
    source = node.module or ""
    if node.level:
        parts = module.split(".")
        above = parts[: len(parts) - node.level + is_package]
        source = ".".join([*above, source] if source else above)
    if source != PACKAGE and not source.startswith(PACKAGE + "."):
        return []
    # `from hemera import _core` imports a module of that name; `from hemera import Context` the package.
    return sorted(
        {f"{source}.{alias.name}" if f"{source}.{alias.name}" in known else source for alias in node.names}
    )


def imports(root: Path) -> list[Import]:
    """All imports of the package's modules by each other."""
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
            return f"{name} stands in no row of ROWS in tools/check_imports.py"
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
    clashes = find_clashes(root)
    for clash in clashes:
        print(clash)
    print(f"check_imports: {count} modules, {len(clashes)} clashes")
    return 1 if clashes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
