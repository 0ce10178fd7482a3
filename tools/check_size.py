"""Checks that the house does not grow: python tools/check_size.py [--lower | --write] [REPOSITORY].

Counts lines by room, virtual functions, public names, options and other sizes, and compares them with the
limits of tools/size_limits.toml. Reports each number above its limit, and each limit that can fall: of lines
where more than two steps of 50 lie above the number, of other sizes where any does. --lower writes the limits
of today where they are lower, and raises none.

A limit rises only by a decision: a page of docs/decisions that says why, and has the limit with its new
number, as `lines.tools = 3000`. All versions of the file that git has are read, so a rise without a decision
is reported until there is one, or it is taken back. --write sets all limits to those of today, and reports
what such a page must have. Exit status: 0 clean, 1 reports, 2 nothing to check.
"""

from __future__ import annotations

import argparse
import ast
import collections
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import check_floors
import check_functions

LIMITS = Path("tools", "size_limits.toml")
DECISIONS = Path("docs", "decisions")
STEP = 50
"""Limits of lines are multiples of it."""
LONG = 400
"""Lines of a file that has many."""
SUFFIXES = {
    *(".py", ".pyi", ".cpp", ".hpp", ".cu", ".cuh", ".md", ".cmake", ".sh"),
    *(".mjs", ".mts", ".html", ".go", ".java", ".R", ".rs"),
}
CPP = {".cpp", ".hpp", ".cu", ".cuh"}
TESTS = ("tests", "python/tests", "python/apps/tests")
# Rooms of several folders, each by itself; what lies beside these folders is a room too.
ROOMS = (
    *("python/hemera", "python/apps/hemera_apps", "python/apps", "python/tests", "python"),
    *("src", "tests", "clients"),
)
# Not counted: data, programs that HEIR wrote, and pages that grow with each change.
LEFT_OUT = re.compile(
    r"tests/(vectors|corpus)/|integrations/.*/programs/|docs/(decisions|measurements)/|CHANGELOG\.md"
)
COMPILE_ROOMS = ("arrays", "compiler")

Sizes = dict[str, int]


def files(root: Path) -> list[str]:
    """The files that git tracks or would track."""
    told = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in dict.fromkeys(told.stdout.splitlines()) if (root / name).is_file()]


def room_of(name: str) -> str:
    """The room of a file, as "src/poly": a folder of ROOMS with the folder below it, the first folder of
    others, or "top"."""
    for room in ROOMS:
        if name.startswith(f"{room}/"):
            below = name[len(room) + 1 :].split("/")
            return f"{room}/{below[0]}" if len(below) > 1 else room
    return name.split("/")[0] if "/" in name else "top"


def _is_counted(name: str) -> bool:
    return Path(name).suffix in SUFFIXES and not LEFT_OUT.match(name)


def lines_of(texts: Mapping[str, str]) -> Sizes:
    """Lines by room, those of the product and of the tests together, and how many long files each has."""
    found: collections.Counter[str] = collections.Counter()
    for name, text in texts.items():
        lines = text.count("\n")
        found[f"lines.{room_of(name)}"] += lines
        if name.endswith(".md") or room_of(name).split("/")[0] in ("top", "docs", "clients"):
            continue
        part = "tests" if name.startswith(tuple(f"{folder}/" for folder in TESTS)) else "product"
        found[f"lines of all {part}"] += lines
        found[f"{part} files above {LONG} lines"] += lines > LONG
    return dict(found)


def virtual_functions(texts: Mapping[str, str]) -> int:
    """Declarations with the word `virtual` in src and include; destructors are none."""
    count = 0
    for name, text in texts.items():
        if name.startswith(("src/", "include/")) and Path(name).suffix in CPP:
            code = check_functions.SKIPPED.sub(" ", text)
            count += len(re.findall(r"\bvirtual\b(?!\s*~)", code))
    return count


