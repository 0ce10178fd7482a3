"""Puts generated bugs into a copy of the sources, one at a time, and prints which of them the tests find.

    python tools/mutants.py [--since COMMIT] [--most 20] [--seed 0] [--tests PATH ...] [FILE ...]

universalmutator generates them, for the lines of python/hemera and src that differ from a commit, or for
whole files. Of those of a file, `--most` are drawn. A module's tests are those that name it, or else its
room's; a C++ file's are its layer's program. What lives is shown as a difference: a test is missing, or the
bug changes nothing.
Exit status: 0 all were found, 1 some lived, 2 there are no tests, or they fail without a bug.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
TIMEOUT = 900  # seconds for one mutant's tests: a bug may make them wait for ever
GENERATOR = REPOSITORY / "build" / "mutants" / "generator"


class MutantError(Exception):
    """Tests that are missing or fail without a bug, or a copy that can not be built."""


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout


def is_mutated(name: str) -> bool:
    """Whether a file, relative to the repository, is of the product and has tests without a GPU."""
    return (name.startswith("python/hemera/") and name.endswith(".py")) or (
        name.startswith("src/") and name.endswith((".cpp", ".hpp")) and "/cuda/" not in name
    )


def changed_lines(difference: str) -> set[int]:
    """The lines of the new file that a difference of `git diff --unified=0` adds or changes."""
    found: set[int] = set()
    for first, count in re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", difference, re.MULTILINE):
        found.update(range(int(first), int(first) + int(count or 1)))
    return found


def _meaning(text: str) -> str | None:
    """A Python file without comments and docstrings; None where it can not be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [
                each
                for each in body
                if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
            ]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.dump(tree)


def is_bug(name: str, before: str, after: str) -> bool:
    """Whether a generated change is more than one of a comment, a docstring or a line's form."""
    if name.endswith(".py"):
        meaning = _meaning(after)
        return meaning is not None and meaning != _meaning(before)
    lines = [line[1:].strip() for line in _difference(before, after) if line[0] in "-+"]
    return not all(line.startswith(("//", "#", "*", "/*")) or not line for line in lines)


def _difference(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def generated(name: str, lines: Iterable[int] | None, most: int, seed: int) -> list[str]:
    """Texts of a file, each with one bug in one of the lines (None: in any); at most `most` are drawn."""
    source = REPOSITORY / name
    text = source.read_text()
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "lines")
        wanted.write_text(
            "\n".join(map(str, sorted(lines if lines is not None else range(1, text.count("\n") + 2))))
        )
        command: list[str | Path] = [
            GENERATOR / "bin" / "mutate",
            source,
            "--noCheck",
            "--mutantDir",
            folder,
            "--lines",
            wanted,
        ]
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        files = sorted(Path(folder).glob(f"{source.stem}.mutant.*{source.suffix}"))
        texts = [path.read_text() for path in files]
    bugs = sorted({each for each in texts if is_bug(name, text, each)})
    return bugs if len(bugs) <= most else random.Random(seed).sample(bugs, most)


def tests_of(name: str, tests: Path) -> list[str]:
    """What tests a file: files that name a Python module, or the folder of its room; a C++ layer's program.

    MutantError where there are none."""
    if name.startswith("src/"):
        return [f"hemera_{name.split('/')[1]}_tests"]
    folders = Path(name).relative_to("python").with_suffix("").parts
    module = ".".join(folders[:-1] if folders[-1] == "__init__" else folders)
    room, _, last = module.rpartition(".")
    named = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(room)} import .*\b{re.escape(last)}\b")
    found = sorted(str(path) for path in tests.rglob("test_*.py") if named.search(path.read_text()))
    own = tests / folders[1] if len(folders) > 2 else tests
    if found or own.is_dir():
        return found or [str(own)]
    raise MutantError(f"{name}: no test names {module}, and {own} is no folder; give --tests")


