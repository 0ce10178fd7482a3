"""Checks the length of C++ and CUDA functions: python tools/check_functions.py [REPOSITORY].

Counts the lines of every function in FOLDERS, from its signature to its closing brace, and reports as
file:line each that has more than MOST. A lambda counts with the function that it stands in. Exit status:
0 clean, 1 too long ones, 2 nothing to check.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST = 120
FOLDERS = ("src", "include", "bench", "python/bindings")
SUFFIXES = {".hpp", ".cpp", ".cuh", ".cu"}

# Comments, literals and directives: their braces do not count.
SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|(?<![0-9A-Fa-f])\'(?:[^\'\\\n]|\\.)+\''
    r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.DOTALL | re.MULTILINE,
)
# What may stand before the first word of a declaration.
BEFORE = re.compile(
    r"(?:(?:public|private|protected)\s*:\s*|template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>\s*)+"
)
# Blocks that may hold functions.
OUTER = re.compile(r"(?:inline\s+)?(?:namespace|class|struct|union|enum|extern)\b")


@dataclass(frozen=True)
class Function:
    """A function: its first line, from 1 on, and how many it has."""

    line: int
    lines: int


def functions(text: str) -> Iterator[Function]:
    """The outermost functions of a source, in order of their ends."""
    code = SKIPPED.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    line, start, statement = 1, 0, ""
    blocks: list[int | None] = []  # the first line of a function, None for other blocks
    inside = 0  # functions among them
    for character in code:
        if character == "{":
            declared = BEFORE.sub("", statement, count=1)
            is_function = inside == 0 and "(" in declared and not OUTER.match(declared)
            blocks.append(start if is_function else None)
            inside += is_function
        elif character == "}" and blocks:
            first = blocks.pop()
            if first is not None:
                inside -= 1
                yield Function(first, line - first + 1)
        if character in "{};":
            statement = ""
        elif not character.isspace():
            if not statement:
                start = line
            statement += character
        elif statement:
            statement += " "
        line += character == "\n"


def too_long(root: Path) -> tuple[list[str], int]:
    """`file:line: ...` for each function of more than MOST lines, and how many functions there are."""
    found: list[str] = []
    count = 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            for function in functions(path.read_text(encoding="utf-8")):
                count += 1
                name = path.relative_to(root).as_posix()
                if function.lines > MOST:
                    found.append(
                        f"{name}:{function.line}: a function of {function.lines} lines; {MOST} at most"
                    )
    return found, count


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    found, count = too_long(root)
    if count == 0:
        print(f"check_functions: no functions below {root}", file=sys.stderr)
        return 2
    for text in found:
        print(text)
    print(f"check_functions: {count} functions, {len(found)} too long")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
