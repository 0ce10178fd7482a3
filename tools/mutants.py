"""Puts bugs into a copy of the sources, one at a time, and tells which of them the tests find.

    python tools/mutants.py [--list] [--folder build/mutants] [WORD ...]

The bugs are those of tests/mutants/*.txt (see the README there); with words, those whose layer, name or file
has one of them.
Exit status: 0 all were found, 1 some lived, 2 a mutant does not apply or does not compile.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
TIMEOUT = 900  # seconds for one mutant's tests: a bug may make them wait for ever


class MutantError(Exception):
    """A mutant that is not well-formed, does not apply or does not compile."""


@dataclass(frozen=True)
class Mutant:
    """One bug."""

    layer: str
    """The file of tests/mutants that lists it."""
    name: str
    file: str
    """Relative to the repository."""
    before: tuple[str, ...]
    after: tuple[str, ...]
    tests: str
    """`PROGRAM[:PROGRAM] FILTER`, or `pytest ARGUMENTS`; empty for equivalent ones."""
    equivalent: str
    """Why no test can find it; empty for the others."""

    def apply(self, text: str) -> str:
        """The file's text with the bug. MutantError unless the lines before stand in it once."""
        lines = text.splitlines(keepends=True)
        stripped = [line.strip() for line in lines]
        wanted = [line.strip() for line in self.before]
        count = len(wanted)
        places = [i for i in range(len(lines) - count + 1) if stripped[i : i + count] == wanted]
        if len(places) != 1:
            raise MutantError(
                f"{self.layer}: {self.name}: its lines stand {len(places)} times in {self.file}"
            )
        at = places[0]
        # Python's indentation is that of the file.
        first = self.before[0]
        shift = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        own = first[: len(first) - len(first.lstrip())]
        after = [f"{shift}{line.removeprefix(own)}\n" for line in self.after]
        return "".join(lines[:at] + after + lines[at + count :])


def parse(layer: str, text: str) -> list[Mutant]:
    """The mutants of one file of tests/mutants."""
    found = []
    for block in text.split("\n\n"):
        if not block.strip():
            continue
        fields = {"tests": "", "equivalent": ""}
        before, after = [], []
        for line in block.strip("\n").splitlines():
            if line.startswith("- "):
                before.append(line[2:])
            elif line.startswith("+ "):
                after.append(line[2:])
            else:
                key, colon, value = line.partition(": ")
                if not colon or key not in ("name", "file", "tests", "equivalent"):
                    raise MutantError(f"{layer}: a line that says nothing: {line}")
                fields[key] = value
        if not before or "name" not in fields or "file" not in fields:
            raise MutantError(f"{layer}: a mutant without a name, a file or lines: {block}")
        if bool(fields["tests"]) == bool(fields["equivalent"]):
            raise MutantError(f"{layer}: {fields['name']}: it has either tests or a reason why none finds it")
        found.append(Mutant(layer=layer, before=tuple(before), after=tuple(after), **fields))
    return found


def read_all(folder: Path) -> list[Mutant]:
    """Those of all layers."""
    return [mutant for path in sorted(folder.glob("*.txt")) for mutant in parse(path.stem, path.read_text())]


class Copy:
    """A copy of the sources, and a build of its own."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "source"
        self._build = folder / "build"
        self._log = folder / "log.txt"

    def update(self) -> None:
        """Brings the copy up to the repository's sources. Files that did not change keep their times."""
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for name in listed:
            source, target = REPOSITORY / name, self.source / name
            if not source.is_file():
                continue
            if not target.exists() or source.read_bytes() != target.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
                target.touch()

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

    def _build_programs(self, programs: list[str]) -> None:
        if not (self._build / "CMakeCache.txt").exists():
            generator = ["-G", "Ninja"] if shutil.which("ninja") else []
            options = ["-DCMAKE_BUILD_TYPE=Release", "-DHEMERA_TESTS=ON", "-DHEMERA_CUDA=OFF"]
            if not self._run(["cmake", "-S", self.source, "-B", self._build, *generator, *options]):
                raise MutantError(f"CMake fails: {self._log}")
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "2")
        if not self._run(["cmake", "--build", self._build, "--parallel", jobs, "--target", *programs]):
            raise MutantError(f"it does not compile: {self._log}")

    def passes(self, tests: str) -> bool:
        """Whether the tests pass, with the copy as it is. MutantError when it does not compile."""
        programs, _, rest = tests.partition(" ")
        if programs == "pytest":
            # The compiled core is that of the installed package.
            installed = next((Path(sys.prefix) / "lib").glob("python*/site-packages/hemera"))
            for core in [*installed.glob("_core*.so"), *installed.glob("_core.pyi")]:
                shutil.copy2(core, self.source / "python" / "hemera")
            folders = (self.source / "python", self.source / "python" / "apps")
            path = {"PYTHONPATH": os.pathsep.join(map(str, folders))}
            return self._run([sys.executable, "-m", "pytest", "-q", "-x", *rest.split()], path)
        self._build_programs(programs.split(":"))
        return all(
            self._run([self._build / "tests" / name, "--gtest_brief=1", f"--gtest_filter={rest}"])
            for name in programs.split(":")
        )


def run(copy: Copy, mutants: list[Mutant]) -> list[Mutant]:
    """Those that lived. Prints each when it is known."""
    lived = []
    for mutant in mutants:
        path = copy.source / mutant.file
        original = path.read_text()
        try:
            path.write_text(mutant.apply(original))
            passed = copy.passes(mutant.tests)
        except MutantError as error:
            raise MutantError(f"{mutant.layer}: {mutant.name}: {error}") from error
        finally:
            path.write_text(original)
        if passed:
            lived.append(mutant)
        print(f"{'LIVED' if passed else 'found':<6} {mutant.layer:<8} {mutant.name}", flush=True)
    return lived


def main(arguments: list[str] | None = None) -> int:
    """Runs the program; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="list the mutants, and check that they apply")
    parser.add_argument(
        "--folder", type=Path, default=REPOSITORY / "build" / "mutants", help="for copy and build"
    )
    parser.add_argument("words", nargs="*", help="of the names or files of mutants")
    given = parser.parse_args(arguments)
    try:
        chosen = [
            mutant
            for mutant in read_all(REPOSITORY / "tests" / "mutants")
            if not given.words
            or any(word in f"{mutant.layer}/{mutant.name}/{mutant.file}" for word in given.words)
        ]
        equivalent = [mutant for mutant in chosen if mutant.equivalent]
        running = [mutant for mutant in chosen if not mutant.equivalent]
        for mutant in chosen:
            mutant.apply((REPOSITORY / mutant.file).read_text())
        for mutant in equivalent:
            print(f"equal  {mutant.layer:<8} {mutant.name}: {mutant.equivalent}")
        if given.list:
            for mutant in running:
                print(f"       {mutant.layer:<8} {mutant.name} ({mutant.file})")
            return 0
        copy = Copy(given.folder)
        copy.update()
        for tests in sorted({mutant.tests for mutant in running}):
            if not copy.passes(tests):
                raise MutantError(f"the tests fail without a mutant: {tests}")
        lived = run(copy, running)
    except MutantError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(running) - len(lived)} of {len(running)} found")
    return 1 if lived else 0


if __name__ == "__main__":
    sys.exit(main())
