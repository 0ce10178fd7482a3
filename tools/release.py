"""The steps of a release that a program can take: tools/release.py check | notes | tag

    check    whether all is there for a release of the version in CMakeLists.txt; --tag NAME: under that name
    notes    its section of CHANGELOG.md
    tag      check, then an annotated tag with the notes as its message: `git tag -a vVERSION`

docs/development.md has the steps around them. Nothing is pushed.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def version_of(repository: Path) -> str:
    """The version that CMakeLists.txt gives."""
    found = re.search(
        r"^project\(hemera VERSION ([0-9.]+)", (repository / "CMakeLists.txt").read_text(), re.M
    )
    if found is None:
        raise ValueError("CMakeLists.txt has no version")
    return found[1]


def section_of(repository: Path, version: str) -> tuple[str | None, str]:
    """The date and the text of a version in the changelog; no date and no text where it has none."""
    parts = re.split(
        r"^## \[(.+)\](?: - (\S+))?$", (repository / "CHANGELOG.md").read_text(), flags=re.MULTILINE
    )
    for name, date, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        if name == version:
            return date, text.strip()
    return None, ""


def git(repository: Path, *arguments: str) -> str:
    """What git prints. CalledProcessError if it fails."""
    done = subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def missing(repository: Path, tag: str | None) -> list[str]:
    """What a release of this version lacks; `tag`: that there is, None: that is to be made."""
    version = version_of(repository)
    date, notes = section_of(repository, version)
    found = []
    if not notes:
        found.append(f"CHANGELOG.md says nothing of {version}")
    try:
        datetime.date.fromisoformat(date or "")
    except ValueError:
        found.append(f"CHANGELOG.md has no date of {version}")
    if not (repository / "tests" / "vectors" / "releases" / version).is_dir():
        found.append(f"no files of this version: tools/write_released_files.py {version}")
    if f"\nversion: {version}\n" not in (repository / "CITATION.cff").read_text():
        found.append(f"CITATION.cff is not of {version}")
    if git(repository, "status", "--porcelain"):
        found.append("there are changes without a commit")
    if tag is not None and tag != f"v{version}":
        found.append(f"the tag is {tag}, and the version {version}")
    if tag is None and git(repository, "tag", "--list", f"v{version}"):
        found.append(f"there is a tag v{version}: the version must go up")
    return found


def main(arguments: list[str] | None = None, repository: Path = REPOSITORY) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description="Check, describe and tag a release.")
    parser.add_argument("step", choices=("check", "notes", "tag"))
    parser.add_argument("--tag", help="check: the tag that there is already")
    options = parser.parse_args(arguments)
    version = version_of(repository)
    _, notes = section_of(repository, version)
    if options.step == "notes":
        print(notes)
        return 0 if notes else 1
    problems = missing(repository, options.tag)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems and options.step == "tag":
        # Headings begin with the sign that git takes for comments.
        message = f"Hemera {version}\n\n{notes}\n"
        git(repository, "tag", "--annotate", f"v{version}", "--cleanup=whitespace", "--message", message)
        print(f"git push origin v{version}  # publishes it")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
