"""Checks how comments and docstrings begin: python tools/check_words.py [REPOSITORY].

They name their thing first (docs/style.md). A line that begins with one of WORDS has no noun which the word
belongs to, and is reported as file:line. Exit status: 0 clean, 1 such lines, 2 nothing to check.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

WORDS = "Of|By|That|Those|Whose"
FOLDERS = ("bench", "examples", "include", "integrations", "python", "src", "tests", "tools")
SUFFIXES = (".py", ".h", ".hpp", ".cpp", ".cuh", ".cu")
BEGINNING = re.compile(rf'^[ \t]*(?:///?|"""|# ) ?({WORDS})\b', re.MULTILINE)


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    paths = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES]
    if not paths:
        print(f"check_words: no sources below {root}", file=sys.stderr)
        return 2
    count = 0
    for path in sorted(paths):
        text = path.read_text(encoding="utf-8")
        for found in BEGINNING.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            print(f'{path.relative_to(root)}:{line}: begins with "{found[1]}": name the thing first')
            count += 1
    print(f"check_words: {len(paths)} files, {count} such lines")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
