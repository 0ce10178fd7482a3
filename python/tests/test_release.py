"""Releases: tags, notes and versions."""

import datetime
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version
from ruamel.yaml import YAML

import hemera as hm
import release

from .repositories import commit, git

REPOSITORY = Path(__file__).resolve().parents[2]
CHANGELOG = """# Changelog

## [0.3.0] - 2027-01-02

### Added

- Something.

## [0.2.0] - 2026-11-24

- Before.
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """One with all that a release needs."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    files = {
        "CMakeLists.txt": "project(hemera VERSION 0.3.0 LANGUAGES CXX)\n",
        "CHANGELOG.md": CHANGELOG,
        "CITATION.cff": "title: Hemera\nversion: 0.3.0\n",
        "tests/vectors/releases/0.3.0/file": "",
    }
    commit(tmp_path, files)
    return tmp_path


def test_a_tag_is_annotated_and_has_the_notes(repository, capsys):
    assert release.main(["check"], repository) == 0
    assert not git(repository, "tag")
    assert release.main(["tag"], repository) == 0
    assert git(repository, "cat-file", "-t", "v0.3.0") == "tag\n"
    message = git(repository, "tag", "--list", "--format=%(contents)", "v0.3.0")
    assert message.strip() == "Hemera 0.3.0\n\n### Added\n\n- Something."
    assert git(repository, "rev-parse", "v0.3.0^{commit}") == git(repository, "rev-parse", "HEAD")
    capsys.readouterr()
    assert release.main(["tag"], repository) == 1
    assert "the version must go up" in capsys.readouterr().err
    assert release.main(["check", "--tag", "v0.3.0"], repository) == 0


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("CHANGELOG.md", "0.3.0", "0.4.0", "says nothing of 0.3.0"),
        ("CHANGELOG.md", "- Something.", "", ""),
        ("CHANGELOG.md", " - 2027-01-02", "", "no date of 0.3.0"),
        ("CHANGELOG.md", "2027-01-02", "2027-13-02", "no date of 0.3.0"),
        ("CMakeLists.txt", "0.3.0", "0.2.0", "no files of this version: tools/write_released_files.py 0.2.0"),
        ("CITATION.cff", "0.3.0", "0.3.1", "CITATION.cff is not of 0.3.0"),
    ],
)
def test_what_is_missing_is_named(repository, capsys, file, old, new, expected):
    path = repository / file
    path.write_text(path.read_text().replace(old, new, 1))
    assert release.main(["check"], repository) == 1
    assert "changes without a commit" in capsys.readouterr().err
    commit(repository)
    assert release.main(["tag"], repository) == (1 if expected else 0)
    assert expected in capsys.readouterr().err
    assert bool(git(repository, "tag")) == (not expected)


def test_another_tag_is_refused(repository, capsys):
    assert release.main(["check", "--tag", "v0.3.1"], repository) == 1
    assert "the tag is v0.3.1, and the version 0.3.0" in capsys.readouterr().err


def test_notes_are_the_version_s(repository, capsys):
    assert release.main(["notes"], repository) == 0
    assert capsys.readouterr().out == "### Added\n\n- Something.\n"
    (repository / "CHANGELOG.md").write_text("# Changelog\n")
    assert release.main(["notes"], repository) == 1


def test_this_version_has_notes(capsys):
    assert release.main(["notes"]) == 0
    notes = capsys.readouterr().out
    assert re.search(r"^### Added$", notes, re.MULTILINE)
    assert "\n## " not in notes


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
