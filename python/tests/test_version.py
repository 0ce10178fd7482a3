"""One version everywhere: CMake, the packages, the changelog, the citation and the examples."""

import datetime
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version
from ruamel.yaml import YAML

import hemera as hm

REPOSITORY = Path(__file__).resolve().parents[2]
HEADING = re.compile(r"^## \[(?P<version>[^]]+)\](?: - (?P<date>\S+))?$", re.MULTILINE)


def found_in(file, pattern):
    """All versions that a pattern finds in a file; at least one."""
    found = set(re.findall(pattern, (REPOSITORY / file).read_text(), re.MULTILINE))
    assert found, f"{file} has nothing like {pattern}"
    return found


def cmake_version():
    """The source of all others."""
    (found,) = found_in("CMakeLists.txt", r"^project\(hemera VERSION ([0-9.]+)")
    return found


def releases():
    """Version and date of each release in the changelog, newest first."""
    headings = [(each["version"], each["date"]) for each in HEADING.finditer(changelog())]
    return headings[1:] if headings[0][0] == "Unreleased" else headings


def changelog():
    return (REPOSITORY / "CHANGELOG.md").read_text()


def citation():
    with (REPOSITORY / "CITATION.cff").open() as file:
        found = YAML(typ="safe", pure=True).load(file)
    assert isinstance(found, dict)
    return found


def test_packages_have_the_version_of_cmake():
    assert hm.__version__ == version("hemera") == cmake_version()
    for package in ("apps", "cuda"):
        assert found_in(f"python/{package}/pyproject.toml", r'^version = "([^"]+)"') == {cmake_version()}
        assert found_in(f"python/{package}/pyproject.toml", r'"hemera==([^"]+)"') == {cmake_version()}


def test_headers_have_the_version_of_cmake():
    header = "include/hemera/version.hpp"
    assert found_in(header, r'^#define HEMERA_VERSION "([^"]+)"') == {cmake_version()}
    each = [
        found_in(header, rf"^#define HEMERA_VERSION_{part} (\d+)$") for part in ("MAJOR", "MINOR", "PATCH")
    ]
    assert ".".join(number for (number,) in each) == cmake_version()


@pytest.mark.parametrize("file", ["examples/cpp/CMakeLists.txt", "docs/development.md"])
def test_examples_ask_for_this_minor_version(file):
    """The configuration of find_package takes the same minor version alone."""
    minor = ".".join(cmake_version().split(".")[:2])
    assert found_in(file, r"find_package\(hemera ([0-9.]+)") == {minor}


def test_changelog_has_releases_in_order():
    versions = [Version(name) for name, _ in releases()]
    dates = [datetime.date.fromisoformat(date) for _, date in releases()]
    assert (versions, dates) == (sorted(set(versions), reverse=True), sorted(dates, reverse=True))


def test_citation_is_of_this_release():
    cited = citation()
    assert (cited["cff-version"], cited["type"]) == ("1.2.0", "software")
    assert (cited["version"], str(cited["date-released"])) == (cmake_version(), releases()[0][1])
    assert found_in("pyproject.toml", r'^license = "([^"]+)"') == {cited["license"]}