class Copy:
    """A copy of the sources, and a build of its own."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "source"
        self._build = folder / "build"
        self._log = folder / "log.txt"

    def update(self) -> None:
        """Brings the copy up to the repository's sources. Files that did not change keep their times."""
        for name in _git("ls-files", "--cached", "--others", "--exclude-standard").splitlines():
            source, target = REPOSITORY / name, self.source / name
            if source.is_file() and (not target.exists() or source.read_bytes() != target.read_bytes()):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        # The compiled core is that of the installed package.
        installed = next((Path(sys.prefix) / "lib").glob("python*/site-packages/hemera"))
        for core in [*installed.glob("_core*.so"), *installed.glob("_core.pyi")]:
            shutil.copy2(core, self.source / "python" / "hemera")

    def _run(self, command: Iterable[str | Path], environment: dict[str, str] | None = None) -> bool:
        with self._log.open("w") as log:
            try:
                result = subprocess.run(
                    list(command),
                    cwd=self.source,
                    env={**os.environ, **(environment or {})},
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    timeout=TIMEOUT,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return False
        return result.returncode == 0

    def builds(self, tests: Sequence[str]) -> bool:
        """Whether the copy compiles as it is, for C++ tests. MutantError where it can not be configured."""
        if not tests[0].startswith("hemera_"):
            return True
        if not (self._build / "CMakeCache.txt").exists():
            generator = ["-G", "Ninja"] if shutil.which("ninja") else []
            options = ["-DCMAKE_BUILD_TYPE=Release", "-DHEMERA_TESTS=ON", "-DHEMERA_CUDA=OFF"]
            if not self._run(["cmake", "-S", self.source, "-B", self._build, *generator, *options]):
                raise MutantError(f"CMake fails: {self._log}")
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "2")
        return self._run(["cmake", "--build", self._build, "--parallel", jobs, "--target", *tests])

    def passes(self, tests: Sequence[str]) -> bool:
        """Whether the tests pass, with the copy as it is built."""
        if tests[0].startswith("hemera_"):
            return all(self._run([self._build / "tests" / name, "--gtest_brief=1"]) for name in tests)
        folders = (self.source / "python", self.source / "python" / "apps", self.source / "tools")
        # Compiled files are told apart by seconds and sizes, which bugs share.
        path = {"PYTHONPATH": os.pathsep.join(map(str, folders)), "PYTHONDONTWRITEBYTECODE": "1"}
        options = ["-q", "-x", "-p", "no:cacheprovider"]
        return self._run([sys.executable, "-m", "pytest", *options, *tests], path)


def lived(
    copy: Copy, name: str, bugs: Sequence[str], tests: Sequence[str], tell: Callable[[str], None]
) -> tuple[int, int]:
    """How many bugs of a file the tests leave, and how many compile.

    MutantError where the tests fail without a bug."""
    path = copy.source / name
    original = path.read_text()
    if not (copy.builds(tests) and copy.passes(tests)):
        raise MutantError(f"{name}: its tests fail without a bug: {' '.join(tests)}")
    left = compiled = 0
    for bug in bugs:
        try:
            path.write_text(bug)
            if not copy.builds(tests):
                continue
            compiled += 1
            passed = copy.passes(tests)
        finally:
            path.write_text(original)
        left += passed
        change = "\n       ".join(_difference(original, bug))
        tell(f"{'LIVED' if passed else 'found'}  {name}\n       {change}" if passed else f"found  {name}")
    return left, compiled


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--since", default="HEAD~1", help="a commit: lines that have changed after it")
    parser.add_argument("--most", type=int, default=20, help="bugs of each file")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--tests", nargs="+", help="of pytest, in place of those that are found")
    parser.add_argument("files", nargs="*", metavar="FILE", help="whole files, in place of changed lines")
    given = parser.parse_args(arguments)
    names = given.files or _git("diff", "--name-only", "--diff-filter=d", given.since, "--").splitlines()
    copy = Copy(REPOSITORY / "build" / "mutants")
    copy.update()
    left = compiled = 0
    try:
        for name in filter(is_mutated, names):
            since = None if given.files else _git("diff", "--unified=0", given.since, "--", name)
            lines = None if since is None else changed_lines(since)
            bugs = generated(name, lines, given.most, given.seed)
            if not bugs:
                continue
            tests = given.tests or tests_of(name, copy.source / "python" / "tests")
            own, count = lived(copy, name, bugs, tests, functools.partial(print, flush=True))
            left, compiled = left + own, compiled + count
    except MutantError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{compiled - left} of {compiled} found")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