def _strings(node: ast.AST) -> list[str]:
    """The texts of a written list; of a written dictionary its keys."""
    if isinstance(node, ast.Dict):
        return [name for key in node.keys if key for name in _strings(key)]
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [name for each in node.elts for name in _strings(each)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def public_names(trees: Mapping[str, ast.Module]) -> int:
    """What the `__all__` of hemera and of its public packages and top modules name."""
    count = 0
    for module, tree in trees.items():
        is_public = not any(part.startswith("_") for part in module.split(".")[1:])
        if not is_public or module.count(".") > 1:
            continue
        for node in tree.body:
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if value is not None and any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
                count += len(_strings(value))
    return count


def options(trees: Iterable[ast.Module]) -> int:
    """Calls of `add_argument` whose first argument is written as an option."""
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "add_argument"
        and any(name.startswith("-") for each in node.args[:1] for name in _strings(each))
        for tree in trees
        for node in ast.walk(tree)
    )


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _own_private(tree: ast.Module) -> Iterator[str]:
    """The private functions, methods and attributes of `self` that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        ):
            yield node.attr


def foreign_members(trees: Iterable[ast.Module]) -> int:
    """Uses of `x._name` where the module defines no `_name`. `_native`, which all handles have, is none."""
    count = 0
    for tree in trees:
        own = {name for name in _own_private(tree) if _is_private(name)} | {"_native"}
        count += sum(
            isinstance(node, ast.Attribute)
            and _is_private(node.attr)
            and node.attr not in own
            and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "own_class"))
            for node in ast.walk(tree)
        )
    return count


def sizes(root: Path) -> Sizes:
    """Every size that has a limit, by its name."""
    texts = {name: (root / name).read_text(encoding="utf-8") for name in files(root) if _is_counted(name)}
    trees = {
        module: ast.parse(path.read_text(encoding="utf-8"))
        for module, path in check_floors.modules(root).items()
    }
    hemera = {name: tree for name, tree in trees.items() if name.partition(".")[0] == check_floors.PACKAGE}
    imports = check_floors.imports(root)
    rooms = [tuple(f"{name}.x".split(".")[1] for name in (each.module, each.target)) for each in imports]
    circles = [len(modules) for modules, _ in check_floors.knots(imports)]
    return {
        **lines_of(texts),
        "virtual functions": virtual_functions(texts),
        "public names": public_names(hemera),
        "command-line options": options(trees.values()),
        "private members of other modules": foreign_members(hemera.values()),
        "imports from compile rooms to serving": sum(
            source in COMPILE_ROOMS and target == "serving" for source, target in rooms
        ),
        "modules in the largest circle of imports": max(circles, default=0),
    }


def limit_for(name: str, size: int) -> int:
    """The limit that a size of today has."""
    return -(-size // STEP) * STEP if name.startswith("lines") else size


def read_limits(text: str) -> Sizes:
    """The limits of a file of LIMITS' form: `"name" = number` in each line."""
    return {name: int(number) for name, number in re.findall(r'^"([^"\n]+)" = (\d+)$', text, re.MULTILINE)}


def written(limits: Mapping[str, int]) -> str:
    """The file with these limits."""
    head = "# Limits that only fall (docs/design.md). Written by tools/check_size.py --lower."
    return f"{head}\n" + "".join(f'"{name}" = {limits[name]}\n' for name in sorted(limits))


def clashes(found: Mapping[str, int], limits: Mapping[str, int]) -> list[str]:
    """What is wrong with sizes and limits next to each other."""
    reports = []
    for name in sorted({*found, *limits}):
        size = found.get(name, 0)
        if name not in limits:
            reports.append(f"{name}: {size}, and there is no limit of it")
        elif size > limits[name]:
            reports.append(f"{name}: {size}, above the limit of {limits[name]}")
        elif name not in found or limit_for(name, size) < limits[name] - _room(name):
            reports.append(
                f"{name}: {size}; the limit of {limits[name]} can fall: tools/check_size.py --lower"
            )
    return reports


def _room(name: str) -> int:
    """How far a limit may lie above the one of today: of lines, so that few changes touch the file."""
    return 2 * STEP if name.startswith("lines") else 0


def versions(root: Path) -> list[Sizes]:
    """The limits of all commits that changed them, the oldest first, and those of the file as it is."""
    git = ["git", "-C", str(root)]
    log = subprocess.run(
        [*git, "log", "--reverse", "--topo-order", "--format=%H", "--", LIMITS.as_posix()],
        capture_output=True,
        text=True,
        check=False,
    )
    texts = [
        subprocess.run(
            [*git, "show", f"{commit}:{LIMITS.as_posix()}"], capture_output=True, text=True, check=False
        ).stdout
        for commit in log.stdout.split()
    ]
    return [read_limits(text) for text in (*texts, (root / LIMITS).read_text(encoding="utf-8"))]


def decided(root: Path) -> set[tuple[str, int]]:
    """Limits with their numbers that pages of DECISIONS have, as `name = number` in back quotes."""
    pages = [path.read_text(encoding="utf-8") for path in sorted((root / DECISIONS).glob("*.md"))]
    return {
        (name, int(number)) for page in pages for name, number in re.findall(r"`([^`\n]+) = (\d+)`", page)
    }


def raised(history: list[Sizes], decisions: set[tuple[str, int]]) -> list[str]:
    """Limits of the last version that no decision raised."""
    first, *later = history
    allowed = dict(first)
    for version in later:
        for name, number in version.items():
            if (name, number) in decisions:
                allowed[name] = number
            else:
                allowed[name] = min(allowed.get(name, 0), number)
    return [
        f"{name}: the limit rose from {allowed[name]}; a page of {DECISIONS.as_posix()} that says why "
        f"must have `{name} = {number}`"
        for name, number in sorted(history[-1].items())
        if number > allowed[name]
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lower", action="store_true", help="write the limits that can fall")
    parser.add_argument("--write", action="store_true", help="set all limits to the present numbers")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    asked = parser.parse_args(arguments)
    root, path = asked.root, asked.root / LIMITS
    if not check_floors.modules(root):
        print(f"check_size: no modules below {root}", file=sys.stderr)
        return 2
    found = sizes(root)
    today = {name: limit_for(name, size) for name, size in found.items()}
    if asked.write:
        path.write_text(written(today), encoding="utf-8")
    limits = read_limits(path.read_text(encoding="utf-8"))
    if asked.lower:
        limits = {name: min(limit, today[name]) for name, limit in limits.items() if name in today}
        path.write_text(written(limits), encoding="utf-8")
    reports = clashes(found, limits) + raised(versions(root), decided(root))
    for report in reports:
        print(report)
    print(f"check_size: {len(found)} sizes, {len(reports)} reports")
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
