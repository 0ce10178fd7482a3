"""Prints the requirements of one group in pyproject.toml, one a line: build, run, or an optional group.

Of the package in a folder: FOLDER:GROUP, as in python/apps:demo.
"""

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # pip brings the same module.
    from pip._vendor import tomli as tomllib


def requirements(project: dict[str, Any], group: str) -> list[str]:
    """The requirements of `group`; raises KeyError for a group that pyproject.toml does not have."""
    if group == "build":
        return list(project["build-system"]["requires"])
    if group == "run":
        return list(project["project"]["dependencies"])
    return list(project["project"]["optional-dependencies"][group])


def requirements_of(repository: Path, group: str) -> list[str]:
    """The requirements of a group, or of FOLDER:GROUP."""
    folder, _, name = group.rpartition(":")
    text = (repository / folder / "pyproject.toml").read_text(encoding="utf-8")
    return requirements(tomllib.loads(text), name)


if __name__ == "__main__":
    print("\n".join(requirements_of(Path(__file__).resolve().parent.parent, sys.argv[1])))
