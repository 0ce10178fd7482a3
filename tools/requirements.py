"""Prints the requirements of one group in pyproject.toml, one a line: build, run, or an optional group."""

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


if __name__ == "__main__":
    text = Path(__file__).resolve().parent.parent.joinpath("pyproject.toml").read_text(encoding="utf-8")
    print("\n".join(requirements(tomllib.loads(text), sys.argv[1])))
